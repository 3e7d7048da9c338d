//! Credentials, as they go into the vault and as they come out.

use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::{Secret, Tokens};

use super::account::{AccountKey, AccountName};

/// The secret that a provider gave for an account, and how long it is good. It cannot be copied or written anywhere.
#[derive(Debug)]
pub struct Granted {
    /// The secret.
    pub kind: GrantedKind,
    /// When the access token ends, if the provider said so.
    pub expires: Option<Millis>,
    /// The scopes, if the provider named them. At a renewal, the scopes of before stay where it did not, and those of them
    /// that it named where it did: none is added.
    pub scopes: Option<Scopes>,
    /// The name of the account for persons, if the provider named it. Without one, the name of before stays at a renewal, and
    /// otherwise it is the id.
    pub name: Option<AccountName>,
}

/// The secret of a grant.
#[derive(Debug)]
pub enum GrantedKind {
    /// Tokens of an authorization server.
    Tokens {
        /// The token that requests are sent with.
        access: Secret,
        /// The token by which the next ones are had. Where a renewal gives none, the one before stays.
        refresh: Option<Secret>,
    },
    /// A key that the person typed in.
    ApiKey(Secret),
}

/// A credential of one person, to be used at once: it may be renewed at any time.
///
/// `Debug` prints neither the secret nor the person.
#[derive(Debug)]
pub struct Credential {
    /// The account that it belongs to.
    pub account: AccountKey,
    /// The name of the account for persons.
    pub name: AccountName,
    /// The access token or the key.
    pub secret: Secret,
    /// When it ends, if that is known.
    pub expires: Option<Millis>,
    /// The scopes.
    pub scopes: Scopes,
}

impl Granted {
    /// Tokens that do not end.
    #[must_use]
    pub fn tokens(access: Secret, refresh: Option<Secret>) -> Self {
        Self {
            kind: GrantedKind::Tokens { access, refresh },
            expires: None,
            scopes: None,
            name: None,
        }
    }

    /// A key that the person typed in.
    #[must_use]
    pub fn api_key(key: Secret) -> Self {
        Self {
            kind: GrantedKind::ApiKey(key),
            expires: None,
            scopes: None,
            name: None,
        }
    }

    /// Sets when the access token ends.
    #[must_use]
    pub fn expires(mut self, at: Millis) -> Self {
        self.expires = Some(at);
        self
    }

    /// Sets the scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = Some(scopes);
        self
    }

    /// Sets the name of the account for persons, which may change.
    #[must_use]
    pub fn name(mut self, name: impl Into<AccountName>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl Granted {
    /// The name of an account for persons, as it is kept with this.
    pub(super) fn name_of<'a>(&'a self, account: &'a AccountKey) -> &'a str {
        self.name.as_deref().unwrap_or(&account.account)
    }
}

impl From<Tokens> for Granted {
    fn from(tokens: Tokens) -> Self {
        Self {
            kind: GrantedKind::Tokens {
                access: tokens.access_token,
                refresh: tokens.refresh_token,
            },
            expires: tokens.expires_at.map(|at| at.saturating_mul(1000)),
            scopes: tokens.scopes,
            name: None,
        }
    }
}
