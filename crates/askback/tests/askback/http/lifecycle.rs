//! Sessions over HTTP, apart from their calls.

use std::{sync::Arc, time::Duration};

use askback::{
    Revision, Server, Tool,
    store::{FileStore, MemoryStore, Store},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    Stage,
    client::{Client, hello},
    serving::Serving,
};
use crate::{
    lifecycle::{reserve, watching},
    log::Log,
};

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{method}")})
}

// Shows LI25-07.
#[tokio::test(start_paused = true)]
async fn a_question_waits_until_the_client_of_a_session_is_initialized() {
    let server = Server::new("tests", "1")
        .tool(Tool::new("reserve", reserve))
        .build();
    let client = Client::of(&server.expect("the server is whole"));
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let opened = client
            .post(&[], &hello(revision, json!({"elicitation": {}})))
            .await;
        let id = opened
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let named = [("mcp-session-id", &*id)];
        let params = json!({"name": "reserve"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut stream = client.post(&named, &call).await;
        let early = timeout(Duration::from_secs(1), stream.message()).await;
        assert!(early.is_err(), "{revision}: {early:?}");
        let said = client.post(&named, &notification("initialized")).await;
        assert_eq!((said.status.as_u16(), &*said.text().await), (202, ""));
        let question = stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{revision}");
        let result = json!({"action": "accept", "content": {"window": true}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        assert_eq!(client.post(&named, &answer).await.status, 202);
        assert_eq!(stream.message().await["id"], 1);
    }
}

// Shows RO-17.
#[tokio::test(start_paused = true)]
async fn an_author_is_told_that_roots_changed_over_http() {
    let (builder, mut changes) = watching();
    let client = Client::of(&builder.build().expect("the server is whole"));
    for revision in Revision::ALL {
        if !revision.facts().http.sessions {
            continue;
        }
        let session = client
            .open_with(revision, json!({"roots": {"listChanged": true}}))
            .await;
        let said = session.post(&notification("roots/list_changed")).await;
        assert_eq!(said.status, 202);
        let changed = timeout(Duration::from_secs(60), changes.recv()).await;
        let changed = changed.expect("nobody is told").expect("a change");
        assert_eq!(changed.revision(), revision);
        assert_eq!(changed.client_info().expect("a client").name, "tests");
    }
}

#[tokio::test]
async fn a_server_logs_where_it_is_and_where_it_keeps_claims() {
    let folder = tempfile::tempdir().unwrap();
    let files: Arc<dyn Store> = Arc::new(FileStore::open(folder.path().join("claims")).unwrap());
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
    for (store, claims) in [
        (None, "tests.claims"),
        (Some(memory), "memory: it ends with the process"),
        (Some(files), "the store it was given"),
    ] {
        let log = Log::default();
        let _listening = log.listen();
        let mut builder = Stage::default().builder();
        if let Some(store) = store {
            builder = builder.store(store);
        }
        let server = Serving::start(builder).await;
        server.assert_well().await;
        let (text, url) = (log.text(), format!("url=http://{}/mcp", server.addr));
        assert!(text.contains("serving over HTTP"), "{text}");
        assert!(text.contains(&url) && text.contains(claims), "{text}");
    }
}
