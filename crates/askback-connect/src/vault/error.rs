use std::error::Error;

use askback_core::ask::Millis;

/// Why a vault operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The user has connected no account with these scopes.
    #[error("the person has connected no such account: ask them to")]
    NotConnected,
    /// Several accounts of the user have this name.
    #[error("several accounts of the person have this name: give the id of one of them")]
    Ambiguous {
        /// The ids of those accounts.
        ids: Vec<String>,
    },
    /// The account's tokens can no longer be renewed.
    #[error(
        "the provider no longer accepts the account's tokens: ask the person to connect it again"
    )]
    NeedsReconnect,
    /// The token has expired and cannot be renewed now.
    #[error("the provider gives no new token at the moment: try again later")]
    Unavailable {
        /// When to try again.
        until: Millis,
    },
    /// The seal of a record is invalid: it was altered or moved to another account, or its key was deleted.
    #[error(
        "a record of the vault does not open: somebody has changed the database, or its key is gone"
    )]
    NotAuthentic,
    /// Other processes kept changing the same record.
    #[error("the record was changed by others at the same time: try again")]
    Conflict,
    /// A value exceeds a limit of the vault.
    #[error("{what} {why}")]
    Refused {
        /// The value.
        what: &'static str,
        /// The problem.
        why: &'static str,
    },
    /// A key-encryption key is unavailable.
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
    /// Wraps an error of a database.
    pub fn store(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(error.into())
    }

    /// Wraps an error of a key store.
    pub fn keys(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Keys(error.into())
    }
}

impl From<askback_sql::SqlError> for VaultError {
    fn from(error: askback_sql::SqlError) -> Self {
        Self::Store(error.into_inner())
    }
}

/// Cryptographically secure random bytes from the operating system.
pub(crate) fn entropy<const N: usize>() -> Result<[u8; N], VaultError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| VaultError::NoEntropy(error.into()))?;
    Ok(bytes)
}
