//! Broken streams, and clients that resume them (2025-11-25, basic/transports, Resumability and
//! Redelivery).

use std::{collections::BTreeSet, time::Duration};

use askback::{Change, Limits, Revision};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Stage,
    client::{Client, Response, Session},
};

const REVISIONS: [Revision; 3] = [
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
];

async fn calling(session: &Session, id: u64, tool: &str) -> Response {
    let params = json!({"name": tool, "_meta": {"progressToken": id}});
    session.call(id, "tools/call", params).await
}

fn flood(lines: usize, bytes: usize, result: usize) -> Value {
    let arguments = json!({"lines": lines, "bytes": bytes, "result": result});
    json!({"name": "floods", "arguments": arguments, "_meta": {"progressToken": 1}})
}

/// Lets background tasks run until they wait.
async fn rest() {
    sleep(Duration::from_millis(1)).await;
}

// Shows HT25-20, HT25-24, HT25-26.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_stream_comes_to_who_comes_back() {
    for revision in REVISIONS {
        let stage = Stage::default();
        let session = stage.client().open(revision).await;
        let mut first = calling(&session, 1, "tells").await;
        let progress = first.message().await;
        assert_eq!(progress["params"]["progressToken"], 1, "{progress}");
        let last = first.last_event_id();
        drop(first);
        let mut other = calling(&session, 2, "waits").await;
        stage.go_on();
        stage.go_on();
        rest().await;

        let mut rest = session.resume(&last).await;
        assert_eq!(rest.status, 200);
        let mut told = Vec::new();
        while let Some((_, message)) = rest.told().await {
            told.push(message);
        }
        let (answer, way) = told.split_last().unwrap();
        assert_eq!(answer["id"], 1, "{answer}");
        assert!(way.iter().all(|told| told["id"].is_null()), "{way:?}");
        assert!(
            way.iter().any(|told| told["params"]["progress"] == 2.0),
            "{way:?}"
        );
        stage.go_on();
        assert_eq!(other.message().await["id"], 2, "each stream has its own");

        // While the stream is stored, everything after any event can be read again.
        let mut again = session.resume(&last).await;
        let mut told_again = Vec::new();
        while let Some((_, message)) = again.told().await {
            told_again.push(message);
        }
        assert_eq!(told_again, told, "{revision:?}");
    }
}

