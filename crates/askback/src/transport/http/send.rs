//! Requests over HTTP, and the checks on every response.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback_core::{
    engine::client::{ClientError, RequestLoss, ServerMessage},
    http::{
        body::{BodyBuffer, BodyTooLong},
        headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID},
        media::{EVENT_STREAM, JSON, Media},
    },
    jsonrpc::RequestId,
    limits::Limits,
    quote::excerpt,
    revision::Revision,
};
use askback_requests::{RequestError, Requests, in_full, next_piece};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
    uri::InvalidUri,
};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::sync::mpsc;
use url::Url;

#[cfg(feature = "oauth-client")]
use super::permission::Permission;
use super::{Tools, era::KnownEra};
use crate::transport::{Report, Tap, WireEvent, inbox::Inbox, tap::shortened};

const AFTER: HeaderName = HeaderName::from_static(LAST_EVENT_ID);

/// How much of an error response's body is read, in bytes.
pub(super) const SHOWN_BODY_BYTES: usize = 1 << 10;

pub(super) struct HttpState {
    #[cfg(feature = "oauth-client")]
    pub(super) permission: Permission,
    pub(super) requests: Requests,
    pub(super) target: Target,
    /// The headers of every request: the user's headers and the user agent.
    pub(super) headers: HeaderMap,
    pub(super) limits: Limits,
    pub(super) era: KnownEra,
    pub(super) tools: Arc<Tools>,
    pub(super) session: Mutex<Session>,
    pub(super) incoming: Inbox<ServerMessage>,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) tap: Tap,
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) url: Url,
    /// The URL in the form that requests carry.
    pub(super) uri: Uri,
}

struct Head<'a> {
    method: Method,
    accept: HeaderValue,
    set: &'a (dyn Fn(&mut HeaderMap) + Sync),
}

pub(super) type Response = http::Response<Incoming>;

impl Target {
    /// # Errors
    ///
    /// [`ClientError::Unreachable`] if requests cannot carry the URL, or if it contains a user name
    /// or a password, which would be exposed in the request line.
    pub(super) fn new(url: Url) -> Result<Self, ClientError> {
        if !url.username().is_empty() || url.password().is_some() {
            let why = "its URL holds a name or a password".to_owned();
            return Err(ClientError::Unreachable(why));
        }
        let uri = url.as_str().parse();
        let uri = uri.map_err(|error: InvalidUri| ClientError::Unreachable(error.to_string()))?;
        Ok(Self { url, uri })
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    pub(super) revision: Option<Revision>,
}

impl HttpState {
    pub(super) async fn post(
        &self,
        target: &Target,
        set: &(dyn Fn(&mut HeaderMap) + Sync),
        message: Bytes,
    ) -> Result<Response, RequestLoss> {
        let head = Head {
            method: Method::POST,
            accept: HeaderValue::from_static("application/json, text/event-stream"),
            set,
        };
        self.send(&head, target, message).await
    }

    /// Opens an event stream, or resumes it after the event with this id.
    pub(super) async fn get(&self, after: Option<&str>) -> Result<Response, RequestLoss> {
        // An id that is not a valid header cannot be sent back; the stream starts over.
        let after = after.and_then(|after| HeaderValue::from_bytes(after.as_bytes()).ok());
        let set = |headers: &mut HeaderMap| {
            self.set_session(headers);
            headers.extend(after.iter().map(|after| (AFTER, after.clone())));
        };
        let head = Head {
            method: Method::GET,
            accept: HeaderValue::from_static(EVENT_STREAM),
            set: &set,
        };
        self.send(&head, &self.target, Bytes::new()).await
    }

    pub(super) async fn delete_session(&self) {
        if self.is_in_session() {
            let head = Head {
                method: Method::DELETE,
                accept: HeaderValue::from_static("*/*"),
                set: &|headers| self.set_session(headers),
            };
            let deleting = self.send(&head, &self.target, Bytes::new());
            // Do not wait for a slow server.
            let _ = tokio::time::timeout(self.limits.client.exit, deleting).await;
        }
    }

    pub(super) fn is_in_session(&self) -> bool {
        self.session().id.is_some()
    }

    pub(super) fn set_session(&self, headers: &mut HeaderMap) {
        let Session { id, revision } = self.session().clone();
        if let Some(id) = id {
            headers.insert(SESSION_ID, id);
        }
        if let Some(revision) = revision.filter(|it| it.facts().http.version_header) {
            let version = HeaderValue::from_static(revision.as_str());
            headers.insert(PROTOCOL_VERSION, version);
        }
    }

