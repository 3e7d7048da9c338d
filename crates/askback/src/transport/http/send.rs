//! Requests over HTTP, and what every response is looked at for.

use std::{
    error::Error as _,
    sync::{Arc, Mutex, PoisonError},
};

use askback_core::{
    engine::client::{ClientError, Lost, ServerMessage},
    http::{
        body::BodyBuffer,
        headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID},
        media::{EVENT_STREAM, JSON, Media},
    },
    jsonrpc::RequestId,
    limits::Limits,
    revision::Revision,
};
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE},
};
use tokio::sync::mpsc;

use super::{
    Eras, Tools,
    permission::{Pass, Permission},
};
use crate::transport::{Report, inbox::Inbox};

/// The state that all requests to one server share.
pub(super) struct Way {
    /// The permission to make requests.
    pub(super) permission: Permission,
    pub(super) http: Client,
    pub(super) url: Url,
    /// Those the user wants sent.
    pub(super) headers: HeaderMap,
    pub(super) limits: Limits,
    pub(super) eras: Eras,
    pub(super) tools: Arc<Tools>,
    pub(super) session: Mutex<Session>,
    /// To the engine.
    pub(super) incoming: Inbox<ServerMessage>,
    pub(super) reports: mpsc::Sender<Report>,
}

/// The session from the handshake.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    pub(super) revision: Option<Revision>,
}

impl Way {
    /// Sends a message to a URL of the server.
    pub(super) async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        message: &[u8],
    ) -> Result<Response, Lost> {
        let both = const { HeaderValue::from_static("application/json, text/event-stream") };
        headers.insert(ACCEPT, both);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        self.send(Method::POST, url, headers, Some(message)).await
    }

    /// Opens a stream of events, after the event of this id if there is one.
    pub(super) async fn get(&self, after: Option<&str>) -> Result<Response, Lost> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        // An id that cannot stand in a header cannot be sent back; the stream begins anew.
        if let Some(after) = after.and_then(|after| HeaderValue::from_bytes(after.as_bytes()).ok())
        {
            headers.insert(LAST_EVENT_ID, after);
        }
        self.send(Method::GET, &self.url, headers, None).await
    }

    /// Tells the server that the session is over. It may not care.
    pub(super) async fn delete_session(&self) {
        let headers = self.session_headers();
        if headers.contains_key(SESSION_ID) {
            let deleting = self.send(Method::DELETE, &self.url, headers, None);
            // A server that takes its time is not waited for.
            let _ = tokio::time::timeout(self.limits.client.exit, deleting).await;
        }
    }

    /// Returns the headers of every request on the session.
    pub(super) fn session_headers(&self) -> HeaderMap {
        let Session { id, revision } = self.session().clone();
        let mut headers = HeaderMap::new();
        if let Some(id) = id {
            headers.insert(SESSION_ID, id);
        }
        if let Some(revision) = revision.filter(|it| it.facts().http.version_header) {
            let version = HeaderValue::from_static(revision.as_str());
            headers.insert(PROTOCOL_VERSION, version);
        }
        headers
    }

    /// Begins a session, under the name the response gives it, if any.
    pub(super) fn begin_session(&self, response: &Response) -> Result<(), Lost> {
        let mut id = response.headers().get(SESSION_ID).cloned();
        let visible = |id: &HeaderValue| id.as_bytes().iter().all(u8::is_ascii_graphic);
        if id.as_ref().is_some_and(|id| id.is_empty() || !visible(id)) {
            let why = "the id of its session holds characters it must not";
            return Err(Lost::Failed(ClientError::Protocol(why.to_owned())));
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

    /// Gives a message to the engine.
    pub(super) async fn deliver(&self, message: ServerMessage) {
        let bytes = message.kept_bytes();
        // A client that is gone wants nothing.
        let _ = self.incoming.put(message, bytes).await;
    }

    /// Reads a message.
    pub(super) fn parse(&self, bytes: &[u8]) -> ServerMessage {
        ServerMessage::parse(bytes, &self.limits.wire)
    }

    pub(super) async fn lose(&self, id: RequestId, lost: Lost) {
        // The same.
        let _ = self.reports.send(Report::Lost(id, lost)).await;
    }

    pub(super) async fn note(&self, note: String) {
        let _ = self.reports.send(Report::Note(note)).await;
    }

    /// Sends one request with permission, as often as it takes to have it.
    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<&[u8]>,
    ) -> Result<Response, Lost> {
        let mut trial = self.permission.trial(&method);
        loop {
            let pass = trial.pass().await?;
            let (response, url) = self.send_with(&pass, &method, url, &headers, body).await?;
            if !trial.again(pass, &url, &response).await? {
                return Ok(response);
            }
        }
    }

    /// Sends one request, to where it is redirected as long as that is the same origin; says where
    /// that was.
    async fn send_with(
        &self,
        pass: &Pass,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Option<&[u8]>,
    ) -> Result<(Response, Url), Lost> {
        let mut url = url.clone();
        for _ in 0..=self.limits.http.redirects {
            let mut request = self
                .http
                .request(method.clone(), url.clone())
                .headers(self.headers.clone())
                .headers(headers.clone())
                .headers(self.permission.headers(pass, method, &url)?);
            if let Some(body) = body {
                request = request.body(body.to_vec());
            }
            let response = request.send().await.map_err(unsent)?;
            let held = response.headers().iter();
            let size: usize = held
                .map(|(name, value)| name.as_str().len() + value.len())
                .sum();
            if size > self.limits.http.header_bytes {
                let most = self.limits.http.header_bytes;
                let why = format!("its headers are longer than the {most} bytes accepted here");
                return Err(Lost::Failed(ClientError::Protocol(why)));
            }
            if !response.status().is_redirection() {
                return Ok((response, url));
            }
            url = self.redirected(&url, &response)?;
        }
        let why = format!(
            "it redirects more than {} times",
            self.limits.http.redirects
        );
        Err(Lost::Failed(ClientError::Protocol(why)))
    }

    /// Where a redirection leads that may be followed: to the same origin, with the same request.
    fn redirected(&self, url: &Url, response: &Response) -> Result<Url, Lost> {
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
            Some(target) if target.origin() == url.origin() && keeps_request => return Ok(target),
            Some(target) => format!(
                "it redirects to {}, which is not followed; connect there if that is the server",
                shortened(target)
            ),
            None => "it redirects, but not to a URL".to_owned(),
        };
        Err(Lost::Failed(ClientError::Http {
            status: status.as_u16(),
            why,
        }))
    }
}

