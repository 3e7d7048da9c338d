//! Our server, which accepts tokens of one authorization server, and clients for it.

use std::{
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback::{
    BoxFuture, Ctx, Server, Tool,
    authorization::{
        Secret,
        client::{
            Authorization, CredentialKey, CredentialStore, KeyLock, MemoryCredentials,
            RegisteredClient, SignOut,
        },
        server::{JwtVerifier, Protection},
    },
    client::{Client, ClientError},
    transport::Http,
};
use lab::{
    install,
    issuers::{Issuer, Registered, Role},
};
use tokio::net::TcpListener;

use crate::{Result, person::Person};

pub(crate) const BY_HAND: &str = "a secret that was given by hand";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seconds: u64,
    /// Whether tokens are bound to keys, and proofs need nonces.
    pub(crate) bound: bool,
}

pub(crate) struct Stage {
    pub(crate) issuer: Issuer,
    pub(crate) url: String,
}

/// A user of the server, with the data that their programs store.
pub(crate) struct User {
    pub(crate) person: Person,
    pub(crate) store: Arc<Watched>,
    client: Option<RegisteredClient>,
    bound: bool,
    url: String,
}

/// A store with readable content.
#[derive(Default)]
pub(crate) struct Watched {
    store: MemoryCredentials,
    tokens: Mutex<Option<Secret>>,
}

/// The caller of a tool, as reported by the tool: issuer, subject and client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) issuer: String,
    pub(crate) subject: String,
    pub(crate) client: String,
}

impl Stage {
    /// Starts both servers; `None` with a note if the authorization server is not installed.
    pub(crate) async fn set(
        name: &str,
        installed: Result<Option<Command>>,
        plan: Plan,
    ) -> Result<Option<Self>> {
        let Some(command) = installed? else {
            install::tell_left_out(name, "it cannot be installed here");
            return Ok(None);
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let by_hand = Registered::native("by-hand", BY_HAND, "http://127.0.0.1/callback");
        let role = Role {
            lasting: plan.seconds,
            nonces: plan.bound,
            clients: vec![by_hand.pairwise()],
            ..Role::protecting(&url, &["trips:read", "trips:write"])
        };
        let issuer = Issuer::start(command, &role)?;
        // Their clocks are the same.
        let tokens = JwtVerifier::discover(&issuer.name)?.leeway(Duration::ZERO);
        let mut protection = Protection::new(&url, tokens)?.scopes(["trips:read"])?;
        if plan.bound {
            protection = protection.require_dpop();
        }
        let server = Server::new("agency", "1")
            .tool(Tool::new("whoami", whoami))
            .tool(Tool::new("book", whoami).scopes(["trips:write"]))
            .build()?;
        tokio::spawn(server.http().protect(protection).serve(listener));
        Ok(Some(Self { issuer, url }))
    }

    /// Returns a new user. Tokens are only bound to a key if the plan says so.
    pub(crate) fn user(&self, login: &'static str) -> User {
        User {
            person: Person::new(login),
            store: Arc::default(),
            client: None,
            bound: false,
            url: self.url.clone(),
        }
    }
}

async fn whoami(ctx: Ctx) -> askback::Result<String> {
    let Some(principal) = ctx.principal() else {
        return Ok("nobody".to_owned());
    };
    let issuer = principal.issuer.as_deref().unwrap_or_default();
    let client = principal.client_id.as_deref().unwrap_or_default();
    Ok(format!("{issuer}\n{}\n{client}", principal.subject))
}

impl User {
    pub(crate) fn with_client(mut self, client: RegisteredClient) -> Self {
        self.client = Some(client);
        self
    }

    pub(crate) fn with_bound_tokens(mut self) -> Self {
        self.bound = true;
        self
    }

    fn authorization(&self) -> Authorization {
        let mut authorization =
            Authorization::person(self.person.clone()).store(Arc::clone(&self.store));
        if let Some(client) = &self.client {
            authorization = authorization.client(client.clone());
        }
        if self.bound {
            authorization = authorization.bound_tokens();
        }
        authorization
    }

    pub(crate) async fn connect(&self) -> Result<Client, ClientError> {
        let http =
            Http::new(&self.url).map_err(|error| ClientError::Unreachable(error.to_string()))?;
        Client::builder("lab", "1")
            .connect(http.authorize(&self.authorization()))
            .await
    }

    pub(crate) async fn sign_out(&self) -> Result<SignOut> {
        Ok(self.authorization().sign_out(&self.url).await?)
    }
}

/// Calls a tool that returns its caller.
pub(crate) async fn call(client: &Client, tool: &'static str) -> Result<Principal> {
    let result = client.call_tool(tool, ()).await?;
    let text = result.text()?;
    let mut lines = text.lines().map(str::to_owned);
    let (Some(issuer), Some(subject), Some(client)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err(format!("the tool did not say who calls it: {text}").into());
    };
    Ok(Principal {
        issuer,
        subject,
        client,
    })
}

impl Watched {
    pub(crate) fn tokens(&self) -> Option<Secret> {
        let tokens = self.tokens.lock();
        tokens.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Restores older tokens, as a thief would use a copy.
    pub(crate) async fn put_back(&self, url: &str, tokens: &Secret) -> Result<()> {
        Ok(self
            .save(&CredentialKey::Tokens(url.to_owned()), tokens)
            .await?)
    }
}

impl CredentialStore for Watched {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        self.store.load(key)
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        if matches!(key, CredentialKey::Tokens(_)) {
            let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            *tokens = Some(value.clone());
        }
        self.store.save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.store.remove(key)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        self.store.lock(key)
    }
}
