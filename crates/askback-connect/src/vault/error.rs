//! Why the vault gives no credential.

use std::error::Error;

use askback_core::ask::Millis;

/// Why something cannot be done with the vault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The person has connected no account with these scopes.
    #[error("the person has connected no such account: ask them to")]
    NotConnected,
    /// Several accounts of the person have the name that is wanted.
    #[error("several accounts of the person have this name: give the id of one of them")]
    Ambiguous {
        /// The ids of those accounts.
        ids: Vec<String>,
    },
    /// The account's tokens can no longer be renewed.
    #[error(
        "the provider no longer takes the account's tokens: ask the person to connect it again"
    )]
    NeedsReconnect,
    /// The token has ended and cannot be renewed at the moment.
    #[error("the provider gives no new token at the moment: try again later")]
    Unavailable {
        /// When it is worth trying.
        until: Millis,
    },
    /// A record does not open: it was altered, or put under another account, or its key is gone.
    #[error(
        "a record of the vault does not open: somebody has changed the database, or its key is gone"
    )]
    NotAuthentic,
    /// Others changed the same record again and again.
    #[error("the record was changed by others at the same time: try again")]
    Conflict,
    /// Something is larger than the vault keeps.
    #[error("{what} {why}")]
    Refused {
        /// The part.
        what: &'static str,
        /// Its fault.
        why: &'static str,
    },
    /// A key that others are wrapped by cannot be had.
    #[error("the vault cannot use its key-encryption key: {0}")]
    Keys(#[source] Box<dyn Error + Send + Sync>),
    /// The database failed.
    #[error("the vault's database failed: {0}")]
    Store(#[source] Box<dyn Error + Send + Sync>),
    /// The operating system has no random bytes.
    #[error("the operating system has no random bytes: {0}")]
    NoEntropy(std::io::Error),
}

impl VaultError {
    /// A failure of a database.
    pub fn store(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(error.into())
    }

    /// A failure of whoever keeps the key-encryption key.
    pub fn keys(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Keys(error.into())
    }
}

impl From<askback_sql::SqlError> for VaultError {
    fn from(error: askback_sql::SqlError) -> Self {
        Self::Store(error.into_inner())
    }
}

/// Random bytes from the operating system, of cryptographic quality.
pub(crate) fn entropy<const N: usize>() -> Result<[u8; N], VaultError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| VaultError::NoEntropy(error.into()))?;
    Ok(bytes)
}
