//! The bounds on what a host shows.

use core::time::Duration;

use serde::Deserialize;

use super::{MINUTE, seconds};

/// The bounds on what a host shows of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostLimits {
    /// The most questions that wait behind the one a person is answering; a host cancels more.
    pub questions_waiting: usize,
    /// The most characters that a host shows at once of what a server says of one question, all
    /// messages of a sampling request together; the rest is shown on demand. Where no person is
    /// asked, fields and links count as well, and the rest is left out.
    pub message_shown: usize,
    /// The most questions that a host shows of those that were refused without asking the person: a
    /// form that cannot be drawn, or a question that the client did not declare.
    pub refusals: usize,
    /// How long a link that came in an error (2025-11-25) waits for the server to say that its page is
    /// done, where no person is asked; then the call is sent again all the same.
    #[serde(deserialize_with = "seconds")]
    pub link: Duration,
    /// How long a model may take to reply.
    #[serde(deserialize_with = "seconds")]
    pub model: Duration,
    /// The longest reply of a model that is read, in bytes of JSON.
    pub model_bytes: usize,
    /// The most lines that a host shows of what a server says without being asked (log lines, its
    /// standard error, changes, notes) within [`remarks_window`](Self::remarks_window); how many
    /// more there were is told in one line.
    pub remarks: u32,
    /// The window of [`remarks`](Self::remarks).
    #[serde(deserialize_with = "seconds")]
    pub remarks_window: Duration,
    /// The most bytes that a host keeps of the messages of one session, to show them later; the
    /// oldest go first.
    pub wire_bytes: usize,
    /// The most bytes that a host writes of the messages of one session to a file; then the file ends.
    pub trace_bytes: usize,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self {
            questions_waiting: 16,
            message_shown: 4 << 10,
            refusals: 16,
            link: Duration::from_secs(10 * MINUTE),
            model: Duration::from_secs(10 * MINUTE),
            model_bytes: 4 << 20,
            remarks: 64,
            remarks_window: Duration::from_secs(10),
            wire_bytes: 16 << 20,
            trace_bytes: 1 << 30,
        }
    }
}
