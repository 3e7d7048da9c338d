//! What is fetched from an authorization server: keys, documents, and what it says of a token.
//!
//! The URLs come from whoever runs the server, or from the document of the issuer they named. A
//! redirection is not followed, and nothing is read without end.

use std::time::Duration;

use askback_core::{
    address::is_loopback_host,
    http::body::{BodyBuffer, BodyTooLong},
};
use reqwest::{
    Client, Method, Request, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect::Policy,
};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a whole request may take.
const TOTAL: Duration = Duration::from_secs(10);

/// The longest response that is read, in bytes.
const BYTES: usize = 256 << 10;

/// A URL that this server does not use; whoever configured it is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be used: write an https:// URL as browsers show it, with no user name and no \
     fragment; http:// is for this machine alone"
)]
pub struct BadUrl(pub(super) String);

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfetched {
    #[error("{}", chain(.0))]
    Failed(#[from] reqwest::Error),
    #[error("it answered with status {0}")]
    Status(StatusCode),
    #[error("its answer {0}")]
    TooLong(#[from] BodyTooLong),
}

/// Fetches within limits.
#[derive(Debug, Clone)]
pub(super) struct Fetcher(Client);

impl Fetcher {
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .build()?;
        Ok(Self(client))
    }

    pub(super) async fn get(&self, url: &Url) -> Result<Vec<u8>, Unfetched> {
        self.send(Request::new(Method::GET, url.clone())).await
    }

    /// Posts a form, as the client these credentials belong to.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        credentials: HeaderValue,
        form: String,
    ) -> Result<Vec<u8>, Unfetched> {
        let mut request = Request::new(Method::POST, url.clone());
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        request.headers_mut().insert(AUTHORIZATION, credentials);
        *request.body_mut() = Some(form.into());
        self.send(request).await
    }

    async fn send(&self, mut request: Request) -> Result<Vec<u8>, Unfetched> {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        let mut response = self.0.execute(request).await?;
        if response.status() != StatusCode::OK {
            return Err(Unfetched::Status(response.status()));
        }
        let mut body = BodyBuffer::new(BYTES);
        while let Some(chunk) = response.chunk().await? {
            body.push(&chunk)?;
        }
        Ok(body.into_bytes())
    }
}

/// Reads a URL that may be used. It is refused, and not repaired, where it is written otherwise
/// than a browser would write it.
pub(super) fn usable(text: &str) -> Result<Url, BadUrl> {
    let bad = || BadUrl(text.to_owned());
    let url = Url::parse(text).map_err(|_| bad())?;
    let as_written =
        url.as_str() == text || url.path() == "/" && url.as_str().strip_suffix('/') == Some(text);
    let safe = match url.scheme() {
        "https" => true,
        "http" => url.host_str().is_some_and(is_loopback_host),
        _ => false,
    };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    if as_written && safe && plain {
        Ok(url)
    } else {
        Err(bad())
    }
}

/// An error with what led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
