use std::fs;

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
    for (name, mode) in [("a.secret", 0o600), ("open.secret", 0o644)] {
        let path = folder.path().join(name);
        fs::write(&path, format!("{SECRET}\n")).expect("a file");
        set_mode(&path, mode);
    }
    let path = folder.path().join("providers.toml");
    let fetcher = fetcher.expect("HTTP");
    Providers::from_text(fetcher, text, &path, &variables).await
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

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

        [invoices]
        title = "Invoices"
        api_key = {{ hint = "A key that may read" }}
        api = ["https://Invoices.example:8443/"]

        [notes]
        api_key = {{}}
        api = []
        {OWN}"#
    );
    let providers = read_text(&text).await.expect("a file of providers");
    let found: Vec<_> = providers
        .iter()
        .map(|party| {
            let way = match party.way() {
                Way::Code => "code",
                Way::ApiKey(key) => key.hint_text().unwrap_or_default(),
            };
            (party.name(), party.display_title(), way)
        })
        .collect();
    let expected = [
        ("code", "GitHub of Acme", "code"),
        ("files", "files", "code"),
        ("invoices", "Invoices", "A key that may read"),
        ("mail", "Microsoft", "code"),
        ("notes", "notes", ""),
    ];
    assert_eq!(found, expected);
    let apis = |name: &str| -> Option<Vec<_>> {
        let party = providers.get(name).expect("it is there");
        let origins = party.api_origins();
        origins.map(|it| it.iter().map(|it| it.ascii_serialization()).collect())
    };
    for (name, expected) in [
        ("code", Some(vec!["https://code.acme.example"])),
        ("mail", Some(vec!["https://graph.microsoft.com"])),
        ("invoices", Some(vec!["https://invoices.example:8443"])),
        ("files", None),
        ("notes", Some(vec![])),
    ] {
        let expected = expected.map(|it| it.into_iter().map(str::to_owned).collect());
        assert_eq!(apis(name), expected, "{name}");
    }
    let code = providers.get("code").expect("it is there");
    assert_eq!(
        Some(code.default_scopes()),
        Scopes::parse("repo").ok().as_ref()
    );
    // The file's descriptions are added to the preset's and take precedence.
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

async fn check(text: &str, expected: &str) {
    let error = read_text(text).await.expect_err(text);
    let told = error.to_string();
    assert!(told.contains(expected), "{text}\n  {told}\n  {expected}");
    assert!(told.contains("providers.toml, line "), "{told}");
    assert!(!format!("{told} {error:?}").contains(SECRET), "{told}");
}

#[tokio::test]
async fn a_value_of_another_type_is_told_by_its_key() {
    for (line, key, expected) in [
        ("scopes = 'canary-secret'", "scopes", "a list, got a text"),
        ("scopes = [1]", "scopes", "a text, got a number"),
        ("api = 'https://a.example'", "api", "a list, got a text"),
        ("title = 7", "title", "a text, got a number"),
        ("title = 1979-05-27", "title", "a text, got an object"),
        ("title = ['canary-secret']", "title", "a text, got a list"),
        (
            "revokes_singly = 'yes'",
            "revokes_singly",
            "true or false, got a text",
        ),
        ("page = true", "page", "a text, got true or false"),
        (
            "parameters = { a = 1 }",
            "parameters.a",
            "a text, got a number",
        ),
        ("parameters = ['a']", "parameters", "an object, got a list"),
        ("scope_separator = ', '", "scope_separator", "a character"),
        (
            "implied_scopes = { repo = 'a' }",
            "implied_scopes.repo",
            "a list, got a text",
        ),
        (
            "client_secret = ['canary-secret']",
            "client_secret",
            "\"${NAME}\" for a variable, or { file = \"…\" }",
        ),
        (
            "client_secret = { file = 1 }",
            "client_secret",
            "\"${NAME}\" for a variable, or { file = \"…\" }",
        ),
        (
            "account = 'canary-secret'",
            "account",
            "an object, got a text",
        ),
        (
            "account = { url = 'https://a.example', name = ['/a'], id = '/b' }",
            "account.id",
            "a list, got a text",
        ),
        (
            "revocation = { by = 'canary-secret', url = 'https://a.example' }",
            "revocation.by",
            "`bearer` or `client`",
        ),
        (
            "api_key = { check = { url = 1 } }",
            "api_key.check.url",
            "a text, got a number",
        ),
    ] {
        let told = format!("line 7, provider \"files\", `{key}`: expected {expected}");
        check(&format!("{OWN}{line}\n"), &told).await;
    }
}

#[tokio::test]
async fn an_unknown_key_is_reported_with_the_known_keys() {
    for (line, expected) in [
        (
            "scpoes = ['a']",
            "`scpoes`: `scpoes` is not known here; known: ",
        ),
        (
            "clientsecret = 'canary-secret'",
            "`clientsecret`: `clientsecret` is not known here; known: ",
        ),
        (
            "API = ['https://a.example']",
            "`API`: `API` is not known here; known: `preset`, `title`,",
        ),
        (
            "colour = 'canary-secret'",
            "`colour`: `colour` is not known here; known: `preset`, `title`,",
        ),
        (
            "account = { names = ['/a'] }",
            "`account.names`: `names` is not known here; known: ",
        ),
        (
            "api_key = { check = { urls = 'a' } }",
            "`api_key.check.urls`: `urls` is not known here; known: ",
        ),
        (
            "client_secret = { path = 'canary-secret' }",
            "`client_secret`: expected \"${NAME}\" for a variable, or { file = \"…\" }",
        ),
    ] {
        let told = format!("line 7, provider \"files\", {expected}");
        check(&format!("{OWN}{line}\n"), &told).await;
    }
    check(
        "client_id = 'c'\n[files]\n",
        "line 1: `client_id` must be a table",
    )
    .await;
}

