//! Servers over a stream that are told to stop.

use std::{sync::Arc, time::Duration};

use askback::{
    Ctx, Form, Limits, Result, Revision, Server, Tool,
    client::{Client, ClientError},
    transport::memory,
};
use serde_json::json;
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::Instant,
};

use crate::client::{Hosted, Scripted, accept, builder};

#[derive(Form)]
struct Seat {
    /// By the window?
    window: bool,
}

/// A server that is told to stop, and its client.
struct Stage {
    client: Client,
    /// Notified when a handler has begun to wait.
    begun: Arc<Notify>,
    /// Lets the handler continue.
    go_on: Arc<Notify>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Stage {
    async fn start(revision: Revision) -> Self {
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let stage = (Arc::clone(&begun), Arc::clone(&go_on));
        let waits = move |ctx: Ctx| {
            let (begun, go_on) = stage.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                if ctx.can_elicit() {
                    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
                    return Ok(format!("window: {}", seat.window));
                }
                Ok("done".to_owned())
            }
        };
        let server = Server::new("tests", "1")
            .tool(Tool::new("waits", waits))
            .tool(Tool::new("hello", async || -> Result<&str> {
                Ok("Hello!")
            }));
        let server = server.build().unwrap();
        let (here, there) = memory();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve_until(there, stopped).await
        });
        let host = Scripted::new(|_| accept(json!({"window": true})));
        let client = builder(Some(revision)).host(host).connect(here).await;
        Self {
            client: client.unwrap(),
            begun,
            go_on,
            stop,
            served,
        }
    }
}

/// Sessions, in which the client answers within the call.
const SESSIONS: [Revision; 2] = [Revision::V2025_06_18, Revision::V2025_11_25];

#[tokio::test(start_paused = true)]
async fn a_server_where_nothing_goes_on_stops_at_once() {
    for revision in Revision::ALL {
        let stage = Stage::start(revision).await;
        let started = Instant::now();
        stage.stop.send(()).unwrap();
        stage.served.await.unwrap().unwrap();
        assert_eq!(started.elapsed(), Duration::ZERO, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_end_and_be_answered_and_nothing_new_begins() {
    for revision in SESSIONS {
        let stage = Stage::start(revision).await;
        let client = stage.client.clone();
        let waiting = tokio::spawn(async move { client.call_tool("waits", ()).await });
        stage.begun.notified().await;
        stage.stop.send(()).unwrap();
        tokio::task::yield_now().await;
        let refused = stage.client.call_tool("hello", ()).await.unwrap_err();
        let ClientError::Server(error) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.message, "the server is stopping");
        stage.go_on.notify_one();
        let result = waiting.await.unwrap().unwrap();
        let said = serde_json::to_value(&result.content[0]).unwrap();
        assert_eq!(said["text"], "window: true");
        stage.served.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_answered_with_an_error() {
    for revision in SESSIONS {
        let stage = Stage::start(revision).await;
        let client = stage.client.clone();
        let waiting = tokio::spawn(async move { client.call_tool("waits", ()).await });
        stage.begun.notified().await;
        let started = Instant::now();
        stage.stop.send(()).unwrap();
        stage.served.await.unwrap().unwrap();
        assert_eq!(
            started.elapsed(),
            askback::Limits::default().server.shutdown
        );
        let refused = waiting.await.unwrap().unwrap_err();
        let ClientError::Server(error) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.message, "the server is stopping");
    }
}

/// `echo … | server` gets its response too. A call that takes longer ends with its client.
#[tokio::test(start_paused = true)]
async fn a_client_that_stops_sending_gets_its_responses_for_a_moment() {
    let drain = Limits::default().server.drain;
    for (takes, is_answered) in [(drain / 2, true), (drain * 2, false)] {
        let waits = move || async move {
            tokio::time::sleep(takes).await;
            Ok("done")
        };
        let server = Server::new("tests", "1").tool(Tool::new("waits", waits));
        let server = server.build().unwrap();
        let (here, there) = memory();
        let served = tokio::spawn(async move { server.serve(there).await });
        let (mut receiver, mut sender) = here.split();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "waits",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }});
        sender.send(call.to_string().into_bytes()).await.unwrap();
        let started = Instant::now();
        sender.close().await.unwrap();
        drop(sender);
        let answer = receiver.receive().await.unwrap();
        let answer = answer.map(|answer| String::from_utf8(answer).unwrap());
        let has_answer = answer.as_ref().is_some_and(|it| it.contains("done"));
        assert_eq!(has_answer, is_answered, "{answer:?}");
        served.await.unwrap().unwrap();
        assert_eq!(started.elapsed(), takes.min(drain));
    }
}
