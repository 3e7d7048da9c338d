//! Authorization servers that others wrote, as processes: `oidc-provider` from npm, and one made with
//! Authlib from PyPI ([`install`]). Persons who are asked by their pages answer with [`Maker`].

pub mod install;
mod pages;

pub use self::pages::Maker;

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{install::Result, loopback};

/// How long tokens last that outlast a test, in seconds.
const LONG: u64 = 600;

/// An authorization server in a process of its own, which ends with this.
pub struct Issuer {
    /// Its name, and where it is.
    pub name: String,
    process: Child,
    /// Its other output is of no interest, but it must be able to write it.
    _stdout: Option<BufReader<ChildStdout>>,
}

/// The purpose of an authorization server, and how it goes about it.
#[derive(Debug, Clone, Serialize)]
pub struct Role {
    /// The host in its name: `127.0.0.1` or `localhost`. A browser keeps cookies by host, and counts
    /// another host as another site; ports make no difference to it.
    pub host: &'static str,
    /// The resource that tokens are for, which are signed; without one they are for introspection.
    pub resource: Option<String>,
    /// The scopes that it can grant.
    pub scopes: Vec<String>,
    /// The clients that are registered by hand. Others may register themselves.
    pub clients: Vec<Registered>,
    /// How long access tokens last, in seconds.
    #[serde(rename = "accessTokenTTL")]
    pub lasting: u64,
    /// How long refresh tokens last, in seconds.
    #[serde(rename = "refreshTokenTTL")]
    pub refreshable: u64,
    /// Whether it wants a nonce in every proof of a key.
    pub nonces: bool,
    /// Whether it binds tokens to a key where a client has one; oidc-provider alone can.
    pub binds: bool,
    /// By how many seconds its clock is behind at first; oidc-provider alone can be.
    pub behind: u64,
    /// The tenant of all persons, which tokens name in the claim `tenant`; oidc-provider alone names one.
    pub tenant: Option<&'static str>,
}

/// A client that is registered by hand, in the words of RFC 7591.
#[derive(Debug, Clone, Serialize)]
pub struct Registered {
    /// Its name.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// How it sends the secret: `client_secret_basic` or `client_secret_post`.
    pub token_endpoint_auth_method: &'static str,
    /// Where persons are sent back to.
    pub redirect_uris: Vec<String>,
    /// `web`, or `native` for one that persons have on their machine.
    pub application_type: &'static str,
    /// How it may come by tokens.
    pub grant_types: Vec<&'static str>,
    /// With which the above must agree.
    pub response_types: Vec<&'static str>,
    /// Whether it is told the same name of a person as others (`public`) or one of its own (`pairwise`).
    pub subject_type: &'static str,
}

/// An entry in the log of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A request for tokens was answered.
    Token {
        /// The grant, such as `authorization_code` or `refresh_token`.
        grant: Option<String>,
        /// The client, as far as it was known.
        client: Option<String>,
        /// The code of the error, if it was refused.
        error: Option<String>,
    },
    /// A request to revoke a token was answered.
    Revocation {
        /// The client, as far as it was known.
        client: Option<String>,
        /// The code of the error, if it was refused.
        error: Option<String>,
    },
    /// All tokens that come from one consent became worthless.
    FamilyRevoked,
}

/// A secret that went between an authorization server and a client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Issued {
    /// The client, as far as it was known.
    pub client: Option<String>,
    /// The member that held it: `code`, `code_verifier`, `access_token`, `refresh_token` or `id_token`.
    pub kind: String,
    /// The secret.
    pub value: String,
}

impl Role {
    /// Protects a resource of ours, and signs persons in.
    #[must_use]
    pub fn protecting(resource: &str, scopes: &[&str]) -> Self {
        let resource = Some(resource.to_owned());
        let third_party = Self::third_party(scopes);
        Self {
            host: "127.0.0.1",
            resource,
            ..third_party
        }
    }

    /// Grants a third party's scopes, with tokens that only it can read. Its host is another than ours, as
    /// a third party's is.
    #[must_use]
    pub fn third_party(scopes: &[&str]) -> Self {
        Self {
            host: "localhost",
            resource: None,
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            clients: Vec::new(),
            lasting: LONG,
            refreshable: LONG,
            nonces: false,
            binds: true,
            behind: 0,
            tenant: None,
        }
    }
}

