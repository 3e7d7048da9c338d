use std::{sync::Arc, time::Duration};

use askback_core::{clock::Clock, future::BoxFuture};
use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};

use super::{
    AuthorizationError, CredentialKey, CredentialStore, Redirect, SignInError,
    assertion::AssertionSource,
    fetch::{Answer, FetchError, Fetcher, Redirects},
    flow::{Action, Event, Flow, Plan},
    identity::Origin,
    key::SigningKey,
    pins,
    proof::{Nonces, prove},
    records::{self, Grant, Registration},
    store::{locked, not_kept},
    token::{TokenRequest, dress, sensitive},
};
use crate::Secret;

pub(super) struct Means<'a> {
    pub(super) fetcher: &'a Fetcher,
    /// Reaches the company's provider, which the host configured.
    pub(super) company: Option<&'a Fetcher>,
    pub(super) nonces: &'a Nonces,
    pub(super) store: &'a dyn CredentialStore,
    pub(super) clock: &'a dyn Clock,
    pub(super) assertions: Option<&'a Arc<dyn AssertionSource>>,
    pub(super) sign_in: Duration,
    /// The maximum wait for a credential lock that another process holds.
    pub(super) lock: Duration,
}

impl Means<'_> {
    pub(super) fn now(&self) -> u64 {
        self.clock.now() / 1000
    }

    /// Runs an authorization to its end. Returns `None` if it has to start again. The user's prompt
    /// ends if no caller waits any more.
    pub(super) async fn run<T>(
        &self,
        plan: Plan,
        mut redirect: Option<Box<dyn Redirect>>,
        waiting: &mut oneshot::Sender<T>,
    ) -> Result<Option<Grant>, AuthorizationError> {
        let mut flow = Flow::new(plan);
        let mut key: Option<(SigningKey, Secret)> = None;
        let mut event = Event::Start;
        loop {
            event = match flow.next(event, self.now()) {
                Action::Fetch(fetch) => {
                    let redirects = match fetch.near {
                        true => Redirects::SameOrigin,
                        false => Redirects::Any,
                    };
                    let fetched = self.fetcher.get(&fetch.url, redirects).await;
                    Event::Answer(fetched.map(Answer::from))
                }
                Action::Recall(issuer) => Event::Recalled(self.recall(&issuer).await?),
                Action::Register {
                    issuer,
                    endpoint,
                    request,
                } => {
                    if let Some(redirect) = &mut redirect {
                        let agreed = self.asked(redirect.agree(&issuer), waiting).await;
                        agreed.map_err(|why| flow.not_signed_in(why))?;
                    }
                    let fetched = self.fetcher.post(&endpoint, &request).await;
                    Event::Answer(fetched.map(Answer::from))
                }
                Action::AskClient(issuer) => Event::Named(match &mut redirect {
                    Some(redirect) => {
                        let named = self.asked(redirect.client(&issuer), waiting).await;
                        named.map_err(|why| flow.not_signed_in(why))?
                    }
                    None => None,
                }),
                Action::Keep(registration) => {
                    self.keep(&registration).await?;
                    Event::Noted
                }
                Action::Forget(issuer) => {
                    self.forget(&issuer).await?;
                    Event::Noted
                }
                Action::Show(request) => Event::Redirected(match redirect.take() {
                    Some(redirect) => tokio::select! {
                        shown = timeout(self.sign_in, redirect.show(request)) => {
                            shown.unwrap_or(Err(SignInError::TimedOut))
                        }
                        () = waiting.closed() => Err(SignInError::Abandoned),
                    },
                    None => Err(SignInError::Abandoned),
                }),
                Action::Assert(audience) => Event::Asserted(match self.assertions {
                    Some(source) => source.assertion(&audience).await,
                    None => Err("no identity provider vouches for the client".to_owned()),
                }),
                Action::Ask(request) => {
                    self.pin(&request).await?;
                    if request.bound && key.is_none() {
                        key = Some(SigningKey::generate()?);
                    }
                    let key = key.as_ref().map(|(key, _)| key);
                    Event::Answer(self.ask(&request, key).await?)
                }
                Action::Done(mut grant) => {
                    grant.key = key.map(|(_, text)| text);
                    return Ok(Some(*grant));
                }
                Action::Again => return Ok(None),
                Action::Failed(error) => return Err(error),
            };
        }
    }

    /// Waits for the user's answer before the sign-in, or until no caller waits any more.
    async fn asked<A, T>(
        &self,
        asking: BoxFuture<'_, Result<A, SignInError>>,
        waiting: &mut oneshot::Sender<T>,
    ) -> Result<A, SignInError> {
        tokio::select! {
            said = timeout(self.sign_in, asking) => said.unwrap_or(Err(SignInError::TimedOut)),
            () = waiting.closed() => Err(SignInError::Abandoned),
        }
    }

    /// Binds a hand-registered client to the issuer that is about to see its credentials.
    async fn pin(&self, request: &TokenRequest) -> Result<(), AuthorizationError> {
        let Origin::ByHand { is_told } = request.client.origin else {
            return Ok(());
        };
        // The company's provider is configured by the host.
        if request.is_to_company {
            return Ok(());
        }
        let (id, issuer) = (&request.client.id, &request.issuer);
        pins::pin(self.store, self.lock, id, issuer, is_told).await
    }

    /// Requests a token. Repeats the request once if the issuer requires a nonce in the proof (RFC
    /// 9449, 8).
    pub(super) async fn ask(
        &self,
        request: &TokenRequest,
        key: Option<&SigningKey>,
    ) -> Result<Result<Answer, FetchError>, AuthorizationError> {
        let endpoint = &request.endpoint;
        let key = key.filter(|_| request.bound);
        let fetcher = match self.company {
            Some(company) if request.is_to_company => company,
            _ => self.fetcher,
        };
        let mut again = key.is_some();
        loop {
            let (mut headers, form) = dress(request, self.now())?;
            if let Some(key) = key {
                let nonce = self.nonces.get(endpoint);
                let proof = prove(key, "POST", endpoint, None, nonce, self.now())?;
                headers.insert("dpop", sensitive(proof.expose())?);
            }
            let fetched = fetcher.post_form(endpoint, headers, form).await;
            let fetched = match fetched {
                Ok(fetched) => fetched,
                Err(error) => return Ok(Err(error)),
            };
            let nonce = fetched.nonce.as_deref();
            let has_nonce = nonce.is_some_and(|nonce| self.nonces.learn(endpoint, nonce));
            let answer = Answer::from(fetched);
            let error = answer.json.as_ref().and_then(|json| json.get("error"));
            let wants_nonce = error.and_then(Value::as_str) == Some("use_dpop_nonce");
            if again && has_nonce && wants_nonce {
                again = false;
                continue;
            }
            return Ok(Ok(answer));
        }
    }

    pub(super) async fn revoke(
        &self,
        request: &TokenRequest,
    ) -> Result<Result<Answer, FetchError>, AuthorizationError> {
        let (headers, form) = dress(request, self.now())?;
        let posted = self.fetcher.post_form(&request.endpoint, headers, form);
        Ok(posted.await.map(Answer::from))
    }

    async fn recall(&self, issuer: &str) -> Result<Option<Registration>, AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        let kept = self.store.load(&key).await.map_err(not_kept)?;
        // An unreadable record counts as missing.
        Ok(kept.and_then(|kept| records::read(&kept).ok()))
    }

    async fn keep(&self, registration: &Registration) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(registration.issuer.clone());
        let record = records::write(registration)?;
        self.store.save(&key, &record).await.map_err(not_kept)
    }

    /// Deletes a registration unless it was replaced meanwhile.
    pub(super) async fn forget_client(
        &self,
        issuer: &str,
        id: &str,
    ) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        let _lock = locked(self.store, &key, self.lock).await?;
        let kept = self.recall(issuer).await?;
        match kept.filter(|kept| kept.client.id == id) {
            Some(_) => self.forget(issuer).await,
            None => Ok(()),
        }
    }

    async fn forget(&self, issuer: &str) -> Result<(), AuthorizationError> {
        let key = CredentialKey::Registration(issuer.to_owned());
        self.store.remove(&key).await.map_err(not_kept)
    }
}
