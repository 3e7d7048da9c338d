use std::sync::{Arc, Mutex};

use askback::{
    Ctx, Principal, Result, Revision,
    Revision::{V2025_11_25, V2026_07_28},
    Server, Tool,
    authorization::server::{DevelopmentTokens, Protection},
    client::{Client, Event, Protocol},
    protocol::{AnswerSource, ElicitResult},
    transport::{self, Http},
};
use askback_connect::{
    ConnectExt, Connections,
    vault::{AuditEvent, Grant},
};
use askback_core::auth::Scopes;
use askback_oauth::Secret;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
};

use crate::stage::keys;
use crate::visitor::{MACHINE, Scene, WEB, parameter, request_to};

/// A running call, and the links that its user was asked to open.
pub(crate) struct Call {
    pub(crate) links: mpsc::UnboundedReceiver<String>,
    pub(crate) completed: Arc<Mutex<Vec<String>>>,
    pub(crate) said: tokio::task::JoinHandle<String>,
}

impl Call {
    pub(crate) async fn link(&mut self) -> String {
        self.links.recv().await.expect("a link is asked for")
    }
}

async fn stars(ctx: Ctx, at: Arc<String>) -> Result<String> {
    let git = ctx.connect("git").scopes(["gist"]).await?;
    let answer = git.get(&format!("{at}/user")).await?;
    Ok(format!("{} {}", answer.status, git.account().await?))
}

pub(crate) fn server(kit: Connections, git: &str) -> Server {
    let at = Arc::new(git.to_owned());
    let key = async |ctx: Ctx| -> Result<String> {
        let secret = ctx.ask_secret("stripe_key").title("Stripe key").await?;
        Ok(format!("{} characters", secret.expose().len()))
    };
    let both = {
        let at = Arc::clone(&at);
        move |ctx: Ctx| {
            let at = Arc::clone(&at);
            async move {
                let first = stars(ctx.clone(), at).await?;
                let seat = ctx.confirm("Go on?").await?;
                Ok::<_, askback::Error>(format!("{first}, {seat}"))
            }
        }
    };
    let deposit = async |ctx: Ctx| -> Result<&'static str> {
        ctx.ask_page("Pay the deposit.", "/deposit?order=7").await?;
        Ok("paid")
    };
    let charge = async |ctx: Ctx| -> Result<&'static str> {
        let secret = ctx.ask_secret("sk_key").await?;
        if !secret.expose().starts_with("sk_") {
            ctx.ask_secret("sk_key").rejected(&secret).await?;
            return Err(askback::Error::new("that is no key"));
        }
        // Rejecting another secret has no effect.
        let other = Secret::new("mistyped");
        ctx.ask_secret("sk_key").rejected(&other).await?;
        Ok("charged")
    };
    let writes = async |ctx: Ctx| -> Result<String> {
        let git = ctx.connect("git").scopes(["write"]).await?;
        Ok(git.account().await?.to_owned())
    };
    let pay = async |ctx: Ctx| -> Result<String> {
        let pay = ctx.connect("pay").await?;
        Ok(format!("{pay:?}"))
    };
    let bobs = async |ctx: Ctx| -> Result<String> {
        let git = ctx.connect("git").account("bob <b>").await?;
        git.account().await
    };
    let ledger = async |ctx: Ctx| -> Result<String> {
        let ledger = ctx.connect("ledger").await?;
        ledger.account().await
    };
    let server = Server::new("desk", "1").state(kit);
    let server = server.tool(Tool::new("ledger", ledger));
    let server = server.tool(Tool::new("bobs", bobs));
    let server = server.tool(Tool::new("stars", move |ctx: Ctx| {
        stars(ctx, Arc::clone(&at))
    }));
    let server = server
        .tool(Tool::new("key", key))
        .tool(Tool::new("both", both));
    let server = server
        .tool(Tool::new("deposit", deposit))
        .tool(Tool::new("charge", charge))
        .tool(Tool::new("writes", writes))
        .tool(Tool::new("pay", pay));
    server.build().unwrap()
}

