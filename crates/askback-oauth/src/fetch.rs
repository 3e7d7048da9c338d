//! Fetches URLs that other parties chose. No other module does.
//!
//! Addresses are checked when a connection is opened, because a name may resolve to another address
//! a moment later. Only document requests follow redirects, and each target is checked like the
//! first URL. Error messages are short, because the party that chose the URL may see them.

use std::{fmt::Display, io, time::Duration};

use askback_core::{auth::AuthorizationError, http::body::BodyBuffer, json, limits::Limits};
use askback_requests::{NAME, Names, RequestError, Requests, Route, in_full, next_piece};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER, USER_AGENT},
};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::reach::Reach;

const REDIRECTIONS: usize = 3;

/// Fetches URLs that other parties chose, if the [`Reach`] allows them, within [`Limits`]:
/// `document_bytes` for a response, `document_fetch` for a whole exchange, and `connect`.
///
/// ```
/// use askback_core::limits::Limits;
/// use askback_oauth::{Fetcher, Reach, Route};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &Limits::default())?;
/// assert!(fetcher.url("https://auth.example.com/keys").is_some());
/// // This machine and private networks are out of reach, in whatever way they are written.
/// assert!(fetcher.url("https://127.0.0.1/").is_none());
/// assert!(fetcher.url("https://0x7f.1/").is_none());
/// assert!(fetcher.url("http://auth.example.com/keys").is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Fetcher {
    requests: Requests,
    reach: Reach,
    most: usize,
    patience: Duration,
    /// The answers of a unit test, in place of the network's.
    #[cfg(test)]
    pub(crate) script: Option<std::sync::Arc<std::sync::Mutex<Script>>>,
}

#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) answers: std::collections::VecDeque<(u16, Value)>,
    pub(crate) asked: Vec<String>,
}

/// Which redirects of a document are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirects {
    /// No redirects.
    None,
    /// Redirects to the same origin, because a document's location says whose document it is.
    SameOrigin,
    /// All redirects that the [`Reach`] allows.
    Any,
}

/// A response with any status.
#[derive(Clone)]
#[non_exhaustive]
pub struct FetchedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
    /// The value of `Retry-After`, if it is in seconds (RFC 9110, 10.2.3). At most one day.
    pub retry_after: Option<Duration>,
    pub(super) nonce: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Option<Value>,
    pub(crate) retry_after: Option<Duration>,
}

/// Why a fetch failed. The messages reveal no details to the party that chose the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The connection failed, or the response was cut off.
    #[error("it cannot be reached")]
    Unreachable {
        /// The details, for the operator's log.
        detail: String,
    },
    /// The response is a redirect that is not followed.
    #[error("it redirects, which is not followed")]
    Redirected,
    /// The response is larger than the limit.
    #[error("it is too large")]
    TooLarge,
    /// The response did not arrive in time.
    #[error("it takes too long")]
    TooSlow,
}

impl Fetcher {
    /// Creates a fetcher for the URLs that `reach` allows.
    ///
    /// # Errors
    ///
    /// If the HTTP client cannot be set up on this machine, or if the proxy of the route is
    /// unusable.
    pub fn new(reach: Reach, route: &Route, limits: &Limits) -> io::Result<Self> {
        Self::with_names(Names::system(), reach, route, limits)
    }

    fn with_names(names: Names, reach: Reach, route: &Route, limits: &Limits) -> io::Result<Self> {
        Ok(Self {
            requests: Requests::new(route, guarded(names, reach), &limits.http)?,
            reach,
            most: limits.sign_in.document_bytes,
            patience: limits.sign_in.document_fetch,
            #[cfg(test)]
            script: None,
        })
    }

    /// Returns the reach.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Parses a URL that may be fetched. Returns `None` for a URL that a parser would have to
    /// repair, because other programs may read it differently.
    #[must_use]
    pub fn url(&self, raw: &str) -> Option<Url> {
        self.reach.url(raw)
    }

