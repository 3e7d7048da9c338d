//! The HTTP endpoint as a tower service.

mod in_session;
mod route;

use std::{
    convert::Infallible,
    ops::ControlFlow::{self, Break, Continue},
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use askback_core::{
    ask::Principal,
    engine::server::{self as engine, Call, OpenSubscription, ReceivedMessage},
    http::{
        guard::{Guard, GuardRefusal},
        media::{AcceptedMedia, Media},
    },
    jsonrpc::{ErrorObject, RequestId},
    limits::Limits,
    protocol::ClientRequest,
    quote::excerpt,
    revision::Era,
};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version,
    header::{CONNECTION, HOST, ORIGIN},
    request::Parts,
};

use self::route::Route;
#[cfg(feature = "oauth-server")]
use super::endpoint_protection::EndpointProtection;
use super::{
    Endpoint,
    admission::{admit, attach, attachment, judge, principal},
    body::{Body, Outgoing},
    heads::Heads,
    known_clients::KnownClients,
    pages,
    read::{BodyReadError, read},
    response,
    sessions::{SessionUnavailable, Sessions},
    stateless,
    stop::{Phase, Stop},
    subscription::listen,
};
use crate::server::{Shared, budget::NoRoom, trace};

/// The parameter of the message endpoint of 2024-11-05 that names its session.
const PAIRED: &str = "sessionId=";

/// A server's HTTP endpoint as a tower service. Cheap to clone: clones share their sessions.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    guard: Guard,
    #[cfg(feature = "oauth-server")]
    protected: EndpointProtection,
    sessions: Arc<Sessions>,
    stop: Stop,
    handshakes: bool,
    /// Whether the server supports a stateless revision. If not, it must not look as if it did:
    /// otherwise a client never tries the handshake (2026-07-28, basic/transports/streamable-http,
    /// Backward Compatibility).
    stands_alone: bool,
    /// Whether the two endpoints of 2024-11-05 are served, and that revision is supported.
    pairs: bool,
    warned: AtomicBool,
    known: KnownClients,
}

impl Service {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        let shared = endpoint.shared;
        #[cfg(feature = "oauth-server")]
        endpoint.protected.prepare(&shared);
        let sessions = Sessions::new(&shared);
        shared.keys.serve_others();
        if shared.fleet.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            // This process may have to continue calls of a process that is gone.
            sessions.begin();
        }
        let revisions = &shared.profile.revisions;
        let handshakes = revisions.iter().any(|known| known.era() == Era::Legacy);
        let stands_alone = revisions.iter().any(|known| known.era() == Era::Modern);
        let pairs = endpoint.pairs && revisions.iter().any(|known| !known.facts().http.streamable);
        Self(Arc::new(Inner {
            shared,
            guard: endpoint.guard,
            #[cfg(feature = "oauth-server")]
            protected: endpoint.protected,
            sessions,
            stop: Stop::default(),
            handshakes,
            stands_alone,
            pairs,
            warned: AtomicBool::new(false),
            known: KnownClients::default(),
        }))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(super) fn is_busy(&self) -> bool {
        self.0.sessions.are_busy()
    }

    pub(super) fn weak_sessions(&self) -> Weak<Sessions> {
        Arc::downgrade(&self.0.sessions)
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Waits until the service has stopped: its signal has come
    /// ([`Endpoint::service_until`](super::Endpoint::service_until)) and no session has a running
    /// call, or the time limit is over. Calls without a session end with their connections. A
    /// service without a signal does not stop.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let stop = self.0.stop.clone();
        async move { stop.reached(Phase::Closing).await }
    }

    /// Whether this is the path of the metadata of its protection.
    pub(super) fn serves(&self, path: &str) -> bool {
        #[cfg(feature = "oauth-server")]
        let serves = self.0.protected.serves(path);
        #[cfg(not(feature = "oauth-server"))]
        let serves = {
            let _ = path;
            false
        };
        serves
    }

    /// Rejects a request for a side service that names another host. The side service checks the
    /// origin.
    pub(super) fn refuse_host<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let (headers, uri) = (request.headers(), request.uri());
        let checked = self.0.check_names(uri, headers, false);
        let refused = checked.err()?;
        Some(self.0.refuse(headers, uri, refused))
    }

    /// Answers a request.
    pub async fn respond<B: http_body::Body>(&self, request: Request<B>) -> Response<Body> {
        #[cfg_attr(not(feature = "oauth-server"), expect(unused_mut))]
        let (mut parts, body) = request.into_parts();
        let has_origin = parts.headers.contains_key(ORIGIN);
        let checked = (self.0).check_names(&parts.uri, &parts.headers, has_origin);
        if let Err(refused) = checked {
            return self.0.refuse(&parts.headers, &parts.uri, refused);
        }
        let mut answered = None;
        #[cfg(feature = "oauth-server")]
        if self.0.protected.protects() {
            answered = self.0.protected.answer(&self.0.shared, &mut parts).await;
        }
        if self.0.shared.fleet.is_some() && answered.is_none() {
            self.0.sessions.begin();
            if let Ok(Some(id)) = Heads(&parts.headers).session()
                && !self.0.sessions.has(id)
            {
                // Boxed, because it would make every request larger.
                answered = Box::pin(self.0.reopen(&parts, id)).await;
            }
        }
        let mut response = match answered {
            Some(answered) => answered,
            None => match parts.method {
                Method::POST => self.0.post(&parts, body).await,
                Method::GET if self.0.handshakes => self.0.get(&parts).await,
                Method::DELETE if self.0.handshakes => self.0.delete(&parts).await,
                _ if pages::is_preflight(&parts) => {
                    pages::preflight(&parts, self.0.methods(&parts))
                }
                _ => response::not_allowed(self.0.methods(&parts)),
            },
        };
        #[cfg(feature = "oauth-server")]
        if let Some(left) = (self.0.protected).time_left(&self.0.shared, &parts, &response) {
            response = response.map(|body| body.for_no_longer_than(left));
        }
        if has_origin && let Some(origin) = parts.headers.get(ORIGIN) {
            pages::share(origin, response.headers_mut());
        }
        response
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.respond(request).await) })
    }
}