/// Returns the media type of a response's body: JSON where the response names none.
pub(super) fn media(response: &Response) -> Option<Media> {
    match response.headers().get(CONTENT_TYPE) {
        Some(kind) => Media::of(kind.as_bytes()),
        None => Some(Media::Json),
    }
}

/// The whole body.
pub(super) async fn read(mut response: Response, limits: &Limits) -> Result<Vec<u8>, Lost> {
    let mut body = BodyBuffer::new(limits.wire.message_bytes);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.push(&chunk).map_err(|too_long| {
                let why = format!("its answer {too_long}");
                Lost::Failed(ClientError::Protocol(why))
            })?,
            Ok(None) => return Ok(body.into_bytes()),
            Err(error) => {
                let why = format!("its answer broke off: {}", told(&error));
                return Err(Lost::Broken(why));
            }
        }
    }
}

/// Returns the error for a response without a message of the protocol. A 401 or 403 here could not
/// be resolved: authorization begins in [`Way::send`] (2026-07-28, basic/authorization).
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
    ClientError::Http {
        status: status.as_u16(),
        why: why.to_owned(),
    }
}

/// An error in words, without the URL: it may hold what is nobody else's business.
pub(super) fn told(error: &reqwest::Error) -> String {
    let mut words = String::new();
    let mut source = error.source();
    while let Some(error) = source {
        if !words.is_empty() {
            words += ": ";
        }
        words += &error.to_string();
        source = error.source();
    }
    if words.is_empty() {
        words = "the connection failed".to_owned();
    }
    words
}

fn unsent(error: reqwest::Error) -> Lost {
    let why = told(&error);
    if error.is_connect() || error.is_builder() {
        Lost::Failed(ClientError::Unreachable(why))
    } else {
        Lost::Broken(why)
    }
}

/// A URL without what may be secret.
fn shortened(mut url: Url) -> String {
    url.set_query(None);
    url.set_fragment(None);
    // URLs that cannot have them have none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
