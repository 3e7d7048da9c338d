use askback_connect::{
    providers::{AccountGrant, AccountSource, ApiKey, ConnectError, PendingConnection, ThirdParty},
    vault::{Holder, Revoker as _, TokenKind},
};
use askback_core::auth::Scopes;
use askback_oauth::{Provider, RegisteredClient, Secret};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Reply, Request, fetcher, impatient, providers_of, signed};
use crate::stage::ada;

const REDIRECT: &str = "https://tools.example/connected/git";

fn scopes(text: &str) -> Scopes {
    Scopes::parse(text).expect("scopes")
}

fn tokens() -> Value {
    json!({
        "access_token": "canary-access", "refresh_token": "canary-refresh", "token_type": "bearer",
        "scope": "repo gist", "expires_in": 3600,
    })
}

/// A third party with these responses to a code and to the account request.
async fn answering(token: Reply, account: Reply) -> Issuer {
    let answer = move |_: &str, request: &Request| match &*request.line {
        "POST /token" => token.clone(),
        "GET /user" | "POST /graphql" => account.clone(),
        other => panic!("{other}"),
    };
    Issuer::start(answer).await
}

async fn git() -> Issuer {
    let account = json!({"login": "octocat", "id": 42, "team": {"name": "Acme"}});
    answering(Reply::Json(200, tokens()), Reply::Json(200, account)).await
}

fn provider(issuer: &Issuer) -> Provider {
    let provider = Provider::new(&issuer.url, &issuer.at("/authorize"), &issuer.at("/token"));
    provider.expect("plain URLs")
}

fn party(issuer: &Issuer) -> ThirdParty {
    with_provider(issuer, provider(issuer))
}

/// The same third party as [`party`], from a file with these keys. `{own}` is its URL.
async fn described(issuer: &Issuer, keys: &str) -> ThirdParty {
    let account = "account = { url = '{own}/user', name = ['/login'] }";
    let account = if keys.contains("account = ") {
        ""
    } else {
        account
    };
    let text = format!(
        "[git]\nissuer = '{{own}}'\nauthorization_endpoint = '{{own}}/authorize'\n\
         token_endpoint = '{{own}}/token'\nclient_id = 'c-1'\n{account}\n{keys}\n"
    );
    let providers = providers_of(issuer, fetcher(), &text).await;
    providers.get("git").expect("it is there").clone()
}

fn with_provider(issuer: &Issuer, provider: Provider) -> ThirdParty {
    let client = RegisteredClient::new("c-1").with_secret(Secret::new("canary-secret"));
    let source = AccountSource::document(&issuer.at("/user"), "/login").expect("a URL");
    ThirdParty::oauth("git", "Git", provider, client)
        .expect("a name")
        .account(source)
}

/// Connects with these scopes. The browser returns with these parameters and the state.
async fn connect(
    party: &ThirdParty,
    asked: &str,
    answer: &str,
) -> Result<AccountGrant, ConnectError> {
    let (_, pending) = party.begin(&scopes(asked), REDIRECT)?;
    let redirected = format!("{REDIRECT}?state={}&{answer}", pending.state());
    party.finish(&fetcher(), pending, &redirected).await
}

fn access(connected: &AccountGrant) -> &str {
    connected.granted.secret.expose()
}

