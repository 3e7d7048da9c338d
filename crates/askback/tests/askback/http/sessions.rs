//! Sessions of the handshake revisions over HTTP (2025-11-25, basic/transports).

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
    time::Duration,
};

use askback::{Change, Ctx, Limits, Result, Revision, State, Tool};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Stage,
    client::{Client, Response, hello, stateless},
};

const WITH_IDS: [Revision; 3] = [
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
];

const WITH_FORMS: [Revision; 2] = [Revision::V2025_06_18, Revision::V2025_11_25];

fn tool(name: &str) -> Value {
    json!({"name": name})
}

fn accept(window: bool) -> Value {
    json!({"action": "accept", "content": {"window": window}})
}

fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

// Shows BP-41, BP25-02, HT25-27, HT25-28.
#[tokio::test]
async fn each_session_has_an_id_that_nobody_guesses() {
    let client = Stage::default().client();
    let mut ids = BTreeSet::new();
    for revision in [WITH_IDS, WITH_IDS].concat() {
        let session = client.open(revision).await;
        assert!(session.id.len() >= 22, "{}", session.id);
        assert!(session.id.bytes().all(|byte| byte.is_ascii_graphic()));
        let answer = session
            .call(1, "tools/call", tool("hello"))
            .await
            .json()
            .await;
        assert_eq!(text(&answer), "Hello!", "{revision:?}");
        assert!(ids.insert(session.id));
    }
    // A counter, a clock or a name would leave some bits the same.
    while ids.len() < 64 {
        ids.insert(client.open(Revision::V2025_11_25).await.id);
    }
    let bits = |id: &String| -> u128 {
        let bytes = URL_SAFE_NO_PAD.decode(id).expect("base64");
        u128::from_be_bytes(bytes[..16].try_into().expect("16 bytes"))
    };
    let (ones, zeros) = ids
        .iter()
        .map(bits)
        .fold((0, 0), |(ones, zeros), bits| (ones | bits, zeros | !bits));
    assert_eq!((ones, zeros), (u128::MAX, u128::MAX));
}

// Shows HT25-06, HT25-07, HT25-31, HT25-32, HT25-37, HT25-38.
#[tokio::test]
async fn messages_name_the_session_they_are_of() {
    let client = Stage::default().client();
    let session = client.open(Revision::V2025_11_25).await;
    let id = ("mcp-session-id", &*session.id);
    let gone = ("mcp-session-id", "AAAAAAAAAAAAAAAAAAAAAAAA");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    let hello = hello(Revision::V2025_11_25, json!({}));
    let version = |version| ("mcp-protocol-version", version);
    let modern = stateless("tools/list", json!({}));
    let batch = json!([list]);
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a Value, u16);
    let cases: &[Case<'_>] = &[
        ("a request", &[id], &list, 200),
        ("with its version", &[id, version("2025-11-25")], &list, 200),
        ("with another", &[id, version("2025-03-26")], &list, 200),
        (
            "with none there is",
            &[id, version("2025-11-24")],
            &list,
            400,
        ),
        ("with an empty one", &[id, version("")], &list, 400),
        ("a request without", &[], &list, 400),
        ("with only a version", &[version("2025-11-25")], &list, 400),
        ("a request of none", &[gone], &list, 404),
        ("of an empty one", &[("mcp-session-id", "")], &list, 404),
        ("of no ASCII", &[("mcp-session-id", "\u{e9}")], &list, 404),
        ("of two", &[id, gone], &list, 400),
        ("of one twice", &[id, id], &list, 400),
        ("a notification", &[id], &changed, 202),
        ("a notification without", &[], &changed, 400),
        ("a notification of none", &[gone], &changed, 404),
        ("an answer", &[id], &answer, 202),
        ("an answer without", &[], &answer, 400),
        ("an answer of none", &[gone], &answer, 404),
        ("another handshake", &[id], &hello, 200),
        ("a handshake in none", &[gone], &hello, 404),
        ("a batch", &[id], &batch, 400),
        ("a batch without", &[], &batch, 400),
        ("another era in the body", &[id], &modern, 400),
        (
            "that and a version",
            &[id, version("2025-11-25")],
            &modern,
            400,
        ),
        (
            "another era in the header",
            &[id, version("2026-07-28")],
            &list,
            400,
        ),
    ];
    for (name, headers, message, status) in cases {
        let response = client.post(headers, message).await;
        assert_eq!(response.status, *status, "{name}");
        if *status == 202 {
            assert_eq!(response.header("content-type"), None, "{name}");
            assert_eq!(response.text().await, "", "{name}");
        }
    }
    let again = client.post(&[id], &hello).await.json().await;
    assert_eq!(again["error"]["code"], -32600, "{again}");
    let mixed = client.post(&[id], &modern).await.json().await;
    assert_eq!(mixed["error"]["code"], -32020, "{mixed}");

    let json_only = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json"),
        id,
    ];
    let response = client
        .send("POST", "/mcp", &json_only, list.to_string())
        .await;
    assert_eq!(response.status, 406, "a session asks on streams");
}