impl Inner {
    fn check_names(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        with_origin: bool,
    ) -> Result<(), GuardRefusal> {
        let all = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let authority = uri.authority().map(|host| host.as_str().as_bytes());
        let origins = with_origin.then(|| all(ORIGIN)).into_iter().flatten();
        self.guard.check_request(all(HOST), authority, origins)
    }

    /// Rejects a request, and logs which name it used and how to allow it. Only the first log is a
    /// warning, because any client can send such requests.
    fn refuse(&self, headers: &HeaderMap, uri: &Uri, refused: GuardRefusal) -> Response<Body> {
        let header = refused.header();
        let allow = format!("Guard::allow_{header}");
        let authority = uri.authority().filter(|_| header == "host");
        let named = headers.get(header).map(HeaderValue::as_bytes);
        let named = named.or(authority.map(|host| host.as_str().as_bytes()));
        let named = named.map(|named| excerpt(&String::from_utf8_lossy(named)));
        let named = named.unwrap_or_default();
        trace::count_refusal(header);
        if self.warned.swap(true, Ordering::Relaxed) {
            tracing::debug!(%header, value = named, "a request was refused: {refused}");
        } else {
            tracing::warn!(
                %header,
                value = named,
                "a request was refused: {refused}. If it is one of yours, allow it with `{allow}`; more \
                 such requests are logged as debug"
            );
        }
        let why =
            format!("{refused}: `{named}`. The operator of the server can allow it (`{allow}`)");
        response::refusal(StatusCode::FORBIDDEN, why)
    }

    async fn reopen(&self, parts: &Parts, id: &[u8]) -> Option<Response<Body>> {
        let id = std::str::from_utf8(id).ok()?;
        let reopened = self.sessions.reopen(id, principal(parts)).await;
        reopened.err().map(|SessionUnavailable| {
            let why = "the server cannot continue this session now; send the request again";
            response::unavailable(why, self.shared.limits())
        })
    }

    async fn post<B: http_body::Body>(&self, parts: &Parts, body: B) -> Response<Body> {
        let heads = Heads(&parts.headers);
        if heads.media() != Some(Media::Json) {
            let why = "the body must be application/json";
            return response::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
        }
        let accept = heads.accepted();
        if !accept.json && !accept.event_stream {
            let why = "accept application/json and text/event-stream";
            return response::refusal(StatusCode::NOT_ACCEPTABLE, why);
        }
        let open = || self.shared.kept.open(principal(parts).as_ref());
        let body = match read(body, self.shared.limits(), open).await {
            Ok(body) => body,
            Err(BodyReadError::NoRoom(why)) => return self.no_room(None, why),
            Err(unread) => return response::refusal(unread.status(), unread),
        };
        let received = match self.known.read(&body, &self.shared) {
            Ok(received) => received,
            Err(malformed) => {
                let id = malformed.id.as_ref();
                return response::error(StatusCode::BAD_REQUEST, id, &malformed.error);
            }
        };
        drop(body);
        #[cfg(feature = "oauth-server")]
        if let Some(refusal) = self.protected.refuse(&self.shared, parts, &received).await {
            return refusal;
        }
        if self.stop.has_reached(Phase::Stopping) && begins_something(&received) {
            return stopping(parts, self.shared.limits());
        }
        match self.route(parts, heads, &received) {
            Route::Stateless => match self.stateless(parts, heads, accept, received) {
                Continue(call) => stateless::answer(&self.shared, &self.stop, call, accept).await,
                Break(response) => response,
            },
            Route::New => self.initialize(parts, received),
            Route::Session(session) => {
                let attachment = attachment(&self.shared, parts);
                self.message(session, accept, received, attachment).await
            }
            Route::Nowhere(refusal) => refusal,
        }
    }

