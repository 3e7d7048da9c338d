//! The rights of a token, and the verifiers that know them.

use std::{fmt, sync::Arc};

use askback_core::{
    ask::{Millis, Principal},
    auth::Scopes,
    future::BoxFuture,
};

/// Finds out what a token is worth.
///
/// A verifier accepts a token only if it was issued for [`PresentedToken::resource`]: a token for
/// another server is worth nothing here, however good it is there (2026-07-28,
/// basic/authorization, Token Handling).
pub trait TokenVerifier: Send + Sync + 'static {
    /// The issuers whose tokens it accepts, as clients are told of them. There must be one, except
    /// while a server is developed.
    fn issuers(&self) -> Vec<String>;

    /// Verifies a token and returns its rights.
    ///
    /// The future may be dropped when the client goes away.
    fn verify<'a>(&'a self, token: PresentedToken<'a>)
    -> BoxFuture<'a, Result<Access, TokenError>>;

    /// Gets ready what verifying needs, such as keys, so that the first request need not wait. It
    /// is called when the server begins, or a service of it is made within a tokio runtime.
    fn prepare(&self, _now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A token as it came with a request. It cannot be printed, kept or sent on:
///
/// ```compile_fail
/// # use askback::authorization::server::PresentedToken;
/// fn pass_on(token: PresentedToken<'_>) -> http::HeaderValue {
///     token.try_into().unwrap()
/// }
/// ```
#[derive(Clone, Copy)]
pub struct PresentedToken<'a> {
    token: &'a str,
    resource: &'a str,
    now: Millis,
}

/// The rights of a valid token.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Access {
    /// The principal. Sessions, sealed states, subscriptions and tasks belong to it.
    pub principal: Principal,
    /// The scopes of the token, without those they imply.
    pub scopes: Scopes,
    /// When the token ends, where that is known.
    pub expires: Option<Millis>,
    /// The thumbprint of the key that whoever sends the token must prove to hold (`cnf.jkt`, RFC
    /// 9449, 6). The proof is checked by the [`Protection`](super::Protection).
    pub key: Option<String>,
}

/// Why a token is worth nothing, or cannot be judged. What is said here goes to the log; a client
/// is told no more than which of these it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It was good once: the client should get another.
    #[error("the token has expired")]
    Expired,
    /// It is not good here, and never was.
    #[error("the token is not valid here: {0}")]
    Invalid(String),
    /// It is bound to a key that whoever sent it did not prove to hold (RFC 9449).
    #[error("nobody proves to hold the key of the token: {0}")]
    Proof(String),
    /// The proof that came with it lacks a nonce of this server (RFC 9449, 9).
    #[error("the proof holds no nonce of this server, or an old one")]
    Nonce,
    /// It cannot be judged now; the client is to blame for nothing.
    #[error("the token cannot be verified now: {0}")]
    Unavailable(String),
}

impl<'a> PresentedToken<'a> {
    /// A token that came to this server at this time. The resource is the server's URL.
    #[must_use]
    pub fn new(token: &'a str, resource: &'a str, now: Millis) -> Self {
        Self {
            token,
            resource,
            now,
        }
    }

    /// The token itself: for its verification and for nothing else. Whoever sends it to another
    /// server than its issuer gives away what the client trusted this server with (2026-07-28,
    /// basic/authorization/security-considerations, Access Token Privilege Restriction).
    #[must_use]
    pub fn reveal(&self) -> &'a str {
        self.token
    }

    /// The URL of this server: the audience the token must have been issued for.
    #[must_use]
    pub fn resource(&self) -> &'a str {
        self.resource
    }

    /// When it came.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }
}

impl fmt::Debug for PresentedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedToken").finish_non_exhaustive()
    }
}

impl Access {
    /// The rights of a token that does not expire.
    #[must_use]
    pub fn new(principal: Principal, scopes: Scopes) -> Self {
        Self {
            principal,
            scopes,
            expires: None,
            key: None,
        }
    }

    /// Sets the expiry.
    #[must_use]
    pub fn until(mut self, expires: Millis) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Binds the token to the key with this thumbprint.
    #[must_use]
    pub fn bound_to(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }
}

/// The rights of a token without scopes that does not expire.
impl From<Principal> for Access {
    fn from(principal: Principal) -> Self {
        Self::new(principal, Scopes::new())
    }
}

impl<V: TokenVerifier + ?Sized> TokenVerifier for Arc<V> {
    fn issuers(&self) -> Vec<String> {
        (**self).issuers()
    }

    fn verify<'a>(
        &'a self,
        token: PresentedToken<'a>,
    ) -> BoxFuture<'a, Result<Access, TokenError>> {
        (**self).verify(token)
    }

    fn prepare(&self, now: Millis) -> BoxFuture<'_, ()> {
        (**self).prepare(now)
    }
}
