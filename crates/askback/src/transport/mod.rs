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
#[cfg(all(test, feature = "stdio", unix))]
#[path = "../../tests/askback/transport/contract.rs"]
mod contract;
#[cfg(all(feature = "stdio", unix))]
mod descriptor;
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

use std::{
    collections::VecDeque,
    future::poll_fn,
    io, mem,
    sync::Arc,
    task::{Context, Poll, ready},
};

use askback_core::{ask::Principal, engine::server::ClientLocation, future::BoxFuture};
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::{AbortHandle, JoinHandle},
};

pub use channel::{ReadMessages, WriteMessages};
#[cfg(all(feature = "client", feature = "stdio"))]
pub use child::{Child, ChildEnd, ChildLine, OpenChild};
#[cfg(feature = "client")]
pub(crate) use connect::{ChannelResource, Report};
#[cfg(feature = "client")]
pub use connect::{Connect, ConnectFuture, Link};
#[cfg(feature = "http-client")]
pub use http::{BadHeader, BadUrl, Http};
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

/// How many bytes may be queued before the sender waits until the transport's task has written them.
/// Waiting for each smaller message would cost more than the calls.
const WORTH_WAITING: usize = 64 << 10;

/// One end of a connection.
#[derive(Debug)]
pub struct Channel {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
    #[cfg_attr(not(feature = "server"), expect(dead_code))]
    pub(crate) place: ClientLocation,
    pub(crate) principal: Option<Arc<Principal>>,
    #[cfg(feature = "client")]
    is_taken: bool,
}

/// The receiving half of a [`Channel`].
#[derive(Debug)]
pub struct Receiver(Incoming);

#[derive(Debug)]
enum Incoming {
    /// Read by the task that receives.
    Lines(LineReader),
    /// Filled by another task, or in memory by the other end.
    Queue {
        messages: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
        #[cfg_attr(
            not(any(feature = "client", feature = "server")),
            expect(dead_code, reason = "only they borrow messages")
        )]
        message: Vec<u8>,
        /// The task that reads; `None` in memory.
        reader: Option<AbortHandle>,
    },
}

/// The sending half of a [`Channel`]. After its first failure it drops its messages.
#[derive(Debug)]
pub struct Sender(Outgoing);

#[derive(Debug)]
enum Outgoing {
    /// Written by the task that sends.
    Lines(LineWriter),
    /// Emptied by another task, or in memory by the other end.
    Queue(QueueSender),
    /// Closed, or failed.
    Closed,
}

struct QueueSender {
    messages: mpsc::Sender<QueuedMessage<Vec<u8>>>,
    /// The task that writes; `None` in memory.
    writer: Option<JoinHandle<()>>,
    /// The messages for which the queue had no room yet.
    waiting: VecDeque<Vec<u8>>,
    /// The bytes sent since the last flush.
    unwritten: usize,
    writing: Option<BoxFuture<'static, io::Result<()>>>,
}

impl Channel {
    fn new_ends(receiver: Receiver, way: Outgoing) -> Self {
        Self {
            receiver,
            sender: Sender(way),
            // A stream may lead to any machine.
            place: ClientLocation::Elsewhere,
            principal: None,
            #[cfg(feature = "client")]
            is_taken: false,
        }
    }

    fn of_lines(reader: LineReader, writer: LineWriter) -> Self {
        Self::new_ends(Receiver(Incoming::Lines(reader)), Outgoing::Lines(writer))
    }

    /// Makes a channel that is read and written by tasks, or in memory by the other end.
    fn of_queues(
        incoming: mpsc::Receiver<QueuedMessage<Vec<u8>>>,
        reader: Option<AbortHandle>,
        outgoing: mpsc::Sender<QueuedMessage<Vec<u8>>>,
        writer: Option<JoinHandle<()>>,
    ) -> Self {
        let receiver = Receiver(Incoming::Queue {
            messages: incoming,
            message: Vec::new(),
            reader,
        });
        let sender = QueueSender {
            messages: outgoing,
            writer,
            waiting: VecDeque::new(),
            unwritten: 0,
            writing: None,
        };
        Self::new_ends(receiver, Outgoing::Queue(sender))
    }

    #[cfg(feature = "server")]
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(&self.sender.0, Outgoing::Queue(queue) if queue.writer.is_none())
    }

    /// Sets the principal at the other end, if the transport has authenticated it, for example from
    /// the request that opened a WebSocket. Everything that a server stores for that client belongs
    /// to this principal. Handlers read it with [`Ctx::principal`](crate::Ctx::principal).
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(Arc::new(principal));
        self
    }

    /// Splits the channel into independent halves.
    #[must_use]
    pub fn split(self) -> (Receiver, Sender) {
        (self.receiver, self.sender)
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
        Ok(match &mut self.0 {
            Incoming::Lines(lines) => {
                let line = poll_fn(|cx| lines.poll_message(cx).map(|it| it.map(<[u8]>::to_vec)));
                line.await
            }
            Incoming::Queue { messages, .. } => {
                let queued = messages.recv().await;
                queued.map(|queued| queued.message)
            }
        })
    }

    #[cfg(any(feature = "client", feature = "server"))]
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<&[u8]>> {
        match &mut self.0 {
            Incoming::Lines(lines) => lines.poll_message(cx),
            Incoming::Queue {
                messages, message, ..
            } => {
                let received = ready!(messages.poll_recv(cx));
                Poll::Ready(received.map(|queued| {
                    *message = queued.message;
                    message.as_slice()
                }))
            }
        }
    }

    #[cfg(feature = "client")]
    pub(crate) fn try_receive(&mut self) -> Option<&[u8]> {
        match &mut self.0 {
            Incoming::Lines(lines) => lines.ready(),
            Incoming::Queue {
                messages, message, ..
            } => {
                *message = messages.try_recv().ok()?.message;
                Some(message)
            }
        }
    }
}

