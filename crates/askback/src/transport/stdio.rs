//! The standard streams of this process, for a server that a client started.

use super::{Channel, lines};

/// The channel over standard input and output, for messages of at most so many bytes. Nothing else
/// may write to standard output while it is in use.
///
/// It must be called within a tokio runtime, once. Before the process ends,
/// [`close`](super::Sender::close) waits until the last message is written.
#[must_use]
pub fn stdio(max_message_bytes: usize) -> Channel {
    lines(tokio::io::stdin(), tokio::io::stdout(), max_message_bytes)
}
