//! Third parties that are known here.

use std::collections::BTreeMap;

use askback_oauth::RegisteredClient;

use super::entry::Entry;
use super::error::ConnectError;
use super::third_party::ThirdParty;

/// The tables of all presets.
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

    #[test]
    fn what_is_always_asked_for_is_said_in_words() {
        let client = || RegisteredClient::new("c-1");
        for party in [
            ThirdParty::github(client()),
            ThirdParty::google(client()),
            ThirdParty::linear(client()),
            ThirdParty::microsoft("common", client()),
            ThirdParty::slack(client()),
        ] {
            let party = party.expect("a preset");
            for scope in party.default_scopes().iter() {
                assert!(party.words_of(scope).is_some(), "{party:?} {scope}");
            }
        }
        let github = ThirdParty::github(client()).expect("a preset");
        assert_eq!(github.words_of("read:user"), Some("Read your profile"));
        let mail = "https://graph.microsoft.com/Mail.Read";
        let microsoft = ThirdParty::microsoft("common", client()).expect("a preset");
        assert_eq!(microsoft.words_of(mail), Some("Read your mail"));
    }

    #[test]
    fn scopes_are_asked_for_as_each_third_party_reads_them() {
        let client = || RegisteredClient::new("c-1");
        for (party, parameter, written) in [
            (ThirdParty::github(client()), "scope", "a b"),
            (ThirdParty::google(client()), "scope", "openid email a b"),
            (ThirdParty::google(client()), "access_type", "offline"),
            (ThirdParty::google(client()), "prompt", "consent"),
            (ThirdParty::linear(client()), "scope", "read,a,b"),
            (
                ThirdParty::microsoft("acme.example", client()),
                "scope",
                "openid profile offline_access a b",
            ),
            (ThirdParty::slack(client()), "user_scope", "a,b"),
        ] {
            let party = party.expect("a preset");
            let scopes = Scopes::parse("a b").expect("scopes");
            let (url, _) = party
                .begin(&scopes, "https://tools.example/connected")
                .expect("a request");
            let found = url.query_pairs().find(|(name, _)| name == parameter);
            let found = found.map(|(_, value)| value.into_owned());
            assert_eq!(found.as_deref(), Some(written), "{party:?}");
        }
    }

    #[test]
    fn a_tenant_changes_the_path_alone() {
        for (tenant, is_taken) in [
            ("common", true),
            ("9188040d-6c67-4c5b-b112-36a304b66dad", true),
            ("acme.example", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("a@b", false),
            ("a?b", false),
        ] {
            let party = ThirdParty::microsoft(tenant, RegisteredClient::new("c-1"));
            assert_eq!(party.is_ok(), is_taken, "{tenant}");
        }
    }
}
