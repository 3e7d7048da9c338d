//! How a client connects to its server.

use std::io;

use askback_core::{
    auth::AuthorizationContext,
    engine::client::{Carrier, RequestLoss, ServerEnd},
    future::BoxFuture,
    jsonrpc::RequestId,
    limits::Limits,
};
use tokio::sync::mpsc;

use super::{Channel, LinkReceiver, LinkSender, Pause, Tap, memory};

/// Opens the connection to a server, and opens it again if that is needed after the server went
/// away.
///
/// A [`Channel`] connects once. A function that returns a channel, or a [`Child`](super::Child),
/// connects any number of times.
pub trait Connect: Send + 'static {
    /// Opens the connection.
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a>;
}

/// A connection that is being opened. An error says what could not be reached and why.
pub type ConnectFuture<'a> = BoxFuture<'a, io::Result<Link>>;

/// An open connection to a server.
pub struct Link {
    pub(crate) receiver: LinkReceiver,
    pub(crate) sender: LinkSender,
    pub(crate) stderr: Option<mpsc::Receiver<String>>,
    pub(crate) behind: Option<Box<dyn ChannelResource>>,
    pub(crate) carrier: Carrier,
    /// A report on a request arrives before the end of the channel.
    pub(crate) reports: Option<mpsc::Receiver<Report>>,
    /// The time that the transport spends waiting for something other than the server, such as a
    /// sign-in.
    pub(crate) pause: Pause,
    pub(crate) authorization: AuthorizationContext,
    pub(crate) tap: Tap,
}

#[derive(Debug)]
#[cfg_attr(not(feature = "http-client"), allow(dead_code))]
pub(crate) enum Report {
    /// A request will have no response.
    Lost(RequestId, RequestLoss),
    Note(String),
}

/// The resource behind a channel, such as a process. It must not outlive the channel.
pub(crate) trait ChannelResource: Send {
    /// Waits until the resource is gone, or ends it. Returns how it ended.
    fn end<'a>(&'a mut self, limits: &'a Limits) -> BoxFuture<'a, ServerEnd>;
}

impl Link {
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
        let (receiver, sender) = channel.split();
        Self::new(LinkReceiver::Channel(receiver), LinkSender::Channel(sender))
    }
}

impl Connect for Channel {
    fn connect<'a>(&'a mut self, _: &'a Limits) -> ConnectFuture<'a> {
        let (_, mut ended) = memory();
        ended.is_taken = true;
        let channel = std::mem::replace(self, ended);
        let why = "the connection ended and cannot be opened again";
        let link = match channel.is_taken {
            false => Ok(Link::from(channel)),
            true => Err(io::Error::new(io::ErrorKind::NotConnected, why)),
        };
        Box::pin(async { link })
    }
}

impl<F: FnMut() -> Channel + Send + 'static> Connect for F {
    fn connect<'a>(&'a mut self, _: &'a Limits) -> ConnectFuture<'a> {
        let channel = self();
        Box::pin(async { Ok(channel.into()) })
    }
}
