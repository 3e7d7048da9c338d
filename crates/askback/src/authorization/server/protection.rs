//! The protection of an endpoint by tokens.

use std::{
    future::Future,
    sync::{Arc, Mutex},
};

use askback_core::{
    ask::Millis,
    auth::{BadScopes, ProtectedResource, Scopes},
    future::BoxFuture,
};
use tokio::time::Instant;

use super::{
    access::{Access, PresentedToken, TokenError, TokenVerifier},
    dpop::Proofs,
    fetch::{UnusableUrl, usable},
    hierarchy::Hierarchy,
};

/// Lets only those in who have a token for this server.
///
/// Its document (RFC 9728) stands at `/.well-known/oauth-protected-resource`, followed by the path
/// of the server's URL, and every refusal leads there.
#[derive(Clone)]
#[must_use = "a protection protects the endpoint it is given to"]
pub struct Protection {
    pub(super) document: ProtectedResource,
    /// Where the document stands.
    pub(super) metadata_url: String,
    pub(super) metadata_path: String,
    /// The scopes that every request needs.
    pub(super) required: Scopes,
    pub(super) hierarchy: Hierarchy,
    pub(super) verifier: Arc<dyn TokenVerifier>,
    pub(super) proofs: Arc<Proofs>,
    /// Whether only tokens that are bound to a key are good.
    pub(super) bound_only: bool,
    /// When the log last said that tokens cannot be verified.
    pub(super) complained: Arc<Mutex<Option<Instant>>>,
}

/// A protection that cannot be; whoever configured it is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadProtection {
    /// The server, or an issuer, has a URL that cannot be used.
    #[error(transparent)]
    Url(#[from] UnusableUrl),
    /// The URL of the server ends with a slash, or holds a query: clients would name it in
    /// different ways.
    #[error("{0:?} cannot name a server: leave out the slash at its end, and any query")]
    Resource(String),
    /// The scopes are not scopes.
    #[error(transparent)]
    Scopes(#[from] BadScopes),
    /// A key for nonces could not be drawn: the environment is broken.
    #[error("there is no entropy for nonces: {0}")]
    Entropy(String),
}

/// A verifier that is a function.
struct VerifyFn<F>(F);

impl<F, Fut> TokenVerifier for VerifyFn<F>
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Access, TokenError>> + Send + 'static,
{
    fn issuers(&self) -> Vec<String> {
        Vec::new()
    }

    fn verify<'a>(
        &'a self,
        token: PresentedToken<'a>,
    ) -> BoxFuture<'a, Result<Access, TokenError>> {
        Box::pin((self.0)(token.reveal().to_owned()))
    }
}

impl Protection {
    /// The protection of the server that clients reach by this URL, such as
    /// `https://mcp.example.com/mcp`. Tokens must have been issued for exactly this URL.
    ///
    /// The issuers of the verifier are those clients are told of.
    ///
    /// # Errors
    ///
    /// [`BadProtection`] where the URL cannot name a server. It is compared as it stands:
    /// `https://`, or `http://` on this machine; no user name, query or fragment; no slash at its
    /// end.
    pub fn new(
        resource: impl Into<String>,
        verifier: impl TokenVerifier,
    ) -> Result<Self, BadProtection> {
        let issuers = verifier.issuers();
        if issuers.is_empty() {
            tracing::warn!("clients cannot find out where tokens come from: there is no issuer");
        }
        Self::build(resource.into(), issuers, Arc::new(verifier))
    }

    /// The protection of the server at this URL by tokens that the function knows, such as keys in a database.
    ///
    /// ```
    /// use std::{collections::HashMap, sync::Arc};
    ///
    /// use askback::{
    ///     Principal, Server,
    ///     authorization::server::{Access, Protection, TokenError},
    /// };
    ///
    /// # fn protect(server: Server) -> Result<(), Box<dyn std::error::Error>> {
    /// let users: Arc<HashMap<&str, &str>> = Arc::new([("alices-token", "alice")].into());
    /// let protection = Protection::verify_with("https://mcp.example.com/mcp", move |token| {
    ///     let users = Arc::clone(&users);
    ///     async move {
    ///         let user = users.get(&*token).copied();
    ///         let user = user.ok_or_else(|| TokenError::Invalid("no such token".to_owned()))?;
    ///         Ok(Access::from(Principal::new(user)))
    ///     }
    /// })?;
    /// let endpoint = server.http().protect(protection);
    /// # let _ = endpoint;
    /// # Ok(())
    /// # }
    /// # protect(Server::new("a", "1").build().unwrap()).unwrap();
    /// ```
    ///
    /// Clients are told of no issuer: their users paste a token into their configuration. The function must know
    /// only tokens that are for this server. It must not keep the token or send it to another server. If it
    /// compares texts itself, it should compare their hashes: how long a comparison takes tells an attacker how
    /// much of a guess is right.
    ///
    /// # Errors
    ///
    /// As [`Protection::new`].
    pub fn verify_with<F, Fut>(
        resource: impl Into<String>,
        verify: F,
    ) -> Result<Self, BadProtection>
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Access, TokenError>> + Send + 'static,
    {
        Self::build(resource.into(), Vec::new(), Arc::new(VerifyFn(verify)))
    }

