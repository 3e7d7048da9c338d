use std::{future::Future, sync::Arc};

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
use crate::{mutex::Mutex, store::Store};

/// Only admits requests with a token for this server.
///
/// The server's metadata (RFC 9728) is at `/.well-known/oauth-protected-resource`, followed by the path of the server's
/// URL. Every refusal links to it.
#[derive(Clone)]
#[must_use = "a protection protects the endpoint it is given to"]
pub struct Protection {
    pub(super) document: ProtectedResource,
    pub(super) metadata_url: String,
    pub(super) metadata_path: String,
    pub(super) required: Scopes,
    pub(super) hierarchy: Hierarchy,
    pub(super) verifier: Arc<dyn TokenVerifier>,
    pub(super) proofs: Proofs,
    pub(super) bound_only: bool,
    /// When the log last said that tokens cannot be verified.
    pub(super) complained: Arc<Mutex<Option<Instant>>>,
}

/// A protection with an invalid configuration, which the operator has to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadProtection {
    /// The URL of the server or of an issuer cannot be used.
    #[error(transparent)]
    Url(#[from] UnusableUrl),
    /// The URL of the server ends with a slash or has a query, so clients would spell it in different ways.
    #[error("{0:?} cannot name a server: leave out the slash at its end, and any query")]
    Resource(String),
    /// The scopes are invalid.
    #[error(transparent)]
    Scopes(#[from] BadScopes),
    /// The system provided no random bytes for the nonces' key.
    #[error("there is no entropy for nonces: {0}")]
    Entropy(String),
}

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
    /// Protects the server at this URL, such as `https://mcp.example.com/mcp`. Tokens must have been issued for exactly
    /// this URL.
    ///
    /// Clients are told about the verifier's issuers.
    ///
    /// # Errors
    ///
    /// [`BadProtection`] if the URL cannot identify a server. It must be `https://`, or `http://` on this machine,
    /// without user name, query, fragment and trailing slash, because it is compared as a string.
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

    /// Protects the server at this URL with tokens that the function knows, such as keys in a database.
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
    /// Clients are not told about any issuer: their users paste a token into the configuration. The function must only
    /// accept tokens for this server. It must not store the token or send it to another server. If it compares strings
    /// itself, it should compare their hashes, because the duration of a comparison reveals how much of a guess is
    /// right.
    ///
    /// # Errors
    ///
    /// As for [`Protection::new`].
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
            proofs: Proofs::new(url),
            bound_only: false,
            complained: Arc::default(),
        })
    }

    /// Sets the scopes that every request needs. Clients learn them before they sign in, so only set what all requests
    /// need. For the additional scopes of single tools, use [`Tool::scopes`](crate::Tool::scopes) (2026-07-28,
    /// basic/authorization, Scope Selection Strategy).
    ///
    /// # Errors
    ///
    /// [`BadProtection`] if a scope is invalid.
    pub fn scopes<T: AsRef<str>>(
        mut self,
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadProtection> {
        self.required = Scopes::of_server(scopes)?;
        // An empty list would mean that no scopes are ever needed.
        let listed: Vec<_> = self.required.iter().map(str::to_owned).collect();
        self.document.scopes_supported = (!listed.is_empty()).then_some(listed);
        Ok(self)
    }

    /// Makes a scope imply others: `implies("notes:write", ["notes:read"])`. A token with the first scope then counts
    /// as having the others.
    ///
    /// # Errors
    ///
    /// [`BadProtection`] if a scope is invalid.
    pub fn implies<T: AsRef<str>>(
        mut self,
        broad: &str,
        narrow: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadProtection> {
        self.hierarchy.add(broad, &Scopes::of_server(narrow)?)?;
        Ok(self)
    }

    /// Only accepts tokens that are bound to a key (DPoP, RFC 9449), so that a stolen token is useless. The sender of a
    /// bound token must always prove possession of the key, with a proof for this request that is at most a minute old
    /// and used only once. By default, unbound tokens are accepted, too.
    ///
    /// Used proofs are remembered per process, so another process would accept them again without
    /// [`share_dpop_proofs`](Self::share_dpop_proofs).
    pub fn require_dpop(mut self) -> Self {
        self.bound_only = true;
        self.document.dpop_bound_access_tokens_required = true;
        self
    }

    /// Requires a nonce of this server in every proof, so that a proof cannot be made long in advance (RFC 9449, 9).
    /// The client gets it with the refusal of its first request, and a new one every five minutes. Each process has its
    /// own nonces: if several processes serve one URL, always route a client to the same process.
    ///
    /// # Errors
    ///
    /// [`BadProtection::Entropy`] if the system provides no random bytes.
    pub fn require_dpop_nonce(mut self) -> Result<Self, BadProtection> {
        let proofs = self.proofs.with_nonces();
        self.proofs = proofs.map_err(|error| BadProtection::Entropy(error.to_string()))?;
        Ok(self)
    }

    /// Remembers used proofs in a store that all processes share, so that a proof is used once at all of them together.
    /// By default, each process remembers its own proofs.
    ///
    /// Each request with a bound token then takes a round trip to the store. It leaves a claim that counts as about 300
    /// bytes for four minutes, so 900 such requests a second fill a store of 64 MiB: give the protection a store of its
    /// own. While the store cannot be reached or is full, requests with bound tokens get the status 503.
    pub fn share_dpop_proofs(mut self, store: impl Store + 'static) -> Self {
        self.proofs = self.proofs.with_store(store);
        self
    }

    /// Sets the server's display name for the sign-in.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.document.resource_name = Some(name.into());
        self
    }

    /// Sets the URL of the documentation for developers.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.document.resource_documentation = Some(url.into());
        self
    }

    /// Returns the URL of the server, which tokens must be issued for.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.document.resource
    }

    pub(crate) fn document(&self) -> Vec<u8> {
        // Strings and lists of them always serialize.
        serde_json::to_vec(&self.document).unwrap_or_default()
    }

    pub(crate) async fn prepare(&self, now: Millis) {
        self.verifier.prepare(now).await;
    }

    /// Returns the path of the server's metadata, such as `/.well-known/oauth-protected-resource/mcp`. A standalone
    /// endpoint serves it. In a router, route `GET` requests for this path to the same
    /// [`Service`](crate::http::Service).
    #[must_use]
    pub fn metadata_path(&self) -> &str {
        &self.metadata_path
    }
}
