//! Several processes serve together. A question outlives the process that asked it.

mod changes;
pub(crate) mod line;
pub(crate) mod memory;
mod metrics;
mod stopping;
mod tasks;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Change, Clock, Ctx, Fleet, Form, Resource, Result, Revision, Server, ServerBuilder, Tool,
    journal::{CallCounter, CountedCall, Journal},
    keys::{Key, KeyRing, KeySource},
    limits::Limits,
    protocol::CreateMessageParams,
    store::{MemoryStore, Millis, SqliteStore, Store, StoreError, StoreFuture},
    testing::TestClock,
};
use http::StatusCode;
use serde_json::{Value, json};

use self::{
    line::{JournalLine, ParkLoss},
    memory::MemoryBus,
};
use crate::http::client::{Client, Response, Session};

/// The lifetime of a session.
const SEVEN_DAYS: Millis = 7 * 24 * 3600 * 1000;

/// The clock of a process that serves later.
#[derive(Debug, Clone, Copy)]
struct Later(TestClock, Millis);

impl Clock for Later {
    fn now(&self) -> Millis {
        self.0.now() + self.1
    }
}

/// The revisions with forms and resumable streams.
const REVISIONS: [Revision; 2] = [Revision::V2025_06_18, Revision::V2025_11_25];

#[derive(Form)]
struct Who {
    /// Your name.
    name: String,
}

/// What all processes of a fleet share, and the number of times each effect happened.
#[derive(Clone)]
struct Shared {
    journal: Arc<SqliteStore>,
    bus: Arc<MemoryBus>,
    store: Arc<MemoryStore>,
    prices: Arc<AtomicUsize>,
    bookings: Arc<AtomicUsize>,
    clock: TestClock,
}

impl Shared {
    fn new() -> Self {
        Self {
            journal: memory::journal(),
            bus: Arc::default(),
            store: Arc::default(),
            prices: Arc::default(),
            bookings: Arc::default(),
            clock: TestClock::new(),
        }
    }

    fn node(&self) -> Client {
        Client::of(&self.server())
    }

    /// A session at a new process, of a client that can be asked.
    async fn session(&self) -> Session {
        let node = self.node();
        node.open_with(Revision::V2025_11_25, json!({"elicitation": {}}))
            .await
    }

    fn server(&self) -> Server {
        let server = self.builder(&JournalLine::new(&self.journal)).build();
        server.expect("the server is whole")
    }

    /// Starts another process. Also returns its connection to the journal.
    fn node_on_a_line(&self) -> (Client, JournalLine) {
        let line = JournalLine::new(&self.journal);
        let server = self.builder(&line).build().expect("the server is whole");
        (Client::of(&server), line)
    }

    /// The status of a ping of a session, at a process whose clock is ahead.
    async fn status_after(&self, session: &Session, ahead: Millis) -> StatusCode {
        let server = self.builder(&JournalLine::new(&self.journal));
        let server = server.clock(Later(self.clock, ahead)).build();
        let later = at(session, &Client::of(&server.expect("the server is whole")));
        later.call(1, "ping", json!({})).await.status
    }

    fn builder(&self, line: &JournalLine) -> ServerBuilder {
        let store: Arc<dyn Store> = self.store.clone();
        let builder = Server::new("fleet", "1")
            .service("tests")
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(store)
            .clock(self.clock)
            .fleet(Fleet::new(line.clone()))
            .state(self.clone())
            .tool(Tool::new("book", book))
            .tool(Tool::new("both", both))
            .tool(Tool::new("either", either))
            .tool(Tool::new("samples", samples))
            .tool(Tool::new("refuses", metrics::refuses))
            .tool(Tool::new("hello", async || Ok("Hello!".to_owned())))
            .tool(Tool::new("works", stopping::works))
            .tool(Tool::new("slow", stopping::slow))
            .tool(Tool::new("slow_question", stopping::slow_question))
            .resource(Resource::new("note://one", "one", async || {
                Ok("One.".to_owned())
            }))
            .changing_resources();
        tasks::tools()
            .into_iter()
            .fold(builder, ServerBuilder::tool)
    }
}