#[tokio::test]
async fn a_fault_is_told_without_a_value() {
    let own = |line: &str| format!("{OWN}{line}\n");
    for (text, expected) in [
        (
            own("client_secret = 'canary-secret'"),
            "line 7, provider \"files\", `client_secret`: the secret is written into the file",
        ),
        (own("client_secret = 'x${THERE}'"), "the secret is written into the file"),
        (own("client_secret = '${canary-secret}'"), "the secret is written into the file"),
        (own("client_secret = '${MISSING}'"), "`client_secret`: the variable MISSING is not set"),
        (own("client_secret = '${EMPTY}'"), "`client_secret`: the secret is empty"),
        (own("client_secret = {}"), "`client_secret`: expected \"${NAME}\" for a variable, or { file = "),
        (own("client_secret = { file = 'missing' }"), "missing cannot be read: "),
        #[cfg(unix)]
        (
            own("client_secret = { file = 'open.secret' }"),
            "open.secret cannot be read: it is open to other users (mode 644): run `chmod 600 ",
        ),
        (own("client_secret = 'canary-secret"), "line 7: this is not TOML: "),
        (own("title = 'a'\ntitle = 'b'"), "line 8: this is not TOML: duplicate key"),
        (own("scopes"), "line 7: this is not TOML: "),
        (own("scopes = [\"a b\"]"), "line 7, provider \"files\", `scopes`: "),
        (own("revocation = { by = 'bearer' }"), "`revocation`: `url` is missing"),
        (own("revocation = { by = 'bearer', url = 'http://canary-secret@a.example' }"), "`revocation.url`: its URL is neither"),
        (own("revocation_endpoint = 'http://canary-secret@a.example'"), "line 7, provider \"files\", `revocation_endpoint`: the URL of the revocation endpoint must be https, or on this machine"),
        (own("api = ['https://a.example/canary-secret']"), "line 7, provider \"files\", `api`: it is not an origin: leave out"),
        (own("api_key = {}"), "line 2, provider \"files\": it has a `client_id` and an `api_key`"),
        (
            own("account = { url = 'https://files.example/me' }"),
            "line 7, provider \"files\", `account`: it must have either a `claim`, or a `url` and a `name`",
        ),
        (
            own("account = { url = 'https://files.example/me', name = ['login'] }"),
            "`account`: \"login\" is not a JSON pointer (RFC 6901): write \"/login\"",
        ),
        (
            own("account = { claim = 'email', id = ['/sub'] }"),
            "line 7, provider \"files\", `account`: it must have either a `claim`, or a `url` and a `name`",
        ),
        (
            own("account = { url = 'http://files.example/me?key=canary-secret', name = ['/a'] }"),
            "`account.url`: its URL is neither https nor on this machine",
        ),
        (own("[files.account]\nurl = 1"), "line 8, provider \"files\", `account.url`: expected a text, got a number"),
        ("[a]\n".to_owned(), "line 1, provider \"a\": it has neither a `client_id` nor an `api_key`"),
        ("[a]\nclient_id = 'c'\n".to_owned(), "line 1, provider \"a\": it has no `issuer`"),
        (
            "[a]\nclient_id = 'c'\npreset = 'b'\n".to_owned(),
            "line 3, provider \"a\", `preset`: unknown preset; the presets are github, google, linear, microsoft, slack",
        ),
        (
            "[a]\nclient_id = 'c'\npreset = 'microsoft'\n".to_owned(),
            "line 1, provider \"a\", `tenant`: its tenant must be an id, a domain, or `common`",
        ),
        (
            "[a]\nclient_id = 'c'\npreset = 'microsoft'\ntenant = '/'".to_owned(),
            "line 4, provider \"a\", `tenant`: its tenant must be",
        ),
        ("[A]\nclient_id = 'c'\npreset = 'github'\n".to_owned(), "line 1, provider \"A\": a name has small letters"),
        (
            "[a.account]\nclaim = 'c'\nurl = 'https://a.example'\n[a]\nclient_id = 'c'\npreset = 'github'".to_owned(),
            "line 1, provider \"a\", `account`: it must have",
        ),
        (
            OWN.replace("https://files.example/token", "http://canary-secret@files.example/token"),
            "line 5, provider \"files\", `token_endpoint`: the URL of the token endpoint",
        ),
        (
            OWN.replace("https://files.example/authorize", "http://files.example/authorize"),
            "line 4, provider \"files\", `authorization_endpoint`: the URL of the authorization endpoint",
        ),
    ] {
        check(&text, expected).await;
    }
}

#[tokio::test]
async fn only_regular_files_of_limited_size_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.toml");
    fs::write(&large, "#".repeat(MOST as usize + 1)).expect("a file");
    let fits = folder.path().join("fits.toml");
    fs::write(&fits, "#".repeat(MOST as usize)).expect("a file");
    let mut cases = vec![
        (large, Some("it is larger than 1048576 bytes")),
        (fits, None),
        (
            folder.path().to_owned(),
            Some("expected a file, got a folder"),
        ),
    ];
    // Opening this pipe would block, because no process writes to it.
    #[cfg(unix)]
    {
        let pipe = folder.path().join("pipe.toml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        cases.push((pipe, Some("expected a file, got a folder, a pipe")));
    }
    for (path, expected) in cases {
        let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
        let read = Providers::from_file(fetcher.expect("HTTP"), &path).await;
        match expected {
            None => assert!(read.is_ok(), "{}", path.display()),
            Some(why) => {
                let error = read.expect_err("it is refused").to_string();
                assert!(error.contains(why), "{error}");
            }
        }
    }
}