    pub(super) fn begin_session(&self, response: &Response) -> Result<(), RequestLoss> {
        let mut id = response.headers().get(SESSION_ID).cloned();
        let visible = |id: &HeaderValue| id.as_bytes().iter().all(u8::is_ascii_graphic);
        if id.as_ref().is_some_and(|id| id.is_empty() || !visible(id)) {
            let why = "the id of its session holds characters it must not";
            return Err(RequestLoss::Failed(ClientError::Protocol(why.to_owned())));
        }
        if let Some(id) = &mut id {
            id.set_sensitive(true);
        }
        *self.session() = Session { id, revision: None };
        Ok(())
    }

    pub(super) fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn deliver(&self, message: ServerMessage) {
        let bytes = message.kept_bytes();
        // The client may be gone.
        let _ = self.incoming.put(message, bytes).await;
    }

    pub(super) fn parse(&self, bytes: &[u8]) -> ServerMessage {
        self.tap.show(WireEvent::Received(bytes));
        ServerMessage::parse(bytes, &self.limits.wire)
    }

    pub(super) async fn lose(&self, id: RequestId, lost: RequestLoss) {
        // The client may be gone.
        let _ = self.reports.send(Report::Lost(id, lost)).await;
    }

    pub(super) async fn note(&self, note: String) {
        let _ = self.reports.send(Report::Note(note)).await;
    }

    #[cfg(not(feature = "oauth-client"))]
    async fn send(
        &self,
        head: &Head<'_>,
        target: &Target,
        body: Bytes,
    ) -> Result<Response, RequestLoss> {
        let sent = self.send_with(&|_| Ok(HeaderMap::new()), head, target, body);
        Ok(sent.await?.0)
    }

    #[cfg(feature = "oauth-client")]
    async fn send(
        &self,
        head: &Head<'_>,
        target: &Target,
        body: Bytes,
    ) -> Result<Response, RequestLoss> {
        let mut trial = self.permission.trial(&head.method);
        loop {
            let pass = trial.pass().await?;
            let permit = |url: &Url| self.permission.headers(&pass, &head.method, url);
            let sent = self.send_with(&permit, head, target, body.clone());
            let (response, target) = sent.await?;
            if !trial.again(pass, &target.url, &response).await? {
                return Ok(response);
            }
        }
    }

    /// Sends one request and follows redirects within the same origin. Returns the final URL.
    async fn send_with<'a>(
        &self,
        permit: &(dyn Fn(&Url) -> Result<HeaderMap, RequestLoss> + Sync),
        head: &Head<'_>,
        target: &'a Target,
        body: Bytes,
    ) -> Result<(Response, Cow<'a, Target>), RequestLoss> {
        let mut target = Cow::Borrowed(target);
        for _ in 0..=self.limits.http.redirects {
            let permitted = permit(&target.url)?;
            let mut request = Request::new(body.clone());
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = target.uri.clone();
            *request.headers_mut() = self.all_headers(head, permitted);
            let url = || shortened(target.url.clone());
            let headers = request.headers();
            let exchange = self.tap.request(&head.method, url, headers, &body);
            let response = self.requests.send(request).await.map_err(unsent)?;
            self.tap
                .response(exchange, response.status(), response.headers());
            let held = response.headers().iter();
            let size: usize = held
                .map(|(name, value)| name.as_str().len() + value.len())
                .sum();
            if size > self.limits.http.header_bytes {
                let most = self.limits.http.header_bytes;
                let why = format!("its headers are longer than the {most} bytes accepted here");
                return Err(RequestLoss::Failed(ClientError::Protocol(why)));
            }
            if !response.status().is_redirection() {
                return Ok((response, target));
            }
            target = Cow::Owned(redirected(&target.url, &response)?);
        }
        let why = format!(
            "it redirects more than {} times",
            self.limits.http.redirects
        );
        Err(RequestLoss::Failed(ClientError::Protocol(why)))
    }

    /// The permission's headers replace the transport's, which replace the user's.
    fn all_headers(&self, head: &Head<'_>, permitted: HeaderMap) -> HeaderMap {
        /// The number of the transport's headers.
        const OWN: usize = 6;
        let most = self.headers.len() + permitted.len() + OWN;
        let mut headers = HeaderMap::with_capacity(most);
        headers.extend(self.headers.clone());
        (head.set)(&mut headers);
        headers.insert(ACCEPT, head.accept.clone());
        if head.method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        headers.extend(permitted);
        headers
    }
}