    /// Fetches a document.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. A response with an error status is not an error.
    pub async fn get(&self, url: &Url, redirects: Redirects) -> Result<FetchedAnswer, FetchError> {
        #[cfg(test)]
        if let Some(answer) = self.scripted(url) {
            return Ok(answer);
        }
        let fetching = async {
            let mut url = url.clone();
            for _ in 0..=REDIRECTIONS {
                let headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
                let request = self.request_to(Method::GET, &url, headers, Bytes::new())?;
                let response = self.requests.send(request).await.map_err(unreachable)?;
                if !response.status().is_redirection() {
                    return self.read(response).await;
                }
                let target = self.redirected(&url, &response)?;
                let is_followed = match redirects {
                    Redirects::None => false,
                    Redirects::SameOrigin => target.origin() == url.origin(),
                    Redirects::Any => true,
                };
                if !is_followed {
                    return Err(FetchError::Redirected);
                }
                url = target;
            }
            Err(FetchError::Redirected)
        };
        self.in_time(fetching).await
    }

    /// Posts JSON. Follows no redirects.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. A response with an error status is not an error.
    pub async fn post(&self, url: &Url, body: &Value) -> Result<FetchedAnswer, FetchError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
        self.post_once(url, headers, body.to_string().into()).await
    }

    /// Posts an encoded form with these headers. Follows no redirects.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. A response with an error status is not an error.
    pub async fn post_form(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        form: Vec<u8>,
    ) -> Result<FetchedAnswer, FetchError> {
        const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, FORM);
        self.post_once(url, headers, form.into()).await
    }

    /// Sends any request, such as one with a token. Follows no redirects, because its headers are meant for this server
    /// only. Accepts JSON unless the headers say otherwise.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. A response with an error status is not an error.
    pub async fn request(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<FetchedAnswer, FetchError> {
        headers.entry(ACCEPT).or_insert(JSON);
        let request = self.request_to(method, url, headers, body.into())?;
        let sending = async { self.read_here(self.requests.send(request).await).await };
        self.in_time(sending).await
    }

    /// Sends a request that uses up a code, a refresh token or a registration, so it is not sent
    /// again.
    async fn post_once(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<FetchedAnswer, FetchError> {
        #[cfg(test)]
        if let Some(answer) = self.scripted(url) {
            return Ok(answer);
        }
        headers.insert(ACCEPT, JSON);
        let request = self.request_to(Method::POST, url, headers, body)?;
        let posting = async {
            self.read_here(self.requests.send_alone(request).await)
                .await
        };
        self.in_time(posting).await
    }

    async fn read_here(
        &self,
        response: Result<Response<Incoming>, RequestError>,
    ) -> Result<FetchedAnswer, FetchError> {
        let response = response.map_err(unreachable)?;
        // The request is meant for this server only.
        if response.status().is_redirection() {
            return Err(FetchError::Redirected);
        }
        self.read(response).await
    }

    #[cfg(test)]
    fn scripted(&self, url: &Url) -> Option<FetchedAnswer> {
        let mut script = self.script.as_ref()?.lock().expect("a script");
        script.asked.push(url.to_string());
        let (status, json) = script.answers.pop_front().expect("an answer");
        let body = match json {
            Value::Null => Vec::new(),
            json => json.to_string().into_bytes(),
        };
        Some(FetchedAnswer {
            status,
            body,
            retry_after: None,
            nonce: None,
        })
    }

    fn request_to(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Bytes>, FetchError> {
        let uri = self.target(url).ok_or_else(|| FetchError::Unreachable {
            detail: "the URL is not allowed".to_owned(),
        })?;
        headers.extend(self.requests.proxy_headers(&uri));
        headers.entry(USER_AGENT).or_insert(NAME);
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Returns the request target of a URL that may be fetched. Rejects a user name and password,
    /// which would be sent to the server.
    fn target(&self, url: &Url) -> Option<Uri> {
        let is_open = url.username().is_empty() && url.password().is_none();
        let may_be = is_open && self.reach.allows(url);
        may_be.then(|| url.as_str().parse().ok()).flatten()
    }

    fn redirected(&self, url: &Url, response: &Response<Incoming>) -> Result<Url, FetchError> {
        let keeps = !matches!(response.status(), StatusCode::NOT_MODIFIED);
        let location = response.headers().get(LOCATION).filter(|_| keeps);
        let location = location.and_then(|location| location.to_str().ok());
        let target = location.and_then(|location| url.join(location).ok());
        // A path alone stays on the same origin. Any other target is read as strictly as the first
        // URL.
        let is_sound =
            |target: &Url| self.reach.url(target.as_str()).is_some() && self.reach.allows(target);
        target.filter(is_sound).ok_or(FetchError::Redirected)
    }

    async fn read(&self, mut response: Response<Incoming>) -> Result<FetchedAnswer, FetchError> {
        let status = response.status().as_u16();
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let nonce = header("dpop-nonce");
        let retry_after = header(RETRY_AFTER.as_str()).and_then(|value| pause(&value));
        let mut body = BodyBuffer::new(self.most);
        let broken = |error: hyper::Error| FetchError::Unreachable {
            detail: in_full(&error),
        };
        while let Some(piece) = next_piece(response.body_mut()).await.map_err(broken)? {
            body.push(&piece).map_err(|_| FetchError::TooLarge)?;
        }
        Ok(FetchedAnswer {
            status,
            body: body.into_bytes(),
            retry_after,
            nonce,
        })
    }

    async fn in_time<T>(
        &self,
        fetching: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let fetched = tokio::time::timeout(self.patience, fetching).await;
        fetched.unwrap_or(Err(FetchError::TooSlow))
    }
}

impl FetchedAnswer {
    /// Parses the body as JSON, whatever its content type: some issuers send documents as
    /// `text/plain`.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        json::parse(&self.body).ok()
    }
}

impl From<FetchedAnswer> for Answer {
    fn from(fetched: FetchedAnswer) -> Self {
        Self {
            status: fetched.status,
            json: fetched.json(),
            retry_after: fetched.retry_after,
        }
    }
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A text in the JSON, such as `error`, unless it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.json.as_ref()?.get(name)?.as_str()?;
        Some(text).filter(|text| !text.is_empty())
    }
}

impl FetchError {
    /// Returns the details, for the operator's log.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::Unreachable { detail } => format!("{self}: {detail}"),
            Self::Redirected | Self::TooLarge | Self::TooSlow => self.to_string(),
        }
    }
}

