use askback_core::auth::{BadScopes, Scopes};
use askback_oauth::{AuthorizationError, FetchError};

use super::connecting::AccountGrant;
use crate::vault::Grant;

/// Why an account at a third party is not connected. No message contains a code, a token or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The user refused at the third party.
    #[error("the person did not allow it at {provider}")]
    Declined {
        /// The third party's name.
        provider: String,
    },
    /// The user granted less than was requested. The error contains the grant, to be kept or revoked.
    #[error("the person allowed less than was asked for: {missing} is missing")]
    FewerScopes {
        /// The scopes that were not granted.
        missing: Scopes,
        /// The account, with the granted scopes.
        connected: Box<AccountGrant>,
    },
    /// An error after tokens were issued, for example if the third party does not report the account. The error
    /// contains the tokens, to be revoked.
    #[error("{why}")]
    Incomplete {
        /// The tokens.
        granted: Box<Grant>,
        /// The error.
        why: Box<ConnectError>,
    },
    /// The answer belongs to a request at another third party.
    #[error("the answer is to a request of another provider, and not of {provider}: begin again")]
    OtherProvider {
        /// The third party that was asked to finish.
        provider: String,
    },
    /// The third party does not report an account that can be shown.
    #[error("{provider} does not say which account it is: {why}")]
    Account {
        /// The third party's name.
        provider: String,
        /// The problem.
        why: String,
    },
    /// The operator's setting for the account ([`AccountSource`](super::AccountSource), or `account` in a file) does
    /// not match what the third party reports. The operator has to fix it.
    #[error("the `account` setting of {provider} is wrong: {why}")]
    AccountSetting {
        /// The third party's name.
        provider: String,
        /// The URL and its response, or the claim.
        why: String,
    },
    /// The third party rejects a key.
    #[error("{provider} does not take this key: check that it was copied whole")]
    KeyRefused {
        /// The third party's name.
        provider: String,
    },
    /// The third party connects accounts in another way, for example through an authorization server and not by key.
    /// This is a bug in the program.
    #[error("{provider} is connected in another way: see `ThirdParty::key_page`")]
    OtherWay {
        /// The third party's name.
        provider: String,
    },
    /// The description of a third party is invalid. The operator has to fix it.
    #[error("the provider {provider:?} cannot be used: {why}")]
    Description {
        /// The third party's name.
        provider: String,
        /// The problem, and what to do.
        why: String,
    },
    /// A setting of a third party is invalid, such as a URL. The operator has to fix it.
    #[error("{what} cannot be used: {why}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// The problem.
        why: String,
    },
    /// The scopes cannot be requested.
    #[error(transparent)]
    Scopes(#[from] BadScopes),
    /// The request for the account, or for the check of a key, failed.
    #[error("{provider} cannot be asked: {why}")]
    Fetch {
        /// The third party's name.
        provider: String,
        /// The error.
        why: FetchError,
    },
    /// The authorization server refused, or its answer was not accepted.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
}

impl ConnectError {
    /// Whether the operator has to fix a setting before any user can connect an account.
    pub(crate) fn is_of_setting(&self) -> bool {
        match self {
            Self::AccountSetting { .. } => true,
            // The client id or secret is wrong (RFC 6749, 5.2).
            Self::Authorization(AuthorizationError::Refused { code, .. }) => {
                matches!(&**code, "invalid_client" | "unauthorized_client")
            }
            Self::Incomplete { why, .. } => why.is_of_setting(),
            _ => false,
        }
    }
}
