//! What other users, and an attacker with access to the database, cannot do with the calls of a
//! fleet.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use askback::{
    Ctx, Fleet, Form, Principal, Resource, Server, Tool,
    http::Service,
    keys::{Key, KeyRing, KeySource},
    protocol::{LoggingLevel, TaskSupport},
    store::{SqliteStore, rusqlite::Connection},
};
use http::Request;
use serde_json::{Value, json};

use crate::http::client::{Headers, MESSAGE, Response, mirrored, stateless};

/// No file of a journal contains this text.
const CANARY: &str = "canary";

#[derive(Form)]
struct Who {
    /// Your name.
    name: String,
}

#[derive(Form)]
struct Place {
    /// Where to.
    place: String,
}

/// A fleet whose processes share a file.
struct Scene {
    folder: tempfile::TempDir,
    bookings: Arc<AtomicUsize>,
}

/// The session of a principal.
#[derive(Clone)]
struct Somebody {
    principal: Option<Principal>,
    session: String,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            bookings: Arc::default(),
        }
    }

    fn node(&self, service: &str) -> Service {
        let store = SqliteStore::open(self.folder.path().join("fleet.db"));
        let store = Arc::new(store.expect("it opens"));
        let bookings = Arc::clone(&self.bookings);
        let book = move |ctx: Ctx, place: Place| {
            let bookings = Arc::clone(&bookings);
            async move {
                ctx.log(LoggingLevel::Debug, "canary detail");
                ctx.log(LoggingLevel::Info, "canary log");
                let words = format!("canary question: to {}?", place.place);
                let who: Who = ctx.elicit(words).await?.accepted()?;
                bookings.fetch_add(1, Ordering::Relaxed);
                Ok::<_, askback::Error>(format!("canary result for {}", who.name))
            }
        };
        let note = Resource::new("note://canary", "note", async || {
            Ok::<_, askback::Error>("A note.".to_owned())
        });
        Server::new("agency", "1")
            .service(service)
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(Arc::clone(&store))
            .fleet(Fleet::new(Arc::clone(&store)).bus(store))
            .tool(Tool::new("book", book).task(TaskSupport::Optional))
            .resource(note)
            .changing_resources()
            .logging()
            .build()
            .expect("the server is whole")
            .http()
            .service()
    }

    /// Opens a session at a process of this service.
    async fn open(&self, service: &str, principal: Option<Principal>) -> Somebody {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "canary client", "version": "1"},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut somebody = Somebody {
            principal,
            session: String::new(),
        };
        let node = self.node(service);
        let opened = somebody.send(&node, "POST", None, &hello.to_string()).await;
        somebody.session = opened
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        somebody
    }

    /// Calls the tool at a new process. Returns the question and its event id.
    async fn asked(&self, somebody: &Somebody, id: u64) -> (Value, String) {
        let params = json!({"name": "book", "arguments": {"place": format!("canary place {id}")}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let mut stream = somebody.post(&self.node("tests"), &call).await;
        loop {
            let (event, message) = stream.told().await.expect("a question");
            if message["id"].is_string() {
                return (message, event.expect("an id"));
            }
        }
    }

    /// Calls the tool at a new process. Returns the number of log messages before the question.
    async fn log_lines(&self, somebody: &Somebody, id: u64) -> usize {
        let params = json!({"name": "book", "arguments": {"place": "canary place"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let mut stream = somebody.post(&self.node("tests"), &call).await;
        let mut lines = 0;
        while stream.message().await["method"] == "notifications/message" {
            lines += 1;
        }
        lines
    }

    /// Begins a task, which asks.
    async fn task(&self, somebody: &Somebody, number: u64) -> String {
        let node = self.node("tests");
        let params =
            json!({"name": "book", "arguments": {"place": format!("canary place {number}")}});
        let begun = somebody.request(&node, "tools/call", params).await;
        let task = begun["result"]["taskId"].as_str().expect("a task");
        let asks = somebody.settled(&node, task).await;
        assert_eq!(asks["result"]["status"], "input_required", "{asks}");
        task.to_owned()
    }

    fn booked(&self) -> usize {
        self.bookings.load(Ordering::Relaxed)
    }
}

impl Somebody {
    async fn send(&self, node: &Service, method: &str, last: Option<&str>, body: &str) -> Response {
        let mut headers = Vec::new();
        if !self.session.is_empty() {
            headers.push(("mcp-session-id", &*self.session));
            headers.push(("mcp-protocol-version", "2025-11-25"));
        }
        headers.extend(last.map(|last| ("last-event-id", last)));
        self.send_with(node, method, headers, body).await
    }

    /// Sends a request of the stateless era, as a client that supports tasks.
    async fn request(&self, node: &Service, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }});
        let message = stateless(method, params);
        let (headers, body) = (mirrored(&message), message.to_string());
        let response = self.send_with(node, "POST", headers, &body).await;
        response.answer().await
    }

    /// Waits until a task asks or has ended.
    async fn settled(&self, node: &Service, task: &str) -> Value {
        loop {
            let got = self
                .request(node, "tasks/get", json!({"taskId": task}))
                .await;
            if got["result"]["status"] != "working" {
                return got;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn send_with(
        &self,
        node: &Service,
        method: &str,
        headers: Headers<'_>,
        body: &str,
    ) -> Response {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in MESSAGE.into_iter().chain(headers) {
            request = request.header(name, value);
        }
        let mut request = request.body(body.to_owned()).expect("a request");
        request.extensions_mut().extend(
            self.principal
                .clone()
                .map(|principal| {
                    let mut extensions = http::Extensions::new();
                    extensions.insert(principal);
                    extensions
                })
                .unwrap_or_default(),
        );
        Response::new(node.respond(request).await)
    }

    async fn post(&self, node: &Service, message: &Value) -> Response {
        self.send(node, "POST", None, &message.to_string()).await
    }

    async fn answer(&self, node: &Service, question: &Value, id: &str) -> Response {
        let name = json!({"action": "accept", "content": {"name": "canary name"}});
        assert_eq!(question["method"], "elicitation/create");
        self.post(node, &json!({"jsonrpc": "2.0", "id": id, "result": name}))
            .await
    }

    async fn resume(&self, node: &Service, last: &str) -> Response {
        self.send(node, "GET", Some(last), "").await
    }
}

fn alice() -> Principal {
    Principal {
        tenant: Some("acme".into()),
        issuer: Some("https://issuer.example".into()),
        subject: "canary alice".into(),
        client_id: Some("app".into()),
    }
}

/// An attack, or the same request with an unknown id.
enum Attack<'a> {
    Answer(Somebody, String),
    Resume(Somebody, &'a str),
    Delete(Somebody),
}

/// Checks that an attack gets the same response as a request that names something unknown.
async fn check(scene: &Scene, what: &str, question: &Value, attack: Attack<'_>, like: &Attack<'_>) {
    let mut answers = Vec::new();
    for attack in [&attack, like] {
        let node = scene.node("tests");
        let response = match attack {
            Attack::Answer(somebody, id) => somebody.answer(&node, question, id).await,
            Attack::Resume(somebody, last) => somebody.resume(&node, last).await,
            Attack::Delete(somebody) => somebody.send(&node, "DELETE", None, "").await,
        };
        let status = response.status;
        assert!(!response.is_stream(), "{what}: {status}, and a stream");
        answers.push((status, response.text().await));
    }
    assert!(answers[0].0.is_client_error(), "{what}: {answers:?}");
    assert_eq!(answers[0], answers[1], "{what}");
    assert_eq!(scene.booked(), 0, "{what}");
}

#[tokio::test]
async fn strangers_are_refused_in_one_voice() {
    let scene = Scene::new();
    let me = scene.open("tests", Some(alice())).await;
    let (question, event) = scene.asked(&me, 1).await;
    let id = question["id"].as_str().expect("a name").to_owned();
    let (call, rest) = id.split_once('.').expect("a name of a call");
    let mine = scene.open("tests", Some(alice())).await;
    let theirs = scene.open("tests", Some(Principal::new("mallory"))).await;
    let elsewhere = scene.open("others", Some(alice())).await;
    let (_, other_event) = scene.asked(&mine, 1).await;
    let other_call = other_event.split_once('.').expect("a call").0;

    let by = |principal: Option<Principal>| Somebody {
        principal,
        session: me.session.clone(),
    };
    let change = |change: fn(&mut Principal)| {
        let mut other = alice();
        change(&mut other);
        by(Some(other))
    };
    let in_session = |session: String| Somebody {
        session,
        ..me.clone()
    };
    let flipped = |text: &str| {
        let (first, last) = text.split_at(text.len() - 2);
        format!("{first}{}", if last.starts_with('A') { "BA" } else { "AA" })
    };
    let nowhere = in_session("no-session".to_owned());
    let no_session = Attack::Answer(nowhere.clone(), id.clone());
    let no_ask = Attack::Answer(me.clone(), "x.0.y".to_owned());
    let no_event = Attack::Resume(me.clone(), "x.1");
    let no_stream = Attack::Resume(nowhere.clone(), &event);

    let answer = |who: Somebody| Attack::Answer(who, id.clone());
    let name = |id: String| Attack::Answer(me.clone(), id);
    let foreign = format!("{other_call}.{}", event.split_once('.').expect("a call").1);
    let rows = [
        ("an answer by nobody", answer(by(None)), &no_session),
        (
            "by another subject",
            answer(change(|it| it.subject = "mallory".into())),
            &no_session,
        ),
        (
            "by another tenant",
            answer(change(|it| it.tenant = None)),
            &no_session,
        ),
        (
            "by another issuer",
            answer(change(|it| it.issuer = None)),
            &no_session,
        ),
        (
            "by another client",
            answer(change(|it| it.client_id = None)),
            &no_session,
        ),
        (
            "by somebody in their own session",
            answer(theirs.clone()),
            &no_ask,
        ),
        (
            "in another session of the same person",
            answer(mine.clone()),
            &no_ask,
        ),
        (
            "in a session of another service",
            answer(elsewhere),
            &no_session,
        ),
        (
            "in a session whose id is forged",
            answer(in_session(flipped(&me.session))),
            &no_session,
        ),
        ("a forged mac", name(flipped(&id)), &no_ask),
        (
            "another question of the call",
            name(id.replacen(".0.", ".1.", 1)),
            &no_ask,
        ),
        (
            "a question of another call",
            name(format!("{other_call}.{rest}")),
            &no_ask,
        ),
        ("a name that goes on", name(format!("{id}.x")), &no_ask),
        ("a call as a name", name(call.to_owned()), &no_ask),
        (
            "the stream of another session",
            Attack::Resume(mine.clone(), &event),
            &no_event,
        ),
        (
            "of somebody else's session",
            Attack::Resume(theirs.clone(), &event),
            &no_event,
        ),
        (
            "of another call of the person",
            Attack::Resume(me.clone(), &foreign),
            &no_event,
        ),
        (
            "read by nobody",
            Attack::Resume(by(None), &event),
            &no_stream,
        ),
        ("ended by nobody", Attack::Delete(by(None)), &no_stream),
    ];
    for (what, attack, like) in rows {
        check(&scene, what, &question, attack, like).await;
    }
    // None of these attempts had an effect.
    let node = scene.node("tests");
    assert_eq!(me.answer(&node, &question, &id).await.status, 202);
    let mut stream = me.resume(&scene.node("tests"), &event).await;
    let result = stream.message().await;
    assert_eq!(
        result["result"]["content"][0]["text"],
        "canary result for canary name"
    );
    // An answer that is sent again changes nothing.
    assert_eq!(me.answer(&node, &question, &id).await.status, 202);
    assert_eq!(scene.booked(), 1);
}

#[tokio::test]
async fn an_ended_session_looks_like_one_that_never_existed() {
    let scene = Scene::new();
    let me = scene.open("tests", Some(alice())).await;
    let (question, event) = scene.asked(&me, 1).await;
    let id = question["id"].as_str().expect("a name").to_owned();
    let ended = me.send(&scene.node("tests"), "DELETE", None, "").await;
    assert_eq!(ended.status, 204);
    let nowhere = Somebody {
        session: "no-session".to_owned(),
        ..me.clone()
    };
    let answer = |who: &Somebody| Attack::Answer(who.clone(), id.clone());
    let resume = |who: &Somebody| Attack::Resume(who.clone(), &event);
    let rows = [
        ("an answer", answer(&me), answer(&nowhere)),
        ("a stream", resume(&me), resume(&nowhere)),
        (
            "an end",
            Attack::Delete(me.clone()),
            Attack::Delete(nowhere.clone()),
        ),
    ];
    for (what, attack, like) in rows {
        check(&scene, what, &question, attack, &like).await;
    }
}

#[tokio::test]
async fn a_record_that_is_moved_to_another_row_does_not_open() {
    // The column of the table, and whether the call is resumed before its stream is read.
    for (table, column, key) in [
        ("askback_calls", "record", "id"),
        ("askback_events", "message", "call"),
    ] {
        let scene = Scene::new();
        let me = scene.open("tests", Some(alice())).await;
        let (one, event) = scene.asked(&me, 1).await;
        let (two, _) = scene.asked(&me, 2).await;
        swap(scene.folder.path(), table, column, key);
        let node = scene.node("tests");
        let mut stream = me
            .resume(&node, &event.replace(".2", ".0").replace(".1", ".0"))
            .await;
        if column == "record" {
            for question in [&one, &two] {
                let id = question["id"].as_str().expect("a name");
                assert_eq!(me.answer(&node, question, id).await.status, 202);
            }
        }
        let mut said = Vec::new();
        while let Some((_, message)) = stream.told().await {
            said.push(message.to_string());
        }
        let is_theirs =
            |said: &String| said.contains("canary place 2") || said.contains("result for");
        assert!(!said.iter().any(is_theirs), "{column}: {said:?}");
        assert_eq!(scene.booked(), 0, "{column}");
    }
}

#[tokio::test]
async fn an_answer_that_is_put_into_another_row_does_not_open() {
    let scene = Scene::new();
    let me = scene.open("tests", Some(alice())).await;
    let (one, first) = scene.asked(&me, 1).await;
    let (two, second) = scene.asked(&me, 2).await;
    // Every answer becomes the first one.
    let database = Connection::open(scene.folder.path().join("fleet.db")).expect("it opens");
    let changed = database.execute_batch(
        "CREATE TABLE firsts (reply BLOB);
         CREATE TRIGGER first_answer AFTER INSERT ON askback_answers WHEN NEW.reply IS NOT NULL BEGIN
             INSERT INTO firsts VALUES (NEW.reply);
             UPDATE askback_answers SET reply = (SELECT reply FROM firsts LIMIT 1)
                 WHERE call = NEW.call AND ask = NEW.ask;
         END;",
    );
    changed.expect("it is done");
    let node = scene.node("tests");
    for (question, event, booked) in [(&one, &first, true), (&two, &second, false)] {
        let id = question["id"].as_str().expect("a name");
        assert_eq!(me.answer(&node, question, id).await.status, 202);
        let mut stream = me.resume(&node, event).await;
        let ended = stream.told().await;
        let has_result = ended.is_some_and(|(_, message)| message["result"].is_object());
        assert_eq!(has_result, booked);
    }
    assert_eq!(scene.booked(), 1);
}

#[tokio::test]
async fn the_choices_of_a_session_do_not_open_as_those_of_another() {
    let scene = Scene::new();
    let one = scene.open("tests", Some(alice())).await;
    let two = scene.open("tests", Some(alice())).await;
    for (somebody, level) in [(&one, "debug"), (&two, "error")] {
        let set = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": level}});
        let set = somebody.post(&scene.node("tests"), &set).await;
        assert_eq!(set.status, 200);
    }
    let lines = async |id| {
        [
            scene.log_lines(&one, id).await,
            scene.log_lines(&two, id).await,
        ]
    };
    assert_eq!(lines(2).await, [2, 0]);
    swap(scene.folder.path(), "askback_sessions", "note", "id");
    // The default log level is `info`.
    assert_eq!(lines(3).await, [1, 1]);
}

#[tokio::test]
async fn a_task_is_its_owners_alone() {
    let scene = Scene::new();
    let as_principal = |principal| Somebody {
        principal,
        session: String::new(),
    };
    let me = as_principal(Some(alice()));
    let task = scene.task(&me, 1).await;
    let change = |change: fn(&mut Principal)| {
        let mut other = alice();
        change(&mut other);
        as_principal(Some(other))
    };
    let strangers = [
        ("nobody", as_principal(None)),
        (
            "another subject",
            change(|it| it.subject = "mallory".into()),
        ),
        ("another tenant", change(|it| it.tenant = None)),
        ("another issuer", change(|it| it.issuer = None)),
        ("another client", change(|it| it.client_id = None)),
    ];
    let name = json!({"action": "accept", "content": {"name": "canary name"}});
    let responses = json!({"who-0": name});
    for (who, stranger) in &strangers {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let node = scene.node("tests");
            let ask = async |task: &str| {
                let params = json!({"taskId": task, "inputResponses": responses});
                stranger.request(&node, method, params).await
            };
            let refused = ask(&task).await;
            assert!(refused["error"].is_object(), "{method} by {who}: {refused}");
            assert_eq!(refused, ask("unknown").await, "{method} by {who}");
        }
    }
    assert_eq!(scene.booked(), 0);
    let node = scene.node("tests");
    let params = json!({"taskId": task, "inputResponses": responses});
    me.request(&node, "tasks/update", params).await;
    let ended = me.settled(&node, &task).await["result"]["result"].to_string();
    assert!(ended.contains("canary result for canary name"), "{ended}");
    check_no_canary(scene.folder.path());
}

#[tokio::test]
async fn the_status_of_a_task_does_not_open_as_that_of_another() {
    let scene = Scene::new();
    let me = Somebody {
        principal: Some(alice()),
        session: String::new(),
    };
    let tasks = [scene.task(&me, 1).await, scene.task(&me, 2).await];
    swap(scene.folder.path(), "askback_calls", "status", "id");
    let node = scene.node("tests");
    let unknown = me.settled(&node, "unknown").await;
    for task in tasks {
        assert_eq!(me.settled(&node, &task).await, unknown);
    }
}

/// Swaps the column's values of two rows.
fn swap(folder: &Path, table: &str, column: &str, key: &str) {
    let database = Connection::open(folder.join("fleet.db")).expect("it opens");
    let changed = database.execute_batch(&format!(
        "CREATE TEMP TABLE before AS SELECT {key}, {column} FROM {table};
         UPDATE {table} SET {column} =
             (SELECT before.{column} FROM before WHERE before.{key} != {table}.{key});"
    ));
    changed.expect("it is done");
}

#[tokio::test]
async fn the_file_of_a_journal_shows_nothing() {
    let scene = Scene::new();
    let me = scene.open("tests", Some(alice())).await;
    let node = scene.node("tests");
    let watch = json!({"uri": "note://canary"});
    let watch =
        json!({"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": watch});
    assert_eq!(me.post(&node, &watch).await.status, 200);
    let (_, _) = scene.asked(&me, 1).await;
    let (question, event) = scene.asked(&me, 2).await;
    let id = question["id"].as_str().expect("a name");
    assert_eq!(me.answer(&node, &question, id).await.status, 202);
    let mut stream = me.resume(&node, &event).await;
    let result = stream.message().await.to_string();
    assert!(result.contains("canary result for canary name"), "{result}");
    check_no_canary(scene.folder.path());
}

fn check_no_canary(folder: &Path) {
    let mut files = 0;
    for file in std::fs::read_dir(folder).expect("the folder") {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).expect("its bytes");
        let shows = bytes
            .windows(CANARY.len())
            .any(|part| part == CANARY.as_bytes());
        assert!(!shows, "{} shows what was said", path.display());
        files += 1;
    }
    assert!(files > 0, "there is no file");
}
