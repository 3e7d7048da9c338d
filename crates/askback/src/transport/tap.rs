//! Lets a function observe everything that is sent between a client and its server.

#[cfg(feature = "http-client")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

#[cfg(feature = "http-client")]
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
#[cfg(feature = "http-client")]
use url::Url;

/// Something that was sent between a client and its server.
///
/// Messages are shown in full, including a user's answers. Over HTTP, the values of headers are
/// shown only if they hold no secret ([`WireValue`]).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WireEvent<'a> {
    /// A message to the server, over a stream.
    Sent(&'a [u8]),
    /// A request over HTTP, and the message in it.
    Request(WireRequest<'a>),
    /// The head of the response to a request over HTTP.
    Response(WireResponse),
    /// A message from the server, valid or not.
    Received(&'a [u8]),
}

/// A request over HTTP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireRequest<'a> {
    /// The number of the exchange on this connection. The response has the same number.
    pub exchange: u64,
    /// The method.
    pub method: String,
    /// The URL without its query, which may hold a secret.
    pub url: String,
    /// The headers.
    pub headers: Vec<WireHeader>,
    /// The message, which may be empty.
    pub message: &'a [u8],
}

/// The head of a response over HTTP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireResponse {
    /// The number of its request.
    pub exchange: u64,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<WireHeader>,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireHeader {
    /// The name.
    pub name: String,
    /// The value.
    pub value: WireValue,
}

/// The value of a header, unless it may be secret.
///
/// A value is shown if HTTP or the protocol defines its content. All others are hidden: tokens,
/// cookies, session ids, and every header set by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireValue {
    /// It holds no secret.
    Shown(String),
    /// It may hold a secret.
    Hidden {
        /// Its length, in bytes.
        bytes: usize,
    },
}

pub(crate) type Observer = Arc<dyn Fn(WireEvent<'_>) + Send + Sync>;

/// The place of an [`Observer`] at a connection. Without an observer, it costs only a check.
#[derive(Clone, Default)]
pub(crate) struct Tap(Arc<TapState>);

#[derive(Default)]
struct TapState {
    observer: OnceLock<Observer>,
    #[cfg(feature = "http-client")]
    exchanges: AtomicU64,
}

impl Tap {
    pub(crate) fn set(&self, observer: &Observer) {
        // A connection is opened once.
        let _ = self.0.observer.set(Arc::clone(observer));
    }

    pub(crate) fn show(&self, event: WireEvent<'_>) {
        if let Some(observer) = self.0.observer.get() {
            observer(event);
        }
    }
}

#[cfg(feature = "http-client")]
impl Tap {
    /// Shows a request, and returns its number, which the response repeats.
    pub(crate) fn request(
        &self,
        method: &Method,
        url: impl FnOnce() -> String,
        headers: &HeaderMap,
        message: &[u8],
    ) -> Option<u64> {
        let observer = self.0.observer.get()?;
        let exchange = self.0.exchanges.fetch_add(1, Ordering::Relaxed);
        observer(WireEvent::Request(WireRequest {
            exchange,
            method: method.as_str().to_owned(),
            url: url(),
            headers: shown(headers),
            message,
        }));
        Some(exchange)
    }

    pub(crate) fn response(&self, exchange: Option<u64>, status: StatusCode, headers: &HeaderMap) {
        if let Some(exchange) = exchange {
            self.show(WireEvent::Response(WireResponse {
                exchange,
                status: status.as_u16(),
                headers: shown(headers),
            }));
        }
    }
}

#[cfg(feature = "http-client")]
fn shown(headers: &HeaderMap) -> Vec<WireHeader> {
    let shown = headers.iter().map(|(name, value)| WireHeader {
        name: name.as_str().to_owned(),
        value: WireValue::of(name, value),
    });
    shown.collect()
}

/// The headers whose values are not secret: those that HTTP defines for the content and its
/// transfer, and the protocol's headers, which repeat the message.
#[cfg(feature = "http-client")]
const SHOWN: [&str; 21] = [
    "accept",
    "allow",
    "age",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "retry-after",
    "server",
    "transfer-encoding",
    "user-agent",
    "vary",
    "www-authenticate",
];

#[cfg(feature = "http-client")]
impl WireValue {
    /// The only place where a value becomes visible.
    fn of(name: &HeaderName, value: &HeaderValue) -> Self {
        let is_known = SHOWN.contains(&name.as_str()) || name.as_str().starts_with("mcp-param-");
        match is_known && !value.is_sensitive() {
            true => Self::Shown(String::from_utf8_lossy(value.as_bytes()).into_owned()),
            false => Self::Hidden { bytes: value.len() },
        }
    }
}

/// A URL without the parts that may be secret.
#[cfg(feature = "http-client")]
pub(crate) fn shortened(mut url: Url) -> String {
    url.set_query(None);
    url.set_fragment(None);
    // This fails only for a URL that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

askback_core::debug_only!(Tap {});

#[cfg(all(test, feature = "http-client"))]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_hold_no_secret_are_shown() {
        #[track_caller]
        fn check(name: &str, sensitive: bool, is_shown: bool) {
            let mut value = HeaderValue::from_static("hush");
            value.set_sensitive(sensitive);
            let name: HeaderName = name.parse().unwrap();
            let expected = match is_shown {
                true => WireValue::Shown("hush".to_owned()),
                false => WireValue::Hidden { bytes: 4 },
            };
            assert_eq!(WireValue::of(&name, &value), expected);
        }
        check("content-type", false, true);
        check("mcp-param-region", false, true);
        check("content-type", true, false);
        for secret in [
            "authorization",
            "proxy-authorization",
            "cookie",
            "set-cookie",
            "dpop",
            "dpop-nonce",
            "mcp-session-id",
            "x-api-key",
            "location",
            "anything",
        ] {
            check(secret, false, false);
        }
    }
}