async fn book(ctx: Ctx, askback::State(shared): askback::State<Shared>) -> Result<String> {
    let price = Arc::clone(&shared.prices);
    let price: usize = ctx
        .run("price", move || async move {
            Ok(42 + price.fetch_add(1, Ordering::Relaxed))
        })
        .await?;
    let who: Who = ctx
        .elicit(format!("It costs {price}. Who travels?"))
        .await?
        .accepted()?;
    if !ctx.confirm(format!("Book for {}?", who.name)).await? {
        return Ok("nothing".into());
    }
    let bookings = Arc::clone(&shared.bookings);
    let number: usize = ctx
        .commit("book", move || async move {
            Ok(7 + bookings.fetch_add(1, Ordering::Relaxed))
        })
        .await?;
    Ok(format!("booked for {} as {number}", who.name))
}

async fn samples(ctx: Ctx) -> Result<String> {
    let said = ctx.sample(CreateMessageParams::new("Say hi.", 9)).await?;
    Ok(said.content.text())
}

async fn both(ctx: Ctx) -> Result<String> {
    let (a, b) = tokio::join!(
        ctx.elicit::<Who>("The first?"),
        ctx.elicit::<Who>("The second?")
    );
    let (a, b) = (a?.accepted()?, b?.accepted()?);
    Ok(format!("{} and {}", a.name, b.name))
}

async fn either(ctx: Ctx) -> Result<String> {
    let who = tokio::select! {
        biased;
        who = ctx.elicit::<Who>("The first?") => who,
        who = ctx.elicit::<Who>("The second?") => who,
    };
    Ok(who?.accepted()?.name)
}

