//! Other services at the endpoint's address, such as web pages.

use std::{
    convert::Infallible,
    error::Error,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower_service::Service;

use super::connections::ConnectionActivity;

type ServiceFuture = Pin<Box<dyn Future<Output = Response<Outgoing>> + Send>>;
type SideService = dyn Fn(Request<RequestBody>) -> ServiceFuture + Send + Sync;

#[derive(Clone, Default)]
pub(super) struct SideServices(Arc<[(String, Arc<SideService>)]>);

impl SideServices {
    pub(super) fn and<S, B>(&self, path: &str, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let answers: Arc<SideService> = Arc::new(move |request| {
            let mut service = service.clone();
            Box::pin(async move {
                let Ok(()) = poll_fn(|cx| service.poll_ready(cx)).await;
                let Ok(response) = service.call(request).await;
                response.map(|body| -> Outgoing { Box::pin(IoErrorBody(Box::pin(body))) })
            })
        });
        let path = path.trim_end_matches('/').to_owned();
        let there = self.0.iter().cloned();
        Self(there.chain([(path, answers)]).collect())
    }

    /// The longest matching path wins.
    pub(super) fn at(&self, asked: &str) -> Option<&SideService> {
        let below = |path: &str| {
            let rest = asked.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found = self.0.iter().filter(|(path, _)| below(path));
        let found = found.max_by_key(|(path, _)| path.len());
        found.map(|(_, answers)| &**answers)
    }
}

/// The addresses of the connection of a request: an extension of requests to side services
/// ([`Endpoint::beside`](super::Endpoint::beside)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionEnds {
    /// The local address.
    pub local: SocketAddr,
    /// The remote address. Behind a proxy this is the proxy's address.
    pub remote: SocketAddr,
}

/// The body of a request to a side service ([`Endpoint::beside`](super::Endpoint::beside)).
pub struct RequestBody {
    body: Incoming,
    activity: Arc<ConnectionActivity>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, activity: &Arc<ConnectionActivity>) -> Self {
        let activity = Arc::clone(activity);
        if body.is_end_stream() {
            activity.work();
        }
        Self { body, activity }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            // The connection counts as working once the request is complete.
            self.activity.work();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

askback_core::debug_only!(RequestBody {});

pub(super) type Outgoing = Pin<Box<dyn Body<Data = Bytes, Error = io::Error> + Send>>;

struct IoErrorBody<B>(Pin<Box<B>>);

impl<B> Body for IoErrorBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = self.0.as_mut().poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