/// A client whose user opens each link, or declines.
fn client(
    revision: Revision,
    agrees: bool,
) -> (
    askback::client::ClientBuilder,
    mpsc::UnboundedReceiver<String>,
    Arc<Mutex<Vec<String>>>,
) {
    let (opened, links) = mpsc::unbounded_channel();
    let completed = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&completed);
    let seen = Arc::<Mutex<Option<String>>>::default();
    let client = Client::builder("editor", "1").protocol(Protocol::Only(revision));
    let client = client
        .on_elicit_url(move |question| {
            let link = question.request.url.clone();
            // In 2026-07-28 the same link is sent again.
            if seen.lock().unwrap().replace(link.clone()).as_ref() != Some(&link) {
                opened.send(link).unwrap();
            }
            async move {
                Ok(match agrees {
                    true => ElicitResult::agree(),
                    false => ElicitResult::decline().answered_by(AnswerSource::Person),
                })
            }
        })
        .on_elicit(|_| async {
            let Value::Object(yes) = json!({"confirm": true}) else {
                unreachable!()
            };
            Ok(ElicitResult::accept(yes))
        })
        .on_event(move |event| {
            if let Event::UrlCompleted { elicitation_id: id } = event {
                heard.lock().unwrap().push(id);
            }
        });
    (client, links, completed)
}

pub(crate) async fn call(
    scene: &Scene,
    revision: Revision,
    tool: &'static str,
    agrees: bool,
) -> Call {
    let server = server(scene.kit.clone(), &scene.git.url);
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let (client, links, completed) = client(revision, agrees);
    let client = client.connect(near).await.unwrap();
    begin(client, tool, links, completed)
}

fn begin(
    client: Client,
    tool: &'static str,
    links: mpsc::UnboundedReceiver<String>,
    completed: Arc<Mutex<Vec<String>>>,
) -> Call {
    let said = tokio::spawn(async move {
        let result = client.call_tool(tool, json!({})).await;
        match result {
            Ok(result) => {
                let text = serde_json::to_value(&result.content[0]).unwrap()["text"].clone();
                let text = text.as_str().unwrap().to_owned();
                if result.is_error == Some(true) {
                    format!("error: {text}")
                } else {
                    text
                }
            }
            Err(error) => format!("failed: {error}"),
        }
    });
    Call {
        links,
        completed,
        said,
    }
}

pub(crate) async fn call_as(
    scene: &Scene,
    person: &Principal,
    revision: Revision,
    tool: &'static str,
) -> Call {
    call_over_http(scene, Some(person), revision, tool).await
}

/// Calls a tool over HTTP, without authentication if there is no user.
async fn call_over_http(
    scene: &Scene,
    person: Option<&Principal>,
    revision: Revision,
    tool: &'static str,
) -> Call {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let endpoint = server(scene.kit.clone(), &scene.git.url).http();
    let way = Http::new(&url).unwrap();
    let (endpoint, way) = match person {
        None => (endpoint, way),
        Some(person) => {
            let tokens = DevelopmentTokens::new();
            let tokens = tokens.allow(person.clone(), "inbound-canary", ["x"]);
            let protection = Protection::new(&url, tokens.unwrap()).unwrap();
            let way = way.header("authorization", "Bearer inbound-canary");
            (endpoint.protect(protection), way.unwrap())
        }
    };
    tokio::spawn(endpoint.serve(listener));
    let (client, links, completed) = client(revision, true);
    begin(client.connect(way).await.unwrap(), tool, links, completed)
}

const LINKS: [Revision; 2] = [V2025_11_25, V2026_07_28];

#[tokio::test]
async fn an_account_is_connected_once_and_used_from_then_on() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut first = call(&scene, revision, "stars", true).await;
        let mut browser = scene.browser();
        let link = first.link().await;
        let provider = browser.agree(&link).await;
        let done = browser.come_back(&provider, "octocat").await;
        done.says(200, "Git &#38; Co is connected")
            .says(200, "octocat");
        assert_eq!(first.said.await.unwrap(), "200 octocat", "{revision}");

        let mut second = call(&scene, revision, "stars", true).await;
        assert_eq!(second.said.await.unwrap(), "200 octocat", "{revision}");
        assert!(second.links.try_recv().is_err());
        let completed = first.completed.lock().unwrap().clone();
        let told = revision == V2025_11_25;
        assert_eq!(completed.len(), usize::from(told), "{revision}");
        assert!(completed.iter().all(|id| link.ends_with(&**id)));
    }
}

