//! How a person is asked to sign in.

use std::fmt;

use askback_core::{
    auth::{Scopes, SignInError},
    future::BoxFuture,
};
use url::Url;

use crate::identity::RegisteredClient;

/// How a host shows a person where to sign in, and hears what came of it.
///
/// A host that has a browser at hand listens on the loopback interface and opens the URL; one
/// without prints the URL and lets the person paste where the browser ended.
pub trait SignIn: Send + Sync + 'static {
    /// Gets ready for one sign-in, before anything is asked: from here on the redirect URI is known.
    ///
    /// # Errors
    ///
    /// Why the person cannot be asked.
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>>;
}

/// One sign-in that is about to take place.
pub trait Redirect: Send {
    /// Where the browser is sent back to: `http://127.0.0.1:…`, `http://localhost:…`, or an `https`
    /// URL of the host's own.
    fn uri(&self) -> &str;

    /// Asks the person whether the client may become known to this authorization server, by its name,
    /// before it is registered there for a sign-in. Without an implementation of its own, it may.
    ///
    /// # Errors
    ///
    /// Why it may not.
    fn agree<'a>(&'a mut self, issuer: &'a str) -> BoxFuture<'a, Result<(), SignInError>> {
        let _ = issuer;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Asks the person for the client that they registered with this authorization server by hand, to come back to
    /// [`uri`](Self::uri): what is done last, where the server takes no document and registers no clients itself
    /// (2026-07-28, basic/authorization/client-registration). It is kept in the
    /// [`CredentialStore`](super::CredentialStore) once a sign-in with it has succeeded. Without an implementation of
    /// its own, there is none.
    ///
    /// # Errors
    ///
    /// Why the person cannot be asked, or said no.
    fn client<'a>(
        &'a mut self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<RegisteredClient>, SignInError>> {
        let _ = issuer;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Shows the URL of the request to the person, and waits for the whole URL the browser is sent
    /// back to. The future is dropped where nobody waits for the sign-in any more.
    ///
    /// A listener passes over what [`SignInRequest::is_answer`] does not know: any page can reach
    /// it.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>>;
}

/// The request that a person is asked to agree to.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInRequest {
    url: Url,
    /// Names this sign-in among all others.
    state: String,
    /// The server that will be used.
    pub server: String,
    /// The server's own name, unverified.
    pub server_name: Option<String>,
    /// The authorization server that asks, by its name.
    pub issuer: String,
    /// The requested scopes; none where the authorization server chooses.
    pub scopes: Option<Scopes>,
    /// Those of the requested scopes that no earlier sign-in asked for; none where there was no earlier one with this
    /// authorization server, or it asked for them all.
    pub more: Option<Scopes>,
}

impl SignInRequest {
    pub(super) fn new(
        url: Url,
        state: String,
        server: String,
        server_name: Option<String>,
        issuer: String,
        (scopes, more): (Option<Scopes>, Option<Scopes>),
    ) -> Self {
        Self {
            url,
            state,
            server,
            server_name,
            issuer,
            scopes,
            more,
        }
    }

    /// Where the person signs in: an `https` URL, or `http` to the own machine, as one word without
    /// spaces and quotes. To be opened as the one argument of a program and never through a shell.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Whether a URL the browser came back to is of this sign-in and not of another.
    #[must_use]
    pub fn is_answer(&self, redirected: &str) -> bool {
        let Ok(url) = Url::parse(redirected) else {
            return false;
        };
        let mut states = url.query_pairs().filter(|(name, _)| name == "state");
        let state = states.next();
        state.is_some_and(|(_, state)| state == *self.state) && states.next().is_none()
    }
}

impl fmt::Debug for SignInRequest {
    /// Without the query of the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInRequest")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .field("more", &self.more)
            .finish_non_exhaustive()
    }
}
