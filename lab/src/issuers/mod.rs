//! Third-party authorization servers, as processes: `oidc-provider` from npm, and one with Authlib from PyPI
//! ([`install`]). [`Maker`] operates their pages.

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

/// A token lifetime in seconds that outlasts any test.
const LONG: u64 = 600;

/// An authorization server in a child process, stopped on drop.
pub struct Issuer {
    /// Its issuer name, which is its URL.
    pub name: String,
    process: Child,
    /// Its further output is ignored, but the pipe must stay open.
    _stdout: Option<BufReader<ChildStdout>>,
}

/// The configuration of an authorization server.
#[derive(Debug, Clone, Serialize)]
pub struct Role {
    /// The host in its name: `127.0.0.1` or `localhost`. A browser separates cookies and sites by host, but not by
    /// port.
    pub host: &'static str,
    /// The resource of its signed tokens. Without one, tokens are opaque, for introspection.
    pub resource: Option<String>,
    /// The scopes that it can grant.
    pub scopes: Vec<String>,
    /// The preregistered clients. Others may register themselves.
    pub clients: Vec<Registered>,
    /// The lifetime of access tokens, in seconds.
    #[serde(rename = "accessTokenTTL")]
    pub lasting: u64,
    /// The lifetime of refresh tokens, in seconds.
    #[serde(rename = "refreshTokenTTL")]
    pub refreshable: u64,
    /// Whether it requires a nonce in every DPoP proof.
    pub nonces: bool,
    /// Whether it binds tokens to a client's key. Only oidc-provider supports this.
    pub binds: bool,
    /// How many seconds its clock is behind at first. Only oidc-provider supports this.
    pub behind: u64,
    /// The tenant of all persons, in the claim `tenant`. Only oidc-provider supports this.
    pub tenant: Option<&'static str>,
}

/// A preregistered client, in the terms of RFC 7591.
#[derive(Debug, Clone, Serialize)]
pub struct Registered {
    /// Its name.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// How it sends the secret: `client_secret_basic` or `client_secret_post`.
    pub token_endpoint_auth_method: &'static str,
    /// Its redirect URIs.
    pub redirect_uris: Vec<String>,
    /// `web`, or `native` for one on the user's machine.
    pub application_type: &'static str,
    /// The grants that it may use.
    pub grant_types: Vec<&'static str>,
    /// Must agree with the grant types.
    pub response_types: Vec<&'static str>,
    /// Whether it gets the same subject for a person as other clients (`public`) or its own (`pairwise`).
    pub subject_type: &'static str,
}

/// An entry in the log of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A token request was answered.
    Token {
        /// The grant, such as `authorization_code` or `refresh_token`.
        grant: Option<String>,
        /// The client, if it was identified.
        client: Option<String>,
        /// The error code, if the request was refused.
        error: Option<String>,
    },
    /// A revocation request was answered.
    Revocation {
        /// The client, if it was identified.
        client: Option<String>,
        /// The error code, if the request was refused.
        error: Option<String>,
    },
    /// All tokens of one consent were revoked.
    FamilyRevoked,
}

/// A secret exchanged between an authorization server and a client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Issued {
    /// The client, if it was identified.
    pub client: Option<String>,
    /// The name of the secret: `code`, `code_verifier`, `access_token`, `refresh_token` or `id_token`.
    pub kind: String,
    /// The secret.
    pub value: String,
}

impl Role {
    /// Returns the role of a server that protects our resource and signs persons in.
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

    /// Grants a third party's scopes, with tokens that only the issuer can read. Its host differs from ours, as a third
    /// party's would.
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
    /// Creates a web client with this redirect URI.
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

    /// Creates a client on a user's machine.
    #[must_use]
    pub fn native(name: &str, secret: &str, redirect_uri: &str) -> Self {
        Self {
            application_type: "native",
            ..Self::web(name, secret, redirect_uri)
        }
    }

    /// Creates a resource server that gets no tokens, but may introspect them.
    #[must_use]
    pub fn resource_server(name: &str, secret: &str) -> Self {
        Self {
            redirect_uris: Vec::new(),
            grant_types: Vec::new(),
            response_types: Vec::new(),
            ..Self::web(name, secret, "")
        }
    }

    /// Sends the secret in the form.
    #[must_use]
    pub fn posting(mut self) -> Self {
        self.token_endpoint_auth_method = "client_secret_post";
        self
    }

    /// Uses pairwise subjects.
    #[must_use]
    pub fn pairwise(mut self) -> Self {
        self.subject_type = "pairwise";
        self
    }
}

impl Issuer {
    /// Starts an authorization server with a command from [`install`].
    ///
    /// # Errors
    ///
    /// If it does not start, or does not print its name.
    pub fn start(mut command: Command, role: &Role) -> Result<Self> {
        let mut process = command
            .arg(serde_json::to_string(role)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Both print warnings that they are for development only.
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

    /// Returns the metadata (RFC 8414).
    pub async fn metadata(&self) -> Result<Value> {
        let url = format!("{}/.well-known/oauth-authorization-server", self.name);
        loopback::get(&url, &[]).await?.json()
    }

    /// Returns the log, oldest first.
    pub async fn log(&self) -> Result<Vec<Event>> {
        let answer = loopback::get(&format!("{}/log", self.name), &[]).await?;
        Ok(serde_json::from_value(answer.json()?)?)
    }

    /// Returns all secrets exchanged with clients, oldest first.
    pub async fn issued(&self) -> Result<Vec<Issued>> {
        let answer = loopback::get(&format!("{}/issued", self.name), &[]).await?;
        Ok(serde_json::from_value(answer.json()?)?)
    }

    /// Corrects a clock that was behind, so that earlier sign-ins become that much older.
    pub async fn catch_up(&self) -> Result<()> {
        let answer = loopback::get(&format!("{}/catch-up", self.name), &[]).await?;
        answer.json().map(drop)
    }

    /// Returns how many times tokens were renewed.
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
        // It may already have exited, which its clients will have noticed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