#[tokio::test]
async fn tools_with_other_scopes_leave_one_another_what_they_have() {
    let scene = Scene::machine(|kit| kit).await;
    let connects = async |tool: &'static str, asked: &[&str], code: &str| {
        let mut call = call(&scene, V2026_07_28, tool, true).await;
        let mut browser = scene.browser();
        let link = call.link().await;
        let page = browser.get(&link).await;
        for scope in asked {
            page.says(200, &format!("<code>{scope}</code>"));
        }
        let provider = browser.agree(&link).await;
        let mut pairs = provider.query_pairs();
        let scopes = pairs.find(|(name, _)| name == "scope").unwrap().1;
        let mut scopes: Vec<_> = scopes.split(' ').collect();
        scopes.sort_unstable();
        assert_eq!(scopes, asked);
        let provider = provider.clone();
        browser.come_back(&provider, code).await;
        call.said.await.unwrap()
    };
    let said = connects("stars", &["gist", "repo"], "octocat").await;
    assert_eq!(said, "200 octocat");
    let wider = ["gist", "repo", "write"];
    let said = connects("writes", &wider, "octocat-writes").await;
    assert_eq!(said, "octocat");
    for (tool, said) in [("stars", "200 octocat"), ("writes", "octocat")] {
        let mut again = call(&scene, V2026_07_28, tool, true).await;
        assert_eq!(again.said.await.unwrap(), said);
        assert!(again.links.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_secret_that_is_of_no_use_is_asked_for_again() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        for (typed, said) in [("mistyped", "error: that is no key"), ("sk_1", "charged")] {
            let mut asked = call(&scene, revision, "charge", true).await;
            let (link, mut browser) = (asked.link().await, scene.browser());
            let page = browser.get(&link).await;
            let form = [
                ("token", &*page.token()),
                ("answer", "yes"),
                ("secret", typed),
            ];
            browser.post(&link, &form).await.says(200, "Saved");
            assert_eq!(asked.said.await.unwrap(), said, "{revision}");
        }
        let mut again = call(&scene, revision, "charge", true).await;
        assert_eq!(again.said.await.unwrap(), "charged");
        assert!(again.links.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_handler_goes_on_asking_after_an_account() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut first = call(&scene, revision, "both", true).await;
        let mut browser = scene.browser();
        let provider = browser.agree(&first.link().await).await;
        browser.come_back(&provider, "octocat").await;
        assert_eq!(first.said.await.unwrap(), "200 octocat, true", "{revision}");
    }
}

// Shows EL-25.
#[tokio::test]
async fn a_no_is_one_wherever_it_is_said() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut declined = call(&scene, revision, "stars", false).await;
        let link = declined.link().await;
        let said = declined.said.await.unwrap();
        assert_eq!(said, "Nothing was done: the person declined.");
        // The link of a user who declined does nothing.
        scene
            .browser()
            .get(&link)
            .await
            .says(410, "This link is over");

        let mut asked = call(&scene, revision, "stars", true).await;
        let (link, mut browser) = (asked.link().await, scene.browser());
        let page = browser.get(&link).await;
        let form = [("token", &*page.token()), ("answer", "no")];
        browser.post(&link, &form).await.says(200, "Declined");
        let said = asked.said.await.unwrap();
        assert_eq!(said, "Nothing was done: the person declined.");
        assert!(
            scene
                .vault
                .accounts(&Principal::new("this computer's user"))
                .await
                .unwrap()
                .is_empty()
        );
    }
}

// Shows EL-02.
#[tokio::test]
async fn a_secret_is_typed_on_a_page() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut asked = call(&scene, revision, "key", true).await;
        let (link, mut browser) = (asked.link().await, scene.browser());
        let page = browser.get(&link).await;
        page.says(200, "Enter your Stripe key")
            .says(200, "type=\"password\"");
        let token = page.token();
        let empty = [("token", &*token), ("answer", "yes"), ("secret", " ")];
        browser.post(&link, &empty).await.says(422, "Enter it.");
        let form = [
            ("token", &*token),
            ("answer", "yes"),
            ("secret", " canary-12 "),
        ];
        let saved = browser.post(&link, &form).await;
        saved.says(200, "Saved");
        assert!(!saved.text.contains("canary"));
        assert_eq!(asked.said.await.unwrap(), "9 characters");
        let again = call(&scene, revision, "key", true).await;
        assert_eq!(again.said.await.unwrap(), "9 characters");
    }
}

