//! OAuth for clients of the Model Context Protocol (2026-07-28, basic/authorization), and for
//! servers that reach third parties.
//!
//! # A client of a server
//!
//! An [`Authorization`] configures how a client becomes authorized. An [`Authorizer`] does it for
//! one server: when the server refuses a request, it discovers the authorization server, registers
//! the client, lets the user sign in, and sends the request again. Tokens and registrations are
//! saved in a [`CredentialStore`]. The crate `askback` uses this behind its feature `oauth-client`.
//!
//! # A third party
//!
//! A [`Provider`] is discovered or configured by hand. An [`AuthorizationRequest`] is the URL that
//! a user opens, a [`PendingAuthorization`] checks the URL they return with, and a
//! [`TokenEndpoint`] exchanges the code, renews tokens and revokes them.
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
//! // `Provider::discover(&fetcher, "https://git.example")` if it publishes its metadata.
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
//! # Design
//!
//! Each step of a client takes what the steps before have checked (`flow`). A [`Fetcher`] makes all
//! requests. Its [`Reach`] keeps a server from making the client connect to private networks.

mod assertion;
mod authorizer;
mod clock;
mod code;
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
pub use fetch::{FetchError, FetchedAnswer, Fetcher, Redirects};
pub use identity::RegisteredClient;
pub use key::{Algorithm, SigningKey};
pub use provider::Provider;
pub use reach::Reach;
pub use records::StoredSignIn;
pub use shape::AnswerShape;
pub use sign_in::{Redirect, SignIn, SignInRequest};
pub use store::{CredentialKey, CredentialStore, KeyLock, MemoryCredentials};
pub use token::Tokens;
pub use token_endpoint::TokenEndpoint;

use self::{clock::SystemClock, identity::Introduction};

/// How a client becomes authorized. Clones share their tokens, so that several connections need one
/// sign-in.
#[derive(Clone)]
pub struct Authorization {
    config: Arc<Config>,
    servers: Arc<Mutex<HashMap<String, Arc<Authorizer>>>>,
}

/// The outcome of a sign-out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignOut {
    /// The user was not signed in to the server.
    WasNot,
    /// The tokens are deleted, and the authorization server revoked them.
    Revoked,
    /// The tokens are deleted here, but may stay valid until they expire, for this reason.
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
    /// A user signs in (the authorization code grant with PKCE).
    #[must_use]
    pub fn person(sign_in: impl SignIn) -> Self {
        Self::new(SignInMethod::Person(Arc::new(sign_in)), Vec::new())
    }

    /// The client acts for itself, without a user (the extension
    /// `io.modelcontextprotocol/oauth-client-credentials`).
    #[must_use]
    pub fn client_credentials(client: RegisteredClient) -> Self {
        Self::new(SignInMethod::Client, vec![client])
    }

    /// The user's company decides: its provider takes `identity`, the identity token from the
    /// user's sign-in, and permits the use of the server. `client` is the client's registration
    /// with the server's issuer (the extension
    /// `io.modelcontextprotocol/enterprise-managed-authorization`).
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

    /// The platform that runs this program identifies it with `assertion` (workload identity; RFC
    /// 7523).
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

    /// Sets the store for credentials. Without it, they are lost when the process ends.
    #[must_use]
    pub fn store(self, store: impl CredentialStore) -> Self {
        self.with(|config| config.store = Arc::new(store))
    }

    /// Adds a hand-registered client, which takes precedence over every other kind of registration.
    /// Call it once for each issuer.
    #[must_use]
    pub fn client(self, client: RegisteredClient) -> Self {
        self.with(|config| config.clients.push(client))
    }

    /// Sets the URL of the document that describes this client, for issuers that accept the URL as
    /// the client id (2026-07-28, basic/authorization/client-registration, Client ID Metadata
    /// Documents). The document must contain exactly this URL as its `client_id`, and the redirect
    /// URIs of the host.
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

    /// Adds scopes to the ones that the server requires.
    #[must_use]
    pub fn scopes(self, scopes: Scopes) -> Self {
        self.with(|config| config.scopes = scopes)
    }

    /// Binds tokens to a key whenever the issuer supports it (DPoP, RFC 9449). Without this
    /// setting, they are bound only if the server requires or supports it.
    #[must_use]
    pub fn bound_tokens(self) -> Self {
        self.with(|config| config.bound = true)
    }

    /// Lets a server name authorization servers in private networks, as in a company. By default
    /// they are out of reach, so that a server cannot probe its clients' networks. This machine
    /// stays out of reach unless the server runs on it.
    #[must_use]
    pub fn allow_private_networks(self) -> Self {
        self.with(|config| config.private = true)
    }

    /// Sends all requests for authorization through this proxy, such as `http://proxy.corp:8080`.
    /// The proxy then decides which addresses may be reached. Proxy variables of the environment
    /// are ignored.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] if it is not a URL.
    pub fn proxy(self, url: &str) -> Result<Self, AuthorizationError> {
        let proxy = Url::parse(url).map_err(|_| AuthorizationError::Url {
            what: "the proxy",
            url: shown::shown(url),
        })?;
        Ok(self.with(|config| config.proxy = Some(proxy)))
    }

    /// Sets the limits for requests, and for the time a user has to sign in.
    #[must_use]
    pub fn limits(self, limits: &Limits) -> Self {
        self.with(|config| config.limits = limits.clone())
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        self.with(|config| config.clock = Arc::new(clock))
    }

    /// Signs out of the server at this URL without connecting to it: deletes its tokens and revokes
    /// them if the authorization server supports that (RFC 7009).
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or the store fails.
    pub async fn sign_out(&self, server: &str) -> Result<SignOut, AuthorizationError> {
        let mut url = Url::parse(server).map_err(|_| AuthorizationError::Url {
            what: "the server",
            url: shown::shown(server),
        })?;
        url.set_fragment(None);
        let authorizer = self
            .authorizer(&url)
            .map_err(fetch::fetch_failed("the authorization server"))?;
        authorizer.sign_out().await
    }

    /// Returns the authorizer for the server at this URL. All callers share it.
    ///
    /// # Errors
    ///
    /// If the HTTP client cannot be set up on this machine.
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

    /// Changes the configuration. The result shares no state with `self`.
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
