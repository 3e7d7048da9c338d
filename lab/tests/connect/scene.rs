//! Our server with its pages, between two third-party authorization servers: the one for our tokens and sign-ins, and
//! the airline's.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback::{
    Ctx, Principal, Server, SystemClock, Tool,
    authorization::{
        Secret,
        client::RegisteredClient,
        server::{JwtVerifier, Protection},
    },
};
use askback_connect::{
    Brand, ConnectExt as _, Connections,
    providers::{AccountSource, ApiKey, Providers, ThirdParty},
    sign_in::WebSignIn,
    vault::{AuditEvent, LocalKeys, SqliteVault, Vault, VaultSettings},
};
use askback_core::{
    ask::keys::{Key, KeyRing},
    clock::Clock,
    limits::Limits,
};
use askback_oauth::{Fetcher, Reach, Route};
use lab::{
    airline::{Airline, SCOPE},
    browser::Person,
    issuers::{Issuer, Maker, Registered, Role},
};
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

use crate::{
    Result,
    site::{Page, Site},
};

/// The secrets of all clients. Each must only be visible at its authorization server.
pub(crate) const SECRETS: [&str; 3] = [PAGES, KIT, EDITOR];
const PAGES: &str = "canary-of-the-pages";
const KIT: &str = "canary-of-the-kit";
const EDITOR: &str = "canary-of-the-editor";

/// The panic message of a handler that has an account.
pub(crate) const BREAKS: &str = "the handler breaks with";

pub(crate) const MILES: u64 = 12_300;

pub(crate) const KEY: [u8; 32] = *b"canary: the key of the vault....";

const TENANT: &str = "tenant";

const BACK: &str = "/callback";
const EDITORS_PAGES: &[Page] = &[Page::at(BACK, "<!doctype html><title>Back</title>")];

#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) maker: Maker,
    pub(crate) signs_in: Maker,
    /// Whether clients of 2025-11-25 get links in an error.
    pub(crate) by_error: bool,
    /// How many seconds the sign-in issuer's clock is behind at first.
    pub(crate) behind: u64,
    /// Whether the sign-in issuer binds tokens to clients' keys.
    pub(crate) binds: bool,
    pub(crate) tenant: Option<&'static str>,
}

pub(crate) struct Scene {
    pub(crate) maker: Maker,
    pub(crate) third: Issuer,
    pub(crate) airline: Airline,
    pub(crate) issuer: Issuer,
    pub(crate) signs_in: Maker,
    tenant: Option<&'static str>,
    pub(crate) keys: Arc<LocalKeys>,
    pub(crate) vault: Vault,
    pub(crate) providers: Providers,
    pub(crate) pages: String,
    pub(crate) endpoint: String,
    pub(crate) directory: PathBuf,
    pub(crate) had: Arc<Had>,
    /// The redirect URI of clients.
    pub(crate) editor: Site,
    tasks: Vec<JoinHandle<()>>,
}

/// The tokens that a handler got, and everything it could print.
#[derive(Default)]
pub(crate) struct Had {
    tokens: Mutex<Vec<Secret>>,
    printed: Mutex<String>,
}

impl Plan {
    pub(crate) const fn new(name: &'static str, maker: Maker) -> Self {
        Self {
            name,
            maker,
            signs_in: Maker::OidcProvider,
            by_error: false,
            behind: 0,
            binds: true,
            tenant: None,
        }
    }
}