#[tokio::test]
async fn a_key_is_accepted_only_if_the_third_party_accepts_it() {
    let scene = Scene::machine(|kit| kit).await;
    let mut asked = call(&scene, V2026_07_28, "pay", true).await;
    let (link, mut browser) = (asked.link().await, scene.browser());
    let page = browser.get(&link).await;
    page.says(200, "Enter your Pay key")
        .says(200, "A key with read access.");
    let token = page.token();
    let with = |secret| [("token", &*token), ("answer", "yes"), ("secret", secret)];
    let refused = browser.post(&link, &with("wrong")).await;
    refused
        .says(422, "does not take this key")
        .says(422, "aria-invalid");
    let saved = browser.post(&link, &with("canary-key")).await;
    saved.says(200, "Saved");
    assert!(!saved.text.contains("accounts"), "{}", saved.text);
    // The provider has one name for all accounts, so the name is not shown.
    let list = scene.kit.accounts_link().await.unwrap().unwrap();
    let accounts = browser.get(&list).await;
    accounts.says(200, "\"Disconnect Pay\"");
    assert!(!accounts.text.contains("<bdi>pay</bdi>"));
    assert_eq!(
        asked.said.await.unwrap(),
        r#"Connection { provider: "pay", .. }"#
    );
}

// Shows EL-48.
#[tokio::test]
async fn a_page_of_the_authors_is_for_the_person_who_was_asked() {
    let scene = Scene::machine(|kit| kit).await;
    let mut asked = call(&scene, V2026_07_28, "deposit", true).await;
    let (link, mut browser) = (asked.link().await, scene.browser());
    let gone = browser.get(&link).await;
    assert_eq!(gone.status, 303);
    let to = gone.headers["location"].to_str().unwrap().to_owned();
    let (path, parameter) = to.split_once("&asked=").unwrap();
    assert_eq!(path, "/deposit?order=7");
    let (kit, headers) = (&scene.kit, http::HeaderMap::new());
    let at = |uri: &str| uri.parse::<http::Uri>().unwrap();
    let (id, _) = parameter.split_once('.').unwrap();
    for wrong in [
        format!("/deposit?order=7&asked={id}"),
        format!("/deposit?order=7&asked={id}."),
        to.replace(&id[..4], "0000"),
        to.replace("order=7", "order=8"),
        to.replace("order=7", "order=7&order=8"),
        to.replace("/deposit", "/terms"),
        to.replace("/deposit?order=7&", "/deposit?"),
        format!("{to}&order=8"),
        format!("{to}&asked={parameter}"),
    ] {
        assert!(
            kit.asked(&request_to(MACHINE, &headers, &at(&wrong)))
                .await
                .is_err(),
            "{wrong}"
        );
    }
    let page = kit
        .asked(&request_to(MACHINE, &headers, &at(&to)))
        .await
        .unwrap();
    let token = page.token().await.unwrap();
    assert!(page.claim(&headers, "x").await.is_err());
    let page = kit
        .asked(&request_to(MACHINE, &headers, &at(&to)))
        .await
        .unwrap();
    let foreign = [(http::header::ORIGIN, "https://evil.test".parse().unwrap())];
    let foreign = http::HeaderMap::from_iter(foreign);
    assert!(page.claim(&foreign, &token).await.is_err());
    // One of two tabs pays. If it fails, the other may.
    let one = kit
        .asked(&request_to(MACHINE, &headers, &at(&to)))
        .await
        .unwrap();
    let other = kit
        .asked(&request_to(MACHINE, &headers, &at(&to)))
        .await
        .unwrap();
    let claim = one.claim(&headers, &token).await.unwrap();
    assert!(other.claim(&headers, &token).await.is_err());
    claim.release().await.unwrap();
    let again = kit
        .asked(&request_to(MACHINE, &headers, &at(&to)))
        .await
        .unwrap();
    let claim = again.claim(&headers, &token).await.unwrap();
    claim.done().await.unwrap();
    assert!(
        kit.asked(&request_to(MACHINE, &headers, &at(&to)))
            .await
            .is_err()
    );
    assert_eq!(asked.said.await.unwrap(), "paid");
}

