//! The tokens for one server: obtained once, shared by all requests, renewed by one of them.

mod renewal;
mod signing_out;

#[cfg(test)]
mod tests;

use std::{
    io,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use askback_core::auth::{AuthorizationContext, Challenge, Scopes};
use askback_requests::Route;
use http::{
    Method, StatusCode,
    header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE},
};
use tokio::sync::{Mutex, oneshot};
use url::Url;

use self::renewal::RenewalOutcome;
use super::{
    AuthorizationError, Config, CredentialKey, CredentialStore, SignInError, SignInMethod,
    fetch::{Answer, Fetcher, fetch_failed},
    flow::{self, Demands},
    identity::RegisteredClient,
    key::SigningKey,
    pins,
    proof::{Nonces, prove},
    reach::{Reach, is_loopback},
    records::Grant,
    shown::shown,
    token::{TokenRequest, dress, sensitive},
};
use crate::Secret;

/// How many times one request asks for more scopes.
const STEPS: u32 = 2;
/// How many times one request is sent again, for all reasons together.
const ATTEMPTS: u32 = 6;
const REMEMBERED: usize = 64;

/// Obtains and holds the tokens for one server.
pub struct Authorizer {
    pub(crate) config: Arc<Config>,
    pub(crate) server: Url,
    pub(crate) fetcher: Fetcher,
    /// Reaches the company's provider, which the host configured.
    pub(crate) company: Option<Fetcher>,
    nonces: Nonces,
    /// The credentials that requests carry. The outer `None` means that the store has not been
    /// read.
    current: RwLock<Option<Option<Arc<Pass>>>>,
    context: AuthorizationContext,
    /// Locked by the request that changes the tokens.
    held: Mutex<HeldTokens>,
    /// How many refusals were handled, with or without success.
    rounds: AtomicU64,
}

/// The tokens a request is sent with.
pub struct Pass {
    grant: Grant,
    key: Option<SigningKey>,
    /// Shared by all tokens renewed from one sign-in, unless the grant has changed.
    sign_in: Arc<()>,
    /// Whether the tokens were stored. If they are missing from the store later, the user signed
    /// out.
    is_kept: bool,
    /// When to renew, in seconds since the Unix epoch. `u64::MAX` means never.
    renew_at: AtomicU64,
}

/// The state of one request's authorization attempts.
#[derive(Debug, Default)]
pub struct Attempt {
    sent: u32,
    nonces: u32,
    steps: u32,
    has_refreshed: bool,
    has_authorized: bool,
}

#[derive(Default)]
struct HeldTokens {
    /// Scopes requested because the server asked for more.
    stepped: Vec<Scopes>,
    /// The last failed attempt. All requests that waited for it get its error.
    failed: Option<FailedAttempt>,
}

struct FailedAttempt {
    /// The value of `rounds` at that attempt.
    round: u64,
    wanted: Demands,
    more: bool,
    error: AuthorizationError,
}

enum Cause {
    Sending,
    Refused {
        used: Option<Arc<Pass>>,
        wanted: Demands,
        /// Whether the server wants more scopes. Otherwise it rejected the token.
        more: bool,
        may_refresh: bool,
    },
}

#[derive(Default)]
pub(crate) struct Renewal {
    pass: Option<Arc<Pass>>,
    /// Whether a full authorization took place, not just a renewal.
    authorized: bool,
    /// Whether the tokens were loaded from the store and may still need renewal.
    found: bool,
}

/// Closed once no caller waits any more.
pub(crate) type Waiter = oneshot::Sender<Result<Renewal, AuthorizationError>>;

impl Authorizer {
    pub(super) fn new(config: Arc<Config>, server: Url) -> io::Result<Self> {
        let reach = Reach::of(&server, config.private);
        let route = match &config.proxy {
            Some(proxy) => Route::Proxy(proxy.clone()),
            None => Route::Direct,
        };
        let company = match &config.how {
            SignInMethod::Company(provider, _) => Url::parse(&provider.token_endpoint)
                .ok()
                .map(|url| Fetcher::new(Reach::of(&url, true), &route, &config.limits))
                .transpose()?,
            _ => None,
        };
        Ok(Self {
            fetcher: Fetcher::new(reach, &route, &config.limits)?,
            company,
            config,
            server,
            nonces: Nonces::default(),
            current: RwLock::default(),
            context: AuthorizationContext::default(),
            held: Mutex::default(),
            rounds: AtomicU64::new(0),
        })
    }

