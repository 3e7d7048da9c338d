//! Transports: how messages travel between a client and a server.
//!
//! Most transports are a [`Channel`], which sends and receives whole messages in order, as bytes.
//! It hides the medium: the standard streams, memory, or any pair of byte streams. There are two
//! exceptions. A client reads and writes a child process's streams itself, without a channel's
//! tasks and queues. HTTP, where each message is its own exchange, sends and receives decoded
//! messages.

mod channel;
#[cfg(all(feature = "client", feature = "stdio"))]
mod child;
#[cfg(feature = "client")]
mod connect;
#[cfg(all(feature = "stdio", unix))]
mod descriptor;
#[cfg(feature = "server")]
mod direct;
mod framing;
#[cfg(feature = "http-client")]
mod http;
mod inbox;
mod lines;
#[cfg(feature = "client")]
mod link;
mod memory;
#[cfg(feature = "client")]
mod pause;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(feature = "client")]
mod tap;

use std::{io, sync::Arc};

use askback_core::{ask::Principal, engine::server::ClientLocation};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinHandle},
};

pub use channel::{ReadMessages, WriteMessages};
#[cfg(all(feature = "client", feature = "stdio"))]
pub use child::{Child, ChildEnd, ChildLine, OpenChild};
#[cfg(feature = "client")]
pub(crate) use connect::{ChannelResource, Report};
#[cfg(feature = "client")]
pub use connect::{Connect, ConnectFuture, Link};
#[cfg(feature = "server")]
pub(crate) use direct::{ChannelEnds, DirectReceiver, DirectSender};
#[cfg(feature = "http-client")]
pub use http::{BadHeader, BadUrl, Eras, Http};
pub use lines::lines;
#[cfg(feature = "client")]
pub(crate) use link::{LinkReceiver, LinkSender};
pub use memory::memory;
#[cfg(feature = "client")]
pub(crate) use pause::Pause;
#[cfg(feature = "stdio")]
pub use stdio::stdio;
#[cfg(feature = "client")]
pub(crate) use tap::{Observer, Tap};
#[cfg(feature = "client")]
pub use tap::{WireEvent, WireHeader, WireRequest, WireResponse, WireValue};

use self::{
    inbox::QueuedMessage,
    lines::{LineReader, LineWriter},
};

/// How many messages a channel queues before its sender waits.
const WAITING: usize = 32;

/// One end of a connection.
#[derive(Debug)]
pub struct Channel {
    ends: Ends,
    #[cfg_attr(not(feature = "server"), expect(dead_code))]
    place: ClientLocation,
    principal: Option<Arc<Principal>>,
}

#[derive(Debug)]
enum Ends {
    /// Read and written by the task that serves the channel, or by one task per half once it is
    /// split.
    Lines(LineReader, LineWriter),
    /// Read and written by other tasks, or in memory without any.
    Halves(Receiver, Sender),
    /// Already taken by a client.
    #[cfg(feature = "client")]
    Opened,
}

/// The receiving half of a [`Channel`].
#[derive(Debug)]
pub struct Receiver {
    messages: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
    /// The task that reads; `None` in memory.
    reader: Option<AbortHandle>,
}

/// The sending half of a [`Channel`].
#[derive(Debug)]
pub struct Sender {
    /// `None` once closed.
    messages: Option<Messages>,
    /// The task that writes; `None` in memory.
    writer: Option<JoinHandle<()>>,
}

/// Room for one message in a [`Sender`].
#[derive(Debug)]
pub struct SendPermit<'a>(Room<'a>);

#[derive(Debug)]
enum Messages {
    Written(mpsc::Sender<WriterCommand>),
    Memory(mpsc::Sender<QueuedMessage<Vec<u8>>>),
}

