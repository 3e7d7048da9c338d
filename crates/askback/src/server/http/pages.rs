//! CORS: lets web pages of an allowed origin use the endpoint and read its responses (the Fetch
//! standard, CORS protocol). Other origins were rejected before.

use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
    },
    request::Parts,
};

use super::{body::Body, response::empty};

/// How long a browser may cache the preflight response, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The headers that a page may read in addition to the safelisted ones: the session id, and the
/// authentication challenge.
const READABLE: HeaderValue =
    HeaderValue::from_static("mcp-session-id, www-authenticate, dpop-nonce");

pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

pub(super) fn preflight(parts: &Parts, methods: &'static str) -> Response<Body> {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static(methods);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(wished) = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wished.clone());
    }
    response
}

pub(super) fn share(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READABLE);
}
