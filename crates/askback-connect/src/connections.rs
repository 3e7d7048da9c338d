//! The kit: a vault, the third parties, and the pages on which persons connect accounts.

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
use crate::providers::{Providers, ThirdParty, Way};
use crate::sign_in::WebSignIn;
use crate::vault::{AccountQuery, Holder, Renewer, Revoker, Vault, VaultError};
use askback_core::debug_only;

/// Accounts at third parties, for the handlers of a server: its state, and the pages behind its links.
///
/// A clone is the same value. Give one to [`ServerBuilder::state`](askback::ServerBuilder::state), and serve its
/// [`pages`](Connections::pages). Handlers then call [`ctx.connect`](crate::ConnectExt::connect).
#[derive(Clone)]
pub struct Connections(pub(crate) Arc<Kit>);

/// The settings of [`Connections`], until they are complete.
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
    /// Whether clients of 2025-11-25 are told of links by an error.
    pub(crate) by_error: bool,
    /// The one caller who is the user of this machine, among those that the server authenticates.
    user: Option<Holder>,
    changed: Notify,
}

/// The way in which a visitor of the pages is known.
pub(crate) enum Door {
    SignIn(Box<WebSignIn>),
    /// They are the one user of this machine: the browser in which a link is opened first is theirs.
    Machine,
    /// Nobody visits: a test says what is done on the pages.
    #[cfg(feature = "testing")]
    Scripted(crate::script::Script),
}

pub(crate) struct Address {
    /// The scheme, the host and the port.
    pub(crate) origin: String,
    /// The path before that of a page; no slash at its end.
    pub(crate) path: String,
    pub(crate) is_secure: bool,
    pub(crate) guard: Guard,
}

/// Why a kit cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadConnections {
    /// The URL of the pages is not one.
    #[error("the pages cannot be at {url:?}: {why}")]
    Url {
        /// The URL, without what may be a password in it.
        url: String,
        /// Its fault.
        why: &'static str,
    },
    /// A provider is connected by the device flow, for which there is no page.
    #[error(
        "the provider {provider:?} uses the device flow, and pages connect by a redirect or a key"
    )]
    DeviceFlow {
        /// The provider.
        provider: String,
    },
    /// Nobody knows where the tokens of a provider may be sent.
    #[error(
        "the provider {provider:?} has no API that its tokens may be sent to: name its origins with \
         `ThirdParty::api([\"https://…\"])`, or with `api = [\"https://…\"]` in the file of providers; where handlers send \
         them themselves, say so with `ThirdParty::without_api()` or `api = []`"
    )]
    NoApi {
        /// The provider.
        provider: String,
    },
    /// The host of the URL cannot be one.
    #[error(transparent)]
    Host(#[from] BadName),
    /// There are no random bytes.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The user of this machine, where nobody else calls the server.
const USER: &str = "this computer's user";

/// How long an intent is not looked at while another machine may have changed it.
const LOOK: Duration = Duration::from_secs(1);

impl Connections {
    /// A kit whose pages are at a public URL, such as `https://tools.example/connect`, and whose visitors sign in.
    ///
    /// The sign-in must be with the issuer of the tokens that the server takes, so that the subject on the page is the
    /// subject of the call.
    pub fn at(
        url: impl Into<String>,
        sign_in: WebSignIn,
        vault: Vault,
        providers: Providers,
    ) -> ConnectionsBuilder {
        let door = Door::SignIn(Box::new(sign_in));
        ConnectionsBuilder::new(url.into(), door, vault, providers)
    }

    /// A kit for the one user of this machine, at an address of its own, such as `http://127.0.0.1:4000`.
    ///
    /// Nobody signs in: a link has a secret of its own, and is for the browser in which it is opened first. Other users
    /// of the machine can be first where they see it, such as in the arguments of the browser: their requests are refused
    /// where the system tells whose they are, behind [`Endpoint::beside`](askback::http::Endpoint::beside). Other servers
    /// refuse their connections with [`PeerUser`](askback::http::PeerUser).
    ///
    /// A caller is that user over standard streams and in memory, where nobody else calls. Over HTTP, other users of the
    /// machine reach the endpoint, too: protect it, and name the user among those whom the server authenticates
    /// ([`ConnectionsBuilder::user`]). All others are refused.
    pub fn on_this_machine(
        url: impl Into<String>,
        vault: Vault,
        providers: Providers,
    ) -> ConnectionsBuilder {
        ConnectionsBuilder::new(url.into(), Door::Machine, vault, providers)
    }

    /// Returns the user of this machine, whose accounts [`Connections::on_this_machine`] keeps: so a program beside the
    /// server can list and disconnect what is in its vault.
    #[must_use]
    pub fn user_of_this_machine() -> Principal {
        Kit::user()
    }

    /// Makes a link to the page on which the user of this machine sees and disconnects their accounts. It is opened within
    /// two minutes, in one browser, and ends after ten; none where visitors sign in, as the page is at `/accounts` there.
    ///
    /// Show it to that user alone, such as at the terminal where they started the program.
    ///
    /// # Errors
    ///
    /// Those of the vault, and [`VaultError::Refused`] where the user has too many links open.
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

    /// Tells providers to revoke the tokens that are owed to them, such as those of accounts that were disconnected, and
    /// returns how many revocations were done. A server calls this every minute or so; the pages call it, too.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn revoke_due(&self) -> Result<usize, VaultError> {
        self.0.vault.revoke_due(self.0.revoker()).await
    }
}

