//! Transports: how messages travel between the two sides.
//!
//! Nearly every transport that is a stream ends in the same thing, a [`Channel`]: whole messages in,
//! whole messages out, in order, as bytes. What carries them (the standard streams, memory, any pair
//! of byte streams) is not seen beyond it. There are two others: a client reads and writes the streams
//! of a child process itself, without the tasks and queues of a channel; and HTTP, where each message
//! is an exchange of its own, takes and gives messages that are read.

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

/// How many messages may wait in a channel before its sender waits.
const WAITING: usize = 32;

/// One end of a connection.
#[derive(Debug)]
pub struct Channel {
    ends: Ends,
    /// Where the other end is.
    #[cfg_attr(not(feature = "server"), expect(dead_code))]
    place: ClientLocation,
    /// The principal at the other end.
    principal: Option<Arc<Principal>>,
}

/// The reader and the writer of the messages of a channel.
#[derive(Debug)]
enum Ends {
    /// The task that serves the channel, or the tasks of the halves once it is split.
    Lines(LineReader, LineWriter),
    /// Others do, or nobody has to.
    Halves(Receiver, Sender),
    /// Nothing any more: a client took what did.
    #[cfg(feature = "client")]
    Opened,
}

/// The receiving half of a [`Channel`].
#[derive(Debug)]
pub struct Receiver {
    messages: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
    /// Reads what is to be received; none in memory.
    reader: Option<AbortHandle>,
}

/// The sending half of a [`Channel`].
#[derive(Debug)]
pub struct Sender {
    /// Absent once closed.
    messages: Option<Messages>,
    /// Writes what was sent; none in memory, where sending is arriving.
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
    /// Tell when everything before is written.
    Flush(oneshot::Sender<()>),
}

impl Channel {
    /// A channel that may lead to another machine, whose messages are read and written by
    /// tasks.
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

    /// A channel that may lead to another machine.
    fn over(ends: Ends) -> Self {
        Self {
            ends,
            place: ClientLocation::Elsewhere,
            principal: None,
        }
    }

    /// Where the other end is.
    #[cfg(feature = "server")]
    pub(crate) fn place(&self) -> ClientLocation {
        self.place
    }

    /// Whether the other end is in this process.
    #[cfg(feature = "server")]
    pub(crate) fn is_in_memory(&self) -> bool {
        let Ends::Halves(_, sender) = &self.ends else {
            return false;
        };
        matches!(sender.messages, Some(Messages::Memory(_)))
    }

    /// Sets who is at the other end, where the transport has found out, such as from the request that
    /// opened a WebSocket. All that a server keeps for that client belongs to this principal, and
    /// handlers find it in [`Ctx::principal`](crate::Ctx::principal).
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(Arc::new(principal));
        self
    }

    /// Takes who is at the other end.
    #[cfg(feature = "server")]
    pub(crate) fn take_principal(&mut self) -> Option<Arc<Principal>> {
        self.principal.take()
    }

    /// The two halves, each of which goes on without the other: a channel over [lines](lines()) is read and
    /// written by two tasks from then on.
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
    /// The next message, or `None` once the other side is gone. Cancel safe.
    ///
    /// A message longer than the limit of the channel is cut off one byte after the limit: whoever
    /// parses it refuses it for its length. The next one is whole again.
    ///
    /// # Errors
    ///
    /// None of today's transports fails otherwise than by ending.
    pub async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let received = self.messages.recv().await;
        Ok(received.map(|waiting| waiting.message))
    }

    /// The next message, if it has come already.
    #[cfg(feature = "client")]
    pub(crate) fn try_receive(&mut self) -> Option<Vec<u8>> {
        let received = self.messages.try_recv().ok()?;
        Some(received.message)
    }
}

impl Sender {
    /// Sends a message: JSON, without a newline at its end. Waits while too many are under way,
    /// but not until it is written. Not cancel safe; [`Sender::ready`] is.
    ///
    /// # Errors
    ///
    /// Broken pipe where the other side is gone.
    pub async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        self.ready().await?.send(message);
        Ok(())
    }

    /// Waits until there is room for a message. Cancel safe.
    ///
    /// # Errors
    ///
    /// Broken pipe where the other side is gone.
    pub async fn ready(&self) -> io::Result<SendPermit<'_>> {
        let room = match self.messages.as_ref().ok_or_else(gone)? {
            Messages::Written(messages) => Room::Written(messages.reserve().await.map_err(lost)?),
            Messages::Memory(messages) => Room::Memory(messages.reserve().await.map_err(lost)?),
        };
        Ok(SendPermit(room))
    }

    /// The room for a message, where there is some now.
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

    /// Waits until everything sent is written. Messages are written without it, too.
    ///
    /// # Errors
    ///
    /// Broken pipe where the other side is gone.
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

    /// Ends this side, so that the other sees the end: waits until everything sent is written.
    ///
    /// # Errors
    ///
    /// None: what could not be written has nobody to read it.
    pub async fn close(&mut self) -> io::Result<()> {
        self.messages = None;
        if let Some(writer) = &mut self.writer {
            // One that panicked has written what it will.
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
