//! Credentials, as they go into the vault and as they come out.

use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::{Secret, Tokens};

use super::account::AccountKey;
use askback_core::debug_only;

/// The secret that a provider gave for an account, and how long it is good. It cannot be copied or written anywhere.
pub struct Grant {
    /// The token that requests are sent with, or the key that the person typed in.
    pub secret: Secret,
    /// The token by which the next ones are had. If a renewal gives none, the one before stays.
    pub refresh: Option<Secret>,
    /// Whether the secret is a key that the person typed in.
    pub is_api_key: bool,
    /// When the access token ends, if the provider said so.
    pub expires: Option<Millis>,
    /// The scopes, if the provider named them. A renewal adds none: of the scopes before, those stay that the provider
    /// named, or all if it named none.
    pub scopes: Option<Scopes>,
    /// The name of the account for persons, if the provider named it. Without one, the name of before stays at a renewal, and
    /// otherwise it is the id.
    pub name: Option<String>,
}

/// A credential of one person, to be used at once: it may be renewed at any time.
///
/// `Debug` prints neither the secret nor the person.
pub struct Credential {
    /// The account that it belongs to.
    pub account: AccountKey,
    /// The name of the account for persons.
    pub name: String,
    /// The access token or the key.
    pub secret: Secret,
    /// When it ends, if that is known.
    pub expires: Option<Millis>,
    /// The scopes.
    pub scopes: Scopes,
}

impl Grant {
    /// Tokens that do not end.
    #[must_use]
    pub fn tokens(access: Secret, refresh: Option<Secret>) -> Self {
        Self {
            secret: access,
            refresh,
            is_api_key: false,
            expires: None,
            scopes: None,
            name: None,
        }
    }

    /// A key that the person typed in.
    #[must_use]
    pub fn api_key(key: Secret) -> Self {
        Self {
            is_api_key: true,
            ..Self::tokens(key, None)
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
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn name_of<'a>(&'a self, account: &'a AccountKey) -> &'a str {
        self.name.as_deref().unwrap_or(&account.account)
    }
}

impl From<Tokens> for Grant {
    fn from(tokens: Tokens) -> Self {
        Self {
            expires: tokens.expires_at.map(|at| at.saturating_mul(1000)),
            scopes: tokens.scopes,
            ..Self::tokens(tokens.access_token, tokens.refresh_token)
        }
    }
}

debug_only! {
    Grant { secret, refresh, is_api_key, expires, scopes }
    Credential { account, secret, expires, scopes }
}