#[tokio::test]
async fn a_handshake_that_fails_opens_nothing() {
    let client = Stage::default().client();
    for params in [json!({}), json!({"protocolVersion": 1}), json!([])] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let response = client.post(&[], &message).await;
        assert_eq!(response.status, 400, "{params}");
        assert_eq!(response.header("mcp-session-id"), None, "{params}");
    }
    // A client that asks for another revision is told which one it gets.
    let mut message = hello(Revision::V2025_11_25, json!({}));
    message["params"]["protocolVersion"] = "1999-01-01".into();
    let answer = client.post(&[], &message).await.json().await;
    assert_eq!(
        answer["result"]["protocolVersion"], "2025-11-25",
        "{answer}"
    );
}

// Shows HT25-32.
#[tokio::test(start_paused = true)]
async fn who_deletes_a_session_ends_all_of_it() {
    let stage = Stage::default();
    let client = stage.client();
    let session = client.open(Revision::V2025_11_25).await;
    let other = client.open(Revision::V2025_11_25).await;
    let mut stream = session.listen().await;
    stream.event().await;
    let mut call = session.call(1, "tools/call", tool("waits")).await;
    let mut asking = session.call(2, "tools/call", tool("asks")).await;
    let question = asking.message().await;
    let mut others = other.call(1, "tools/call", tool("waits")).await;
    assert_eq!(stage.handlers(), (3, 0, 0));

    assert_eq!(session.delete().await.status, 204);
    stream.assert_ended().await;
    while call.event().await.is_some() {}
    asking.assert_ended().await;
    drop((call, asking));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (3, 0, 2));

    assert_eq!(session.delete().await.status, 404, "twice");
    assert_eq!(session.listen().await.status, 404);
    assert_eq!(session.resume("1-1").await.status, 404);
    assert_eq!(session.call(3, "ping", json!({})).await.status, 404);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(true)});
    assert_eq!(session.post(&answer).await.status, 404);

    stage.go_on();
    assert_eq!(text(&others.message().await), "It was worth the wait.");
    let nobody = [("host", "localhost")];
    assert_eq!(client.send("DELETE", "/mcp", &nobody, "").await.status, 400);
    let unspoken = [
        ("host", "localhost"),
        ("mcp-session-id", &*other.id),
        ("mcp-protocol-version", "1999-01-01"),
    ];
    assert_eq!(
        client.send("DELETE", "/mcp", &unspoken, "").await.status,
        400
    );
    assert_eq!(other.call(4, "ping", json!({})).await.status, 200);
}

