use std::collections::BTreeMap;

use askback_oauth::RegisteredClient;

use super::entry::Entry;
use super::error::ConnectError;
use super::third_party::ThirdParty;

pub(super) const PRESETS: &str = include_str!("presets.toml");

impl ThirdParty {
    /// Creates GitHub, for an OAuth app or a GitHub App. Tokens of an OAuth app do not expire and have no refresh
    /// token.
    ///
    /// # Errors
    ///
    /// Never with the tables of this crate.
    pub fn github(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("github", None, client)
    }

    /// Creates Google. It requests refresh tokens, so users consent each time.
    ///
    /// # Errors
    ///
    /// Never with the tables of this crate.
    pub fn google(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("google", None, client)
    }

    /// Creates Linear.
    ///
    /// # Errors
    ///
    /// Never with the tables of this crate.
    pub fn linear(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("linear", None, client)
    }

    /// Creates Microsoft, for the accounts of a tenant: its id or domain, or `common`, `organizations` or `consumers`.
    /// Microsoft has no token revocation.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] if the tenant has characters that a domain cannot have.
    pub fn microsoft(tenant: &str, client: RegisteredClient) -> Result<Self, ConnectError> {
        party("microsoft", Some(tenant), client)
    }

    /// Creates Slack, for tokens of users, not of bots.
    ///
    /// # Errors
    ///
    /// Never with the tables of this crate.
    pub fn slack(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("slack", None, client)
    }
}

fn party(
    name: &str,
    tenant: Option<&str>,
    client: RegisteredClient,
) -> Result<ThirdParty, ConnectError> {
    let preset = preset(name)?;
    let preset = match tenant {
        Some(tenant) => preset.tenant(tenant),
        None => preset,
    };
    preset.party(name, client).map_err(|fault| fault.why)
}

fn preset(name: &str) -> Result<Entry, ConnectError> {
    let not_there = |why: String| ConnectError::Description {
        provider: name.to_owned(),
        why,
    };
    let presets: Result<BTreeMap<String, Entry>, _> = toml::from_str(PRESETS);
    let presets = presets.map_err(|error| not_there(error.to_string()))?;
    let preset = presets.get(name).cloned();
    preset.ok_or_else(|| not_there("unknown preset".to_owned()))
}
