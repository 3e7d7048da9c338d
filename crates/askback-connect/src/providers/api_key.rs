//! API keys, which a person makes at a third party and enters on a page.

use askback_oauth::{Fetcher, Secret};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use url::Url;

use super::error::ConnectError;
use super::headers::{bearer, operators, secret};

/// The longest key, in bytes; it must fit into a header.
const MOST: usize = 4 << 10;

/// How a person connects a third party by an API key: what the page tells them, and how a key is checked.
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
    /// A key that is taken as it is entered.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a line that tells the person which key to enter, such as "A key with read access to invoices".
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the page where the person makes a key.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] where the URL may not be used.
    pub fn page(mut self, url: &str) -> Result<Self, ConnectError> {
        self.page = Some(operators("the URL where a key is made", url)?);
        Ok(self)
    }

    /// Sets a URL that answers a GET with 2xx to whoever has a key. The key is sent in this header after the prefix, such as
    /// `Authorization` and `Bearer `: here, where the name of the account comes from, and with each request of a
    /// [`Connection`](crate::Connection).
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] where the URL or the header may not be used.
    pub fn check(
        mut self,
        url: &str,
        header: &str,
        prefix: impl Into<String>,
    ) -> Result<Self, ConnectError> {
        let header = header.parse().map_err(|_| ConnectError::Setting {
            what: "the header of a key",
            why: "it is no name of a header, such as `authorization`".to_owned(),
        })?;
        self.check = Some(Check {
            url: operators("the URL where a key is checked", url)?,
            header,
            prefix: prefix.into(),
        });
        Ok(self)
    }

    /// Returns the line for the person.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the page where a key is made.
    #[must_use]
    pub fn page_url(&self) -> Option<&Url> {
        self.page.as_ref()
    }

    pub(super) fn check_url(&self) -> Option<&Url> {
        self.check.as_ref().map(|check| &check.url)
    }

    /// Returns the headers that show a key to the API: as a bearer token where no header is set. There are none where the
    /// key cannot be sent.
    pub(super) fn headers(&self, key: &Secret) -> Option<HeaderMap> {
        let header = match &self.check {
            Some(check) => (check.header.clone(), check.value(key)?),
            None => (AUTHORIZATION, bearer(key)?),
        };
        Some(HeaderMap::from_iter([header]))
    }

    /// Returns the key that was entered, without the blanks around it, and the headers that show it.
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
        let answer = fetcher.get_with(&check.url, headers.clone()).await;
        let answer = answer.map_err(|why| ConnectError::Fetch {
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
