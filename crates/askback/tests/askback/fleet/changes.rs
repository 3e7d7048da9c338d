//! Changes in one process that concern clients of other processes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use askback::{
    Change, Fleet, Principal, Revision, Server,
    journal::{Bus, CallId, HeardHints, StoreFuture, Topic},
    limits::Limits,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Shared, accept, at, line::JournalLine};
use crate::http::client::{Client, Response, Session};

/// How long a hint may take.
const SOON: Duration = Duration::from_secs(2);

/// A process that tells the others about changes.
fn server(shared: &Shared) -> Server {
    server_on(shared, &JournalLine::new(&shared.journal))
}

fn server_on(shared: &Shared, line: &JournalLine) -> Server {
    let fleet = Fleet::new(line.clone()).bus(Arc::clone(&shared.bus));
    let server = shared.builder(line).fleet(fleet).build();
    server.expect("the server is whole")
}

async fn open(client: &Client) -> Session {
    client.open_with(Revision::V2025_11_25, json!({})).await
}

async fn subscribe(session: &Session, uri: &str) {
    let subscribed = session.call(1, "resources/subscribe", json!({"uri": uri}));
    assert_eq!(subscribed.await.answer().await["result"], json!({}));
}

/// The methods of the messages that arrive soon.
async fn told(stream: &mut Response) -> Vec<Value> {
    let mut all = Vec::new();
    while let Ok(Some((_, message))) = tokio::time::timeout(SOON, stream.told()).await {
        all.push(message["method"].clone());
    }
    all
}

const UPDATED: &str = "notifications/resources/updated";
const LIST: &str = "notifications/resources/list_changed";

