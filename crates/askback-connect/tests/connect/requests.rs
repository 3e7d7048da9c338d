//! Requests in a user's name: where tokens are sent, and what happens when one is rejected.

use std::sync::{Arc, Mutex};

use askback::{Ctx, Error, Result, Server, Tool, client::Client, transport};
use askback_connect::{
    ConnectExt, Connections,
    providers::{ApiKey, Providers, ThirdParty},
    vault::{AccountState, AuditEvent, Grant, Vault},
};
use askback_oauth::{Provider, RegisteredClient, Secret};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Reply, fetcher};
use crate::stage::{HOUR, Stage};
use crate::visitor::MACHINE;

const MINUTE: u64 = 60_000;

/// A third party with numbered tokens, and the tokens that its API accepts.
struct Desk {
    stage: Stage,
    vault: Vault,
    kit: Connections,
    third: Issuer,
    least: Arc<Mutex<usize>>,
}

impl Desk {
    async fn new(change: impl FnOnce(ThirdParty, &Issuer) -> ThirdParty) -> Self {
        let stage = Stage::in_memory();
        let least = Arc::<Mutex<usize>>::default();
        let (taken, mut given) = (Arc::clone(&least), 0);
        let third = Issuer::start(move |_, request| match &*request.line {
            "POST /token" => {
                given += 1;
                Reply::Json(
                    200,
                    json!({
                        "access_token": format!("token-{given}"), "token_type": "bearer",
                        "refresh_token": format!("refresh-{given}"),
                    }),
                )
            }
            "POST /down" => Reply::Json(503, json!({})),
            "GET /moved" => Reply::Json(302, json!({})),
            _ => {
                let number = request.head.split("token-").nth(1).unwrap_or_default();
                let number: usize = number.lines().next().unwrap().trim().parse().unwrap();
                match number >= *taken.lock().unwrap() {
                    true => Reply::Json(200, json!({"number": number})),
                    false => Reply::Json(401, json!({})),
                }
            }
        })
        .await;
        let client = RegisteredClient::new("c-1");
        let provider = Provider::new(&third.url, &third.at("/authorize"), &third.at("/token"));
        let party = ThirdParty::oauth("git", "Git", provider.unwrap(), client).unwrap();
        let providers = Providers::new(fetcher()).with(change(party, &third));
        let vault = stage.vault().await;
        let kit = Connections::on_this_machine(MACHINE, vault.clone(), providers.unwrap());
        Self {
            stage,
            vault,
            kit: kit.build().unwrap(),
            third,
            least,
        }
    }

    /// A third party with a configured API.
    async fn open() -> Self {
        Self::new(|party, third| party.api([&third.url]).unwrap()).await
    }

    async fn connect(&self, refresh: Option<&str>) {
        let granted = Grant::tokens(Secret::new("token-0"), refresh.map(Secret::new));
        let user = Connections::user_of_this_machine();
        self.vault.put(&user, "git", "ada", granted).await.unwrap();
    }

    fn withdraw(&self, least: usize) {
        *self.least.lock().unwrap() = least;
    }

    async fn fetch(&self, url: &str) -> String {
        self.call(url, |git, url| async move {
            let answer = git.get(&url).await?;
            let posted = git.post(&url, &json!({})).await?;
            assert_eq!(answer.status, posted.status);
            Ok(answer.status.to_string())
        })
        .await
    }

    async fn call<F>(
        &self,
        url: &str,
        handle: impl Fn(askback_connect::Connection, String) -> F + Clone + Send + Sync + 'static,
    ) -> String
    where
        F: Future<Output = Result<String>> + Send + 'static,
    {
        let url = url.to_owned();
        let fetch = move |ctx: Ctx| {
            let (url, handle) = (url.clone(), handle.clone());
            async move {
                let git = ctx.connect("git").await?;
                handle(git, url).await
            }
        };
        let server = Server::new("desk", "1").state(self.kit.clone());
        let server = server.tool(Tool::new("fetch", fetch)).build().unwrap();
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let client = Client::builder("editor", "1").connect(near).await.unwrap();
        let result = client.call_tool("fetch", json!({})).await.unwrap();
        let content = serde_json::to_value(&result.content[0]).unwrap();
        let Value::String(text) = &content["text"] else {
            panic!("{content}");
        };
        text.clone()
    }

    fn asked(&self, line: &str) -> usize {
        let asked = self.third.asked();
        asked.iter().filter(|it| it.line == line).count()
    }

    async fn state(&self) -> AccountState {
        let user = Connections::user_of_this_machine();
        self.vault.accounts(&user).await.unwrap()[0].state
    }
}