    fn build(
        resource: String,
        issuers: Vec<String>,
        verifier: Arc<dyn TokenVerifier>,
    ) -> Result<Self, BadProtection> {
        let url = usable(&resource)?;
        if resource.ends_with('/') || url.query().is_some() {
            return Err(BadProtection::Resource(resource));
        }
        let places =
            ProtectedResource::well_known(&resource).map_err(|_| UnusableUrl(resource.clone()))?;
        let metadata_url = places.into_iter().next().unwrap_or_default();
        let metadata_path = usable(&metadata_url)?.path().to_owned();
        for issuer in &issuers {
            usable(issuer)?;
        }
        let mut document = ProtectedResource::new(resource, issuers);
        let algorithms = Proofs::algorithms().map(str::to_owned);
        document.dpop_signing_alg_values_supported = algorithms.collect();
        Ok(Self {
            document,
            metadata_url,
            metadata_path,
            required: Scopes::new(),
            hierarchy: Hierarchy::default(),
            verifier,
            proofs: Arc::new(Proofs::new(url)),
            bound_only: false,
            complained: Arc::default(),
        })
    }

    /// Sets the scopes that every request needs. Clients are told of them before they sign in, so
    /// name no more than that: what single tools need besides says
    /// [`Tool::scopes`](crate::Tool::scopes) (2026-07-28, basic/authorization, Scope Selection
    /// Strategy).
    ///
    /// # Errors
    ///
    /// [`BadProtection`] for what is no scope of a server.
    pub fn scopes<T: AsRef<str>>(
        mut self,
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadProtection> {
        self.required = Scopes::of_server(scopes)?;
        // A list of none would say that nothing is ever needed.
        let listed: Vec<_> = self.required.iter().map(str::to_owned).collect();
        self.document.scopes_supported = (!listed.is_empty()).then_some(listed);
        Ok(self)
    }

    /// Says that a scope comes with others: `implies("notes:write", ["notes:read"])`. A token that
    /// has the one is as good as one that has all of them.
    ///
    /// # Errors
    ///
    /// [`BadProtection`] for what is no scope of a server.
    pub fn implies<T: AsRef<str>>(
        mut self,
        broad: &str,
        narrow: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadProtection> {
        self.hierarchy.add(broad, &Scopes::of_server(narrow)?)?;
        Ok(self)
    }

    /// Takes only tokens that are bound to a key (DPoP, RFC 9449), so that one that was stolen is
    /// worth nothing. Whoever sends a bound token always has to prove that they hold its key, with a
    /// proof for this request that is a minute old at the most and comes once; without this, other
    /// tokens are good as well.
    ///
    /// Proofs are remembered in this process: another one would take them again.
    pub fn require_dpop(mut self) -> Self {
        self.bound_only = true;
        self.document.dpop_bound_access_tokens_required = true;
        self
    }

    /// Wants a nonce of this server in every proof, so that a proof cannot be made long before it is
    /// sent (RFC 9449, 9). A client learns it from the refusal of its first request, and a new one
    /// every five minutes. Another process has other nonces: where several serve one URL, send each
    /// client to the same.
    ///
    /// # Errors
    ///
    /// [`BadProtection::Entropy`] where the environment is broken.
    pub fn require_dpop_nonce(mut self) -> Result<Self, BadProtection> {
        let proofs = self.proofs.with_nonces();
        let proofs = proofs.map_err(|error| BadProtection::Entropy(error.to_string()))?;
        self.proofs = Arc::new(proofs);
        Ok(self)
    }

    /// Sets the server's display name for the person who signs in.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.document.resource_name = Some(name.into());
        self
    }

    /// Sets the URL of the documentation for developers.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.document.resource_documentation = Some(url.into());
        self
    }

    /// The URL of the server, for which tokens must be issued.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.document.resource
    }

    /// Returns the server's metadata, as JSON.
    pub(crate) fn document(&self) -> Vec<u8> {
        // Texts and lists of them can always be written.
        serde_json::to_vec(&self.document).unwrap_or_default()
    }

    /// Gets ready what the first request would wait for.
    pub(crate) async fn prepare(&self, now: Millis) {
        self.verifier.prepare(now).await;
    }

    /// The path at which the document of the server must be reached by `GET`, such as
    /// `/.well-known/oauth-protected-resource/mcp`. An endpoint that serves by itself answers
    /// there; in a router, route it to the same [`Service`](crate::http::Service).
    #[must_use]
    pub fn metadata_path(&self) -> &str {
        &self.metadata_path
    }
}
