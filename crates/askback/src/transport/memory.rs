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

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::memory;

    #[tokio::test]
    async fn messages_cross_and_an_end_that_is_gone_is_noticed() {
        let (left, right) = memory();
        let (mut received, mut left) = left.split();
        let (unread, mut right) = right.split();
        right.send(b"1".to_vec()).await.unwrap();
        right.send(b"2".to_vec()).await.unwrap();
        right.flush().await.unwrap();
        right.close().await.unwrap();
        assert_eq!(
            right.send(b"3".to_vec()).await.unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        assert_eq!(received.receive().await.unwrap().unwrap(), b"1");
        assert_eq!(received.receive().await.unwrap().unwrap(), b"2");
        assert_eq!(received.receive().await.unwrap(), None);
        left.send(b"4".to_vec()).await.unwrap();
        drop(unread);
        assert_eq!(
            left.send(b"5".to_vec()).await.unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    }
}
