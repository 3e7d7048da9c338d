//! The two directions of a connection to a server.

use std::{
    future::poll_fn,
    io,
    task::{Poll, ready},
};

use askback_core::{
    engine::client::{ClientMessage, ServerMessage},
    limits::Limits,
};
#[cfg(feature = "http-client")]
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Receiver, Sender, Tap, WireEvent};
#[cfg(feature = "http-client")]
use super::{inbox::QueuedMessage, lost};

pub(crate) enum LinkReceiver {
    Channel(Receiver),
    #[cfg(feature = "http-client")]
    Exchanges(mpsc::Receiver<QueuedMessage<ServerMessage>>),
}

pub(crate) enum LinkSender {
    Channel(Sender),
    #[cfg(feature = "http-client")]
    Exchanges(ExchangeSender),
}

/// The sending side of a transport with its own task.
#[cfg(feature = "http-client")]
pub(crate) struct ExchangeSender {
    messages: mpsc::Sender<ClientMessage>,
    task: JoinHandle<()>,
}

pub(crate) enum LinkReady<'a> {
    Channel(&'a mut Sender),
    #[cfg(feature = "http-client")]
    Exchanges(mpsc::Permit<'a, ClientMessage>),
}

/// How many bytes are buffered for one write, unless one message is longer.
const AT_ONCE: usize = 16 << 10;

impl LinkReceiver {
    /// Returns the next message, or `None` once the server is gone. Cancel safe.
    pub(crate) async fn receive(
        &mut self,
        limits: &Limits,
        tap: &Tap,
    ) -> io::Result<Option<ServerMessage>> {
        match self {
            Self::Channel(channel) => {
                let next = poll_fn(|cx| {
                    let received = ready!(channel.poll_receive(cx));
                    Poll::Ready(received.map(|bytes| read(bytes, limits, tap)))
                });
                Ok(next.await)
            }
            #[cfg(feature = "http-client")]
            Self::Exchanges(messages) => {
                let received = messages.recv().await;
                Ok(received.map(|waiting| waiting.message))
            }
        }
    }

    pub(crate) fn try_receive(&mut self, limits: &Limits, tap: &Tap) -> Option<ServerMessage> {
        match self {
            Self::Channel(channel) => Some(read(channel.try_receive()?, limits, tap)),
            #[cfg(feature = "http-client")]
            Self::Exchanges(messages) => Some(messages.try_recv().ok()?.message),
        }
    }

    pub(crate) async fn read_over(&mut self) {
        match self {
            Self::Channel(channel) => {
                while poll_fn(|cx| channel.poll_receive(cx).map(|it| it.is_some())).await {}
            }
            #[cfg(feature = "http-client")]
            Self::Exchanges(messages) => while messages.recv().await.is_some() {},
        }
    }
}

impl LinkSender {
    /// Waits until there is room for a message. Cancel safe.
    ///
    /// # Errors
    ///
    /// Broken pipe if the server is gone.
    pub(crate) async fn ready(&mut self) -> io::Result<LinkReady<'_>> {
        match self {
            Self::Channel(channel) => {
                if channel.unwritten() >= AT_ONCE {
                    poll_fn(|cx| channel.poll_flush(cx)).await?;
                }
                Ok(LinkReady::Channel(channel))
            }
            #[cfg(feature = "http-client")]
            Self::Exchanges(sender) => {
                let room = sender.messages.reserve().await.map_err(lost)?;
                Ok(LinkReady::Exchanges(room))
            }
        }
    }

    /// Writes what was sent. Cancel safe.
    ///
    /// # Errors
    ///
    /// Fails if the server is gone.
    pub(crate) async fn write(&mut self) -> io::Result<()> {
        match self {
            Self::Channel(channel) => poll_fn(|cx| channel.poll_flush(cx)).await,
            #[cfg(feature = "http-client")]
            Self::Exchanges(_) => Ok(()),
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Channel(mut channel) => {
                // Unwritten messages can no longer be delivered.
                let _ = channel.close().await;
            }
            #[cfg(feature = "http-client")]
            Self::Exchanges(sender) => {
                drop(sender.messages);
                // A task that panicked sends nothing more.
                let _ = sender.task.await;
            }
        }
    }
}

#[cfg(feature = "http-client")]
impl ExchangeSender {
    pub(super) fn new(messages: mpsc::Sender<ClientMessage>, task: JoinHandle<()>) -> Self {
        Self { messages, task }
    }
}

impl LinkReady<'_> {
    /// Sends a message. Over HTTP, the tap shows the request that carries it.
    pub(crate) fn send(self, message: ClientMessage, tap: &Tap) {
        match self {
            Self::Channel(channel) => {
                tap.show(WireEvent::Sent(&message.bytes));
                channel.add(message.bytes);
            }
            #[cfg(feature = "http-client")]
            Self::Exchanges(room) => room.send(message),
        }
    }
}

fn read(bytes: &[u8], limits: &Limits, tap: &Tap) -> ServerMessage {
    tap.show(WireEvent::Received(bytes));
    ServerMessage::parse(bytes, &limits.wire)
}
