//! How a client reaches its server.

use std::io;

use askback_core::{
    auth::AuthorizationContext,
    engine::client::{Carrier, RequestLoss, ServerEnd},
    future::BoxFuture,
    jsonrpc::RequestId,
    limits::Limits,
};
use tokio::sync::mpsc;

use super::{Channel, Ends, LinkReceiver, LinkSender, Pause, Tap};

/// Opens the way to a server: once at first, and again each time the server went away and is
/// wanted.
///
/// A [`Channel`] is such a way, once; a function that makes one is, any number of times; so is a
/// [`Child`](super::Child).
pub trait Connect: Send + 'static {
    /// Opens it.
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a>;
}

/// A way that is being opened; an error says what could not be reached and why.
pub type ConnectFuture<'a> = BoxFuture<'a, io::Result<Link>>;

/// An open way to a server.
pub struct Link {
    pub(crate) receiver: LinkReceiver,
    pub(crate) sender: LinkSender,
    /// The lines that the server writes beside the protocol.
    pub(crate) stderr: Option<mpsc::Receiver<String>>,
    pub(crate) behind: Option<Box<dyn ChannelResource>>,
    /// How messages travel.
    pub(crate) carrier: Carrier,
    /// The reports of the transport. A report on a request comes before the end of the channel.
    pub(crate) reports: Option<mpsc::Receiver<Report>>,
    /// When the transport waits for others than the server.
    pub(crate) pause: Pause,
    /// As whom requests are sent.
    pub(crate) authorization: AuthorizationContext,
    /// Where what travels is shown.
    pub(crate) tap: Tap,
}

/// A report of a transport beside the messages it brings.
#[derive(Debug)]
#[cfg_attr(not(feature = "http-client"), allow(dead_code))]
pub(crate) enum Report {
    /// A request will have no response.
    Lost(RequestId, RequestLoss),
    /// Something worth a line in a log.
    Note(String),
}

/// The resource behind a channel, which must not outlive it.
pub(crate) trait ChannelResource: Send {
    /// Waits until it is gone, or else makes it go; says how it ended.
    fn end<'a>(&'a mut self, limits: &'a Limits) -> BoxFuture<'a, ServerEnd>;
}

impl Link {
    /// A stream with nothing beside it.
    pub(super) fn new(receiver: LinkReceiver, sender: LinkSender) -> Self {
        Self {
            receiver,
            sender,
            stderr: None,
            behind: None,
            carrier: Carrier::Stream,
            reports: None,
            pause: Pause::default(),
            authorization: AuthorizationContext::default(),
            tap: Tap::default(),
        }
    }
}

impl From<Channel> for Link {
    fn from(channel: Channel) -> Self {
        match channel.ends {
            Ends::Lines(reader, writer) => {
                Self::new(LinkReceiver::Lines(reader), LinkSender::Lines(writer))
            }
            Ends::Halves(..) | Ends::Opened => {
                let (receiver, sender) = channel.split();
                Self::new(LinkReceiver::Channel(receiver), LinkSender::Channel(sender))
            }
        }
    }
}

impl Connect for Channel {
    fn connect<'a>(&'a mut self, _: &'a Limits) -> ConnectFuture<'a> {
        let opened = std::mem::replace(&mut self.ends, Ends::Opened);
        let channel = (!matches!(opened, Ends::Opened)).then(|| Self::over(opened));
        Box::pin(async {
            let why = "the connection ended and cannot be opened again";
            let channel = channel.ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, why));
            channel.map(Link::from)
        })
    }
}

impl<F: FnMut() -> Channel + Send + 'static> Connect for F {
    fn connect<'a>(&'a mut self, _: &'a Limits) -> ConnectFuture<'a> {
        let channel = self();
        Box::pin(async { Ok(channel.into()) })
    }
}
