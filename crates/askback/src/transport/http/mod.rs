//! The transport for HTTP, in every revision (2026-07-28, basic/transports/streamable-http;
//! 2025-11-25 and 2024-11-05, basic/transports).
//!
//! The engine sees an ordinary link. Behind it, a task sends each message as its own request and
//! returns the decoded responses. [`bridge`] routes the messages; [`exchange`] is one request with
//! all its responses.

mod bridge;
mod era;
mod events;
mod exchange;
mod message;
mod old;
#[cfg(feature = "oauth-client")]
mod permission;
mod send;
mod stream;
mod tools;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(not(feature = "oauth-client"))]
use askback_core::auth::AuthorizationContext;
use askback_core::{
    engine::client::{Carrier, ServerEnd},
    future::BoxFuture,
    limits::Limits,
};
use askback_requests::{NAME, Names, Requests, Route};
use http::{HeaderMap, HeaderName, HeaderValue, header::USER_AGENT};
use tokio::sync::mpsc;
use url::Url;

#[cfg(feature = "oauth-client")]
use self::permission::Permission;
use self::{
    bridge::Bridge,
    era::{KnownEra, ServerEra},
    send::{HttpState, Target},
    tools::Tools,
};
use super::{
    Connect, ConnectFuture, Link, LinkReceiver, LinkSender, Pause, Tap, WAITING,
    connect::ChannelResource, inbox::Inbox, link::ExchangeSender,
};
#[cfg(feature = "oauth-client")]
use crate::authorization::client::Authorization;

/// A server reached over HTTP, by its URL.
///
/// Detects what the server supports: Streamable HTTP in every revision, or the older pair of an
/// event stream and a message endpoint. Redirects are followed only to the same origin. If the
/// environment sets `HTTP_PROXY` or `HTTPS_PROXY`, requests use that proxy, except to the hosts in
/// `NO_PROXY`.
///
/// Clones share what they learn of the server, so that it is probed once.
///
/// ```no_run
/// use askback::{client::Client, transport::Http};
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Http::new("https://example.com/mcp")?;
/// let client = Client::builder("guide", "1.0.0").connect(server).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Http {
    url: Url,
    headers: HeaderMap,
    era: KnownEra,
    tools: Arc<Tools>,
    is_direct: bool,
    /// Created with the limits of the first client that connects.
    requests: Option<Requests>,
    #[cfg(feature = "oauth-client")]
    authorization: Option<Authorization>,
}

/// A URL that is not valid for a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadUrl {
    /// It cannot be parsed.
    #[error("{url:?} is not a URL: {why}")]
    Unreadable {
        /// The URL as given.
        url: String,
        /// The reason.
        why: String,
    },
    /// Its scheme is neither `http` nor `https`.
    #[error("a server must have an http:// or https:// URL, not {0}://")]
    Scheme(String),
    /// It contains a user name or a password, which would end up in logs.
    #[error("the URL holds a name or a password; send them as a header")]
    Credentials,
}

/// A header that cannot be sent with every request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadHeader {
    /// The name or the value is not valid.
    #[error("{0:?} or its value is not valid in an HTTP header")]
    Unreadable(String),
    /// The transport sets this header itself.
    #[error("the header {0:?} is set by the transport")]
    Reserved(String),
}

impl Http {
    /// The server at this URL.
    ///
    /// # Errors
    ///
    /// [`BadUrl`] if it is not an `http` or `https` URL, or holds credentials.
    pub fn new(url: &str) -> Result<Self, BadUrl> {
        let mut url: Url = url.parse().map_err(|error| BadUrl::Unreadable {
            url: url.to_owned(),
            why: format!("{error}"),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadUrl::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadUrl::Credentials);
        }
        url.set_fragment(None);
        Ok(Self {
            url,
            headers: HeaderMap::new(),
            era: KnownEra::default(),
            tools: Arc::default(),
            is_direct: false,
            requests: None,
            #[cfg(feature = "oauth-client")]
            authorization: None,
        })
    }

