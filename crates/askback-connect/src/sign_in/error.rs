//! Why a person is not signed in.

use askback::authorization::server::{BadKeys, Rejected};
use askback_oauth::AuthorizationError;

/// Why a person is not signed in. No message holds a code or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInFailed {
    /// The person said no at the issuer, or did not sign in.
    #[error("the person did not sign in")]
    Declined,
    /// The issuer gave no identity token. The operator is to blame: the client is not one of OpenID Connect.
    #[error("the issuer gave no identity token: register the client for OpenID Connect")]
    NoIdToken,
    /// The identity token is not good for this sign-in.
    #[error("the identity token was not accepted: {0}")]
    IdToken(#[from] Rejected),
    /// The issuer cannot be used as it is described. The operator is to blame.
    #[error("the issuer cannot be used: {0}")]
    Keys(#[from] BadKeys),
    /// The issuer refused, or its answer was not accepted.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
}
