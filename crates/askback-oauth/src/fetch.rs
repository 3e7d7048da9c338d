//! The one place where anything is fetched on the word of others.
//!
//! Addresses are checked when a connection is opened, not before: a name may lead elsewhere a
//! moment later. Redirections are followed for documents alone, each checked like the first URL.
//! What went wrong is said in few words, since they may be seen by whoever chose the URL.

use std::{fmt, io, time::Duration};

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

/// How often a document may redirect.
const REDIRECTIONS: usize = 3;

/// Fetches what others name, from where a [`Reach`] lets it, within the bounds of [`Limits`]:
/// `document_bytes` for an answer, `document_fetch` for a whole exchange, and `connect`.
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
}

/// Which redirections of a document are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirects {
    /// None.
    None,
    /// Those to the same origin: where the document stands says whose it is.
    SameOrigin,
    /// All to where the [`Reach`] lets it.
    Any,
}

/// An answer, whatever its status.
#[derive(Clone)]
#[non_exhaustive]
pub struct FetchedAnswer {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
    /// How long the server wants to be left alone, where it says so in seconds (RFC 9110, 10.2.3); a day at most.
    pub retry_after: Option<Duration>,
    pub(super) nonce: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Its body, where it is JSON.
    pub(crate) json: Option<Value>,
    pub(crate) retry_after: Option<Duration>,
}

/// Why there is no answer, in words that give nothing away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Nobody was reached, or the answer broke off.
    #[error("it cannot be reached")]
    Unreachable {
        /// The details, for the operator's log.
        detail: String,
    },
    /// It redirects to where it is not followed.
    #[error("it redirects, which is not followed")]
    Redirected,
    /// The answer is longer than the bound.
    #[error("it is too large")]
    TooLarge,
    /// The answer did not come in time.
    #[error("it takes too long")]
    TooSlow,
}

impl Fetcher {
    /// Fetches from where `reach` lets it.
    ///
    /// # Errors
    ///
    /// Fails where HTTP cannot be spoken on this machine, and where the proxy of the route cannot be used.
    pub fn new(reach: Reach, route: &Route, limits: &Limits) -> io::Result<Self> {
        Self::with_names(Names::system(), reach, route, limits)
    }

    fn with_names(names: Names, reach: Reach, route: &Route, limits: &Limits) -> io::Result<Self> {
        Ok(Self {
            requests: Requests::new(route, guarded(names, reach), &limits.http)?,
            reach,
            most: limits.sign_in.document_bytes,
            patience: limits.sign_in.document_fetch,
        })
    }

    /// Returns where it may fetch from.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Reads a URL that may be fetched from. It is taken as it stands or not at all: one that a
    /// parser has to mend means different things to different programs.
    #[must_use]
    pub fn url(&self, raw: &str) -> Option<Url> {
        self.reach.url(raw)
    }

