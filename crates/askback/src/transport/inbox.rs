//! A queue of received messages.

use std::sync::Arc;

#[cfg(feature = "stdio")]
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::WAITING;

/// A queue of [`WAITING`] messages, at most one of which is large. This limits the memory that a
/// fast peer can fill to little more than one large message.
#[derive(Debug)]
pub(super) struct Inbox<M> {
    messages: mpsc::Sender<QueuedMessage<M>>,
    /// A longer message is large, in bytes.
    small: usize,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
pub(crate) struct QueuedMessage<M> {
    pub(super) message: M,
    /// If set, the message is empty: everything before it is to be written, and then this is told.
    pub(super) written: Option<oneshot::Sender<()>>,
    /// The permit of a large message until it is received.
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(super) struct ClosedInbox;

impl<M> Inbox<M> {
    pub(super) fn new(max_message_bytes: usize) -> (Self, mpsc::Receiver<QueuedMessage<M>>) {
        let (messages, received) = mpsc::channel(WAITING);
        let inbox = Self {
            messages,
            small: max_message_bytes / WAITING,
            room: Arc::new(Semaphore::new(1)),
        };
        (inbox, received)
    }

    /// Waits until there is room for a message of this length, then queues it.
    pub(super) async fn put(&self, message: M, bytes: usize) -> Result<(), ClosedInbox> {
        if bytes <= self.small {
            return self
                .messages
                .send(message.into())
                .await
                .map_err(|_| ClosedInbox);
        }
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_owned() => room.map_err(|_| ClosedInbox)?,
            () = self.messages.closed() => return Err(ClosedInbox),
        };
        let waiting = QueuedMessage {
            _room: Some(room),
            ..message.into()
        };
        self.messages.send(waiting).await.map_err(|_| ClosedInbox)
    }

    #[cfg(feature = "stdio")]
    pub(super) fn blocking_put(
        &self,
        message: M,
        bytes: usize,
        runtime: &Handle,
    ) -> Result<(), ClosedInbox> {
        if bytes <= self.small {
            return self
                .messages
                .blocking_send(message.into())
                .map_err(|_| ClosedInbox);
        }
        runtime.block_on(self.put(message, bytes))
    }

    #[cfg_attr(not(feature = "http-client"), allow(dead_code))]
    pub(super) async fn closed(&self) {
        self.messages.closed().await;
    }
}

impl<M> From<M> for QueuedMessage<M> {
    fn from(message: M) -> Self {
        Self {
            message,
            written: None,
            _room: None,
        }
    }
}

impl QueuedMessage<Vec<u8>> {
    pub(super) fn flush(written: oneshot::Sender<()>) -> Self {
        Self {
            written: Some(written),
            ..Vec::new().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, WAITING};

    /// Checks how many messages of this length fit into a queue for 3200 bytes.
    async fn check(length: usize, waiting: usize) {
        let (inbox, mut received) = Inbox::new(3200);
        let putting = tokio::spawn(async move {
            for _ in 0..2 * WAITING {
                inbox.put(vec![b' '; length], length).await.unwrap();
            }
        });
        // The spawned task runs until the queue is full.
        tokio::task::yield_now().await;
        assert_eq!(received.len(), waiting);
        let mut all = 0;
        while let Some(next) = received.recv().await {
            assert_eq!(next.message.len(), length);
            all += 1;
        }
        assert_eq!(all, 2 * WAITING);
        putting.await.unwrap();
    }

    #[tokio::test]
    async fn many_small_messages_wait_and_one_large_one() {
        check(100, WAITING).await;
        check(101, 1).await;
        check(3200, 1).await;
    }

    #[tokio::test]
    async fn a_sender_does_not_wait_for_room_without_a_receiver() {
        let (inbox, received) = Inbox::new(3200);
        inbox.put((), 3200).await.unwrap();
        let putting = tokio::spawn(async move { inbox.put((), 3200).await.is_err() });
        tokio::task::yield_now().await;
        drop(received);
        assert!(putting.await.unwrap());
    }
}
