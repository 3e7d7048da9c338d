use std::{borrow::Cow, sync::Arc, time::Duration};

use askback::Principal;
use askback_core::{
    http::guard::{BadName, Guard},
    quote::QuotedName,
};
use askback_oauth::Fetcher;
use tokio::sync::Notify;
use url::{Host, Url};

use crate::brand::Brand;
use crate::intents::{Intent, IntentId, Purpose, Stage};
use crate::providers::{Providers, ThirdParty};
use crate::sign_in::WebSignIn;
use crate::vault::{AccountQuery, Holder, Renewer, Revoker, Vault, VaultError};
use askback_core::debug_only;

/// Accounts at third parties, for the handlers of a server.
///
/// Clones share one state. Pass one to [`ServerBuilder::state`](askback::ServerBuilder::state), and serve its
/// [`pages`](Connections::pages). Handlers then call [`ctx.connect`](crate::ConnectExt::connect).
#[derive(Clone)]
pub struct Connections(pub(crate) Arc<Kit>);

/// Builds [`Connections`].
#[must_use = "it does nothing until it is built"]
pub struct ConnectionsBuilder {
    vault: Vault,
    providers: Providers,
    url: String,
    door: Door,
    brand: Brand,
    by_error: bool,
    user: Option<Principal>,
}

pub(crate) struct Kit {
    pub(crate) vault: Vault,
    pub(crate) providers: Arc<Providers>,
    pub(crate) place: Address,
    pub(crate) door: Door,
    pub(crate) brand: Brand,
    /// Whether clients of 2025-11-25 get links as an error.
    pub(crate) by_error: bool,
    /// The authenticated caller who is the user of this machine.
    user: Option<Holder>,
    changed: Notify,
}

pub(crate) enum Door {
    SignIn(Box<WebSignIn>),
    /// The only visitor is the user of this machine. The first browser that opens a link gets it.
    Machine,
}

pub(crate) struct Address {
    pub(crate) origin: String,
    /// The path before each page's own path, without a trailing slash.
    pub(crate) path: String,
    pub(crate) is_secure: bool,
    pub(crate) guard: Guard,
}

/// Why [`ConnectionsBuilder::build`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadConnections {
    /// The URL of the pages is invalid.
    #[error("the pages cannot be at {url:?}: {why}")]
    Url {
        /// The URL, without any password in it.
        url: String,
        /// The problem.
        why: &'static str,
    },
    /// A provider has no API origins that its tokens may be sent to.
    #[error(
        "the provider {provider:?} has no API to send its tokens to: name its origins with \
         `ThirdParty::api([\"https://…\"])`, or with `api = [\"https://…\"]` in the file of providers; if handlers send them themselves, say so with `ThirdParty::without_api()` or `api = []`"
    )]
    NoApi {
        /// The provider.
        provider: String,
    },
    /// The host of the URL is invalid.
    #[error(transparent)]
    Host(#[from] BadName),
    /// The system has no random bytes.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The name of this machine's user, if the server has no other callers.
const USER: &str = "this computer's user";

/// How long a waiting call waits before it reads its intent again, because a change by another machine sends no
/// notification.
const LOOK: Duration = Duration::from_secs(1);

impl Connections {
    /// Creates pages at a public URL, such as `https://tools.example/connect`, with a sign-in for visitors.
    ///
    /// The sign-in must use the issuer of the tokens that the server accepts, so that a user has the same subject on
    /// the pages and in calls.
    pub fn at(
        url: impl Into<String>,
        sign_in: WebSignIn,
        vault: Vault,
        providers: Providers,
    ) -> ConnectionsBuilder {
        let door = Door::SignIn(Box::new(sign_in));
        ConnectionsBuilder::new(url.into(), door, vault, providers)
    }

    /// Creates pages for the one user of this machine, at a URL such as `http://127.0.0.1:4000`.
    ///
    /// There is no sign-in: a link contains a secret and works only in the first browser that opens it. Other users of
    /// the machine may see the link first, for example in the browser's arguments. Their requests are refused if the
    /// system reports the user of a connection: automatically behind
    /// [`Endpoint::beside`](askback::http::Endpoint::beside), and with [`PeerUser`](askback::http::PeerUser) in other
    /// servers.
    ///
    /// Over standard streams and in memory, each caller is that user. Over HTTP, other users can reach the endpoint
    /// too: protect it, and set the authenticated caller who is this user with [`ConnectionsBuilder::user`]. All other
    /// callers are refused.
    pub fn on_this_machine(
        url: impl Into<String>,
        vault: Vault,
        providers: Providers,
    ) -> ConnectionsBuilder {
        ConnectionsBuilder::new(url.into(), Door::Machine, vault, providers)
    }

    /// Returns the owner of the accounts of [`Connections::on_this_machine`], so that another program can list and
    /// disconnect the accounts in its vault.
    #[must_use]
    pub fn user_of_this_machine() -> Principal {
        Kit::user()
    }

    /// Creates a link to the page on which the user of this machine sees and disconnects their accounts. It must be
    /// opened within two minutes, works in one browser, and expires after ten minutes. Returns `None` if visitors sign
    /// in, because their page is `/accounts`.
    ///
    /// Show the link only to that user, for example in the terminal in which they started the program.
    ///
    /// # Errors
    ///
    /// If the vault fails, and [`VaultError::Refused`] if the user has too many open links.
    pub async fn accounts_link(&self) -> Result<Option<String>, VaultError> {
        let kit = &self.0;
        if kit.has_sign_in() {
            return Ok(None);
        }
        let id = IntentId::random()?;
        let holder = Holder::from(&Kit::user());
        let intent = Intent::new(id, holder, None, Purpose::Accounts, kit.vault.now());
        match intent.add(&kit.vault).await? {
            true => Ok(Some(kit.link(id))),
            false => Err(VaultError::Refused {
                what: "another link",
                why: "is one too many: finish or decline one of those that are open, or wait ten minutes",
            }),
        }
    }

    /// Returns the vault.
    #[must_use]
    pub fn vault(&self) -> &Vault {
        &self.0.vault
    }

    /// Returns the third parties.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    /// Sends the pending token revocations to the providers, for example of disconnected accounts. Returns how many
    /// succeeded. Call this about once a minute. The pages call it too.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke_due(&self) -> Result<usize, VaultError> {
        self.0.vault.revoke_due(self.0.revoker()).await
    }
}

