//! OAuth for clients of the Model Context Protocol (2026-07-28, basic/authorization), and for
//! servers that reach third parties.
//!
//! # A client of a server
//!
//! An [`Authorization`] says how a client becomes authorized; an [`Authorizer`] does it for one
//! server. When the server refuses a request, the client finds out who gives tokens for it, becomes
//! known there, lets the person sign in, and sends the request again. What it learned is kept in a
//! [`CredentialStore`]. The crate `askback` does this behind its feature `oauth-client`.
//!
//! # A third party
//!
//! A [`Provider`] is discovered, or given by hand. An [`AuthorizationRequest`] is the URL that a
//! person is sent to, a [`PendingAuthorization`] checks what they come back with, and a
//! [`TokenEndpoint`] exchanges the code, renews tokens and gives them back.
//!
//! ```
//! use askback_core::{auth::Scopes, limits::Limits};
//! use askback_oauth::{
//!     AuthorizationRequest, Fetcher, PendingAuthorization, Provider, Reach, RegisteredClient,
//!     Route, Secret, TokenEndpoint,
//! };
//!
//! # async fn tokens(
//! #     provider: Provider,
//! #     code: askback_oauth::AuthorizationCode,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! # let client = RegisteredClient::new("c-1");
//! # let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &Limits::default())?;
//! // Later, when the code is there:
//! let endpoint = TokenEndpoint::new(&fetcher, &provider, &client)?;
//! let tokens = endpoint.exchange(code).await?;
//! if let Some(refresh_token) = &tokens.refresh_token {
//!     let renewed = endpoint.refresh(refresh_token).await?;
//!     endpoint.revoke(&renewed.access_token).await?;
//! }
//! # Ok(())
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &Limits::default())?;
//! // `Provider::discover(&fetcher, "https://git.example")` where it describes itself.
//! let provider = Provider::new(
//!     "https://git.example",
//!     "https://git.example/login/oauth/authorize",
//!     "https://git.example/login/oauth/token",
//! )?;
//! let client = RegisteredClient::new("c-1").with_secret(Secret::new("hunter2"));
//!
//! let request = AuthorizationRequest::new(&provider, "c-1", "https://tools.example/connected")?
//!     .scopes(&Scopes::parse("repo")?);
//! let (url, pending) = request.begin()?;
//! assert!(url.as_str().starts_with("https://git.example/login/oauth/authorize?"));
//!
//! // The answer may come to another process.
//! let kept = pending.write()?;
//! let pending = PendingAuthorization::read(&kept)?;
//! let state = pending.state().to_owned();
//! let redirected = format!("https://tools.example/connected?code=x&state={state}");
//! let code = pending.accept(&redirected)?;
//! # let _ = (fetcher, client, code);
//! # Ok(())
//! # }
//! ```
//!
//! # How it is built
//!
//! The steps of a client are a machine without I/O (`flow`), which uses the same parts as anybody
//! else. All that is fetched goes through a [`Fetcher`], which reaches nothing inside a private
//! network on the word of a server: that is what its [`Reach`] says.

mod assertion;
mod authorizer;
mod clock;
mod code;
mod device;
mod drive;
mod entropy;
mod fetch;
mod flow;
mod identity;
mod key;
mod pins;
mod proof;
mod provider;
mod reach;
mod records;
mod shape;
mod shown;
mod sign_in;
mod store;
mod token;
mod token_endpoint;

use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use askback_core::{auth::Scopes, clock::Clock, limits::Limits};
use url::Url;

pub use askback_core::secret::Secret;
pub use askback_core::{
    auth::{AuthorizationError, SignInError},
    future::BoxFuture,
};
pub use askback_requests::Route;
pub use assertion::{AssertionSource, IdentityProvider};
pub use authorizer::{Attempt, Authorizer, Pass};
pub use code::{AuthorizationCode, AuthorizationRequest, PendingAuthorization};
pub use device::{DeviceAuthorization, DevicePoll};
pub use fetch::{FetchError, FetchedAnswer, Fetcher, Redirects};
pub use identity::RegisteredClient;
pub use key::{Algorithm, SigningKey};
pub use provider::Provider;
pub use reach::Reach;
pub use records::StoredSignIn;
pub use sign_in::{Redirect, SignIn, SignInRequest};
pub use store::{CredentialKey, CredentialStore, KeyLock, MemoryCredentials};
pub use token::Tokens;
pub use token_endpoint::TokenEndpoint;

