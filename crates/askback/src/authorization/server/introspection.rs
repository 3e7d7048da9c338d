//! Token introspection (RFC 7662).

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    time::Duration,
};

use askback_core::{ask::Millis, future::BoxFuture, json};
use askback_oauth::Fetcher;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{sync::Semaphore, time::timeout};
use url::Url;
use zeroize::Zeroizing;

use super::{
    access::{Access, PresentedToken, TokenError, TokenVerifier, invalid},
    fetch::{fetcher, post_form, usable},
    jwt::{BadKeys, Claims, ExpectedClaims},
};
use crate::{clock::millis, mutex::Mutex};

/// How long the answer about a valid token is cached.
const KEEP: Duration = Duration::from_secs(30);

/// How long the answer about an invalid token is cached.
const KEEP_REFUSED: Duration = Duration::from_secs(5);

/// The maximum number of cached answers about valid tokens, and again about invalid ones.
const KEPT: usize = 4096;

/// The maximum number of concurrent requests to the issuer.
const ASKED: usize = 32;

/// How long a request waits for its turn, so that a flood of tokens does not block other clients for long.
const TURN: Duration = Duration::from_secs(2);

/// The characters that form encoding leaves unchanged (the URL standard, application/x-www-form-urlencoded).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// Asks the issuer about each token.
///
/// A token is valid if the issuer says that it is active (`active`), for this server (`aud`), has a subject (`sub`),
/// and is valid at this time (`exp`, and `nbf` if present). If an issuer leaves out any of these, its tokens are
/// refused.
///
/// Answers about valid tokens are cached for half a minute, so a revoked token may stay valid that long. Answers about
/// invalid tokens are cached for a few seconds. The cache contains digests, not tokens.
pub struct Introspection {
    issuer: String,
    endpoint: Url,
    credentials: Zeroizing<String>,
    audiences: Vec<String>,
    tenant_claim: Option<String>,
    keep: Duration,
    fetcher: Fetcher,
    room: Semaphore,
    good: Mutex<AnswerCache<Access>>,
    /// Separate from the valid ones, so that a flood of invalid tokens cannot evict them.
    refused: Mutex<AnswerCache<TokenError>>,
}

struct AnswerCache<T> {
    answers: HashMap<[u8; 32], (T, Millis)>,
    /// In the order of expiry.
    order: VecDeque<[u8; 32]>,
}

impl Introspection {
    /// Asks this issuer at this URL (`introspection_endpoint`), with this server's client credentials there
    /// (`client_secret_basic`).
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if a URL cannot be used, or this machine cannot make requests.
    pub fn new(
        issuer: impl Into<String>,
        endpoint: &str,
        client_id: &str,
        client_secret: &str,
    ) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        Ok(Self {
            issuer,
            endpoint: usable(endpoint)?,
            credentials: basic(client_id, client_secret),
            audiences: Vec::new(),
            tenant_claim: None,
            keep: KEEP,
            fetcher: fetcher()?,
            room: Semaphore::new(ASKED),
            good: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// Adds a name of this server at the issuer, for issuers that cannot put its URL in `aud`. If other servers share
    /// the name, their tokens are valid here, too.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the member of the answer that contains the tenant, a string. Tokens without it are then refused.
    #[must_use]
    pub fn tenant_claim(mut self, name: impl Into<String>) -> Self {
        self.tenant_claim = Some(name.into());
        self
    }

    /// Sets how long the answer about a valid token is cached; the default is 30 s. Answers about invalid tokens are
    /// cached for 5 s, or for this time if it is shorter. With zero, every request asks.
    #[must_use]
    pub fn keep(mut self, time: Duration) -> Self {
        self.keep = time;
        self
    }

    async fn access(&self, token: PresentedToken<'_>) -> Result<Access, TokenError> {
        let digest = digest_of(token);
        let now = token.now();
        if let Some(access) = self.good.lock().get(&digest, now) {
            return Ok(access);
        }
        if let Some(rejected) = self.refused.lock().get(&digest, now) {
            return Err(rejected);
        }
        let claims = self.ask(token).await?;
        let judged = self.judge(&claims, token);
        match &judged {
            Ok(access) => {
                let until = now.saturating_add(millis(self.keep));
                let until = access.expires.map_or(until, |ends| ends.min(until));
                self.good.lock().put(digest, access.clone(), until);
            }
            Err(rejected) => {
                let until = now.saturating_add(millis(self.keep.min(KEEP_REFUSED)));
                self.refused.lock().put(digest, rejected.clone(), until);
            }
        }
        judged
    }

    async fn ask(&self, token: PresentedToken<'_>) -> Result<Claims, TokenError> {
        let unavailable = |why: &dyn fmt::Display| TokenError::Unavailable(why.to_string());
        let credentials = HeaderValue::from_str(&self.credentials);
        let mut credentials = credentials.map_err(|why| unavailable(&why))?;
        credentials.set_sensitive(true);
        let token = utf8_percent_encode(token.reveal(), FORM);
        let form = format!("token={token}&token_type_hint=access_token");
        let _place = timeout(TURN, self.room.acquire())
            .await
            .map_err(|_| unavailable(&"too many tokens wait for their issuer to be asked"))?;
        let json = post_form(&self.fetcher, &self.endpoint, credentials, form);
        let json = json.await.map_err(|why| unavailable(&why))?;
        let claims = json::parse(&json).and_then(json::document);
        // The response is not logged, because it may contain confidential data.
        claims.map_err(|_| unavailable(&"the issuer does not answer with a JSON object"))
    }

    fn judge(&self, claims: &Claims, token: PresentedToken<'_>) -> Result<Access, TokenError> {
        if claims.get("active") != Some(&Value::Bool(true)) {
            return Err(invalid("its issuer does not know it"));
        }
        if claims.get("iss").is_some() && claims.text("iss")? != self.issuer {
            return Err(invalid("another issuer has issued it (`iss`)"));
        }
        check_kind(claims)?;
        let expected = ExpectedClaims {
            issuer: &self.issuer,
            resource: token.resource(),
            audiences: &self.audiences,
            now: token.now(),
            // The issuer has already checked the time.
            leeway: Duration::ZERO,
        };
        claims.check_audience(&expected)?;
        let expires = claims.check_time(&expected)?;
        let principal = claims.principal(&self.issuer, self.tenant_claim.as_deref())?;
        let access = Access::new(principal, claims.scopes("scope")?).until(expires);
        Ok(access.bound_to(claims.bound_to()?))
    }
}

impl TokenVerifier for Introspection {
    fn issuers(&self) -> Vec<String> {
        vec![self.issuer.clone()]
    }

    fn verify<'a>(
        &'a self,
        token: PresentedToken<'a>,
    ) -> BoxFuture<'a, Result<Access, TokenError>> {
        Box::pin(self.access(token))
    }
}

