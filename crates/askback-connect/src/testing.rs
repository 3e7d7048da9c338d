//! Pages that a test answers without a browser.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use askback_core::ask::keys::{Key, KeyRing};
use askback_oauth::Secret;
use zeroize::Zeroizing;

use crate::connections::{BadConnections, Connections, ConnectionsBuilder, Door};
use crate::providers::Providers;
use crate::script::{Script, ScriptStep};
use crate::vault::{LocalKeys, SqliteVault, Vault, VaultError, VaultSettings, entropy};

/// Connections for handler tests: a script says what the user does on the pages, without a server or requests.
///
/// The scripted person of [`askback::testing`] still decides whether to open the link: the page's script runs once they
/// [agree](askback::testing::Person::agree). A page without a script stays unfinished. The vault is in memory.
///
/// ```
/// use askback::{Ctx, Result, Server, Tool, testing::{Fixture, Person}};
/// use askback_connect::{ConnectExt, providers::{Providers, ThirdParty}, testing::ScriptedPages};
/// use askback_oauth::{Fetcher, Reach, RegisteredClient, Route, Secret};
/// use serde_json::json;
///
/// async fn whose(ctx: Ctx) -> Result<String> {
///     let github = ctx.connect("github").scopes(["repo"]).await?;
///     github.account().await
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &askback::Limits::default())?;
/// let providers = Providers::new(fetcher).with(ThirdParty::github(RegisteredClient::new("c"))?)?;
/// let pages = move || {
///     let pages = ScriptedPages::new(providers.clone());
///     let pages = pages.connects("github", "octocat", Secret::new("token"));
///     pages.build().expect("the pages are built")
/// };
///
/// // Each run has pages and a vault of its own.
/// let server = Fixture::new(pages, |pages| {
///     let server = Server::new("tools", "1").state(pages.clone());
///     server.tool(Tool::new("whose", whose))
/// });
/// let trial = server.call("whose", json!({})).with(Person::new().agree("connect_github"));
/// let report = trial.in_every_revision().await;
/// assert_eq!(report.assert_same().text(), "octocat");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "it does nothing until it is built"]
pub struct ScriptedPages {
    providers: Providers,
    script: Script,
}

impl ScriptedPages {
    /// Creates pages without a script, for handlers that connect accounts at these providers.
    pub fn new(providers: Providers) -> Self {
        Self {
            providers,
            script: Script::default(),
        }
    }

    /// Connects this account at a provider, with all requested scopes.
    pub fn connects(
        self,
        provider: impl Into<String>,
        account: impl Into<String>,
        token: Secret,
    ) -> Self {
        self.with(provider.into(), ScriptStep::Connects(account.into(), token))
    }

    /// Enters the secret of this name.
    pub fn enters(self, name: impl Into<String>, secret: Secret) -> Self {
        self.with(name.into(), ScriptStep::Enters(secret))
    }

    /// Finishes the author's page at this path, with its query.
    pub fn finishes(self, path: impl Into<String>) -> Self {
        self.with(path.into(), ScriptStep::Finishes)
    }

    /// Declines on the page of this provider, secret or path.
    pub fn declines(self, what: impl Into<String>) -> Self {
        self.with(what.into(), ScriptStep::Declines)
    }

    fn with(mut self, about: String, deed: ScriptStep) -> Self {
        self.script.add(about, deed);
        self
    }

    /// Builds the pages, with an empty vault.
    ///
    /// # Errors
    ///
    /// [`BadConnections`] if a provider has no API, or if the system has no random bytes.
    pub fn build(self) -> Result<Connections, BadConnections> {
        let key = Zeroizing::new(entropy::<32>()?);
        let keys = LocalKeys::new(KeyRing::new(Key::new(&key)));
        let store = Arc::new(SqliteVault::in_memory()?);
        let opening = pin!(Vault::open(store, Arc::new(keys), VaultSettings::default()));
        // A vault in memory opens without waiting, so a test can build it in a closure.
        let vault = match opening.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(vault) => vault?,
            Poll::Pending => return Err(VaultError::store("a vault in memory waits").into()),
        };
        let door = Door::Scripted(self.script);
        let url = "https://pages.test/connect".to_owned();
        ConnectionsBuilder::new(url, door, vault, self.providers).build()
    }
}
