//! HTTP responses.

use askback_core::{
    http::{headers, media},
    jsonrpc::{self, ErrorObject, RequestId},
    limits::Limits,
    protocol::codes,
};
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};

use super::body::{Body, Events, Outgoing, WholeBody};
use crate::server::budget::NoRoom;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
const JSON: HeaderValue = HeaderValue::from_static(media::JSON);
const EVENT_STREAM: HeaderValue = HeaderValue::from_static(media::EVENT_STREAM);
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const NO: HeaderValue = HeaderValue::from_static("no");

#[derive(Debug, Clone, Copy)]
pub(super) struct StreamMarker;

pub(super) fn json(status: StatusCode, message: impl Into<WholeBody>) -> Response<Body> {
    let mut response = Response::new(Body::whole(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

pub(super) fn error(
    status: StatusCode,
    id: Option<&RequestId>,
    error: &ErrorObject,
) -> Response<Body> {
    let error = jsonrpc::write_error(id, error);
    json(status, Outgoing::short(error))
}

pub(super) fn refusal(status: StatusCode, why: impl std::fmt::Display) -> Response<Body> {
    let object = ErrorObject::new(jsonrpc::INVALID_REQUEST, why.to_string());
    error(status, None, &object)
}

/// Rejects a request for lack of room, with a `Retry-After`.
pub(super) fn no_room(id: Option<&RequestId>, why: NoRoom, limits: &Limits) -> Response<Body> {
    let status = match why {
        NoRoom::Share => StatusCode::TOO_MANY_REQUESTS,
        NoRoom::All => StatusCode::SERVICE_UNAVAILABLE,
    };
    again_later(
        error(status, id, &ErrorObject::internal(why.to_string())),
        limits,
    )
}

/// Rejects a request that was not started: the client may send it again.
pub(super) fn unavailable(why: &str, limits: &Limits) -> Response<Body> {
    let why = ErrorObject::internal(why);
    again_later(error(StatusCode::SERVICE_UNAVAILABLE, None, &why), limits)
}

fn again_later(mut response: Response<Body>, limits: &Limits) -> Response<Body> {
    let seconds = limits.http.retry.as_secs().max(1);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

pub(super) fn not_allowed(methods: &'static str) -> Response<Body> {
    let why = format!("this endpoint takes {methods}");
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, why);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    response
}

pub(super) fn accepted() -> Response<Body> {
    empty(StatusCode::ACCEPTED)
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::whole(Outgoing::short(Vec::new())));
    *response.status_mut() = status;
    response
}

pub(super) fn events_at_once(events: Outgoing) -> Response<Body> {
    event_stream(Body::whole(events))
}

pub(super) fn events(events: impl Events) -> Response<Body> {
    event_stream(Body::events(events))
}

/// An event stream that lasts as long as its client reads it: the response has a [`StreamMarker`].
pub(super) fn open_ended(events: impl Events) -> Response<Body> {
    let mut response = self::events(events);
    response.extensions_mut().insert(StreamMarker);
    response
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, NO_CACHE);
    headers.insert(BUFFERING, NO);
    response
}

/// The HTTP status for an error of the stateless era (2026-07-28, basic/transports/streamable-http,
/// Request Metadata).
pub(super) fn status(code: i64) -> StatusCode {
    match code {
        jsonrpc::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        jsonrpc::PARSE_ERROR
        | jsonrpc::INVALID_REQUEST
        | jsonrpc::INVALID_PARAMS
        | codes::HEADER_MISMATCH
        | codes::MISSING_CAPABILITY
        | codes::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
