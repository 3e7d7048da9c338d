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

const MAX_AGE: Duration = Duration::from_secs(600);

const MOST_NAME: usize = 128;

/// Signs users in on the pages of a server, with one OpenID Connect issuer. Clones share one state.
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

/// A user who has signed in.
///
/// `Debug` does not print the user.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedInPerson {
    /// The user: tenant, issuer and subject, without a client.
    pub principal: Principal,
    /// The display name, if the issuer has one. An e-mail address only if the issuer has verified it.
    pub name: Option<String>,
    /// When the user signed in.
    pub signed_in: Millis,
}

/// Why a sign-in failed. No message contains a code or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebSignInError {
    /// The user refused, or did not sign in.
    #[error("the person did not sign in")]
    Declined,
    /// The issuer returned no identity token. The operator has to register the client for OpenID Connect.
    #[error("the issuer gave no identity token: register the client for OpenID Connect")]
    NoIdToken,
    /// The identity token is not valid for this sign-in.
    #[error("the identity token was not accepted: {0}")]
    IdToken(#[from] TokenError),
    /// The issuer's metadata is unusable. The operator has to fix it.
    #[error("the issuer cannot be used: {0}")]
    Keys(#[from] BadKeys),
    /// The issuer refused, or its answer was not accepted.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
}

impl WebSignIn {
    /// Creates the sign-in by discovery of the issuer (RFC 8414, or OpenID Connect Discovery), for a client that is
    /// registered with it. The issuer's name must be the same as in the endpoint's protection.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] if the metadata cannot be fetched or used, and [`WebSignInError::Keys`] if the
    /// issuer's name is invalid.
    pub async fn discover(
        fetcher: &Fetcher,
        issuer: &str,
        client: RegisteredClient,
    ) -> Result<Self, WebSignInError> {
        let verifier = IdTokenVerifier::discover(fetcher, issuer, client.id())?;
        let provider = Provider::discover(fetcher, issuer).await?;
        Self::new(provider, client, verifier)
    }

    /// Creates the sign-in of an issuer that is configured by hand.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] if the verifier and the provider have different issuers.
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

    /// Sets the claim with the subject, if access tokens identify users by another claim than `sub`. It must never
    /// change, and never be given to another user.
    #[must_use]
    pub fn subject_claim(mut self, name: impl Into<String>) -> Self {
        self.subject_claim = name.into();
        self
    }

    /// Sets the claim with the tenant, as in the endpoint's protection. Identity tokens without it are rejected.
    #[must_use]
    pub fn tenant_claim(mut self, name: impl Into<String>) -> Self {
        self.tenant_claim = Some(name.into());
        self
    }

    /// Sets how long ago a user may have signed in. The default is ten minutes.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Sets the clock. The default is the system clock.
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

    /// Starts a sign-in. Returns the URL for the browser, and the state to keep until it returns.
    ///
    /// # Errors
    ///
    /// [`WebSignInError::Authorization`] if the redirect URI is not allowed, or if the system has no random bytes.
    pub fn begin(&self, redirect_uri: &str) -> Result<(Url, PendingSignIn), WebSignInError> {
        self.begun(redirect_uri, None)
    }

    /// Starts a sign-in that ignores the issuer's session with the browser (`prompt=login`, OpenID Connect Core 1.0,
    /// 3.1.2.1). Use it after a sign-out, or if another user is expected.
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

    /// Finishes with the whole URL that the browser returned to: checks the answer, exchanges the code, and verifies
    /// the identity token.
    ///
    /// # Errors
    ///
    /// [`WebSignInError`]. No user is signed in then.
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
        // If the issuer used its session all the same, the sign-in time is too old.
        let since_begun = pending.anew_since.map(|since| now.saturating_sub(since));
        let longest = since_begun.map_or(self.max_age, Duration::from_millis);
        let check = SignInCheck {
            nonce: &pending.nonce,
            max_age: Some(longest.min(self.max_age)),
            now,
        };
        let token = self.verifier.verify(token.expose(), check).await?;
        let principal = token.principal(&self.subject_claim, self.tenant_claim.as_deref())?;
        // Users may choose any name, even another user's e-mail address.
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

/// Whether an error means that the user did not sign in (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6).
fn is_no(code: &str) -> bool {
    const NO: [&str; 3] = ["access_denied", "login_required", "interaction_required"];
    NO.contains(&code)
}

/// Shortens a name and removes control and invisible characters.
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