    /// Fetches a document.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; an answer with the status of an error is an answer.
    pub async fn get(&self, url: &Url, redirects: Redirects) -> Result<FetchedAnswer, FetchError> {
        let fetching = async {
            let mut url = url.clone();
            for _ in 0..=REDIRECTIONS {
                let headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
                let response = self.send(Method::GET, &url, headers, Bytes::new()).await?;
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

    /// Fetches with these headers, such as a token. No redirection is followed: they are meant for
    /// nobody else. JSON is asked for, unless they ask for something else.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; an answer with the status of an error is an answer.
    pub async fn get_with(
        &self,
        url: &Url,
        mut headers: HeaderMap,
    ) -> Result<FetchedAnswer, FetchError> {
        headers.entry(ACCEPT).or_insert(JSON);
        self.in_time(self.once(Method::GET, url, headers, Bytes::new()))
            .await
    }

    /// Posts JSON. No redirection is followed.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; an answer with the status of an error is an answer.
    pub async fn post(&self, url: &Url, body: &Value) -> Result<FetchedAnswer, FetchError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        self.in_time(self.send_body(url, headers, body.to_string().into()))
            .await
    }

    /// Posts a form that is encoded already, with these headers. No redirection is followed.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; an answer with the status of an error is an answer.
    pub async fn post_form(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        form: Vec<u8>,
    ) -> Result<FetchedAnswer, FetchError> {
        const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, FORM);
        self.in_time(self.send_body(url, headers, form.into()))
            .await
    }

    /// Sends a request of any kind. No redirection is followed. JSON is asked for, unless the
    /// headers ask for something else.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; an answer with the status of an error is an answer.
    pub async fn request(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<FetchedAnswer, FetchError> {
        headers.entry(ACCEPT).or_insert(JSON);
        self.in_time(self.once(method, url, headers, body.into()))
            .await
    }

    async fn send_body(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<FetchedAnswer, FetchError> {
        headers.insert(ACCEPT, JSON);
        // A code, a refresh token and a registration are spent with the first request that is read.
        let request = self.request_to(Method::POST, url, headers, body)?;
        let response = self.requests.send_alone(request).await;
        self.read_here(response.map_err(unreachable)?).await
    }

    async fn once(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<FetchedAnswer, FetchError> {
        let response = self.send(method, url, headers, body).await?;
        self.read_here(response).await
    }

    /// Reads an answer that is none from elsewhere.
    async fn read_here(&self, response: Response<Incoming>) -> Result<FetchedAnswer, FetchError> {
        // What is sent here is meant for nobody else.
        if response.status().is_redirection() {
            return Err(FetchError::Redirected);
        }
        self.read(response).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, FetchError> {
        let request = self.request_to(method, url, headers, body)?;
        self.requests.send(request).await.map_err(unreachable)
    }

    fn request_to(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Bytes>, FetchError> {
        let uri = self.target(url).ok_or_else(|| FetchError::Unreachable {
            detail: "the URL is none that may be fetched from".to_owned(),
        })?;
        headers.extend(self.requests.proxy_headers(&uri));
        headers.entry(USER_AGENT).or_insert(NAME);
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// A URL as it stands in a request, if it may be fetched from. A name and a password in it would be sent to
    /// whoever reads the request.
    fn target(&self, url: &Url) -> Option<Uri> {
        let is_open = url.username().is_empty() && url.password().is_none();
        let may_be = is_open && self.reach.allows(url);
        may_be.then(|| url.as_str().parse().ok()).flatten()
    }

    /// Where a document went, if it may be fetched from there.
    fn redirected(&self, url: &Url, response: &Response<Incoming>) -> Result<Url, FetchError> {
        let keeps = !matches!(response.status(), StatusCode::NOT_MODIFIED);
        let location = response.headers().get(LOCATION).filter(|_| keeps);
        let location = location.and_then(|location| location.to_str().ok());
        let target = location.and_then(|location| url.join(location).ok());
        // A path alone is within the same origin; anything else is read as strictly as the first.
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
    /// The body, if it is JSON, whatever its content type: issuers send documents as `text/plain`, too.
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

impl fmt::Debug for FetchedAnswer {
    /// Without the body, which may hold tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchedAnswer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Answer {
    /// Without the body, which may hold tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Reads a document; `None` where there is none. A server that is out of order is not taken for one
/// without a document.
pub(crate) fn document<T: DeserializeOwned>(
    what: &'static str,
    answer: Result<Answer, FetchError>,
) -> Result<Option<T>, AuthorizationError> {
    let failed = |why: String| AuthorizationError::Fetch { what, why };
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    match (answer.status, answer.json) {
        (200..=299, Some(json)) => {
            let read = json::document(json);
            let unreadable = |why| AuthorizationError::Document { what, why };
            read.map(Some).map_err(unreadable)
        }
        // A page for every URL is no document.
        (200..=299, None) | (400..=499, _) => Ok(None),
        (status, _) => Err(failed(format!("it answers with status {status}"))),
    }
}

fn unreachable(error: RequestError) -> FetchError {
    let detail = error.to_string();
    tracing::debug!(error = detail, "a request for authorization failed");
    FetchError::Unreachable { detail }
}

/// Names whose addresses are looked at whenever a connection is opened.
fn guarded(names: Names, reach: Reach) -> Names {
    names.only(move |address| reach.address(address))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The longest pause that a server is granted. It could have its clients stay away for ever.
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

/// Reads how long a server wants to be left alone. A date is not read: it is by a clock that may be another one.
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

    /// Names lead to these addresses, the first time to the first.
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

        // A name that led outside a moment ago is looked at again.
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
                // Nothing in the URL tells; only the addresses do.
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
        // The name was looked up through the guard, and nowhere else: for either request.
        assert_eq!(times.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_is_sent_once_is_sent_on_no_connection_that_was_kept() {
        const ANSWER: &[u8] =
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // A server that ends each connection when a second request comes.
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
