//! Signing a person in.

use std::{fmt, sync::Arc, time::Duration};

use askback::{
    SystemClock,
    authorization::server::{BadKeys, IdTokenVerifier, SignInCheck, TokenError},
};
use askback_core::{
    ask::{Millis, Principal},
    auth::{AuthorizationError, Scopes},
    clock::Clock,
};
use askback_oauth::{AuthorizationRequest, Fetcher, Provider, RegisteredClient, TokenEndpoint};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use url::Url;

use super::begun::{PendingSignIn, SignInRequest};
use crate::hidden::is_hidden;
use askback_core::debug_only;

/// How long ago a person may have signed in.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The longest name of a person that is shown, in characters.
const MOST_NAME: usize = 128;

/// Signs persons in at the pages of a server, by one issuer of OpenID Connect. A clone is the same.
#[derive(Clone)]
pub struct WebSignIn {
    provider: Provider,
    client: RegisteredClient,
    verifier: IdTokenVerifier,
    scopes: Scopes,
    subject_claim: String,
    tenant_claim: Option<String>,
    max_age: Duration,
    clock: Arc<dyn Clock>,
}

/// A person who has signed in.
///
/// `Debug` does not print who it is.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedInPerson {
    /// The person: tenant, issuer and subject, and no client.
    pub principal: Principal,
    /// The name to show, if the issuer gives one: an e-mail address only if the issuer has verified it.
    pub name: Option<String>,
    /// When the person signed in.
    pub signed_in: Millis,
}

