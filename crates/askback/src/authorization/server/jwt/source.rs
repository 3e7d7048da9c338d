//! Fetching and caching of an issuer's keys.

use std::{sync::Arc, time::Duration};

use askback_core::{ask::Millis, auth::AuthorizationServer, json};
use askback_oauth::{FetchError, Fetcher};
use tokio::task::JoinHandle;
use url::Url;

use super::{
    Claims, Compact, SigningAlgorithm,
    keys::{BadKeys, KeySet},
};
use crate::{
    authorization::server::{
        access::{TokenError, invalid},
        fetch::{FetchFailure, UnusableUrl, get, usable},
    },
    clock::millis,
    mutex::Mutex,
};

/// The minimum time between two fetches.
const PAUSE: Duration = Duration::from_secs(30);

/// The minimum time between two fetches while no keys are known.
const PAUSE_WITHOUT_KEYS: Duration = Duration::from_secs(5);

/// The age at which keys are refreshed in the background.
const AGE: Duration = Duration::from_secs(60 * 60);

/// The age at which keys are no longer trusted, because a stolen key may have been withdrawn.
const MOST_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Source {
    place: Place,
    state: Mutex<State>,
    /// The running fetch holds this lock.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
enum Place {
    Nowhere,
    At(Fetcher, Url),
    /// The URL is in the issuer's metadata, which is at one of these locations.
    Named {
        fetcher: Fetcher,
        issuer: String,
        documents: Vec<Url>,
    },
}

#[derive(Debug, Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    tried: Option<Millis>,
    fetched: Millis,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum KeyFetchError {
    #[error("{0}: {1}")]
    Fetch(Url, FetchFailure),
    #[error("no document of the issuer {0} can be read")]
    Document(String),
    #[error("the document of the issuer {0} names another issuer")]
    Issuer(String),
    #[error("the document of the issuer names no key URL that is allowed")]
    Url(#[from] UnusableUrl),
    #[error("{0}")]
    Keys(#[from] BadKeys),
    #[error("a fetch was begun and failed a moment ago")]
    Paused,
    #[error("the fetch was broken off")]
    Broken,
}

impl Source {
    pub(super) fn fixed(keys: KeySet) -> Self {
        let source = Self::new(Place::Nowhere);
        source.state.lock().keys = Some(Arc::new(keys));
        source
    }

    pub(super) fn at(fetcher: Fetcher, url: Url) -> Self {
        Self::new(Place::At(fetcher, url))
    }

    pub(super) fn of_issuer(fetcher: Fetcher, issuer: &str) -> Result<Self, UnusableUrl> {
        let documents = AuthorizationServer::well_known(issuer);
        let documents = documents.map_err(|_| UnusableUrl(issuer.to_owned()))?;
        let documents: Result<Vec<_>, _> = documents.iter().map(|url| usable(url)).collect();
        Ok(Self::new(Place::Named {
            fetcher,
            issuer: issuer.to_owned(),
            documents: documents?,
        }))
    }

    fn new(place: Place) -> Self {
        Self {
            place,
            state: Mutex::default(),
            turn: Arc::default(),
        }
    }

    /// Returns the keys to look in for a token's key. If a cached key fits, nothing is fetched.
    pub(super) async fn keys_for(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: SigningAlgorithm,
        now: Millis,
    ) -> Result<Arc<KeySet>, TokenError> {
        let known = self.known(now);
        if let Some(keys) = &known
            && keys.find(id, algorithm).next().is_some()
        {
            if self.are_older_than(AGE, now) {
                // The fetch continues in the background.
                let _fetch = self.begin(now);
            }
            return Ok(Arc::clone(keys));
        }
        if let Err(missed) = self.renew(now).await
            && known.is_none()
        {
            return Err(TokenError::Unavailable(missed.to_string()));
        }
        let keys = self.known(now);
        keys.ok_or_else(|| TokenError::Unavailable(KeyFetchError::Paused.to_string()))
    }

    pub(super) async fn signed(
        self: &Arc<Self>,
        token: &Compact<'_>,
        algorithm: SigningAlgorithm,
        now: Millis,
    ) -> Result<Claims, TokenError> {
        let id = token.header.kid.as_deref();
        let keys = self.keys_for(id, algorithm, now).await?;
        let mut claims = Err(invalid("no key of the issuer fits it"));
        for key in keys.find(id, algorithm) {
            claims = token.verify(key, algorithm);
            if claims.is_ok() {
                break;
            }
        }
        claims
    }

    fn known(&self, now: Millis) -> Option<Arc<KeySet>> {
        let keys = self.state.lock().keys.clone();
        keys.filter(|_| !self.are_older_than(MOST_AGE, now))
    }

    fn are_older_than(&self, age: Duration, now: Millis) -> bool {
        let changes = !matches!(self.place, Place::Nowhere);
        changes && now > self.state.lock().fetched.saturating_add(millis(age))
    }

    pub(super) async fn prepare(self: &Arc<Self>, now: Millis) -> Result<(), KeyFetchError> {
        if self.state.lock().keys.is_some() {
            return Ok(());
        }
        self.renew(now).await
    }

    /// Fetches the keys unless that was tried recently. If a fetch is running, waits for it. Dropping the future leaves
    /// nothing behind.
    async fn renew(self: &Arc<Self>, now: Millis) -> Result<(), KeyFetchError> {
        if let Some(fetch) = self.begin(now) {
            return fetch.await.unwrap_or(Err(KeyFetchError::Broken));
        }
        drop(self.turn.lock().await);
        self.known(now).map(|_| ()).ok_or(KeyFetchError::Paused)
    }

    /// Starts to fetch the keys, unless a fetch is running or was tried recently. The fetch continues if the client
    /// goes away, because other requests need the keys.
    fn begin(self: &Arc<Self>, now: Millis) -> Option<JoinHandle<Result<(), KeyFetchError>>> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        if !self.may_fetch(now) {
            return None;
        }
        self.state.lock().tried = Some(now);
        let me = Arc::clone(self);
        Some(tokio::spawn(async move {
            let _turn = turn;
            let keys = me.fetch().await.inspect_err(|missed| {
                tracing::warn!(why = %missed, "the keys of an issuer could not be fetched");
            })?;
            let mut state = me.state.lock();
            state.keys = Some(Arc::new(keys));
            state.fetched = now;
            Ok(())
        }))
    }

    fn may_fetch(&self, now: Millis) -> bool {
        let pause = match self.known(now) {
            Some(_) => PAUSE,
            None => PAUSE_WITHOUT_KEYS,
        };
        let state = self.state.lock();
        let fetches = !matches!(self.place, Place::Nowhere);
        fetches
            && state
                .tried
                .is_none_or(|tried| now >= tried.saturating_add(millis(pause)))
    }

    async fn fetch(&self) -> Result<KeySet, KeyFetchError> {
        let (fetcher, url) = match &self.place {
            Place::Nowhere => return Err(KeyFetchError::Broken),
            Place::At(fetcher, url) => (fetcher, url.clone()),
            Place::Named {
                fetcher,
                issuer,
                documents,
            } => (fetcher, keys_of(fetcher, issuer, documents).await?),
        };
        let json = get(fetcher, &url).await;
        let json = json.map_err(|why| KeyFetchError::Fetch(url, why))?;
        Ok(KeySet::parse(&json)?)
    }
}

/// Finds the URL of the issuer's keys in the first metadata document that exists, if it is the issuer's own (RFC 8414,
/// 3.3).
async fn keys_of(fetcher: &Fetcher, issuer: &str, documents: &[Url]) -> Result<Url, KeyFetchError> {
    for place in documents {
        let json = match get(fetcher, place).await {
            Ok(json) => json,
            // Try the next location.
            Err(FetchFailure::Status(_) | FetchFailure::Failed(FetchError::Redirected)) => continue,
            Err(why) => return Err(KeyFetchError::Fetch(place.clone(), why)),
        };
        let Ok(document) = json::parse(&json).and_then(json::document::<AuthorizationServer>)
        else {
            continue;
        };
        if document.issuer != issuer {
            return Err(KeyFetchError::Issuer(issuer.to_owned()));
        }
        return Ok(usable(&document.jwks_uri.unwrap_or_default())?);
    }
    Err(KeyFetchError::Document(issuer.to_owned()))
}
