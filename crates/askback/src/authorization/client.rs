//! A client that becomes authorized by itself (2026-07-28, basic/authorization).
//!
//! An [`Authorization`] is given to [`Http`](crate::transport::Http::authorize). When the server
//! refuses a request, the client finds out who gives tokens for it, becomes known there, lets the
//! person sign in, and sends the request again. What it learned is kept in a [`CredentialStore`].
//!
//! All of it comes from the crate `askback-oauth`.

#[doc(inline)]
pub use askback_oauth::{
    Algorithm, AssertionSource, Authorization, AuthorizationError, CredentialKey, CredentialStore,
    IdentityProvider, KeyLock, MemoryCredentials, Redirect, RegisteredClient, SignIn, SignInError,
    SignInRequest, SignOut, SigningKey, StoredSignIn,
};
