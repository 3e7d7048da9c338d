//! A sign-in that has begun.

use crate::debug::debug_only;
use askback_core::ask::Millis;
use askback_oauth::{AuthorizationError, PendingAuthorization, Secret};
use serde::{Deserialize, Serialize};

/// A sign-in whose answer has not come yet: what is needed to check the answer.
///
/// It is secret. Keep it where only the browser that it was begun for can use it, such as in a sealed cookie: so no
/// other browser can be signed in by the answer.
pub struct PendingSignIn {
    pub(super) pending: PendingAuthorization,
    pub(super) nonce: String,
    /// When it began, where the person has to sign in after that.
    pub(super) anew_since: Option<Millis>,
}

/// The same as it is written.
#[derive(Serialize, Deserialize)]
struct Kept {
    nonce: String,
    sign_in: String,
    #[serde(default)]
    anew_since: Option<Millis>,
}

impl PendingSignIn {
    /// Returns the state of the request: the parameter `state` of the URL that the browser comes back to.
    #[must_use]
    pub fn state(&self) -> &str {
        self.pending.state()
    }

    /// Writes it as one line of text, to be kept where secrets are.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`].
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        let kept = Kept {
            nonce: self.nonce.clone(),
            anew_since: self.anew_since,
            sign_in: self.pending.write()?.expose().to_owned(),
        };
        let written = serde_json::to_string(&kept).map(Secret::new);
        written.map_err(|error| AuthorizationError::Store(error.to_string()))
    }

    /// Reads what [`PendingSignIn::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not that.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        // An error of the parser may quote what is secret.
        let unreadable = |_| AuthorizationError::Store("it is not as it was written".to_owned());
        let kept: Kept = serde_json::from_str(kept.expose()).map_err(unreadable)?;
        Ok(Self {
            pending: PendingAuthorization::read(&Secret::new(kept.sign_in))?,
            nonce: kept.nonce,
            anew_since: kept.anew_since,
        })
    }
}

debug_only! {
    PendingSignIn { pending }
}
