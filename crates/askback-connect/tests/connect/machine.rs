//! The pages for the one user of a machine, which other users of the machine can reach too.

use std::{fs, net::SocketAddr};

use askback::{
    Ctx,
    Revision::V2026_07_28,
    Server, Tool,
    client::{Client, Protocol},
    http::ConnectionEnds,
    keys::{Key, KeyRing, KeySource},
    protocol::{CallToolParams, ElicitResult, Outcome, RawJson},
    transport,
};
use askback_connect::{
    ConnectExt, Connections,
    vault::{AuditEvent, Filter, Grant, IntentRow},
};
use askback_oauth::Secret;
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::asking::{Call, call};
use crate::visitor::{Browser, MACHINE, Scene, parameter};

struct Asked {
    scene: Scene,
    call: Call,
    link: String,
}

impl Asked {
    async fn new(tool: &'static str) -> Self {
        let scene = Scene::machine(|kit| kit).await;
        let mut call = call(&scene, V2026_07_28, tool, true).await;
        let link = call.link().await;
        Self { scene, call, link }
    }

    async fn events(&self) -> Vec<AuditEvent> {
        self.scene.events(None).await
    }
}

fn count(events: &[AuditEvent], event: AuditEvent) -> usize {
    events.iter().filter(|it| **it == event).count()
}

#[tokio::test]
async fn a_link_has_a_secret_of_its_own_and_is_for_the_first_browser() {
    let asked = Asked::new("stars").await;
    let scene = &asked.scene;
    let id = asked.link.strip_prefix(&format!("{MACHINE}/c/"));
    assert_eq!(id.unwrap().len(), 32, "{}", asked.link);
    let mut first = scene.browser();
    let provider = first.agree(&asked.link).await;
    let uri = parameter(&provider, "redirect_uri");
    assert_eq!(uri, format!("{MACHINE}/cb/git"));
    // Browsers send a cookie to all ports of the host. Other servers must not get it.
    let path = format!("/c/{}", id.unwrap());
    for (_, at) in first.jar.values() {
        assert!([&*path, "/cb"].contains(&&**at), "{at}");
    }
    // The link from the browser's arguments does not work in another browser.
    let mut second = scene.browser();
    let page = second.get(&asked.link).await;
    page.says(403, "This page is not for this browser")
        .says(403, "start again there: it gives you another link");
    assert!(!page.text.contains("Git"), "{}", page.text);
    assert!(second.jar.is_empty(), "{:?}", second.jar);
    for answer in ["yes", "no", "disconnect"] {
        let form = [("token", "x"), ("answer", answer)];
        let posted = second.post(&asked.link, &form).await;
        posted.says(403, "not for this browser");
    }
    let events = asked.events().await;
    assert_eq!(count(&events, AuditEvent::Opened), 1, "{events:?}");
    assert_eq!(count(&events, AuditEvent::WrongBrowser), 1, "{events:?}");
    second
        .come_back(&provider, "evil")
        .await
        .says(403, "not for this browser");
    // The first browser still has it.
    let provider = first.agree(&asked.link).await;
    first
        .come_back(&provider, "octocat")
        .await
        .says(200, "octocat");
    assert_eq!(asked.call.said.await.unwrap(), "200 octocat");
}

#[tokio::test]
async fn only_one_of_several_browsers_gets_the_link() {
    let asked = Asked::new("stars").await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (mut browser, link) = (asked.scene.browser(), asked.link.clone());
        opening.spawn(async move { browser.get(&link).await.status });
    }
    let mut found = opening.join_all().await;
    found.sort_unstable();
    assert_eq!(found, [200, 403, 403, 403]);
    let events = asked.events().await;
    assert_eq!(count(&events, AuditEvent::Opened), 1, "{events:?}");
    // Each of the other browsers counts.
    let wrong = count(&events, AuditEvent::WrongBrowser);
    assert_eq!(wrong, 3, "{events:?}");
}

#[tokio::test]
async fn a_program_that_looks_at_a_link_first_leaves_a_way_out() {
    let asked = Asked::new("stars").await;
    // A HEAD request does not open the link.
    let head = Request::head(&*asked.link).body(Full::default()).unwrap();
    assert_eq!(asked.scene.browser().send(head).await.status, 200);
    let mut preview = asked.scene.browser();
    preview.get(&asked.link).await.says(200, "Git &#38; Co");
    let mut person = asked.scene.browser();
    let page = person.get(&asked.link).await;
    page.says(403, "decline in your client and start again there");
    asked.call.said.abort();
    let mut again = call(&asked.scene, V2026_07_28, "stars", true).await;
    let link = again.link().await;
    assert_ne!(link, asked.link);
    let provider = person.agree(&link).await;
    person
        .come_back(&provider, "octocat")
        .await
        .says(200, "octocat");
    assert_eq!(again.said.await.unwrap(), "200 octocat");
}