// Omits the bodies, which may hold tokens.
askback_core::debug_only! {
    FetchedAnswer { status }
    Answer { status }
}

pub(crate) fn fetch_failed<E: Display>(what: &'static str) -> impl FnOnce(E) -> AuthorizationError {
    move |why| AuthorizationError::Fetch {
        what,
        why: why.to_string(),
    }
}

/// Parses a document. Returns `None` if the server has none; a server error is not read as a
/// missing document.
fn document<T: DeserializeOwned>(
    what: &'static str,
    answer: Result<Answer, FetchError>,
) -> Result<Option<T>, AuthorizationError> {
    let answer = answer.map_err(fetch_failed(what))?;
    match (answer.status, answer.json) {
        (200..=299, Some(json)) => {
            let read = json::document(json);
            let unreadable = |why| AuthorizationError::Document { what, why };
            read.map(Some).map_err(unreadable)
        }
        // A server that returns HTML for every URL has no document.
        (200..=299, None) | (400..=499, _) => Ok(None),
        (status, _) => Err(fetch_failed(what)(format!(
            "it answers with status {status}"
        ))),
    }
}

/// Returns the first of these documents that exists, and its place. `url` checks each place.
pub(crate) async fn first_document<T: DeserializeOwned>(
    fetcher: &Fetcher,
    what: &'static str,
    places: Vec<String>,
    redirects: Redirects,
    url: impl Fn(&str) -> Result<Url, AuthorizationError>,
) -> Result<Option<(T, String)>, AuthorizationError> {
    for place in places {
        let fetched = fetcher.get(&url(&place)?, redirects).await;
        if let Some(found) = document(what, fetched.map(Answer::from))? {
            return Ok(Some((found, place)));
        }
    }
    Ok(None)
}

pub(crate) fn no_document(what: &'static str) -> AuthorizationError {
    fetch_failed(what)("no JSON document is at any of the well-known places")
}

fn unreachable(error: RequestError) -> FetchError {
    let detail = error.to_string();
    tracing::debug!(error = detail, "a request for authorization failed");
    FetchError::Unreachable { detail }
}

