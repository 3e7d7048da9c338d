//! The HTTP+SSE transport: an event stream and a message endpoint.

use std::sync::Arc;

use askback::client::ClientError;
use serde_json::json;
use tokio::sync::Notify;

use super::{Asked, Piece, Reply, Server, call, connect, event, said};

/// A 2024-11-05 server, whose first event names this endpoint.
async fn old(endpoint: &'static str) -> Server {
    old_that(endpoint, |_| Reply::empty(202)).await
}

/// A 2024-11-05 server that handles each message with this function.
async fn old_that(
    endpoint: &'static str,
    take: impl Fn(&str) -> Reply + Send + Sync + 'static,
) -> Server {
    let first = Arc::new(Notify::new());
    let second = Arc::new(Notify::new());
    Server::start(move |asked: &Asked, _| match (asked.what(), &*asked.path) {
        ("GET", "/mcp") => {
            let initialized = json!({"jsonrpc": "2.0", "id": 2, "result": {
                "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}});
            let called = json!({"jsonrpc": "2.0", "id": 3, "result": said("done")});
            Reply::events(endpoint)
                .then(Piece::Wait(Arc::clone(&first)))
                .and(&event(&initialized.to_string()))
                .then(Piece::Wait(Arc::clone(&second)))
                .and(&event(&called.to_string()))
                .then(Piece::Hang)
        }
        ("initialize", "/messages") => {
            first.notify_one();
            take("initialize")
        }
        ("tools/call", "/messages") => {
            second.notify_one();
            take("tools/call").and("Accepted")
        }
        (what, "/messages") => take(what),
        _ => Reply::empty(405),
    })
    .await
}

// Shows HT25-42.
#[tokio::test]
async fn the_older_transport_is_found_and_spoken() {
    let server = old("event: endpoint\ndata: /messages?session=1\n\n").await;
    // The endpoint's path decides. Its query is up to the server.
    let error = connect(&server).await;
    assert!(error.is_err());
    let server = old("event: endpoint\ndata: /messages\n\n").await;
    let client = connect(&server).await.unwrap();
    assert_eq!(client.revision().as_str(), "2024-11-05");
    assert!(call(&client, "t").await.unwrap().contains("done"));
    let expected = [
        "server/discover",
        "initialize",
        "GET",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    assert_eq!(server.whats(), expected);
    client.close().await;
    server.until_hung_up("GET").await;
    assert_eq!(server.whats(), expected);
}

// Shows LI25-06.
#[tokio::test]
async fn nothing_overtakes_the_end_of_the_handshake() {
    let opened = Arc::new(Notify::new());
    let taken = Arc::clone(&opened);
    let server = old_that("event: endpoint\ndata: /messages\n\n", move |what| {
        let reply = Reply::empty(202);
        match what {
            "notifications/initialized" => reply.after(&taken),
            _ => reply,
        }
    });
    let server = server.await;
    let client = connect(&server).await.unwrap();
    let caller = client.clone();
    let called = tokio::spawn(async move { call(&caller, "t").await });
    server.until("notifications/initialized", 1).await;
    // Long enough for the call to arrive if it were not delayed.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.whats().last().unwrap(), "notifications/initialized");
    opened.notify_one();
    assert!(called.await.unwrap().unwrap().contains("done"));
    client.close().await;
}

#[tokio::test]
async fn messages_go_to_the_same_origin_only() {
    for (first, why) in [
        (
            "event: endpoint\ndata: https://evil.test/messages\n\n",
            "it wants messages sent to another origin, or to no URL",
        ),
        (
            "event: endpoint\ndata: //evil.test/messages\n\n",
            "it wants messages sent to another origin, or to no URL",
        ),
        (
            "event: endpoint\ndata: http://[\n\n",
            "it wants messages sent to another origin, or to no URL",
        ),
        (
            "data: /messages\n\n",
            "its stream of events does not begin with an `endpoint`",
        ),
    ] {
        let server = old(first).await;
        let error = connect(&server).await.unwrap_err();
        let why = format!(
            "Method Not Allowed; and as a server of the older transport: the server broke the protocol: {why}"
        );
        assert_eq!(error, ClientError::Http { status: 405, why });
        assert_eq!(server.whats(), ["server/discover", "initialize", "GET"]);
    }
}

#[tokio::test]
async fn a_server_without_a_known_transport_is_reported_as_such() {
    let server = Server::start(|_, _| Reply::empty(404)).await;
    let error = connect(&server).await.unwrap_err();
    let why = "Not Found; and as a server of the older transport: the server answered with HTTP status 404: Not Found";
    assert_eq!(
        error,
        ClientError::Http {
            status: 404,
            why: why.into()
        }
    );
}