#[derive(Debug)]
enum Room<'a> {
    Written(mpsc::Permit<'a, WriterCommand>),
    Memory(mpsc::Permit<'a, QueuedMessage<Vec<u8>>>),
}

#[derive(Debug)]
enum WriterCommand {
    Message(Vec<u8>),
    Flush(oneshot::Sender<()>),
}

impl Channel {
    /// Makes a channel that may lead to another machine, and is read and written by tasks.
    fn elsewhere(
        incoming: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
        reader: Option<AbortHandle>,
        outgoing: mpsc::Sender<WriterCommand>,
        writer: JoinHandle<()>,
    ) -> Self {
        let receiver = Receiver {
            messages: incoming,
            reader,
        };
        let sender = Sender {
            messages: Some(Messages::Written(outgoing)),
            writer: Some(writer),
        };
        Self::over(Ends::Halves(receiver, sender))
    }

    fn over(ends: Ends) -> Self {
        Self {
            ends,
            place: ClientLocation::Elsewhere,
            principal: None,
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn place(&self) -> ClientLocation {
        self.place
    }

    #[cfg(feature = "server")]
    pub(crate) fn is_in_memory(&self) -> bool {
        let Ends::Halves(_, sender) = &self.ends else {
            return false;
        };
        matches!(sender.messages, Some(Messages::Memory(_)))
    }

    /// Sets the principal at the other end, if the transport has authenticated it, for example from
    /// the request that opened a WebSocket. Everything that a server stores for that client belongs
    /// to this principal. Handlers read it with [`Ctx::principal`](crate::Ctx::principal).
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(Arc::new(principal));
        self
    }

    #[cfg(feature = "server")]
    pub(crate) fn take_principal(&mut self) -> Option<Arc<Principal>> {
        self.principal.take()
    }

    /// Splits the channel into independent halves. A channel over [lines](lines()) is then read and
    /// written by two tasks.
    #[must_use]
    pub fn split(self) -> (Receiver, Sender) {
        match self.ends {
            Ends::Lines(reader, writer) => lines::spawn(reader, writer),
            Ends::Halves(receiver, sender) => (receiver, sender),
            #[cfg(feature = "client")]
            Ends::Opened => memory().0.split(),
        }
    }
}

impl Receiver {
    /// Receives the next message, or `None` once the other side is gone. Cancel safe.
    ///
    /// A message longer than the channel's limit is cut off one byte after the limit, so that the
    /// parser rejects it as too long. The next message is complete again.
    ///
    /// # Errors
    ///
    /// No current transport fails; a transport only ends.
    pub async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let received = self.messages.recv().await;
        Ok(received.map(|waiting| waiting.message))
    }

    #[cfg(feature = "client")]
    pub(crate) fn try_receive(&mut self) -> Option<Vec<u8>> {
        let received = self.messages.try_recv().ok()?;
        Some(received.message)
    }
}

impl Sender {
    /// Sends a message: JSON, without a newline at its end. Waits if too many messages are queued,
    /// but not until it is written. Not cancel safe; [`Sender::ready`] is.
    ///
    /// # Errors
    ///
    /// Broken pipe if the other side is gone.
    pub async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        self.ready().await?.send(message);
        Ok(())
    }

    /// Waits until there is room for a message. Cancel safe.
    ///
    /// # Errors
    ///
    /// Broken pipe if the other side is gone.
    pub async fn ready(&self) -> io::Result<SendPermit<'_>> {
        let room = match self.messages.as_ref().ok_or_else(gone)? {
            Messages::Written(messages) => Room::Written(messages.reserve().await.map_err(lost)?),
            Messages::Memory(messages) => Room::Memory(messages.reserve().await.map_err(lost)?),
        };
        Ok(SendPermit(room))
    }

    /// Returns room for a message, if there is any now.
    #[cfg(feature = "server")]
    fn try_ready(&self) -> io::Result<Option<SendPermit<'_>>> {
        let room = match self.messages.as_ref().ok_or_else(gone)? {
            Messages::Written(messages) => messages.try_reserve().map(Room::Written),
            Messages::Memory(messages) => messages.try_reserve().map(Room::Memory),
        };
        match room {
            Ok(room) => Ok(Some(SendPermit(room))),
            Err(mpsc::error::TrySendError::Full(())) => Ok(None),
            Err(mpsc::error::TrySendError::Closed(())) => Err(gone()),
        }
    }

    /// Waits until everything sent is written. Messages are also written without a flush.
    ///
    /// # Errors
    ///
    /// Broken pipe if the other side is gone.
    pub async fn flush(&mut self) -> io::Result<()> {
        if let Some(Messages::Written(messages)) = &self.messages {
            let (done, written) = oneshot::channel();
            messages
                .send(WriterCommand::Flush(done))
                .await
                .map_err(lost)?;
            written.await.map_err(lost)?;
        }
        Ok(())
    }

    /// Closes this side after everything sent is written.
    ///
    /// # Errors
    ///
    /// Never fails: unwritten messages can no longer be delivered.
    pub async fn close(&mut self) -> io::Result<()> {
        self.messages = None;
        if let Some(writer) = &mut self.writer {
            // A task that panicked writes nothing more.
            let _ = writer.await;
            self.writer = None;
        }
        Ok(())
    }
}

impl SendPermit<'_> {
    /// Sends a message: JSON, without a newline at its end.
    pub fn send(self, message: Vec<u8>) {
        match self.0 {
            Room::Written(room) => room.send(WriterCommand::Message(message)),
            Room::Memory(room) => room.send(message.into()),
        };
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the other side is gone")
}

fn lost<E>(_: E) -> io::Error {
    gone()
}
