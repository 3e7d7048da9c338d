//! The settings of a sign-in from the command line and `mcp.json`.

use std::{fs, path::PathBuf};

use askback::{
    authorization::{
        Scopes, Secret,
        client::{Authorization, RegisteredClient},
    },
    internal::json,
};
use askback_host::{relay::Relay, text::given, words};
use serde::Deserialize;

use super::{Browser, Nobody};
use crate::{
    credentials::{Place, Vault},
    environment::{self, CLIENT_SECRET},
    error::Error,
};

/// The options of signing in.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Signing in, if a server at a URL requires it")]
pub struct SignInArgs {
    /// Request this scope in addition to those that the server requires; may be given again
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The id of a client that was registered by hand
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The issuer of the authorization server that the client is registered with [default: the first
    /// that it is used with]. Required if the secret comes from the environment
    #[arg(long, value_name = "URL", requires = "client_id")]
    client_issuer: Option<String>,
    /// A file with the client's secret [default: the variable ASKBACK_CLIENT_SECRET, if --client-issuer
    /// is given]
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<PathBuf>,
    /// The local port that the browser returns to [default: any free port]
    #[arg(long, value_name = "PORT")]
    callback_port: Option<u16>,
    /// Where to keep the tokens
    #[arg(long, value_name = "PLACE", value_enum, default_value_t)]
    credentials: Place,
}

/// The settings of a sign-in from `mcp.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInEntry {
    client_id: Option<String>,
    /// The issuer of the authorization server where the client is registered.
    issuer: Option<String>,
    /// The variable with the client's secret. The secret itself does not belong in the file.
    client_secret_env: Option<String>,
    #[serde(default, deserialize_with = "json::texts")]
    scopes: Vec<String>,
    callback_port: Option<u16>,
}

impl SignInArgs {
    /// Returns how to authorize. If a user is present, the front end of `relay` asks them. The command line takes
    /// precedence over the file.
    pub fn authorization(
        &self,
        entry: &SignInEntry,
        relay: &Relay,
        is_attended: bool,
    ) -> Result<Authorization, Error> {
        let scopes = entry.scopes.iter().chain(&self.scope);
        let scopes =
            Scopes::of(scopes.flat_map(|words| words.split_whitespace())).map_err(|error| {
                Error::usage("these scopes cannot be asked for:").quoting(error.to_string())
            })?;
        let port = self.callback_port.or(entry.callback_port).unwrap_or(0);
        let told = relay.clone();
        let authorization = match is_attended {
            true => Authorization::person(Browser::new(relay.clone(), port)),
            false => Authorization::person(Nobody),
        };
        let mut authorization = authorization.introduced_as("askback", None).scopes(scopes);
        if let Some(vault) = self.vault(move |words| told.tell(given(words)))? {
            authorization = authorization.store(vault);
        }
        Ok(match self.client(entry)? {
            Some(client) => authorization.client(client),
            None => authorization,
        })
    }

    /// `None` if credentials are for this run alone.
    pub fn vault(
        &self,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<Vault>, Error> {
        Vault::open(self.credentials, tell)
    }

    pub fn client(&self, entry: &SignInEntry) -> Result<Option<RegisteredClient>, Error> {
        let (id, issuer, secret) = match (&self.client_id, &entry.client_id) {
            (Some(id), _) => (id, &self.client_issuer, self.secret()?),
            (None, Some(id)) => (id, &entry.issuer, entry.secret()?),
            (None, None) => return Ok(None),
        };
        let client = RegisteredClient::new(id);
        let client = match issuer {
            Some(issuer) => client.with_issuer(issuer),
            None => client,
        };
        Ok(Some(match secret {
            Some(secret) => client.with_secret(secret),
            None => client,
        }))
    }

    fn secret(&self) -> Result<Option<Secret>, Error> {
        let Some(file) = &self.client_secret_file else {
            let secret = environment::secret(CLIENT_SECRET);
            if secret.is_some() && self.client_issuer.is_none() {
                return Err(unassigned(CLIENT_SECRET).hint(
                    "Name the authorization server with --client-issuer URL, or unset the variable.",
                ));
            }
            return Ok(secret);
        };
        let read = fs::read_to_string(file).map(zeroize::Zeroizing::new);
        let text = read.map_err(|error| Error::unread(file, error))?;
        Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
    }
}

impl SignInEntry {
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    pub fn client_secret_env(&self) -> Option<&str> {
        self.client_secret_env.as_deref()
    }

    fn secret(&self) -> Result<Option<Secret>, Error> {
        let Some(name) = &self.client_secret_env else {
            return Ok(None);
        };
        if self.issuer.is_none() {
            let error = Error::usage(
                "the secret in this variable is for one authorization server, which is not named:",
            );
            return Err(error
                .quoting(name)
                .hint("Add `issuer` to the `oauth` of the server."));
        }
        let secret = environment::secret(name);
        let error = || {
            Error::usage("this variable, for the client's secret, is not set, or is not UTF-8:")
                .quoting(name)
        };
        secret.ok_or_else(error).map(Some)
    }
}

/// The error for a secret in the environment without an issuer: it could be sent to any authorization server that a
/// server names.
fn unassigned(variable: &'static str) -> Error {
    Error::usage(words!(
        "the secret in the variable {} is for one authorization server, which is not named",
        variable
    ))
}
