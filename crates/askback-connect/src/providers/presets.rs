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

#[cfg(test)]
mod tests {
    use askback_core::auth::Scopes;
    use askback_oauth::Secret;

    use super::*;

    const REDIRECT: &str = "https://tools.example/connected";

    fn client() -> RegisteredClient {
        RegisteredClient::new("c-1").with_secret(Secret::new("s"))
    }

    /// Parameters of a request for the scopes `a` and `b`.
    fn parameters(preset: &str) -> &'static [(&'static str, &'static str)] {
        match preset {
            "github" => &[("scope", "a b")],
            "google" => &[
                ("scope", "openid email a b"),
                ("access_type", "offline"),
                ("prompt", "consent"),
            ],
            "linear" => &[("scope", "read,a,b")],
            "microsoft" => &[("scope", "openid profile offline_access a b")],
            "slack" => &[("user_scope", "a,b")],
            _ => panic!("the parameters of {preset} are not known here"),
        }
    }

    #[test]
    fn each_preset_can_be_used() {
        let presets: BTreeMap<String, Entry> = toml::from_str(PRESETS).expect("the presets");
        for (name, entry) in presets {
            let page = entry.page.clone().unwrap_or_default();
            assert!(page.starts_with("https://"), "{name}: {page:?}");
            let party = entry.tenant("common").party(&name, client());
            let party = party.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let origins = party.api_origins().unwrap_or_default();
            assert!(!origins.is_empty(), "{name}");
            for scope in party.default_scopes().iter() {
                assert!(party.words_of(scope).is_some(), "{name} {scope}");
            }
            let scopes = Scopes::parse("a b").expect("scopes");
            let (url, _) = party.begin(&scopes, REDIRECT).expect("a request");
            for (parameter, written) in parameters(&name) {
                let found = url.query_pairs().find(|(name, _)| name == parameter);
                let found = found.map(|(_, value)| value.into_owned());
                assert_eq!(found.as_deref(), Some(*written), "{name} {parameter}");
            }
        }
    }

    #[test]
    fn scopes_have_words() {
        #[track_caller]
        fn check(party: Result<ThirdParty, ConnectError>, scope: &str, words: &str) {
            assert_eq!(party.expect("a preset").words_of(scope), Some(words));
        }
        check(
            ThirdParty::github(client()),
            "read:user",
            "Read your profile",
        );
        check(
            ThirdParty::microsoft("common", client()),
            "https://graph.microsoft.com/Mail.Read",
            "Read your mail",
        );
    }

    #[test]
    fn a_tenant_changes_the_path_alone() {
        for (tenant, is_valid) in [
            ("common", true),
            ("9188040d-6c67-4c5b-b112-36a304b66dad", true),
            ("acme.example", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("a@b", false),
            ("a?b", false),
        ] {
            let party = ThirdParty::microsoft(tenant, client());
            assert_eq!(party.is_ok(), is_valid, "{tenant}");
        }
    }
}