#[tokio::test]
async fn a_link_that_others_open_again_and_again_ends() {
    let asked = Asked::new("stars").await;
    asked
        .scene
        .browser()
        .get(&asked.link)
        .await
        .says(200, "Git");
    for _ in 0..5 {
        let page = asked.scene.browser().get(&asked.link).await;
        page.says(403, "not for this browser");
    }
    let page = asked.scene.browser().get(&asked.link).await;
    page.says(410, "This link is over");
    let events = asked.events().await;
    assert_eq!(count(&events, AuditEvent::WrongBrowser), 4, "{events:?}");
    assert_eq!(count(&events, AuditEvent::Burned), 1, "{events:?}");
    let said = asked.call.said.await.unwrap();
    let why = "the link for Git & Co was opened by others too often, in another browser or by another person";
    assert!(said.contains(why), "{said}");
    assert!(said.contains("call again"), "{said}");
}

/// Two accounts. One of them was just connected in the returned browser.
async fn connected() -> (Asked, Browser, crate::visitor::Shown) {
    let asked = Asked::new("stars").await;
    let user = Connections::user_of_this_machine();
    let granted = Grant::tokens(Secret::new("canary-access-old"), None);
    let put = asked.scene.vault.put(&user, "git", "old", granted).await;
    put.unwrap();
    let mut browser = asked.scene.browser();
    let provider = browser.agree(&asked.link).await;
    let page = browser.come_back(&provider, "octocat").await;
    page.says(200, "If this is not your account, disconnect it.");
    (asked, browser, page)
}

