//! Features of the two oldest revisions: batches (2025-03-26), and HTTP+SSE (2024-11-05,
//! basic/transports, HTTP with SSE).

use std::time::Duration;

use askback::{Change, Limits, Revision, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Stage,
    client::{Client, MESSAGE, Response, hello},
};

fn request(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

fn cancelled(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn ids(batch: &Value) -> Vec<u64> {
    let batch = batch
        .as_array()
        .unwrap_or_else(|| panic!("no batch: {batch}"));
    let mut ids: Vec<_> = batch
        .iter()
        .map(|answer| answer["id"].as_u64().unwrap_or(0))
        .collect();
    ids.sort_unstable();
    ids
}

// Shows HT25-43, BA24-05.
#[tokio::test(start_paused = true)]
async fn a_batch_is_answered_as_one() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_03_26).await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let answer = session
        .post(&json!([request(1, "hello"), ping, request(2, "hello")]))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(ids(&answer.json().await), [1, 2, 7]);
    let answer = session
        .post(&json!([ping, {"jsonrpc": "2.0", "id": 8}]))
        .await;
    assert_eq!(ids(&answer.json().await), [7, 8]);

    let told = session.post(&json!([cancelled(1), cancelled(2)])).await;
    assert_eq!(told.status, 202);
    assert_eq!(told.text().await, "");
    assert_eq!(session.post(&json!([])).await.status, 400);

    let mut slow = session
        .post(&json!([request(1, "waits"), request(2, "hello"), ping]))
        .await;
    assert!(slow.is_stream());
    stage.go_on();
    assert_eq!(ids(&slow.message().await), [1, 2, 7]);
    slow.assert_ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_bears_no_more_messages_than_the_limit() {
    let session = Stage::default().client().open(Revision::V2025_03_26).await;
    let ping = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let most = Limits::default().wire.batch_messages;
    for (count, status) in [(most, 200), (most + 1, 400)] {
        let batch: Vec<_> = (0..count).map(ping).collect();
        assert_eq!(session.post(&batch.into()).await.status, status, "{count}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_revisions_have_no_batches() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let stage = Stage::default();
        let session = stage.client().open(revision).await;
        let refused = session.post(&json!([request(1, "hello")])).await;
        assert_eq!(refused.status, 400, "{revision:?}");
        assert!(refused.json().await["error"].is_object());
        assert_eq!(stage.handlers().0, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_answered_where_it_was_sent_though_part_of_it_is_cancelled() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_03_26).await;
    let mut batch = session
        .post(&json!([request(1, "waits"), request(2, "hello")]))
        .await;
    let cancel = session.post(&cancelled(1)).await;
    assert_eq!(cancel.status, 202);
    assert_eq!(cancel.text().await, "");
    assert_eq!(ids(&batch.message().await), [2]);
    batch.assert_ended().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (1, 0, 1));

    // A request that is cancelled in its own batch never begins.
    let batch = session
        .post(&json!([
            request(3, "waits"),
            request(4, "hello"),
            cancelled(3)
        ]))
        .await;
    assert_eq!(ids(&batch.answer().await), [4]);
    let nothing = session
        .post(&json!([request(5, "waits"), cancelled(5)]))
        .await;
    assert_eq!(nothing.status, 202);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (1, 0, 1));
}

/// An HTTP+SSE stream, and the URL for its messages.
struct Pair {
    client: Client,
    stream: Response,
    endpoint: String,
}

impl Pair {
    async fn open(client: &Client) -> Self {
        let mut stream = client.get(&[]).await;
        assert_eq!(stream.status, 200);
        let first = stream.event().await.unwrap();
        assert_eq!(first.event.as_deref(), Some("endpoint"));
        assert_eq!(first.id, None);
        Self {
            client: client.clone(),
            stream,
            endpoint: String::from_utf8(first.data).unwrap(),
        }
    }

    async fn say(&self, message: &Value) -> u16 {
        let endpoint = &self.endpoint;
        let response = self
            .client
            .send("POST", endpoint, &MESSAGE[..2], message.to_string());
        response.await.status.as_u16()
    }

    async fn opened(client: &Client) -> Self {
        let mut pair = Self::open(client).await;
        let hello = hello(Revision::V2024_11_05, json!({}));
        assert_eq!(pair.say(&hello).await, 202);
        let (id, opened) = pair.stream.told().await.unwrap();
        assert_eq!(id, None, "its streams are not resumed");
        assert_eq!(
            opened["result"]["protocolVersion"], "2024-11-05",
            "{opened}"
        );
        pair
    }
}

// Shows HT25-41, HT25-42.
#[tokio::test(start_paused = true)]
async fn a_pair_answers_on_its_stream() {
    let stage = Stage::default();
    let server = stage.builder().build().unwrap();
    let client = Client::of(&server);
    let mut pair = Pair::opened(&client).await;
    assert!(
        pair.endpoint.starts_with("/mcp?sessionId="),
        "{}",
        pair.endpoint
    );
    assert_eq!(pair.say(&request(1, "hello")).await, 202);
    assert_eq!(pair.stream.message().await["id"], 1);
    assert_eq!(pair.say(&request(2, "waits")).await, 202);
    assert_eq!(pair.say(&request(3, "hello")).await, 202);
    assert_eq!(pair.stream.message().await["id"], 3);
    stage.go_on();
    assert_eq!(pair.stream.message().await["id"], 2);
    server.changed(Change::Tools);
    let changed = pair.stream.message().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(pair.say(&cancelled(1)).await, 202);
    assert_eq!(pair.say(&json!([request(4, "hello")])).await, 400);
    pair.stream.assert_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_pair_ends_with_its_stream() {
    let stage = Stage::default();
    let client = stage.client();
    let pair = Pair::opened(&client).await;
    assert_eq!(pair.say(&request(2, "waits")).await, 202);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (1, 0, 0));
    let Pair {
        stream, endpoint, ..
    } = pair;
    drop(stream);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (1, 0, 1));
    let again = client
        .send("POST", &endpoint, &MESSAGE, request(3, "hello").to_string())
        .await;
    assert_eq!(again.status, 404);
}

