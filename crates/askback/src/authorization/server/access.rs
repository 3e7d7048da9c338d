use std::{fmt, sync::Arc};

use askback_core::{
    ask::{Millis, Principal},
    auth::Scopes,
    future::BoxFuture,
};

/// Verifies tokens.
///
/// A verifier must only accept tokens that were issued for [`PresentedToken::resource`]: a valid token for another
/// server is not valid here (2026-07-28, basic/authorization, Token Handling).
pub trait TokenVerifier: Send + Sync + 'static {
    /// Returns the accepted issuers, which clients are told about. There must be at least one, except during
    /// development.
    fn issuers(&self) -> Vec<String>;

    /// Verifies a token and returns its rights.
    ///
    /// The future may be dropped if the client goes away.
    fn verify<'a>(&'a self, token: PresentedToken<'a>)
    -> BoxFuture<'a, Result<Access, TokenError>>;

    /// Prepares for verification, for example by fetching keys, so that the first request need not wait. Called when
    /// the server starts, or when a service is created within a tokio runtime.
    fn prepare(&self, _now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A token that came with a request. It cannot be printed, stored or sent on:
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
    /// The scopes of the token, without implied ones.
    pub scopes: Scopes,
    /// When the token expires, if known.
    pub expires: Option<Millis>,
    /// The thumbprint of the key that the token's sender must prove to hold (`cnf.jkt`, RFC 9449, 6). The
    /// [`Protection`](super::Protection) checks the proof.
    pub key: Option<String>,
}

/// Why a token is invalid or cannot be verified. The details go to the log; the client is only told which variant it
/// is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token has expired: the client should get a new one.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid here.
    #[error("the token is not valid here: {0}")]
    Invalid(String),
    /// The token is bound to a key that the sender did not prove to hold (RFC 9449).
    #[error("the client did not prove that it holds the token's key: {0}")]
    Proof(String),
    /// The proof of the token lacks a nonce of this server (RFC 9449, 9).
    #[error("the proof holds no nonce of this server, or an old one")]
    Nonce,
    /// The token cannot be verified at the moment. The client is not at fault.
    #[error("the token cannot be verified now: {0}")]
    Unavailable(String),
}

pub(super) fn invalid(why: &str) -> TokenError {
    TokenError::Invalid(why.to_owned())
}

impl<'a> PresentedToken<'a> {
    /// Creates a token received at this time. The resource is the server's URL.
    #[must_use]
    pub fn new(token: &'a str, resource: &'a str, now: Millis) -> Self {
        Self {
            token,
            resource,
            now,
        }
    }

    /// Returns the token, for verification only. Never send it to another server than its issuer, because the client
    /// trusted only this server with it (2026-07-28, basic/authorization/security-considerations, Access Token
    /// Privilege Restriction).
    #[must_use]
    pub fn reveal(&self) -> &'a str {
        self.token
    }

    /// Returns the URL of this server, which the token's audience must contain.
    #[must_use]
    pub fn resource(&self) -> &'a str {
        self.resource
    }

    /// Returns when the token was received.
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
    /// Creates the rights of a token that does not expire.
    #[must_use]
    pub fn new(principal: Principal, scopes: Scopes) -> Self {
        Self {
            principal,
            scopes,
            expires: None,
            key: None,
        }
    }

    /// Sets when the token expires.
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

/// The rights of a token that has no scopes and does not expire.
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