#[tokio::test(start_paused = true)]
async fn a_change_reaches_the_clients_of_all_processes() {
    let shared = Shared::new();
    let (first, second) = (server(&shared), server(&shared));
    let session = open(&Client::of(&second)).await;
    subscribe(&session, "note://one").await;
    let mut stream = session.listen().await;
    sleep(SOON).await;
    let long = format!("note://{}", "x".repeat(4 << 10));
    for (changed, heard) in [
        (Change::Resource("note://one".to_owned()), vec![UPDATED]),
        (Change::Resource("note://two".to_owned()), vec![]),
        (Change::Resources, vec![LIST]),
        // The name is too long for a hint, so anything may have changed.
        (Change::Resource(long), vec![LIST, UPDATED]),
    ] {
        first.changed(changed.clone());
        let mut methods = told(&mut stream).await;
        methods.sort_by_key(ToString::to_string);
        assert_eq!(methods, heard, "{changed:?}");
    }
    // This change concerns another principal.
    first.changed_for(&Principal::new("ada"), Change::Resources);
    assert!(told(&mut stream).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_known_where_the_stream_is() {
    for is_told in [true, false] {
        let shared = Shared::new();
        let (first, second) = match is_told {
            true => (server(&shared), server(&shared)),
            false => (shared.server(), shared.server()),
        };
        let (first_client, second_client) = (Client::of(&first), Client::of(&second));
        // Both processes listen by now.
        sleep(SOON).await;
        let session = open(&first_client).await;
        let other = at(&session, &second_client);
        let mut stream = session.listen().await;
        // Both processes know the session before its client subscribes.
        subscribe(&other, "note://nothing").await;
        subscribe(&other, "note://one").await;
        let params = json!({"uri": "note://nothing"});
        let left = other.call(2, "resources/unsubscribe", params).await;
        assert_eq!(left.answer().await["result"], json!({}));
        if !is_told {
            // Without a bus, the client has to reconnect.
            drop(stream);
            stream = session.listen().await;
        }
        sleep(SOON).await;
        for uri in ["note://nothing", "note://one"] {
            first.changed(Change::Resource(uri.to_owned()));
        }
        assert_eq!(told(&mut stream).await, [UPDATED], "{is_told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_comes_with_a_hint_and_a_question_from_the_journal() {
    let shared = Shared::new();
    let lines = [(); 3].map(|()| JournalLine::new(&shared.journal));
    let servers = lines.each_ref().map(|line| server_on(&shared, line));
    let [first, second, third] = servers.each_ref().map(Client::of);
    let capabilities = json!({"elicitation": {}});
    let session = first.open_with(Revision::V2025_11_25, capabilities).await;
    let (second, third) = (at(&session, &second), at(&session, &third));
    // All processes know the session, and listen.
    for (process, line) in [&session, &second, &third].into_iter().zip(&lines) {
        process.call(1, "ping", json!({})).await.answer().await;
        sleep(SOON).await;
        line.requests();
    }
    for size in [1, 1 << 10] {
        let mut stream = session.call(2, "tools/call", json!({"name": "book"})).await;
        let question = stream.message().await;
        let begun = Instant::now();
        let name = "a".repeat(size);
        second
            .answer(&question, accept(json!({"name": name})))
            .await;
        let question = stream.message().await;
        let fields = question["params"]["requestedSchema"]["properties"].as_object();
        let confirmed = fields.and_then(|fields| fields.keys().next());
        let confirmed = confirmed.expect("a field");
        assert_eq!(lines[0].requests(), ["park", "read"]);
        third
            .answer(&question, accept(json!({ confirmed: true })))
            .await;
        let result = stream.message().await;
        let text = result["result"]["content"][0]["text"].as_str();
        let booked = format!("booked for {name} as ");
        assert!(text.is_some_and(|it| it.starts_with(&booked)), "{result}");
        stream.assert_ended().await;
        assert!(begun.elapsed() < Duration::from_millis(100));
        // A long result has no room in a hint.
        let reads: &[&str] = if size == 1 { &[] } else { &["read"] };
        assert_eq!(lines[0].requests(), reads);
        assert_eq!(lines[1].requests(), ["answer", "park"]);
        assert_eq!(lines[2].requests(), ["answer", "finish"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_of_a_stranger_does_not_end_a_call() {
    let shared = Shared::new();
    let line = JournalLine::new(&shared.journal);
    let server = server_on(&shared, &line);
    let capabilities = json!({"elicitation": {}});
    let session = Client::of(&server)
        .open_with(Revision::V2025_11_25, capabilities)
        .await;
    sleep(SOON).await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    let question = stream.message().await;
    line.requests();
    let id = stream.last_event_id();
    let call = id.split('.').next().expect("a call");
    let call = URL_SAFE_NO_PAD.decode(call).expect("base64");
    let call = CallId(call.try_into().expect("16 bytes"));
    for hint in [&b""[..], &[7; 8], &[7; 16], &[7; 1024]] {
        shared.bus.publish(Topic::Call(call), hint);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(line.requests(), ["read"]);
    }
    session
        .answer(&question, accept(json!({"name": "Ada"})))
        .await;
    let next = stream.message().await;
    assert_eq!(next["method"], "elicitation/create", "{next}");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_at_any_process() {
    let shared = Shared::new();
    let (first, second) = (server(&shared), server(&shared));
    let (first, second) = (Client::of(&first), Client::of(&second));
    let task = super::tasks::begin(&first, "work").await;
    let params = json!({
        "notifications": {"taskIds": [task]},
        "_meta": super::tasks::capabilities(),
    });
    let mut stream = second.call("subscriptions/listen", params).await;
    let acknowledged = stream.message().await;
    assert!(acknowledged["method"].is_string(), "{acknowledged}");
    let mut statuses = Vec::new();
    while statuses.last() != Some(&json!("completed")) {
        let told = stream.message().await;
        assert_eq!(told["method"], "notifications/tasks", "{told}");
        assert_eq!(told["params"]["taskId"], task);
        statuses.push(told["params"]["status"].clone());
    }
    assert_eq!(statuses[0], "working");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_kept_alive_while_the_journal_is_slow() {
    let quiet = Limits::default().http.keep_alive;
    let shared = Shared::new();
    let first = Client::of(&server(&shared));
    let line = JournalLine::new(&shared.journal);
    let second = server_on(&shared, &line);
    let task = super::tasks::begin(&first, "work").await;
    let params = json!({
        "notifications": {"taskIds": [task], "resourcesListChanged": true},
        "_meta": super::tasks::capabilities(),
    });
    let mut stream = Client::of(&second)
        .call("subscriptions/listen", params)
        .await;
    let acknowledged = stream.message().await;
    assert!(acknowledged["method"].is_string(), "{acknowledged}");
    let told = stream.message().await;
    assert_eq!(told["params"]["status"], "working", "{told}");
    line.requests();
    line.delay(10 * quiet);
    // The signs of life and the changes of lists that come while the journal is asked about the end of the task.
    let (mut signs, mut changes) = (0, 0);
    loop {
        let before = Instant::now();
        let chunk = stream.chunk().await.expect("the stream goes on");
        assert!(before.elapsed() <= quiet, "{:?}", before.elapsed());
        if chunk.contains("notifications/tasks") {
            break;
        }
        let is_asked = signs > 0 || line.requests().contains(&"task");
        signs += usize::from(is_asked && chunk == ":\n\n");
        changes += usize::from(chunk.contains(LIST));
        if signs == 2 && changes == 0 {
            second.changed(Change::Resources);
        }
    }
    assert_eq!(changes, 1);
    assert!(signs >= 9, "{signs}");
}

/// A bus that has lost hints whenever it is asked. Counts how often that is.
#[derive(Clone, Default)]
struct LossyBus(Arc<AtomicU64>);

impl Bus for LossyBus {
    fn publish(&self, _: Topic, _: &[u8]) {}

    fn hear(&self, _: Option<u64>) -> StoreFuture<'_, HeardHints> {
        Box::pin(async {
            let cursor = self.0.fetch_add(1, Ordering::Relaxed);
            if cursor >= 1000 {
                std::future::pending::<()>().await;
            }
            Ok(HeardHints {
                hints: Vec::new(),
                cursor,
                has_gap: true,
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn gaps_in_a_row_count_as_one_a_second() {
    let (shared, bus) = (Shared::new(), LossyBus::default());
    let line = JournalLine::new(&shared.journal);
    let fleet = Fleet::new(line.clone()).bus(bus.clone());
    let server = shared.builder(&line).fleet(fleet).build();
    let session = open(&Client::of(&server.expect("the server is whole"))).await;
    let mut stream = session.listen().await;
    let mut changes = 0;
    let hearing = async {
        while stream.told().await.is_some() {
            changes += 1;
        }
    };
    let over = tokio::time::timeout(Duration::from_secs(10), hearing).await;
    assert!(over.is_err(), "the stream has ended");
    let gaps = bus.0.load(Ordering::Relaxed);
    assert!((5..=15).contains(&gaps), "{gaps}");
    assert!(changes > 0);
}
