//! An account that a handler may use.

use std::{fmt, sync::Arc};

use askback::{Error, Result};
use askback_oauth::Fetched;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use url::Url;

use crate::connections::Kit;
use crate::providers::ThirdParty;
use crate::vault::{Credential, VaultError, Wanted};

/// An account of the caller at a third party, for requests in their name.
///
/// The token is taken from the vault for each request, and renewed there where it ends soon. It cannot be printed or
/// written, and it is no part of what a handler records.
#[derive(Clone)]
pub struct Connection {
    kit: Arc<Kit>,
    party: ThirdParty,
    wanted: Wanted,
}

impl Connection {
    pub(crate) fn new(kit: Arc<Kit>, party: ThirdParty, wanted: Wanted) -> Self {
        Self { kit, party, wanted }
    }

    /// Returns the credential as it is now: for a client of the third party's own that takes a token. Take it again
    /// for each use, as it may have been renewed.
    ///
    /// # Errors
    ///
    /// Where the account was disconnected or cannot be renewed.
    pub async fn credential(&self) -> Result<Credential> {
        let found = self.kit.vault.get(&self.wanted, &self.kit.renewer()).await;
        found.map_err(|error| not_had(error, self.party.display_title()))
    }

    /// Returns the name of the account, as the third party knows it.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`].
    pub async fn account(&self) -> Result<String> {
        Ok(self.credential().await?.account.account)
    }

    /// Fetches JSON in the person's name. No redirection is followed.
    ///
    /// The token goes to this URL: it is never one that a peer chose, such as an argument of the call.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`], and where the third party cannot be reached. An answer with the status of an
    /// error is an answer.
    pub async fn get(&self, url: &str) -> Result<Fetched> {
        let (url, headers) = self.request(url).await?;
        let fetched = self.kit.fetcher().get_with(&url, headers).await;
        fetched.map_err(|error| self.unreached(error))
    }

    /// Posts JSON in the person's name. As with [`Connection::get`], no redirection is followed.
    ///
    /// # Errors
    ///
    /// As [`Connection::get`].
    pub async fn post(&self, url: &str, body: &serde_json::Value) -> Result<Fetched> {
        let (url, headers) = self.request(url).await?;
        let mut headers = headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = body.to_string().into_bytes();
        let fetcher = self.kit.fetcher();
        let posted = fetcher.request(Method::POST, &url, headers, body).await;
        posted.map_err(|error| self.unreached(error))
    }

    async fn request(&self, url: &str) -> Result<(Url, HeaderMap)> {
        let read = self.kit.fetcher().url(url).ok_or_else(|| {
            Error::internal(format!(
                "the handler fetches from {url:?}, which is no URL to fetch from"
            ))
        })?;
        let credential = self.credential().await?;
        let bearer = format!("Bearer {}", credential.secret.expose());
        let mut bearer = HeaderValue::try_from(bearer).map_err(|_| {
            Error::internal("the token of the account holds characters that no header takes")
        })?;
        bearer.set_sensitive(true);
        Ok((read, HeaderMap::from_iter([(AUTHORIZATION, bearer)])))
    }

    fn unreached(&self, error: askback_oauth::FetchError) -> Error {
        let title = self.party.display_title();
        tracing::warn!(detail = error.in_full(), "a third party was not reached");
        Error::new(format!("{title} could not be asked: {error}"))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("provider", &self.party.name())
            .finish_non_exhaustive()
    }
}

/// The error of a credential that is not to be had.
pub(crate) fn not_had(error: VaultError, title: &str) -> Error {
    match error {
        VaultError::NotConnected | VaultError::NeedsReconnect => Error::new(format!(
            "the {title} account has to be connected again: call again to be asked"
        )),
        VaultError::Unavailable { .. } => Error::new(format!(
            "{title} gives no access at the moment: try again in a minute"
        )),
        error => Error::internal(error),
    }
}