impl Sender {
    /// Sends a message: JSON, without a newline at its end. Waits while the other side, or the
    /// transport's task, does not take it. If the future is dropped, at most this message waits, and
    /// is sent with the next one.
    ///
    /// # Errors
    ///
    /// Broken pipe if the other side is gone.
    pub async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await?;
        self.add(message);
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Waits until everything sent is written.
    ///
    /// # Errors
    ///
    /// Broken pipe if the other side is gone.
    pub async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await?;
        let messages = match &self.0 {
            Outgoing::Queue(queue) if queue.writer.is_some() => queue.messages.clone(),
            _ => return Ok(()),
        };
        written(&messages).await
    }

    /// Closes this side after everything sent is written. A stream whose other half is still open
    /// ends only by this, not by a drop.
    ///
    /// # Errors
    ///
    /// Never fails: unwritten messages can no longer be delivered.
    pub async fn close(&mut self) -> io::Result<()> {
        let _ = poll_fn(|cx| self.poll_flush(cx)).await;
        match mem::replace(&mut self.0, Outgoing::Closed) {
            Outgoing::Lines(mut lines) => {
                // The other side sees the end of the stream either way.
                let _ = poll_fn(|cx| lines.poll_close(cx)).await;
            }
            Outgoing::Queue(QueueSender {
                messages, writer, ..
            }) => {
                drop(messages);
                if let Some(writer) = writer {
                    // A task that panicked writes nothing more.
                    let _ = writer.await;
                }
            }
            Outgoing::Closed => {}
        }
        Ok(())
    }

    /// Queues a message: JSON, without a newline at its end. [`poll_flush`](Self::poll_flush)
    /// writes it.
    pub(crate) fn add(&mut self, message: Vec<u8>) {
        match &mut self.0 {
            Outgoing::Lines(lines) => lines.add(message),
            Outgoing::Queue(queue) => {
                queue.unwritten += message.len();
                queue.waiting.push_back(message);
            }
            Outgoing::Closed => {}
        }
    }

    /// The bytes that are buffered, or handed on without waiting.
    #[cfg(any(feature = "client", feature = "server"))]
    pub(crate) fn unwritten(&self) -> usize {
        match &self.0 {
            Outgoing::Lines(lines) => lines.unwritten(),
            Outgoing::Queue(queue) => queue.unwritten,
            Outgoing::Closed => 0,
        }
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.0 {
            Outgoing::Lines(lines) => ready!(lines.poll_flush(cx)),
            Outgoing::Queue(queue) => ready!(queue.poll_flush(cx)),
            Outgoing::Closed => Err(gone()),
        };
        if flushed.is_err() {
            self.0 = Outgoing::Closed;
        }
        Poll::Ready(flushed.map_err(lost))
    }
}

impl QueueSender {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(writing) = &mut self.writing {
                ready!(writing.as_mut().poll(cx))?;
                self.writing = None;
                self.unwritten = self.waiting.iter().map(Vec::len).sum();
            }
            while let Some(message) = self.waiting.pop_front() {
                match self.messages.try_send(message.into()) {
                    Ok(()) => {}
                    Err(TrySendError::Full(queued)) => {
                        self.waiting.push_front(queued.message);
                        break;
                    }
                    Err(TrySendError::Closed(_)) => return Poll::Ready(Err(gone())),
                }
            }
            let has_writer = self.writer.is_some();
            let is_little = !has_writer || self.unwritten <= WORTH_WAITING;
            if self.waiting.is_empty() && is_little {
                self.unwritten = 0;
                return Poll::Ready(Ok(()));
            }
            let (messages, waiting) = (self.messages.clone(), mem::take(&mut self.waiting));
            self.writing = Some(Box::pin(async move {
                for message in waiting {
                    messages.send(message.into()).await.map_err(lost)?;
                }
                match has_writer {
                    true => written(&messages).await,
                    false => Ok(()),
                }
            }));
        }
    }
}

askback_core::debug_only!(QueueSender {});

/// Waits until the transport's task has written everything before this.
async fn written(messages: &mpsc::Sender<QueuedMessage<Vec<u8>>>) -> io::Result<()> {
    let (done, written) = oneshot::channel();
    let flush = QueuedMessage::flush(done);
    messages.send(flush).await.map_err(lost)?;
    written.await.map_err(lost)
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Incoming::Queue {
            reader: Some(reader),
            ..
        } = &self.0
        {
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
