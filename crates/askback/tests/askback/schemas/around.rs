//! The order of schema checks and the other checks around a handler.

use askback::{
    Error, Json, Limits, Result, Revision, Server, Tool,
    ctx::Incoming,
    middleware::{HandledCall, Middleware, Next},
    protocol::TaskSupport,
    testing::TestClock,
};
use serde_json::{Value, json};

use super::{Total, add_up, call, text};
use crate::{
    middleware::{Notes, Noting},
    offered::Peer,
};

struct Closed;

impl Middleware for Closed {
    async fn around(&self, _: &Incoming, _: Next<'_>) -> Result<HandledCall> {
        Err(Error::not_done("Nobody may add up today."))
    }
}

#[tokio::test]
async fn middleware_sees_what_a_check_refuses() {
    let why = "the arguments do not fit: `items` is missing";
    for (task, revision) in [
        (TaskSupport::Forbidden, Revision::V2025_11_25),
        (TaskSupport::Forbidden, Revision::LATEST),
        (TaskSupport::Optional, Revision::LATEST),
    ] {
        let notes = Notes::default();
        let tool = Tool::new("add_up", add_up).task(task);
        let builder = Server::new("desk", "1").middleware(Noting("log", notes.clone()));
        let server = builder.tool(tool).build().unwrap();
        let refused = call(&server, revision, json!({})).await;
        assert_eq!(refused["isError"], true, "{revision}: {refused}");
        assert_eq!(text(&refused), why, "{revision}");
        let expected = [
            "log: tools/call add_up {} null".to_owned(),
            format!("log: {why}"),
        ];
        assert_eq!(notes.take(), expected, "{revision}");
    }
}

#[tokio::test]
async fn what_middleware_refuses_is_a_failure_where_clients_want_a_value() {
    let builder = Server::new("desk", "1").middleware(Closed);
    let server = builder.tool(Tool::new("add_up", add_up)).build().unwrap();
    for revision in Revision::ALL {
        let refused = call(&server, revision, json!({"items": []})).await;
        assert_eq!(refused["isError"], true, "{revision}: {refused}");
        assert_eq!(text(&refused), "Nobody may add up today.", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_check_refuses_counts_as_any_other() {
    let mut limits = Limits::default();
    limits.server.unknown_calls = 1;
    let nothing = async |_: Json<Value>| -> Result<Json<Total>> { Err(Error::new("nothing")) };
    for tool in [Tool::new("t", add_up), Tool::new("t", nothing)] {
        let builder = Server::new("desk", "1").limits(limits.clone());
        let server = builder.clock(TestClock::new()).tool(tool).build().unwrap();
        let mut peer = Peer::connect(&server, Revision::LATEST).await;
        let request = json!({"name": "t", "arguments": {}});
        let first = peer.result("tools/call", request.clone()).await;
        assert_eq!(first["isError"], true, "{first}");
        assert!(!text(&first).contains("too often"), "{first}");
        let second = peer.result("tools/call", request).await;
        assert_eq!(second["isError"], true, "{second}");
        assert!(text(&second).contains("called too often"), "{second}");
    }
}
