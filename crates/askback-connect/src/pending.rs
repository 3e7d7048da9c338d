//! Serialization of pending requests, which are secret.

use askback_oauth::{AuthorizationError, Secret};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) fn write(pending: &impl Serialize) -> Result<Secret, AuthorizationError> {
    let written = serde_json::to_string(pending).map(Secret::new);
    written.map_err(|error| AuthorizationError::Store(error.to_string()))
}

pub(crate) fn read<T: DeserializeOwned>(written: &Secret) -> Result<T, AuthorizationError> {
    // The parser's error may quote a secret.
    let unreadable =
        |_| AuthorizationError::Store("it was changed after it was written".to_owned());
    serde_json::from_str(written.expose()).map_err(unreadable)
}