/// Checks the addresses of a name each time a connection is opened.
fn guarded(names: Names, reach: Reach) -> Names {
    names.only(move |address| reach.address(address))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The maximum for `Retry-After`. Without it, a server could stop its clients forever.
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

/// Parses `Retry-After` in seconds. Ignores dates, because the server's clock may differ.
fn pause(value: &str) -> Option<Duration> {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = is_number.then(|| value.parse().unwrap_or(u64::MAX));
    seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use std::{
        net::SocketAddr,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use askback_core::limits::Limits;
    use askback_requests::{Names, Route};
    use http::HeaderMap;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use url::Url;

    use super::{FetchError, FetchedAnswer, Fetcher, Reach, Redirects, guarded};

    fn reach(server: &str) -> Reach {
        Reach::of(&Url::parse(server).expect("a URL"), false)
    }

    /// Resolves a name to these addresses in turn, and counts the lookups in `times`.
    fn leading_to(addresses: &'static [&'static str], times: &Arc<AtomicUsize>) -> Names {
        let times = Arc::clone(times);
        Names::found_by(move |_| {
            let time = times.fetch_add(1, Ordering::Relaxed);
            let address = addresses[time.min(addresses.len() - 1)];
            let address = address.parse().expect("an address");
            Box::pin(async move { Ok(vec![SocketAddr::new(address, 0)]) })
        })
    }

    // Shows BP-25, BP-30, BP-32.
    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_followed() {
        let resolve = |names: &Names| names.resolve("a.example.com");
        let guarded = |server: &str, addresses| {
            guarded(leading_to(addresses, &Arc::default()), reach(server))
        };
        let outside = "https://mcp.example.com/";
        let inside: [&[&str]; 7] = [
            &["127.0.0.1"],
            &["10.0.0.1"],
            &["::1"],
            &["fc00::1"],
            &["fd00:ec2::254"],
            &["fe80::1"],
            &["::ffff:10.0.0.1"],
        ];
        for addresses in inside {
            let resolved = resolve(&guarded(outside, addresses)).await;
            assert!(resolved.is_err(), "{addresses:?}");
        }
        let own = guarded("http://localhost/", &["127.0.0.1"]);
        let found = resolve(&own).await.expect("the own machine");
        assert!(!found.is_empty());

        // A name that resolved to a public address is checked again.
        let moving = guarded(outside, &["93.184.216.34", "127.0.0.1", "10.0.0.1"]);
        let found = resolve(&moving).await.expect("it is outside");
        assert_eq!(found.len(), 1);
        assert!(resolve(&moving).await.is_err());
        assert!(resolve(&moving).await.is_err());
    }

    // Shows BP-25, BP-30.
    #[tokio::test]
    async fn what_is_inside_hears_nothing_of_servers_outside() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let outside = reach("https://mcp.example.com/");
        let times = Arc::new(AtomicUsize::new(0));
        let fetcher = Fetcher::with_names(
            leading_to(&["127.0.0.1"], &times),
            outside,
            &Route::Direct,
            &Limits::default(),
        );
        let fetcher = fetcher.expect("a client");
        let connected = async {
            listener.accept().await.expect("a connection");
        };
        let fetching = async {
            for host in [
                "127.0.0.1",
                "localhost",
                "localhost.",
                "[::1]",
                "0x7f.1",
                "2130706433",
                // The URL looks harmless, but its addresses are not.
                "auth.example.com",
            ] {
                for scheme in ["http", "https"] {
                    let url = Url::parse(&format!("{scheme}://{host}:{port}/")).expect("a URL");
                    let is_unreachable = |fetched: Result<FetchedAnswer, FetchError>| {
                        matches!(fetched, Err(FetchError::Unreachable { .. }))
                    };
                    let got = fetcher.get(&url, Redirects::Any).await;
                    assert!(is_unreachable(got), "{url}");
                    let posted = fetcher.post(&url, &serde_json::Value::Null).await;
                    assert!(is_unreachable(posted), "{url}");
                }
            }
        };
        tokio::select! {
            () = connected => panic!("somebody connected"),
            () = fetching => {}
        }
        // Both requests resolved the name through the guard.
        assert_eq!(times.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_request_that_must_not_be_repeated_uses_a_new_connection() {
        const ANSWER: &[u8] =
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // A server that closes each connection at its second request.
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut read = [0; 4096];
                    let first = stream.read(&mut read).await?;
                    stream.write_all(ANSWER).await?;
                    let second = stream.read(&mut read).await?;
                    std::io::Result::Ok(first + second)
                });
            }
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/token")).expect("a URL");
        let fetcher = Fetcher::new(reach(url.as_str()), &Route::Direct, &Limits::default());
        let fetcher = fetcher.expect("a client");
        let read = fetcher.get(&url, Redirects::None).await;
        read.expect("a document");
        let posted = fetcher.post_form(&url, HeaderMap::new(), b"code=c".to_vec());
        posted.await.expect("a token");
        let posted = fetcher.post(&url, &serde_json::Value::Null);
        posted.await.expect("a registration");
    }
}
