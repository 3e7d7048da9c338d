//! A serialized response that is reused for many requests.

use alloc::vec::Vec;

use super::RequestId;

pub(super) const START: &str = r#"{"jsonrpc":"2.0","id":"#;

/// A response that is serialized once and sent to each request with its own id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenResponse {
    rest: Vec<u8>,
}

impl WrittenResponse {
    /// Takes the serialized response to a request. Returns `None` if it has another id.
    #[must_use]
    pub fn new(response: &[u8], id: &RequestId) -> Option<Self> {
        let rest = response.strip_prefix(START.as_bytes())?;
        let rest = rest.strip_prefix(id.to_json().as_bytes())?;
        rest.starts_with(b",").then(|| Self {
            rest: rest.to_vec(),
        })
    }

    /// Returns the beginning of the response with this id. [`rest`](Self::rest) follows it.
    #[must_use]
    pub fn beginning(&self, id: &RequestId) -> Vec<u8> {
        let id = id.to_json();
        [START.as_bytes(), id.as_bytes()].concat()
    }

    /// Returns everything behind the id, which is the same for every request.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.rest.capacity()
    }
}
