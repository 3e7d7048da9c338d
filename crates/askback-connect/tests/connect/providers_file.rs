//! The file in which an operator describes third parties.

use std::{fs, path::Path};

use askback_connect::providers::{ApiKey, BadProvidersFile, Providers};
use askback_core::{auth::Scopes, limits::Limits};
use askback_oauth::{Fetcher, Reach, Route};

const SECRET: &str = "canary-secret";

/// The longest file that is read.
const MOST: usize = 1 << 20;

fn fetcher() -> Fetcher {
    Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default()).expect("HTTP")
}

async fn read_text(text: &str) -> Result<Providers, BadProvidersFile> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text, mode) in [
        ("a.secret", SECRET, 0o600),
        ("empty.secret", "", 0o600),
        ("open.secret", SECRET, 0o644),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, format!("{text}\n")).expect("a file");
        set_mode(&path, mode);
    }
    let path = folder.path().join("providers.toml");
    fs::write(&path, text).expect("a file");
    Providers::from_file(fetcher(), &path).await
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
        client_secret = "${{CARGO_PKG_NAME}}"
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
            let hint = |key: &ApiKey| key.hint_text().unwrap_or_default().to_owned();
            let way = party.key_page().map_or("code".to_owned(), hint);
            (party.name(), party.display_title(), way)
        })
        .collect();
    let expected = [
        ("code", "GitHub of Acme", "code"),
        ("files", "files", "code"),
        ("invoices", "Invoices", "A key that may read"),
        ("mail", "Microsoft", "code"),
        ("notes", "notes", ""),
    ]
    .map(|(name, title, way)| (name, title, way.to_owned()));
    assert_eq!(found, expected);
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
    assert!(told.contains("providers.toml, "), "{told}");
    assert!(!format!("{told} {error:?}").contains(SECRET), "{told}");
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_told_without_its_value() {
    const PLACE: &str = "expected \"${NAME}\" for a variable, or { file = \"…\" }";
    for (line, expected) in [
        ("scopes = 'canary-secret'", "expected a list, got a text"),
        ("scopes = [1]", "expected a text, got a number"),
        ("title = ['canary-secret']", "expected a text, got a list"),
        ("page = true", "expected a text, got true or false"),
        ("scope_separator = ', '", "expected a character"),
        ("client_secret = ['canary-secret']", PLACE),
        ("client_secret = { file = 1 }", PLACE),
        ("client_secret = { path = 'canary-secret' }", PLACE),
        ("client_secret = {}", PLACE),
        (
            "account = 'canary-secret'",
            "expected an object, got a text",
        ),
        (
            "revocation = { by = 'canary-secret', url = 'https://a.example' }",
            "expected `bearer` or `client`",
        ),
        ("revocation = { by = 'bearer' }", "`url` is missing"),
        (
            "clientsecret = 'canary-secret'",
            "`clientsecret` is not known here; known: `preset`, `title`,",
        ),
        (
            "api_key = { check = { urls = 'a' } }",
            "`urls` is not known here; known: ",
        ),
        ("client_secret = 'canary-secret", "this is not TOML: "),
        ("scopes", "this is not TOML: "),
    ] {
        check(&format!("{OWN}{line}\n"), &format!("line 7: {expected}")).await;
    }
    let twice = format!("{OWN}title = 'a'\ntitle = 'b'");
    check(&twice, "line 8: this is not TOML: duplicate key").await;
    let told = "provider \"client_id\": it must be a table, which begins with [client_id]";
    check("client_id = 'canary-secret'\n[files]\n", told).await;
}