#[tokio::test]
async fn a_token_goes_to_the_api_alone() {
    let desk = Desk::open().await;
    desk.connect(None).await;
    let port = desk.third.url.rsplit(':').next().unwrap().to_owned();
    assert_eq!(desk.fetch(&desk.third.at("/user")).await, "200");
    let before = desk.third.asked().len();
    for url in [
        // This machine by another name, and another machine.
        format!("http://localhost:{port}/user"),
        format!("https://127.0.0.1:{port}/user"),
        "https://evil.test/user".to_owned(),
        format!("http://127.0.0.1:{port}@evil.test/"),
        "/user".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let said = desk.fetch(&url).await;
        assert!(said.contains("failed"), "{url}: {said}");
    }
    assert_eq!(desk.third.asked().len(), before);
    // Redirects are not followed.
    let said = desk.fetch(&desk.third.at("/moved")).await;
    assert!(said.starts_with("Git could not be asked: "), "{said}");
    assert_eq!(desk.third.asked().len(), before + 1);

    for api in [Some("https://api.example"), None] {
        let other = Desk::new(|party, _| match api {
            Some(origin) => party.api([origin]).unwrap(),
            None => party.without_api(),
        });
        let other = other.await;
        other.connect(None).await;
        let said = other.fetch(&other.third.at("/user")).await;
        assert!(said.contains("failed"), "{said}");
        assert!(other.third.asked().is_empty());
        // Only `connect` takes the credential from the vault.
        let lines = other.vault.audit(None, 0, 99).await.unwrap();
        let used = lines
            .iter()
            .filter(|it| it.record.event == AuditEvent::Used);
        assert_eq!(used.count(), 2);
    }
}

#[tokio::test]
async fn a_third_party_without_an_api_is_reported_before_the_user_is_asked() {
    let vault = Stage::in_memory().vault().await;
    let key = ThirdParty::api_key("invoices", "Invoices", ApiKey::new()).unwrap();
    let github = ThirdParty::github(RegisteredClient::new("c-1")).unwrap();
    let providers = Providers::new(fetcher()).with(github).unwrap();
    let built = Connections::on_this_machine(MACHINE, vault.clone(), providers.clone()).build();
    assert!(built.is_ok(), "{built:?}");
    let said = providers.clone().with(key.clone().without_api()).unwrap();
    let built = Connections::on_this_machine(MACHINE, vault.clone(), said).build();
    assert!(built.is_ok(), "{built:?}");
    let providers = providers.with(key).unwrap();
    let built = Connections::on_this_machine(MACHINE, vault, providers).build();
    let error = built.unwrap_err().to_string();
    let told = "the provider \"invoices\" has no API to send its tokens to: name its origins with \
                `ThirdParty::api([\"https://…\"])`, or with `api = [\"https://…\"]` in the file of providers; if handlers send them themselves, say so with `ThirdParty::without_api()` or `api = []`";
    assert_eq!(error, told);
}