// Shows EL-09.
#[tokio::test]
async fn where_no_link_is_opened_words_say_what_to_do() {
    for revision in Revision::ALL {
        let scene = Scene::machine(|kit| kit).await;
        let server = server(scene.kit.clone(), &scene.git.url);
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let client = Client::builder("old", "1").protocol(Protocol::Only(revision));
        let client = client.connect(near).await.unwrap();
        let result = client.call_tool("stars", json!({})).await.unwrap();
        let text = serde_json::to_value(&result.content[0]).unwrap()["text"].to_string();
        assert_eq!(result.is_error, Some(true), "{revision}");
        assert!(
            text.contains("it needs your Git & Co account"),
            "{revision}: {text}"
        );
        assert!(!text.contains("/c/"), "{text}");
        // No question was asked, so no link is open.
        assert_eq!(scene.events(None).await, []);
    }
}

#[tokio::test]
async fn the_error_of_2025_11_25_names_the_link_and_the_notice_follows() {
    let scene = Scene::machine(|kit| kit.by_error()).await;
    let mut asked = call(&scene, V2025_11_25, "stars", true).await;
    let link = asked.link().await;
    let mut browser = scene.browser();
    let provider = browser.agree(&link).await;
    browser
        .come_back(&provider, "octocat")
        .await
        .says(200, "is connected");
    let completed = Arc::clone(&asked.completed);
    crate::stage::until(|| !completed.lock().unwrap().is_empty()).await;
    assert!(link.ends_with(&completed.lock().unwrap()[0]));
    // Other revisions have no such error.
    let scene = Scene::machine(|kit| kit.by_error()).await;
    let mut asked = call(&scene, V2026_07_28, "stars", true).await;
    let provider = {
        let link = asked.link().await;
        browser = scene.browser();
        browser.agree(&link).await
    };
    browser.come_back(&provider, "octocat").await;
    assert_eq!(asked.said.await.unwrap(), "200 octocat");
}

// Shows EL-17, EL-19, EL-21, EL-22, EL-23, EL-24, EL-26, EL-31, EL-32, EL-49, BP-06.
#[tokio::test]
async fn the_person_of_the_call_is_the_person_on_the_page() {
    for revision in LINKS {
        let scene = Scene::web().await;
        let ada = scene.person("acme", "ada");
        let mut asked = call_as(&scene, &ada, revision, "stars").await;
        let link = asked.link().await;
        assert!(
            link.starts_with(&format!("{WEB}/c/")) && link.len() == WEB.len() + 35,
            "{link}"
        );
        let mut browser = scene.browser();
        browser.get(&link).await.says(200, "Sign in to go on");
        let id = link.rsplit('/').next().unwrap();
        let signed_in = browser.sign_in(&scene.issuer.url, id, "acme", "ada").await;
        assert_eq!(signed_in.headers["location"], format!("/connect/c/{id}"));
        let provider = browser.agree(&link).await;
        browser
            .come_back(&provider, "octocat")
            .await
            .says(200, "octocat");
        assert_eq!(asked.said.await.unwrap(), "200 octocat", "{revision}");
        assert_eq!(scene.accounts(&ada).await, ["octocat"]);
        let events = scene.events(Some("acme")).await;
        let path = [
            AuditEvent::Asked,
            AuditEvent::Consented,
            AuditEvent::Answered,
            AuditEvent::Granted,
            AuditEvent::Connected,
        ];
        assert_eq!(events[..5], path);
        // The token of the call was never sent to another server.
        for request in scene.git.asked() {
            assert!(
                !request.head.contains("inbound-canary")
                    && !request.body.contains("inbound-canary")
            );
        }
    }
}

// Shows EL-19, EL-20.
#[tokio::test]
async fn a_server_knows_whose_accounts_it_keeps_or_keeps_none() {
    let web = Scene::web().await;
    let said = call(&web, V2026_07_28, "stars", true)
        .await
        .said
        .await
        .unwrap();
    assert!(
        said.starts_with("error: this server does not know who you are"),
        "{said}"
    );
    let machine = Scene::machine(|kit| kit).await;
    let ada = machine.person("acme", "ada");
    let said = call_as(&machine, &ada, V2026_07_28, "stars")
        .await
        .said
        .await
        .unwrap();
    let told = "was called by `ada`: nobody is named as that user with `ConnectionsBuilder::user`";
    assert!(said.contains(told), "{said}");
}

