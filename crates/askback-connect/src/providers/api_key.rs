use askback_oauth::{Fetcher, Secret};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header::AUTHORIZATION};
use url::Url;

use super::error::ConnectError;
use super::headers::{bearer, operators, secret};

/// The maximum length of a key, in bytes. It must fit into a header.
const MOST: usize = 4 << 10;

/// How a user connects a third party by an API key: what the page says, and how a key is checked.
#[derive(Debug, Clone, Default)]
pub struct ApiKey {
    hint: Option<String>,
    page: Option<Url>,
    check: Option<Check>,
}

#[derive(Debug, Clone)]
struct Check {
    url: Url,
    header: HeaderName,
    prefix: String,
}

impl ApiKey {
    /// Accepts keys without a check.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hint for the user, such as "A key with read access to invoices".
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the page where the user creates a key.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] if the URL is not allowed.
    pub fn page(mut self, url: &str) -> Result<Self, ConnectError> {
        self.page = Some(operators("the URL where a key is made", url)?);
        Ok(self)
    }

    /// Sets a URL that answers a GET with 2xx if the key is valid. The key is sent in this header after the prefix,
    /// such as `Authorization` and `Bearer `. The same header is used to read the account's name, and for requests of a
    /// [`Connection`](crate::Connection).
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] if the URL or the header is not allowed.
    pub fn check(
        mut self,
        url: &str,
        header: &str,
        prefix: impl Into<String>,
    ) -> Result<Self, ConnectError> {
        let header = header.parse().map_err(|_| ConnectError::Setting {
            what: "the header of a key",
            why: "it is not the name of a header, such as `authorization`".to_owned(),
        })?;
        self.check = Some(Check {
            url: operators("the URL where a key is checked", url)?,
            header,
            prefix: prefix.into(),
        });
        Ok(self)
    }

    /// Returns the hint for the user.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the page where the user creates a key.
    #[must_use]
    pub fn page_url(&self) -> Option<&Url> {
        self.page.as_ref()
    }

    /// Returns the headers with the key: a bearer token if no header is set. Returns `None` if the key cannot be sent.
    pub(super) fn headers(&self, key: &Secret) -> Option<HeaderMap> {
        let header = match &self.check {
            Some(check) => (check.header.clone(), check.value(key)?),
            None => (AUTHORIZATION, bearer(key)?),
        };
        Some(HeaderMap::from_iter([header]))
    }

    /// Trims and checks the key. Returns it with its headers.
    pub(super) async fn checked(
        &self,
        fetcher: &Fetcher,
        provider: &str,
        entered: &Secret,
    ) -> Result<(Secret, HeaderMap), ConnectError> {
        let refused = || ConnectError::KeyRefused {
            provider: provider.to_owned(),
        };
        let key = Secret::new(entered.expose().trim());
        let is_graphic = key.expose().bytes().all(|byte| byte.is_ascii_graphic());
        if key.expose().is_empty() || key.expose().len() > MOST || !is_graphic {
            return Err(refused());
        }
        let Some(check) = &self.check else {
            return Ok((key, HeaderMap::new()));
        };
        let headers = self.headers(&key).ok_or_else(refused)?;
        let answer = fetcher.request(Method::GET, &check.url, headers.clone(), Vec::new());
        let answer = answer.await.map_err(|why| ConnectError::Fetch {
            provider: provider.to_owned(),
            why,
        })?;
        match answer.status {
            200..=299 => Ok((key, headers)),
            _ => Err(refused()),
        }
    }
}

impl Check {
    fn value(&self, key: &Secret) -> Option<HeaderValue> {
        secret(&Secret::new(format!("{}{}", self.prefix, key.expose())))
    }
}
