//! The third parties that are known by name.

use askback_connect::providers::{ConnectError, ThirdParty};
use askback_core::auth::Scopes;
use askback_oauth::{RegisteredClient, Secret};

const REDIRECT: &str = "https://tools.example/connected";

fn client() -> RegisteredClient {
    RegisteredClient::new("c-1").with_secret(Secret::new("s"))
}

fn microsoft(client: RegisteredClient) -> Result<ThirdParty, ConnectError> {
    ThirdParty::microsoft("common", client)
}

#[test]
fn each_preset_can_be_used() {
    type Preset = fn(RegisteredClient) -> Result<ThirdParty, ConnectError>;
    // Parameters of a request for the scopes `a` and `b`.
    let presets: [(Preset, &[(&str, &str)]); 5] = [
        (ThirdParty::github, &[("scope", "a b")]),
        (
            ThirdParty::google,
            &[
                ("scope", "openid email a b"),
                ("access_type", "offline"),
                ("prompt", "consent"),
            ],
        ),
        (ThirdParty::linear, &[("scope", "read,a,b")]),
        (microsoft, &[("scope", "openid profile offline_access a b")]),
        (ThirdParty::slack, &[("user_scope", "a,b")]),
    ];
    let file = include_str!("../../src/providers/presets.toml");
    let is_party = |line: &&str| line.starts_with('[') && !line.contains('.');
    assert_eq!(presets.len(), file.lines().filter(is_party).count());
    for (preset, parameters) in presets {
        let party = preset(client()).expect("a preset");
        let name = party.name().to_owned();
        for scope in party.default_scopes().iter() {
            assert!(party.words_of(scope).is_some(), "{name} {scope}");
        }
        let scopes = Scopes::parse("a b").expect("scopes");
        let (url, _) = party.begin(&scopes, REDIRECT).expect("a request");
        for (parameter, written) in parameters {
            let found = url.query_pairs().find(|(name, _)| name == parameter);
            let found = found.map(|(_, value)| value.into_owned());
            assert_eq!(found.as_deref(), Some(*written), "{name} {parameter}");
        }
    }
}

#[test]
fn scopes_have_words() {
    let github = ThirdParty::github(client()).expect("a preset");
    assert_eq!(github.words_of("read:user"), Some("Read your profile"));
    let mail = "https://graph.microsoft.com/Mail.Read";
    let microsoft = microsoft(client()).expect("a preset");
    assert_eq!(microsoft.words_of(mail), Some("Read your mail"));
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
