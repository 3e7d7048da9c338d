//! Serving over HTTP: one endpoint for every revision at the same time.
//!
//! ```no_run
//! use askback::{Result, RunError, Server, Tool};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), RunError> {
//!     let hello = Tool::new("hello", async || -> Result<&'static str> { Ok("Hello!") });
//!     Server::new("greeter", "1.0.0").tool(hello).run_http("127.0.0.1:8000").await
//! }
//! ```
//!
//! [`ServerBuilder::run_http`] is enough for most servers. [`Server::http`] returns the
//! [`Endpoint`], which sets the server's host names, serves until a signal, or becomes a tower
//! [`Service`] for a router with other routes.

mod admission;
mod body;
mod connection;
mod connections;
#[cfg(feature = "oauth-server")]
mod endpoint_protection;
mod fleet_session;
mod heads;
mod health;
mod known_clients;
mod pages;
mod peer_user;
mod read;
mod responder;
mod response;
mod serve;
mod service;
mod session;
mod sessions;
mod side_services;
mod signal;
mod stateless;
mod stop;
mod stream;
mod stream_reader;
mod subscription;

use std::{convert::Infallible, error::Error, future::Future, io, net::SocketAddr, sync::Arc};

use askback_core::limits::Limits;
use bytes::Bytes;
use http::{Request, Response};

pub use askback_core::http::guard::{BadName, Guard};
pub use body::Body;
#[doc(hidden)]
pub use connections::{ConnectionPlace, ConnectionPlaces};
pub use peer_user::PeerUser;
pub use service::Service;
pub use side_services::{ConnectionEnds, RequestBody};
pub use signal::stop_signal;
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};

#[cfg(feature = "oauth-server")]
use self::endpoint_protection::EndpointProtection;
use self::{health::Health, responder::Responder, side_services::SideServices};
use super::{RunError, Server, ServerBuilder, Shared};
#[cfg(feature = "oauth-server")]
use crate::authorization::server::Protection;

const PATH: &str = "/mcp";

/// The HTTP endpoint of a server: its path, its host names and its access rules.
///
/// Requests whose `Host` or `Origin` is not allowed are rejected. Otherwise any web page could use
/// a server on its visitor's machine by DNS rebinding (2026-07-28,
/// basic/transports/streamable-http, Security & Endpoint). By default only the machine's own names
/// are allowed: `localhost`, `127.0.0.1` and `[::1]`.
#[derive(Clone)]
#[must_use = "an endpoint does nothing until it serves"]
pub struct Endpoint {
    shared: Arc<Shared>,
    guard: Guard,
    path: String,
    #[cfg(feature = "oauth-server")]
    protected: EndpointProtection,
    /// Whether the two endpoints of 2024-11-05 are served as well.
    pairs: bool,
    beside: SideServices,
    has_health_routes: bool,
}

impl ServerBuilder {
    /// Builds the server and serves it over HTTP at `/mcp` of this address until the program gets a
    /// [stop signal](stop_signal). Only the machine's own names are accepted. If the server has
    /// another name, needs authorization or stops differently, build it and use [`Server::http`].
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be built, or if listening at the address fails.
    pub async fn run_http(self, addr: impl ToSocketAddrs) -> Result<(), RunError> {
        let server = self.build()?;
        let resolved = lookup_host(addr).await.map_err(RunError::Address)?;
        let resolved: Vec<SocketAddr> = resolved.collect();
        let listener = TcpListener::bind(&resolved[..]).await.map_err(|why| {
            let resolved: Vec<_> = resolved.iter().map(ToString::to_string).collect();
            let address = resolved.join(" and ");
            RunError::Listen { address, why }
        })?;
        let serving = server.http().serve_until(listener, stop_signal());
        serving.await.map_err(RunError::Serve)
    }
}

impl Server {
    /// Serves over HTTP at `/mcp` of this address, without end. Only the machine's own names are
    /// accepted. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// If listening at the address fails.
    pub async fn serve_http(&self, addr: impl ToSocketAddrs) -> io::Result<()> {
        self.http().serve(TcpListener::bind(addr).await?).await
    }

    /// Returns the server's HTTP endpoint.
    pub fn http(&self) -> Endpoint {
        Endpoint {
            shared: Arc::clone(&self.0),
            guard: Guard::default(),
            path: PATH.to_owned(),
            #[cfg(feature = "oauth-server")]
            protected: EndpointProtection::default(),
            pairs: false,
            beside: SideServices::default(),
            has_health_routes: false,
        }
    }
}

impl Endpoint {
    /// Sets the accepted hosts and origins: the server's names, and the origins of web pages that
    /// may use it.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Sets the path. The default is `/mcp`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Also serves the older HTTP+SSE transport of 2024-11-05, at the same path, for clients that
    /// support nothing else. It is deprecated, and each open stream keeps a session, so it is off
    /// by default. Clients of that revision that support Streamable HTTP are always served.
    pub fn allow_http_sse(mut self) -> Self {
        self.pairs = true;
        self
    }

