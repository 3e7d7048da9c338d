//! Channels over any medium that carries whole messages, for custom transports.

use std::{future::Future, io};

use tokio::sync::mpsc;

use super::{
    Channel, WAITING,
    inbox::{Inbox, QueuedMessage},
};

/// The receiving half of a transport, for [`Channel::new`].
pub trait ReadMessages: Send + 'static {
    /// Reads the next message: JSON, as the other side wrote it. `None` is the end of the connection.
    ///
    /// This is called only if there is room for another message, so a peer that sends too fast has
    /// to wait. For a message longer than the channel's limit, it is enough to return one byte more
    /// than the limit: the message is then rejected as too long.
    ///
    /// # Errors
    ///
    /// An error is logged and ends the connection.
    fn read(&mut self) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;
}

/// The sending half of a transport, for [`Channel::new`].
///
/// An error of any method is logged and ends the connection.
pub trait WriteMessages: Send + 'static {
    /// Writes a message, or buffers it until the next flush. Waits while the other side does not
    /// read.
    ///
    /// # Errors
    ///
    /// Fails if the connection fails.
    fn write(&mut self, message: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Writes everything buffered. Called whenever no other message is waiting.
    ///
    /// # Errors
    ///
    /// Fails if the connection fails.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        async { Ok(()) }
    }

    /// Closes this side of the connection, so that the other side sees the end after the last
    /// message. Called after the last flush. If the connection has failed, the half is dropped
    /// instead.
    ///
    /// # Errors
    ///
    /// Fails if the connection fails.
    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        async { Ok(()) }
    }
}

impl Channel {
    /// Makes a channel from the two halves of a connection that carries whole messages, such as a
    /// WebSocket, a queue or frames over a socket. Each message has at most the given number of
    /// bytes. For a byte stream with one message per line, use [`lines`](super::lines).
    ///
    /// Must be called within a tokio runtime, because each half gets its own task. The reading half
    /// is dropped with the channel's receiver. The writing half is dropped after it has written
    /// everything sent before its sender was closed or dropped.
    ///
    /// [`Server::serve`](crate::Server::serve) serves such a channel. A client takes a type that
    /// implements [`Connect`](super::Connect) and makes a channel for each connection. The client's
    /// [roots](crate::ctx::Roots) are never opened, because only this crate's own transports know
    /// that the roots are on this machine.
    pub fn new(
        reader: impl ReadMessages,
        writer: impl WriteMessages,
        max_message_bytes: usize,
    ) -> Self {
        let (received, incoming) = Inbox::new(max_message_bytes);
        let (outgoing, sent) = mpsc::channel(WAITING);
        let reading = tokio::spawn(read(reader, received));
        let writing = tokio::spawn(async move {
            if let Err(error) = write(writer, sent).await {
                tracing::debug!(%error, "a connection could not be written to");
            }
        });
        Self::of_queues(
            incoming,
            Some(reading.abort_handle()),
            outgoing,
            Some(writing),
        )
    }
}

async fn read(mut reader: impl ReadMessages, received: Inbox<Vec<u8>>) {
    loop {
        match reader.read().await {
            Ok(Some(message)) => {
                let bytes = message.len();
                if received.put(message, bytes).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be read from");
                return;
            }
        }
    }
}

async fn write(
    mut writer: impl WriteMessages,
    mut sent: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
) -> io::Result<()> {
    let mut flushed = Vec::new();
    while let Some(first) = sent.recv().await {
        let mut next = Some(first);
        while let Some(queued) = next {
            match queued.written {
                Some(done) => flushed.push(done),
                None => writer.write(queued.message).await?,
            }
            next = sent.try_recv().ok();
        }
        writer.flush().await?;
        for done in flushed.drain(..) {
            // The caller may have stopped waiting.
            let _ = done.send(());
        }
    }
    writer.close().await
}
