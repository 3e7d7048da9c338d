use askback_core::ask::Millis;
use askback_oauth::{AuthorizationError, PendingAuthorization, Secret};
use serde::{Deserialize, Serialize};

use crate::pending;
use askback_core::debug_only;

/// A sign-in that was not answered yet: what is needed to check the answer.
///
/// It is secret. Keep it where only the browser that started it can use it, such as in a sealed cookie, so that the
/// answer cannot sign in another browser.
#[derive(Debug)]
pub struct PendingSignIn(pub(crate) SignInRequest);

/// The serialized form. Private, so that only `write` can serialize a request.
#[derive(Serialize, Deserialize)]
pub(crate) struct SignInRequest {
    pub(crate) pending: PendingAuthorization,
    pub(super) nonce: String,
    /// When it started, if the user must sign in again after that.
    pub(super) anew_since: Option<Millis>,
}

impl PendingSignIn {
    /// Returns the `state` parameter of the URL that the browser returns to.
    #[must_use]
    pub fn state(&self) -> &str {
        self.0.pending.state()
    }

    /// Serializes the sign-in as one line of text. Store it as a secret.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it cannot be serialized.
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        pending::write(&self.0)
    }

    /// Reads the output of [`PendingSignIn::write`].
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if the text is not such an output.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        pending::read(kept).map(Self)
    }
}

debug_only! {
    SignInRequest { pending }
}