fn at(session: &Session, client: &Client) -> Session {
    Session {
        client: client.clone(),
        id: session.id.clone(),
        revision: session.revision,
    }
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_process_that_asked() {
    for revision in REVISIONS {
        let shared = Shared::new();
        let first = shared.node();
        let session = first.open_with(revision, json!({"elicitation": {}})).await;
        let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
        let question = stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let last = stream.last_event_id();
        // The first process has died. Another one gets the answer, and a third one the stream.
        drop((stream, first));
        let (second, third) = (at(&session, &shared.node()), at(&session, &shared.node()));
        drop(session);
        second
            .answer(&question, accept(json!({"name": "Ada"})))
            .await;
        let mut stream = third.resume(&last).await;
        assert_eq!(stream.status, 200);
        let question = stream.message().await;
        let asked = question["params"]["message"].as_str().expect("a message");
        assert!(asked.starts_with("Book for Ada?"), "{question}");
        let confirmed = question["params"]["requestedSchema"]["properties"].clone();
        let field = confirmed
            .as_object()
            .expect("fields")
            .keys()
            .next()
            .cloned();
        let field = field.expect("a field");
        let fourth = at(&third, &shared.node());
        fourth
            .answer(&question, accept(json!({ field: true })))
            .await;
        let answer = stream.message().await;
        assert_eq!(answer["id"], 1, "{answer}");
        assert_eq!(
            answer["result"]["content"][0]["text"], "booked for Ada as 7",
            "{revision}"
        );
        stream.assert_ended().await;
        assert_eq!(shared.prices.load(Ordering::Relaxed), 1);
        assert_eq!(shared.bookings.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_the_journal() {
    use ParkLoss::{Request, Response};
    for losses in [
        &[Request; 9][..],
        &[Response],
        &[Request, Response, Request, Response],
    ] {
        let shared = Shared::new();
        let (first, line) = shared.node_on_a_line();
        let capabilities = json!({"elicitation": {}});
        let session = first.open_with(Revision::V2025_11_25, capabilities).await;
        line.lose_parks(losses);
        let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
        let question = stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{losses:?}");
        line.lose_parks(losses);
        session
            .answer(&question, accept(json!({"name": "Ada"})))
            .await;
        // The first question is not asked again.
        let next = stream.message().await;
        let asked = next["params"]["message"].as_str().expect("a message");
        assert!(asked.starts_with("Book for Ada?"), "{losses:?}: {next}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_the_journal_no_longer_than_a_request_may_take() {
    let shared = Shared::new();
    let (first, line) = shared.node_on_a_line();
    let capabilities = json!({"elicitation": {}});
    let session = first.open_with(Revision::V2025_11_25, capabilities).await;
    line.lose_parks(&[ParkLoss::Request; 9999]);
    let begun = tokio::time::Instant::now();
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    let result = stream.message().await;
    let said = result["result"]["content"][0]["text"].as_str();
    assert!(
        said.is_some_and(|said| said.contains("cannot ask now")),
        "{result}"
    );
    let took = begun.elapsed();
    let most = askback::limits::Limits::default().wire.request;
    assert!(took <= most && took > most / 2, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_for_the_journal_and_takes_its_call_with_a_new_lease() {
    let shared = Shared::new();
    let session = shared.session().await;
    let (mut stream, question) = stopping::begin(&session, 1, "works").await;
    let (second, line) = shared.node_on_a_line();
    let second = at(&session, &second);
    // The second process has opened the session.
    let hello = second.call(2, "tools/call", json!({"name": "hello"}));
    assert_eq!(hello.await.status, 200);
    line.cut();
    let outage = async {
        // Nearly as long as a lease.
        tokio::time::sleep(Duration::from_secs(9)).await;
        line.mend();
    };
    let answer = second.answer(&question, accept(json!({"name": "30"})));
    tokio::join!(answer, outage);
    let result = stream.message().await;
    assert_eq!(result["result"]["content"][0]["text"], "worked as 1");
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_to_come_back_later_while_the_journal_is_away() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    stream.message().await;
    let last = stream.last_event_id();
    drop(stream);
    let (second, line) = shared.node_on_a_line();
    let second = at(&session, &second);
    // The second process has opened the session.
    let hello = second.call(2, "tools/call", json!({"name": "hello"}));
    assert_eq!(hello.await.status, 200);
    line.cut();
    let away = second.resume(&last).await;
    assert_eq!(away.status, 503);
    let refused = away.json().await;
    let why = "the server cannot read this stream now; resume it again";
    assert_eq!(refused["error"]["message"], why);
    line.mend();
    assert_eq!(second.resume(&last).await.status, 200);
    // Another process has not opened the session yet.
    let (third, line) = shared.node_on_a_line();
    line.cut();
    let away = at(&session, &third).resume(&last).await;
    assert_eq!(away.status, 503);
    let refused = away.json().await;
    let why = "the server cannot continue this session now; send the request again";
    assert_eq!(refused["error"]["message"], why);
}

#[tokio::test(start_paused = true)]
async fn questions_of_one_round_are_answered_at_different_processes() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "both"})).await;
    let (one, two) = (stream.message().await, stream.message().await);
    assert_ne!(one["id"], two["id"]);
    for (question, name) in [(&two, "Grace"), (&one, "Ada")] {
        let other = at(&session, &shared.node());
        other.answer(question, accept(json!({"name": name}))).await;
        // A second answer changes nothing.
        other.answer(question, accept(json!({"name": "Eve"}))).await;
    }
    let answer = stream.message().await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ada and Grace");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_is_told_at_once() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "both"})).await;
    let (one, two) = (stream.message().await, stream.message().await);
    let last = stream.last_event_id();
    drop(stream);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let other = at(&session, &shared.node());
    for question in [&one, &two] {
        other.answer(question, accept(json!({"name": "Ada"}))).await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    // The first process had the stream all the time.
    let since = tokio::time::Instant::now();
    let result = session.resume(&last).await.message().await;
    assert_eq!(result["id"], 1, "{result}");
    assert!(since.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn what_is_still_asked_at_the_end_is_withdrawn() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session
        .call(1, "tools/call", json!({"name": "either"}))
        .await;
    let (one, two) = (stream.message().await, stream.message().await);
    session.answer(&one, accept(json!({"name": "Ada"}))).await;
    let withdrawn = stream.message().await;
    assert_eq!(
        withdrawn["method"], "notifications/cancelled",
        "{withdrawn}"
    );
    assert_eq!(withdrawn["params"]["requestId"], two["id"]);
    let result = stream.message().await;
    assert_eq!(result["result"]["content"][0]["text"], "Ada", "{result}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_of_the_session_is_refused() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    let question = stream.message().await;
    let last = stream.last_event_id();
    let other = shared.session().await;
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Eve"}))});
    assert_eq!(other.post(&answer).await.status, 400);
    assert_eq!(other.resume(&last).await.status, 400);
    let id = question["id"].as_str().expect("a name");
    // The name of another question of the call.
    let forged = id.replacen(".0.", ".1.", 1);
    let forged = json!({"jsonrpc": "2.0", "id": forged, "result": accept(json!({"name": "Eve"}))});
    assert_eq!(session.post(&forged).await.status, 400);
    // Once the session is ended, it is ended in every process.
    let elsewhere = at(&session, &shared.node());
    assert_eq!(elsewhere.delete().await.status, 204);
    let third = at(&session, &shared.node());
    assert_eq!(third.post(&answer).await.status, 404);
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_over_after_seven_days() {
    let shared = Shared::new();
    let session = shared.session().await;
    for (ahead, status) in [(SEVEN_DAYS - 60_000, 200), (SEVEN_DAYS, 404)] {
        assert_eq!(shared.status_after(&session, ahead).await, status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_ended_stays_so_until_its_id_has_expired() {
    let shared = Shared::new();
    let session = shared.session().await;
    assert_eq!(session.delete().await.status, 204);
    let ahead = SEVEN_DAYS - 60_000;
    let purged = Journal::purge(&*shared.journal, shared.clock.now() + ahead).await;
    purged.expect("the journal is there");
    assert_eq!(shared.status_after(&session, ahead).await, 404);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_at_any_process() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    let question = stream.message().await;
    let other = at(&session, &shared.node());
    let params = json!({"requestId": 1});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(other.post(&cancelled).await.status, 202);
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Ada"}))});
    assert_eq!(session.post(&answer).await.status, 400);
    let ended = tokio::time::timeout(Duration::from_secs(1), stream.event()).await;
    assert_eq!(ended.expect("the stream goes on"), None);
}

#[tokio::test(start_paused = true)]
async fn what_a_client_has_chosen_is_known_to_other_processes() {
    let shared = Shared::new();
    let session = shared.session().await;
    let params = json!({"uri": "note://one"});
    let subscribed = session.call(1, "resources/subscribe", params).await;
    assert_eq!(subscribed.answer().await["result"], json!({}));
    let server = shared.server();
    let other = at(&session, &Client::of(&server));
    let mut stream = other.listen().await;
    server.changed(Change::Resource("note://one".to_owned()));
    let told = stream.message().await;
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    // A stream that was read at another process may have missed anything.
    let third = at(&session, &shared.node());
    let mut stream = third.resume("0-7").await;
    let mut told = Vec::new();
    for _ in 0..2 {
        told.push(stream.message().await["method"].clone());
    }
    told.sort_by_key(ToString::to_string);
    let lists = [
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    ];
    assert_eq!(told, lists);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_a_batch_counts_next_to_calls_and_unknown_answers() {
    let shared = Shared::new();
    let session = shared
        .node()
        .open_with(Revision::V2025_03_26, json!({"sampling": {}}))
        .await;
    let mut stream = session
        .call(1, "tools/call", json!({"name": "samples"}))
        .await;
    let question = stream.message().await;
    assert_eq!(question["method"], "sampling/createMessage", "{question}");
    let other = at(&session, &shared.node());
    let said =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}});
    let answer = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": said});
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let batch = json!([answer(&"x.0.y".into()), answer(&question["id"]), ping]);
    let answered = other.post(&batch).await.json().await;
    assert_eq!(answered, json!([{"jsonrpc": "2.0", "id": 7, "result": {}}]));
    let result = stream.message().await;
    assert_eq!(result["result"]["content"][0]["text"], "Hi");
    // A call in a batch has no stream of its own.
    let call =
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "samples"}});
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    let all = other.post(&json!([call, ping])).await.answer().await;
    let all = all.as_array().expect("a batch");
    let of = |id: u64| all.iter().find(|one| one["id"] == id).expect("an answer");
    let said = of(8)["result"]["content"][0]["text"].as_str();
    assert!(said.is_some_and(|said| said.contains("batch")), "{all:?}");
    assert_eq!(of(9)["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_at_its_deadline() {
    let shared = Shared::new();
    let session = shared.session().await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    stream.message().await;
    let last = stream.last_event_id();
    let limit = askback::Limits::default().asking.answer;
    tokio::time::sleep(limit + Duration::from_secs(1)).await;
    let withdrawn = stream.message().await;
    assert_eq!(
        withdrawn["method"], "notifications/cancelled",
        "{withdrawn}"
    );
    let answer = stream.message().await;
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    // An event's number may be anything.
    let call = last.split('.').next().expect("a call");
    for event in [u64::MAX, u64::MAX - 1] {
        let resumed = session.resume(&format!("{call}.{event}")).await;
        assert_ne!(resumed.status, 500);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_takes_two_requests_to_the_journal_and_another_call_none() {
    let shared = Shared::new();
    let (node, line) = shared.node_on_a_line();
    let session = node
        .open_with(Revision::V2025_11_25, json!({"elicitation": {}}))
        .await;
    line.requests();
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/read", json!({"uri": "note://one"})),
        ("tools/call", json!({"name": "hello"})),
    ] {
        session.call(1, method, params.clone()).await.answer().await;
        node.call(method, params).await.answer().await;
        assert_eq!(line.requests(), <[&str; 0]>::default(), "{method}");
    }
    // The log is read periodically, and rarely.
    let writes = || {
        let mut requests = line.requests();
        requests.retain(|name| *name != "read");
        requests
    };
    let mut stream = session.call(2, "tools/call", json!({"name": "both"})).await;
    let (one, two) = (stream.message().await, stream.message().await);
    assert_eq!(writes(), ["park"]);
    session.answer(&one, accept(json!({"name": "Ada"}))).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(writes(), ["answer", "park"]);
    session.answer(&two, accept(json!({"name": "Grace"}))).await;
    let answer = stream.message().await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ada and Grace");
    assert_eq!(writes(), ["answer", "finish"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_that_its_question_waits() {
    let shared = Shared::new();
    let session = shared.session().await;
    let every = askback::Limits::default().asking.progress_interval;
    let params = json!({"name": "book", "_meta": {"progressToken": "p"}});
    let mut stream = session.call(1, "tools/call", params).await;
    let question = stream.message().await;
    let last = stream.last_event_id();
    let mut told = Vec::new();
    let mut note = async |stream: &mut Response| {
        let begun = tokio::time::Instant::now();
        let (id, note) = stream.told().await.expect("a note");
        assert_eq!(note["method"], "notifications/progress", "{note}");
        assert_eq!(note["params"]["progressToken"], "p", "{note}");
        let about = note["params"]["message"].as_str().expect("a message");
        assert!(
            about.starts_with("waiting for an answer to: It costs"),
            "{about}"
        );
        // The message is not in the log.
        assert_eq!(id, None);
        told.push(note["params"]["progress"].as_f64().expect("a number"));
        begun.elapsed()
    };
    note(&mut stream).await;
    let took = note(&mut stream).await;
    assert!(took.abs_diff(every) < Duration::from_secs(2), "{took:?}");
    // A process that resumes the stream continues the progress numbers.
    drop(stream);
    let other = at(&session, &shared.node());
    let mut stream = other.resume(&last).await;
    note(&mut stream).await;
    other
        .answer(&question, accept(json!({"name": "Ada"})))
        .await;
    let question = stream.message().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    tokio::time::sleep(every).await;
    let (_, next) = stream.told().await.expect("a note");
    told.push(next["params"]["progress"].as_f64().expect("a number"));
    assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
}

/// Allows as many calls as a budget holds, and never refills it. It can be cut off.
#[derive(Clone, Default)]
struct Counter {
    counts: Arc<Mutex<HashMap<[u8; 16], u64>>>,
    is_away: Arc<AtomicBool>,
}

impl CallCounter for Counter {
    fn take(&self, call: CountedCall) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move {
            if self.is_away.load(Ordering::SeqCst) {
                return Err(StoreError::Unreachable("the counter is away".into()));
            }
            assert_eq!(call.window, Duration::from_secs(60));
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(call.budget).or_default();
            *count += 1;
            Ok((*count > call.calls).then_some(Duration::from_secs(7)))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn processes_count_calls_together_and_alone_while_the_counter_is_away() {
    let shared = Shared::new();
    let counter = Counter::default();
    let mut limits = Limits::default();
    limits.server.unknown_calls = 3;
    limits.server.calls_window = Duration::from_secs(60);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let line = JournalLine::new(&shared.journal);
        let fleet = Fleet::new(line.clone()).call_counter(counter.clone());
        let builder = shared.builder(&line).limits(limits.clone()).fleet(fleet);
        let node = Client::of(&builder.build().expect("the server is whole"));
        sessions.push(node.open_with(Revision::V2025_11_25, json!({})).await);
    }
    let hello = async |at: usize| {
        let called = sessions[at].call(1, "tools/call", json!({"name": "hello"}));
        let message = called.await.answer().await;
        message["result"]["content"][0]["text"]
            .as_str()
            .map(str::to_owned)
    };
    let (served, refused) = ("Hello!", "`hello` was called too often. Try again in 7 s.");
    for (at, text) in [
        (0, served),
        (1, served),
        (0, served),
        (1, refused),
        (0, refused),
    ] {
        assert_eq!(hello(at).await.as_deref(), Some(text), "at {at}");
    }
    counter.is_away.store(true, Ordering::SeqCst);
    for at in [0, 1] {
        for _ in 0..3 {
            assert_eq!(hello(at).await.as_deref(), Some(served), "alone at {at}");
        }
        let text = hello(at).await.expect("it is refused");
        assert!(text.contains("too often"), "{text}");
    }
    counter.is_away.store(false, Ordering::SeqCst);
    assert_eq!(hello(0).await.as_deref(), Some(refused));
}

#[tokio::test(start_paused = true)]
async fn each_process_allows_its_share_of_the_calls() {
    let shared = Shared::new();
    let mut limits = Limits::default();
    limits.server.unknown_calls = 4;
    limits.server.calls_window = Duration::from_secs(3600);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let line = JournalLine::new(&shared.journal);
        let builder = shared.builder(&line).limits(limits.clone());
        let node = Client::of(&builder.build().expect("the server is whole"));
        sessions.push(node.open_with(Revision::V2025_11_25, json!({})).await);
    }
    let allowed = async |session: &Session| {
        for count in 0.. {
            let called = session
                .call(1, "tools/call", json!({"name": "hello"}))
                .await;
            let text = called.answer().await["result"]["content"][0]["text"].to_string();
            if text.contains("too often") {
                return count;
            }
            assert!(count < 10, "{text}");
        }
        unreachable!()
    };
    // Both have noted that they serve, and have found the other.
    tokio::time::sleep(Duration::from_secs(10)).await;
    for session in &sessions {
        assert_eq!(allowed(session).await, 2);
    }
    sessions.pop();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(allowed(&sessions[0]).await, 2, "the rest of all four");
}

#[test]
fn what_processes_must_share_is_asked_for() {
    let begin = || Server::new("fleet", "1").fleet(Fleet::new(memory::journal()));
    let keys = || KeySource::Ring(KeyRing::new(Key::new(&[1; 32])));
    for (builder, lacks) in [
        (begin(), "keys"),
        (begin().keys(keys()), "service"),
        (begin().keys(keys()).service("tests"), "store"),
    ] {
        let error = builder.build().err().expect("it is not whole").to_string();
        assert!(error.contains(lacks), "{error}");
    }
}