#[test]
fn an_api_is_an_origin() {
    for (text, is_taken) in [
        ("https://api.example", true),
        ("https://api.example/", true),
        ("https://api.example:8443", true),
        ("http://127.0.0.1:4000", true),
        ("http://api.example", false),
        ("https://api.example/v1", false),
        ("https://api.example?a", false),
        ("https://api.example#a", false),
        ("https://ada@api.example", false),
        ("api.example", false),
        ("", false),
    ] {
        let party = ThirdParty::api_key("a", "A", ApiKey::new()).unwrap();
        assert_eq!(party.api([text]).is_ok(), is_taken, "{text}");
    }
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_sent_again() {
    let desk = Desk::open().await;
    desk.connect(Some("refresh-0")).await;
    desk.withdraw(1);
    let url = desk.third.at("/user");
    assert_eq!(desk.fetch(&url).await, "200");
    assert_eq!(desk.asked("POST /token"), 1);
    assert!(matches!(desk.state().await, AccountState::Replaced { .. }));
    // Once the rejected token is no longer suspect, the next rejection is a new case.
    desk.stage.clock.turn(10 * MINUTE);
    desk.withdraw(2);
    assert_eq!(desk.fetch(&url).await, "200");
    assert_eq!(desk.asked("POST /token"), 2);
}

#[tokio::test]
async fn a_key_is_sent_in_its_own_header() {
    for (header, expected) in [
        (None, "authorization: Bearer token-0"),
        (Some(("X-Api-Key", "")), "x-api-key: token-0"),
        (
            Some(("Authorization", "Token ")),
            "authorization: Token token-0",
        ),
    ] {
        let desk = Desk::new(|_, third| {
            let mut key = ApiKey::new();
            if let Some((name, prefix)) = header {
                key = key.check(&third.at("/check"), name, prefix).unwrap();
            }
            let party = ThirdParty::api_key("git", "Git", key).unwrap();
            party.api([&third.url]).unwrap()
        });
        let desk = desk.await;
        let user = Connections::user_of_this_machine();
        let key = Grant::api_key(Secret::new("token-0"));
        desk.vault.put(&user, "git", "ada", key).await.unwrap();
        let url = desk.third.at("/user");
        assert_eq!(desk.fetch(&url).await, "200", "{expected}");
        for request in desk.third.asked() {
            let lines = request.head.lines();
            let shown: Vec<_> = lines.filter(|line| line.contains("token-")).collect();
            assert_eq!(shown, [expected]);
        }
        // A key that the API rejects is asked for again.
        desk.withdraw(1);
        let said = desk.fetch(&url).await;
        assert!(said.contains("has to be connected again"), "{said}");
        assert_eq!(desk.state().await, AccountState::NeedsReconnect);
    }
}

#[tokio::test]
async fn a_person_is_asked_where_what_they_allowed_is_withdrawn() {
    for refresh in [None, Some("refresh-0")] {
        let desk = Desk::open().await;
        desk.connect(refresh).await;
        desk.withdraw(99);
        let url = desk.third.at("/user");
        let said = desk.fetch(&url).await;
        assert!(said.contains("has to be connected again"), "{said}");
        assert_eq!(desk.state().await, AccountState::NeedsReconnect);
        assert_eq!(desk.asked("POST /token"), usize::from(refresh.is_some()));
        let lines = desk.vault.audit(None, 0, 99).await.unwrap();
        let rejected = AuditEvent::TokenRejected;
        assert!(lines.iter().any(|it| it.record.event == rejected));
        // The next call asks. This client opens no links.
        let said = desk.fetch(&url).await;
        assert!(said.contains("it needs your Git account"), "{said}");
    }
}

#[tokio::test]
async fn one_request_whose_second_token_is_refused_is_enough_to_ask() {
    let desk = Desk::open().await;
    desk.connect(Some("refresh-0")).await;
    desk.withdraw(99);
    let url = desk.third.at("/user");
    let once = |git: askback_connect::Connection, url: String| async move {
        Ok(git.get(&url).await?.status.to_string())
    };
    let said = desk.call(&url, once).await;
    assert!(said.contains("has to be connected again"), "{said}");
    assert_eq!(desk.state().await, AccountState::NeedsReconnect);
    let said = desk.call(&url, once).await;
    assert!(said.contains("it needs your Git account"), "{said}");
}

#[tokio::test]
async fn an_api_that_refuses_all_tokens_neither_renews_nor_asks_all_the_time() {
    let desk = Desk::open().await;
    desk.withdraw(99);
    let url = desk.third.at("/user");
    desk.connect(Some("refresh-0")).await;
    desk.fetch(&url).await;
    // The user connects it again, which does not help.
    desk.connect(Some("refresh-1")).await;
    for _ in 0..5 {
        assert_eq!(desk.fetch(&url).await, "401");
    }
    desk.stage.clock.turn(10 * MINUTE - 1);
    assert_eq!(desk.fetch(&url).await, "401");
    assert_eq!(desk.asked("POST /token"), 1);
    // Later, the API may have recovered.
    desk.stage.clock.turn(1);
    let said = desk.fetch(&url).await;
    assert!(said.contains("has to be connected again"), "{said}");
    assert_eq!(desk.asked("POST /token"), 2);
}

#[tokio::test]
async fn a_client_of_the_third_partys_own_says_that_a_token_was_refused() {
    let desk = Desk::open().await;
    desk.connect(Some("refresh-0")).await;
    let said = desk.call("", |git, _| async move {
        let first = git.credential().await?;
        let (one, two) = tokio::join!(git.rejected(&first), git.rejected(&first));
        let second = git.credential().await?;
        // A token that was rejected long ago says nothing about the current one.
        let late = git.rejected(&first).await?;
        let after = git.rejected(&second).await.map_err(|error: Error| {
            assert!(error.to_string().contains("connected again"), "{error}");
            error
        });
        Ok(format!("{} {} {late} {}", one?, two?, after.is_err()))
    });
    assert_eq!(said.await, "true true true true");
    assert_eq!(desk.asked("POST /token"), 1);
}

#[tokio::test]
async fn a_refused_token_is_not_renewed_while_the_provider_is_down() {
    let desk = Desk::new(|party, third| {
        let client = RegisteredClient::new("c-1");
        let down = Provider::new(&third.url, &third.at("/authorize"), &third.at("/down"));
        let down = ThirdParty::oauth("git", "Git", down.unwrap(), client).unwrap();
        drop(party);
        down.api([&third.url]).unwrap()
    });
    let desk = desk.await;
    desk.connect(Some("refresh-0")).await;
    desk.withdraw(99);
    let url = desk.third.at("/user");
    for _ in 0..3 {
        assert_eq!(desk.fetch(&url).await, "401");
    }
    assert!(matches!(
        desk.state().await,
        AccountState::CoolingDown { .. }
    ));
    assert_eq!(desk.asked("POST /down"), 1);
    desk.stage.clock.turn(HOUR);
    assert_eq!(desk.fetch(&url).await, "401");
    assert_eq!(desk.asked("POST /down"), 2);
}
