//! Admits requests by their tokens, and answers refused ones (2026-07-28, basic/authorization, Access Token Usage and
//! Error Handling; RFC 6750, 2.1 and 3).

use std::{sync::Arc, time::Duration};

use askback_core::{
    ask::Millis,
    auth::{BadChallenge, Challenge, Scopes},
};
use http::{
    HeaderValue, StatusCode,
    header::{AUTHORIZATION, HeaderMap},
    request::Parts,
};
use tokio::time::Instant;

use super::{
    access::{PresentedToken, TokenError, invalid},
    development::is_token,
    dpop::Proofs,
    protection::Protection,
};
use crate::clock::Clock;

/// The minimum pause between log messages that tokens cannot be verified.
const COMPLAINTS: Duration = Duration::from_secs(10);

const TOKEN_BYTES: usize = 16 << 10;

#[derive(Debug, Clone)]
pub(crate) struct RequestRights {
    scopes: Scopes,
    scheme: Scheme,
    expires: Option<Millis>,
}

impl RequestRights {
    pub(crate) fn expires(&self) -> Option<Millis> {
        self.expires
    }
}

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) challenge: Option<HeaderValue>,
    pub(crate) nonce: Option<HeaderValue>,
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    DPoP,
}

impl Scheme {
    fn named(name: &str) -> Option<Self> {
        let is = |scheme: &str| name.eq_ignore_ascii_case(scheme);
        match () {
            () if is(Challenge::BEARER) => Some(Self::Bearer),
            () if is(Challenge::DPOP) => Some(Self::DPoP),
            () => None,
        }
    }
}

impl Protection {
    pub(crate) async fn admit(&self, parts: &mut Parts, clock: &dyn Clock) -> Result<(), Refusal> {
        if parts.uri.query().is_some_and(holds_token) {
            let why = "send the access token in the Authorization header, never in the URL";
            return Err(self.malformed(why));
        }
        let header = self.only_header(&parts.headers)?;
        let (scheme, token) = self.token(header)?;
        let presented = PresentedToken::new(token, &self.document.resource, clock.now());
        let verified = self.verifier.verify(presented).await;
        // Verification may have taken a while, and the token may have expired.
        let now = clock.now();
        let access = verified.map_err(|rejected| self.rejected(scheme, &rejected))?;
        if access.expires.is_some_and(|expires| expires <= now) {
            return Err(self.rejected(scheme, &TokenError::Expired));
        }
        let key = access.key.as_deref();
        let bound = self.check_binding(parts, (scheme, token), key, now).await;
        bound.map_err(|rejected| Refusal {
            nonce: self
                .proofs
                .nonce(now)
                .and_then(|nonce| nonce.try_into().ok()),
            ..self.rejected(Scheme::DPoP, &rejected)
        })?;
        let scopes = self.hierarchy.widen(&access.scopes);
        let granted = RequestRights {
            scopes,
            scheme,
            expires: access.expires,
        };
        self.check(Some(&granted), &[])?;
        // The code after this needs no token, and must not be able to pass it on.
        parts.headers.remove(AUTHORIZATION);
        // Replaces a principal set by a layer in front, which must not decide it.
        parts.extensions.insert(access.principal);
        parts.extensions.insert(granted);
        Ok(())
    }

    /// Checks that a token has the additional scopes of a request. If not, the challenge names all missing scopes at
    /// once (2026-07-28, basic/authorization, Runtime Insufficient Scope Errors).
    pub(crate) fn check(
        &self,
        granted: Option<&RequestRights>,
        needed: &[Arc<Scopes>],
    ) -> Result<(), Refusal> {
        let covers = |scopes: &Scopes| granted.is_some_and(|all| all.scopes.contains_all(scopes));
        if covers(&self.required) && needed.iter().all(|scopes| covers(scopes)) {
            return Ok(());
        }
        let mut all = self.required.clone();
        for scope in needed.iter().flat_map(|scopes| scopes.iter()) {
            // A challenge has a maximum length, and names the first ones.
            let _ = all.insert(scope);
        }
        let scheme = granted.map_or_else(|| self.scheme(), |granted| granted.scheme);
        let why = "the access token does not cover this request";
        Err(Refusal {
            status: StatusCode::FORBIDDEN,
            challenge: self.challenge(scheme, Some(("insufficient_scope", why)), &all),
            nonce: None,
            why: format!("{why}: it needs the scopes `{all}`"),
        })
    }