impl ConnectionsBuilder {
    fn new(url: String, door: Door, vault: Vault, providers: Providers) -> Self {
        Self {
            vault,
            providers,
            url,
            door,
            brand: Brand::default(),
            by_error: false,
            user: None,
        }
    }

    /// Sets the name, color and logo of the pages.
    pub fn brand(mut self, brand: Brand) -> Self {
        self.brand = brand;
        self
    }

    /// Sends links to clients of 2025-11-25 as the error -32042 instead of a question: the call ends, and the client
    /// repeats it once it is notified that the page is done.
    pub fn by_error(mut self) -> Self {
        self.by_error = true;
        self
    }

    /// Sets the authenticated caller who is the user of this machine, for pages
    /// [`on_this_machine`](Connections::on_this_machine) and a protected endpoint. Their accounts belong to
    /// [`Connections::user_of_this_machine`].
    pub fn user(mut self, principal: Principal) -> Self {
        self.user = Some(principal);
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`BadConnections`] if the URL cannot be used for pages: it must be `https`, or `http` at a loopback address,
    /// without a query, fragment or user name. Also if a provider sets neither [`api`](ThirdParty::api) nor
    /// [`without_api`](ThirdParty::without_api): no [`Connection`](crate::Connection) could send requests for its
    /// accounts.
    pub fn build(self) -> Result<Connections, BadConnections> {
        let place = Address::read(&self.url, &self.door)?;
        let has_no_api = |party: &&ThirdParty| party.api_origins().is_none();
        if let Some(party) = self.providers.iter().find(has_no_api) {
            let provider = party.name().to_owned();
            return Err(BadConnections::NoApi { provider });
        }
        Ok(Connections(Arc::new(Kit {
            vault: self.vault,
            providers: Arc::new(self.providers),
            place,
            door: self.door,
            brand: self.brand,
            by_error: self.by_error,
            user: self.user.as_ref().map(Holder::from),
            changed: Notify::new(),
        })))
    }
}

