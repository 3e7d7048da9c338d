//! Channels over whatever carries whole messages: for transports that others write.

use std::{future::Future, io};

use tokio::sync::mpsc;

use super::{Channel, WAITING, WriterCommand, inbox::Inbox};

/// The receiving half of a transport, for [`Channel::new`].
pub trait ReadMessages: Send + 'static {
    /// Reads the next message: JSON, as the other side wrote it. `None` is the end of the connection.
    ///
    /// It is called again only when there is room for another message, so that a peer that sends
    /// faster than it is listened to waits. Of a message longer than the channel takes, one byte more
    /// than the limit is enough: it is refused for its length.
    ///
    /// # Errors
    ///
    /// An error is noted in the log, and ends the connection.
    fn read(&mut self) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;
}

/// The sending half of a transport, for [`Channel::new`].
///
/// An error of any method is noted in the log, and ends the connection.
pub trait WriteMessages: Send + 'static {
    /// Writes a message, or keeps it for the next flush. It waits while the other side does not read.
    ///
    /// # Errors
    ///
    /// Fails where the connection does.
    fn write(&mut self, message: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Hands over everything that was written. It is called whenever no other message waits.
    ///
    /// # Errors
    ///
    /// Fails where the connection does.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        async { Ok(()) }
    }

    /// Ends this side of the connection, so that the other sees the end after the last message. It is
    /// called after the last flush, and not where the connection failed; then the half is dropped.
    ///
    /// # Errors
    ///
    /// Fails where the connection does.
    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        async { Ok(()) }
    }
}

impl Channel {
    /// Makes a channel of the two halves of a connection that carries whole messages, of at most so
    /// many bytes each: a WebSocket, a queue, frames over a socket. A stream of bytes with a message a
    /// line is a channel by [`lines`](super::lines).
    ///
    /// The halves are driven by tasks of their own, so that it must be called within a tokio runtime.
    /// The reading half is dropped when the channel's receiver is, the writing half once it has
    /// written what was sent before its sender was closed or dropped.
    ///
    /// [`Server::serve`](crate::Server::serve) serves such a channel; for a client, a type that
    /// implements [`Connect`](super::Connect) makes one whenever it is wanted. The
    /// [roots](crate::ctx::Roots) of the client at its other end are never opened: only a transport of
    /// this crate knows that they are on this machine. `askback::testing::check_transport` (feature
    /// `testing`) checks a transport.
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
        Self::elsewhere(incoming, Some(reading.abort_handle()), outgoing, writing)
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
    mut sent: mpsc::Receiver<WriterCommand>,
) -> io::Result<()> {
    let mut flushed = Vec::new();
    while let Some(first) = sent.recv().await {
        let mut next = Some(first);
        while let Some(sent_next) = next {
            match sent_next {
                WriterCommand::Message(message) => writer.write(message).await?,
                WriterCommand::Flush(done) => flushed.push(done),
            }
            next = sent.try_recv().ok();
        }
        writer.flush().await?;
        for done in flushed.drain(..) {
            // Whoever asked may have stopped waiting.
            let _ = done.send(());
        }
    }
    writer.close().await
}
