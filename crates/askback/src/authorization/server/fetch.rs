//! Requests to an authorization server, for keys, metadata and introspection.
//!
//! The URLs come from the operator, or from the metadata of the issuer they configured, so they can point anywhere.
//! Redirects are not followed.

use std::io;

use askback_core::limits::Limits;
use askback_oauth::{FetchError, FetchedAnswer, Fetcher, Reach, Redirects, Route};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use url::Url;

/// A URL that this server does not use, because the operator has to correct it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be used: write an https:// URL as browsers show it, with no user name and no \
     fragment; http:// is for this machine alone"
)]
pub struct UnusableUrl(pub(super) String);

#[derive(Debug, thiserror::Error)]
pub(super) enum FetchFailure {
    #[error("{}", .0.in_full())]
    Failed(#[from] FetchError),
    #[error("it answered with status {0}")]
    Status(u16),
}

pub(super) fn fetcher() -> io::Result<Fetcher> {
    Fetcher::new(Reach::anywhere(), &Route::Environment, &Limits::default())
}

pub(super) async fn get(fetcher: &Fetcher, url: &Url) -> Result<Vec<u8>, FetchFailure> {
    body(fetcher.get(url, Redirects::None).await?)
}

pub(super) async fn post_form(
    fetcher: &Fetcher,
    url: &Url,
    credentials: HeaderValue,
    form: String,
) -> Result<Vec<u8>, FetchFailure> {
    let headers = HeaderMap::from_iter([(AUTHORIZATION, credentials)]);
    body(fetcher.post_form(url, headers, form.into_bytes()).await?)
}

fn body(fetched: FetchedAnswer) -> Result<Vec<u8>, FetchFailure> {
    match fetched.status {
        200 => Ok(fetched.body),
        status => Err(FetchFailure::Status(status)),
    }
}

/// Parses a URL for requests. It is rejected, not repaired, if a browser would write it differently.
pub(super) fn usable(text: &str) -> Result<Url, UnusableUrl> {
    let is_as_shown = |url: &Url| {
        url.as_str() == text || url.path() == "/" && url.as_str().strip_suffix('/') == Some(text)
    };
    let url = Reach::anywhere().url(text).filter(is_as_shown);
    url.ok_or_else(|| UnusableUrl(text.to_owned()))
}