    /// Ignores the environment's proxy settings.
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.is_direct = true;
        self.requests = None;
        self
    }

    /// Sends a header with every request, such as `Authorization`. It never appears in a log, and
    /// is sent only to the URL's origin.
    ///
    /// # Errors
    ///
    /// [`BadHeader`] if it is not a valid header, or the transport sets it.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, BadHeader> {
        let unreadable = || BadHeader::Unreadable(name.to_owned());
        let known: HeaderName = name.parse().map_err(|_| unreadable())?;
        let mut value: HeaderValue = value.parse().map_err(|_| unreadable())?;
        if RESERVED.contains(&known.as_str()) || known.as_str().starts_with("mcp-") {
            return Err(BadHeader::Reserved(name.to_owned()));
        }
        value.set_sensitive(true);
        self.headers.insert(known, value);
        Ok(self)
    }

    /// Enables authorization: when the server refuses a request, in any revision, the client signs
    /// in and sends the request again.
    #[cfg(feature = "oauth-client")]
    #[must_use]
    pub fn authorize(mut self, authorization: &Authorization) -> Self {
        self.authorization = Some(authorization.clone());
        self
    }

    fn open(&mut self, limits: &Limits) -> io::Result<Link> {
        let requests = match &self.requests {
            Some(requests) => requests.clone(),
            None => {
                let route = match self.is_direct {
                    true => Route::Direct,
                    false => Route::Environment,
                };
                let requests = Requests::new(&route, Names::system(), &limits.http)?;
                self.requests.insert(requests).clone()
            }
        };
        let target = Target::new(self.url.clone()).map_err(io::Error::other)?;
        let mut headers = self.headers.clone();
        headers.extend(requests.proxy_headers(&target.uri));
        headers.entry(USER_AGENT).or_insert(NAME);
        let known = self.era.get();
        let (received, incoming) = Inbox::new(limits.wire.message_bytes);
        let (outgoing, sent) = mpsc::channel(WAITING);
        let (reported, reports) = mpsc::channel(WAITING);
        let (pause, tap) = (Pause::default(), Tap::default());
        #[cfg(feature = "oauth-client")]
        let permission = Permission::of(self.authorization.as_ref(), &self.url, &pause)?;
        #[cfg(feature = "oauth-client")]
        let authorization = permission.context();
        #[cfg(not(feature = "oauth-client"))]
        let authorization = AuthorizationContext::default();
        let state = HttpState {
            #[cfg(feature = "oauth-client")]
            permission,
            requests,
            target,
            headers,
            limits: limits.clone(),
            era: self.era.clone(),
            tools: Arc::clone(&self.tools),
            session: Mutex::default(),
            incoming: received,
            reports: reported,
            tap: tap.clone(),
        };
        let end = Arc::<Mutex<Option<String>>>::default();
        let bridge = Bridge::new(state, known == Some(ServerEra::EventsAndMessages));
        let task = tokio::spawn(bridge.run(sent, Arc::clone(&end)));
        let handshake = known.is_some_and(|known| known != ServerEra::Modern);
        Ok(Link {
            receiver: LinkReceiver::Exchanges(incoming),
            sender: LinkSender::Exchanges(ExchangeSender::new(outgoing, task)),
            carrier: Carrier::Exchanges { handshake },
            reports: Some(reports),
            pause,
            authorization,
            tap,
            behind: Some(Box::new(End(end))),
            stderr: None,
        })
    }
}

impl Connect for Http {
    fn connect<'a>(&'a mut self, limits: &'a Limits) -> ConnectFuture<'a> {
        let link = self.open(limits);
        Box::pin(async { link })
    }
}

struct End(Arc<Mutex<Option<String>>>);

impl ChannelResource for End {
    fn end<'a>(&'a mut self, _: &'a Limits) -> BoxFuture<'a, ServerEnd> {
        let mut why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let why = why.take();
        Box::pin(async { why.map_or_else(|| "the connection ended".into(), ServerEnd::from) })
    }
}

/// The headers that the transport sets itself.
const RESERVED: [&str; 11] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];
