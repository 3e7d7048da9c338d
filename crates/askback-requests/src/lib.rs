//! The HTTP/1.1 client of askback, with TLS, proxies, and a filter for addresses.
//!
//! It is used by the client transport in the crate `askback`, and for authorization requests in `askback-oauth`, which
//! do not depend on each other. Their own decisions are not made here: redirects are not followed, responses cause no
//! retries, and only open connections are kept.
//!
//! ```
//! use askback_core::limits::HttpLimits;
//! use askback_requests::{Names, Requests, Route};
//!
//! # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
//! let outside = Names::system().only(|address| !address.is_loopback());
//! let requests = Requests::new(&Route::Direct, outside, &HttpLimits::default())?;
//! let request = http::Request::get("https://example.com/").body(bytes::Bytes::new())?;
//! let mut response = requests.send(request).await?;
//! while let Some(piece) = askback_requests::next_piece(response.body_mut()).await? {
//!     println!("{} bytes", piece.len());
//! }
//! # Ok(())
//! # }
//! ```

mod connector;
mod names;

use std::{error::Error, future::poll_fn, io, pin::Pin, sync::Arc};

use askback_core::limits::HttpLimits;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, Response, Uri, header::PROXY_AUTHORIZATION, uri::Scheme,
};
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::{
        legacy::{self, Client},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};
use url::Url;

use self::connector::Connector;

pub use names::Names;

/// The default `User-Agent` of askback's clients.
pub const NAME: HeaderValue =
    HeaderValue::from_static(concat!("askback/", env!("CARGO_PKG_VERSION")));

/// An HTTP client. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Requests {
    client: Client<Connector, Full<Bytes>>,
    /// Uses a new connection for each request.
    once: Client<Connector, Full<Bytes>>,
    /// If the environment changes later, these connections still use the old proxies.
    proxies: Arc<Matcher>,
}

/// How requests leave this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// Directly. The proxy variables of the environment are ignored.
    #[default]
    Direct,
    /// Through this proxy. The proxy resolves names and decides which addresses are allowed.
    Proxy(Url),
    /// Through the proxies in the environment variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, also
    /// in lower case. Without them, directly.
    Environment,
}

/// Why a request has no response, for this side's log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No connection was made, so nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke, and the request may have been sent.
    #[error("{0}")]
    Broken(String),
}

impl Requests {
    /// Creates a client with two of these limits: `connect` for each connection, and `stream_retry_most` until a dead
    /// connection is detected.
    ///
    /// # Errors
    ///
    /// If TLS cannot be set up, or the proxy's URL is not a valid `http` or `https` URL.
    pub fn new(route: &Route, names: Names, limits: &HttpLimits) -> io::Result<Self> {
        let proxies = match route {
            Route::Direct => Matcher::builder().build(),
            Route::Proxy(proxy) => through(proxy)?,
            Route::Environment => Matcher::from_env(),
        };
        Self::by(proxies, names, limits)
    }

    fn by(proxies: Matcher, names: Names, limits: &HttpLimits) -> io::Result<Self> {
        let proxies = Arc::new(proxies);
        let connector = Connector::new(Arc::clone(&proxies), names, limits).map_err(|error| {
            io::Error::other(format!("the HTTP client cannot be set up: {error}"))
        })?;
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new());
        let client = builder.build(connector.clone());
        let once = builder.pool_max_idle_per_host(0).build(connector);
        Ok(Self {
            client,
            once,
            proxies,
        })
    }

    /// Sends a request. If the connection breaks, a safe request is sent once more on a new connection, because a server
    /// may close an idle connection just as it is used (RFC 9110, 9.2.2).
    ///
    /// # Errors
    ///
    /// See [`RequestError`]. A response with an error status is not an error.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Incoming>, RequestError> {
        let again = request.method().is_safe().then(|| request.clone());
        let answer = self.client.request(request.map(Full::new)).await;
        match (answer.map_err(unanswered), again) {
            (Err(RequestError::Broken(_)), Some(again)) => self.send_alone(again).await,
            (answer, _) => answer,
        }
    }

    /// Sends a request on a new connection. An idle connection may be closed just as it is used, and then it is unknown
    /// whether the request was read. So use this for requests that can only be sent once, such as one with an
    /// authorization code.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn send_alone(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, RequestError> {
        let answer = self.once.request(request.map(Full::new)).await;
        answer.map_err(unanswered)
    }

    /// Returns the headers that a proxy without a tunnel needs in each request to a server.
    #[must_use]
    pub fn proxy_headers(&self, server: &Uri) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if server.scheme() == Some(&Scheme::HTTP)
            && let Some(proxy) = self.proxies.intercept(server)
            && let Some(password) = proxy.basic_auth()
        {
            headers.insert(PROXY_AUTHORIZATION, password.clone());
        }
        headers
    }
}