// Shows HT25-13, HT25-20.
#[tokio::test(start_paused = true)]
async fn a_question_is_asked_on_the_stream_of_its_call() {
    for revision in WITH_FORMS {
        let stage = Stage::default();
        let client = stage.client();
        let session = client.open(revision).await;
        let mallory = client.open(revision).await;
        let mut own = session.listen().await;
        let mut asking = session.call(1, "tools/call", tool("asks")).await;
        assert!(asking.is_stream());
        // A question of another session, with the same id.
        let mut hers = mallory.call(1, "tools/call", tool("asks")).await;
        let question = asking.message().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let asked_her = hers.message().await;
        assert_eq!(asked_her["id"], question["id"]);
        mallory.answer(&question, accept(false)).await;
        assert_eq!(text(&hers.message().await), "by the window: false");
        asking.assert_quiet().await;

        session.answer(&question, accept(true)).await;
        assert_eq!(text(&asking.message().await), "by the window: true");
        asking.assert_ended().await;
        // A repeated answer, or an answer to an unknown question, is ignored.
        session.answer(&question, accept(false)).await;
        session
            .answer(&json!({"id": "nothing"}), accept(false))
            .await;
        // Nothing was sent to another stream.
        if revision.facts().http.polling {
            own.event().await;
        }
        own.assert_quiet().await;
        assert_eq!(stage.handlers(), (2, 2, 0));
    }
}

// Shows EL25-02, EL25-03.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_link_is_told_to_the_client_that_was_asked() {
    let pays = async |ctx: Ctx| -> Result<&'static str> {
        let link = "https://pay.example/1";
        let asking = ctx.elicit_url("Pay first.", link).id("paid");
        asking.await?.accepted()?;
        ctx.completion_notice("paid").send();
        Ok("Paid.")
    };
    let server = Stage::default().builder().tool(Tool::new("pays", pays));
    let client = Client::of(&server.build().unwrap());
    let opens = json!({"elicitation": {"url": {}}});
    let open = || client.open_with(Revision::V2025_11_25, opens.clone());
    let (session, mallory) = (open().await, open().await);
    let (mut own, mut hers) = (session.listen().await, mallory.listen().await);
    let mut asking = session.call(1, "tools/call", tool("pays")).await;
    let mut asked_her = mallory.call(1, "tools/call", tool("pays")).await;
    let question = asking.message().await;
    assert_eq!(question["params"]["mode"], "url", "{question}");
    assert_eq!(question["params"]["elicitationId"], "paid", "{question}");
    assert_eq!(asked_her.message().await["params"]["mode"], "url");
    session.answer(&question, json!({"action": "accept"})).await;
    let told = asking.message().await;
    assert_eq!(told["method"], "notifications/elicitation/complete");
    assert_eq!(told["params"]["elicitationId"], "paid");
    assert_eq!(text(&asking.message().await), "Paid.");
    asked_her.assert_quiet().await;
    // GET streams begin with an event without a message.
    for stream in [&mut own, &mut hers] {
        stream.event().await;
        stream.assert_quiet().await;
    }
}

// Shows CA25-04, CA25-05, CA25-06.
#[tokio::test(start_paused = true)]
async fn a_client_cancels_by_a_notification() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let mut waiting = session.call(1, "tools/call", tool("waits")).await;
    let mut asking = session.call(2, "tools/call", tool("asks")).await;
    asking.message().await;
    for id in [1, 2, 1, 77] {
        let params = json!({"requestId": id});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(session.post(&cancel).await.status, 202);
    }
    while let Some(event) = waiting.event().await {
        assert!(event.data.is_empty(), "a cancelled call is not answered");
    }
    asking.assert_ended().await;
    drop((waiting, asking));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (2, 0, 2));
    // The session's own stream has no message about it.
    let mut own = session.listen().await;
    assert!(own.event().await.is_some_and(|event| event.data.is_empty()));
    own.assert_quiet().await;
}

