use askback_core::{
    auth::{Scopes, SignInError},
    future::BoxFuture,
};
use url::Url;

use crate::identity::RegisteredClient;

/// How a host shows a user where to sign in, and receives the answer.
///
/// A host with a browser listens on the loopback interface and opens the URL. Other hosts print the
/// URL and let the user paste the URL that the browser ends at.
pub trait SignIn: Send + Sync + 'static {
    /// Prepares one sign-in and fixes its redirect URI. Called before the user is asked.
    ///
    /// # Errors
    ///
    /// The reason why the user cannot be asked.
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>>;
}

/// A prepared sign-in.
pub trait Redirect: Send {
    /// Returns the redirect URI: `http://127.0.0.1:…`, `http://localhost:…`, or an `https` URL of
    /// the host.
    fn uri(&self) -> &str;

    /// Asks the user whether the client may register with this authorization server. The default
    /// implementation agrees.
    ///
    /// # Errors
    ///
    /// The reason why it may not.
    fn agree<'a>(&'a mut self, issuer: &'a str) -> BoxFuture<'a, Result<(), SignInError>> {
        let _ = issuer;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Asks the user for a client that they registered by hand with this authorization server, with
    /// [`uri`](Self::uri) as redirect URI. This is the last resort, for servers that accept no
    /// metadata document and register no clients (2026-07-28,
    /// basic/authorization/client-registration). The client is saved in the
    /// [`CredentialStore`](super::CredentialStore) after a successful sign-in. The default
    /// implementation has none.
    ///
    /// # Errors
    ///
    /// The reason why the user cannot be asked, or refused.
    fn client<'a>(
        &'a mut self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<RegisteredClient>, SignInError>> {
        let _ = issuer;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Shows the URL of the request to the user, and waits for the whole URL that the browser is
    /// redirected to. The future is dropped when no caller waits for the sign-in any more.
    ///
    /// A listener must ignore URLs that [`SignInRequest::is_answer`] rejects, because any web page
    /// can send a request to it.
    ///
    /// # Errors
    ///
    /// The reason why there is no answer.
    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>>;
}

/// The request that a user is asked to approve.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInRequest {
    pub(super) url: Url,
    pub(super) state: String,
    /// The server that will be used.
    pub server: String,
    /// The server's name for itself, unverified.
    pub server_name: Option<String>,
    /// The issuer name of the authorization server.
    pub issuer: String,
    /// The requested scopes. `None` lets the authorization server choose.
    pub scopes: Option<Scopes>,
    /// The requested scopes that are new since earlier sign-ins with this authorization server.
    /// `None` if there was no earlier sign-in, or if no scope is new.
    pub more: Option<Scopes>,
}

impl SignInRequest {
    /// Returns the URL to open: `https`, or `http` on this machine, without spaces and quotes. Pass
    /// it as a program's only argument, never through a shell.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns whether a redirected URL belongs to this sign-in.
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

// Omits the URL, whose query holds secrets.
askback_core::debug_only!(SignInRequest {
    server,
    issuer,
    scopes,
    more
});