// Shows HT25-23.
#[tokio::test(start_paused = true)]
async fn no_two_events_of_a_session_have_one_id() {
    for revision in REVISIONS {
        let stage = Stage::default();
        let server = stage.builder().build().unwrap();
        let session = Client::of(&server).open(revision).await;
        let mut listening = session.listen().await;
        let mut streams = Vec::new();
        for id in 1..=4 {
            streams.push(calling(&session, id, "tells").await);
        }
        for _ in 0..4 {
            stage.go_on();
            rest().await;
        }
        server.changed(Change::Tools);
        let mut ids = Vec::new();
        ids.extend(listening.event().await.unwrap().id);
        for stream in &mut streams {
            while let Some(event) = stream.event().await {
                ids.extend(event.id);
            }
        }
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{revision:?}: {ids:?}");
        assert!(ids.len() > 12, "{revision:?}: {ids:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_resumed_while_its_call_goes_on() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let mut asking = calling(&session, 1, "asks").await;
    asking.event().await;
    let primed = asking.last_event_id();
    // The connection breaks before the question arrives.
    drop(asking);
    let mut resumed = session.resume(&primed).await;
    let question = resumed.message().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let accept = json!({"action": "accept", "content": {"window": true}});
    session.answer(&question, accept).await;
    assert_eq!(resumed.message().await["id"], 1);
    resumed.assert_ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_reader_takes_over() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let mut first = calling(&session, 1, "waits").await;
    first.event().await;
    let mut second = session.resume(&first.last_event_id()).await;
    first.assert_ended().await;
    // The first response drove the handler, which continues without it.
    drop(first);
    second.event().await;
    stage.go_on();
    let answer = second.message().await;
    assert_eq!(answer["id"], 1, "{answer}");
    second.assert_ended().await;
    assert_eq!(stage.handlers(), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn ids_of_no_event_resume_nothing() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let other = stage.client().open(Revision::V2025_11_25).await;
    for at in 1..5 {
        drop(calling(&other, at, "waits").await);
    }
    let waiting = calling(&session, 1, "waits").await;
    for id in [
        "",
        "1",
        "-",
        "1-",
        "-1",
        "x",
        "2-0",
        "4-0",
        "1-1",
        "1-7",
        "0-1",
        "-1-0",
        "1-0-0",
        " 1-0x",
        "1-18446744073709551615",
        "1-18446744073709551616",
        "4294967297-0",
        "\u{e9}",
    ] {
        let response = session.resume(id).await;
        assert_eq!(response.status, 400, "{id:?}");
    }
    let headers = [
        &session.headers()[..],
        &[("last-event-id", "1-0"), ("last-event-id", "0-0")],
    ];
    let twice = session.client.get(&headers.concat()).await;
    assert_eq!(twice.status, 400, "two ids");
    assert_eq!(session.resume("1-0").await.status, 200);
    drop(waiting);
}

// Shows HT25-11.
#[tokio::test(start_paused = true)]
async fn a_handler_may_have_its_client_come_back() {
    for revision in REVISIONS {
        let stage = Stage::default();
        let session = stage.client().open(revision).await;
        let mut stream = calling(&session, 1, "lets_go").await;
        assert_eq!(stream.message().await["params"]["progress"], 1.0);
        let last = stream.last_event_id();
        if !revision.facts().http.polling {
            // Clients of these revisions cannot reconnect.
            stream.assert_quiet().await;
            stage.go_on();
            assert_eq!(stream.message().await["params"]["progress"], 2.0);
            continue;
        }
        stream.assert_ended().await;
        assert_eq!(stream.retry(), Some(Limits::default().http.retry));
        drop(stream);
        stage.go_on();
        rest().await;
        assert_eq!(stage.handlers(), (1, 1, 0));
        let mut polled = session.resume(&last).await;
        assert_eq!(polled.message().await["params"]["progress"], 2.0);
        assert_eq!(
            polled.message().await["result"]["content"][0]["text"],
            "You came back."
        );
        polled.assert_ended().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_kept_is_not_left_out_in_silence() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    // More events than are stored.
    let mut stream = session.call(1, "tools/call", flood(600, 10, 10)).await;
    let mut ids = Vec::new();
    while let Some((id, _)) = stream.told().await {
        ids.push(id.unwrap());
    }
    assert_eq!(ids.len(), 601);
    drop(stream);
    assert_eq!(session.resume(&ids[0]).await.status, 400);
    let mut rest = session.resume(&ids[590]).await;
    let mut count = 0;
    while rest.told().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 10);

    // A result of more bytes than are stored.
    let most = Limits::default().http.resume_bytes;
    let mut stream = session.call(2, "tools/call", flood(1, 1, most)).await;
    let (first, _) = stream.told().await.unwrap();
    while stream.told().await.is_some() {}
    assert_eq!(session.resume(&first.unwrap()).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn what_tells_of_the_way_is_left_out_where_nobody_reads() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let most = Limits::default().http.resume_bytes;
    let mut stream = session.call(1, "tools/call", flood(400, 4096, 10)).await;
    let primed = stream.event().await.unwrap().id.unwrap();
    drop(stream);
    rest().await;
    assert_eq!(stage.handlers(), (1, 1, 0));
    let mut rest = session.resume(&primed).await;
    let (mut bytes, mut last) = (0, Value::Null);
    while let Some(event) = rest.event().await {
        bytes += event.data.len();
        if !event.data.is_empty() {
            last = serde_json::from_slice(&event.data).unwrap();
        }
    }
    assert!(bytes < most + 10_000, "{bytes}");
    assert_eq!(
        last["result"]["content"][0]["text"], "yyyyyyyyyy",
        "the result is not"
    );
}

#[tokio::test(start_paused = true)]
async fn streams_that_ended_are_kept_for_a_while_and_not_too_many() {
    let stage = Stage::default();
    let session = stage.client().open(Revision::V2025_11_25).await;
    let keep = Limits::default().http.resume_streams as u64;
    for id in 1..=keep + 4 {
        drop(calling(&session, id, "waits").await);
        stage.go_on();
        rest().await;
    }
    // The streams ended after their readers disconnected. The next stream to end makes room.
    drop(calling(&session, 100, "tells").await);
    let kept = async |id: u64| session.resume(&format!("{id}-0")).await.status == 200;
    let mut found = Vec::new();
    for id in 1..=keep + 4 {
        found.push(kept(id).await);
    }
    assert_eq!(
        found.iter().filter(|kept| **kept).count() as u64,
        keep,
        "{found:?}"
    );
    assert!(found[found.len() - 1]);
    sleep(Limits::default().http.resume + Duration::from_secs(30)).await;
    assert!(!kept(keep + 4).await);
    assert!(kept(keep + 5).await, "a call that goes on");
    stage.go_on();
}

#[tokio::test(start_paused = true)]
async fn the_own_stream_is_resumed_like_any() {
    let server = Stage::default().builder().build().unwrap();
    let session = Client::of(&server).open(Revision::V2025_11_25).await;
    let mut own = session.listen().await;
    own.event().await;
    for _ in 0..3 {
        server.changed(askback::Change::Tools);
    }
    let (first, _) = own.told().await.unwrap();
    own.told().await.unwrap();
    own.told().await.unwrap();
    let mut again = session.resume(&first.unwrap()).await;
    own.assert_ended().await;
    for _ in 0..2 {
        assert_eq!(
            again.message().await["method"],
            "notifications/tools/list_changed"
        );
    }
    again.assert_quiet().await;
    // A client without `Last-Event-ID` only gets new events.
    let mut new = session.listen().await;
    assert!(new.event().await.unwrap().data.is_empty());
    new.assert_quiet().await;
}
