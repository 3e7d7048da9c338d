//! The authorization code grant: the request that goes through the browser, and the answer
//! (RFC 6749, 4.1; PKCE, RFC 7636; the issuer's name, RFC 9207).

use std::fmt;

use askback_core::auth::{AuthorizationError, Scopes, SignInError};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;
use zeroize::Zeroizing;

use crate::{
    Secret,
    entropy::entropy,
    provider::Provider,
    reach::is_loopback,
    records::{self, exposed},
    shown::shown,
    token::Form,
};

/// The longest URL a browser comes back with, in bytes.
const LONGEST: usize = 16 << 10;

/// The parameters that a request sets by itself.
const OWN: [&str; 6] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
];

/// A request for a person's consent, which a browser is sent to. It always has a state and PKCE
/// with SHA-256.
#[derive(Debug, Clone)]
pub struct AuthorizationRequest {
    endpoint: Url,
    issuer: String,
    names_issuer: bool,
    client_id: String,
    redirect: String,
    parameters: Vec<(String, String)>,
}

/// A request whose answer has not come yet: what is needed to check the answer.
///
/// It is secret, since it holds the verifier of PKCE. Where the answer may come to another process,
/// it is written and read.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingAuthorization {
    #[serde(with = "exposed")]
    verifier: Secret,
    state: String,
    redirect: String,
    /// From the issuer's own, checked document, or from the operator.
    issuer: String,
    names_issuer: bool,
}

/// A code that came back to the request it was asked for with, from the issuer it was asked of.
/// [`TokenEndpoint::exchange`](crate::TokenEndpoint::exchange) takes it.
#[derive(Debug)]
pub struct AuthorizationCode {
    code: Secret,
    verifier: Secret,
    redirect: String,
}

/// Unguessable bytes: half of them for the verifier, half for the state.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) Zeroizing<[u8; 64]>);

/// The parameters that the browser came back with.
#[derive(Default)]
struct Answer {
    code: Option<Secret>,
    state: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl AuthorizationRequest {
    /// A request of the client with this id. `redirect` is where the browser is sent back to: an
    /// `https` URL, or one of this machine.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Unsupported`] where the provider has no authorization endpoint, and
    /// [`AuthorizationError::SignIn`] where the redirect URI may not be used.
    pub fn new(
        provider: &Provider,
        client_id: &str,
        redirect: &str,
    ) -> Result<Self, AuthorizationError> {
        check_redirect(redirect)?;
        let endpoint = provider.authorization_endpoint.clone();
        Ok(Self {
            endpoint: endpoint.ok_or_else(|| no_endpoint(&provider.issuer))?,
            issuer: provider.issuer.clone(),
            names_issuer: provider.names_issuer,
            client_id: client_id.to_owned(),
            redirect: redirect.to_owned(),
            parameters: Vec::new(),
        })
    }

    /// Sets the scopes to ask for; without them, the provider chooses.
    #[must_use]
    pub fn scopes(self, scopes: &Scopes) -> Self {
        self.parameter("scope", scopes.to_string())
    }

    /// Adds a parameter of the provider, such as `access_type` or `prompt`. Those the request sets
    /// by itself are refused when it begins.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Returns the URL to send the person to, and what to keep until the answer comes. Each time it
    /// is another request.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Credentials`] where a parameter is one of the request's own, or there
    /// are no random bytes.
    pub fn begin(&self) -> Result<(Url, PendingAuthorization), AuthorizationError> {
        let is_own = |(name, _): &&(String, String)| OWN.contains(&name.as_str());
        if let Some((name, _)) = self.parameters.iter().find(is_own) {
            let why = format!("the parameter {name:?} is one the request sets by itself");
            return Err(AuthorizationError::Credentials(why));
        }
        Ok(self.begin_with(&Random::new()?))
    }

    /// The same with these random bytes.
    pub(crate) fn begin_with(&self, Random(random): &Random) -> (Url, PendingAuthorization) {
        let (verifier, state) = random.split_at(32);
        let pending = PendingAuthorization {
            verifier: Secret::new(URL_SAFE_NO_PAD.encode(verifier)),
            state: URL_SAFE_NO_PAD.encode(state),
            redirect: self.redirect.clone(),
            issuer: self.issuer.clone(),
            names_issuer: self.names_issuer,
        };
        let challenge = Sha256::digest(pending.verifier.expose());
        let mut url = self.endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("state", &pending.state)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(&self.parameters);
        (url, pending)
    }
}

impl PendingAuthorization {
    /// The state of the request, by which its answer is found among others: the parameter `state`
    /// of the URL the browser comes back to.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Checks the answer, which is the whole URL the browser came back to. It does so in the one
    /// order that gives nothing away: whether it is to this request, whether it is from this issuer,
    /// and only then what it says (2026-07-28, basic/authorization, Authorization Response
    /// Validation).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Answer`] where it is not the answer to this request, and
    /// [`AuthorizationError::Refused`] where the answer is no.
    pub fn accept(self, redirected: &str) -> Result<AuthorizationCode, AuthorizationError> {
        let answer = read(redirected, &self.redirect)?;
        let not_accepted = |why: &str| AuthorizationError::Answer(why.to_owned());
        if answer.state.as_deref() != Some(&self.state) {
            return Err(not_accepted("it is not the answer to this sign-in"));
        }
        match &answer.issuer {
            // Letter by letter: no other way of writing it is the same.
            Some(issuer) if *issuer == self.issuer => {}
            Some(_) => return Err(not_accepted("it comes from another authorization server")),
            None if self.names_issuer => {
                return Err(not_accepted(
                    "it does not say which authorization server it is from",
                ));
            }
            None => {}
        }
        if let Some(error) = answer.error {
            return Err(AuthorizationError::Refused {
                what: "the sign-in",
                code: shown(&error),
                description: shown(&answer.description.unwrap_or_default()),
            });
        }
        let code = answer
            .code
            .ok_or_else(|| not_accepted("it holds no code"))?;
        Ok(AuthorizationCode {
            code,
            verifier: self.verifier,
            redirect: self.redirect,
        })
    }

