use std::ops::Deref;

use askback_core::protocol::reason;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::ClientError;

/// A result and its original text.
#[derive(Debug, Clone)]
pub struct Received<T> {
    /// The result.
    pub value: T,
    /// The `result` of the JSON-RPC response, as it was received.
    pub raw: Box<RawValue>,
}

impl<T> Received<T> {
    pub(super) fn read(
        raw: Box<RawValue>,
        from_text: fn(&str) -> Result<T, serde_json::Error>,
    ) -> Result<Self, ClientError> {
        let value = from_text(raw.get()).map_err(|error| unreadable(&error, &raw))?;
        Ok(Self { value, raw })
    }
}

impl<T> Deref for Received<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

pub(super) fn read<T: DeserializeOwned>(raw: &RawValue) -> Result<T, ClientError> {
    serde_json::from_str(raw.get()).map_err(|error| unreadable(&error, raw))
}

pub(super) fn unreadable(error: &serde_json::Error, raw: &RawValue) -> ClientError {
    ClientError::Unreadable {
        why: reason(error),
        received: raw.get().to_owned(),
    }
}
