//! Third parties that are known: what they are asked for.

use askback_connect::providers::ThirdParty;
use askback_core::auth::Scopes;
use askback_oauth::RegisteredClient;

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