#[tokio::test]
async fn an_account_of_fewer_scopes_is_asked_for_again() {
    let scene = Scene::machine(|kit| kit).await;
    let user = Principal::new("this computer's user");
    let scopes = Scopes::parse("repo").unwrap();
    let granted = Grant::tokens(Secret::new("canary-access-old"), None).scopes(scopes);
    scene.vault.put(&user, "git", "old", granted).await.unwrap();
    let mut asked = call(&scene, V2026_07_28, "stars", true).await;
    let mut browser = scene.browser();
    let link = asked.link().await;
    let provider = browser.agree(&link).await;
    assert_eq!(parameter(&provider, "scope"), "repo gist");
    let fewer = browser.come_back(&provider, "fewer").await;
    fewer.says(403, "You allowed less than was asked for. Missing: gist.");
    // Tokens with too few scopes are not kept.
    let revoked = scene.revoked(2).await;
    assert_eq!(revoked, ["canary-refresh", "canary-access-fewer"]);
    while scene.accounts(&user).await != ["old"] {
        tokio::task::yield_now().await;
    }
    // The user may open the link again.
    let provider = browser.agree(&link).await;
    browser.come_back(&provider, "new").await.says(200, "new");
    assert_eq!(asked.said.await.unwrap(), "200 new");
    assert_eq!(scene.accounts(&user).await, ["new", "old"]);
}

#[tokio::test]
async fn two_calls_ask_the_user_once_and_both_continue() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut first = call(&scene, revision, "stars", true).await;
        let mut second = call(&scene, revision, "stars", true).await;
        let (link, other) = (first.link().await, second.link().await);
        let mut browser = scene.browser();
        let provider = browser.agree(&link).await;
        browser.come_back(&provider, "octocat").await;
        assert_eq!(first.said.await.unwrap(), "200 octocat", "{revision}");
        assert_eq!(second.said.await.unwrap(), "200 octocat", "{revision}");
        browser.get(&other).await.says(410, "This link is over");
    }
}

#[tokio::test]
async fn a_call_stays_with_its_account() {
    let scene = Scene::machine(|kit| kit).await;
    let user = Connections::user_of_this_machine();
    let granted = || {
        let scopes = Scopes::parse("repo gist").unwrap();
        Grant::tokens(Secret::new("canary-access-x"), None).scopes(scopes)
    };
    scene
        .vault
        .put(&user, "git", "bbb", granted())
        .await
        .unwrap();
    let vault = scene.vault.clone();
    // From then on, another account is listed first.
    let twice = move |ctx: Ctx| {
        let (vault, user, other) = (vault.clone(), user.clone(), granted());
        async move {
            let git = ctx.connect("git").await?;
            let before = git.account().await?;
            vault.put(&user, "git", "aaa", other).await.unwrap();
            Ok::<_, askback::Error>(format!("{before} {}", git.account().await?))
        }
    };
    let server = Server::new("desk", "1").state(scene.kit.clone());
    let server = server.tool(Tool::new("twice", twice)).build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("editor", "1").connect(near).await.unwrap();
    let result = client.call_tool("twice", json!({})).await.unwrap();
    let text = serde_json::to_value(&result.content[0]).unwrap();
    assert_eq!(text["text"], "bbb bbb");
}

#[tokio::test]
async fn a_person_has_sixteen_links_at_a_time() {
    let scene = Scene::machine(|kit| kit).await;
    for _ in 0..16 {
        let mut asked = call(&scene, V2026_07_28, "stars", true).await;
        asked.link().await;
        asked.said.abort();
    }
    let refused = call(&scene, V2026_07_28, "stars", true).await;
    let said = refused.said.await.unwrap();
    assert!(
        said.starts_with("error: too many links are open already"),
        "{said}"
    );
}

