//! Results, with the text they came as.

use std::ops::Deref;

use askback_core::json;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::ClientError;

/// A result and the text it came as.
#[derive(Debug, Clone)]
pub struct Received<T> {
    /// The result.
    pub value: T,
    /// The `result` of the JSON-RPC response, as it was received.
    pub raw: Box<RawValue>,
}

impl<T: DeserializeOwned> Received<T> {
    pub(super) fn read(raw: Box<RawValue>) -> Result<Self, ClientError> {
        let value = read(&raw)?;
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
    json::from_text(raw.get())
        .map_err(|why| ClientError::Protocol(format!("its result cannot be read: {why}")))
}
