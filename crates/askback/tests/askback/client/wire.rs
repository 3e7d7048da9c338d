//! The messages that a client reports.

use std::sync::{Arc, Mutex};

use askback::{
    Ctx, Result, Revision, Server, Tool,
    client::ClientBuilder,
    transport::{self, WireEvent},
};

use serde_json::json;

use super::{Hosted, Scripted, accept, builder};

pub(super) type Seen = Arc<Mutex<Vec<String>>>;

/// Logs the client's messages.
pub(super) fn watched(builder: ClientBuilder) -> (ClientBuilder, Seen) {
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let text = |message: &[u8]| String::from_utf8_lossy(message).into_owned();
    let builder = builder.on_wire(move |event| {
        let line = match event {
            WireEvent::Sent(message) => format!("sent {}", text(message)),
            WireEvent::Received(message) => format!("received {}", text(message)),
            other => format!("{other:?}"),
        };
        told.lock().unwrap().push(line);
    });
    (builder, seen)
}

async fn confirm(ctx: Ctx) -> Result<&'static str> {
    Ok(match ctx.confirm("Sure?").await? {
        true => "confirmed",
        false => "refused",
    })
}

#[tokio::test]
async fn every_message_of_a_stream_is_shown_in_the_order_it_travelled() {
    async fn check(revision: Revision, expected: &[&str]) {
        let server = Server::new("s", "1").tool(Tool::new("confirm", confirm));
        let server = server.build().unwrap();
        let (near, far) = transport::memory();
        let serving = tokio::spawn(async move { server.serve(far).await });
        let host = Scripted::new(|_| accept(json!({"confirm": true})));
        let (builder, seen) = watched(builder(Some(revision)).host(host));
        let client = builder.connect(near).await.unwrap();
        client.call_tool("confirm", ()).await.unwrap();
        client.close().await;
        serving.await.unwrap().unwrap();
        let seen = seen.lock().unwrap();
        let is_like = |(line, part): (&String, &&str)| {
            let (direction, part) = part.split_once(' ').unwrap();
            line.starts_with(direction) && line.contains(part)
        };
        assert_eq!(seen.len(), expected.len(), "{seen:#?}");
        assert!(seen.iter().zip(expected).all(is_like), "{seen:#?}");
    }
    check(
        Revision::V2026_07_28,
        &[
            "sent server/discover",
            "received supportedVersions",
            "sent tools/call",
            "received inputRequests",
            "sent inputResponses",
            "received content",
        ],
    )
    .await;
    check(
        Revision::V2025_11_25,
        &[
            "sent initialize",
            "received protocolVersion",
            "sent notifications/initialized",
            "sent tools/call",
            "received elicitation/create",
            "sent accept",
            "received content",
        ],
    )
    .await;
}