#[tokio::test]
async fn the_user_of_a_machine_is_the_one_who_is_named_over_http() {
    let (me, other) = (Principal::new("me"), Principal::new("other"));
    let of_the_same_name = Principal {
        issuer: Some("https://login.example".to_owned()),
        ..me.clone()
    };
    for (named, caller, refusal) in [
        (None, None, Some("does not know who calls over HTTP")),
        (None, Some(&me), Some("was called by `me`: nobody is named")),
        (Some(&me), None, Some("does not know who calls over HTTP")),
        (
            Some(&me),
            Some(&other),
            Some("was called by `other`: another caller is named"),
        ),
        (
            Some(&me),
            Some(&of_the_same_name),
            Some("was called by `me`: another caller is named"),
        ),
        (Some(&me), Some(&me), None),
    ] {
        for revision in LINKS {
            let scene = Scene::machine(|kit| match named {
                Some(named) => kit.user(named.clone()),
                None => kit,
            });
            let scene = scene.await;
            let user = Connections::user_of_this_machine();
            let scopes = Scopes::parse("repo gist").unwrap();
            let granted = Grant::tokens(Secret::new("canary-access-x"), None).scopes(scopes);
            scene.vault.put(&user, "git", "x", granted).await.unwrap();
            let said = call_over_http(&scene, caller, revision, "stars").await.said;
            let said = said.await.unwrap();
            match refusal {
                Some(why) => assert!(said.contains(why), "{named:?} {caller:?}: {said}"),
                None => assert_eq!(said, "200 x"),
            }
        }
    }
}

#[tokio::test]
async fn a_key_whose_account_is_looked_for_elsewhere_ends_the_call() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let mut asked = call(&scene, revision, "ledger", true).await;
        let (link, mut browser) = (asked.link().await, scene.browser());
        let page = browser.get(&link).await;
        let form = [
            ("token", &*page.token()),
            ("answer", "yes"),
            ("secret", "canary-key"),
        ];
        let page = browser.post(&link, &form).await;
        page.says(
            500,
            "its setup is wrong, and its operator has to correct it",
        );
        let said = asked.said.await.unwrap();
        let told = "error: no Ledger account can be connected: a setting of `ledger` is wrong";
        assert!(said.starts_with(told), "{said}");
    }
}

#[tokio::test]
async fn the_pages_name_the_account_that_is_needed() {
    let scene = Scene::machine(|kit| kit).await;
    let mut asked = call(&scene, V2026_07_28, "bobs", true).await;
    let (link, mut browser) = (asked.link().await, scene.browser());
    let page = browser.get(&link).await;
    page.says(200, ", as <strong><bdi>bob &#60;b&#62;</bdi></strong>.");
    let provider = browser.agree(&link).await;
    let page = browser.come_back(&provider, "42~octocat").await;
    page.says(
        200,
        "The account is octocat, and bob &#60;b&#62; was asked for: start again in your client",
    );
    let said = "error: octocat was connected at Git & Co, and bob <b> is needed: call again, and choose bob <b> at Git & Co";
    assert_eq!(asked.said.await.unwrap(), said);
}

#[tokio::test]
async fn a_needed_account_is_found_by_its_name_or_its_id() {
    // The existing accounts, the account that the user connects if asked, and the result.
    for (there, connects, said) in [
        (&[][..], Some("7~bob-b"), "bob <b>"),
        (&[], Some("bob-b~robert"), "robert"),
        (&[("7", "bob <b>")], None, "bob <b>"),
        (&[("7", "bob <b>"), ("bob <b>", "x")], None, "x"),
        (
            &[("7", "bob <b>"), ("8", "bob <b>")],
            None,
            "error: 2 Git & Co accounts have this name: give the id of the one that is meant, which is one of 7, 8",
        ),
    ] {
        let scene = Scene::machine(|kit| kit).await;
        let user = Connections::user_of_this_machine();
        for (id, name) in there {
            let granted = Grant::tokens(Secret::new("canary-access-x"), None).name(*name);
            scene.vault.put(&user, "git", id, granted).await.unwrap();
        }
        let mut asked = call(&scene, V2026_07_28, "bobs", true).await;
        if let Some(account) = connects {
            let (link, mut browser) = (asked.link().await, scene.browser());
            let provider = browser.agree(&link).await;
            let page = browser.come_back(&provider, account).await;
            page.says(200, "Git &#38; Co is connected");
            assert!(!page.text.contains("was asked for"), "{}", page.text);
        }
        assert_eq!(asked.said.await.unwrap(), said);
    }
}

