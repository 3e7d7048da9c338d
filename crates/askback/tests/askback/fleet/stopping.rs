//! Processes of a fleet that are told to stop, or die before a call is logged.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use askback::{Ctx, Result, Revision, State, Tool, http::Service, journal::Journal};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, oneshot},
    time::{sleep, timeout},
};

use super::{Shared, Who, accept, at, line::JournalLine};
use crate::http::{
    client::{Client, Response, Session},
    serving::{Serving, calling, hello},
};

const SHUTDOWN: Duration = Duration::from_secs(30);

/// Asks, and then works for as many seconds as the answer says.
pub(super) async fn works(ctx: Ctx, State(shared): State<Shared>) -> Result<String> {
    let who: Who = ctx.elicit("How long?").await?.accepted()?;
    let seconds = who.name.parse().unwrap_or_default();
    ctx.sleep(Duration::from_secs(seconds)).await;
    let bookings = Arc::clone(&shared.bookings);
    let number: usize = ctx
        .commit("work", move || async move {
            Ok(1 + bookings.fetch_add(1, Ordering::Relaxed))
        })
        .await?;
    Ok(format!("worked as {number}"))
}

/// Works for a long time, and does not ask.
pub(super) async fn slow(ctx: Ctx) -> &'static str {
    ctx.sleep(Duration::from_secs(100)).await;
    "slow"
}

/// Works for a while, and then asks.
pub(super) async fn slow_question(ctx: Ctx) -> Result<String> {
    ctx.sleep(Duration::from_secs(5)).await;
    let who: Who = ctx.elicit("Who?").await?.accepted()?;
    Ok(who.name)
}

struct Node {
    client: Client,
    stop: oneshot::Sender<()>,
}

impl Node {
    fn new(shared: &Shared) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let server = shared.builder(&JournalLine::new(&shared.journal)).build();
        let endpoint = server.expect("the server is whole").http();
        let client = Client(endpoint.service_until(async move { drop(stopped.await) }));
        Self { client, stop }
    }

    /// Tells the process to stop. The returned service ends with it.
    fn stop(self) -> Service {
        self.stop.send(()).expect("it serves");
        self.client.0
    }
}

async fn open(node: &Client) -> Session {
    node.open_with(Revision::V2025_11_25, json!({"elicitation": {}}))
        .await
}

pub(super) async fn begin(session: &Session, id: u64, tool: &str) -> (Response, Value) {
    let mut stream = session.call(id, "tools/call", json!({"name": tool})).await;
    let question = stream.message().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (stream, question)
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test(start_paused = true)]
async fn a_rolling_restart_is_invisible() {
    const SESSIONS: usize = 12;
    let shared = Shared::new();
    let mut nodes: Vec<_> = (0..3).map(|_| Node::new(&shared)).collect();
    let mut open_calls = Vec::new();
    let mut working = Vec::new();
    for number in 0..SESSIONS {
        let session = open(&nodes[number % 3].client).await;
        let (stream, question) = begin(&session, 1, "works").await;
        if number % 4 == 3 {
            // The call is running when its process is told to stop.
            let other = at(&session, &nodes[(number + 1) % 3].client);
            other.answer(&question, accept(json!({"name": "5"}))).await;
            working.push((session, stream));
        } else {
            open_calls.push((session, stream, question));
        }
    }
    for node in &mut nodes {
        let before = std::mem::replace(node, Node::new(&shared));
        let service = before.stop();
        sleep(Duration::from_millis(10)).await;
        let refused = Client(service.clone()).call("tools/list", json!({})).await;
        assert_eq!(refused.status, 503);
        service.stopped().await;
    }
    // Each client has lost its stream, and reconnects to another process.
    for (number, (session, mut stream, question)) in open_calls.into_iter().enumerate() {
        stream.assert_ended().await;
        assert_eq!(stream.retry(), Some(Duration::from_millis(100)));
        let session = at(&session, &nodes[number % 3].client);
        let mut resumed = session.resume(&stream.last_event_id()).await;
        let other = at(&session, &nodes[(number + 1) % 3].client);
        other.answer(&question, accept(json!({"name": "0"}))).await;
        assert!(text(&resumed.message().await).starts_with("worked"));
    }
    for (session, mut stream) in working {
        // The result may have arrived before the process ended.
        let mut told = stream.told().await;
        if told.is_none() {
            let session = at(&session, &nodes[0].client);
            told = session.resume(&stream.last_event_id()).await.told().await;
        }
        assert!(text(&told.expect("a result").1).starts_with("worked"));
    }
    assert_eq!(shared.bookings.load(Ordering::Relaxed), SESSIONS);
}

