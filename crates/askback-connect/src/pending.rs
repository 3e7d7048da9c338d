//! Serialization of pending requests, which are secret.

use askback_oauth::{AuthorizationError, PendingAuthorization, Secret};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, ser::Error};

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

pub(crate) fn serialize<S: Serializer>(
    pending: &PendingAuthorization,
    to: S,
) -> Result<S::Ok, S::Error> {
    pending
        .write()
        .map_err(S::Error::custom)?
        .expose()
        .serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<PendingAuthorization, D::Error> {
    let written = Secret::new(String::deserialize(from)?);
    PendingAuthorization::read(&written).map_err(serde::de::Error::custom)
}