    /// Returns the credentials for a request if they are available without waiting. The outer
    /// `None` means that they are not.
    #[must_use]
    pub fn pass_at_hand(&self) -> Option<Option<Arc<Pass>>> {
        if !may_carry_tokens(&self.server) {
            return Some(None);
        }
        let current = self.current()?;
        let is_ending = current.as_ref().is_some_and(|pass| self.is_ending(pass));
        (!is_ending).then_some(current)
    }

    /// Returns the credentials for a request, if any. Renews them if they are about to expire.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn pass(self: &Arc<Self>) -> Result<Option<Arc<Pass>>, AuthorizationError> {
        match self.pass_at_hand() {
            Some(pass) => Ok(pass),
            None => Ok(self.on_task(Cause::Sending).await?.pass),
        }
    }

    /// Returns the headers for one request (2026-07-28, basic/authorization, Token Requirements).
    ///
    /// # Errors
    ///
    /// If the tokens cannot be sent in a header, or if signing with their key fails.
    pub fn headers(
        &self,
        pass: &Pass,
        method: &Method,
        url: &Url,
    ) -> Result<HeaderMap, AuthorizationError> {
        let mut headers = HeaderMap::new();
        // Tokens go only to this server, and only over a connection that others cannot read.
        if url.origin() != self.server.origin() || !may_carry_tokens(url) {
            return Ok(headers);
        }
        let token = &pass.grant.access_token;
        let scheme = match &pass.key {
            Some(key) => {
                let nonce = self.nonces.get(url);
                let now = self.now();
                let proof = prove(key, method.as_str(), url, Some(token), nonce, now)?;
                headers.insert("dpop", sensitive(proof.expose())?);
                Challenge::DPOP
            }
            None => Challenge::BEARER,
        };
        let value = Secret::new(format!("{scheme} {}", token.expose()));
        headers.insert(AUTHORIZATION, sensitive(value.expose())?);
        Ok(headers)
    }

    /// Handles a refusal. Returns whether to send the request again.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the server requires an authorization that cannot be obtained.
    pub async fn again(
        self: &Arc<Self>,
        attempt: &mut Attempt,
        url: &Url,
        (status, headers): (StatusCode, &HeaderMap),
        used: Option<Arc<Pass>>,
    ) -> Result<bool, AuthorizationError> {
        let nonce = headers.get("dpop-nonce").and_then(|it| it.to_str().ok());
        let has_nonce = nonce.is_some_and(|nonce| self.nonces.learn(url, nonce));
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(false);
        }
        let challenges = challenges(headers);
        let says = |error: &str| challenges.iter().any(|it| it.error() == Some(error));
        attempt.sent += 1;
        if attempt.sent > ATTEMPTS {
            return Err(not_accepted("it was asked too often"));
        }
        let is_bound = used.as_ref().is_some_and(|pass| pass.key.is_some());
        // Another request may have learned the nonce first, but this one was sent without it.
        if is_bound && has_nonce && says("use_dpop_nonce") && attempt.nonces < STEPS {
            attempt.nonces += 1;
            return Ok(true);
        }
        let wanted = Demands::of(&challenges);
        let more = status == StatusCode::FORBIDDEN;
        if more && (!says("insufficient_scope") || wanted.scopes.is_none()) {
            return Ok(false);
        }
        if !may_carry_tokens(&self.server) {
            return Err(AuthorizationError::Url {
                what: "a server that wants a sign-in",
                url: shown(self.server.as_str()),
            });
        }
        if more && attempt.steps >= STEPS {
            return Err(not_accepted("more scopes than were granted"));
        }
        if !more && attempt.has_authorized {
            return Err(not_accepted("a token it was given for"));
        }
        let cause = Cause::Refused {
            used,
            wanted,
            more,
            may_refresh: !more && !attempt.has_refreshed,
        };
        let renewed = self.on_task(cause).await?;
        attempt.steps += u32::from(more);
        attempt.has_refreshed |= !more && !renewed.found;
        attempt.has_authorized |= renewed.authorized && !more;
        Ok(true)
    }

    /// Runs on its own task, so that no new token is lost if the caller is dropped. The user's
    /// prompt is closed if no caller waits any more.
    async fn on_task(self: &Arc<Self>, cause: Cause) -> Result<Renewal, AuthorizationError> {
        let (mut waiting, outcome) = oneshot::channel();
        let this = Arc::clone(self);
        let came = self.rounds.load(Ordering::Relaxed);
        tokio::spawn(async move {
            let outcome = this.work(cause, came, &mut waiting).await;
            // The receiver may have been dropped.
            let _ = waiting.send(outcome);
        });
        outcome.await.unwrap_or_else(|_| Err(given_up()))
    }

    /// `came` is the value of `rounds` when the caller asked.
    async fn work(
        &self,
        cause: Cause,
        came: u64,
        waiting: &mut Waiter,
    ) -> Result<Renewal, AuthorizationError> {
        let mut held = tokio::select! {
            held = self.held.lock() => held,
            () = waiting.closed() => return Err(given_up()),
        };
        let current = match self.current() {
            Some(current) => current,
            None => {
                let kept = self.load().await?;
                self.set(kept.clone());
                kept
            }
        };
        let done = |pass| {
            Ok(Renewal {
                pass,
                ..Renewal::default()
            })
        };
        match cause {
            Cause::Sending => match current {
                // Skip if another request has just tried.
                Some(pass) if self.is_ending(&pass) => done(self.renew_ahead(pass).await),
                current => done(current),
            },
            Cause::Refused {
                used,
                wanted,
                more,
                may_refresh,
            } => {
                let is_other = match (&current, &used) {
                    (Some(current), Some(used)) => !Arc::ptr_eq(current, used),
                    (Some(_), None) => true,
                    (None, _) => false,
                };
                if is_other {
                    // Another request has already renewed them.
                    return done(current);
                }
                // Another process may have signed in since this process read the store.
                if current.is_none()
                    && let Some(kept) = self.load().await?
                {
                    return Ok(Renewal {
                        pass: Some(kept),
                        found: true,
                        ..Renewal::default()
                    });
                }
                // A request that waited during a failed attempt gets its error and does not repeat
                // it.
                let is_same = |it: &&FailedAttempt| it.more == more && it.wanted == wanted;
                let failed = held.failed.as_ref().filter(is_same);
                if let Some(failed) = failed.filter(|it| it.round > came) {
                    return Err(failed.error.clone());
                }
                let current = current.as_deref();
                let renewing = self.renew(&mut held, current, &wanted, more, may_refresh, waiting);
                let renewed = renewing.await;
                let round = self.rounds.fetch_add(1, Ordering::Relaxed) + 1;
                // An abandoned attempt says nothing about other requests.
                let error = renewed.as_ref().err().filter(|_| !waiting.is_closed());
                held.failed = error.map(|error| FailedAttempt {
                    round,
                    wanted,
                    more,
                    error: error.clone(),
                });
                renewed
            }
        }
    }

    /// Gets new tokens: renews the old ones, or asks the user.
    async fn renew(
        &self,
        held: &mut HeldTokens,
        current: Option<&Pass>,
        wanted: &Demands,
        more: bool,
        may_refresh: bool,
        waiting: &mut Waiter,
    ) -> Result<Renewal, AuthorizationError> {
        if let Some(pass) = current.filter(|_| may_refresh)
            && let RenewalOutcome::Tokens(renewed) = self.refresh(pass).await?
        {
            return Ok(Renewal {
                pass: Some(renewed),
                ..Renewal::default()
            });
        }
        let before = current.map(|pass| &pass.grant);
        let authorizing = self.authorize(held, wanted.clone(), before, more, waiting);
        Ok(Renewal {
            pass: Some(authorizing.await?),
            authorized: true,
            ..Renewal::default()
        })
    }

    async fn authorize(
        &self,
        held: &mut HeldTokens,
        mut wanted: Demands,
        before: Option<&Grant>,
        more: bool,
        waiting: &mut Waiter,
    ) -> Result<Arc<Pass>, AuthorizationError> {
        let scopes = wanted.scopes.clone().unwrap_or_default();
        if !more {
            held.stepped.clear();
        } else if held.stepped.contains(&scopes) || held.stepped.len() >= REMEMBERED {
            return Err(not_accepted("scopes that were asked for already"));
        }
        if let Some(before) = before {
            // `offline_access` is decided again for each request.
            let asked = before.asked.iter().filter(|it| *it != "offline_access");
            let asked = Scopes::of(asked).unwrap_or_default();
            wanted.before = Some((before.issuer.clone(), asked));
        }
        let granted = self.run(&wanted, waiting).await;
        // Remember only a real answer: a user who was never asked may still agree later.
        let has_answered = matches!(granted, Ok(_) | Err(AuthorizationError::Refused { .. }));
        if more && has_answered {
            held.stepped.push(scopes);
        }
        self.take(granted?).await
    }

    /// Runs an authorization. Runs it again if the issuer has forgotten the client.
    async fn run(
        &self,
        wanted: &Demands,
        waiting: &mut Waiter,
    ) -> Result<Grant, AuthorizationError> {
        for _ in 0..2 {
            if let Some(grant) = flow::authorize(self, wanted, waiting).await? {
                return Ok(grant);
            }
        }
        Err(not_accepted("a registration it has just given"))
    }

    /// The clients that were registered by hand, with the issuers they belong to.
    pub(crate) async fn registered_clients(
        &self,
    ) -> Result<Vec<RegisteredClient>, AuthorizationError> {
        let mut clients = self.config.clients.clone();
        for client in &mut clients {
            // A client without an issuer belongs to the first issuer that it is used with.
            if client.issuer.is_none() {
                client.issuer = pins::issuer(&*self.config.store, &client.id).await?;
            }
        }
        Ok(clients)
    }

    /// The store, and the maximum wait for a lock in it.
    pub(crate) fn store(&self) -> (&dyn CredentialStore, Duration) {
        let config = &self.config;
        (&*config.store, config.limits.sign_in.credential_lock)
    }

    pub(crate) fn now(&self) -> u64 {
        self.config.clock.now() / 1000
    }

    /// Requests a token, bound to the key if there is one. Repeats the request once if the issuer
    /// requires a nonce in the proof (RFC 9449, 8).
    pub(crate) async fn ask(
        &self,
        fetcher: &Fetcher,
        what: &'static str,
        request: &TokenRequest,
        key: Option<&SigningKey>,
    ) -> Result<Answer, AuthorizationError> {
        let endpoint = &request.endpoint;
        let mut again = key.is_some();
        loop {
            let (mut headers, form) = dress(request, self.now())?;
            if let Some(key) = key {
                let nonce = self.nonces.get(endpoint);
                let proof = prove(key, "POST", endpoint, None, nonce, self.now())?;
                headers.insert("dpop", sensitive(proof.expose())?);
            }
            let fetched = fetcher.post_form(endpoint, headers, form).await;
            let fetched = fetched.map_err(fetch_failed(what))?;
            let nonce = fetched.nonce.as_deref();
            let has_nonce = nonce.is_some_and(|nonce| self.nonces.learn(endpoint, nonce));
            let answer = Answer::from(fetched);
            let wants_nonce = answer.text("error") == Some("use_dpop_nonce");
            if again && has_nonce && wants_nonce {
                again = false;
                continue;
            }
            return Ok(answer);
        }
    }

    fn key(&self) -> CredentialKey {
        CredentialKey::Tokens(self.server.to_string())
    }

    fn current(&self) -> Option<Option<Arc<Pass>>> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the credentials. Nothing else changes them, so that each change also updates the
    /// authorization context.
    fn set(&self, pass: Option<Arc<Pass>>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = match (&*current, &pass) {
            // No request was sent yet.
            (None, _) | (Some(None), None) => true,
            (Some(Some(old)), Some(new)) => Arc::ptr_eq(&old.sign_in, &new.sign_in),
            (Some(Some(_)), None) | (Some(None), Some(_)) => false,
        };
        if !is_same {
            self.context.advance();
        }
        *current = Some(pass);
    }

    /// Returns the authorization context in which requests are sent.
    #[must_use]
    pub fn context(&self) -> AuthorizationContext {
        self.context.clone()
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass")
            .field("issuer", &self.grant.issuer)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizer")
            .field("server", &self.server.as_str())
            .finish_non_exhaustive()
    }
}

/// Whether the connection is encrypted or stays on this machine (OAuth 2.1, 1.5; RFC 6750, 5.3).
fn may_carry_tokens(server: &Url) -> bool {
    server.scheme() == "https" || is_loopback(server)
}

/// Parses the challenges of a response. Ignores headers that do not parse.
fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let headers = headers.get_all(WWW_AUTHENTICATE).iter();
    let texts = headers.filter_map(|header| header.to_str().ok());
    let read = texts.filter_map(|text| Challenge::parse(text).ok());
    read.flatten().take(Challenge::MOST).collect()
}

fn not_accepted(why: &str) -> AuthorizationError {
    AuthorizationError::NotAccepted(why.to_owned())
}

fn given_up() -> AuthorizationError {
    AuthorizationError::SignIn(SignInError::Abandoned)
}