#[tokio::test(start_paused = true)]
async fn the_two_kinds_of_sessions_are_not_mixed() {
    let client = Stage::default().client();
    let pair = Pair::opened(&client).await;
    let session = client.open(Revision::V2025_11_25).await;
    let id = pair.endpoint.split_once('=').unwrap().1;
    let named = [("mcp-session-id", id)];
    assert_eq!(client.post(&named, &request(1, "hello")).await.status, 404);
    assert_eq!(client.get(&named).await.status, 404);
    let delete = [named[0], ("host", "localhost")];
    assert_eq!(client.send("DELETE", "/mcp", &delete, "").await.status, 404);
    for query in [&*session.id, "", "x"] {
        let path = format!("/mcp?sessionId={query}");
        let response = client
            .send("POST", &path, &MESSAGE, request(1, "hello").to_string())
            .await;
        assert_eq!(response.status, 404, "{path}");
    }
    assert_eq!(pair.say(&request(9, "hello")).await, 202);
}

// Shows DE-01, HT-72.
#[tokio::test(start_paused = true)]
async fn a_pair_is_opened_only_where_it_is_allowed_and_its_revision_is_spoken() {
    let build = |revisions: &[Revision]| -> Server {
        let builder = Stage::default().builder();
        builder
            .revisions(revisions.iter().copied())
            .build()
            .unwrap()
    };
    let unasked = Client(build(&Revision::ALL).http().service());
    assert_eq!(unasked.get(&[]).await.status, 400);
    // The revision is still supported over the newer transport.
    unasked.open(Revision::V2024_11_05).await;
    let newer = Client::of(&build(&[Revision::V2025_11_25, Revision::V2026_07_28]));
    assert_eq!(newer.get(&[]).await.status, 400);
    // A client without a session that names a revision, or resumes a stream, has lost its session.
    let all = Stage::default().client();
    assert_eq!(
        all.get(&[("mcp-protocol-version", "2025-11-25")])
            .await
            .status,
        400
    );
    assert_eq!(
        all.get(&[("mcp-protocol-version", "1999-01-01")])
            .await
            .status,
        400
    );
    let html = [("host", "localhost"), ("accept", "text/html")];
    assert_eq!(all.send("GET", "/mcp", &html, "").await.status, 406);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_from_a_client_that_leaves_answers_unread() {
    let mut pair = Pair::opened(&Stage::default().client()).await;
    let id = "x".repeat(Limits::default().wire.request_id_bytes);
    let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let mut taken = 0;
    while pair.say(&ping).await == 202 {
        taken += 1;
        assert!(taken < 1000, "nothing bounds what is kept");
    }
    assert_eq!(pair.say(&ping).await, 503);
    for _ in 0..taken {
        pair.stream.message().await;
    }
    assert_eq!(pair.say(&ping).await, 202);
}
