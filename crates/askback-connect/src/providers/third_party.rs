//! A third party as a value.

use std::{fmt, sync::Arc};

use askback_core::auth::Scopes;
use askback_oauth::{Fetcher, Provider, RegisteredClient, Secret};
use http::{HeaderMap, header::AUTHORIZATION};
use url::Origin;

use super::account::AccountSource;
use super::api_key::ApiKey;
use super::error::ConnectError;
use super::headers::{bearer, origin};
use super::revocation::RevocationWay;
use super::scopes::ScopeRules;

/// The longest name, in bytes.
const MOST_NAME: usize = 64;

/// A third party at which persons have accounts, and the way in which one is connected. A clone is the same third
/// party.
///
/// By default the account is named by the third party's own name, so that a person has one there, and a token is
/// given back where the provider has a revocation endpoint.
#[derive(Clone)]
pub struct ThirdParty {
    pub(super) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(super) struct Inner {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) means: Means,
    pub(super) scopes: Scopes,
    pub(super) rules: ScopeRules,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) account: AccountSource,
    /// The origins that its tokens may be sent to; none where nobody has said whether there are any.
    pub(super) api: Option<Vec<Origin>>,
    pub(super) revocation: RevocationWay,
    /// The error codes that say that a refresh token is no longer good, beside `invalid_grant`.
    pub(super) refusals: Vec<String>,
    pub(super) revokes_singly: bool,
}

#[derive(Clone)]
pub(super) enum Means {
    OAuth(Box<OAuth>),
    ApiKey(Box<ApiKey>),
}

#[derive(Clone)]
pub(super) struct OAuth {
    pub(super) provider: Provider,
    pub(super) client: RegisteredClient,
    pub(super) is_device: bool,
}

/// The way in which an account is connected.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Way<'a> {
    /// The browser goes to the authorization server and comes back with a code: [`ThirdParty::begin`].
    Code,
    /// The person types a code at another screen: [`ThirdParty::begin_device`].
    ///
    /// For a server with a single user only: nothing binds that code to a person, so whoever is talked into typing
    /// it connects their account to somebody else.
    Device,
    /// The person enters a key on a page: [`ThirdParty::accept_key`].
    ApiKey(&'a ApiKey),
}

impl ThirdParty {
    /// Creates a third party with an authorization server, at which this server is a client. `name` is its name in
    /// URLs and in the vault: small letters, digits and `-`.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] where the name cannot be used.
    pub fn oauth(
        name: impl Into<String>,
        title: impl Into<String>,
        provider: Provider,
        client: RegisteredClient,
    ) -> Result<Self, ConnectError> {
        let revocation = match provider.takes_tokens_back() {
            true => RevocationWay::standard(),
            false => RevocationWay::none(),
        };
        let oauth = OAuth {
            provider,
            client,
            is_device: false,
        };
        Self::new(
            name.into(),
            title.into(),
            Means::OAuth(Box::new(oauth)),
            revocation,
        )
    }

    /// Creates a third party whose authorization server describes itself at the URL of its issuer (RFC 8414, or
    /// OpenID Connect Discovery). Its title is its name until [`ThirdParty::title`] sets another.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Authorization`] where the document cannot be fetched or used, and
    /// [`ConnectError::Description`] where the name cannot be used.
    pub async fn discover(
        fetcher: &Fetcher,
        name: impl Into<String>,
        issuer: &str,
        client: RegisteredClient,
    ) -> Result<Self, ConnectError> {
        let name = name.into();
        check_name(&name)?;
        let provider = Provider::discover(fetcher, issuer).await?;
        Self::oauth(name.clone(), name, provider, client)
    }

    /// Creates a third party whose accounts are connected by a key that the person enters.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] where the name cannot be used.
    pub fn api_key(
        name: impl Into<String>,
        title: impl Into<String>,
        key: ApiKey,
    ) -> Result<Self, ConnectError> {
        let means = Means::ApiKey(Box::new(key));
        Self::new(name.into(), title.into(), means, RevocationWay::none())
    }

    fn new(
        name: String,
        title: String,
        means: Means,
        revocation: RevocationWay,
    ) -> Result<Self, ConnectError> {
        check_name(&name)?;
        Ok(Self {
            inner: Arc::new(Inner {
                account: AccountSource::constant(&name),
                name,
                title,
                means,
                api: None,
                scopes: Scopes::new(),
                rules: ScopeRules::default(),
                parameters: Vec::new(),
                revocation,
                refusals: Vec::new(),
                revokes_singly: false,
            }),
        })
    }

