//! Changes in one process that concern clients of other processes.

use std::{sync::Arc, time::Duration};

use askback::{Change, Fleet, Principal, Revision, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Shared, at, line::JournalLine};
use crate::http::client::{Client, Response, Session};

/// How long a hint may take.
const SOON: Duration = Duration::from_secs(2);

/// A process that tells the others about changes.
fn server(shared: &Shared) -> Server {
    let line = JournalLine::new(&shared.journal);
    let fleet = Fleet::new(line.clone()).bus(Arc::clone(&shared.journal));
    let server = shared.builder(&line).fleet(fleet).build();
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
