//! A stream ends when the token with which it was opened expires.

use std::time::Duration;

use askback::{Revision, Server, Tool, clock::Clock, testing::TestClock};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Ran, bearer, builder, claims, protection};
use crate::http::client::{Client, MESSAGE, Response, hello, mirrored, stateless};

/// The lifetime of these tests' tokens, plus the allowed clock skew.
const GOOD: Duration = Duration::from_secs(60 + 30);

fn token(clock: &TestClock) -> String {
    let mut claims = claims();
    claims["exp"] = json!(clock.now() / 1000 + 60);
    bearer(&claims)
}

fn client(clock: TestClock) -> Client {
    let work = async || {
        tokio::time::sleep(2 * GOOD).await;
        Ok("Done.")
    };
    let builder = builder(&Ran::default()).tool(Tool::new("works", work));
    let server: Server = builder.clock(clock).build().unwrap();
    Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    )
}

/// Checks that a stream stays open until its token expires.
async fn assert_ends(mut stream: Response, since: Instant) {
    assert!(stream.is_stream(), "{}", stream.status);
    while stream.event().await.is_some() {}
    let lasted = since.elapsed();
    assert!(
        lasted >= GOOD && lasted < GOOD + Duration::from_secs(1),
        "{lasted:?}"
    );
}

// Shows AZ-42.
#[tokio::test(start_paused = true)]
async fn whoever_listens_does_so_for_as_long_as_the_token_is_good() {
    let clock = TestClock::new();
    let (client, since) = (client(clock), Instant::now());
    let token = token(&clock);
    let own = ("authorization", token.as_str());

    let listen = stateless(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let headers = [&MESSAGE[..], &mirrored(&listen), &[own]].concat();
    let listening = client
        .send("POST", "/mcp", &headers, listen.to_string())
        .await;

    // HTTP/2 does not trim spaces around a header value.
    let spaced: Vec<_> = headers
        .iter()
        .map(|(name, value)| match *name {
            "mcp-method" => (*name, " subscriptions/listen"),
            _ => (*name, *value),
        })
        .collect();
    let listening_too = client
        .send("POST", "/mcp", &spaced, listen.to_string())
        .await;

    let headers = [&MESSAGE[..], &[own]].concat();
    let opening = hello(Revision::LATEST_LEGACY, json!({})).to_string();
    let opened = client.send("POST", "/mcp", &headers, opening).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let headers = [
        ("host", "localhost"),
        ("accept", "text/event-stream"),
        own,
        ("mcp-session-id", &session),
    ];
    let own_stream = client.send("GET", "/mcp", &headers, "").await;
    let headers = [("host", "localhost"), ("accept", "text/event-stream"), own];
    let pair = client.send("GET", "/mcp", &headers, "").await;

    tokio::join!(
        assert_ends(listening, since),
        assert_ends(listening_too, since),
        assert_ends(own_stream, since),
        assert_ends(pair, since)
    );
    let again = client.send("GET", "/mcp", &headers, "").await;
    assert_eq!(again.status, 401);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_though_its_token_ends() {
    let clock = TestClock::new();
    let client = client(clock);
    let call = stateless("tools/call", json!({"name": "works"}));
    let token = token(&clock);
    let headers = [
        &MESSAGE[..],
        &mirrored(&call),
        &[("authorization", token.as_str())],
    ]
    .concat();
    let response = client
        .send("POST", "/mcp", &headers, call.to_string())
        .await;
    let answer: Value = response.answer().await;
    assert_eq!(answer["result"]["content"][0]["text"], "Done.");
}