    /// Continues with a call, and breaks with the response to anything else.
    fn stateless(
        &self,
        parts: &Parts,
        heads: Heads<'_>,
        accept: AcceptedMedia,
        received: ReceivedMessage,
    ) -> ControlFlow<Response<Body>, Call> {
        let refused = |id: &RequestId, error: &ErrorObject| {
            response::error(response::status(error.code), Some(id), error)
        };
        let request = match received {
            ReceivedMessage::Request(request) => request,
            ReceivedMessage::Misfit(request, error) => {
                let error = judge(&self.shared.profile, heads, &request, error);
                return Break(refused(&request.id, &error));
            }
            // No notification has an effect on the server.
            ReceivedMessage::Notification(_) => return Break(response::accepted()),
            ReceivedMessage::Response(_) => {
                let why = "this revision has no requests that a client could answer";
                return Break(response::refusal(StatusCode::BAD_REQUEST, why));
            }
            ReceivedMessage::Batch(_) => {
                let why = "this revision has no batches";
                return Break(response::refusal(StatusCode::BAD_REQUEST, why));
            }
        };
        let id = request.id.clone();
        let mut call = match admit(&self.shared, heads, principal(parts), request) {
            Ok(call) => call,
            Err(error) => return Break(refused(&id, &error)),
        };
        if let Some(answered) = self.answer_at_once(&call, accept) {
            return Break(answered);
        }
        attach(&mut call, attachment(&self.shared, parts).as_ref());
        Continue(call)
    }

    fn answer_at_once(&self, call: &Call, accept: AcceptedMedia) -> Option<Response<Body>> {
        Some(match &call.request {
            ClientRequest::Discover(_) => {
                let told = engine::discover(&self.shared.profile, call);
                self.json(call.origin.principal.as_ref(), Some(&call.id), told)
            }
            ClientRequest::Listen(_) if !accept.event_stream => {
                let why = "a subscription is a stream: accept text/event-stream";
                response::refusal(StatusCode::NOT_ACCEPTABLE, why)
            }
            ClientRequest::Listen(params) => {
                match OpenSubscription::open(&self.shared.profile, call, params) {
                    Ok((subscription, acknowledged)) => {
                        let (shared, stop) = (&self.shared, &self.stop);
                        match listen(shared, stop, subscription, acknowledged) {
                            Ok(listening) => response::open_ended(listening),
                            Err(why) => self.no_room(Some(&call.id), why),
                        }
                    }
                    Err(error) => {
                        let status = response::status(error.code);
                        response::error(status, Some(&call.id), &error)
                    }
                }
            }
            _ => return None,
        })
    }

    fn no_room(&self, id: Option<&RequestId>, why: NoRoom) -> Response<Body> {
        response::no_room(id, why, self.shared.limits())
    }

    fn json(
        &self,
        principal: Option<&Arc<Principal>>,
        id: Option<&RequestId>,
        answer: Vec<u8>,
    ) -> Response<Body> {
        match Outgoing::new(answer, |bytes| self.shared.kept.take(principal, bytes)) {
            Ok(answer) => response::json(StatusCode::OK, answer),
            Err(why) => self.no_room(id, why),
        }
    }
}

fn begins_something(received: &ReceivedMessage) -> bool {
    match received {
        ReceivedMessage::Request(..) | ReceivedMessage::Misfit(..) | ReceivedMessage::Batch(_) => {
            true
        }
        ReceivedMessage::Notification(_) | ReceivedMessage::Response(_) => false,
    }
}

/// The server is stopping: the client may send the same request again, to another process.
fn stopping(parts: &Parts, limits: &Limits) -> Response<Body> {
    let mut response = response::unavailable("the server is stopping", limits);
    if parts.version <= Version::HTTP_11 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

impl BodyReadError {
    fn status(self) -> StatusCode {
        match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::NoRoom(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
