//! Client-side authorization (2026-07-28, basic/authorization).
//!
//! Pass an [`Authorization`] to [`Http`](crate::transport::Http::authorize). If the server refuses a request, the
//! client discovers the authorization server, registers with it, lets the user sign in, and repeats the request.
//! Registrations and tokens are stored in a [`CredentialStore`].
//!
//! The types come from the crate `askback-oauth`.

#[doc(inline)]
pub use askback_oauth::{
    Algorithm, AssertionSource, Authorization, AuthorizationError, CredentialKey, CredentialStore,
    IdentityProvider, KeyLock, MemoryCredentials, Redirect, RegisteredClient, SignIn, SignInError,
    SignInRequest, SignOut, SigningKey, StoredSignIn,
};