#[tokio::test]
async fn an_account_can_be_connected_by_any_process() {
    let issuer = git().await;
    let party = party(&issuer)
        .scopes(scopes("gist"))
        .parameter("prompt", "consent");
    let (url, pending) = party.begin(&scopes("repo"), REDIRECT).expect("a request");
    let parameter = |wanted: &str| {
        let found = url.query_pairs().find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    assert_eq!(parameter("scope"), "gist repo");
    assert_eq!(parameter("prompt"), "consent");
    assert_eq!(parameter("redirect_uri"), REDIRECT);
    assert_eq!(parameter("code_challenge_method"), "S256");

    let kept = pending.write().expect("it is written");
    let pending = PendingConnection::read(&kept).expect("it is read");
    assert_eq!(pending.provider(), "git");
    assert_eq!(*pending.asked(), scopes("gist repo"));
    let redirected = format!("{REDIRECT}?code=x&state={}", parameter("state"));
    let connected = party.finish(&fetcher(), pending, &redirected).await;
    let connected = connected.expect("an account");
    assert_eq!(connected.account, "octocat");
    assert_eq!(access(&connected), "canary-access");
    assert_eq!(connected.granted.scopes, Some(scopes("repo gist")));
    assert!(connected.granted.expires.is_some());
    let shown = format!("{connected:?} {party:?}");
    assert!(
        !shown.contains("canary") && !shown.contains("octocat"),
        "{shown}"
    );

    let asked = issuer.asked();
    assert!(asked[0].field("code_verifier").is_some());
    assert_eq!(asked[0].field("redirect_uri").as_deref(), Some(REDIRECT));
    assert!(
        asked[1]
            .head
            .contains("authorization: Bearer canary-access")
    );
    assert!(PendingConnection::read(&Secret::new("{}")).is_err());
}

#[tokio::test]
async fn each_fault_of_an_answer_is_told_apart() {
    let issuer = git().await;
    let party = with_provider(&issuer, provider(&issuer).require_issuer());
    let own = format!("iss={}", issuer.url);
    for (answer, expected) in [
        (format!("code=x&{own}"), ""),
        (
            "code=x".to_owned(),
            "does not say which authorization server",
        ),
        (
            "code=x&iss=https://other.example".to_owned(),
            "another authorization server",
        ),
        (
            format!("code=x&state=other&{own}"),
            "not the URL of an answer",
        ),
        (own.clone(), "it holds no code"),
        (
            format!("error=access_denied&{own}"),
            "the person did not allow it at git",
        ),
        (format!("error=server_error&{own}"), "server_error"),
        (
            "error=access_denied&iss=https://other.example".to_owned(),
            "another authorization server",
        ),
    ] {
        let connected = connect(&party, "repo", &answer).await;
        let told = connected
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert_eq!(told.is_empty(), expected.is_empty(), "{answer}: {told}");
        assert!(told.contains(expected), "{answer}: {told}");
    }
    // The code is sent once, by the valid answer.
    assert_eq!(issuer.asked().len(), 2);

    let (_, pending) = party.begin(&scopes("repo"), REDIRECT).expect("a request");
    let redirected = format!("{REDIRECT}?state=another&code=x&{own}");
    let connected = party.finish(&fetcher(), pending, &redirected).await;
    let told = connected.expect_err("another state").to_string();
    assert!(told.contains("answers another sign-in"), "{told}");

    // An answer from one third party is not accepted for another.
    let client = RegisteredClient::new("c-1");
    let other = ThirdParty::oauth("other", "Other", provider(&issuer), client).expect("a name");
    let (_, pending) = party.begin(&scopes("repo"), REDIRECT).expect("a request");
    let redirected = format!("{REDIRECT}?state={}&code=x&{own}", pending.state());
    let connected = other.finish(&fetcher(), pending, &redirected).await;
    assert!(
        matches!(connected, Err(ConnectError::OtherProvider { .. })),
        "{connected:?}"
    );
    assert_eq!(issuer.asked().len(), 2);
}

#[tokio::test]
async fn each_fault_of_the_third_party_is_told_apart() {
    let account = |json: Value| (Reply::Json(200, tokens()), Reply::Json(200, json));
    let token = |status, json: Value| (Reply::Json(status, json), Reply::Silence);
    for ((token, account), expected) in [
        (
            token(400, json!({"error": "invalid_grant"})),
            "invalid_grant",
        ),
        (
            token(200, json!({"error": "bad_verification_code"})),
            "bad_verification_code",
        ),
        (token(200, json!({"ok": true})), "the answer has no token"),
        (token(503, json!({})), "status 503"),
        ((Reply::Silence, Reply::Silence), "it takes too long"),
        (
            (Reply::Json(200, tokens()), Reply::Silence),
            "git cannot be asked: it takes too long",
        ),
        (
            account(json!({})),
            "the `account` setting of git is wrong: http://127.0.0.1:",
        ),
        (
            account(json!({"name": "octocat"})),
            "/user answers with JSON that has no name at \"/login\"",
        ),
        // The failure of the third party or the user: they may try again.
        (
            account(json!({"login": ""})),
            "git does not say which account it is",
        ),
        (
            account(json!({"login": null})),
            "git does not say which account it is",
        ),
        (
            account(json!({"ok": false, "error": "account_inactive"})),
            "git does not say which account it is",
        ),
        (
            account(json!({"errors": [{"message": "try again"}]})),
            "git does not say which account it is",
        ),
        (
            (Reply::Json(200, tokens()), Reply::Json(400, json!({}))),
            "it answers with status 400",
        ),
        (
            (Reply::Json(200, tokens()), Reply::Json(404, json!({}))),
            "/user answers with status 404",
        ),
        (
            (Reply::Json(200, tokens()), Reply::Json(302, json!({}))),
            "the `account` setting of git is wrong: http://127.0.0.1:",
        ),
        (
            (Reply::Json(200, tokens()), Reply::Text("octocat")),
            "/user answers with no JSON",
        ),
        (
            account(json!({"login": "octo\u{1b}[31m"})),
            "characters that cannot be shown",
        ),
        (
            account(json!({"login": "x".repeat(257)})),
            "the name is too long",
        ),
        (
            (
                Reply::Json(200, tokens()),
                Reply::Json(401, json!({"login": "octocat"})),
            ),
            "it answers with status 401",
        ),
    ] {
        let is_slow = matches!(token, Reply::Silence) || matches!(account, Reply::Silence);
        let issuer = answering(token, account).await;
        let party = party(&issuer);
        let (_, pending) = party.begin(&scopes("repo"), REDIRECT).expect("a request");
        let redirected = format!("{REDIRECT}?state={}&code=x", pending.state());
        let fetcher = if is_slow { impatient() } else { fetcher() };
        let connected = party.finish(&fetcher, pending, &redirected).await;
        let told = connected.expect_err(expected).to_string();
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("canary"), "{told}");
    }
}