#[tokio::test]
async fn a_process_that_leaves_answers_what_has_come_and_lets_nothing_in() {
    let (begun, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let moment = {
        let (begun, goes_on) = (Arc::clone(&begun), Arc::clone(&goes_on));
        move || {
            let (begun, goes_on) = (Arc::clone(&begun), Arc::clone(&goes_on));
            async move {
                begun.notify_one();
                goes_on.notified().await;
                Result::Ok("a moment")
            }
        }
    };
    let shared = Shared::new();
    let builder = shared.builder(&JournalLine::new(&shared.journal));
    let server = builder.tool(Tool::new("moment", moment)).build();
    let server = server.expect("the server is whole");
    let mut serving =
        Serving::by(|listener, stopped| server.http().serve_until(listener, stopped)).await;
    let mut working = serving.connect().await;
    working.send(calling("moment", "")).await;
    begun.notified().await;
    let mut idle = serving.connect().await;
    idle.send(hello("")).await;
    idle.until("Hello!").await;
    // The server receives these after it was told to stop.
    let mut fresh = serving.connect().await;
    serving.stop();
    for socket in [&mut fresh, &mut idle] {
        socket.send(hello("")).await;
    }
    for (socket, answer) in [(fresh, "Hello!"), (idle, "Hello!"), (working, "a moment")] {
        let mut socket = socket;
        let said = socket.rest().await;
        assert!(said.contains("HTTP/1.1 200"), "{said}");
        assert!(said.contains(answer), "{said}");
        assert!(said.contains("connection: close"), "{said}");
        if answer == "Hello!" {
            // A load balancer would send it elsewhere.
            let refused = tokio::net::TcpStream::connect(serving.addr).await;
            assert!(refused.is_err());
            goes_on.notify_one();
        }
    }
    serving.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_without_requests_goes_on_with_the_calls_of_one_that_is_dead() {
    let shared = Shared::new();
    let (first, line) = shared.node_on_a_line();
    let session = open(&first).await;
    let (stream, question) = begin(&session, 1, "works").await;
    let _second = shared.node();
    session
        .answer(&question, accept(json!({"name": "5"})))
        .await;
    line.cut();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 1);
    let third = at(&session, &shared.node());
    let mut resumed = third.resume(&stream.last_event_id()).await;
    let result = timeout(Duration::from_millis(100), resumed.message()).await;
    assert_eq!(text(&result.expect("it has ended before")), "worked as 1");
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_too_long_goes_on_at_another_process() {
    let shared = Shared::new();
    let first = Node::new(&shared);
    let session = open(&first.client).await;
    let (mut stream, question) = begin(&session, 1, "works").await;
    session
        .answer(&question, accept(json!({"name": "60"})))
        .await;
    sleep(Duration::from_secs(1)).await;
    let service = first.stop();
    let second = Node::new(&shared);
    let begun = tokio::time::Instant::now();
    service.stopped().await;
    sleep(SHUTDOWN + Duration::from_secs(1)).await;
    stream.assert_ended().await;
    let session = at(&session, &second.client);
    let mut resumed = session.resume(&stream.last_event_id()).await;
    assert_eq!(text(&resumed.message().await), "worked as 1");
    // The lease was released, so no process waited for it to expire.
    let took = begun.elapsed();
    assert!(took < SHUTDOWN + Duration::from_secs(62), "{took:?}");
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_process_dies_before_it_asks_ends_for_its_client() {
    let shared = Shared::new();
    let first = shared.node();
    let session = open(&first).await;
    for id in [json!(7), json!("seven")] {
        let params = json!({"name": "slow"});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let mut stream = session.post(&call).await;
        stream.event().await.expect("a first event");
        let last = stream.last_event_id();
        let other = at(&session, &shared.node());
        let mut resumed = other.resume(&last).await;
        assert_eq!(resumed.status, 200);
        let answer = resumed.message().await;
        assert_eq!(answer["id"], id, "{answer}");
        let why = answer["error"]["message"].as_str().expect("an error");
        assert!(why.contains("not known"), "{why}");
        resumed.assert_ended().await;
        // The client of another session is told nothing.
        let stranger = open(&shared.node()).await;
        assert_eq!(stranger.resume(&last).await.status, 400);
        // A call that asks while its client waits is found.
        let mut stream = session
            .call(8, "tools/call", json!({"name": "slow_question"}))
            .await;
        stream.event().await.expect("a first event");
        let last = stream.last_event_id();
        drop(stream);
        let mut resumed = other.resume(&last).await;
        let question = resumed.message().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_is_written_down_leaves_nothing() {
    let shared = Shared::new();
    let (node, line) = shared.node_on_a_line();
    let session = open(&node).await;
    line.delay(Duration::from_secs(2));
    let stream = tokio::spawn({
        let session = session.clone();
        async move { session.call(1, "tools/call", json!({"name": "book"})).await }
    });
    sleep(Duration::from_secs(1)).await;
    line.delay(Duration::ZERO);
    let params = json!({"requestId": 1});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(session.post(&cancelled).await.status, 202);
    drop(stream.await);
    sleep(Duration::from_secs(300)).await;
    let left = shared.journal.purge(u64::MAX).await;
    // The note by which processes compare their keys, and the note that this one serves.
    assert_eq!(left.expect("the journal answers"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_handler_stops_when_its_session_is_ended_at_any_process() {
    for elsewhere in [false, true] {
        let shared = Shared::new();
        let (first, second) = (shared.node(), shared.node());
        let session = open(&first).await;
        let (_stream, question) = begin(&session, 1, "works").await;
        session
            .answer(&question, accept(json!({"name": "2"})))
            .await;
        // Half a second before it would commit.
        sleep(Duration::from_millis(1500)).await;
        let deleting = if elsewhere { &second } else { &first };
        assert_eq!(at(&session, deleting).delete().await.status, 204);
        sleep(Duration::from_secs(120)).await;
        assert_eq!(shared.bookings.load(Ordering::Relaxed), 0, "{elsewhere}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_stops_when_its_call_is_cancelled_at_another_process() {
    let shared = Shared::new();
    let (first, second) = (shared.node(), shared.node());
    let session = open(&first).await;
    let (_stream, question) = begin(&session, 1, "works").await;
    session
        .answer(&question, accept(json!({"name": "60"})))
        .await;
    sleep(Duration::from_secs(1)).await;
    let other = at(&session, &second);
    let params = json!({"requestId": 1});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(other.post(&cancelled).await.status, 202);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(shared.bookings.load(Ordering::Relaxed), 0);
}
