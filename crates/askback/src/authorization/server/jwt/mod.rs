//! Signed access tokens (RFC 9068), verified with the keys of their issuer.

mod algorithm;
mod claims;
mod compact;
mod id_token;
mod keys;
mod source;

use std::{sync::Arc, time::Duration};

use askback_core::{ask::Millis, auth::Scopes, future::BoxFuture};

pub use algorithm::SigningAlgorithm;
pub(super) use claims::{Claims, ExpectedClaims};
pub(super) use compact::{Compact, Header};
pub use id_token::{IdToken, IdTokenVerifier, SignInCheck};
pub use keys::BadKeys;
pub(super) use keys::Key;

use self::{keys::KeySet, source::Source};
use super::{
    access::{Access, PresentedToken, TokenError, TokenVerifier, invalid},
    fetch::{UnusableUrl, fetcher, usable},
};

/// The default clock skew between this machine and an issuer.
const LEEWAY: Duration = Duration::from_secs(30);

/// The types of access tokens (RFC 9068, 2.1).
const ACCESS_TOKENS: [&str; 2] = ["at+jwt", "application/at+jwt"];

/// The type that many issuers use for all their tokens.
const PLAIN: [&str; 2] = ["JWT", "application/jwt"];

/// Whether a type is in the list, ignoring case (RFC 7515, 4.1.9).
fn is_among(known: &[&str], typ: &str) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(typ))
}

/// Verifies the signed tokens of one issuer.
///
/// A token is valid if it is signed with a key of the issuer by an allowed algorithm (they are all asymmetric); if it
/// is an access token (`typ`), comes from this issuer (`iss`, compared as a string), is for this server (`aud`), has a
/// subject (`sub`), and is valid at this time (`nbf`, `exp`). The principal consists of the issuer, the subject, the
/// client (`client_id`, else `azp`) and, if set with [`JwtVerifier::tenant_claim`], the tenant.
///
/// Keys are cached in memory. They are fetched when the server starts, when a token names an unknown key, and
/// periodically in the background, so that withdrawn keys are no longer trusted. A token with a known key never waits
/// for a fetch. Only one fetch runs at a time, at least half a minute after the previous one, so that tokens with
/// random key ids cannot make this server flood the issuer. If fetching fails, cached keys remain valid for a day.
#[derive(Debug, Clone)]
pub struct JwtVerifier {
    issuer: String,
    source: Arc<Source>,
    algorithms: Vec<SigningAlgorithm>,
    audiences: Vec<String>,
    tenant_claim: Option<String>,
    scope_claim: String,
    plain_type: bool,
    leeway: Duration,
}

impl JwtVerifier {
    /// Creates a verifier for the issuer with this URL. The keys are found through the issuer's metadata (RFC 8414, or
    /// OpenID Connect Discovery).
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if the URL cannot be used, or this machine cannot make requests.
    pub fn discover(issuer: impl Into<String>) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::of_issuer(fetcher()?, &issuer)?;
        Ok(Self::new(issuer, source))
    }

    /// Creates a verifier for the issuer with this name, whose keys are at this URL (`jwks_uri`).
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if a URL cannot be used, or this machine cannot make requests.
    pub fn with_jwks_url(issuer: impl Into<String>, url: &str) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::at(fetcher()?, usable(url)?);
        Ok(Self::new(issuer, source))
    }

    /// Creates a verifier for the issuer with this name and these keys, a JSON Web Key Set. Nothing is fetched. If the
    /// keys change, create a new verifier.
    ///
    /// # Errors
    ///
    /// [`BadKeys`] if the issuer is not a usable URL, or the set has no signing key.
    pub fn with_jwks(issuer: impl Into<String>, jwks: &str) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let keys = KeySet::parse(jwks.as_bytes())?;
        Ok(Self::new(issuer, Source::fixed(keys)))
    }

    fn new(issuer: String, source: Source) -> Self {
        Self {
            issuer,
            source: Arc::new(source),
            algorithms: SigningAlgorithm::ALL.to_vec(),
            audiences: Vec::new(),
            tenant_claim: None,
            scope_claim: "scope".to_owned(),
            plain_type: false,
            leeway: LEEWAY,
        }
    }

    /// Sets the allowed signature algorithms. The default is all of [`SigningAlgorithm`], each only with its own kind
    /// of key.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = SigningAlgorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Adds a name of this server at the issuer, for issuers that cannot put its URL in `aud`. If other servers share
    /// the name, their tokens are valid here, too.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the claim that contains the tenant, a string. Tokens without it are then refused.
    #[must_use]
    pub fn tenant_claim(mut self, name: impl Into<String>) -> Self {
        self.tenant_claim = Some(name.into());
        self
    }

    /// Sets the claim that contains the scopes, as a space-separated string or a list. The default is `scope`.
    #[must_use]
    pub fn scope_claim(mut self, name: impl Into<String>) -> Self {
        self.scope_claim = name.into();
        self
    }

    /// Also accepts tokens of the type `JWT` and tokens without a type, for issuers that do not mark their access
    /// tokens (RFC 9068, 2.1). Then only the audience distinguishes an access token from the issuer's other tokens.
    #[must_use]
    pub fn accept_plain_type(mut self) -> Self {
        self.plain_type = true;
        self
    }

    /// Sets the maximum clock skew between this machine and the issuer; the default is 30 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    async fn access(&self, token: PresentedToken<'_>) -> Result<Access, TokenError> {
        let compact = Compact::parse(token.reveal())?;
        let algorithm = self.algorithm(&compact.header)?;
        let claims = self.source.signed(&compact, algorithm, token.now()).await?;
        self.judge(&claims, token)
    }

    fn algorithm(&self, header: &Header) -> Result<SigningAlgorithm, TokenError> {
        let algorithm = header.accepted(&self.algorithms)?;
        let is_access_token = match header.typ.as_deref() {
            Some(typ) => is_among(&ACCESS_TOKENS, typ) || self.plain_type && is_among(&PLAIN, typ),
            None => self.plain_type,
        };
        if is_access_token {
            Ok(algorithm)
        } else {
            Err(invalid("it is not an access token (`typ`)"))
        }
    }

    fn judge(&self, claims: &Claims, token: PresentedToken<'_>) -> Result<Access, TokenError> {
        let expected = ExpectedClaims {
            issuer: &self.issuer,
            resource: token.resource(),
            audiences: &self.audiences,
            now: token.now(),
            leeway: self.leeway,
        };
        let expires = claims.check(&expected)?;
        let principal = claims.principal(&self.issuer, self.tenant_claim.as_deref())?;
        let scopes: Scopes = claims.scopes(&self.scope_claim)?;
        let access = Access::new(principal, scopes).until(expires);
        Ok(access.bound_to(claims.bound_to()?))
    }
}

impl TokenVerifier for JwtVerifier {
    fn issuers(&self) -> Vec<String> {
        vec![self.issuer.clone()]
    }

    fn verify<'a>(
        &'a self,
        token: PresentedToken<'a>,
    ) -> BoxFuture<'a, Result<Access, TokenError>> {
        Box::pin(self.access(token))
    }

    fn prepare(&self, now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.source.prepare(now).await {
                tracing::error!(%error, "the keys of the issuer could not be fetched");
            }
        })
    }
}

impl From<UnusableUrl> for BadKeys {
    fn from(bad: UnusableUrl) -> Self {
        Self::Url(bad)
    }
}