#[tokio::test]
async fn fewer_scopes_are_told_apart_and_nothing_is_lost() {
    for (asked, missing) in [
        ("repo", ""),
        ("repo gist", ""),
        ("", ""),
        ("repo admin", "admin"),
        ("admin hooks", "admin hooks"),
        // A scope includes another one only if the third party is known for that.
        ("repo:status", "repo:status"),
    ] {
        let issuer = git().await;
        match connect(&party(&issuer), asked, "code=x").await {
            Ok(_) => assert_eq!(missing, "", "{asked}"),
            Err(ConnectError::FewerScopes {
                missing: found,
                connected,
            }) => {
                assert_eq!(found, scopes(missing), "{asked}");
                assert_eq!(connected.account, "octocat");
                assert_eq!(access(&connected), "canary-access");
                assert_eq!(connected.granted.scopes, Some(scopes("repo gist")));
            }
            Err(error) => panic!("{asked}: {error}"),
        }
        let implied = "implied_scopes = { repo = ['repo:status'] }";
        let party = described(&issuer, implied).await;
        let connected = connect(&party, "repo:status", "code=x")
            .await
            .expect("it is implied");
        assert_eq!(
            connected.granted.scopes,
            Some(scopes("repo gist repo:status"))
        );
    }
}

#[tokio::test]
async fn answers_in_dialects_are_read() {
    let commas = json!({"access_token": "a", "token_type": "bearer", "scope": "repo,gist"});
    let apart = json!({
        "ok": true, "access_token": "of-a-bot", "token_type": "bot", "scope": "commands",
        "authed_user": {"access_token": "a", "token_type": "user", "scope": "repo,gist"},
    });
    let no_person = json!({"ok": true, "access_token": "of-a-bot", "token_type": "bot"});
    let says_no = json!({"ok": false, "error": "invalid_code"});
    for (answer, is_apart, expected) in [
        (commas, false, Ok("a")),
        (apart, true, Ok("a")),
        (no_person, true, Err("the answer has no token")),
        (says_no, true, Err("invalid_code")),
    ] {
        let account = Reply::Json(200, json!({"login": "octocat"}));
        let issuer = answering(Reply::Json(200, answer), account).await;
        let apart = "code_tokens_at = '/authed_user'\ntoken_types = ['user']";
        let apart = if is_apart { apart } else { "" };
        let party = described(&issuer, &format!("comma_answers = true\n{apart}")).await;
        let connected = connect(&party, "repo gist", "code=x").await;
        match (connected, expected) {
            (Ok(connected), Ok(token)) => assert_eq!(access(&connected), token),
            (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
            (connected, expected) => panic!("{expected:?}: {connected:?}"),
        }
    }
}

#[tokio::test]
async fn an_account_has_a_name_if_the_third_party_names_it() {
    let id_token = |claims: Value| signed(1, &json!({"alg": "EdDSA"}), &claims);
    let cases = [
        ("constant", None, Ok(("mine", "mine"))),
        ("document", None, Ok(("42 / 7", "octocat / Acme"))),
        ("answer", None, Ok(("octocat", "octocat"))),
        (
            "missing id",
            None,
            Err("/user answers with JSON that has no id at \"/team/uid\""),
        ),
        (
            "claim",
            Some(id_token(json!({"sub": "a-1", "email": "ada@example.com"}))),
            Ok(("a-1", "ada@example.com")),
        ),
        (
            "claim",
            Some(id_token(json!({"sub": "a-1"}))),
            Err("the identity token has no claim `email`"),
        ),
        (
            "claim",
            Some(id_token(json!({"email": "ada@example.com"}))),
            Err("the identity token has no claim `sub`"),
        ),
        (
            "claim",
            Some("no token".to_owned()),
            Err("no identity token"),
        ),
        ("claim", None, Err("no identity token")),
    ];
    for (kind, id_token, expected) in cases {
        let mut answer = tokens();
        answer["id_token"] = id_token.into();
        let team = json!({"name": "Acme", "id": "7"});
        let account = json!({"login": "octocat", "id": 42, "team": team});
        let issuer = answering(Reply::Json(200, answer), Reply::Json(200, account)).await;
        let source = match kind {
            "document" => {
                "url = '{own}/user', name = ['/login', '/team/name'], id = ['/id', '/team/id']"
            }
            "missing id" => "url = '{own}/user', name = ['/login'], id = ['/id', '/team/uid']",
            "answer" => "url = '{own}/graphql', body = { query = '{ viewer }' }, name = ['/login']",
            _ => "claim = 'email'",
        };
        let party = match kind {
            "constant" => party(&issuer).account(AccountSource::constant("mine")),
            _ => described(&issuer, &format!("account = {{ {source} }}")).await,
        };
        let connected = connect(&party, "repo", "code=x").await;
        match (connected, expected) {
            (Ok(connected), Ok(account)) => {
                assert_eq!((&*connected.account, connected.name()), account, "{kind}");
            }
            (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
            (connected, expected) => panic!("{expected:?}: {connected:?}"),
        }
        if kind == "answer" {
            let asked = issuer.asked().pop().expect("a request");
            assert_eq!(asked.body, r#"{"query":"{ viewer }"}"#);
            assert!(
                asked.head.contains("content-type: application/json"),
                "{}",
                asked.head
            );
        }
    }
}

#[tokio::test]
async fn a_key_is_taken_if_the_third_party_does() {
    for (entered, status, expected) in [
        ("canary-key", 200, Ok("canary-key")),
        (" canary-key\n", 204, Ok("canary-key")),
        ("canary-key", 401, Err("does not take this key")),
        ("canary-key", 503, Err("does not take this key")),
        ("canary-key", 302, Err("cannot be asked: it redirects")),
        ("", 200, Err("does not take this key")),
        ("canary key", 200, Err("does not take this key")),
        ("canary\r\nkey", 200, Err("does not take this key")),
    ] {
        let issuer = Issuer::start(move |_, _| Reply::Json(status, json!({"login": "ada"}))).await;
        let key = ApiKey::new()
            .hint("One that may read")
            .page("https://git.example/keys");
        let key = key.and_then(|key| key.check(&issuer.at("/me"), "X-Api-Key", "Key "));
        let party = ThirdParty::api_key("git", "Git", key.expect("URLs")).expect("a name");
        let shown = party.key_page().expect("it takes a key");
        assert_eq!(shown.hint_text(), Some("One that may read"));
        assert!(shown.page_url().is_some());
        let connected = party.accept_key(&fetcher(), &Secret::new(entered)).await;
        match (connected, expected) {
            (Ok(connected), Ok(key)) => {
                assert_eq!(access(&connected), key);
                assert_eq!(connected.account, "git");
                let head = &issuer.asked()[0].head;
                assert!(head.contains("x-api-key: Key canary-key"), "{head}");
            }
            (Err(error), Err(why)) => {
                let told = format!("{error} {error:?}");
                assert!(told.contains(why) && !told.contains("canary"), "{told}");
            }
            (connected, expected) => panic!("{entered:?}: {expected:?}: {connected:?}"),
        }
    }
}

#[tokio::test]
async fn each_way_is_refused_to_the_others() {
    let issuer = git().await;
    let code = party(&issuer);
    let key = ThirdParty::api_key("key", "Key", ApiKey::new()).expect("a name");
    let none = Scopes::new();
    for (party, is_code) in [(code, true), (key, false)] {
        let is_other =
            |result: Result<(), ConnectError>| matches!(result, Err(ConnectError::OtherWay { .. }));
        let begun = party.begin(&none, REDIRECT).map(|_| ());
        assert_eq!(!is_other(begun), is_code, "{party:?}");
        let taken = party
            .accept_key(&fetcher(), &Secret::new("k"))
            .await
            .map(|_| ());
        assert_eq!(is_other(taken), is_code, "{party:?}");
    }
    for (name, is_taken) in [
        ("git", true),
        ("git-2", true),
        ("", false),
        ("Git", false),
        ("a b", false),
        ("a/b", false),
        (&"x".repeat(65), false),
        (&"x".repeat(64), true),
        ("gït", false),
        ("..", false),
    ] {
        let party = ThirdParty::api_key(name, "Git", ApiKey::new());
        assert_eq!(party.is_ok(), is_taken, "{name:?}");
    }
}

#[tokio::test]
async fn a_third_party_describes_itself() {
    let issuer = Issuer::start(|own, request| match &*request.line {
        "GET /.well-known/oauth-authorization-server" => Reply::Json(
            200,
            json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
            }),
        ),
        other => panic!("{other}"),
    });
    let issuer = issuer.await;
    let client = RegisteredClient::new("c-1");
    let party = ThirdParty::discover(&fetcher(), "git", &issuer.url, client).await;
    let party = party.expect("a document");
    let (url, _) = party.begin(&Scopes::new(), REDIRECT).expect("a request");
    assert!(url.as_str().starts_with(&issuer.at("/authorize?")), "{url}");
    assert!(!url.as_str().contains("scope="), "{url}");
}

#[tokio::test]
async fn an_endpoint_of_the_file_comes_before_that_of_the_metadata() {
    let issuer = Issuer::start(|own, request| match &*request.line {
        "GET /.well-known/oauth-authorization-server" => Reply::Json(
            200,
            json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "revocation_endpoint": format!("{own}/theirs"),
            }),
        ),
        _ => Reply::Json(400, json!({"error": "unauthorized_client"})),
    });
    let issuer = issuer.await;
    for (more, expected) in [
        ("", "POST /theirs"),
        ("revocation_endpoint = '{own}/own'", "POST /own"),
    ] {
        let text = format!("[git]\nissuer = '{{own}}'\nclient_id = 'c-1'\n{more}\n");
        let providers = providers_of(&issuer, fetcher(), &text).await;
        let account = Holder::from(&ada()).account("git", "octocat");
        let token = Secret::new("canary-access");
        let revoked = providers.revoke(&account, &token, TokenKind::Access).await;
        assert!(revoked.is_err());
        let asked = issuer.asked();
        let last = asked.last().map(|it| &*it.line);
        assert_eq!(last, Some(expected));
    }
}
