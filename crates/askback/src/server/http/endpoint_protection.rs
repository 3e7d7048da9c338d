//! The protection of an endpoint: serves its metadata and rejects requests without a valid token.

use std::{sync::Arc, time::Duration};

use askback_core::{
    ask::Principal, auth::Scopes, engine::server::ReceivedMessage, jsonrpc::Message,
    protocol::ClientRequest,
};
use http::{
    HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{CACHE_CONTROL, VARY, WWW_AUTHENTICATE},
    request::Parts,
};
use tokio::runtime::Handle;

use super::{
    admission::principal,
    body::{Body, Outgoing},
    pages,
    response::{self, StreamMarker},
};
use crate::{
    authorization::server::{Protection, Refusal, RequestRights},
    server::Shared,
};

/// The header with the nonce for the next proof (RFC 9449, 8.2).
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// How long caches may keep the metadata document.
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=600");

#[derive(Clone, Default)]
pub(super) struct EndpointProtection(Option<Arc<Protection>>);

impl EndpointProtection {
    pub(super) fn by(protection: Protection) -> Self {
        Self(Some(Arc::new(protection)))
    }

    pub(super) fn protects(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn serves(&self, path: &str) -> bool {
        let by = self.0.as_ref();
        by.is_some_and(|protection| protection.metadata_path() == path)
    }

    /// Prepares what the first request would wait for. Must be called within a runtime.
    pub(super) fn prepare(&self, shared: &Shared) {
        let (protection, runtime) = (self.0.clone(), Handle::try_current());
        if let (Some(protection), Ok(runtime)) = (protection, runtime) {
            let now = shared.clock().now();
            runtime.spawn(async move { protection.prepare(now).await });
        }
    }

    /// Answers requests that need no token, and rejects requests without a valid one. For
    /// others it returns `None`: the request then carries its principal.
    pub(super) async fn answer(
        &self,
        shared: &Shared,
        parts: &mut Parts,
    ) -> Option<Response<Body>> {
        let protection = self.0.as_ref()?;
        if self.serves(parts.uri.path()) {
            return Some(document(protection, parts));
        }
        if pages::is_preflight(parts) {
            return None;
        }
        let admitted = protection.admit(parts, &**shared.clock()).await;
        admitted.err().map(refused)
    }

    /// The time until the request's token expires, if the response has to end then: the answer to a
    /// call ends by itself. The marker on the response decides, not what the client sent.
    pub(super) fn time_left(
        &self,
        shared: &Shared,
        parts: &Parts,
        response: &Response<Body>,
    ) -> Option<Duration> {
        response.extensions().get::<StreamMarker>()?;
        let expires = parts.extensions.get::<RequestRights>()?.expires()?;
        Some(Duration::from_millis(
            expires.saturating_sub(shared.clock().now()),
        ))
    }

    /// Rejects a message that needs more scopes than its token has. A batch is rejected as a
    /// whole.
    pub(super) async fn refuse(
        &self,
        shared: &Shared,
        parts: &Parts,
        received: &ReceivedMessage,
    ) -> Option<Response<Body>> {
        let protection = self.0.as_ref()?;
        let principal = principal(parts);
        let mut needed: Vec<Arc<Scopes>> = match received {
            ReceivedMessage::Request(received) => {
                shared.needed(&received.request, principal.as_ref())
            }
            // The error is sent when it is dispatched.
            ReceivedMessage::Misfit(..)
            | ReceivedMessage::Notification(_)
            | ReceivedMessage::Response(_) => Vec::new(),
            ReceivedMessage::Batch(messages) => {
                let messages = messages.iter().flatten();
                messages
                    .flat_map(|message| needed(shared, message, principal.as_ref()))
                    .collect()
            }
        };
        if shared.fleet.is_some() {
            // Boxed, because it would make every request larger.
            let of_tasks = shared.needed_by_tasks(received, principal.as_ref());
            match Box::pin(of_tasks).await {
                Ok(of_tasks) => needed.extend(of_tasks),
                Err(error) => {
                    let error = error.into_object();
                    let status = StatusCode::SERVICE_UNAVAILABLE;
                    return Some(response::error(status, None, &error));
                }
            }
        }
        let granted = parts.extensions.get::<RequestRights>();
        protection.check(granted, &needed).err().map(refused)
    }
}

/// Returns the scopes that a message needs. An unreadable message needs none, because it is
/// rejected later, by the same reader.
fn needed(
    shared: &Shared,
    message: &Message,
    principal: Option<&Arc<Principal>>,
) -> Vec<Arc<Scopes>> {
    let Message::Request(request) = message else {
        return Vec::new();
    };
    let read = ClientRequest::parse(&request.method, request.params.as_deref());
    read.map_or_else(|_| Vec::new(), |request| shared.needed(&request, principal))
}

/// Answers with the server's metadata (RFC 9728).
fn document(protection: &Protection, parts: &Parts) -> Response<Body> {
    const METHODS: &str = "GET, HEAD";
    if pages::is_preflight(parts) {
        return pages::preflight(parts, METHODS);
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return response::not_allowed(METHODS);
    }
    let mut document = response::json(StatusCode::OK, Outgoing::short(protection.document()));
    let headers = document.headers_mut();
    headers.insert(CACHE_CONTROL, KEEP);
    headers.insert(VARY, HeaderValue::from_static("origin"));
    document
}

fn refused(refusal: Refusal) -> Response<Body> {
    let mut response = response::refusal(refusal.status, refusal.why);
    if let Some(challenge) = refusal.challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    if let Some(nonce) = refusal.nonce {
        response.headers_mut().insert(DPOP_NONCE, nonce);
    }
    response
}