/// Why a person is not signed in. No message holds a code or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebSignInError {
    /// The person said no at the issuer, or did not sign in.
    #[error("the person did not sign in")]
    Declined,
    /// The issuer gave no identity token. The operator is to blame: the client is not one of OpenID Connect.
    #[error("the issuer gave no identity token: register the client for OpenID Connect")]
    NoIdToken,
    /// The identity token is not good for this sign-in.
    #[error("the identity token was not accepted: {0}")]
    IdToken(#[from] TokenError),
    /// The issuer cannot be used as it is described. The operator is to blame.
    #[error("the issuer cannot be used: {0}")]
    Keys(#[from] BadKeys),
    /// The issuer refused, or its answer was not accepted.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
}

impl WebSignIn {
    /// Creates the sign-in of an issuer that describes itself (RFC 8414, or OpenID Connect Discovery), for a client
    /// that is registered with it. The issuer's name must be the one that the endpoint's protection has.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] where the document cannot be fetched or used, and [`WebSignInError::Keys`]
    /// where the issuer's name cannot be used.
    pub async fn discover(
        fetcher: &Fetcher,
        issuer: &str,
        client: RegisteredClient,
    ) -> Result<Self, WebSignInError> {
        let verifier = IdTokenVerifier::discover(fetcher, issuer, client.id())?;
        let provider = Provider::discover(fetcher, issuer).await?;
        Self::new(provider, client, verifier)
    }

    /// Creates the sign-in of an issuer that is given by hand.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] where the verifier is for another issuer than the provider.
    pub fn new(
        provider: Provider,
        client: RegisteredClient,
        verifier: IdTokenVerifier,
    ) -> Result<Self, WebSignInError> {
        if verifier.issuer() != provider.issuer() {
            return Err(WebSignInError::Authorization(
                AuthorizationError::OtherIssuer {
                    wanted: provider.issuer().to_owned(),
                    found: verifier.issuer().to_owned(),
                },
            ));
        }
        let scopes = Scopes::of(["openid", "profile"]).unwrap_or_default();
        Ok(Self {
            provider,
            client,
            verifier,
            scopes,
            subject_claim: "sub".to_owned(),
            tenant_claim: None,
            max_age: MAX_AGE,
            clock: Arc::new(SystemClock),
        })
    }

    /// Sets the claim that holds the subject, where access tokens name persons by another one than `sub`. It must be
    /// stable, and never be given to another person.
    #[must_use]
    pub fn subject_claim(mut self, name: impl Into<String>) -> Self {
        self.subject_claim = name.into();
        self
    }

    /// Sets the claim that holds the tenant, as the endpoint's protection has it. An identity token without it is
    /// then refused.
    #[must_use]
    pub fn tenant_claim(mut self, name: impl Into<String>) -> Self {
        self.tenant_claim = Some(name.into());
        self
    }

    /// Sets how long ago a person may have signed in; by default ten minutes.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Sets the clock; without it, that of the machine is used.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(crate) fn longest_ago(&self) -> Millis {
        u64::try_from(self.max_age.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the name of the issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.provider.issuer()
    }

    /// Begins a sign-in. Returns the URL to send the browser to, and what to keep until it comes back.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] where the redirect URI may not be used, or there are no random bytes.
    pub fn begin(&self, redirect_uri: &str) -> Result<(Url, PendingSignIn), WebSignInError> {
        self.begun(redirect_uri, None)
    }

    /// Begins a sign-in that the issuer must not answer from a session that it has with the browser (`prompt=login`,
    /// OpenID Connect Core 1.0, 3.1.2.1): after a person has signed out, or is not the one who is wanted.
    ///
    /// # Errors
    ///
    /// As [`WebSignIn::begin`].
    pub fn begin_anew(&self, redirect_uri: &str) -> Result<(Url, PendingSignIn), WebSignInError> {
        self.begun(redirect_uri, Some(self.clock.now()))
    }

    fn begun(
        &self,
        redirect_uri: &str,
        anew_since: Option<Millis>,
    ) -> Result<(Url, PendingSignIn), WebSignInError> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(|error| {
            AuthorizationError::Credentials(format!("there are no random bytes: {error}"))
        })?;
        let nonce = URL_SAFE_NO_PAD.encode(nonce);
        let request = AuthorizationRequest::new(&self.provider, self.client.id(), redirect_uri)?
            .scopes(&self.scopes)
            .parameter("nonce", &nonce)
            .parameter("max_age", self.max_age.as_secs().to_string());
        let request = match anew_since {
            Some(_) => request.parameter("prompt", "login"),
            None => request,
        };
        let (url, pending) = request.begin()?;
        let pending = SignInRequest {
            pending,
            nonce,
            anew_since,
        };
        Ok((url, PendingSignIn(pending)))
    }

    /// Finishes with the whole URL that the browser came back to: checks the answer, exchanges the code, and
    /// verifies the identity token.
    ///
    /// # Errors
    ///
    /// [`WebSignInError`]: nobody is signed in then.
    pub async fn finish(
        &self,
        fetcher: &Fetcher,
        pending: PendingSignIn,
        redirected: &str,
    ) -> Result<SignedInPerson, WebSignInError> {
        let PendingSignIn(pending) = pending;
        let code = pending.pending.accept(redirected);
        let code = code.map_err(|error| match error {
            AuthorizationError::Refused { code, .. } if is_no(&code) => WebSignInError::Declined,
            error => error.into(),
        })?;
        let endpoint = TokenEndpoint::new(fetcher, &self.provider, &self.client)?;
        let tokens = endpoint.exchange(code).await?;
        let token = tokens.id_token.ok_or(WebSignInError::NoIdToken)?;
        let now = self.clock.now();
        // An issuer that does not ask anew says so by the time of the sign-in.
        let since_begun = pending.anew_since.map(|since| now.saturating_sub(since));
        let longest = since_begun.map_or(self.max_age, Duration::from_millis);
        let check = SignInCheck {
            nonce: &pending.nonce,
            max_age: Some(longest.min(self.max_age)),
            now,
        };
        let token = self.verifier.verify(token.expose(), check).await?;
        let principal = token.principal(&self.subject_claim, self.tenant_claim.as_deref())?;
        // A person may call themselves anything, also by the address of another person.
        let others = ["preferred_username", "name"].map(|claim| token.text(claim));
        let others = others.into_iter().flatten().map(shown);
        let others = others.filter(|name| !name.contains(['@', '\u{fe6b}', '\u{ff20}']));
        let email = token.verified_email().map(shown);
        let mut names = email.into_iter().chain(others);
        Ok(SignedInPerson {
            principal,
            name: names.find(|name| !name.trim().is_empty()),
            signed_in: token.auth_time().unwrap_or(check.now),
        })
    }
}

/// Whether an error means that the person did not sign in (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6).
fn is_no(code: &str) -> bool {
    const NO: [&str; 3] = ["access_denied", "login_required", "interaction_required"];
    NO.contains(&code)
}

/// The beginning of a name, without control characters and those that cannot be seen.
fn shown(name: &str) -> String {
    let seen = name.chars().filter(|char| !is_hidden(*char));
    seen.take(MOST_NAME).collect()
}

impl fmt::Debug for WebSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSignIn")
            .field("issuer", &self.issuer())
            .field("client", &self.client.id())
            .finish_non_exhaustive()
    }
}

debug_only! {
    SignedInPerson { signed_in }
}