    /// Serves another service below this path of the same address, for example web pages:
    /// `/connect` also serves all paths that begin with `/connect/`, and `/` serves every path that
    /// nothing else serves. The service gets the full path. This applies to [`serve`](Self::serve)
    /// and [`serve_until`](Self::serve_until); with [`service`](Self::service), add routes to your
    /// router.
    ///
    /// The `Host` of a request must be one that the endpoint's [`guard`](Self::guard) allows. The
    /// service itself must check the `Origin`, tokens and users: each request has the
    /// [`ConnectionEnds`] of its connection as an extension. The endpoint's limits on connections
    /// and headers apply, but not its limit on bodies.
    pub fn beside<S, B>(mut self, path: impl AsRef<str>, service: S) -> Self
    where
        S: tower_service::Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.beside = self.beside.and(path.as_ref(), service);
        self
    }

    /// Also serves two paths for balancers and supervisors, to `GET` and `HEAD`:
    ///
    /// - `/healthz`: 200, as long as the process lives.
    /// - `/readyz`: 200 if the [store](crate::ServerBuilder::store), if you gave one, and the journal of the
    ///   [fleet](crate::Fleet) answer and the process is not stopping, else 503 with a sentence that says which of them it
    ///   is.
    ///
    /// The paths accept any `Host` and need no token. Their requests are not MCP requests: they have no session and no
    /// span, and metrics and rate limits ignore them. One check runs at a time, for at most two seconds, and its result
    /// answers all requests of the next second.
    ///
    /// This applies to [`serve`](Self::serve) and [`serve_until`](Self::serve_until).
    pub fn health_routes(mut self) -> Self {
        self.has_health_routes = true;
        self
    }

    /// Requires an access token for this server. Handlers, sessions and stored data then have the
    /// caller's principal.
    #[cfg(feature = "oauth-server")]
    pub fn protect(mut self, protection: Protection) -> Self {
        self.protected = EndpointProtection::by(protection);
        self
    }

    /// Returns the endpoint as a tower service, which answers every path that is routed to it. Its
    /// sessions live as long as one of its clones. If the endpoint is protected, also route the
    /// path of its metadata document to it.
    ///
    /// ```
    /// # fn route(server: askback::Server) -> axum::Router {
    /// axum::Router::new().route_service("/mcp", server.http().service())
    /// # }
    /// ```
    ///
    /// If called within a tokio runtime, it loads what the protection needs, such as keys, at once;
    /// otherwise the first request waits for that.
    ///
    /// The router's own server then limits connections, headers and slow readers.
    #[must_use]
    pub fn service(self) -> Service {
        Service::new(self)
    }

    /// Returns the endpoint as a tower service that stops when the signal comes. Use it with a
    /// router whose own server stops on the same signal: a graceful shutdown waits for open
    /// streams, which would not end by themselves.
    ///
    /// After the signal, new calls are refused (503), and subscriptions and session streams end.
    /// Running calls may continue for
    /// [`limits.server.shutdown`](crate::limits::ServerLimits::shutdown); after that they end with
    /// an error. [`Service::stopped`] says when the router may stop: until then users can still
    /// answer open questions, on new connections.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// ```no_run
    /// # async fn serve(server: askback::Server) -> std::io::Result<()> {
    /// let mcp = server.http().service_until(askback::http::stop_signal());
    /// let stopped = mcp.stopped();
    /// let router = axum::Router::new().route_service("/mcp", mcp);
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// axum::serve(listener, router).with_graceful_shutdown(stopped).await
    /// # }
    /// ```
    pub fn service_until(self, signal: impl Future<Output = ()> + Send + 'static) -> Service {
        let service = self.service();
        let (stop, sessions) = (service.stop().clone(), service.weak_sessions());
        let grace = service.shared().limits().server.shutdown;
        let commits = service.shared().commits.clone();
        tokio::spawn(async move {
            signal.await;
            serve::stop(&stop, &sessions, &commits, grace).await;
        });
        service
    }

    /// Serves all connections, without end. See [`serve_until`](Self::serve_until).
    ///
    /// # Errors
    ///
    /// Never fails today: a failed connection ends only itself.
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        self.serve_until(listener, std::future::pending()).await
    }

    /// Serves all connections until the signal arrives. After the signal, new calls are refused and
    /// subscriptions end with their result. Running calls, with their questions, may continue for
    /// [`limits.server.shutdown`](crate::limits::ServerLimits::shutdown); until the last one has
    /// ended, clients may still answer and resume streams. After that time, the remaining calls end
    /// with an error that gives the reason.
    ///
    /// Logs the URL, and the store in which [commits](crate::Ctx::commit) are claimed.
    ///
    /// # Errors
    ///
    /// Never fails today: a failed connection ends only itself.
    pub async fn serve_until(
        self,
        listener: TcpListener,
        signal: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let (path, beside) = (self.path.clone(), self.beside.clone());
        if let Ok(address) = listener.local_addr() {
            let url = format_args!("http://{address}{path}");
            let store = self.shared.keys.describe_store();
            let fleet = self.shared.fleet.is_some();
            tracing::info!(%url, store, fleet, "serving over HTTP");
        }
        let has_health_routes = self.has_health_routes;
        let service = self.service();
        let mut responder = Responder::of_endpoint(service.clone(), &path, beside);
        if has_health_routes {
            responder = responder.with_health(Health::new(service.shared(), service.stop()));
        }
        serve::serve(service, responder, listener, signal).await;
        Ok(())
    }
}

/// Serves pages to browsers at all paths, without an endpoint, until the signal comes. Responses
/// then have a second to end.
///
/// An endpoint's limits on connections, headers and slow clients apply. The service must check
/// everything else: the `Host` and the `Origin`, the user, and the length of a body. Each request
/// has the [`ConnectionEnds`] of its connection as an extension.
pub async fn serve_pages<S, B>(
    listener: TcpListener,
    service: S,
    limits: &Limits,
    until: impl Future<Output = ()> + Send,
) where
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let pages = SideServices::default().and("/", service);
    serve::serve_pages(listener, Responder::of_pages(pages, limits), until).await;
}
