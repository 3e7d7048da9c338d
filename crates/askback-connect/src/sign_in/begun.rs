//! A sign-in that has begun.

use askback_core::ask::Millis;
use askback_oauth::{AuthorizationError, PendingAuthorization, Secret};
use serde::{Deserialize, Serialize};

use crate::pending;
use askback_core::debug_only;

/// A sign-in whose answer has not come yet: what is needed to check the answer.
///
/// It is secret. Keep it where only the browser that it was begun for can use it, such as in a sealed cookie: so no
/// other browser can be signed in by the answer.
#[derive(Debug)]
pub struct PendingSignIn(pub(crate) SignInRequest);

/// The same as it is written. It is not public, so that nothing else writes it.
#[derive(Serialize, Deserialize)]
pub(crate) struct SignInRequest {
    #[serde(with = "crate::pending")]
    pub(crate) pending: PendingAuthorization,
    pub(super) nonce: String,
    /// When it began, where the person has to sign in after that.
    pub(super) anew_since: Option<Millis>,
}

impl PendingSignIn {
    /// Returns the state of the request: the parameter `state` of the URL that the browser comes back to.
    #[must_use]
    pub fn state(&self) -> &str {
        self.0.pending.state()
    }

    /// Writes it as one line of text, to be kept where secrets are.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`].
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        pending::write(&self.0)
    }

    /// Reads what [`PendingSignIn::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not that.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        pending::read(kept).map(Self)
    }
}

debug_only! {
    SignInRequest { pending }
}
