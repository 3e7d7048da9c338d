//! Pages without a browser.

use std::sync::Arc;

use askback_core::ask::keys::{Key, KeyRing};
use askback_oauth::Secret;
use zeroize::Zeroizing;

use crate::connections::{BadConnections, Connections, ConnectionsBuilder, Door};
use crate::providers::Providers;
use crate::script::{Deed, Script};
use crate::vault::{LocalKeys, MemoryVault, Vault, VaultSettings, entropy};

/// Connections for the tests of handlers: what the person does on the pages is said beforehand, and nothing is served or
/// fetched for it.
///
/// The scripted person of [`askback::testing`] still decides whether the link is opened: a page is used once they
/// [agree](askback::testing::Person::agree). A page that the script does not name stays unfinished. The vault is in memory.
///
/// ```
/// use askback::{Ctx, Result, Server, Tool, Revision, testing::{self, Person}};
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
/// let pages = ScriptedPages::new(providers).connects("github", "octocat", Secret::new("token"));
/// let connections = pages.build().await?;
/// let server = move || Server::new("tools", "1").state(connections.clone()).tool(Tool::new("whose", whose));
///
/// let ada = Person::new().agree("connect_github");
/// let trial = testing::call(server, "whose", json!({})).with(ada);
/// assert_eq!(trial.in_revision(Revision::V2026_07_28).await.text(), "octocat");
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
    /// Creates pages on which nothing is done, for handlers that connect accounts at these providers.
    pub fn new(providers: Providers) -> Self {
        Self {
            providers,
            script: Script::default(),
        }
    }

    /// Has the person connect this account at a provider, with all scopes that they are asked for.
    pub fn connects(
        self,
        provider: impl Into<String>,
        account: impl Into<String>,
        token: Secret,
    ) -> Self {
        self.with(provider.into(), Deed::Connects(account.into(), token))
    }

    /// Has the person enter the secret of this name.
    pub fn enters(self, name: impl Into<String>, secret: Secret) -> Self {
        self.with(name.into(), Deed::Enters(secret))
    }

    /// Has the person finish the page of the author's at this path, with its query.
    pub fn finishes(self, path: impl Into<String>) -> Self {
        self.with(path.into(), Deed::Finishes)
    }

    /// Has the person decline on the page for this provider, secret or path.
    pub fn declines(self, what: impl Into<String>) -> Self {
        self.with(what.into(), Deed::Declines)
    }

    fn with(mut self, about: String, deed: Deed) -> Self {
        self.script.add(about, deed);
        self
    }

    /// Builds the state for the server, with an empty vault.
    ///
    /// # Errors
    ///
    /// [`BadConnections`] where a provider is connected by the device flow or has no API, or there are no random bytes.
    pub async fn build(self) -> Result<Connections, BadConnections> {
        let key = Zeroizing::new(entropy::<32>()?);
        let keys = LocalKeys::new(KeyRing::new(Key::new(&key)));
        let store = Arc::new(MemoryVault::new());
        let vault = Vault::open(store, Arc::new(keys), VaultSettings::default()).await?;
        let door = Door::Scripted(self.script);
        let url = "https://pages.test/connect".to_owned();
        ConnectionsBuilder::new(url, door, vault, self.providers).build()
    }
}
