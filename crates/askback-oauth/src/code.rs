//! The authorization code grant: the request sent through the browser, and its answer (RFC 6749,
//! 4.1; PKCE, RFC 7636; the `iss` parameter, RFC 9207).

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

/// The maximum length of the URL that the browser returns with, in bytes.
const LONGEST: usize = 16 << 10;

/// Parameters that the request sets itself.
const OWN: [&str; 6] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
];

/// A request for a user's consent, to be opened in a browser. It always has a `state` and uses PKCE
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

/// A request that was not answered yet: what is needed to check the answer.
///
/// It is secret because it holds the PKCE verifier. If another process may receive the answer, use
/// [`write`](Self::write) and [`read`](Self::read).
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingAuthorization {
    #[serde(with = "exposed")]
    verifier: Secret,
    state: String,
    redirect: String,
    /// From the issuer's checked metadata, or from the operator.
    issuer: String,
    names_issuer: bool,
}

/// An authorization code that has been checked: it answers the right request and comes from the
/// right issuer. Pass it to [`TokenEndpoint::exchange`](crate::TokenEndpoint::exchange).
#[derive(Debug)]
pub struct AuthorizationCode {
    code: Secret,
    verifier: Secret,
    redirect: String,
}

#[derive(Default)]
struct Answer {
    code: Option<Secret>,
    state: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl AuthorizationRequest {
    /// Creates a request of the client with this id. `redirect` must be an `https` URL or a URL of
    /// this machine.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Unsupported`] if the provider has no authorization endpoint, and
    /// [`AuthorizationError::SignIn`] if the redirect URI is not allowed.
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

    /// Sets the scopes to request. Without them, the provider chooses.
    #[must_use]
    pub fn scopes(self, scopes: &Scopes) -> Self {
        self.parameter("scope", scopes.to_string())
    }

    /// Adds a provider-specific parameter, such as `access_type` or `prompt`.
    /// [`begin`](Self::begin) rejects names that the request sets itself.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Returns the URL to open for the user, and the state to keep until the answer arrives. Each
    /// call makes a new request.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Credentials`] if a parameter is one that the request sets itself, or
    /// if the system has no random bytes.
    pub fn begin(&self) -> Result<(Url, PendingAuthorization), AuthorizationError> {
        let is_own = |(name, _): &&(String, String)| OWN.contains(&name.as_str());
        if let Some((name, _)) = self.parameters.iter().find(is_own) {
            let why = format!("the parameter {name:?} is one the request sets by itself");
            return Err(AuthorizationError::Credentials(why));
        }
        let verifier = Zeroizing::new(entropy::<32>()?);
        let state = entropy::<32>()?;
        let pending = PendingAuthorization {
            verifier: Secret::new(URL_SAFE_NO_PAD.encode(*verifier)),
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
        Ok((url, pending))
    }
}

impl PendingAuthorization {
    /// Returns the `state` parameter. The URL that the browser returns with has the same value, so
    /// it identifies the request that is being answered.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Checks the whole URL that the browser returned with. The order of the checks reveals nothing
    /// to an attacker: first the request, then the issuer, and only then the result (2026-07-28,
    /// basic/authorization, Authorization Response Validation).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Answer`] if the URL does not answer this request, and
    /// [`AuthorizationError::Refused`] if the answer is an error.
    pub fn accept(self, redirected: &str) -> Result<AuthorizationCode, AuthorizationError> {
        let answer = read(redirected, &self.redirect)?;
        let not_accepted = |why: &str| AuthorizationError::Answer(why.to_owned());
        if answer.state.as_deref() != Some(&self.state) {
            return Err(not_accepted("it answers another sign-in"));
        }
        match &answer.issuer {
            // Compared byte by byte, without normalization.
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

    /// Serializes the request as one line of text. Store it as a secret.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it cannot be serialized.
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        records::write(self)
    }

    /// Reads the output of [`PendingAuthorization::write`].
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if the text is not such an output.
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

askback_core::debug_only!(PendingAuthorization { issuer });

pub(crate) fn no_endpoint(issuer: &str) -> AuthorizationError {
    AuthorizationError::Unsupported {
        issuer: issuer.to_owned(),
        lacks: "has no authorization endpoint".to_owned(),
    }
}

/// Accepts a redirect URI on this machine or with `https` (2026-07-28,
/// basic/authorization/security-considerations, Communication Security).
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

/// Parses the answer. A repeated parameter counts as missing.
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
