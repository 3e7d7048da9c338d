//! Third parties that are known here.

use std::collections::BTreeMap;

use askback_oauth::RegisteredClient;

use super::entry::Entry;
use super::error::ConnectError;
use super::third_party::ThirdParty;

pub(super) const PRESETS: &str = include_str!("presets.toml");

impl ThirdParty {
    /// Creates GitHub, for an OAuth app or a GitHub App. Tokens of an OAuth app do not end, and there are no refresh
    /// tokens for it.
    ///
    /// # Errors
    ///
    /// None with the tables of this crate.
    pub fn github(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("github", None, client)
    }

    /// Creates Google. Refresh tokens are asked for, so that the person consents each time.
    ///
    /// # Errors
    ///
    /// None with the tables of this crate.
    pub fn google(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("google", None, client)
    }

    /// Creates Linear.
    ///
    /// # Errors
    ///
    /// None with the tables of this crate.
    pub fn linear(client: RegisteredClient) -> Result<Self, ConnectError> {
        party("linear", None, client)
    }

    /// Creates Microsoft, for the accounts of a tenant: its id or its domain, or `common`, `organizations` or
    /// `consumers`. Microsoft takes no tokens back.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Description`] where the tenant has other characters than those of a domain.
    pub fn microsoft(tenant: &str, client: RegisteredClient) -> Result<Self, ConnectError> {
        party("microsoft", Some(tenant), client)
    }

    /// Creates Slack, for tokens of persons, not of bots.
    ///
    /// # Errors
    ///
    /// None with the tables of this crate.
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
    preset.ok_or_else(|| not_there("there is no such preset".to_owned()))
}

#[cfg(test)]
mod tests {
    use askback_core::auth::Scopes;
    use askback_oauth::Secret;

    use super::*;

    #[test]
    fn each_preset_has_a_page_and_can_be_begun() {
        let presets: BTreeMap<String, Entry> = toml::from_str(PRESETS).expect("the presets");
        for (name, entry) in presets {
            let page = entry.page.clone().unwrap_or_default();
            assert!(page.starts_with("https://"), "{name}: {page:?}");
            let client = RegisteredClient::new("c-1").with_secret(Secret::new("s"));
            let party = entry.tenant("common").party(&name, client);
            let party = party.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(
                !party.api_origins().unwrap_or_default().is_empty(),
                "{name}"
            );
            let begun = party.begin(&Scopes::new(), "https://tools.example/connected");
            assert!(begun.is_ok(), "{name}: {begun:?}");
        }
    }
}
