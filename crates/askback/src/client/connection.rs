//! The connection to a server, from opening to closing.

use std::{collections::VecDeque, future::pending, io, pin::Pin};

use askback_core::{
    engine::client::{ClientMessage, ServerEnd, ServerMessage},
    future::BoxFuture,
    limits::Limits,
};
use tokio::{
    sync::mpsc,
    time::{Sleep, sleep, timeout},
};

use crate::transport::{ChannelResource, Connect, Link, LinkReceiver, LinkSender, Report, Tap};

pub(super) enum ConnectionState {
    Closed(Box<dyn Connect>),
    Opening(BoxFuture<'static, (Box<dyn Connect>, io::Result<Link>)>),
    Open(Box<OpenConnection>),
    /// The server is exiting or has exited. The engine is told how it ended, unless the engine ended it.
    Ending {
        end: BoxFuture<'static, (Box<dyn Connect>, ServerEnd)>,
        stderr: Stderr,
        tell: bool,
    },
    /// Placeholder during a transition.
    Moving,
}

pub(super) struct OpenConnection {
    pub(super) connector: Box<dyn Connect>,
    pub(super) receiver: LinkReceiver,
    pub(super) sender: LinkSender,
    pub(super) stderr: Stderr,
    pub(super) reports: Option<mpsc::Receiver<Report>>,
    pub(super) behind: Option<Box<dyn ChannelResource>>,
    pub(super) tap: Tap,
    /// When to close a connection that can no longer send. Until then, the client reads what the server already sent.
    pub(super) deaf: Option<Pin<Box<Sleep>>>,
}

pub(super) type Stderr = Option<mpsc::Receiver<String>>;

/// Outgoing messages. If the server does not read them, the client stops reading, too; otherwise the server could grow
/// this queue by asking questions.
pub(super) struct Outbox {
    messages: VecDeque<ClientMessage>,
    bytes: usize,
    most: usize,
}

pub(super) enum ConnectionEvent {
    Message(io::Result<Option<ServerMessage>>),
    /// There is room again for responses, or the server is gone.
    Room(io::Result<()>),
    Stderr(Option<String>),
    Report(Option<Report>),
    Opened(Box<dyn Connect>, io::Result<Link>),
    Ended(Box<dyn Connect>, ServerEnd),
}

impl ConnectionState {
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Moving)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self, Self::Ending { .. })
    }

    pub(super) fn forget_stderr(&mut self) {
        match self {
            Self::Open(open) => open.stderr = None,
            Self::Ending { stderr, .. } => *stderr = None,
            Self::Closed(_) | Self::Opening(_) | Self::Moving => {}
        }
    }

    pub(super) fn forget_reports(&mut self) {
        if let Self::Open(open) = self {
            open.reports = None;
        }
    }

    /// Waits for the next event while sending.
    pub(super) async fn next(&mut self, outbox: &mut Outbox, limits: &Limits) -> ConnectionEvent {
        match self {
            Self::Closed(_) | Self::Moving => pending().await,
            Self::Opening(opening) => {
                let (connector, link) = opening.await;
                ConnectionEvent::Opened(connector, link)
            }
            Self::Open(open) => open.next(outbox, limits).await,
            Self::Ending { end, stderr, .. } => tokio::select! {
                (connector, why) = end => ConnectionEvent::Ended(connector, why),
                line = hear(stderr) => ConnectionEvent::Stderr(line),
            },
        }
    }

    pub(super) fn ready(&mut self, outbox: &Outbox, limits: &Limits) -> Option<ConnectionEvent> {
        match self {
            Self::Open(open) => open.ready(outbox, limits),
            Self::Closed(_) | Self::Opening(_) | Self::Ending { .. } | Self::Moving => None,
        }
    }
}

impl OpenConnection {
    async fn next(&mut self, outbox: &mut Outbox, limits: &Limits) -> ConnectionEvent {
        loop {
            if self.deaf.is_some() {
                outbox.clear();
            }
            let has_room = outbox.has_room();
            let sending = async {
                if let Some(end) = &mut self.deaf {
                    end.await;
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                outbox.send(&mut self.sender, &self.tap).await?;
                // Receiving continues if it was paused for lack of room.
                if has_room { pending().await } else { Ok(()) }
            };
            let arrived = tokio::select! {
                biased;
                room = sending => ConnectionEvent::Room(room),
                report = hear(&mut self.reports) => ConnectionEvent::Report(report),
                message = self.receiver.receive(limits, &self.tap), if has_room => ConnectionEvent::Message(message),
                line = hear(&mut self.stderr) => ConnectionEvent::Stderr(line),
            };
            match arrived {
                ConnectionEvent::Room(Err(_)) if self.deaf.is_none() => {
                    self.deaf = Some(Box::pin(sleep(limits.client.exit)));
                }
                arrived => return arrived,
            }
        }
    }

    fn ready(&mut self, outbox: &Outbox, limits: &Limits) -> Option<ConnectionEvent> {
        if !outbox.has_room() {
            return None;
        }
        let message = self.receiver.try_receive(limits, &self.tap)?;
        Some(ConnectionEvent::Message(Ok(Some(message))))
    }

    /// Sends the rest, closes this side, and waits until the other side closes. Incoming messages are discarded.
    pub(super) async fn end(
        self,
        mut rest: Outbox,
        limits: &Limits,
    ) -> (Box<dyn Connect>, ServerEnd) {
        let Self {
            connector,
            mut receiver,
            mut sender,
            behind,
            tap,
            ..
        } = self;
        let read_over = async {
            receiver.read_over().await;
            pending::<()>().await;
        };
        let end = async {
            let closing = async {
                // If this fails, there is no reader.
                let _ = rest.send(&mut sender, &tap).await;
                sender.close().await;
            };
            // A server that does not read must not delay the client.
            let _ = timeout(limits.client.exit, closing).await;
            match behind {
                Some(mut behind) => behind.end(limits).await,
                None => "the connection ended".into(),
            }
        };
        tokio::select! {
            () = read_over => (connector, "".into()),
            why = end => (connector, why),
        }
    }
}

impl Outbox {
    pub(super) fn new(most: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            most,
        }
    }

    pub(super) fn push(&mut self, message: ClientMessage) {
        self.bytes += message.bytes.len();
        self.messages.push_back(message);
    }

    fn pop(&mut self) -> Option<ClientMessage> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.bytes.len();
        Some(message)
    }

    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.most);
        std::mem::replace(self, empty)
    }

    /// Cancel safe.
    async fn send(&mut self, sender: &mut LinkSender, tap: &Tap) -> io::Result<()> {
        while !self.is_empty() {
            let ready = sender.ready().await?;
            if let Some(message) = self.pop() {
                ready.send(message, tap);
            }
        }
        sender.write().await
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn has_room(&self) -> bool {
        self.bytes <= self.most
    }
}

async fn hear<T>(said: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match said {
        Some(said) => said.recv().await,
        None => pending().await,
    }
}