impl Scene {
    /// Starts all servers; `None` with a note if an authorization server cannot be installed.
    pub(crate) async fn set(plan: Plan) -> Result<Option<Self>> {
        let Plan {
            name,
            maker,
            signs_in,
            ..
        } = plan;
        let (Some(ours), Some(theirs)) = (signs_in.command()?, maker.command()?) else {
            return Ok(None);
        };
        let (pages_at, endpoint_at) = (listener().await?, listener().await?);
        let pages = format!("http://{}/connect", pages_at.local_addr()?);
        let endpoint = format!("http://{}/mcp", endpoint_at.local_addr()?);
        let editor = Site::start(EDITORS_PAGES).await?;
        let role = Role {
            clients: vec![
                Registered::web("pages", PAGES, &format!("{pages}/signed-in")),
                Registered::web("editor", EDITOR, &format!("{}{BACK}", editor.url)),
            ],
            behind: plan.behind,
            binds: plan.binds,
            tenant: plan.tenant,
            ..Role::protecting(&endpoint, &["trips:read"])
        };
        let issuer = Issuer::start(ours, &role)?;
        let role = Role {
            clients: vec![
                Registered::web("kit", KIT, &format!("{pages}/cb/airline")),
                Airline::registered(),
            ],
            ..Role::third_party(&[SCOPE])
        };
        let third = Issuer::start(theirs, &role)?;
        let metadata = third.metadata().await?;
        let introspection = metadata["introspection_endpoint"].as_str();
        let airline = Airline::start(introspection.ok_or("there is no introspection")?).await?;

        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("connect-{name}"));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory)?;
        let providers = providers(&third, &airline).await?;
        let keys = keys();
        let vault = open_with(&directory, Arc::clone(&keys), Arc::new(SystemClock)).await?;
        let client = RegisteredClient::new("pages").with_secret(Secret::new(PAGES));
        let sign_in = WebSignIn::discover(&fetcher()?, &issuer.name, client).await?;
        let verifier = JwtVerifier::discover(&issuer.name)?;
        let (sign_in, verifier) = match plan.tenant {
            Some(_) => (sign_in.tenant_claim(TENANT), verifier.tenant_claim(TENANT)),
            None => (sign_in, verifier),
        };
        let brand = Brand::new("Acme Tools").color("#0a7a4b")?;
        let kit = Connections::at(&pages, sign_in, vault.clone(), providers.clone()).brand(brand);
        let kit = if plan.by_error { kit.by_error() } else { kit }.build()?;
        let had = Arc::<Had>::default();
        had.print(&format!("{kit:?} {vault:?} {providers:?}"));

        let router = axum::Router::new().route_service("/connect/{*path}", kit.pages());
        let protection = Protection::new(&endpoint, verifier)?;
        let server = server(kit, &airline, &had)?.http();
        let server = server.protect(protection.scopes(["trips:read"])?);
        let tasks = vec![
            tokio::spawn(async move {
                let _ = axum::serve(pages_at, router).await;
            }),
            tokio::spawn(async move {
                let _ = server.serve(endpoint_at).await;
            }),
        ];
        Ok(Some(Self {
            maker,
            third,
            airline,
            issuer,
            signs_in,
            tenant: plan.tenant,
            keys,
            vault,
            providers,
            pages,
            endpoint,
            directory,
            had,
            editor,
            tasks,
        }))
    }

    pub(crate) fn editors_callback(&self) -> String {
        format!("{}{BACK}", self.editor.url)
    }

    pub(crate) fn registered_editor() -> RegisteredClient {
        RegisteredClient::new("editor").with_secret(Secret::new(EDITOR))
    }

    pub(crate) fn principal(&self, login: &str) -> Principal {
        Principal {
            tenant: self.tenant.map(str::to_owned),
            issuer: Some(self.issuer.name.clone()),
            subject: login.to_owned(),
            client_id: Some("editor".to_owned()),
        }
    }

    /// Opens the vault again, as another process with the same keys would.
    pub(crate) async fn open_again(&self) -> Result<Vault> {
        open_with(
            &self.directory,
            Arc::clone(&self.keys),
            Arc::new(SystemClock),
        )
        .await
    }

    pub(crate) async fn accounts(&self, login: &str) -> Result<Vec<String>> {
        let accounts = self.vault.accounts(&self.principal(login)).await?;
        Ok(accounts.into_iter().map(|it| it.key.account).collect())
    }

    pub(crate) async fn events(&self, login: &str) -> Result<Vec<AuditEvent>> {
        let lines = self.vault.audit(self.tenant, 0, 10_000).await?;
        let records = lines.into_iter().map(|line| line.record);
        let theirs = records.filter(|it| it.holder().is_some_and(|it| it.subject == login));
        Ok(theirs.map(|record| record.event).collect())
    }

    /// Signs in a user whom a page asked to sign in, in a browser that the issuer does not know.
    pub(crate) async fn sign_in(&self, person: &Person, login: &str) -> Result<()> {
        person.click("button", "Sign in").await?;
        self.known(person, login).await?;
        person.sees("Signed in as").await
    }

    /// Signs in at the issuer, and consents to the client.
    pub(crate) async fn known(&self, person: &Person, login: &str) -> Result<()> {
        self.signs_in.sign_in(person, login).await?;
        self.signs_in.agree(person).await
    }

    pub(crate) async fn visit(&self, person: &Person, login: &str) -> Result<()> {
        person.goto(&format!("{}/accounts", self.pages)).await?;
        self.sign_in(person, login).await
    }

    /// Agrees to connect the airline on the page of a link. The airline asks next.
    pub(crate) async fn agree(&self, person: &Person, link: &str) -> Result<()> {
        person.goto(link).await?;
        person.click("button", "Continue to Airline").await
    }

    /// Consents at the airline, in a browser that it does not know.
    pub(crate) async fn allow(&self, person: &Person, login: &str) -> Result<()> {
        self.maker.sign_in(person, login).await?;
        self.maker.agree(person).await
    }

    /// Consents at the airline, in a browser that it knows.
    pub(crate) async fn allow_again(&self, person: &Person, login: &str) -> Result<()> {
        match self.maker {
            Maker::OidcProvider => self.maker.agree(person).await,
            // Authlib's server does not remember the user.
            Maker::Authlib => self.allow(person, login).await,
        }
    }

    /// Performs all these steps in a fresh browser.
    pub(crate) async fn connect(&self, person: &Person, link: &str, login: &str) -> Result<()> {
        person.goto(link).await?;
        self.sign_in(person, login).await?;
        self.agree(person, link).await?;
        self.allow(person, login).await?;
        person.sees("Airline is connected").await
    }

    /// Returns the airline's response to a visitor of the pages, without delivering it.
    pub(crate) async fn callback(
        &self,
        person: &Person,
        link: &str,
        login: &str,
    ) -> Result<String> {
        let callback = format!("{}/cb/", self.pages);
        person.bar(&callback).await?;
        self.agree(person, link).await?;
        self.allow(person, login).await?;
        let url = person.barred().await?;
        person.unbar().await?;
        assert!(url.starts_with(&callback), "{url}");
        Ok(url)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Had {
    fn print(&self, text: &str) {
        held(&self.printed).push_str(text);
    }

    pub(crate) fn tokens(&self) -> Vec<Secret> {
        held(&self.tokens).clone()
    }

    pub(crate) fn printed(&self) -> String {
        held(&self.printed).clone()
    }
}

/// Returns a fetcher that can reach the test's servers.
pub(crate) fn fetcher() -> Result<Fetcher> {
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
    Ok(fetcher?)
}

/// Opens the vault in a directory, as each process does.
pub(crate) async fn open(directory: &Path, clock: Arc<dyn Clock>) -> Result<Vault> {
    open_with(directory, keys(), clock).await
}

async fn open_with(directory: &Path, keys: Arc<LocalKeys>, clock: Arc<dyn Clock>) -> Result<Vault> {
    let store = Arc::new(SqliteVault::open(directory.join("vault.db"))?);
    let vault = Vault::open_with(store, keys, VaultSettings::default(), clock).await?;
    Ok(vault)
}

fn keys() -> Arc<LocalKeys> {
    Arc::new(LocalKeys::new(KeyRing::new(Key::new(&KEY))))
}

pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn listener() -> Result<TcpListener> {
    Ok(TcpListener::bind("127.0.0.1:0").await?)
}

async fn providers(third: &Issuer, airline: &Airline) -> Result<Providers> {
    let client = RegisteredClient::new("kit").with_secret(Secret::new(KIT));
    let party = ThirdParty::discover(&fetcher()?, "airline", &third.name, client).await?;
    let account = AccountSource::document(&airline.miles, "/person")?;
    let miles = Url::parse(&airline.miles)?.origin().ascii_serialization();
    let party = party.title("Airline").account(account).api([miles])?;
    let key = ApiKey::new().hint("A key with read access to invoices.");
    let key = key.page("https://pay.example/settings/keys")?;
    let party = party.scope_words(SCOPE, "Read how many miles you have");
    let providers = Providers::new(fetcher()?).with(party)?;
    let pay = ThirdParty::api_key("pay", "Pay", key)?;
    Ok(providers.with(pay.api(["https://pay.example"])?)?)
}

fn server(kit: Connections, airline: &Airline, had: &Arc<Had>) -> Result<Server> {
    let (url, had) = (airline.miles.clone(), Arc::clone(had));
    let miles = move |ctx: Ctx| my_miles(ctx, url.clone(), Arc::clone(&had));
    let pay = async |ctx: Ctx| -> askback::Result<String> {
        let pay = ctx.connect("pay").await?;
        Ok(format!("{pay:?}"))
    };
    let server = Server::new("desk", "1").state(kit);
    let server = server.tool(Tool::new("my_miles", miles));
    let server = server.tool(Tool::new("breaks", breaks));
    Ok(server.tool(Tool::new("pay", pay)).build()?)
}

async fn my_miles(ctx: Ctx, url: String, had: Arc<Had>) -> askback::Result<String> {
    let airline = ctx.connect("airline").scopes([SCOPE]).await?;
    let answer = airline.get(&url).await?;
    let credential = airline.credential().await?;
    had.print(&format!("{airline:?} {credential:?} {answer:?}"));
    held(&had.tokens).push(credential.secret);
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

#[expect(clippy::panic, reason = "it is what this tool is for")]
async fn breaks(ctx: Ctx) -> askback::Result<String> {
    let airline = ctx.connect("airline").scopes([SCOPE]).await?;
    let credential = airline.credential().await?;
    panic!("{BREAKS} {airline:?} {credential:?}")
}