#[tokio::test]
async fn a_fault_is_told_without_a_value() {
    let own = |line: &str| format!("{OWN}{line}\n");
    let secret = |line: &str| own(&format!("client_secret = {line}"));
    let account = |keys: &str| own(&format!("account = {{ {keys} }}"));
    let a = |more: &str| format!("[a]\n{more}\n");
    const WRITTEN: &str =
        "provider \"files\", `client_secret`: the secret is written into the file";
    const ACCOUNT: &str = "`account`: it must have either a `claim`, or a `url` and a `name`";
    const TENANT: &str = "`tenant`: its tenant must be an id, a domain, or `common`";
    for (text, expected) in [
        (secret("'canary-secret'"), WRITTEN),
        (secret("'x${CARGO_PKG_NAME}'"), WRITTEN),
        (secret("'${canary-secret}'"), WRITTEN),
        (
            secret("'${ASKBACK_MISSING}'"),
            "`client_secret`: the variable ASKBACK_MISSING is not set",
        ),
        (
            secret("{ file = 'empty.secret' }"),
            "`client_secret`: the secret is empty",
        ),
        (secret("{ file = 'missing' }"), "missing cannot be read: "),
        #[cfg(unix)]
        (
            secret("{ file = 'open.secret' }"),
            "open.secret cannot be read: it is open to other users (mode 644): run `chmod 600 ",
        ),
        (own("scopes = [\"a b\"]"), "provider \"files\", `scopes`: "),
        (
            own("revocation = { by = 'bearer', url = 'http://canary-secret@a.example' }"),
            "`revocation.url`: its URL is neither",
        ),
        (
            own("revocation_endpoint = 'http://canary-secret@a.example'"),
            "`revocation_endpoint`: the URL of the revocation endpoint must be https, or on this machine",
        ),
        (
            own("api = ['https://a.example/canary-secret']"),
            "`api`: it is not an origin: leave out",
        ),
        (
            own("api_key = {}"),
            "provider \"files\": it has a `client_id` and an `api_key`",
        ),
        (account("url = 'https://files.example/me'"), ACCOUNT),
        (account("claim = 'email', id = ['/sub']"), ACCOUNT),
        (
            account("url = 'https://files.example/me', name = ['login']"),
            "`account`: \"login\" is not a JSON pointer (RFC 6901): write \"/login\"",
        ),
        (
            account("url = 'http://files.example/me?key=canary-secret', name = ['/a']"),
            "`account.url`: its URL is neither https nor on this machine",
        ),
        (
            a(""),
            "provider \"a\": it has neither a `client_id` nor an `api_key`",
        ),
        (a("client_id = 'c'"), "provider \"a\": it has no `issuer`"),
        (
            a("client_id = 'c'\npreset = 'b'"),
            "`preset`: unknown preset; the presets are github, google, linear, microsoft, slack",
        ),
        (a("client_id = 'c'\npreset = 'microsoft'"), TENANT),
        (
            a("client_id = 'c'\npreset = 'microsoft'\ntenant = '/'"),
            TENANT,
        ),
        (
            "[A]\nclient_id = 'c'\npreset = 'github'\n".to_owned(),
            "provider \"A\": a name has small letters",
        ),
        (
            OWN.replace(
                "https://files.example/token",
                "http://canary-secret@files.example/token",
            ),
            "`token_endpoint`: the URL of the token endpoint",
        ),
        (
            OWN.replace(
                "https://files.example/authorize",
                "http://files.example/authorize",
            ),
            "`authorization_endpoint`: the URL of the authorization endpoint",
        ),
    ] {
        check(&text, expected).await;
    }
}

#[tokio::test]
async fn only_regular_files_of_limited_size_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.toml");
    fs::write(&large, "#".repeat(MOST + 1)).expect("a file");
    let fits = folder.path().join("fits.toml");
    fs::write(&fits, "#".repeat(MOST)).expect("a file");
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
        let read = Providers::from_file(fetcher(), &path).await;
        match expected {
            None => assert!(read.is_ok(), "{}", path.display()),
            Some(why) => {
                let error = read.expect_err("it is refused").to_string();
                assert!(error.contains(why), "{error}");
            }
        }
    }
}
