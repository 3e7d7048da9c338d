//! Connections to a server: secured by TLS where its URL says so, and through a proxy where the
//! environment names one (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in small letters too).

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::{future::BoxFuture, limits::Limits};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, Response, Uri,
    header::{PROXY_AUTHORIZATION, USER_AGENT},
    uri::Scheme,
};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::{
        legacy::{
            self, Client,
            connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
        },
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig,
    crypto::{CryptoProvider, ring},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;
use tower_service::Service;

/// How long a connection is silent between two questions whether its peer is there, and how many
/// questions stay without an answer before it is dead.
const PROBES: (Duration, u32) = (Duration::from_secs(15), 3);

/// The name of a client where its user gives no other.
pub(super) const NAME: HeaderValue =
    HeaderValue::from_static(concat!("askback/", env!("CARGO_PKG_VERSION")));

/// The sender of requests. Clones share their connections.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    client: Client<Connector, Full<Bytes>>,
    /// The environment may name other proxies later, which these connections do not use.
    proxies: Arc<Matcher>,
}

type Failed = Box<dyn Error + Send + Sync>;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

struct Inner {
    direct: HttpsConnector<HttpConnector>,
    /// With a server behind a proxy.
    tls: Arc<ClientConfig>,
    proxies: Arc<Matcher>,
    /// How long it may take to connect.
    limit: Duration,
}

impl Requests {
    /// A sender of requests within these limits, through the proxies that the environment names.
    pub(super) fn new(limits: &Limits) -> io::Result<Self> {
        Self::through(Matcher::from_env(), limits)
    }

    fn through(proxies: Matcher, limits: &Limits) -> io::Result<Self> {
        let tls = tls()
            .map(Arc::new)
            .map_err(|error| io::Error::other(format!("HTTP cannot be spoken here: {error}")))?;
        let proxies = Arc::new(proxies);
        let connector = Connector(Arc::new(Inner {
            direct: HttpsConnector::from((tcp(limits), Arc::clone(&tls))),
            tls,
            proxies: Arc::clone(&proxies),
            limit: limits.http.connect,
        }));
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { client, proxies })
    }

    /// Sends a request.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        self.client.request(request).await
    }

    /// The headers that a proxy that is not tunnelled through wants with each request to a server.
    pub(super) fn proxy_headers(&self, server: &Uri) -> HeaderMap {
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

/// Connections by TCP, which are found dead though a stream on them may be silent for hours.
fn tcp(limits: &Limits) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // It is shared out among the addresses of a name.
    tcp.set_connect_timeout(Some(limits.http.connect));
    let (interval, retries) = PROBES;
    tcp.set_keepalive(Some(limits.http.stream_retry_most));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(retries));
    // No such questions are asked while data waits to be acknowledged.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(limits.http.stream_retry_most));
    tcp
}

/// TLS by the provider that the program has chosen for itself, else by ring, as for what is fetched for
/// authorization; trusted are the authorities of the system.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let chosen = CryptoProvider::get_default().cloned();
    let provider = chosen.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let tls =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut tls = tls.with_platform_verifier()?.with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

impl Inner {
    async fn connect(&self, server: Uri) -> Result<Wire, Failed> {
        let mut direct = self.direct.clone();
        let Some(proxy) = self.proxies.intercept(&server) else {
            return Ok(Wire::to_server(direct.call(server).await?));
        };
        if server.scheme() != Some(&Scheme::HTTPS) {
            return Ok(Wire::to_proxy(direct.call(proxy.uri().clone()).await?));
        }
        let named = HeaderMap::from_iter([(USER_AGENT, NAME)]);
        let mut tunnel = Tunnel::new(proxy.uri().clone(), direct).with_headers(named);
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        let mut secured = HttpsConnector::from((tunnel, Arc::clone(&self.tls)));
        Ok(Wire::to_server(secured.call(server).await?))
    }
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = Failed;
    type Future = BoxFuture<'static, Result<Wire, Failed>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let connected = timeout(inner.limit, inner.connect(server)).await;
            connected.unwrap_or_else(|_| {
                let why = format!("nobody answered within {:?}", inner.limit);
                Err(io::Error::new(io::ErrorKind::TimedOut, why).into())
            })
        })
    }
}

/// A connection.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    /// It leads to a proxy, which is told with each request where that is to go.
    is_to_proxy: bool,
}

trait Stream: Read + Write + Connection + Send + Unpin {}

impl<S: Read + Write + Connection + Send + Unpin> Stream for S {}

impl Wire {
    fn to_server(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            is_to_proxy: false,
        }
    }

    fn to_proxy(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            is_to_proxy: true,
        }
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_to_proxy)
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use askback_core::limits::Limits;
    use http::{Request, Uri};
    use hyper_util::client::proxy::matcher::Matcher;
    #[cfg(target_os = "linux")]
    use socket2::SockRef;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use tower_service::Service as _;

    use super::{Requests, tcp};

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_whose_peer_is_gone_is_found_dead() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let mut limits = Limits::default();
        limits.http.stream_retry_most = Duration::from_secs(77);
        let stream = tcp(&limits).call(server.parse().unwrap()).await.unwrap();
        let stream = stream.into_inner();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(
            socket.tcp_keepalive_time().unwrap(),
            limits.http.stream_retry_most
        );
        assert_eq!(
            socket.tcp_keepalive_interval().unwrap(),
            Duration::from_secs(15)
        );
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
        assert_eq!(
            socket.tcp_user_timeout().unwrap(),
            Some(limits.http.stream_retry_most)
        );
    }

    /// The head of a request to this server, as a proxy with a password reads it.
    async fn told(server: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxies = Matcher::builder().all(format!("http://me:secret@{address}"));
        let requests = Requests::through(proxies.build(), &Limits::default()).unwrap();
        let server: Uri = server.parse().unwrap();
        let mut request = Request::get(&server).body(Default::default()).unwrap();
        *request.headers_mut() = requests.proxy_headers(&server);
        let sending = tokio::spawn(async move { requests.send(request).await });
        let (mut proxy, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(proxy.read_u8().await.unwrap());
        }
        let refusal = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
        proxy.write_all(refusal).await.unwrap();
        // One that tunnels has failed, the other was answered.
        let _ = sending.await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    }

    #[tokio::test]
    async fn a_proxy_is_told_where_a_request_is_to_go() {
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
            let head = told(server).await;
            assert_eq!(head.lines().next(), Some(line), "{head}");
            let password = "proxy-authorization: basic bwu6c2vjcmv0";
            assert!(head.lines().any(|header| header == password), "{head}");
        }
    }

    #[test]
    fn the_password_of_a_proxy_is_for_the_proxy_alone() {
        let proxies = Matcher::builder().all("http://me:secret@proxy.example");
        let proxies = proxies.no("near.example").build();
        let requests = Requests::through(proxies, &Limits::default()).unwrap();
        for (server, is_told) in [
            ("http://far.example/mcp", true),
            ("http://near.example/mcp", false),
            // It is told when the tunnel is made.
            ("https://far.example/mcp", false),
        ] {
            let headers = requests.proxy_headers(&server.parse().unwrap());
            assert_eq!(!headers.is_empty(), is_told, "{server}");
        }
    }
}
