//! Both sides in one process, for tests.

use askback_core::engine::server::ClientLocation;
use tokio::sync::mpsc;

use super::{Channel, WAITING, inbox::QueuedMessage};

/// Returns the two ends of a connection in memory: each receives what the other sends.
#[must_use]
pub fn memory() -> (Channel, Channel) {
    let (here, there) = (mpsc::channel(WAITING), mpsc::channel(WAITING));
    (end(here.0, there.1), end(there.0, here.1))
}

fn end(
    sent: mpsc::Sender<QueuedMessage<Vec<u8>>>,
    received: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
) -> Channel {
    Channel {
        place: ClientLocation::Here,
        ..Channel::of_queues(received, None, sent, None)
    }
}
