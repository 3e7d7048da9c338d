//! Tokens for development: they stand in the program or on its command line, never expire, and
//! cannot be taken back.

use askback_core::{ask::Principal, auth::Scopes, future::BoxFuture};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::access::{Access, PresentedToken, TokenError, TokenVerifier};
use crate::entropy::entropy;

/// A few fixed tokens, for trying a server out while there is no authorization server.
///
/// They are for development only: they have no issuer, no audience and no end, and whoever reads
/// the program or its arguments has them. A server that uses them says so in its log. Kept are
/// their digests, which are compared without regard to where they differ.
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

/// A development token that cannot be one; the caller is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadToken {
    /// It is empty, or holds characters that no token has.
    #[error("a token is written in letters, digits and the characters -._~+/, with = at its end")]
    Written,
    /// Two principals would have it.
    #[error("two development tokens are the same")]
    Twice,
    /// A token could not be drawn: the environment is broken.
    #[error("there is no entropy for a token: {0}")]
    Entropy(String),
    /// The scopes of the token are not scopes.
    #[error(transparent)]
    Scopes(#[from] askback_core::auth::BadScopes),
}

impl DevelopmentTokens {
    /// No tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token of this principal, for these scopes.
    ///
    /// # Errors
    ///
    /// [`BadToken`].
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

    /// Adds a token of this principal that nobody can guess, and says which it is, to be shown to
    /// whoever tries the server out.
    ///
    /// # Errors
    ///
    /// [`BadToken`].
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
    /// None: these tokens come from nowhere.
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
        let unknown =
            || TokenError::Invalid("it is no development token of this server".to_owned());
        Box::pin(std::future::ready(found.cloned().ok_or_else(unknown)))
    }
}

/// Whether two digests are equal, in a time that does not depend on where they differ.
fn are_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let pairs = one.iter().zip(other);
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0
}

/// `b64token` (RFC 6750, 2.1).
pub(super) fn is_token(text: &[u8]) -> bool {
    let end = text.iter().rposition(|byte| *byte != b'=');
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    end.is_some_and(|end| text[..=end].iter().all(known))
}