impl Address {
    fn read(given: &str, door: &Door) -> Result<Self, BadConnections> {
        let shown = match given.rsplit_once('@') {
            Some((_, after)) => format!("…@{after}"),
            None => given.to_owned(),
        };
        let bad = |why| BadConnections::Url {
            url: shown.clone(),
            why,
        };
        let url = Url::parse(given).map_err(|_| bad("it is not a URL"))?;
        // Browsers and clients do not treat this address as loopback.
        if let Some(Host::Ipv6(address)) = url.host()
            && address.to_ipv4_mapped().is_some()
        {
            return Err(bad(
                "its host is an address of IPv4 inside one of IPv6: write it as IPv4, such as 127.0.0.1",
            ));
        }
        let is_loopback = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        let is_secure = url.scheme() == "https";
        let is_local = url.scheme() == "http" && is_loopback;
        if !is_secure && !is_local {
            return Err(bad("it must be https, or http at a loopback address"));
        }
        if matches!(door, Door::Machine) && !is_loopback {
            return Err(bad(
                "pages for the user of this machine are at a loopback address",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it must have no query and no fragment"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it must name no user"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        if !path.chars().all(is_plain) {
            return Err(bad("its path must be letters, digits and -_.~"));
        }
        let origin = url.origin().ascii_serialization();
        let host = origin.split("://").nth(1).unwrap_or_default();
        Ok(Self {
            guard: Guard::none().allow_host(host)?.allow_origin(&origin)?,
            origin,
            path,
            is_secure,
        })
    }
}

impl Kit {
    /// Returns the owner of the accounts: the authenticated caller, or the user of this machine. `is_here` says whether
    /// only that user can have called.
    pub(crate) fn caller(
        &self,
        principal: Option<&Principal>,
        is_here: bool,
    ) -> Result<Principal, Cow<'static, str>> {
        match (&self.door, principal) {
            (Door::SignIn(_), Some(principal)) => Ok(principal.clone()),
            (Door::SignIn(_), None) => Err(
                "this server does not know who you are: it needs callers to be authorized before it can keep accounts \
                 for them".into(),
            ),
            (Door::Machine, None) if is_here => Ok(Self::user()),
            (Door::Machine, None) => Err(
                "this server keeps accounts for the one user of its machine, and does not know who calls over HTTP: its \
                 operator has to protect the endpoint and name that user with `ConnectionsBuilder::user`".into(),
            ),
            (Door::Machine, Some(caller)) if self.user == Some(caller.into()) => Ok(Principal {
                client_id: caller.client_id.clone(),
                ..Self::user()
            }),
            (Door::Machine, Some(caller)) => {
                let subject = QuotedName(&caller.subject);
                let whom = match &self.user {
                    None => "nobody is",
                    Some(_) => "another caller is",
                };
                Err(format!(
                    "this server keeps accounts for the one user of its machine, and was called by {subject}: {whom} named as \
                     that user with `ConnectionsBuilder::user`, by tenant, issuer and subject"
                ).into())
            }
        }
    }

    pub(crate) fn has_sign_in(&self) -> bool {
        matches!(self.door, Door::SignIn(_))
    }

    pub(crate) fn fetcher(&self) -> &Fetcher {
        self.providers.fetcher()
    }

    pub(crate) fn user() -> Principal {
        Principal::new(USER)
    }

    pub(crate) fn renewer(&self) -> Arc<dyn Renewer> {
        Arc::clone(&self.providers) as Arc<dyn Renewer>
    }

    pub(crate) fn revoker(&self) -> &dyn Revoker {
        &*self.providers
    }

    /// Sends pending revocations in the background, so that a slow provider delays no request.
    pub(crate) fn revoke_aside(self: &Arc<Self>) {
        let kit = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = kit.vault.revoke_due(kit.revoker()).await {
                tracing::warn!(%error, "revocations are left for later");
            }
        });
    }

    pub(crate) fn link(&self, id: IntentId) -> String {
        let Address { origin, path, .. } = &self.place;
        format!("{origin}{path}/c/{id}")
    }

    pub(crate) fn accounts_url(&self) -> String {
        let Address { origin, path, .. } = &self.place;
        format!("{origin}{path}/accounts")
    }

    pub(crate) fn redirect_uri(&self, provider: &str) -> String {
        let Address { origin, path, .. } = &self.place;
        format!("{origin}{path}/cb/{provider}")
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Waits for the final stage of an intent. Returns `None` if it expired, or if another call has obtained what it
    /// asked for. The future may be dropped at any time.
    pub(crate) async fn settled(
        &self,
        id: IntentId,
        wanted: Option<&AccountQuery>,
    ) -> Result<Option<Stage>, VaultError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let Some(intent) = Intent::find(&self.vault, id).await? else {
                return Ok(None);
            };
            if intent.stage.is_final() {
                return Ok(Some(intent.stage));
            }
            let is_there = match wanted {
                Some(wanted) => self.vault.account(wanted).await?.is_some(),
                None => false,
            };
            if is_there || intent.is_over(self.vault.now()) {
                return Ok(None);
            }
            // A change made by another machine sends no notification.
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
    }
}

debug_only! {
    Connections {}
}