use self::{clock::SystemClock, identity::Introduction};

/// How a client becomes authorized. Clones share what they know, so that several connections sign
/// in once.
#[derive(Clone)]
pub struct Authorization {
    config: Arc<Config>,
    servers: Arc<Mutex<HashMap<String, Arc<Authorizer>>>>,
}

/// The outcome of a sign-out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignOut {
    /// Nothing was kept for the server.
    WasNot,
    /// The tokens are forgotten, and the authorization server took them back.
    Revoked,
    /// The tokens are forgotten here, but may be good until they end, for the reason given.
    Forgotten(String),
}

#[derive(Clone)]
struct Config {
    how: SignInMethod,
    store: Arc<dyn CredentialStore>,
    clock: Arc<dyn Clock>,
    clients: Vec<RegisteredClient>,
    document: Option<String>,
    introduction: Introduction,
    scopes: Scopes,
    offline: bool,
    bound: bool,
    private: bool,
    proxy: Option<Url>,
    limits: Limits,
}

#[derive(Clone)]
enum SignInMethod {
    Person(Arc<dyn SignIn>),
    Client,
    Company(IdentityProvider, Arc<dyn AssertionSource>),
    Vouched(Arc<dyn AssertionSource>),
}

impl Authorization {
    /// A person signs in (the authorization code grant with PKCE).
    #[must_use]
    pub fn person(sign_in: impl SignIn) -> Self {
        Self::new(SignInMethod::Person(Arc::new(sign_in)), Vec::new())
    }

    /// The client acts for itself, with nobody at hand
    /// (the extension `io.modelcontextprotocol/oauth-client-credentials`).
    #[must_use]
    pub fn client_credentials(client: RegisteredClient) -> Self {
        Self::new(SignInMethod::Client, vec![client])
    }

    /// The company a person works for decides: its provider takes `identity`, the identity token it
    /// gave when the person signed in to it, and permits the use of the server. `client` is who the
    /// client is to the server's issuer
    /// (the extension `io.modelcontextprotocol/enterprise-managed-authorization`).
    #[must_use]
    pub fn company(
        provider: IdentityProvider,
        identity: impl AssertionSource,
        client: RegisteredClient,
    ) -> Self {
        Self::new(
            SignInMethod::Company(provider, Arc::new(identity)),
            vec![client],
        )
    }

    /// The platform a program runs on vouches for it with `assertion` (workload identity; RFC 7523).
    #[must_use]
    pub fn vouched(assertion: impl AssertionSource, client: RegisteredClient) -> Self {
        Self::new(SignInMethod::Vouched(Arc::new(assertion)), vec![client])
    }

    fn new(how: SignInMethod, clients: Vec<RegisteredClient>) -> Self {
        let config = Config {
            how,
            store: Arc::new(MemoryCredentials::new()),
            clock: Arc::new(SystemClock),
            clients,
            document: None,
            introduction: Introduction {
                name: "askback".to_owned(),
                uri: None,
            },
            scopes: Scopes::new(),
            offline: true,
            bound: false,
            private: false,
            proxy: None,
            limits: Limits::default(),
        };
        Self {
            config: Arc::new(config),
            servers: Arc::default(),
        }
    }

    /// Keeps credentials there; otherwise they are lost with the process.
    #[must_use]
    pub fn store(self, store: impl CredentialStore) -> Self {
        self.with(|config| config.store = Arc::new(store))
    }

    /// Sets a client that was registered by hand, to be used before any other way of becoming
    /// known. It can be given several times, for several issuers.
    #[must_use]
    pub fn client(self, client: RegisteredClient) -> Self {
        self.with(|config| config.clients.push(client))
    }

    /// Sets the document that describes this client, for issuers that take its URL as the client's
    /// id (2026-07-28, basic/authorization/client-registration, Client ID Metadata Documents). The
    /// document must hold exactly this URL as its `client_id`, and the redirect URIs of the host.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] if it is not an `https` URL with a path.
    pub fn metadata_document(self, url: &str) -> Result<Self, AuthorizationError> {
        let is_fit = |it: &Url| {
            let is_plain =
                it.as_str() == url && it.username().is_empty() && it.fragment().is_none();
            it.scheme() == "https" && it.path() != "/" && is_plain
        };
        if !Url::parse(url).as_ref().is_ok_and(is_fit) {
            return Err(AuthorizationError::Url {
                what: "the client's metadata document",
                url: shown::shown(url),
            });
        }
        Ok(self.with(|config| config.document = Some(url.to_owned())))
    }