fn unanswered(error: legacy::Error) -> RequestError {
    let why = in_full(&error);
    match error.is_connect() {
        true => RequestError::Unreachable(why),
        false => RequestError::Broken(why),
    }
}

fn through(proxy: &Url) -> io::Result<Matcher> {
    if !matches!(proxy.scheme(), "http" | "https") {
        let why = format!(
            "a proxy must have an http:// or https:// URL, not {}://",
            proxy.scheme()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let proxies = Matcher::builder().all(proxy.as_str()).build();
    // An invalid proxy URL would be ignored.
    match proxies.intercept(&Uri::from_static("https://host/")) {
        Some(_) => Ok(proxies),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the URL of the proxy cannot be used",
        )),
    }
}

/// Returns the next piece of a body; `None` at its end.
///
/// # Errors
///
/// If the body was cut off.
pub async fn next_piece(body: &mut Incoming) -> hyper::Result<Option<Bytes>> {
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        let Some(frame) = frame.transpose()? else {
            return Ok(None);
        };
        // Trailers are ignored.
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
}

/// Formats an error and its causes.
#[must_use]
pub fn in_full(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words += ": ";
        words += &error.to_string();
        source = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use askback_core::limits::HttpLimits;
    use http::{Method, Request, Uri};
    use hyper_util::client::proxy::matcher::Matcher;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
    };
    use url::Url;

    use super::{Names, RequestError, Requests, Route};

    /// Returns the head of a request to this server, as a proxy with a password receives it.
    async fn told(server: &str, names: Names) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = format!("http://me:secret@proxy.example:{}", address.port());
        let proxy = Url::parse(&proxy).unwrap();
        let requests = Requests::new(&Route::Proxy(proxy), names, &HttpLimits::default()).unwrap();
        let server: Uri = server.parse().unwrap();
        let mut request = Request::get(&server).body(Default::default()).unwrap();
        *request.headers_mut() = requests.proxy_headers(&server);
        let mut sending = tokio::spawn(async move { requests.send(request).await });
        let (mut proxy, _) = tokio::select! {
            connected = listener.accept() => connected.unwrap(),
            sent = &mut sending => panic!("the proxy was not reached: {sent:?}"),
        };
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(proxy.read_u8().await.unwrap());
        }
        let refusal = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
        proxy.write_all(refusal).await.unwrap();
        // A tunnelled request fails; the other one gets a response.
        let _ = sending.await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    }

    /// Sends two requests to a server that answers the first one and closes the connection after reading the head of
    /// the second. Returns whether the second one gets a response.
    async fn is_answered_after_a_kept_connection_broke(method: Method) -> bool {
        async fn head(stream: &mut TcpStream) {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
        }
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut kept, _) = listener.accept().await.unwrap();
            head(&mut kept).await;
            kept.write_all(ANSWER).await.unwrap();
            head(&mut kept).await;
            drop(kept);
            let (mut fresh, _) = listener.accept().await.unwrap();
            head(&mut fresh).await;
            fresh.write_all(ANSWER).await.unwrap();
        });
        let limits = HttpLimits::default();
        let requests = Requests::new(&Route::Direct, Names::system(), &limits).unwrap();
        let request = |method| {
            let request = Request::builder().method(method).uri(&url);
            request.body(Default::default()).unwrap()
        };
        let mut first = requests.send(request(Method::GET)).await.unwrap();
        while super::next_piece(first.body_mut()).await.unwrap().is_some() {}
        let second = requests.send(request(method)).await;
        serving.abort();
        second.is_ok()
    }

    #[tokio::test]
    async fn a_read_is_repeated_if_a_pooled_connection_broke() {
        for (method, is_answered) in [
            (Method::GET, true),
            (Method::HEAD, true),
            // A POST may have been processed.
            (Method::POST, false),
        ] {
            let name = method.clone();
            let answered = is_answered_after_a_kept_connection_broke(method).await;
            assert_eq!(answered, is_answered, "{name}");
        }
    }

    /// Resolves all names to this machine.
    fn here() -> Names {
        let found = |_| async { Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))]) };
        Names::found_by(move |name| Box::pin(found(name)))
    }

    #[tokio::test]
    async fn a_proxy_gets_the_destination_of_a_request() {
        for (server, line) in [
            (
                "http://far.example/mcp?a=b",
                "get http://far.example/mcp?a=b http/1.1",
            ),
            (
                "https://far.example/mcp",
                "connect far.example:443 http/1.1",
            ),
        ] {
            // With a proxy, the filter for addresses does not apply.
            for names in [here(), here().only(|_| false)] {
                let head = told(server, names).await;
                assert_eq!(head.lines().next(), Some(line), "{head}");
                let password = "proxy-authorization: basic bwu6c2vjcmv0";
                assert!(head.lines().any(|header| header == password), "{head}");
            }
        }
    }

    #[tokio::test]
    async fn a_proxy_that_is_not_reached_is_named() {
        // A port that was just released.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let proxy = Url::parse(&format!("http://me:secret@127.0.0.1:{port}")).unwrap();
        let limits = HttpLimits::default();
        let requests = Requests::new(&Route::Proxy(proxy), here(), &limits).unwrap();
        for server in ["http://far.example/mcp", "https://far.example/mcp"] {
            let request = Request::get(server).body(Default::default()).unwrap();
            let Err(RequestError::Unreachable(why)) = requests.send(request).await else {
                panic!("nothing listens there");
            };
            let named = format!("through the proxy 127.0.0.1:{port}: ");
            assert!(why.contains(&named) && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn the_password_of_a_proxy_is_for_the_proxy_alone() {
        let proxies = Matcher::builder().all("http://me:secret@proxy.example");
        let proxies = proxies.no("near.example").build();
        let requests = Requests::by(proxies, Names::system(), &HttpLimits::default()).unwrap();
        for (server, is_told) in [
            ("http://far.example/mcp", true),
            ("http://near.example/mcp", false),
            // The proxy gets it when the tunnel is opened.
            ("https://far.example/mcp", false),
        ] {
            let server = server.parse().unwrap();
            let headers = requests.proxy_headers(&server);
            assert_eq!(!headers.is_empty(), is_told, "{server}");
        }
        assert!(!format!("{requests:?}").contains("secret"));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_passed_by() {
        for proxy in ["socks5://127.0.0.1:1080", "ftp://127.0.0.1", "data:,x"] {
            let route = Route::Proxy(Url::parse(proxy).unwrap());
            let requests = Requests::new(&route, Names::system(), &HttpLimits::default());
            assert!(requests.is_err(), "{proxy}");
        }
    }

    #[tokio::test]
    async fn forbidden_addresses_are_not_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let unreached = async {
            for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "a.example"] {
                for scheme in ["http", "https"] {
                    let limits = HttpLimits::default();
                    let requests = Requests::new(&Route::Direct, here().only(|_| false), &limits);
                    let requests = requests.unwrap();
                    let request = Request::get(format!("{scheme}://{host}:{port}/"));
                    let sent = requests.send(request.body(Default::default()).unwrap());
                    let refused = sent.await.map(drop).unwrap_err();
                    let RequestError::Unreachable(why) = refused else {
                        panic!("{scheme}://{host}: {refused:?}");
                    };
                    assert!(why.ends_with("may be reached"), "{why}");
                }
            }
        };
        tokio::select! {
            _ = listener.accept() => panic!("somebody connected"),
            () = unreached => {}
        }
    }

    #[tokio::test]
    async fn a_name_leads_to_those_of_its_addresses_that_may_be_reached() {
        let [inside, outside]: [IpAddr; 2] =
            ["10.0.0.1", "93.184.216.34"].map(|it| it.parse().unwrap());
        let both =
            move |_| async move { Ok([inside, outside].map(|it| SocketAddr::new(it, 0)).into()) };
        let names = Names::found_by(move |name| Box::pin(both(name)));
        let found = names
            .clone()
            .only(move |it| it == outside)
            .resolve("a.example");
        assert_eq!(found.await.unwrap(), [SocketAddr::new(outside, 0)]);
        let found = names.only(|_| false).resolve("a.example").await;
        assert!(found.is_err(), "{found:?}");
    }
}