askback_core::debug_only!(Introspection { issuer });

impl<T> Default for AnswerCache<T> {
    fn default() -> Self {
        Self {
            answers: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T: Clone> AnswerCache<T> {
    fn get(&self, digest: &[u8; 32], now: Millis) -> Option<T> {
        let (said, until) = self.answers.get(digest)?;
        (now < *until).then(|| said.clone())
    }

    fn put(&mut self, digest: [u8; 32], said: T, until: Millis) {
        if self.answers.insert(digest, (said, until)).is_some() {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > KEPT
            && let Some(first) = self.order.pop_front()
        {
            self.answers.remove(&first);
        }
    }
}

/// An issuer also knows refresh tokens, which may name this server. They are rejected if the issuer says what they are
/// (2026-07-28, basic/authorization, Token Handling).
fn check_kind(claims: &Claims) -> Result<(), TokenError> {
    for (name, kinds) in [
        ("token_use", &["access_token", "access"][..]),
        ("token_type", &["Bearer", "DPoP", "access_token"]),
    ] {
        let is_one = |kind: &str| kinds.iter().any(|known| kind.eq_ignore_ascii_case(known));
        match claims.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(kind)) if is_one(kind) => {}
            Some(_) => {
                let why = format!("it is not an access token (`{name}`)");
                return Err(TokenError::Invalid(why));
            }
        }
    }
    Ok(())
}

/// Returns the cache key of a token. It includes the server, because a token may be valid for only one of two servers
/// that share the cache.
fn digest_of(token: PresentedToken<'_>) -> [u8; 32] {
    let resource = token.resource();
    // The length prefix separates the two.
    let digest = Sha256::new()
        .chain_update((resource.len() as u64).to_be_bytes())
        .chain_update(resource)
        .chain_update(token.reveal());
    digest.finalize().into()
}

/// Builds `client_secret_basic` (RFC 6749, 2.3.1): both parts are form-encoded, then joined.
fn basic(client_id: &str, client_secret: &str) -> Zeroizing<String> {
    let id = utf8_percent_encode(client_id, FORM);
    let secret = utf8_percent_encode(client_secret, FORM);
    let both = Zeroizing::new(format!("{id}:{secret}"));
    Zeroizing::new(format!("Basic {}", STANDARD.encode(both.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_answers_are_kept_than_a_bound() {
        let digest = |number: usize| -> [u8; 32] { Sha256::digest(number.to_be_bytes()).into() };
        let mut kept = AnswerCache::default();
        for number in 0..=KEPT {
            kept.put(digest(number), number, 1);
            // An existing entry takes no additional room.
            kept.put(digest(number), number, 1);
        }
        assert_eq!((kept.answers.len(), kept.order.len()), (KEPT, KEPT));
        assert_eq!(kept.get(&digest(0), 0), None, "the first to go");
        assert_eq!(kept.get(&digest(1), 0), Some(1));
        assert_eq!(kept.get(&digest(KEPT), 0), Some(KEPT));
        assert_eq!(kept.get(&digest(KEPT), 1), None, "its time is over");
    }
}