    /// Sets the client's display name and home page for its registration.
    #[must_use]
    pub fn introduced_as(self, name: impl Into<String>, uri: Option<String>) -> Self {
        let name = name.into();
        self.with(|config| config.introduction = Introduction { name, uri })
    }

    /// Scopes to ask for beside those the server wants.
    #[must_use]
    pub fn scopes(self, scopes: Scopes) -> Self {
        self.with(|config| config.scopes = scopes)
    }

    /// Asks for no refresh token: the person signs in again whenever a token ends.
    #[must_use]
    pub fn without_refresh(self) -> Self {
        self.with(|config| config.offline = false)
    }

    /// Binds tokens to a key wherever the issuer can (DPoP, RFC 9449), also where the server says
    /// nothing of it. Otherwise they are bound where the server wants it or says that it can.
    #[must_use]
    pub fn bound_tokens(self) -> Self {
        self.with(|config| config.bound = true)
    }

    /// Lets a server name authorization servers within private networks, as in a company. Without
    /// it they are out of reach, so that no server can look into the network of its clients. What
    /// is on the machine itself stays out of reach, unless the server is there, too.
    #[must_use]
    pub fn allow_private_networks(self) -> Self {
        self.with(|config| config.private = true)
    }

    /// Sends all that is fetched for authorization through this proxy, such as
    /// `http://proxy.corp:8080`. Which addresses may be reached is then for the proxy to say. The
    /// proxy variables of the environment are not looked at.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] if it is no URL.
    pub fn proxy(self, url: &str) -> Result<Self, AuthorizationError> {
        let proxy = Url::parse(url).map_err(|_| AuthorizationError::Url {
            what: "the proxy",
            url: shown::shown(url),
        })?;
        Ok(self.with(|config| config.proxy = Some(proxy)))
    }

    /// Sets the bounds on what is fetched, and on the time a person has.
    #[must_use]
    pub fn limits(self, limits: &Limits) -> Self {
        self.with(|config| config.limits = limits.clone())
    }

    /// Tells the time.
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        self.with(|config| config.clock = Arc::new(clock))
    }

    /// Signs out of the server at this URL, without connecting to it: forgets its tokens, and gives
    /// them back to the authorization server where that takes them (RFC 7009).
    ///
    /// # Errors
    ///
    /// Fails where the URL is none, or the store does not forget.
    pub async fn sign_out(&self, server: &str) -> Result<SignOut, AuthorizationError> {
        let mut url = Url::parse(server).map_err(|_| AuthorizationError::Url {
            what: "the server",
            url: shown::shown(server),
        })?;
        url.set_fragment(None);
        let authorizer = self
            .authorizer(&url)
            .map_err(|error| AuthorizationError::Fetch {
                what: "the authorization server",
                why: error.to_string(),
            })?;
        authorizer.sign_out().await
    }

    /// Returns the authorizer for the server at this URL; all callers share it.
    ///
    /// # Errors
    ///
    /// Fails where HTTP cannot be spoken on this machine.
    pub fn authorizer(&self, server: &Url) -> io::Result<Arc<Authorizer>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = servers.get(server.as_str()) {
            return Ok(Arc::clone(known));
        }
        let new = Authorizer::new(Arc::clone(&self.config), server.clone())?;
        let new = Arc::new(new);
        servers.insert(server.to_string(), Arc::clone(&new));
        Ok(new)
    }

    /// The same with another configuration, which shares nothing with the one before.
    fn with(self, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Arc::unwrap_or_clone(self.config);
        change(&mut config);
        Self {
            config: Arc::new(config),
            servers: Arc::default(),
        }
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.config.how {
            SignInMethod::Person(_) => "a person signs in",
            SignInMethod::Client => "the client acts for itself",
            SignInMethod::Company(..) => "the company decides",
            SignInMethod::Vouched(_) => "somebody vouches for the client",
        };
        f.debug_struct("Authorization")
            .field("how", &how)
            .finish_non_exhaustive()
    }
}
