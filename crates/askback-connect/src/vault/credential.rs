use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::{Secret, Tokens};

use super::account::AccountKey;
use askback_core::debug_only;

/// The credentials that a provider issued for an account. It cannot be cloned or serialized.
pub struct Grant {
    /// The access token, or the key that the user entered.
    pub secret: Secret,
    /// The refresh token. If a renewal returns none, the old one stays.
    pub refresh: Option<Secret>,
    /// Whether the secret is a key that the user entered.
    pub is_api_key: bool,
    /// When the access token expires, if the provider said so.
    pub expires: Option<Millis>,
    /// The scopes, if the provider listed them. A renewal adds none: it keeps the earlier scopes that the provider
    /// listed, or all if it listed none.
    pub scopes: Option<Scopes>,
    /// The account's display name, if the provider reported it. If it is missing, a renewal keeps the old name, and a
    /// new record uses the id.
    pub name: Option<String>,
}

/// A user's credential, to be used at once, because it may be renewed at any time.
///
/// `Debug` prints neither the secret nor the user.
pub struct Credential {
    /// The account.
    pub account: AccountKey,
    /// The account's display name.
    pub name: String,
    /// The access token or the key.
    pub secret: Secret,
    /// When it expires, if known.
    pub expires: Option<Millis>,
    /// The scopes.
    pub scopes: Scopes,
}

impl Grant {
    /// Creates a grant of tokens that do not expire.
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

    /// Creates a grant of a key that the user entered.
    #[must_use]
    pub fn api_key(key: Secret) -> Self {
        Self {
            is_api_key: true,
            ..Self::tokens(key, None)
        }
    }

    /// Sets when the access token expires.
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

    /// Sets the account's display name, which may change.
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