/// Some providers issue tokens that expire, but no refresh token.
#[tokio::test]
async fn an_account_whose_token_cannot_be_renewed_is_connected_again() {
    for revision in LINKS {
        let scene = Scene::machine(|kit| kit).await;
        let user = Connections::user_of_this_machine();
        let scopes = Scopes::parse("repo gist").unwrap();
        let granted = Grant::tokens(Secret::new("canary-access-x"), None).scopes(scopes);
        let granted = granted.expires(scene.vault_now());
        scene
            .vault
            .put(&user, "git", "octocat", granted)
            .await
            .unwrap();
        let mut asked = call(&scene, revision, "stars", true).await;
        let (link, mut browser) = (asked.link().await, scene.browser());
        let provider = browser.agree(&link).await;
        let page = browser.come_back(&provider, "octocat").await;
        page.says(200, "Git &#38; Co is connected");
        assert_eq!(asked.said.await.unwrap(), "200 octocat", "{revision}");
    }
}

#[tokio::test]
async fn connecting_the_wrong_account_ends_the_call() {
    // The id and name of a stored account, which the user has to connect again: the call fails,
    // because it connects another one.
    for (id, name, said) in [
        (
            "bob <b>",
            "x",
            "error: the Git & Co account that was connected is not",
        ),
        ("8", "bob <b>", "error: 2 Git & Co accounts have this name"),
    ] {
        let scene = Scene::machine(|kit| kit).await;
        let user = Connections::user_of_this_machine();
        let granted = Grant::tokens(Secret::new("canary-access-x"), None).name(name);
        let granted = granted.expires(scene.vault_now());
        scene.vault.put(&user, "git", id, granted).await.unwrap();
        let mut asked = call(&scene, V2026_07_28, "bobs", true).await;
        let (link, mut browser) = (asked.link().await, scene.browser());
        let provider = browser.agree(&link).await;
        browser.come_back(&provider, "7~bob-b").await;
        let told = asked.said.await.unwrap();
        assert!(told.starts_with(said), "{told}");
    }
}

/// A user disconnects the new account before they return to the client.
#[tokio::test]
async fn an_account_that_is_disconnected_at_once_is_reported_as_disconnected() {
    let scene = Scene::machine(|kit| kit).await;
    let server = server(scene.kit.clone(), &scene.git.url);
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let (opened, links) = mpsc::unbounded_channel();
    let goes_back = Arc::new(Notify::new());
    let gone_back = Arc::clone(&goes_back);
    let client = Client::builder("editor", "1").on_elicit_url(move |question| {
        opened.send(question.request.url.clone()).unwrap();
        let gone_back = Arc::clone(&gone_back);
        async move {
            gone_back.notified().await;
            Ok(ElicitResult::agree())
        }
    });
    let client = client.connect(near).await.unwrap();
    let mut asked = begin(client, "stars", links, Arc::default());
    let (link, mut browser) = (asked.link().await, scene.browser());
    let provider = browser.agree(&link).await;
    browser.come_back(&provider, "octocat").await;
    let user = Connections::user_of_this_machine();
    let is_gone = scene.vault.disconnect(&user, "git", "octocat").await;
    assert!(is_gone.unwrap());
    goes_back.notify_one();
    assert_eq!(
        asked.said.await.unwrap(),
        "error: the Git & Co account was disconnected before it was used: call again to connect one"
    );
}

#[tokio::test]
async fn a_person_with_too_many_accounts_is_told_so() {
    let mut scene = Scene::web().await;
    let vault = scene
        .stage
        .vault_within(Arc::new(keys(7)), |it| it.accounts = 1);
    scene.kit = scene.process_of(vault.await).await;
    let ada = scene.person("acme", "ada");
    let granted = Grant::tokens(Secret::new("canary-access-old"), None);
    scene
        .vault
        .put(&ada, "other", "old", granted)
        .await
        .unwrap();
    let mut asked = call_as(&scene, &ada, V2026_07_28, "stars").await;
    let link = asked.link().await;
    let mut browser = scene.signed_in("acme", "ada").await;
    let provider = browser.agree(&link).await;
    let page = browser.come_back(&provider, "octocat").await;
    page.says(
        422,
        "It cannot be kept: the person has too many accounts: disconnect one.",
    );
    browser.get(&link).await.says(200, "Connect your Git");
    asked.said.abort();
}
