//! The page in a browser. Only the browser with the cookie can answer a question.

use std::{
    future::poll_fn,
    net::SocketAddr,
    time::{Duration, Instant, SystemTime},
};

use askback::{
    limits::Limits,
    protocol::{CreateMessageParams, CreateMessageResult},
    transport::WireEvent,
};
use askback_host::{
    content::CallOutcome,
    leaf::{Did, Leaf, LinkOpening},
    leaves::Leaves,
    model::{
        About, Ask, Call, Change, Conversation, Desk, Effect, Event, Far, Offer, Question, Reply,
        Server, ServerOffer, Suggestions,
    },
    relay::ServerId,
    web::WebPage,
    wire::{SharedWire, Wire},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{booking, form, link, listed_secrets, roots, travel};

pub(crate) struct Stage {
    leaf: Box<dyn Leaf>,
    address: SocketAddr,
    link: String,
    talk: Conversation,
    pub(crate) replies: Vec<Reply>,
}

#[derive(Debug, Clone)]
pub(crate) struct Browser {
    address: SocketAddr,
    cookie: String,
    path: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    body: String,
}

impl Stage {
    fn new(questions: Vec<Question>) -> Self {
        Self::before(
            Desk::new(travel(), None, None, Limits::default()),
            questions,
        )
    }

    pub(crate) fn before(desk: Desk, questions: Vec<Question>) -> Self {
        let page = page();
        let (address, link) = (page.address(), page.link());
        Self {
            leaf: Box::new(page),
            address,
            link: link.expect("it was not used"),
            talk: Conversation::new(Server::new(desk)),
            replies: Vec::new(),
        }
        .asked(questions)
    }

    fn asked(mut self, questions: Vec<Question>) -> Self {
        for (id, question) in (1..).zip(questions) {
            self.happen(Event::Asked(id, question));
        }
        self
    }

    pub(crate) fn happen(&mut self, event: Event) {
        let server = self.talk.seen_id();
        let happened = self.talk.update(Change::Desk(server, event));
        let happened = happened.expect("an event of a desk has an outcome");
        self.leaf.happened(self.talk.seen(), &happened);
        for effect in happened.effects {
            match effect {
                Effect::Answer(_, reply) => self.replies.push(reply),
                Effect::Open(url) => {
                    // The page shows the link.
                    assert_eq!(self.leaf.open(&url), LinkOpening::Shown);
                }
                Effect::CheckFolder(path) => {
                    self.happen(Event::Folder(askback_host::folder::root(path.as_ref())));
                }
                Effect::Run(_) => {
                    let reply = CreateMessageResult::text("qwen3", "The 08:10.");
                    self.happen(Event::Sampled(Ok(Box::new(reply))));
                }
                _ => {}
            }
        }
        self.leaf.show(&self.talk, None);
    }

    /// Runs the front end like the host, until `browser` is done.
    async fn during<T>(&mut self, browser: impl Future<Output = T>) -> T {
        let mut browser = std::pin::pin!(browser);
        loop {
            self.leaf.show(&self.talk, None);
            let did = poll_fn(|context| self.leaf.poll_did(&self.talk, context));
            let did = tokio::select! {
                done = &mut browser => return done,
                did = did => did,
            };
            let Did::Action(actions) = did else {
                panic!("{did:?}");
            };
            for action in actions {
                self.happen(Event::Action(action));
            }
        }
    }

    pub(crate) async fn enter(&mut self) -> Browser {
        let (address, link) = (self.address, self.link.clone());
        let (_, path) = link.split_once(&address.to_string()).expect("it is of it");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nSec-Fetch-Site: cross-site\r\n");
        let answer = self.during(send(address, request, "")).await;
        assert_eq!(answer.status, 200, "{}", answer.head);
        let cookie = answer.header("set-cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/v/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let (_, path) = cookie.split_once("Path=").expect("it has a path");
        Browser {
            address,
            cookie: cookie.split(';').next().expect("it begins so").to_owned(),
            path: path.split(';').next().expect("it begins so").to_owned(),
        }
    }

    /// Returns the page, after the user had time to read it.
    async fn look(&mut self, browser: &Browser) -> String {
        let answer = self.during(browser.get("")).await;
        assert_eq!(answer.status, 200);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        answer.body
    }

    /// Presses a button of the current page, with these fields.
    pub(crate) async fn press(
        &mut self,
        browser: &Browser,
        act: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let page = self.look(browser).await;
        let body = body(&token(&page), act, fields);
        self.during(browser.say(&body)).await
    }
}

impl Browser {
    fn head(&self, method: &str, path: &str) -> String {
        let Self {
            address,
            cookie,
            path: below,
        } = self;
        format!("{method} {below}{path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n")
    }

    async fn get(&self, path: &str) -> Answer {
        send(self.address, self.head("GET", path), "").await
    }

    async fn say(&self, body: &str) -> Answer {
        self.post("say", body).await
    }

    async fn post(&self, path: &str, body: &str) -> Answer {
        let origin = format!(
            "Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            self.address
        );
        send(self.address, self.head("POST", path) + &origin, body).await
    }
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines();
        let mut named = lines.filter_map(|line| line.split_once(": "));
        let found = named.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

fn page() -> WebPage {
    WebPage::start(&Limits::default()).expect("a port is free")
}

async fn send(address: SocketAddr, head: String, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let length = match body {
        "" => String::new(),
        body => format!("Content-Length: {}\r\n", body.len()),
    };
    let request = format!("{head}Connection: close\r\n{length}\r\n{body}");
    // The server may respond before it has read everything.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    let read = String::from_utf8_lossy(&read).into_owned();
    let (head, body) = read.split_once("\r\n\r\n").unwrap_or((&read, ""));
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or_default(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn token(page: &str) -> String {
    let (_, rest) = page
        .split_once("name=\"token\" value=\"")
        .expect("it has a form");
    rest.split('"').next().expect("it ends").to_owned()
}

fn body(token: &str, act: &str, fields: &[(&str, &str)]) -> String {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.append_pair("token", token).append_pair("act", act);
    body.extend_pairs(fields).finish()
}

#[tokio::test]
async fn a_form_is_filled_in_looked_over_and_sent() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    for shown in ["travel asks", "Shall we book?", "Costs 150 USD.", "Window"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // A required field is missing.
    let answer = stage.press(&browser, "submit", &[("f1", "0")]).await;
    assert_eq!(answer.status, 303);
    assert!(stage.look(&browser).await.contains("needs a choice"));
    let fields = [("f0", "0"), ("f1", "1"), ("f2", "1")];
    stage.press(&browser, "submit", &fields).await;
    assert!(stage.replies.is_empty(), "it is looked over first");
    assert!(
        stage
            .look(&browser)
            .await
            .contains("Ready to send to travel:")
    );
    stage.press(&browser, "send", &[]).await;
    let [Reply::Form(content)] = &stage.replies[..] else {
        panic!("{:?}", stage.replies);
    };
    let sent =
        json!({"confirm_booking": true, "seat_preference": "aisle", "travel_insurance": false});
    assert_eq!(json!(content), sent);
}

#[tokio::test]
async fn what_is_written_is_kept_when_the_person_leaves_the_form() {
    let mut stage = Stage::new(vec![form("Who?", r#""name": {"type": "string"}"#, "")]);
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    let draft = body(&token(&page), "draft", &[("f0", "A\"d<a>")]);
    assert_eq!(stage.during(browser.say(&draft)).await.status, 204);
    stage
        .press(&browser, "decline", &[("f0", "A\"d<a>!")])
        .await;
    assert!(stage.look(&browser).await.contains("Why not?"));
    stage.press(&browser, "back", &[]).await;
    let page = stage.look(&browser).await;
    assert!(page.contains("value=\"A&#34;d&#60;a&#62;!\""), "{page}");
    stage.press(&browser, "decline", &[]).await;
    stage
        .press(&browser, "fill", &[("text", "No reason")])
        .await;
    assert!(
        matches!(&stage.replies[..], [Reply::Declined { reason: Some(why), .. }] if why == "No reason")
    );
}

#[tokio::test]
async fn a_question_is_drawn_when_the_page_is_fetched() {
    let mut stage = Stage::new(vec![booking(), roots()]);
    let browser = stage.enter().await;
    assert_eq!(stage.leaf.drawn(), None);
    stage.look(&browser).await;
    let drawn = stage.leaf.drawn();
    assert!(drawn.is_some());
    // Another step of the same question.
    stage.press(&browser, "decline", &[]).await;
    stage.look(&browser).await;
    assert_eq!(stage.leaf.drawn(), drawn);
    stage.press(&browser, "fill", &[("text", "No.")]).await;
    assert_eq!(stage.replies.len(), 1);
    assert_eq!(stage.leaf.drawn(), None, "the next one was not fetched");
    stage.look(&browser).await;
    assert!(stage.leaf.drawn().is_some());
}

#[tokio::test]
async fn a_secret_is_not_in_the_page() {
    let mut stage = Stage::new(vec![listed_secrets()]);
    let browser = stage.enter().await;
    assert!(stage.look(&browser).await.contains("Careful:"));
    stage.press(&browser, "yes", &[]).await;
    stage.press(&browser, "draft", &[("f0", "hunter2")]).await;
    let page = stage.look(&browser).await;
    assert!(
        !page.contains("hunter2") && page.contains("type=\"password\""),
        "{page}"
    );
    // An empty field leaves the secret unchanged.
    stage.press(&browser, "submit", &[("f0", "")]).await;
    assert!(!stage.look(&browser).await.contains("hunter2"));
    stage.press(&browser, "send", &[]).await;
    let sent = format!("{:?}", stage.replies);
    assert!(sent.contains("hunter2"), "{sent}");
}

#[tokio::test]
async fn a_misleading_link_needs_a_second_confirmation_and_the_user_opens_it() {
    let mut stage = Stage::new(vec![link("http://login.example.com:8080/a?b=c")]);
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    assert!(
        page.contains("example.com</strong>:8080/a?b=c") && !page.contains("href=\"http:"),
        "{page}"
    );
    stage.press(&browser, "yes", &[]).await;
    let page = stage.look(&browser).await;
    assert!(
        page.contains("Sure?") && !page.contains("href=\"http:"),
        "{page}"
    );
    stage.press(&browser, "yes", &[]).await;
    let page = stage.look(&browser).await;
    let anchor = "href=\"http://login.example.com:8080/a?b=c\" target=\"_blank\" rel=\"noopener noreferrer\"";
    assert!(page.contains(anchor), "{page}");
    assert!(!page.contains("open the link yourself"), "{page}");
    assert!(stage.replies.is_empty());
    stage.press(&browser, "done", &[]).await;
    assert!(matches!(&stage.replies[..], [Reply::Link]));
}

#[tokio::test]
async fn a_link_of_another_scheme_is_never_one_of_the_page() {
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example/",
    ] {
        let mut stage = Stage::new(vec![link(url)]);
        let browser = stage.enter().await;
        let page = stage.look(&browser).await;
        assert!(
            page.contains("No question") && !page.contains(&format!("href=\"{url}")),
            "{page}"
        );
        assert!(
            matches!(&stage.replies[..], [Reply::Declined { .. }]),
            "{url}"
        );
    }
}

#[tokio::test]
async fn the_folder_that_is_written_is_the_one_that_is_allowed() {
    let mut stage = Stage::new(vec![roots()]);
    let browser = stage.enter().await;
    let here = std::env::current_dir().expect("there is one");
    let here = here.to_str().expect("it is a text");
    let answer = stage
        .press(&browser, "folder", &[("text", "/no/such/folder")])
        .await;
    assert_eq!((answer.status, stage.replies.len()), (303, 0));
    stage.press(&browser, "folder", &[("text", here)]).await;
    assert!(matches!(&stage.replies[..], [Reply::Roots(roots)] if roots.len() == 1));
}

#[tokio::test]
async fn a_servers_text_is_never_markup() {
    const EVIL: &str = "\"'></bdi></pre></textarea><script>alert(1)</script>\u{202e}\u{200b}";
    let evil = json!(EVIL);
    let fields = format!(
        r#"
        "a": {{"type": "string", "title": {evil}, "description": {evil}, "default": {evil}}},
        "b": {{"type": "string", "title": {evil}, "oneOf": [{{"const": {evil}, "title": {evil}}}]}},
        "c": {{"type": "array", "items": {{"type": "string", "enum": [{evil}]}}, "default": [{evil}]}}"#
    );
    let mut stage = Stage::new(vec![form(EVIL, &fields, "")]);
    let browser = stage.enter().await;
    for act in ["", "submit"] {
        if !act.is_empty() {
            stage.press(&browser, act, &[]).await;
        }
        let page = stage.look(&browser).await;
        assert!(
            !page.contains("<script>") && page.contains("&#60;script&#62;"),
            "{page}"
        );
        assert!(page.contains("&#60;U+202E&#62;&#60;U+200B&#62;"), "{page}");
        assert_eq!(
            page.matches("</textarea>").count(),
            page.matches("<textarea").count()
        );
    }
}

#[tokio::test]
async fn a_link_lets_one_browser_in_once() {
    let mut stage = Stage::new(vec![booking()]);
    let (address, link) = (stage.address, stage.link.clone());
    let (_, path) = link.split_once(&address.to_string()).expect("it is of it");
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n");
    let wrong = stage.during(send(address, request("/o/0123"), "")).await;
    assert_eq!(wrong.status, 404);
    stage.enter().await;
    let again = stage.during(send(address, request(path), "")).await;
    assert_eq!((again.status, again.header("set-cookie")), (404, ""));

    let mut late = Stage::new(Vec::new());
    let (address, link) = (late.address, late.link.clone());
    let (_, path) = link.split_once(&address.to_string()).expect("it is of it");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(601)).await;
    tokio::time::resume();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n");
    assert_eq!(late.during(send(address, request, "")).await.status, 404);
}

#[tokio::test]
async fn a_request_of_anything_but_the_page_is_refused() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let other = Stage::new(vec![booking()]).enter().await;
    let page = stage.look(&browser).await;
    let say = body(&token(&page), "decline", &[]);
    let Browser {
        address,
        cookie,
        path,
    } = browser.clone();
    let port = address.port();
    let media = "Content-Type: application/x-www-form-urlencoded";
    let host = format!("Host: {address}");
    let origin = format!("Origin: http://{address}");
    let cookie = format!("Cookie: {cookie}");
    let of_other = format!("Cookie: {}", other.cookie);
    let rebound = format!("Host: evil.example:{port}");
    let (post, get) = (format!("POST {path}say"), format!("GET {path}"));
    let post_other = format!("POST {}say", other.path);
    let requests: &[(&str, &[&str], u16)] = &[
        (&post, &[&rebound, &origin, &cookie, media], 421),
        (&post, &["Host: 127.0.0.1", &origin, &cookie, media], 421),
        (&post, &[&host, &host, &origin, &cookie, media], 421),
        (&post, &[&host, &cookie, media], 403),
        (&post, &[&host, "Origin: null", &cookie, media], 403),
        (
            &post,
            &[&host, "Origin: http://evil.example", &cookie, media],
            403,
        ),
        (
            &post,
            &[&host, "Origin: http://127.0.0.1", &cookie, media],
            403,
        ),
        (&post, &[&host, &origin, &origin, &cookie, media], 403),
        (
            &post,
            &[&host, &origin, &cookie, media, "Sec-Fetch-Site: cross-site"],
            403,
        ),
        (
            &post,
            &[&host, &origin, &cookie, media, "Sec-Fetch-Site: same-site"],
            403,
        ),
        (&post, &[&host, &origin, media], 404),
        (&post, &[&host, &origin, &of_other, media], 404),
        (&post, &[&host, &origin, "Cookie: askback=", media], 404),
        (&post_other, &[&host, &origin, &cookie, media], 404),
        (&post, &[&host, &origin, &cookie], 415),
        (
            &post,
            &[&host, &origin, &cookie, "Content-Type: text/plain"],
            415,
        ),
        (&get, &[&host], 404),
        (&get, &[&rebound, &cookie], 421),
        (&get, &[&host, &cookie, "Sec-Fetch-Site: cross-site"], 403),
        ("GET /", &[&host, &cookie], 404),
        ("GET /o/", &[&host, &cookie], 404),
        ("GET /v//", &[&host, &cookie], 404),
        (
            &format!("PUT {path}say"),
            &[&host, &origin, &cookie, media],
            405,
        ),
        (&format!("GET {path}say"), &[&host, &cookie], 405),
        (
            &format!("POST {path}"),
            &[&host, &origin, &cookie, media],
            405,
        ),
    ];
    for (line, headers, status) in requests {
        let head = format!("{line} HTTP/1.1\r\n{}\r\n", headers.join("\r\n"));
        let sent = if line.starts_with("GET") { "" } else { &say };
        let answer = stage.during(send(address, head, sent)).await;
        assert_eq!(answer.status, *status, "{line} {headers:?}");
        assert!(
            !answer.body.contains("Shall we book?"),
            "{line} {headers:?}"
        );
    }
    assert!(stage.replies.is_empty());
    assert!(
        stage.look(&browser).await.contains("Confirm booking"),
        "nothing was done"
    );
}

#[tokio::test]
async fn every_answer_has_the_policy() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let request = format!("GET /page.js HTTP/1.1\r\nHost: {}\r\n", browser.address);
    let script = stage.during(send(browser.address, request, "")).await;
    let page = stage.during(browser.get("")).await;
    let nothing = stage.during(browser.get("nothing")).await;
    for answer in [script, page, nothing] {
        let policy = answer.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    }
}

#[tokio::test]
async fn a_form_of_another_question_or_turn_does_nothing() {
    let mut stage = Stage::new(vec![
        booking(),
        form("Next?", r#""a": {"type": "string"}"#, ""),
    ]);
    let browser = stage.enter().await;
    let old = token(&stage.look(&browser).await);
    stage.press(&browser, "cancel", &[]).await;
    assert_eq!(stage.replies.len(), 1);
    let page = stage.look(&browser).await;
    assert!(page.contains("Next?"));
    for token in [&*old, "", "0", &token(&page)[1..]] {
        let answer = stage.during(browser.say(&body(token, "cancel", &[]))).await;
        assert_eq!(answer.status, 409, "{token:?}");
        assert!(answer.body.contains("another question"));
    }
    // A double click.
    let twice = body(&token(&page), "decline", &[]);
    assert_eq!(stage.during(browser.say(&twice)).await.status, 303);
    assert_eq!(stage.during(browser.say(&twice)).await.status, 409);
    assert_eq!(stage.replies.len(), 1);
}

#[tokio::test]
async fn a_button_does_nothing_in_the_moment_in_which_a_question_comes() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let page = stage.during(browser.get("")).await.body;
    let cancel = body(&token(&page), "cancel", &[]);
    tokio::time::pause();
    let answer = stage.during(browser.say(&cancel)).await;
    tokio::time::resume();
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("only just come") && stage.replies.is_empty());
    stage.press(&browser, "cancel", &[]).await;
    assert_eq!(stage.replies.len(), 1);
}

#[tokio::test]
async fn a_form_that_is_too_long_is_not_read() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let token = token(&stage.look(&browser).await);
    let long = "x".repeat(1 << 20);
    let answer = stage
        .during(browser.say(&body(&token, "cancel", &[("f0", &long)])))
        .await;
    assert_eq!(answer.status, 413);
    assert!(stage.replies.is_empty());
}

#[tokio::test]
async fn changes_are_sent_to_a_limited_number_of_pages() {
    let mut stage = Stage::new(Vec::new());
    let browser = stage.enter().await;
    let mut tabs = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(browser.address)
            .await
            .expect("it listens");
        let request = browser.head("GET", "live") + "\r\n";
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is written");
        let mut head = [0; 12];
        stage
            .during(stream.read_exact(&mut head))
            .await
            .expect("it answers");
        assert_eq!(&head, b"HTTP/1.1 200");
        tabs.push(stream);
    }
    assert_eq!(stage.during(browser.get("live")).await.status, 429);
    stage.happen(Event::Asked(1, booking()));
    let mut read = String::new();
    while !read.contains("Shall we book?") {
        let mut part = [0; 4096];
        let tab = &mut tabs[0];
        let count = stage.during(tab.read(&mut part)).await.expect("it is sent");
        assert_ne!(count, 0, "{read}");
        read += &String::from_utf8_lossy(&part[..count]);
    }
    assert!(read.contains("event: patch"));
}

fn sample() -> Question {
    let request = CreateMessageParams::new("Pick a flight.", 100);
    Question {
        call: None,
        key: None,
        ask: Ask::Sample(Box::new(request)),
    }
}

#[tokio::test]
async fn a_person_writes_in_place_of_a_model() {
    let mut stage = Stage::new(vec![sample()]);
    let browser = stage.enter().await;
    assert!(stage.look(&browser).await.contains("Pick a flight."));
    let written = [("text", "The\r\n<b>08:10</b>.")];
    stage.press(&browser, "draft", &written).await;
    assert!(
        stage
            .look(&browser)
            .await
            .contains("The\n&#60;b&#62;08:10&#60;/b&#62;.</textarea>")
    );
    stage.press(&browser, "fill", &written).await;
    assert!(stage.replies.is_empty(), "it is looked over first");
    stage.press(&browser, "send", &[]).await;
    assert!(matches!(&stage.replies[..], [Reply::Text(text)] if text == "The\n<b>08:10</b>."));
}

#[tokio::test]
async fn a_model_is_asked_and_its_reply_is_sent_after_a_yes_each() {
    let desk = Desk::new(travel(), None, None, Limits::default());
    let desk = crate::with_model(desk);
    let mut stage = Stage::before(desk, vec![sample()]);
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    assert!(page.contains("1 of 2, the request"), "{page}");
    // The first button allows one run.
    let (_, buttons) = page.split_once("<button").expect("it has buttons");
    assert!(
        buttons
            .trim_start()
            .starts_with("name=\"act\" value=\"run\""),
        "{buttons}"
    );
    stage.press(&browser, "rewrite", &[]).await;
    stage
        .press(&browser, "fill", &[("text", "Pick a train.")])
        .await;
    let page = stage.look(&browser).await;
    assert!(
        page.contains("As you changed it:") && page.contains("Pick a train."),
        "{page}"
    );
    stage.press(&browser, "run", &[]).await;
    let page = stage.look(&browser).await;
    assert!(
        page.contains("2 of 2, the reply") && page.contains("The 08:10."),
        "{page}"
    );
    assert!(stage.replies.is_empty());
    stage.press(&browser, "send", &[]).await;
    assert_eq!(stage.replies.len(), 1);
}

#[tokio::test]
async fn front_ends_show_the_same_question_and_one_answers_it() {
    let (first, second) = (page(), page());
    let places = [&first, &second].map(|page| (page.address(), page.link()));
    let mut stage = Stage::new(Vec::new());
    stage.leaf = Box::new(Leaves::new(Box::new(first), vec![Box::new(second)]));
    let mut stage = stage.asked(vec![booking(), booking()]);
    let mut browsers = Vec::new();
    for (address, link) in places {
        (stage.address, stage.link) = (address, link.expect("it was not used"));
        browsers.push(stage.enter().await);
    }
    for (answered, browser) in browsers.iter().enumerate() {
        for browser in &browsers {
            assert!(stage.look(browser).await.contains("Shall we book?"));
        }
        stage.press(browser, "cancel", &[]).await;
        assert_eq!(stage.replies.len(), answered + 1);
    }
    for browser in &browsers {
        assert!(stage.look(browser).await.contains("No question"));
    }
}

/// Runs the page at a prompt until it returns a line or an interruption.
async fn at_prompt(
    stage: &mut Stage,
    browser: impl Future<Output = Answer>,
) -> Result<Did, Answer> {
    let mut browser = std::pin::pin!(browser);
    loop {
        stage.leaf.show(&stage.talk, Some(&"travel".into()));
        let did = poll_fn(|context| stage.leaf.poll_did(&stage.talk, context));
        tokio::select! {
            did = did => match did {
                Did::Action(redraw) if redraw.is_empty() => {}
                did => return Ok(did),
            },
            answer = &mut browser => return Err(answer),
        }
    }
}

fn command_body(page: &str, field: &str, value: &str) -> String {
    let (_, bench) = page
        .split_once("class=\"command\"")
        .expect("it has a bench");
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.append_pair("token", &token(bench));
    body.append_pair(field, value).finish()
}

#[tokio::test]
async fn a_command_of_the_page_is_a_line_at_the_prompt() {
    let mut stage = Stage::new(Vec::new());
    let offer = Offer {
        line: "/call add".to_owned(),
        about: About::Peer("<b>Adds</b>".into()),
        goes_on: true,
        ..Offer::default()
    };
    stage.talk.update(Change::Offered(vec![offer]));
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    assert!(
        page.contains("value=\"/call add\"") && page.contains("&#60;b&#62;Adds"),
        "{page}"
    );
    let line = command_body(&page, "line", " /call add ");
    let did = at_prompt(&mut stage, browser.post("do", &line)).await;
    assert!(matches!(did, Ok(Did::Line(line)) if line == "/call add"));
    // Without a token, with two lines, or while nothing can be stopped.
    let two_lines = command_body(&page, "line", "/call add\n/quit");
    let stop = command_body(&page, "stop", "stop");
    for body in ["line=%2Fquit", &two_lines, &stop] {
        let answer = at_prompt(&mut stage, browser.post("do", body)).await;
        assert!(
            matches!(answer, Err(answer) if answer.status == 409),
            "{body}"
        );
    }
    // While a question is in front.
    let mut stage = stage.asked(vec![booking()]);
    let answer = stage.during(browser.post("do", &line)).await;
    assert_eq!((answer.status, stage.replies.len()), (409, 0));
}

#[tokio::test]
async fn a_result_is_drawn_with_its_files() {
    let mut stage = Stage::new(Vec::new());
    let browser = stage.enter().await;
    let picture = "iVBORw0KGgo=";
    let json = json!({"content": [
        {"type": "image", "data": picture, "mimeType": "image/png"},
        {"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"},
    ]});
    let outcome = CallOutcome {
        text: "<i>5</i>".into(),
        structured: Some(r#"{"sum":5}"#.to_owned()),
        json,
        failed: true,
    };
    let call = Call::Tool("add".to_owned());
    stage.leaf.result(stage.talk.seen(), &call, &outcome);
    let page = stage.look(&browser).await;
    for shown in ["&#60;i&#62;5", "{&#34;sum&#34;:5}", ">error<", "<img src="] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches("<img").count(), 1, "SVG is not shown");
    for (path, status, media, disposition) in [
        ("file/1", 200, "application/octet-stream", "attachment"),
        ("file/2", 200, "image/png", ""),
        ("file/3", 200, "application/octet-stream", "attachment"),
        ("file/4", 404, "", ""),
        ("file/-1", 404, "", ""),
    ] {
        let answer = stage.during(browser.get(path)).await;
        let found = (
            answer.status,
            answer.header("content-type"),
            answer.header("content-disposition"),
        );
        assert_eq!(found, (status, media, disposition), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

/// The page grows with the length of a text, and not with its depth.
#[tokio::test]
async fn deep_nesting_does_not_make_the_page_long() {
    const BYTES: usize = 64 << 10;
    for open in [">", "[", "> - ", "{\"a\":"] {
        let deep = open.repeat(BYTES / open.len());
        let mut stage = Stage::new(vec![form(&deep, r#""name": {"type": "string"}"#, "")]);
        let browser = stage.enter().await;
        let outcome = CallOutcome {
            text: deep.as_str().into(),
            structured: Some(deep),
            json: json!({}),
            failed: false,
        };
        let call = Call::Tool("dig".to_owned());
        stage.leaf.result(stage.talk.seen(), &call, &outcome);
        let page = stage.look(&browser).await;
        // A character takes up to five bytes in HTML.
        assert!(page.len() < 20 * BYTES, "{open}: {} bytes", page.len());
    }
}

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"<b>book</b>"}}"#;

/// A record with a call of two rounds, and `more` notifications after it.
fn record(more: u64) -> SharedWire {
    let wire = SharedWire::new(Wire::new(SystemTime::UNIX_EPOCH, 1 << 20));
    let answers = r#"{"id":2,"method":"tools/call","params":{"name":"<b>book</b>","inputResponses":{"seat":{}}}}"#;
    let events = [
        WireEvent::Sent(CALL.as_bytes()),
        WireEvent::Received(br#"{"id":1,"result":{"inputRequests":{"seat":{}}}}"#),
        WireEvent::Sent(answers.as_bytes()),
        WireEvent::Received(br#"{"id":2,"result":{"content":[]}}"#),
    ];
    for (at, event) in (0..).zip(&events) {
        wire.take(event, Duration::from_millis(at * 250));
    }
    for _ in 0..more {
        let event = WireEvent::Received(br#"{"method":"notifications/tools/list_changed"}"#);
        wire.take(&event, Duration::from_secs(2));
    }
    wire
}

#[tokio::test]
async fn the_messages_of_a_call_are_grouped_and_shown_in_full() {
    let mut stage = Stage::new(Vec::new());
    stage.leaf.wire(ServerId::FIRST, &record(0));
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    let expected = [
        "One call: rounds 2, messages 4",
        "tools/call &#60;b&#62;book&#60;/b&#62;",
        "wire/0/1\"",
        "answers seat",
    ];
    for shown in expected {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let whole = stage.during(browser.get("wire/0/1")).await;
    let expected = ["&#34;jsonrpc&#34;: &#34;2.0&#34;", "wire/0/4\""];
    for shown in expected {
        assert!(whole.body.contains(shown), "{shown}: {}", whole.body);
    }
    let bytes = stage.during(browser.get("wire/0/1/bytes")).await;
    assert_eq!(bytes.header("content-disposition"), "attachment");
    assert_eq!(bytes.body, CALL);
    for (path, status) in [
        ("wire/0/", 200),
        ("wire/0/before/3", 200),
        ("wire/0/9", 409),
        ("wire/0/9/bytes", 404),
        ("wire/1/1", 404),
        ("wire/0/-1", 404),
        ("wire/", 404),
    ] {
        let answer = stage.during(browser.get(path)).await;
        assert_eq!(answer.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_page_lists_a_limited_number_of_messages() {
    let mut stage = Stage::new(Vec::new());
    stage.leaf.wire(ServerId::FIRST, &record(100));
    let browser = stage.enter().await;
    let count = |page: &str| page.matches("<a id=\"m").count();
    let page = stage.look(&browser).await;
    assert_eq!(count(&page), 40, "{page}");
    assert!(page.contains("id=\"m104\"") && page.contains("wire/0/before/65\""));
    let older = stage.during(browser.get("wire/0/before/65")).await.body;
    assert!(older.contains("id=\"m64\"") && older.contains("wire/0/before/25\""));
    let oldest = stage.during(browser.get("wire/0/before/25")).await.body;
    assert_eq!(count(&oldest), 24);
    assert!(!oldest.contains("Older messages"), "{oldest}");
}

#[tokio::test]
async fn thousands_of_events_are_rendered_once() {
    let mut stage = Stage::new(Vec::new());
    stage.talk.update(Change::Offered(vec![Offer::default()]));
    let server = stage.talk.seen_id();
    stage.talk.update(Change::Called {
        server,
        call: Call::Tool("count".to_owned()),
        line: None,
        is_repeated: false,
    });
    let browser = stage.enter().await;
    let version = |page: &str| -> u64 {
        let (_, rest) = page
            .split_once("id=\"bench\" data-version=\"")
            .expect("it is there");
        let version = rest.split('"').next().expect("it ends");
        version.parse().expect("it is a number")
    };
    let before = version(&stage.look(&browser).await);
    tokio::time::pause();
    for progress in 1..=10_000_u16 {
        let far = Far {
            progress: progress.into(),
            total: Some(10_000.0),
            message: None,
        };
        stage.talk.update(Change::Far(server, far));
        stage.leaf.show(&stage.talk, None);
    }
    // The page asks to be rendered again by itself.
    let did = poll_fn(|context| stage.leaf.poll_did(&stage.talk, context)).await;
    assert!(
        matches!(&did, Did::Action(actions) if actions.is_empty()),
        "{did:?}"
    );
    tokio::time::resume();
    let page = stage.look(&browser).await;
    assert!(
        page.contains("10000 of 10000") && page.contains("<progress"),
        "{page}"
    );
    assert!(version(&page) <= before + 2, "{page}");
}

#[tokio::test]
async fn servers_have_buttons_for_what_can_be_done_with_them() {
    let mut stage = Stage::new(Vec::new());
    stage.talk.update(Change::Servers(vec![ServerOffer {
        server: ServerId::FIRST,
        choose: Some("/server travel".to_owned()),
        restart: Some("/restart travel".to_owned()),
        failure: Some(("it ended".into(), Some("<b>why</b>".into()))),
    }]));
    let browser = stage.enter().await;
    stage.leaf.show(&stage.talk, Some(&"travel".into()));
    let page = stage.during(browser.get("")).await.body;
    for shown in [
        "value=\"/server travel\"",
        "value=\"/restart travel\"",
        "it ended",
        "&#60;b&#62;why",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[tokio::test]
async fn values_that_a_server_suggests_are_offered_at_their_field() {
    let asked = form("Where?", r#""city": {"type": "string"}"#, "");
    let Ask::Form { schema, .. } = asked.ask else {
        panic!("it is a form");
    };
    let question = Question {
        call: None,
        key: None,
        ask: Ask::Arguments {
            about: None,
            schema,
            preset: serde_json::Map::new(),
            given: serde_json::Map::new(),
            is_destructive: false,
            suggests: true,
        },
    };
    let mut stage = Stage::new(vec![question]);
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    assert!(page.contains("list=\"s0\""), "{page}");
    let draft = body(&token(&page), "draft", &[("f0", "R"), ("suggest", "0")]);
    assert_eq!(stage.during(browser.say(&draft)).await.status, 204);
    stage.happen(Event::Suggested(Suggestions {
        field: 0,
        text: "R".to_owned(),
        values: ["\"Rome\"", "R\u{202e}"].map(str::to_owned).to_vec(),
        has_more: false,
    }));
    let page = stage.look(&browser).await;
    assert!(page.contains("<option value=\"&#34;Rome&#34;\">"), "{page}");
    assert_eq!(page.matches("<option value=\"").count(), 1, "{page}");
}

#[tokio::test]
async fn a_thousand_event_streams_too_many_are_refused_and_the_page_answers() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let mut tabs = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(browser.address)
            .await
            .expect("it listens");
        let request = browser.head("GET", "live") + "\r\n";
        let written = stream.write_all(request.as_bytes()).await;
        written.expect("it is written");
        let mut head = [0; 12];
        let read = stage.during(stream.read_exact(&mut head)).await;
        read.expect("it answers");
        // This client reads no further.
        tabs.push(stream);
    }
    let mut stream = TcpStream::connect(browser.address)
        .await
        .expect("it listens");
    let request = browser.head("GET", "live") + "\r\n";
    let refused = async {
        let mut refused = 0;
        let mut read = Vec::new();
        // For each connection, the page looks up its user in the system's list of sockets.
        while refused < 1_000 {
            let written = stream.write_all(request.as_bytes()).await;
            written.expect("it is written");
            read.clear();
            while !read.ends_with(b"\r\n\r\n") {
                let mut part = [0; 2048];
                let count = stream.read(&mut part).await.expect("it answers");
                assert_ne!(count, 0, "{}", String::from_utf8_lossy(&read));
                read.extend_from_slice(&part[..count]);
            }
            assert!(
                read.starts_with(b"HTTP/1.1 429"),
                "{}",
                String::from_utf8_lossy(&read)
            );
            refused += 1;
        }
    };
    stage.during(refused).await;
    stage.press(&browser, "cancel", &[]).await;
    assert_eq!(stage.replies.len(), 1);
}

#[tokio::test]
async fn endless_requests_do_not_block_other_clients() {
    let mut stage = Stage::new(vec![booking()]);
    let browser = stage.enter().await;
    let mut slow = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(browser.address)
            .await
            .expect("it listens");
        let head = format!(
            "POST {}say HTTP/1.1\r\nHost: {}\r\nX: ",
            browser.path, browser.address
        );
        let written = stream.write_all(head.as_bytes()).await;
        written.expect("it is written");
        slow.push(stream);
    }
    stage.press(&browser, "cancel", &[]).await;
    assert_eq!(stage.replies.len(), 1);
}

#[tokio::test]
async fn commands_messages_and_files_are_for_the_page_alone() {
    let mut stage = Stage::new(Vec::new());
    stage.talk.update(Change::Offered(vec![Offer::default()]));
    stage.leaf.wire(ServerId::FIRST, &record(0));
    let browser = stage.enter().await;
    let page = stage.look(&browser).await;
    let command = command_body(&page, "line", "/quit");
    let Browser {
        address,
        cookie,
        path,
    } = browser.clone();
    let (host, cookie) = (format!("Host: {address}"), format!("Cookie: {cookie}"));
    let origin = format!("Origin: http://{address}");
    let media = "Content-Type: application/x-www-form-urlencoded";
    let run = format!("POST {path}do");
    let message = format!("GET {path}wire/0/1");
    let bytes = format!("GET {path}wire/0/1/bytes");
    let requests: &[(&str, &[&str], u16)] = &[
        (&run, &[&host, &cookie, media], 403),
        (&run, &[&host, "Origin: null", &cookie, media], 403),
        (
            &run,
            &[&host, "Origin: http://evil.example", &cookie, media],
            403,
        ),
        (&run, &["Host: evil.example", &origin, &cookie, media], 421),
        (
            &run,
            &[&host, &origin, &cookie, media, "Sec-Fetch-Site: same-site"],
            403,
        ),
        (&run, &[&host, &origin, media], 404),
        (
            &run,
            &[&host, &origin, &cookie, "Content-Type: text/plain"],
            415,
        ),
        (&message, &[&host], 404),
        (&message, &["Host: evil.example", &cookie], 421),
        (
            &message,
            &[&host, &cookie, "Sec-Fetch-Site: cross-site"],
            403,
        ),
        (&bytes, &[&host], 404),
        (&bytes, &[&host, &cookie, "Sec-Fetch-Site: same-site"], 403),
    ];
    for (line, headers, status) in requests {
        let head = format!("{line} HTTP/1.1\r\n{}\r\n", headers.join("\r\n"));
        let sent = if line.starts_with("GET") {
            ""
        } else {
            &command
        };
        let answer = stage.during(send(address, head, sent)).await;
        assert_eq!(answer.status, *status, "{line} {headers:?}");
        assert!(!answer.body.contains("book"), "{line} {headers:?}");
    }
    // A question's token is not valid for commands.
    let mut stage = stage.asked(vec![booking()]);
    let page = stage.look(&browser).await;
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.append_pair("token", &token(&page));
    let body = body.append_pair("line", "/quit").finish();
    assert_eq!(stage.during(browser.post("do", &body)).await.status, 409);
}

/// Measures how long a question takes to reach an event stream, and an answer to reach the host.
/// It prints the medians:
/// `cargo test --release -p askback-host --test host -- --ignored --nocapture how_fast`.
#[tokio::test]
#[ignore = "a measurement, for a quiet machine"]
#[expect(clippy::print_stdout, reason = "it prints what it measured")]
async fn how_fast_a_question_and_its_answer_are() {
    const RUNS: u64 = 101;
    let mut stage = Stage::new(Vec::new());
    let browser = stage.enter().await;
    let mut live = TcpStream::connect(browser.address)
        .await
        .expect("it listens");
    let request = browser.head("GET", "live") + "\r\n";
    let written = live.write_all(request.as_bytes()).await;
    written.expect("it is written");
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for id in 1..=RUNS {
        let name = format!("Question {id}?");
        let began = Instant::now();
        stage.happen(Event::Asked(id, form(&name, "", "")));
        let seen = async {
            let mut read = Vec::new();
            while !String::from_utf8_lossy(&read).contains(&name) {
                let mut part = [0; 1 << 16];
                let count = live.read(&mut part).await.expect("it is sent");
                read.extend_from_slice(&part[..count]);
            }
        };
        stage.during(seen).await;
        asked.push(began.elapsed());
        let page = stage.look(&browser).await;
        let cancel = body(&token(&page), "cancel", &[]);
        let began = Instant::now();
        stage.during(browser.say(&cancel)).await;
        answered.push(began.elapsed());
        assert_eq!(stage.replies.len() as u64, id);
    }
    for (what, mut times) in [("question to event", asked), ("answer to host", answered)] {
        times.sort_unstable();
        let last = times.len() - 1;
        println!(
            "{what}: median {:?}, slowest {:?}",
            times[last / 2],
            times[last]
        );
    }
}