#[tokio::test]
async fn the_account_that_was_just_connected_can_be_disconnected_there() {
    let (asked, mut browser, page) = connected().await;
    let user = Connections::user_of_this_machine();
    let token = page.token();
    let of = |account| {
        [
            ("answer", "disconnect"),
            ("token", &*token),
            ("provider", "git"),
            ("account", account),
        ]
    };
    let other = browser.post(&asked.link, &of("old")).await;
    other.says(403, "not for this browser");
    let mut stranger = asked.scene.browser();
    let theirs = stranger.post(&asked.link, &of("octocat")).await;
    theirs.says(403, "not for this browser");
    assert_eq!(asked.scene.accounts(&user).await, ["octocat", "old"]);
    let done = browser.post(&asked.link, &of("octocat")).await;
    done.says(200, "The account octocat is no longer used.");
    while asked.scene.accounts(&user).await != ["old"] {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn accounts_are_behind_a_link_of_their_own() {
    let (asked, mut browser, _) = connected().await;
    let user = Connections::user_of_this_machine();
    for path in [
        "/accounts",
        "/disconnect",
        "/sign-in",
        "/signed-in",
        "/sign-out",
    ] {
        let at = format!("{MACHINE}{path}");
        browser.get(&at).await.says(404, "There is no such page");
        let posted = browser.post(&at, &[("token", "x")]).await;
        posted.says(404, "There is no such page");
    }
    // These links do not count against the limit of links that a user has to finish.
    for _ in 0..20 {
        assert!(asked.scene.kit.accounts_link().await.unwrap().is_some());
    }
    let link = asked.scene.kit.accounts_link().await.unwrap().unwrap();
    let mut first = asked.scene.browser();
    let page = first.get(&link).await;
    page.says(200, "My accounts").says(200, "octocat");
    let form = [
        ("answer", "disconnect"),
        ("token", &*page.token()),
        ("provider", "git"),
        ("account", "octocat"),
    ];
    for other in [&mut browser, &mut asked.scene.browser()] {
        other.get(&link).await.says(403, "not for this browser");
        let posted = other.post(&link, &form).await;
        posted.says(403, "not for this browser");
    }
    let evil = [("origin", "https://evil.test")];
    let posted = first.post_with(&link, &form, &evil).await;
    assert!([403, 421].contains(&posted.status), "{}", posted.status);
    assert_eq!(asked.scene.accounts(&user).await, ["octocat", "old"]);
    let gone = first.post(&link, &form).await;
    assert_eq!(gone.headers["location"], &link[MACHINE.len()..]);
    while asked.scene.accounts(&user).await != ["old"] {
        tokio::task::yield_now().await;
    }
    let token = first.get(&link).await.token();
    asked.scene.stage.clock.turn(600_000);
    first.get(&link).await.says(410, "This link is over");
    let late = [
        ("answer", "disconnect"),
        ("token", &*token),
        ("provider", "git"),
        ("account", "old"),
    ];
    let late = first.post(&link, &late).await;
    late.says(410, "This link is over");
    assert_eq!(asked.scene.accounts(&user).await, ["old"]);
    // An unopened link expires sooner.
    let link = asked.scene.kit.accounts_link().await.unwrap().unwrap();
    asked.scene.stage.clock.turn(120_000);
    first.get(&link).await.says(410, "This link is over");
}

#[tokio::test]
async fn a_visitor_who_signs_in_needs_no_link_to_their_accounts() {
    let scene = Scene::web().await;
    assert_eq!(scene.kit.accounts_link().await.unwrap(), None);
}

#[tokio::test]
async fn the_store_does_not_reveal_links() {
    let asked = Asked::new("stars").await;
    let id = asked.link.rsplit('/').next().unwrap();
    let raw = u128::from_str_radix(id, 16).unwrap().to_be_bytes();
    let kept = asked.scene.stage.store.list::<IntentRow>(Filter::id(raw));
    assert!(kept.await.unwrap().is_empty());
    let mut searched = 0;
    for file in fs::read_dir(asked.scene.stage.directory.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        searched += bytes.len();
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|it| it == part);
        assert!(!holds(&raw) && !holds(id.as_bytes()));
    }
    assert!(searched > 10_000);
}

async fn client_of(kit: &Connections) -> Client {
    let account = async |ctx: Ctx| -> askback::Result<String> {
        let git = ctx.connect("git").await?;
        git.account().await
    };
    let keys = KeySource::Ring(KeyRing::new(Key::new(&[7; 32])));
    let server = Server::new("desk", "1").keys(keys).state(kit.clone());
    let server = server.tool(Tool::new("account", account)).build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("editor", "1").protocol(Protocol::Only(V2026_07_28));
    let client = client.on_elicit_url(async |_| Ok(ElicitResult::agree()));
    client.connect(near).await.unwrap()
}

async fn round(client: &Client, call: &mut CallToolParams) -> Result<(String, String), String> {
    match client.call_round(call.clone()).await.unwrap().value {
        Outcome::Done(result) => {
            let text = serde_json::to_value(&result.content[0]).unwrap()["text"].take();
            Err(text.as_str().unwrap().to_owned())
        }
        Outcome::NeedInput(asks) => {
            call.request_state = asks.request_state;
            let (key, question) = asks.input_requests.into_iter().flatten().next().unwrap();
            let question: Value = serde_json::to_value(&question).unwrap();
            let link = question["params"]["url"].as_str().unwrap().to_owned();
            Ok((key, link))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_link_stays_the_same_when_the_server_is_started_again() {
    let scene = Scene::machine(|kit| kit).await;
    let mut call = CallToolParams::new("account");
    let (key, link) = round(&client_of(&scene.kit).await, &mut call)
        .await
        .unwrap();
    let mut browser = scene.browser();
    browser.get(&link).await.says(200, "Git &#38; Co");

    let kit = scene.started_again().await;
    let client = client_of(&kit).await;
    let again = round(&client, &mut call).await;
    assert_eq!(again, Ok((key.clone(), link.clone())));
    // Only the browser that opened the link may still use it.
    let mut stranger = scene.browser().at(&kit);
    stranger.get(&link).await.says(403, "not for this browser");
    let mut browser = browser.at(&kit);
    let provider = browser.agree(&link).await;
    browser
        .come_back(&provider, "octocat")
        .await
        .says(200, "octocat");
    let yes = RawJson::new(&ElicitResult::agree()).unwrap();
    call.input_responses = Some([(key, yes)].into_iter().collect());
    assert_eq!(round(&client, &mut call).await, Err("octocat".to_owned()));
}

async fn fetched(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:4000\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn pages_next_to_the_endpoint_are_only_for_this_user() {
    let asked = Asked::new("stars").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Server::new("s", "1").build().unwrap().http();
    tokio::spawn(
        endpoint
            .beside("/", asked.scene.kit.pages())
            .serve(listener),
    );
    let path = asked.link.strip_prefix(MACHINE).unwrap();
    // The test cannot make a connection as another user. A loopback connection that is not in the system's list counts
    // as one.
    #[cfg(target_os = "linux")]
    {
        let ends = |local: &str, remote: &str| ConnectionEnds {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
        };
        let request = |ends| {
            let request = Request::get(path).header("host", "127.0.0.1:4000");
            request
                .extension(ends)
                .body(Full::<bytes::Bytes>::default())
                .unwrap()
        };
        let pages = asked.scene.kit.pages();
        let refused = pages
            .respond(request(ends("127.0.0.1:1", "127.0.0.1:2")))
            .await;
        assert_eq!(refused.status(), 403);
        assert_eq!(count(&asked.events().await, AuditEvent::Opened), 0);
    }
    let shown = fetched(address, path).await;
    assert!(
        shown.starts_with("HTTP/1.1 200") && shown.contains("Git &#38; Co"),
        "{shown}"
    );
    assert_eq!(count(&asked.events().await, AuditEvent::Opened), 1);
}
