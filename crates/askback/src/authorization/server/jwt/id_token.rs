//! Identity tokens, with which an issuer states that a user has signed in at a client (OpenID Connect Core 1.0, 2 and
//! 3.1.3.7).

use std::{sync::Arc, time::Duration};

use askback_core::ask::{Millis, Principal};
use askback_oauth::Fetcher;
use serde_json::Value;

use super::{
    BadKeys, Claims, Compact, ExpectedClaims, LEEWAY, PLAIN, SigningAlgorithm, is_among,
    keys::KeySet, source::Source,
};
use crate::{
    authorization::server::{
        access::{TokenError, invalid},
        fetch::usable,
    },
    clock::millis,
};

/// Verifies the identity tokens of one issuer for one client.
///
/// A token is valid if it is signed with a key of the issuer by an asymmetric algorithm, comes from this issuer (`iss`,
/// compared as a string), is for this client (`aud`, `azp`) and this sign-in (`nonce`), has a subject (`sub`), has not
/// expired (`exp`), and if the sign-in is recent enough (`auth_time`). Keys are fetched and cached as by a
/// [`JwtVerifier`](super::JwtVerifier).
///
/// It does not accept access tokens.
#[derive(Debug, Clone)]
pub struct IdTokenVerifier {
    issuer: String,
    client_id: String,
    source: Arc<Source>,
    leeway: Duration,
}

/// The sign-in that an identity token must belong to.
#[derive(Debug, Clone, Copy)]
pub struct SignInCheck<'a> {
    /// The nonce that was sent with the sign-in.
    pub nonce: &'a str,
    /// How long ago the user may have signed in, if the request limited that (`max_age`).
    pub max_age: Option<Duration>,
    /// The current time.
    pub now: Millis,
}

/// A verified identity token.
///
/// `Debug` does not print the user.
#[derive(Clone)]
pub struct IdToken {
    issuer: String,
    claims: Arc<Claims>,
    auth_time: Option<Millis>,
}

impl IdTokenVerifier {
    /// Creates a verifier for the issuer with this URL and the client with this id. The keys are found through the
    /// issuer's metadata.
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if the URL cannot be used.
    pub fn discover(
        fetcher: &Fetcher,
        issuer: impl Into<String>,
        client_id: impl Into<String>,
    ) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::of_issuer(fetcher.clone(), &issuer)?;
        Ok(Self::new(issuer, client_id.into(), source))
    }

    /// Creates a verifier for the issuer with this name and these keys, a JSON Web Key Set.
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if the issuer is not a usable URL, or the set has no signing key.
    pub fn with_jwks(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        jwks: &str,
    ) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::fixed(KeySet::parse(jwks.as_bytes())?);
        Ok(Self::new(issuer, client_id.into(), source))
    }

    fn new(issuer: String, client_id: String, source: Source) -> Self {
        Self {
            issuer,
            client_id,
            source: Arc::new(source),
            leeway: LEEWAY,
        }
    }

    /// Returns the name of the issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Sets the maximum clock skew between this machine and the issuer; the default is 30 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Verifies a token of a sign-in.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if the token is not valid for this sign-in, or the issuer's keys are not available.
    pub async fn verify(&self, token: &str, check: SignInCheck<'_>) -> Result<IdToken, TokenError> {
        let compact = Compact::parse(token)?;
        let algorithm = compact.header.accepted(&SigningAlgorithm::ALL)?;
        let typ = compact.header.typ.as_deref();
        if typ.is_some_and(|typ| !is_among(&PLAIN, typ)) {
            return Err(invalid("it is not an identity token (`typ`)"));
        }
        let claims = self.source.signed(&compact, algorithm, check.now).await?;
        claims.check(&ExpectedClaims {
            issuer: &self.issuer,
            resource: &self.client_id,
            audiences: &[],
            now: check.now,
            leeway: self.leeway,
        })?;
        self.check_party(&claims)?;
        if claims.text("nonce")? != check.nonce {
            return Err(invalid("it is of another sign-in (`nonce`)"));
        }
        claims.text("sub")?;
        Ok(IdToken {
            auth_time: self.auth_time(&claims, check)?,
            issuer: self.issuer.clone(),
            claims: Arc::new(claims),
        })
    }

    fn check_party(&self, claims: &Claims) -> Result<(), TokenError> {
        let has_several = claims
            .get("aud")
            .and_then(Value::as_array)
            .is_some_and(|all| all.len() > 1);
        match claims.get("azp") {
            Some(Value::String(party)) if *party == self.client_id => Ok(()),
            None if !has_several => Ok(()),
            _ => Err(invalid("it was given to another client (`azp`)")),
        }
    }

    fn auth_time(
        &self,
        claims: &Claims,
        check: SignInCheck<'_>,
    ) -> Result<Option<Millis>, TokenError> {
        let time = claims.moment("auth_time")?;
        let leeway = millis(self.leeway);
        if time.is_some_and(|time| time > check.now.saturating_add(leeway)) {
            return Err(invalid("its sign-in has not been yet (`auth_time`)"));
        }
        let Some(max_age) = check.max_age else {
            return Ok(time);
        };
        let Some(begun) = time else {
            return Err(invalid(
                "it does not say when the person signed in (`auth_time`)",
            ));
        };
        let ends = begun.saturating_add(millis(max_age)).saturating_add(leeway);
        match check.now > ends {
            true => Err(invalid("the person signed in too long ago (`auth_time`)")),
            false => Ok(time),
        }
    }
}

impl IdToken {
    /// Returns a claim that is a non-empty string.
    #[must_use]
    pub fn text(&self, claim: &str) -> Option<&str> {
        self.claims.text(claim).ok()
    }

    /// Returns the user's e-mail address, if the issuer has verified it (`email_verified`).
    #[must_use]
    pub fn verified_email(&self) -> Option<&str> {
        // Some issuers write it as a string.
        let is_verified = match self.claims.get("email_verified") {
            Some(Value::Bool(is_verified)) => *is_verified,
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        self.text("email").filter(|_| is_verified)
    }

    /// Returns when the user signed in, if the issuer says so.
    #[must_use]
    pub fn auth_time(&self) -> Option<Millis> {
        self.auth_time
    }

    /// Returns the user as a principal without a client, from the subject claim and, if configured, the tenant claim.
    ///
    /// # Errors
    ///
    /// [`TokenError::Invalid`] if a claim is missing or is not a string.
    pub fn principal(
        &self,
        subject_claim: &str,
        tenant_claim: Option<&str>,
    ) -> Result<Principal, TokenError> {
        self.claims
            .person(&self.issuer, subject_claim, tenant_claim)
    }
}

askback_core::debug_only!(IdToken { issuer, auth_time });