    fn only_header<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Err(self.nameless());
        };
        if values.next().is_some() {
            return Err(self.malformed("there is more than one Authorization header"));
        }
        let unreadable = |_| self.malformed("the Authorization header cannot be read");
        value.to_str().map_err(unreadable)
    }

    fn token<'a>(&self, header: &'a str) -> Result<(Scheme, &'a str), Refusal> {
        let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
        let scheme = Scheme::named(scheme).ok_or_else(|| self.nameless())?;
        let token = token.trim_matches(' ');
        if token.len() > TOKEN_BYTES {
            return Err(self.malformed("the access token is too long"));
        }
        if !is_token(token.as_bytes()) {
            return Err(self.malformed("the Authorization header must be the scheme and one token"));
        }
        Ok((scheme, token))
    }

    /// A token that is bound to a key must not be sent as a bearer token (RFC 9449, 7.2), and a proof for an unbound
    /// token proves nothing.
    async fn check_binding(
        &self,
        parts: &Parts,
        (scheme, token): (Scheme, &str),
        key: Option<&str>,
        now: Millis,
    ) -> Result<(), TokenError> {
        match (scheme, key) {
            (Scheme::Bearer, None) if !self.bound_only => Ok(()),
            (Scheme::DPoP, Some(key)) => self.proofs.check(parts, token, key, now).await,
            (_, None) => Err(invalid("it is bound to no key")),
            (Scheme::Bearer, Some(_)) => {
                Err(invalid("it is bound to a key, and sent without proof"))
            }
        }
    }

    /// The request has no credentials, so the response has no error code (RFC 6750, 3.1).
    fn nameless(&self) -> Refusal {
        Refusal {
            status: StatusCode::UNAUTHORIZED,
            challenge: self.challenge(self.scheme(), None, &self.required),
            nonce: None,
            why: "this server wants an access token".to_owned(),
        }
    }

    fn malformed(&self, why: &str) -> Refusal {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            challenge: self.challenge(
                self.scheme(),
                Some(("invalid_request", why)),
                &self.required,
            ),
            nonce: None,
            why: why.to_owned(),
        }
    }

    /// The client is only told what it needs to try again; the log has more.
    fn rejected(&self, scheme: Scheme, rejected: &TokenError) -> Refusal {
        let (error, why) = match rejected {
            TokenError::Expired => ("invalid_token", "the access token has expired"),
            TokenError::Invalid(_) => ("invalid_token", "the access token is not valid here"),
            TokenError::Proof(_) => (
                "invalid_dpop_proof",
                "the proof is not valid for this request",
            ),
            TokenError::Nonce => (
                "use_dpop_nonce",
                "the proof must hold the nonce of this server",
            ),
            TokenError::Unavailable(_) => {
                if self.may_complain() {
                    tracing::error!(why = %rejected, "access tokens cannot be verified");
                }
                return Refusal {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    challenge: None,
                    nonce: None,
                    why: "the server cannot verify access tokens now".to_owned(),
                };
            }
        };
        tracing::debug!(why = %rejected, "an access token was refused");
        Refusal {
            status: StatusCode::UNAUTHORIZED,
            challenge: self.challenge(scheme, Some((error, why)), &self.required),
            nonce: None,
            why: why.to_owned(),
        }
    }

    fn may_complain(&self) -> bool {
        let now = Instant::now();
        let mut last = self.complained.lock();
        let may = last.is_none_or(|last| now >= last + COMPLAINTS);
        if may {
            *last = Some(now);
        }
        may
    }

    /// The scheme that a client should use if it has not chosen one.
    fn scheme(&self) -> Scheme {
        if self.bound_only {
            Scheme::DPoP
        } else {
            Scheme::Bearer
        }
    }

    fn challenge(
        &self,
        scheme: Scheme,
        error: Option<(&str, &str)>,
        scopes: &Scopes,
    ) -> Option<HeaderValue> {
        let challenge = self.write_challenge(scheme, error, scopes);
        challenge.ok()?.to_string().try_into().ok()
    }

    fn write_challenge(
        &self,
        scheme: Scheme,
        error: Option<(&str, &str)>,
        scopes: &Scopes,
    ) -> Result<Challenge, BadChallenge> {
        let mut challenge = match scheme {
            Scheme::Bearer => Challenge::new(Challenge::BEARER)?,
            Scheme::DPoP => {
                let algorithms: Vec<_> = Proofs::algorithms().collect();
                Challenge::new(Challenge::DPOP)?.with("algs", &algorithms.join(" "))?
            }
        };
        if let Some((error, why)) = error {
            challenge = challenge.with("error", error)?;
            challenge = challenge.with("error_description", why)?;
        }
        challenge = challenge.with("resource_metadata", &self.metadata_url)?;
        if !scopes.is_empty() {
            challenge = challenge.with("scope", &scopes.to_string())?;
        }
        Ok(challenge)
    }
}

fn holds_token(query: &str) -> bool {
    let mut names = query.split('&').filter_map(|pair| pair.split('=').next());
    names.any(|name| {
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        name.eq_ignore_ascii_case("access_token")
    })
}
