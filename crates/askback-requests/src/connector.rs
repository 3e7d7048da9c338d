//! Connections to a server, with TLS if its URL is `https`, and through a proxy if one is configured.

use std::{
    error::Error,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::{future::BoxFuture, limits::HttpLimits};
use http::{HeaderMap, Uri, header::USER_AGENT, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::{
    legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
    proxy::matcher::Matcher,
};
use rustls::{
    ClientConfig,
    crypto::{CryptoProvider, ring},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;
use tower_service::Service;

use crate::{NAME, Names, in_full, names::Resolver};

/// The idle time before a keepalive probe, and the number of unanswered probes after which a connection is dead.
const PROBES: (Duration, u32) = (Duration::from_secs(15), 3);

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Connector(Arc<Inner>);

struct Inner {
    /// Connects directly, to an allowed address.
    direct: HttpsConnector<HttpConnector<Resolver>>,
    /// Connects to a proxy at any address, because the caller chose it.
    to_proxy: HttpsConnector<HttpConnector<Resolver>>,
    names: Names,
    /// The TLS settings for a server that is reached through a proxy.
    tls: Arc<ClientConfig>,
    proxies: Arc<Matcher>,
    limit: Duration,
}

impl Connector {
    pub(crate) fn new(
        proxies: Arc<Matcher>,
        names: Names,
        limits: &HttpLimits,
    ) -> Result<Self, rustls::Error> {
        let tls = Arc::new(tls()?);
        let connecting = |names| HttpsConnector::from((tcp(names, limits), Arc::clone(&tls)));
        Ok(Self(Arc::new(Inner {
            direct: connecting(names.clone()),
            to_proxy: connecting(names.clone().only(|_| true)),
            names,
            tls,
            proxies,
            limit: limits.connect,
        })))
    }
}

/// Creates TCP connections with keepalive, so that a dead one is detected even if a stream on it is silent for hours.
fn tcp(names: Names, limits: &HttpLimits) -> HttpConnector<Resolver> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver(names));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // The timeout is divided among the addresses of a name.
    tcp.set_connect_timeout(Some(limits.connect));
    let (interval, retries) = PROBES;
    tcp.set_keepalive(Some(limits.stream_retry_most));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(retries));
    // There are no keepalive probes while data waits to be acknowledged.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(limits.stream_retry_most));
    tcp
}

/// Configures TLS with the provider that the program has installed, or else ring. The system's certificate authorities
/// are trusted.
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
    async fn connect(&self, server: Uri) -> Result<Wire, BoxError> {
        let Some(proxy) = self.proxies.intercept(&server) else {
            // An IP address is not resolved, so it is checked here.
            if let Some(address) = literal(&server) {
                self.names.check(address)?;
            }
            return Ok(Wire::to_server(self.direct.clone().call(server).await?));
        };
        let mut to_proxy = self.to_proxy.clone();
        if server.scheme() != Some(&Scheme::HTTPS) {
            let connected = to_proxy.call(proxy.uri().clone()).await;
            return Ok(Wire::to_proxy(
                connected.map_err(|why| behind(proxy.uri(), why))?,
            ));
        }
        let named = HeaderMap::from_iter([(USER_AGENT, NAME)]);
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy).with_headers(named);
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        let mut secured = HttpsConnector::from((tunnel, Arc::clone(&self.tls)));
        let connected = secured.call(server).await;
        Ok(Wire::to_server(
            connected.map_err(|why| behind(proxy.uri(), why))?,
        ))
    }
}

/// Names the proxy in a connection error, without the URL's user name and password. Otherwise the server would seem to
/// be down.
fn behind(proxy: &Uri, why: impl Into<BoxError>) -> BoxError {
    let host = proxy.authority().map_or("", |authority| {
        let whole = authority.as_str();
        whole.rsplit('@').next().unwrap_or(whole)
    });
    let why = in_full(&*why.into());
    io::Error::other(format!("through the proxy {host}: {why}")).into()
}

/// Returns the server's IP address, if its URL has one instead of a name.
fn literal(server: &Uri) -> Option<IpAddr> {
    let host = server.host()?;
    let inside = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inside.unwrap_or(host).parse().ok()
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Wire, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
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

pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    /// Whether it leads to a proxy, which needs the target in each request.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use askback_core::limits::HttpLimits;
    use socket2::SockRef;
    use tokio::net::TcpListener;
    use tower_service::Service as _;

    use super::{Names, tcp};

    #[tokio::test]
    async fn a_connection_whose_peer_is_gone_is_found_dead() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let mut limits = HttpLimits::default();
        limits.stream_retry_most = Duration::from_secs(77);
        let mut tcp = tcp(Names::system(), &limits);
        let stream = tcp.call(server.parse().unwrap()).await.unwrap();
        let stream = stream.into_inner();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let silent = socket.tcp_keepalive_time().unwrap();
        assert_eq!(silent, limits.stream_retry_most);
        let between = socket.tcp_keepalive_interval().unwrap();
        assert_eq!(between, Duration::from_secs(15));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
        let unacknowledged = socket.tcp_user_timeout().unwrap();
        assert_eq!(unacknowledged, Some(limits.stream_retry_most));
    }
}
