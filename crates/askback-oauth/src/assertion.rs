//! Identities that somebody else vouches for.

use askback_core::future::BoxFuture;

use super::RegisteredClient;
use crate::Secret;

/// Where an assertion comes from: the identity token of a person who signed in to their company,
/// or the token by which a platform vouches for the program that runs on it.
///
/// A [`Secret`] is such a source, which gives itself; so is a function that reads one anew each
/// time.
pub trait AssertionSource: Send + Sync + 'static {
    /// An assertion that is good for this audience, which is an issuer.
    ///
    /// # Errors
    ///
    /// Words on why there is none.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, String>>;
}

impl AssertionSource for Secret {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

impl<F> AssertionSource for F
where
    F: Fn(&str) -> Result<Secret, String> + Send + Sync + 'static,
{
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(async move { self(audience) })
    }
}

/// The identity provider of a company, which decides who uses which server
/// (the extension `io.modelcontextprotocol/enterprise-managed-authorization`).
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client: RegisteredClient,
}

impl IdentityProvider {
    /// The provider with this name and token endpoint, to which this client is known by this
    /// registration.
    pub fn new(
        issuer: impl Into<String>,
        token_endpoint: impl Into<String>,
        client: RegisteredClient,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: token_endpoint.into(),
            client,
        }
    }
}