impl Registered {
    /// A client with pages, to which persons are sent back.
    #[must_use]
    pub fn web(name: &str, secret: &str, redirect_uri: &str) -> Self {
        Self {
            client_id: name.to_owned(),
            client_secret: secret.to_owned(),
            token_endpoint_auth_method: "client_secret_basic",
            redirect_uris: vec![redirect_uri.to_owned()],
            application_type: "web",
            grant_types: vec!["authorization_code", "refresh_token"],
            response_types: vec!["code"],
            subject_type: "public",
        }
    }

    /// A client on the machine of a person.
    #[must_use]
    pub fn native(name: &str, secret: &str, redirect_uri: &str) -> Self {
        Self {
            application_type: "native",
            ..Self::web(name, secret, redirect_uri)
        }
    }

    /// A server that gets no tokens, but is told what others are worth.
    #[must_use]
    pub fn resource_server(name: &str, secret: &str) -> Self {
        Self {
            redirect_uris: Vec::new(),
            grant_types: Vec::new(),
            response_types: Vec::new(),
            ..Self::web(name, secret, "")
        }
    }

    /// Has it send its secret in the form, beside what it wants.
    #[must_use]
    pub fn posting(mut self) -> Self {
        self.token_endpoint_auth_method = "client_secret_post";
        self
    }

    /// Gives it names of persons that no other client is told.
    #[must_use]
    pub fn pairwise(mut self) -> Self {
        self.subject_type = "pairwise";
        self
    }
}

impl Issuer {
    /// Starts an authorization server with the command that [`install`] gave.
    ///
    /// # Errors
    ///
    /// If it does not start, or does not say its name.
    pub fn start(mut command: Command, role: &Role) -> Result<Self> {
        let mut process = command
            .arg(serde_json::to_string(role)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Both warn of being what they are here: for development.
            .stderr(Stdio::null())
            .spawn()?;
        let mut said = String::new();
        let mut stdout = process.stdout.take().map(BufReader::new);
        if let Some(stdout) = &mut stdout {
            stdout.read_line(&mut said)?;
        }
        let mut issuer = Self {
            name: String::new(),
            process,
            _stdout: stdout,
        };
        let said: Value = serde_json::from_str(&said)
            .map_err(|_| format!("{command:?} did not say its issuer but {said:?}"))?;
        issuer.name = said["issuer"].as_str().unwrap_or_default().to_owned();
        Ok(issuer)
    }

    /// The metadata (RFC 8414).
    ///
    /// # Errors
    ///
    /// If the server does not give it.
    pub async fn metadata(&self) -> Result<Value> {
        let url = format!("{}/.well-known/oauth-authorization-server", self.name);
        loopback::get(&url, &[]).await?.json()
    }

    /// The log, oldest first.
    ///
    /// # Errors
    ///
    /// If the server does not give it.
    pub async fn log(&self) -> Result<Vec<Event>> {
        let answer = loopback::get(&format!("{}/log", self.name), &[]).await?;
        Ok(serde_json::from_value(answer.json()?)?)
    }

    /// All secrets that went between the server and its clients, oldest first.
    ///
    /// # Errors
    ///
    /// If the server does not give them.
    pub async fn issued(&self) -> Result<Vec<Issued>> {
        let answer = loopback::get(&format!("{}/issued", self.name), &[]).await?;
        Ok(serde_json::from_value(answer.json()?)?)
    }

    /// Sets a clock right that was behind: who has signed in until now did so that much longer ago.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub async fn catch_up(&self) -> Result<()> {
        let answer = loopback::get(&format!("{}/catch-up", self.name), &[]).await?;
        answer.json().map(drop)
    }

    /// How many times tokens were renewed.
    ///
    /// # Errors
    ///
    /// If the server does not give its log.
    pub async fn renewals(&self) -> Result<usize> {
        Ok(self.log().await?.iter().filter(|it| it.renews()).count())
    }
}

impl Event {
    /// Whether tokens were renewed.
    #[must_use]
    pub fn renews(&self) -> bool {
        matches!(self, Self::Token { grant: Some(grant), error: None, .. } if grant == "refresh_token")
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        // It may have ended by itself, which its clients will have noticed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