impl ConnectionsBuilder {
    pub(crate) fn new(url: String, door: Door, vault: Vault, providers: Providers) -> Self {
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

    /// Sets the name, the colour and the logo of the pages.
    pub fn brand(mut self, brand: Brand) -> Self {
        self.brand = brand;
        self
    }

    /// Tells clients of 2025-11-25 of links by the error -32042, and not by a question: the call ends, and the client
    /// repeats it once it was told that the page is done.
    pub fn by_error(mut self) -> Self {
        self.by_error = true;
        self
    }

    /// Names the caller who is the user of this machine, for a kit [`on_this_machine`](Connections::on_this_machine) behind
    /// a protected endpoint. Their accounts are those of [`Connections::user_of_this_machine`].
    pub fn user(mut self, principal: Principal) -> Self {
        self.user = Some(principal);
        self
    }

    /// Builds the kit.
    ///
    /// # Errors
    ///
    /// [`BadConnections`] where the URL is none for pages: `https`, or `http` at a loopback address of this machine,
    /// without a query, a fragment or a user; and where a provider has no [`api`](ThirdParty::api) and does not say so
    /// ([`without_api`](ThirdParty::without_api)), before any person is asked for an account for which no
    /// [`Connection`](crate::Connection) could send a request.
    pub fn build(self) -> Result<Connections, BadConnections> {
        let place = Address::read(&self.url, &self.door)?;
        let is_device = |party: &&ThirdParty| matches!(party.way(), Way::Device);
        if let Some(party) = self.providers.iter().find(is_device) {
            let provider = party.name().to_owned();
            return Err(BadConnections::DeviceFlow { provider });
        }
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
        let url = Url::parse(given).map_err(|_| bad("it is no URL"))?;
        // The checks of clients and browsers do not take it for loopback.
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
    /// The caller whose accounts are meant: the one that the server has authenticated, or the user of this machine.
    /// `is_here` is whether nobody but that user could have called.
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
            #[cfg(feature = "testing")]
            (Door::Scripted(_), caller) => Ok(caller.cloned().unwrap_or_else(Self::user)),
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

    #[cfg(feature = "testing")]
    pub(crate) fn note(&self, purpose: &Purpose) {
        if let Door::Scripted(script) = &self.door {
            script.note(purpose);
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

    /// Tells providers what is due, aside: one that is slow keeps nobody waiting.
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

    /// The address to which a provider sends the person back: one of its own for each provider.
    pub(crate) fn redirect_uri(&self, provider: &str) -> String {
        let Address { origin, path, .. } = &self.place;
        format!("{origin}{path}/cb/{provider}")
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until nothing can happen to an intent any more, and returns its last stage; none where it has ended by
    /// itself, or another call has brought what is wanted. Whoever waits may stop at any time.
    pub(crate) async fn settled(
        &self,
        id: IntentId,
        wanted: Option<&AccountQuery>,
    ) -> Result<Option<Stage>, VaultError> {
        #[cfg(feature = "testing")]
        if let Door::Scripted(script) = &self.door {
            script.play(&self.vault, &self.providers, id).await?;
        }
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
            // Another machine cannot notify this one.
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
    }
}

debug_only! {
    Connections {}
}
