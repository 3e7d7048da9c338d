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

const MOST_NAME: usize = 64;

/// A third party at which users have accounts, and how they are connected. Clones share one third party.
///
/// By default, each user can connect one account, named after the third party, and tokens are revoked if the provider
/// has a revocation endpoint.
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
    /// The origins that its tokens may be sent to. `None` if the operator has set neither `api` nor `without_api`.
    pub(super) api: Option<Vec<Origin>>,
    pub(super) revocation: RevocationWay,
    /// Error codes for an invalid refresh token, in addition to `invalid_grant`.
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
}

impl ThirdParty {
    /// Creates a third party with an authorization server, at which this server is a client. `name` is used in URLs and
    /// in the vault: lowercase letters, digits and `-`.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] if the name is invalid.
    pub fn oauth(
        name: impl Into<String>,
        title: impl Into<String>,
        provider: Provider,
        client: RegisteredClient,
    ) -> Result<Self, ConnectError> {
        let revocation = match provider.takes_tokens_back() {
            true => RevocationWay::Standard,
            false => RevocationWay::None,
        };
        let oauth = OAuth { provider, client };
        Self::new(
            name.into(),
            title.into(),
            Means::OAuth(Box::new(oauth)),
            revocation,
        )
    }

    /// Creates a third party by discovery of its authorization server (RFC 8414, or OpenID Connect Discovery). Its
    /// title is its name unless [`ThirdParty::title`] sets another.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Authorization`] if the metadata cannot be fetched or used, and [`ConnectError::Description`] if
    /// the name is invalid.
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

    /// Creates a third party whose users enter an API key.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] if the name is invalid.
    pub fn api_key(
        name: impl Into<String>,
        title: impl Into<String>,
        key: ApiKey,
    ) -> Result<Self, ConnectError> {
        let means = Means::ApiKey(Box::new(key));
        Self::new(name.into(), title.into(), means, RevocationWay::None)
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

    /// Sets the display name, such as `GitHub`.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        let title = title.into();
        self.with(|it| it.title = title)
    }

    /// Sets the scopes that are always requested.
    #[must_use]
    pub fn scopes(self, scopes: Scopes) -> Self {
        self.with(|it| it.scopes = scopes)
    }

    /// Sets where an account's id and name come from.
    #[must_use]
    pub fn account(self, source: AccountSource) -> Self {
        self.with(|it| it.account = source)
    }

    /// Adds origins of its API, such as `https://api.example`. A [`Connection`](crate::Connection) sends the token only
    /// to them. [`Connections`](crate::Connections) require at least one origin, unless you call
    /// [`ThirdParty::without_api`].
    ///
    /// # Errors
    ///
    /// [`ConnectError::Setting`] if a text is not an origin: `https`, or `http` on this machine, with a host and no
    /// path.
    pub fn api<T: AsRef<str>>(
        self,
        origins: impl IntoIterator<Item = T>,
    ) -> Result<Self, ConnectError> {
        let origins = origins.into_iter().map(|it| origin(it.as_ref()));
        let origins: Vec<_> = origins.collect::<Result<_, _>>()?;
        Ok(self.with(|it| it.api.get_or_insert_default().extend(origins)))
    }

    /// Declares that no [`Connection`](crate::Connection) sends its tokens. Handlers take them with
    /// [`Connection::credential`](crate::Connection::credential) and decide where to send them.
    #[must_use]
    pub fn without_api(self) -> Self {
        self.with(|it| it.api = Some(Vec::new()))
    }

    /// Adds a parameter to each authorization request, such as `access_type`.
    #[must_use]
    pub fn parameter(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let parameter = (name.into(), value.into());
        self.with(|it| it.parameters.push(parameter))
    }

    /// Describes for the user what a scope allows, such as "Read your profile".
    #[must_use]
    pub fn scope_words(self, scope: impl Into<String>, words: impl Into<String>) -> Self {
        let words = (scope.into(), words.into());
        self.with(|it| it.rules.words.extend([words]))
    }

    pub(super) fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
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

    /// Returns the display name.
    #[must_use]
    pub fn display_title(&self) -> &str {
        &self.inner.title
    }

    /// Returns the scopes that are always requested.
    #[must_use]
    pub fn default_scopes(&self) -> &Scopes {
        &self.inner.scopes
    }

    /// Returns the description of what a scope allows.
    #[must_use]
    pub fn words_of(&self, scope: &str) -> Option<&str> {
        self.inner.rules.words(scope)
    }

    /// Returns what the page for a key says, if the user enters a key ([`ThirdParty::accept_key`]). Otherwise the browser
    /// goes to the authorization server ([`ThirdParty::begin`]).
    #[must_use]
    pub fn key_page(&self) -> Option<&ApiKey> {
        match &self.inner.means {
            Means::OAuth(_) => None,
            Means::ApiKey(key) => Some(key),
        }
    }

    /// The headers with a credential for its API, or `None` if it cannot be sent.
    pub(crate) fn headers(&self, credential: &Secret) -> Option<HeaderMap> {
        match &self.inner.means {
            Means::OAuth(_) => Some(HeaderMap::from_iter([(AUTHORIZATION, bearer(credential)?)])),
            Means::ApiKey(key) => key.headers(credential),
        }
    }

    pub(crate) fn names_accounts(&self) -> bool {
        !self.inner.account.is_constant()
    }

    pub(crate) fn api_origins(&self) -> Option<&[Origin]> {
        self.inner.api.as_deref()
    }

    /// The authorization server, if accounts are connected in this way.
    pub(super) fn as_oauth(&self) -> Result<&OAuth, ConnectError> {
        match &self.inner.means {
            Means::OAuth(oauth) => Ok(oauth),
            Means::ApiKey(_) => Err(self.other_way()),
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
            .finish_non_exhaustive()
    }
}

/// Accepts names that need no escaping in a URL.
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