fn redirected(url: &Url, response: &Response) -> Result<Target, RequestLoss> {
    let status = response.status();
    let location = response.headers().get(LOCATION);
    let target = location
        .and_then(|location| location.to_str().ok())
        .and_then(|location| url.join(location).ok());
    let keeps_request = matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let why = match target {
        Some(target) if target.origin() == url.origin() && keeps_request => {
            return Target::new(target).map_err(RequestLoss::Failed);
        }
        Some(target) => format!(
            "it redirects to {}, which is not followed; connect there if that is the server",
            shortened(target)
        ),
        None => "it redirects, but not to a URL".to_owned(),
    };
    Err(RequestLoss::Failed(ClientError::Http {
        status: status.as_u16(),
        why,
    }))
}

pub(super) fn media(response: &Response) -> Option<Media> {
    match response.headers().get(CONTENT_TYPE) {
        Some(kind) => Media::of(kind.as_bytes()),
        None => Some(Media::Json),
    }
}

/// How long to wait before a retry, if the server has not begun the request and says so.
pub(super) fn pause_before_retry(response: &Response) -> Option<Duration> {
    let after = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = after.parse().ok()?;
    (response.status() == StatusCode::SERVICE_UNAVAILABLE).then(|| Duration::from_secs(seconds))
}

/// A body in one piece is not copied.
pub(super) async fn read(response: Response, limits: &Limits) -> Result<Bytes, RequestLoss> {
    let mut body = response.into_body();
    let mut gathered = BodyBuffer::new(limits.wire.message_bytes);
    let broken_off = |error: hyper::Error| {
        RequestLoss::Broken(format!("its answer broke off: {}", in_full(&error)))
    };
    while let Some(piece) = next_piece(&mut body).await.map_err(broken_off)? {
        if gathered.is_empty() && body.is_end_stream() && piece.len() <= limits.wire.message_bytes {
            return Ok(piece);
        }
        gathered.push(&piece).map_err(too_long)?;
    }
    Ok(gathered.into_bytes().into())
}

fn too_long(too_long: BodyTooLong) -> RequestLoss {
    RequestLoss::Failed(ClientError::TooLarge(too_long.0))
}

/// Returns the error for a response without a protocol message. A 401 or 403 that arrives here
/// could not be resolved: [`HttpState::send`] handles authorization (2026-07-28,
/// basic/authorization).
pub(super) fn refusal(response: &Response, why: Option<&str>) -> ClientError {
    let status = response.status();
    let challenges: Vec<String> = response
        .headers()
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .map(|challenge| String::from_utf8_lossy(challenge.as_bytes()).into_owned())
        .collect();
    let about_authorization = status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN;
    if about_authorization && (status == StatusCode::UNAUTHORIZED || !challenges.is_empty()) {
        return ClientError::Unauthorized {
            status: status.as_u16(),
            challenges,
        };
    }
    let why = why.or(status.canonical_reason()).unwrap_or("unknown");
    let retry_after = response.headers().get(RETRY_AFTER);
    let retry_after = retry_after.map(|value| String::from_utf8_lossy(value.as_bytes()));
    ClientError::Http {
        status: status.as_u16(),
        why: match retry_after {
            Some(after) => format!("{why} (Retry-After: {})", excerpt(&after)),
            None => why.to_owned(),
        },
    }
}

/// Returns the same error with the beginning of the body, in which a server or gateway explains the
/// refusal.
pub(super) async fn refusal_in_full(
    response: Response,
    why: Option<&str>,
    limits: &Limits,
) -> ClientError {
    let error = refusal(&response, why);
    if !matches!(error, ClientError::Http { .. }) {
        return error;
    }
    let kind = response.headers().get(CONTENT_TYPE);
    if kind.is_some_and(|kind| {
        kind.as_bytes()
            .to_ascii_lowercase()
            .starts_with(b"text/html")
    }) {
        return saying(error, "an HTML page");
    }
    let mut body = response.into_body();
    let mut beginning = Vec::new();
    let reading = async {
        while beginning.len() < SHOWN_BODY_BYTES
            && let Ok(Some(piece)) = next_piece(&mut body).await
        {
            let room = SHOWN_BODY_BYTES - beginning.len();
            beginning.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    };
    // Do not wait for a slow body: the status is known.
    let _ = tokio::time::timeout(limits.http.connect, reading).await;
    saying(error, &excerpt(String::from_utf8_lossy(&beginning).trim()))
}

pub(super) fn saying(mut error: ClientError, said: &str) -> ClientError {
    if let ClientError::Http { why, .. } = &mut error
        && !said.is_empty()
    {
        *why = format!("{why}: {said}");
    }
    error
}

fn unsent(why: RequestError) -> RequestLoss {
    match why {
        RequestError::Unreachable(why) => RequestLoss::Failed(ClientError::Unreachable(why)),
        why => RequestLoss::Broken(why.to_string()),
    }
}
