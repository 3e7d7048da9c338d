use std::{fmt, sync::Arc};

use askback::{Error, Result};
use askback_core::quote::QuotedName;
use askback_oauth::{FetchedAnswer, Secret};
use http::{HeaderValue, Method, header::CONTENT_TYPE};
use url::{Origin, Url};

use crate::connections::Kit;
use crate::providers::ThirdParty;
use crate::vault::{AccountQuery, Credential, VaultError};

/// The status with which a third party rejects a token (RFC 6750, 3.1).
const REFUSED: u16 = 401;

/// The caller's account at a third party, for requests in their name.
///
/// Each request takes the token from the vault, which renews it if it is about to expire. The token cannot be printed
/// or serialized, and a handler's journal does not contain it.
#[derive(Clone)]
pub struct Connection {
    kit: Arc<Kit>,
    party: ThirdParty,
    wanted: AccountQuery,
}

impl Connection {
    pub(crate) fn new(kit: Arc<Kit>, party: ThirdParty, wanted: AccountQuery) -> Self {
        Self { kit, party, wanted }
    }

    /// Returns the current credential, for a third party's own client library. Call this again for each use, because
    /// the credential may have been renewed.
    ///
    /// # Errors
    ///
    /// If the account was disconnected or cannot be renewed.
    pub async fn credential(&self) -> Result<Credential> {
        let found = self.kit.vault.get(&self.wanted, &self.kit.renewer()).await;
        found.map_err(|error| not_had(error, self.party.display_title()))
    }

    /// Returns the account's name, as the user knows it. It may change, and is not unique.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`].
    pub async fn account(&self) -> Result<String> {
        Ok(self.credential().await?.name.to_string())
    }

    /// Returns the account's id, which never changes. Use it as the key for a handler's own data.
    ///
    /// If no id is configured for the third party, this is the account's name.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`].
    pub async fn account_id(&self) -> Result<String> {
        Ok(self.credential().await?.account.account)
    }

    /// Fetches JSON in the user's name. Follows no redirects.
    ///
    /// The token is sent only to the third party's API ([`ThirdParty::api`]). If the third party answers 401, the token
    /// is renewed and the request is sent once more.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`]. Also if the URL is not in the API, if the third party is unreachable, or if it
    /// still rejects the account's tokens. A response with another error status is not an error.
    pub async fn get(&self, url: &str) -> Result<FetchedAnswer> {
        self.send(Method::GET, url, None).await
    }

    /// Posts JSON in the user's name, like [`Connection::get`].
    ///
    /// # Errors
    ///
    /// As [`Connection::get`].
    pub async fn post(&self, url: &str, body: &serde_json::Value) -> Result<FetchedAnswer> {
        let body = Secret::new(body.to_string());
        self.send(Method::POST, url, Some(&body)).await
    }

    /// Reports that the third party rejected this credential (401), if you use a client library of its own. Returns
    /// whether a new credential is available, for one more try.
    ///
    /// The token is renewed if possible. If not, or if the new token was rejected too, the next
    /// [`ctx.connect`](crate::ConnectExt::connect) asks the user. An API that rejects every token does not cause
    /// endless renewals or questions.
    ///
    /// # Errors
    ///
    /// As [`Connection::credential`].
    pub async fn rejected(&self, credential: &Credential) -> Result<bool> {
        let wanted = self.wanted.clone().id(&credential.account.account);
        let (vault, renewer) = (&self.kit.vault, self.kit.renewer());
        let replaced = vault.rejected(&wanted, &credential.secret, &renewer).await;
        replaced.map_err(|error| not_had(error, self.party.display_title()))
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<&Secret>,
    ) -> Result<FetchedAnswer> {
        let url = self.url(url)?;
        let credential = self.credential().await?;
        let answer = self.sent(&method, &url, &credential, body).await?;
        if answer.status != REFUSED || !self.rejected(&credential).await? {
            return Ok(answer);
        }
        let credential = self.credential().await?;
        let answer = self.sent(&method, &url, &credential, body).await?;
        if answer.status == REFUSED {
            self.rejected(&credential).await?;
        }
        Ok(answer)
    }

    /// Parses the URL, if the token may be sent there.
    fn url(&self, url: &str) -> Result<Url> {
        let name = self.party.name();
        let origins = self.party.api_origins().unwrap_or_default();
        let read = self.kit.fetcher().url(url).ok_or_else(|| {
            let url = QuotedName(url);
            Error::internal(format!(
                "the handler sends the token of `{name}` to {url}, which is not a URL that may be fetched"
            ))
        })?;
        let origin = read.origin();
        if origins.contains(&origin) {
            return Ok(read);
        }
        let named: Vec<_> = origins.iter().map(Origin::ascii_serialization).collect();
        let apis = match named.is_empty() {
            true => "it has none".to_owned(),
            false => named.join(", "),
        };
        let origin = origin.ascii_serialization();
        let origin = QuotedName(&origin);
        Err(Error::internal(format!(
            "the handler sends the token of `{name}` to {origin}, which is not one of its APIs ({apis}): correct the URL, or \
             add the origin with `ThirdParty::api`, or as `api` in the file of providers"
        )))
    }

    async fn sent(
        &self,
        method: &Method,
        url: &Url,
        credential: &Credential,
        body: Option<&Secret>,
    ) -> Result<FetchedAnswer> {
        let headers = self.party.headers(&credential.secret);
        let mut headers = headers.ok_or_else(|| {
            Error::internal("the token of the account holds characters that no header takes")
        })?;
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let body = body.map_or_else(Vec::new, |body| body.expose().as_bytes().to_vec());
        let fetcher = self.kit.fetcher();
        let sent = fetcher.request(method.clone(), url, headers, body).await;
        sent.map_err(|error| self.unreached(error))
    }

    fn unreached(&self, error: askback_oauth::FetchError) -> Error {
        let title = self.party.display_title();
        tracing::warn!(detail = error.in_full(), "a third party was not reached");
        Error::new(format!("{title} could not be asked: {error}"))
    }
}

pub(crate) fn not_had(error: VaultError, title: &str) -> Error {
    match error {
        VaultError::NotConnected | VaultError::NeedsReconnect => Error::new(format!(
            "the {title} account has to be connected again: call again to be asked"
        )),
        VaultError::Ambiguous { ids } => Error::new(format!(
            "{} {title} accounts have this name: give the id of the one that is meant, which is one of {}",
            ids.len(),
            ids.join(", ")
        )),
        VaultError::Unavailable { .. } => Error::new(format!(
            "{title} gives no access at the moment: try again in a minute"
        )),
        error => Error::internal(error),
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("provider", &self.party.name())
            .finish_non_exhaustive()
    }
}