    /// Sets the name for persons, such as `GitHub`.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        let title = title.into();
        self.with(|it| it.title = title)
    }

    /// Sets the scopes that are always asked for.
    #[must_use]
    pub fn scopes(self, scopes: Scopes) -> Self {
        self.with(|it| it.scopes = scopes)
    }

    /// Sets where the name of an account comes from.
    #[must_use]
    pub fn account(self, source: AccountSource) -> Self {
        self.with(|it| it.account = source)
    }

    /// Adds origins of its API, such as `https://api.example`: a [`Connection`](crate::Connection) sends the token to no
    /// other. [`Connections`](crate::Connections) are not built with a third party that has none, unless it is said
    /// ([`ThirdParty::without_api`]).
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] for what is no origin: `https`, or `http` on this machine, and a host, and nothing
    /// after it.
    pub fn api<T: AsRef<str>>(
        self,
        origins: impl IntoIterator<Item = T>,
    ) -> Result<Self, ConnectError> {
        let origins = origins.into_iter().map(|it| origin(it.as_ref()));
        let origins: Vec<_> = origins.collect::<Result<_, _>>()?;
        Ok(self.with(|it| it.api.get_or_insert_default().extend(origins)))
    }

    /// Says that no [`Connection`](crate::Connection) sends its tokens: handlers take them with
    /// [`Connection::credential`](crate::Connection::credential), and answer for where they go.
    #[must_use]
    pub fn without_api(self) -> Self {
        self.with(|it| it.api = Some(Vec::new()))
    }

    /// Sets how tokens are given back.
    #[must_use]
    pub fn revocation(self, revocation: RevocationWay) -> Self {
        self.with(|it| it.revocation = revocation)
    }

    /// Says that whoever gives a token back keeps all others of the same account. Most providers do not promise it: they
    /// end what the person has granted to the client, and with it the tokens of a later grant. Without this, tokens
    /// that a new grant takes the place of are given back once nobody has connected the account any more.
    #[must_use]
    pub fn revokes_singly(self) -> Self {
        self.with(|it| it.revokes_singly = true)
    }

    /// Adds a parameter to each authorization request, such as `access_type`.
    #[must_use]
    pub fn parameter(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let parameter = (name.into(), value.into());
        self.with(|it| it.parameters.push(parameter))
    }

    /// Sets the parameter of an authorization request that holds the scopes, and the character between two of them;
    /// by default `scope` and a space.
    #[must_use]
    pub fn scope_parameter(self, name: impl Into<String>, separator: char) -> Self {
        let name = name.into();
        self.with(|it| {
            it.rules.parameter = name;
            it.rules.separator = separator;
        })
    }

    /// Adds scopes that come with another one, so that an answer with that one grants them.
    #[must_use]
    pub fn implied_scopes<T: Into<String>>(
        self,
        scope: impl Into<String>,
        implied: impl IntoIterator<Item = T>,
    ) -> Self {
        let implied = (scope.into(), implied.into_iter().map(Into::into).collect());
        self.with(|it| it.rules.implied.push(implied))
    }

    /// Sets what a scope allows, in plain words for the person who agrees to it, such as "Read your profile".
    #[must_use]
    pub fn scope_words(self, scope: impl Into<String>, words: impl Into<String>) -> Self {
        let words = (scope.into(), words.into());
        self.with(|it| it.rules.words.push(words))
    }

    /// Sets the scopes that no answer names, such as `offline_access`. They count as granted.
    #[must_use]
    pub fn unlisted_scopes(self, scopes: Scopes) -> Self {
        self.with(|it| it.rules.unlisted = scopes)
    }

    /// Sets a beginning that a scope may have or lack without another meaning.
    #[must_use]
    pub fn scope_prefix(self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        self.with(|it| it.rules.prefix = Some(prefix))
    }

    /// Adds an error code, beside `invalid_grant`, by which the provider says that a refresh token is no longer
    /// good.
    #[must_use]
    pub fn refresh_refusal(self, code: impl Into<String>) -> Self {
        let code = code.into();
        self.with(|it| it.refusals.push(code))
    }

    /// Connects accounts by the device flow (RFC 8628), for a server that no browser can be sent back to. For a
    /// server with a single user only: see [`Way::Device`].
    #[must_use]
    pub fn single_user_device_flow(self) -> Self {
        self.with(|it| {
            if let Means::OAuth(oauth) = &mut it.means {
                oauth.is_device = true;
            }
        })
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the name in URLs and in the vault.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the name for persons.
    #[must_use]
    pub fn display_title(&self) -> &str {
        &self.inner.title
    }

    /// Returns the scopes that are always asked for.
    #[must_use]
    pub fn default_scopes(&self) -> &Scopes {
        &self.inner.scopes
    }

    /// Returns what a scope allows, in plain words, where they are known.
    #[must_use]
    pub fn words_of(&self, scope: &str) -> Option<&str> {
        self.inner.rules.words(scope)
    }

    /// Returns the way in which an account is connected.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        match &self.inner.means {
            Means::OAuth(oauth) if oauth.is_device => Way::Device,
            Means::OAuth(_) => Way::Code,
            Means::ApiKey(key) => Way::ApiKey(key),
        }
    }

    /// The headers that show a credential to its API; none where it cannot be sent.
    pub(crate) fn headers(&self, credential: &Secret) -> Option<HeaderMap> {
        match &self.inner.means {
            Means::OAuth(_) => Some(HeaderMap::from_iter([(AUTHORIZATION, bearer(credential)?)])),
            Means::ApiKey(key) => key.headers(credential),
        }
    }

    /// Whether it tells one account from another.
    pub(crate) fn names_accounts(&self) -> bool {
        !self.inner.account.is_constant()
    }

    pub(crate) fn api_origins(&self) -> Option<&[Origin]> {
        self.inner.api.as_deref()
    }

    /// The authorization server, if there is one and accounts are connected in this way.
    pub(super) fn as_oauth(&self, is_device: bool) -> Result<&OAuth, ConnectError> {
        match &self.inner.means {
            Means::OAuth(oauth) if oauth.is_device == is_device => Ok(oauth),
            _ => Err(self.other_way()),
        }
    }

    pub(super) fn other_way(&self) -> ConnectError {
        ConnectError::OtherWay {
            provider: self.inner.name.clone(),
        }
    }
}

impl fmt::Debug for ThirdParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThirdParty")
            .field("name", &self.inner.name)
            .field("way", &self.way())
            .finish_non_exhaustive()
    }
}

/// Whether a name may stand in a URL as it is.
fn check_name(name: &str) -> Result<(), ConnectError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_fit = !name.is_empty() && name.len() <= MOST_NAME && name.bytes().all(is_plain);
    if is_fit {
        return Ok(());
    }
    Err(ConnectError::Description {
        provider: name.chars().take(MOST_NAME).collect(),
        why: format!("a name has small letters, digits and `-`, and at most {MOST_NAME} of them"),
    })
}
