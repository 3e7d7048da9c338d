//! A response that many requests are given.

use alloc::vec::Vec;

use super::RequestId;

/// The beginning of a response, up to its id.
pub(super) const START: &str = r#"{"jsonrpc":"2.0","id":"#;

/// A response that is written once, and given to each request under its own id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenResponse {
    /// All that comes after the id.
    rest: Vec<u8>,
}

impl WrittenResponse {
    /// Takes down the response to the request of this id; none where it is the response to another.
    #[must_use]
    pub fn new(response: &[u8], id: &RequestId) -> Option<Self> {
        let rest = response.strip_prefix(START.as_bytes())?;
        let rest = rest.strip_prefix(id.to_json().as_bytes())?;
        rest.starts_with(b",").then(|| Self {
            rest: rest.to_vec(),
        })
    }

    /// Returns the beginning of the response to the request of this id; what comes after it is
    /// [`rest`](Self::rest).
    #[must_use]
    pub fn beginning(&self, id: &RequestId) -> Vec<u8> {
        let id = id.to_json();
        [START.as_bytes(), id.as_bytes()].concat()
    }

    /// Returns all that comes after the id, which is the same for every request.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// Returns how many bytes it takes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.rest.capacity()
    }
}
