//! The bounds on messages and requests.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on what is read of a peer, message by message, and on the requests in progress.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WireLimits {
    /// The longest message read from a peer, in bytes.
    pub message_bytes: usize,
    /// The most values of JSON in one message: arrays, objects, and what stands in them. Read into
    /// memory, each takes up to a hundred bytes, however short it is.
    pub message_values: usize,
    /// The most messages in one batch (2025-03-26 only).
    pub batch_messages: usize,
    /// The longest id a client keeps that a server chose, in bytes: of an event in a stream, a task,
    /// a question of a round or a link. It sends most of them back, some in a header.
    pub id_bytes: usize,
    /// The longest id of a request, progress token or name of a task in a subscription that is
    /// taken from a peer, in bytes.
    pub request_id_bytes: usize,
    /// The most requests of one peer in progress at a time.
    pub requests_in_flight: usize,
    /// How long a request may work, the time a person is asked not counted. To a client each sign
    /// of progress gives a server that time anew.
    #[serde(deserialize_with = "seconds")]
    pub request: Duration,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self {
            message_bytes: 4 << 20,
            message_values: 512 << 10,
            batch_messages: 64,
            id_bytes: 4 << 10,
            request_id_bytes: 1 << 10,
            requests_in_flight: 256,
            request: Duration::from_secs(5 * MINUTE),
        }
    }
}
