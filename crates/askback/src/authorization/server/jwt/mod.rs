//! Signed access tokens (RFC 9068), checked here against the keys of their issuer.

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
    access::{Access, PresentedToken, TokenError, TokenVerifier},
    fetch::{UnusableUrl, fetcher, usable},
};

/// How far the clocks of this machine and of an issuer may differ.
const LEEWAY: Duration = Duration::from_secs(30);

/// The types of a token that is an access token (RFC 9068, 2.1).
const ACCESS_TOKENS: [&str; 2] = ["at+jwt", "application/at+jwt"];

/// The type many issuers give to all their tokens.
const PLAIN: [&str; 2] = ["JWT", "application/jwt"];

/// Whether a type is one of these. Their letters may be large or small (RFC 7515, 4.1.9).
fn is_among(known: &[&str], typ: &str) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(typ))
}

/// Checks tokens that are signed by one issuer.
///
/// A token is good if it is signed with a key of the issuer by one of the pinned algorithms, none
/// of which is symmetric; if it is an access token (`typ`), from that issuer (`iss`, compared as
/// text), for this server (`aud`), about somebody (`sub`), and if its time has come (`nbf`) and has
/// not gone (`exp`). The principal is its issuer, its subject, its client (`client_id`, else `azp`)
/// and, where [`JwtVerifier::tenant_claim`] names one, its tenant.
///
/// The keys are kept in memory. They are fetched when the server begins, when a token names a key
/// that is not known, and now and then beside the requests, so that keys that are gone are no
/// longer trusted; never while a token waits whose key is known. At most one fetch goes on at a
/// time, and the next one waits for half a minute, so that nobody can have this server bother the
/// issuer with tokens that name keys at random. Where they cannot be fetched, they are
/// good for a day.
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
    /// Tokens of the issuer with this URL, whose document (RFC 8414, or OpenID Connect Discovery)
    /// says where its keys are.
    ///
    /// # Errors
    ///
    /// [`BadKeys`] where the URL cannot be used, or this machine cannot make requests.
    pub fn discover(issuer: impl Into<String>) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::of_issuer(fetcher()?, &issuer)?;
        Ok(Self::new(issuer, source))
    }

    /// Tokens of the issuer with this name, whose keys are at this URL (`jwks_uri`).
    ///
    /// # Errors
    ///
    /// [`BadKeys`] where a URL cannot be used, or this machine cannot make requests.
    pub fn with_jwks_url(issuer: impl Into<String>, url: &str) -> Result<Self, BadKeys> {
        let issuer = issuer.into();
        usable(&issuer)?;
        let source = Source::at(fetcher()?, usable(url)?);
        Ok(Self::new(issuer, source))
    }

    /// Tokens of the issuer with this name and these keys, a JSON Web Key Set. Nothing is fetched;
    /// keys that change need another verifier.
    ///
    /// # Errors
    ///
    /// [`BadKeys`] where the issuer has no usable URL, or the set no key that signs tokens.
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

    /// Sets the only algorithms by which a token may be signed. By default all of
    /// [`SigningAlgorithm`] are, each with keys that are meant for it.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = SigningAlgorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Adds a name under which the issuer knows this server, for issuers that cannot write its URL
    /// into `aud`. A name that other servers share lets their tokens in here.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the claim that holds the tenant, a text. A token without it is then refused.
    #[must_use]
    pub fn tenant_claim(mut self, name: impl Into<String>) -> Self {
        self.tenant_claim = Some(name.into());
        self
    }

    /// Sets the claim that holds the scopes, where that is not `scope`: a text with spaces, or a
    /// list.
    #[must_use]
    pub fn scope_claim(mut self, name: impl Into<String>) -> Self {
        self.scope_claim = name.into();
        self
    }

    /// Accepts also tokens of the type `JWT`, and those without a type, for issuers that do not
    /// mark their access tokens (RFC 9068, 2.1). What else the issuer signs is then told from an
    /// access token by its audience alone.
    #[must_use]
    pub fn accept_plain_type(mut self) -> Self {
        self.plain_type = true;
        self
    }

    /// Sets how far the clocks of this machine and of the issuer may differ; by default 30 s.
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

    /// The algorithm of a token that is not refused for its header alone.
    fn algorithm(&self, header: &Header) -> Result<SigningAlgorithm, TokenError> {
        let algorithm = header.accepted(&self.algorithms)?;
        let is_access_token = match header.typ.as_deref() {
            Some(typ) => is_among(&ACCESS_TOKENS, typ) || self.plain_type && is_among(&PLAIN, typ),
            None => self.plain_type,
        };
        if is_access_token {
            Ok(algorithm)
        } else {
            Err(TokenError::Invalid(
                "it is no access token (`typ`)".to_owned(),
            ))
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
