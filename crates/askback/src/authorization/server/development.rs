use askback_core::{ask::Principal, auth::Scopes, future::BoxFuture};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::access::{Access, PresentedToken, TokenError, TokenVerifier, invalid};
use crate::entropy::entropy;

/// A few fixed tokens, to try out a server without an authorization server.
///
/// Use them for development only: they have no issuer, audience or expiry, and anyone who can read the program or its
/// arguments has them. A server that uses them logs a warning. Only digests of the tokens are stored, and compared in
/// constant time.
///
/// ```
/// use askback::{Principal, authorization::server::DevelopmentTokens};
///
/// let tokens = DevelopmentTokens::new().allow(Principal::new("alice"), "alices-token", ["notes:read"])?;
/// # Ok::<(), askback::authorization::server::BadToken>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct DevelopmentTokens(Vec<KnownToken>);

#[derive(Debug, Clone)]
struct KnownToken {
    digest: [u8; 32],
    access: Access,
}

/// An invalid development token. This is a bug in the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadToken {
    /// The token is empty, or has characters that tokens cannot have.
    #[error("a token is written in letters, digits and the characters -._~+/, with = at its end")]
    Written,
    /// Two principals have the same token.
    #[error("two development tokens are the same")]
    Twice,
    /// The system provided no random bytes.
    #[error("there is no entropy for a token: {0}")]
    Entropy(String),
    /// The scopes are invalid.
    #[error(transparent)]
    Scopes(#[from] askback_core::auth::BadScopes),
}

impl DevelopmentTokens {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token for this principal with these scopes.
    ///
    /// # Errors
    ///
    /// See [`BadToken`].
    pub fn allow<T: AsRef<str>>(
        mut self,
        principal: Principal,
        token: &str,
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadToken> {
        if !is_token(token.as_bytes()) {
            return Err(BadToken::Written);
        }
        let digest = Sha256::digest(token).into();
        if self.0.iter().any(|known| known.digest == digest) {
            return Err(BadToken::Twice);
        }
        if self.0.is_empty() {
            tracing::warn!("this server accepts development tokens: use it for development only");
        }
        let access = Access::new(principal, Scopes::of(scopes)?);
        self.0.push(KnownToken { digest, access });
        Ok(self)
    }

    /// Adds a random token for this principal, and returns it, to show it to the developer.
    ///
    /// # Errors
    ///
    /// See [`BadToken`].
    pub fn draw<T: AsRef<str>>(
        self,
        principal: Principal,
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<(Self, String), BadToken> {
        let random = entropy::<18>().map_err(|error| BadToken::Entropy(error.to_string()))?;
        let token = format!("development-{}", URL_SAFE_NO_PAD.encode(random));
        let tokens = self.allow(principal, &token, scopes)?;
        Ok((tokens, token))
    }
}

impl TokenVerifier for DevelopmentTokens {
    /// Empty, because these tokens have no issuer.
    fn issuers(&self) -> Vec<String> {
        Vec::new()
    }

    fn verify<'a>(
        &'a self,
        token: PresentedToken<'a>,
    ) -> BoxFuture<'a, Result<Access, TokenError>> {
        let digest: [u8; 32] = Sha256::digest(token.reveal()).into();
        let mut found = None;
        for known in &self.0 {
            if are_equal(&known.digest, &digest) {
                found = Some(&known.access);
            }
        }
        let unknown = || invalid("it is not a development token of this server");
        Box::pin(std::future::ready(found.cloned().ok_or_else(unknown)))
    }
}

fn are_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let pairs = one.iter().zip(other);
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0
}

/// Whether the text is a `b64token` (RFC 6750, 2.1).
pub(super) fn is_token(text: &[u8]) -> bool {
    let end = text.iter().rposition(|byte| *byte != b'=');
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    end.is_some_and(|end| text[..=end].iter().all(known))
}