    /// Writes it as one line of text, to be kept where secrets are.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`].
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        records::write(self)
    }

    /// Reads what [`PendingAuthorization::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not that.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        records::read(kept)
    }
}

impl AuthorizationCode {
    pub(crate) fn form(self) -> Form {
        Form::default()
            .with("grant_type", "authorization_code")
            .with_secret("code", self.code)
            .with("redirect_uri", self.redirect)
            .with_secret("code_verifier", self.verifier)
    }
}

impl Random {
    pub(crate) fn new() -> Result<Self, AuthorizationError> {
        let random = entropy().map_err(|error| {
            AuthorizationError::Credentials(format!("there are no random bytes: {error}"))
        })?;
        Ok(Self(Zeroizing::new(random)))
    }
}

askback_core::debug_only!(PendingAuthorization { issuer });

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random(…)")
    }
}

pub(crate) fn no_endpoint(issuer: &str) -> AuthorizationError {
    AuthorizationError::Unsupported {
        issuer: issuer.to_owned(),
        lacks: "has no authorization endpoint".to_owned(),
    }
}

/// Whether a host may be sent back there: to the own machine, or to an `https` URL
/// (2026-07-28, basic/authorization/security-considerations, Communication Security).
fn check_redirect(redirect: &str) -> Result<(), AuthorizationError> {
    let url = Url::parse(redirect).ok();
    let may_be = |url: &Url| {
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback(url);
        is_safe && url.fragment().is_none()
    };
    if url.as_ref().is_some_and(may_be) {
        return Ok(());
    }
    Err(AuthorizationError::SignIn(SignInError::RedirectUri))
}

/// Takes the answer apart. One that says something twice says nothing.
fn read(redirected: &str, redirect: &str) -> Result<Answer, AuthorizationError> {
    let unreadable = || AuthorizationError::Answer("it is not the URL of an answer".to_owned());
    let url = Url::parse(redirected).ok();
    let url = url
        .filter(|_| redirected.len() <= LONGEST)
        .ok_or_else(unreadable)?;
    let expected = Url::parse(redirect).map_err(|_| unreadable())?;
    if url.origin() != expected.origin() || url.path() != expected.path() {
        return Err(unreadable());
    }
    let mut answer = Answer::default();
    for (name, value) in url.query_pairs() {
        let place = match &*name {
            "state" => &mut answer.state,
            "iss" => &mut answer.issuer,
            "error" => &mut answer.error,
            "error_description" => &mut answer.description,
            "code" if answer.code.is_none() => {
                answer.code = Some(Secret::new(value.into_owned()));
                continue;
            }
            "code" => return Err(unreadable()),
            _ => continue,
        };
        if place.replace(value.into_owned()).is_some() {
            return Err(unreadable());
        }
    }
    answer.code = answer.code.filter(|code| !code.expose().is_empty());
    Ok(answer)
}
