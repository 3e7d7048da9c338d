//! Requests that a server accepts but does not answer.

use std::{sync::Arc, time::Duration};

use askback::client::ClientError;
use serde_json::json;
use tokio::sync::Notify;

use super::{Asked, Piece, Reply, Server, call, connect, event, modern, said, session};

type Answer = fn(&Asked) -> Reply;

/// Far longer than an answer takes here, and far shorter than a call's timeout.
const SOON: Duration = Duration::from_secs(20);

/// Calls a tool on a server that answers calls with `called` and other requests with `others`.
/// Returns the outcome and the number of attempts.
async fn outcome(
    called: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    others: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
) -> (Result<String, ClientError>, usize) {
    let server = Server::start(move |asked, before| match asked.what() {
        "tools/call" => called(asked),
        _ => others(asked, before),
    })
    .await;
    let client = connect(&server).await.unwrap().with_timeout(SOON);
    let outcome = call(&client, "t").await;
    let calls = server
        .whats()
        .iter()
        .filter(|it| *it == "tools/call")
        .count();
    client.close().await;
    (outcome, calls)
}

#[tokio::test]
async fn a_call_that_was_only_accepted_ends_at_once_if_no_stream_can_bring_its_response() {
    const UNANSWERED: &str = "the server answered with HTTP status 202: a request was not answered";
    let accepted: [(Answer, &str); 4] = [
        (|_| Reply::empty(202), ""),
        (
            |_| {
                Reply::empty(202)
                    .header("Content-Type", "text/plain")
                    .and("Accepted\n")
            },
            ": Accepted",
        ),
        (
            |_| Reply::json(202, r#"{"queued":true}"#),
            r#": {"queued":true}"#,
        ),
        (
            |_| Reply::json(202, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
            r#": {"jsonrpc":"2.0","id":99,"result":{}}"#,
        ),
    ];
    let streams: [fn(usize) -> Reply; 4] = [
        |_| Reply::empty(405),
        |_| Reply::empty(404),
        |_| Reply::json(200, "{}"),
        // The server had already responded.
        |before| match before {
            0 => Reply::events(": here\n\n"),
            _ => Reply::empty(405),
        },
    ];
    for (called, said) in accepted {
        let expected = format!("{UNANSWERED}{said}");
        let (error, calls) = outcome(called, |asked, _| modern(asked)).await;
        assert_eq!(
            (error.unwrap_err().to_string(), calls),
            (expected.clone(), 1)
        );
        for stream in streams {
            let others = move |asked: &Asked, before| match asked.what() {
                "GET" => stream(before),
                _ => session(asked),
            };
            let (error, calls) = outcome(called, others).await;
            assert_eq!(
                (error.unwrap_err().to_string(), calls),
                (expected.clone(), 1)
            );
        }
    }
}

#[tokio::test]
async fn a_response_is_taken_with_whatever_status_of_success_it_comes() {
    let called: Answer = |asked| Reply::json(202, asked.response(said("done")));
    let stream: Answer = |asked| Reply::events_with(202, &event(&asked.response(said("done"))));
    for called in [called, stream] {
        for others in [modern, session] {
            let (outcome, _) = outcome(called, move |asked, _| others(asked)).await;
            assert!(
                outcome.as_ref().is_ok_and(|it| it.contains("done")),
                "{outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_response_may_come_on_the_stream_that_is_listened_on() {
    let called = Arc::new(Notify::new());
    let seen = Arc::clone(&called);
    let take = move |_: &Asked| {
        called.notify_one();
        Reply::empty(202)
    };
    let response = event(&json!({"jsonrpc": "2.0", "id": 3, "result": said("late")}).to_string());
    let others = move |asked: &Asked, _| match asked.what() {
        "GET" => Reply::events("")
            .then(Piece::Wait(Arc::clone(&seen)))
            .and(&response)
            .then(Piece::Hang),
        _ => session(asked),
    };
    let (outcome, _) = outcome(take, others).await;
    assert!(
        outcome.as_ref().is_ok_and(|it| it.contains("late")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_call_ends_when_the_stream_that_could_bring_its_response_does() {
    let called = Arc::new(Notify::new());
    let seen = Arc::clone(&called);
    let take = move |_: &Asked| {
        called.notify_one();
        Reply::empty(202)
    };
    let others = move |asked: &Asked, before| match (asked.what(), before) {
        ("GET", 0) => Reply::events(": here\n\n").then(Piece::Wait(Arc::clone(&seen))),
        _ => session(asked),
    };
    let (outcome, _) = outcome(take, others).await;
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, ClientError::Http { status: 202, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_stream_that_ends_without_a_response_ends_the_call_with_what_came() {
    #[track_caller]
    fn check(outcome: (Result<String, ClientError>, usize), why: &str, received: &str) {
        let (why, received) = (why.to_owned(), received.to_owned());
        let error = ClientError::Unreadable { why, received };
        // The call is not retried, because the server did answer.
        assert_eq!(outcome, (Err(error), 1));
    }
    let long = "x".repeat(5000);
    for (data, why) in [
        ("hello", "the message is not JSON"),
        (
            r#"{"jsonrpc":"2.0","foo":1}"#,
            r#"a message has one of "method", "result" and "error""#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            "it is not a response to the request",
        ),
        (&*long, "the message is not JSON"),
    ] {
        let received = &data[..data.len().min(1024)];
        for others in [modern, session] {
            let events = event(data);
            let called = move |_: &Asked| Reply::events(&events);
            check(
                outcome(called, move |asked, _| others(asked)).await,
                why,
                received,
            );
        }
        // The stream could be resumed, but the server refuses.
        let events = format!("id: 1\n{}", event(data));
        let called = move |_: &Asked| Reply::events(&events);
        check(
            outcome(called, |asked, _| session(asked)).await,
            why,
            received,
        );
    }
}
