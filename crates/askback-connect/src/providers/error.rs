//! Why an account is not connected.

use askback_core::auth::{BadScopes, Scopes};
use askback_oauth::{AuthorizationError, FetchError};

use super::connecting::AccountGrant;
use crate::vault::{Grant, VaultError};

/// Why an account at a third party is not connected. No message holds a code, a token or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The person said no at the third party.
    #[error("the person did not allow it at {provider}")]
    Declined {
        /// The third party, by its name.
        provider: String,
    },
    /// The person allowed less than was asked for. What was allowed is there, to be kept or given back.
    #[error("the person allowed less than was asked for: {missing} is missing")]
    FewerScopes {
        /// The scopes that were asked for and not granted.
        missing: Scopes,
        /// The account, with the scopes that were granted.
        connected: Box<AccountGrant>,
    },
    /// Tokens were given, and then it failed, such as where the third party does not say whose account they are of. They
    /// are there, to be given back.
    #[error("{why}")]
    Incomplete {
        /// The tokens.
        granted: Box<Grant>,
        /// The failure.
        why: Box<ConnectError>,
    },
    /// Tokens were given and are not kept: their third party is told to take them back.
    #[error("{0}")]
    GivenBack(String),
    /// The answer belongs to a request at another third party.
    #[error("the answer is to a request of another provider, and not of {provider}: begin again")]
    OtherProvider {
        /// The third party that was asked to finish.
        provider: String,
    },
    /// The third party does not say whose account it is, in words that can be shown.
    #[error("{provider} does not say which account it is: {why}")]
    Account {
        /// The third party, by its name.
        provider: String,
        /// The fault.
        why: String,
    },
    /// The account is named elsewhere than where the operator's setting says ([`AccountSource`](super::AccountSource), or
    /// `account` in a file). The operator is to blame.
    #[error("the `account` setting of {provider} is wrong: {why}")]
    AccountSetting {
        /// The third party, by its name.
        provider: String,
        /// The URL and what it answers, or the claim.
        why: String,
    },
    /// The third party does not take a key.
    #[error("{provider} does not take this key: check that it was copied whole")]
    KeyRefused {
        /// The third party, by its name.
        provider: String,
    },
    /// A third party is used in a way that is not its own, such as a form for a key where it has an
    /// authorization server. The program is to blame.
    #[error("{provider} is connected in another way: see `ThirdParty::way`")]
    OtherWay {
        /// The third party, by its name.
        provider: String,
    },
    /// A third party cannot be described like this. The operator is to blame.
    #[error("the provider {provider:?} cannot be used: {why}")]
    Description {
        /// The third party, by its name.
        provider: String,
        /// The fault, and what to do.
        why: String,
    },
    /// A part of a third party cannot be as it is given, such as a URL. The operator is to blame.
    #[error("{what} cannot be used: {why}")]
    Setting {
        /// The part.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// Scopes cannot be asked for.
    #[error(transparent)]
    Scopes(#[from] BadScopes),
    /// The third party cannot be asked whose account it is, or whether it takes a key.
    #[error("{provider} cannot be asked: {why}")]
    Fetch {
        /// The third party, by its name.
        provider: String,
        /// The failure.
        why: FetchError,
    },
    /// The vault cannot have tokens taken back.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The authorization server refused, or its answer was not accepted.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
}

impl ConnectError {
    /// Whether nobody can connect an account before the operator has corrected a setting.
    pub(crate) fn is_of_setting(&self) -> bool {
        match self {
            Self::AccountSetting { .. } => true,
            // The client's id or its secret is another one there (RFC 6749, 5.2).
            Self::Authorization(AuthorizationError::Refused { code, .. }) => {
                matches!(&**code, "invalid_client" | "unauthorized_client")
            }
            Self::Incomplete { why, .. } => why.is_of_setting(),
            _ => false,
        }
    }

    /// The fault alone, for a sentence that names what it is of.
    pub(super) fn fault(&self) -> String {
        match self {
            Self::Description { why, .. } | Self::Setting { why, .. } => why.clone(),
            other => other.to_string(),
        }
    }
}
