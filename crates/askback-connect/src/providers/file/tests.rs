//! Files of providers, and what is told of their faults.

use askback_core::{auth::Scopes, limits::Limits};
use askback_oauth::{Reach, Route};

use super::*;
use crate::providers::Way;

const SECRET: &str = "canary-secret";

async fn read_text(text: &str) -> Result<Providers, BadProvidersFile> {
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
    let variables = |name: &str| match name {
        "THERE" => Some(SECRET.to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.secret"), format!("{SECRET}\n")).expect("a file");
    let fetcher = fetcher.expect("HTTP");
    Providers::from_text(fetcher, text, folder.path(), &variables).await
}

const OWN: &str = r#"
[files]
issuer = "https://files.example"
authorization_endpoint = "https://files.example/authorize"
token_endpoint = "https://files.example/token"
client_id = "c-1"
"#;

#[tokio::test]
async fn files_name_presets_and_providers_of_their_own() {
    let text = format!(
        r#"
        [code]
        preset = "github"
        title = "GitHub of Acme"
        client_id = "c-1"
        client_secret = "${{THERE}}"
        scopes = ["repo"]
        api = ["https://code.acme.example"]
        scope_words = {{ repo = "Read our code", "x:y" = "Do x" }}

        [mail]
        preset = "microsoft"
        tenant = "acme.example"
        client_id = "c-1"
        client_secret = {{ file = "a.secret" }}

        [desk]
        preset = "github"
        client_id = "c-1"
        single_user_device_flow = true

        [invoices]
        title = "Invoices"
        api_key = {{ hint = "A key that may read" }}
        api = ["https://Invoices.example:8443/"]
        {OWN}"#
    );
    let providers = read_text(&text).await.expect("a file of providers");
    let found: Vec<_> = providers
        .iter()
        .map(|party| {
            let way = match party.way() {
                Way::Code => "code",
                Way::Device => "device",
                Way::ApiKey(key) => key.hint_text().unwrap_or_default(),
            };
            (party.name(), party.display_title(), way)
        })
        .collect();
    let expected = [
        ("code", "GitHub of Acme", "code"),
        ("desk", "GitHub", "device"),
        ("files", "files", "code"),
        ("invoices", "Invoices", "A key that may read"),
        ("mail", "Microsoft", "code"),
    ];
    assert_eq!(found, expected);
    let apis = |name: &str| -> Vec<_> {
        let party = providers.get(name).expect("it is there");
        let origins = party.api_origins().iter();
        origins.map(|it| it.ascii_serialization()).collect()
    };
    assert_eq!(apis("code"), ["https://code.acme.example"]);
    assert_eq!(apis("mail"), ["https://graph.microsoft.com"]);
    assert_eq!(apis("invoices"), ["https://invoices.example:8443"]);
    assert!(apis("files").is_empty());
    let code = providers.get("code").expect("it is there");
    assert_eq!(
        Some(code.default_scopes()),
        Scopes::parse("repo").ok().as_ref()
    );
    // Those of the file come before those of the preset, and beside them.
    for (scope, words) in [
        ("repo", Some("Read our code")),
        ("x:y", Some("Do x")),
        ("read:user", Some("Read your profile")),
        ("other", None),
    ] {
        assert_eq!(code.words_of(scope), words, "{scope}");
    }
    assert!(!format!("{providers:?}").contains(SECRET));
}

#[tokio::test]
async fn a_fault_is_told_without_a_value() {
    let own = |line: &str| format!("{OWN}{line}\n");
    for (text, expected) in [
        (
            own("colour = 'canary-secret'"),
            "line 7 of the file of providers is wrong: unknown field `colour`",
        ),
        (
            own("client_secret = 'canary-secret'"),
            "its `client_secret` is written into the file",
        ),
        (
            own("client_secret = 'x${THERE}'"),
            "its `client_secret` is written into the file",
        ),
        (
            own("client_secret = '${canary-secret}'"),
            "its `client_secret` is written into the file",
        ),
        (
            own("client_secret = '${MISSING}'"),
            "the variable MISSING is not set",
        ),
        (
            own("client_secret = '${EMPTY}'"),
            "its `client_secret` is empty",
        ),
        (
            own("client_secret = { file = 'missing' }"),
            "missing cannot be read",
        ),
        (
            own("client_secret = ['canary-secret']"),
            "line 7 of the file of providers is wrong: it is no table",
        ),
        (
            own("client_secret = 'canary-secret"),
            "line 7 of the file of providers is wrong: it is no table",
        ),
        (
            own("scopes = 'canary-secret'"),
            "line 7 of the file of providers is wrong: it is no table",
        ),
        (own("api_key = {}"), "a `client_id` and an `api_key`"),
        (
            own("account = { url = 'https://files.example/me' }"),
            "`account` has either",
        ),
        (own("parameters = { a = 1 }"), "line 7 "),
        ("[a]\n".to_owned(), "neither a `client_id` nor an `api_key`"),
        ("[a]\nclient_id = 'c'\n".to_owned(), "it has no `issuer`"),
        (
            "[a]\nclient_id = 'c'\npreset = 'b'\n".to_owned(),
            "there are github, google, linear, microsoft, slack",
        ),
        (
            "[a]\nclient_id = 'c'\npreset = 'microsoft'\n".to_owned(),
            "it needs a `tenant`",
        ),
        (
            "[A]\nclient_id = 'c'\npreset = 'github'\n".to_owned(),
            "a name has small letters",
        ),
        (
            OWN.replace("https://files.example/token", "http://files.example/token"),
            "the URL of the token endpoint",
        ),
    ] {
        let error = read_text(&text).await.expect_err(&text);
        let told = error.to_string();
        assert!(told.contains(expected), "{text}: {told}");
        assert!(!format!("{told} {error:?}").contains(SECRET), "{told}");
    }
}