// Shows HT25-15.
#[tokio::test(start_paused = true)]
async fn work_goes_on_when_its_client_goes_away() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let response = session.call(1, "tools/call", tool("waits")).await;
    drop(response);
    let early = session.call(2, "tools/call", tool("waits"));
    assert!(
        tokio::time::timeout(Duration::from_millis(10), early)
            .await
            .is_err()
    );
    assert_eq!(stage.handlers(), (2, 0, 0));
    stage.go_on();
    sleep(Duration::from_millis(1)).await;
    stage.go_on();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(stage.handlers(), (2, 2, 0));
}

// Shows HT25-03, HT25-18, HT25-19, HT25-22, TO25-01, HT25-48.
#[tokio::test(start_paused = true)]
async fn changes_are_told_on_one_stream_and_each_once() {
    let stage = Stage::default();
    let server = stage.builder().build().unwrap();
    let client = Client::of(&server);
    let session = client.open(Revision::V2025_11_25).await;
    let watch = json!({"uri": "note://one"});
    session.call(1, "resources/subscribe", watch).await;
    let (one, two) = ("note://one".to_owned(), "note://two".to_owned());
    for _ in 0..3 {
        server.changed(Change::Tools);
        server.changed(Change::Resource(one.clone()));
        server.changed(Change::Resource(two.clone()));
    }
    let mut calling = session.call(2, "tools/call", tool("waits")).await;
    let mut first = session.listen().await;
    let mut told = BTreeSet::new();
    for _ in 0..2 {
        told.insert(first.message().await["method"].as_str().unwrap().to_owned());
    }
    let expected = [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ];
    assert_eq!(told, expected.map(str::to_owned).into());
    first.assert_quiet().await;

    let mut second = session.listen().await;
    first.assert_ended().await;
    server.changed(Change::Tools);
    assert_eq!(
        second.message().await["method"],
        "notifications/tools/list_changed"
    );
    second.assert_quiet().await;
    stage.go_on();
    assert_eq!(text(&calling.message().await), "It was worth the wait.");
    calling.assert_ended().await;
    second.assert_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_changes_is_told_once() {
    let server = Stage::default().builder().build().unwrap();
    let client = Client::of(&server);
    let session = client.open(Revision::V2025_11_25).await;
    let mut own = session.listen().await;
    own.event().await;
    // The client is connected, but does not read.
    for _ in 0..100_000 {
        server.changed(Change::Tools);
    }
    let bytes = own.chunk().await.unwrap().len();
    let most = Limits::default().http.resume_bytes;
    assert!(bytes < 2 * most, "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn unused_sessions_are_removed() {
    let stage = Stage::default();
    let client = stage.client();
    let idle = client.open(Revision::V2025_11_25).await;
    let used = client.open(Revision::V2025_11_25).await;
    let read = client.open(Revision::V2025_11_25).await;
    let mut stream = read.listen().await;
    let hour = Duration::from_secs(60 * 60);
    for _ in 0..3 {
        sleep(hour).await;
        assert_eq!(used.call(1, "ping", json!({})).await.status, 200);
    }
    stream.event().await;
    assert_eq!(idle.call(1, "ping", json!({})).await.status, 404);
    assert_eq!(read.call(1, "ping", json!({})).await.status, 200);
    drop(stream);
    sleep(3 * hour).await;
    for session in [used, read] {
        assert_eq!(session.call(1, "ping", json!({})).await.status, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn the_sessions_idle_for_the_longest_are_ended_first() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.http.sessions = 3;
    let client = Client::of(&stage.builder().limits(limits).build().unwrap());
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(client.open(Revision::V2025_11_25).await);
        sleep(Duration::from_secs(1)).await;
    }
    // The oldest session is used again, so the second one has been idle the longest.
    sessions[0].call(1, "ping", json!({})).await;
    sessions.push(client.open(Revision::V2025_11_25).await);
    let mut found = Vec::new();
    for session in &sessions {
        found.push(session.call(1, "ping", json!({})).await.status.as_u16());
    }
    assert_eq!(found, [200, 404, 200, 200]);

    // Sessions in use are not ended for new ones, and cannot exceed the limit either.
    let mut calls: Vec<Response> = Vec::new();
    for at in [0, 2, 3] {
        calls.push(sessions[at].call(2, "tools/call", tool("asks")).await);
    }
    drop(calls);
    let refused = client
        .post(&[], &hello(Revision::V2025_11_25, json!({})))
        .await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("mcp-session-id"), None);
    assert_eq!(
        client.get(&[]).await.status,
        503,
        "a pair of endpoints neither"
    );
    assert_eq!(stage.handlers(), (3, 0, 0));
}

/// A handler that does not yield learns of the cancellation only afterwards.
// Shows CA-22.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_call_is_not_answered_by_one_whose_id_it_has_taken() {
    let stage = Stage::default();
    let held = Arc::new(Barrier::new(2));
    let own = Arc::clone(&held);
    let blocks = move |State(stage): State<Stage>| {
        let held = Arc::clone(&own);
        async move {
            let here = stage.enter();
            held.wait();
            here.leave();
            Ok("The answer of before.")
        }
    };
    let server = stage.builder().tool(Tool::new("blocks", blocks)).build();
    let session = Client::of(&server.unwrap())
        .open(Revision::V2025_11_25)
        .await;
    let call = |name: &'static str| {
        let session = session.clone();
        tokio::spawn(async move { session.call(7, "tools/call", tool(name)).await })
    };
    let first = call("blocks");
    stage.until((1, 0, 0)).await;
    let cancelled = json!({"requestId": 7});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled});
    assert_eq!(session.post(&cancelled).await.status, 202);
    let next = call("waits");
    stage.until((2, 0, 0)).await;
    held.wait();
    drop(first.await);
    stage.until((2, 1, 0)).await;
    stage.go_on();
    let answer = next.await.unwrap().answer().await;
    assert_eq!(text(&answer), "It was worth the wait.");
}

