use askback_core::future::BoxFuture;

use super::RegisteredClient;
use crate::Secret;

/// A source of assertions: the identity token of a user who signed in to their company, or the
/// token with which a platform identifies the program it runs.
///
/// A [`Secret`] is a source that returns itself. A function that reads a new assertion for each
/// request is one too.
pub trait AssertionSource: Send + Sync + 'static {
    /// Returns an assertion for this audience, which is an issuer.
    ///
    /// # Errors
    ///
    /// The reason why there is no assertion.
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

/// A company's identity provider, which decides who may use which server (the extension
/// `io.modelcontextprotocol/enterprise-managed-authorization`).
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client: RegisteredClient,
}

impl IdentityProvider {
    /// Creates a provider. `client` is this program's registration with it.
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