#[tokio::test(start_paused = true)]
async fn a_session_bears_no_more_calls_than_the_limit() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.wire.requests_in_flight = 2;
    let client = Client::of(&stage.builder().limits(limits).build().unwrap());
    let session = client.open(Revision::V2025_11_25).await;
    for id in 1..=2 {
        drop(session.call(id, "tools/call", tool("waits")).await);
    }
    let refused = session
        .call(3, "tools/call", tool("hello"))
        .await
        .json()
        .await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    let taken = session
        .call(1, "tools/call", tool("hello"))
        .await
        .json()
        .await;
    assert_eq!(taken["error"]["code"], -32600, "an id in use: {taken}");
}

// Shows HT25-08, HT25-09, HT25-12, HT25-14, HT25-44.
#[tokio::test(start_paused = true)]
async fn quick_answers_are_json_and_slow_ones_a_stream() {
    let stage = Stage::default();
    for revision in WITH_IDS {
        let session = stage.client().open(revision).await;
        let answer = session.call(1, "tools/call", tool("hello")).await;
        assert!(!answer.is_stream(), "{revision:?}");
        let began = tokio::time::Instant::now();
        let mut response = session.call(2, "tools/call", tool("waits")).await;
        assert_eq!(began.elapsed(), Duration::from_secs(1));
        assert!(response.is_stream());
        let first = response.chunk().await.unwrap();
        let primed = "id: 2-0\ndata:\n\n";
        let polling = revision.facts().http.polling;
        assert_eq!(first == primed, polling, "{revision:?}: {first:?}");
        if polling {
            assert_eq!(response.chunk().await.as_deref(), Some(":\n\n"));
        }
        stage.go_on();
        let (id, answer) = response.told().await.unwrap();
        assert_eq!(id.as_deref(), Some("2-1"));
        assert_eq!(text(&answer), "It was worth the wait.");
        response.assert_ended().await;
    }
}
