//! Middleware, and limits on how often a caller may call.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Ctx, Error, ErrorObject, Form, Limits, Principal, Prompt, Resource, ResourceTemplate, Result,
    Revision, Server, ServerBuilder, Tool,
    ctx::{Arguments, Incoming},
    middleware::{HandledCall, Middleware, Next},
    protocol::{CacheScope, CallToolResult, ReadResourceResult, ResourceContents, TaskSupport},
    testing::{self, Person, TestClock, Trouble},
};
use serde_json::{Value, json};

use crate::{asking::Seat, lifecycle::reserve, offered::Peer};

#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn note(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }
}

/// Logs what it sees of each call, with its own name.
pub(crate) struct Noting(pub(crate) &'static str, pub(crate) Notes);

impl Middleware for Noting {
    async fn around(&self, call: &Incoming, next: Next<'_>) -> Result<HandledCall> {
        let Self(name, notes) = self;
        let arguments = match call.arguments() {
            Arguments::Object(object) => object.as_str().to_owned(),
            Arguments::Texts(texts) => format!("{texts:?}"),
            _ => String::new(),
        };
        let (method, target) = (call.method(), call.target());
        let trace = call.meta().get("example.com/trace").unwrap_or(&Value::Null);
        notes.note(format!("{name}: {method} {target} {arguments} {trace}"));
        let handled = next.run().await;
        notes.note(match &handled {
            Ok(handled) if handled.is_error() => format!("{name}: an error"),
            Ok(handled) if handled.asks() => format!("{name}: a question"),
            Ok(handled) if handled.is_task() => format!("{name}: a task"),
            Ok(_) => format!("{name}: done"),
            Err(error) => format!("{name}: {error}"),
        });
        handled
    }
}

#[derive(Form)]
struct Place {
    name: String,
}

async fn place(place: Place) -> Result<String> {
    Ok(place.name)
}

/// With `error`, every handler fails.
fn builder(error: Option<fn() -> Error>) -> ServerBuilder {
    let end = move |place: Place| {
        let ended = error.map_or(Ok(place.name), |error| Err(error()));
        async move { ended }
    };
    let read = move || {
        let ended = error.map_or(Ok("One.".to_owned()), |error| Err(error()));
        async move { ended }
    };
    let names = move || {
        let ended = error.map_or(Ok(vec!["Rome".to_owned()]), |error| Err(error()));
        async move { ended }
    };
    Server::new("tests", "1")
        .tool(Tool::new("place", end))
        .prompt(Prompt::new("place", end).complete("name", names))
        .resource(Resource::new("x:one", "one", read))
        .resource_template(ResourceTemplate::new("x://{name}", "one of many", end))
}

/// One request of each kind, and its log entry.
fn requests() -> [(&'static str, Value, &'static str); 5] {
    let argument = json!({"name": "name", "value": "R"});
    [
        (
            "tools/call",
            json!({"name": "place", "arguments": {"name": "Bari"}}),
            "place {\"name\":\"Bari\"}",
        ),
        (
            "prompts/get",
            json!({"name": "place", "arguments": {"name": "Bari"}}),
            "place {\"name\": \"Bari\"}",
        ),
        ("resources/read", json!({"uri": "x:one"}), "x:one {}"),
        (
            "resources/read",
            json!({"uri": "x://Bari"}),
            "x://Bari {\"name\": \"Bari\"}",
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "place"}, "argument": argument}),
            "place {\"name\": \"R\"}",
        ),
    ]
}

#[tokio::test]
async fn middleware_is_around_each_call_in_the_order_in_which_it_was_added() {
    let notes = Notes::default();
    let builder = builder(None).middleware(Noting("outer", notes.clone()));
    let server = builder.middleware(Noting("inner", notes.clone()));
    let server = server.build().unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for (method, mut params, seen) in requests() {
            params["_meta"] = json!({"example.com/trace": 7});
            peer.result(method, params).await;
            let expected = [
                format!("outer: {method} {seen} 7"),
                format!("inner: {method} {seen} 7"),
                "inner: done".to_owned(),
                "outer: done".to_owned(),
            ];
            assert_eq!(notes.take(), expected, "{revision}");
        }
        // A request that reaches no handler reaches no middleware.
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "nothing"})),
            ("prompts/get", json!({"name": "nothing"})),
            ("resources/read", json!({"uri": "y:none"})),
        ] {
            peer.request(method, params).await;
            assert_eq!(notes.take(), Vec::<String>::new(), "{revision}: {method}");
        }
    }
}

#[cfg(feature = "http-server")]
#[tokio::test(start_paused = true)]
async fn middleware_is_around_each_call_over_http() {
    let notes = Notes::default();
    let server = builder(None)
        .middleware(Noting("it", notes.clone()))
        .build();
    let client = crate::http::client::Client::of(&server.unwrap());
    for (method, mut params, seen) in requests() {
        params["_meta"] = json!({"example.com/trace": 7});
        let expected = [format!("it: {method} {seen} 7"), "it: done".to_owned()];
        if method != "completion/complete" {
            let response = client.call(method, params.clone()).await.json().await;
            assert!(response["error"].is_null(), "{response}");
            assert_eq!(notes.take(), expected);
        }
        let session = client.open(Revision::V2025_11_25).await;
        let text = session.call(1, method, params).await.text().await;
        assert!(!text.contains("\"error\""), "{text}");
        assert_eq!(notes.take(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_runs_once_a_round_and_not_in_replays() {
    let notes = Notes::default();
    let noting = notes.clone();
    let server = move || {
        let builder = Server::new("tests", "1").tool(Tool::new("reserve", reserve));
        builder.middleware(Noting("it", noting.clone()))
    };
    let call = testing::call(server, "reserve", json!({}));
    let call = call.with(Person::new().answer("seat", json!({"window": true})));
    let (begins, asks, done) = (
        "it: tools/call reserve {} null",
        "it: a question",
        "it: done",
    );
    for (revision, expected) in [
        (Revision::V2026_07_28, vec![begins, asks, begins, done]),
        (Revision::V2025_11_25, vec![begins, done]),
        (Revision::V2025_06_18, vec![begins, done]),
    ] {
        assert!(!call.in_revision(revision).await.is_error());
        assert_eq!(notes.take(), expected, "{revision}");
    }
    // The second round reaches another server.
    call.in_trouble(Trouble::Restart).await;
    assert_eq!(notes.take(), [begins, asks, begins, done]);
}

#[tokio::test]
async fn middleware_sees_that_a_tool_answered_with_an_error() {
    let notes = Notes::default();
    let fails = async || Ok(CallToolResult::error("Broken."));
    let builder = Server::new("tests", "1").tool(Tool::new("fails", fails));
    let server = builder.middleware(Noting("it", notes.clone())).build();
    let server = server.unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        let result = peer.result("tools/call", json!({"name": "fails"})).await;
        assert_eq!(result["isError"], true, "{revision}: {result}");
        let expected = ["it: tools/call fails {} null", "it: an error"];
        assert_eq!(notes.take(), expected, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_sees_that_a_call_becomes_a_task() {
    let notes = Notes::default();
    let tool = Tool::new("place", place).task(TaskSupport::Optional);
    let builder = Server::new("tests", "1").tool(tool);
    let server = builder.middleware(Noting("it", notes.clone())).build();
    let mut peer = Peer::connect(&server.unwrap(), Revision::LATEST).await;
    let params = json!({"name": "place", "arguments": {"name": "Bari"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    }});
    peer.wire.request("tools/call", params).await;
    let answer = peer.wire.hear().await.unwrap();
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    let begins = "it: tools/call place {\"name\":\"Bari\"} null";
    assert_eq!(notes.take(), [begins, "it: a task"]);
}

struct Refusing(fn() -> Error);

impl Middleware for Refusing {
    async fn around(&self, _: &Incoming, _: Next<'_>) -> Result<HandledCall> {
        Err((self.0)())
    }
}

#[tokio::test]
async fn a_refusal_is_answered_as_the_same_error_of_the_handler() {
    let errors: [fn() -> Error; 5] = [
        || Error::new("Not on Sundays."),
        || Error::invalid_params("Not this one."),
        || Error::not_found("Gone."),
        || Error::not_done("They said no."),
        || Error::protocol(ErrorObject::new(-32099, "Closed.")),
    ];
    for (at, error) in errors.into_iter().enumerate() {
        let refusing = builder(None).middleware(Refusing(error)).build().unwrap();
        let failing = builder(Some(error)).build().unwrap();
        for revision in Revision::ALL {
            let mut refused = Peer::connect(&refusing, revision).await;
            let mut failed = Peer::connect(&failing, revision).await;
            for (method, params, _) in requests() {
                let mut answer = refused.request(method, params.clone()).await;
                let expected = failed.request(method, params).await;
                answer["id"] = expected["id"].clone();
                assert_eq!(answer, expected, "{revision}: {method}, error {at}");
            }
        }
    }
}

/// Runs every call, and then refuses its result.
struct Withholding;

impl Middleware for Withholding {
    async fn around(&self, _: &Incoming, next: Next<'_>) -> Result<HandledCall> {
        next.run().await?;
        Err(Error::new("Not for you."))
    }
}

#[tokio::test]
async fn what_is_refused_after_its_handler_is_not_answered() {
    let server = builder(None).middleware(Withholding).build().unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for (method, params, _) in requests() {
            let answer = peer.request(method, params).await;
            let refused = answer["error"].is_object() || answer["result"]["isError"] == true;
            assert!(refused, "{revision}: {method}: {answer}");
            let answer = answer.to_string();
            assert!(answer.contains("Not for you."), "{revision}: {answer}");
            for handled in ["Bari", "One.", "Rome"] {
                assert!(!answer.contains(handled), "{revision}: {answer}");
            }
        }
    }
}

/// Checks the principal, before the call or after it.
struct Looking(bool);

impl Middleware for Looking {
    async fn around(&self, call: &Incoming, next: Next<'_>) -> Result<HandledCall> {
        if self.0 {
            let _ = call.principal();
        }
        let handled = next.run().await;
        let _ = call.principal();
        handled
    }
}

struct Indifferent;

impl Middleware for Indifferent {
    async fn around(&self, _: &Incoming, next: Next<'_>) -> Result<HandledCall> {
        next.run().await
    }
}

#[tokio::test]
async fn what_middleware_lets_some_read_is_kept_private() {
    let public = async || {
        Ok(ReadResourceResult {
            contents: vec![ResourceContents::text("", "One.")],
            cache_scope: Some(CacheScope::Public),
            ..ReadResourceResult::default()
        })
    };
    let builder = || Server::new("tests", "1").resource(Resource::new("x:one", "one", public));
    for (builder, scope) in [
        (builder(), "public"),
        (builder().middleware(Indifferent), "public"),
        (builder().middleware(Looking(true)), "private"),
        (builder().middleware(Looking(false)), "private"),
    ] {
        let mut peer = Peer::connect(&builder.build().unwrap(), Revision::LATEST).await;
        let read = peer.result("resources/read", json!({"uri": "x:one"})).await;
        assert_eq!(read["cacheScope"], scope, "{read}");
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.server.calls, limits.server.unknown_calls) = (2, 3);
    limits.server.calls_window = Duration::from_secs(60);
    limits
}

// Shows TO-37, CO-08, CO-14.
#[tokio::test(start_paused = true)]
async fn whoever_calls_too_often_is_told_how_long_to_wait() {
    for revision in Revision::ALL {
        for (at, (method, params, _)) in requests().into_iter().enumerate() {
            let builder = builder(None).tool(Tool::new("other", async || Ok("Another.")));
            let builder = builder.limits(limits()).clock(TestClock::new());
            let mut peer = Peer::connect(&builder.build().unwrap(), revision).await;
            for _ in 0..3 {
                let result = peer.result(method, params.clone()).await;
                assert_ne!(result["isError"], true, "{result}");
            }
            let name = if at < 2 { "place" } else { method };
            let words = format!("`{name}` was called too often. Try again in 20 s.");
            let refused = peer.request(method, params.clone()).await;
            if method == "tools/call" {
                assert_eq!(refused["result"]["isError"], true, "{refused}");
                assert_eq!(refused["result"]["content"][0]["text"], words);
            } else {
                assert_eq!(refused["error"]["code"], -32603, "{refused}");
                assert_eq!(refused["error"]["message"], words);
            }
            // Each tool has its own limit.
            let other = peer.result("tools/call", json!({"name": "other"})).await;
            assert_ne!(other["isError"], true, "{other}");
            tokio::time::sleep(Duration::from_secs(20)).await;
            let result = peer.result(method, params).await;
            assert_ne!(result["isError"], true, "{revision}: {result}");
        }
    }
}

#[tokio::test]
async fn a_server_without_rate_limit_counts_no_calls() {
    let builder = builder(None).limits(limits()).without_rate_limit();
    let server = builder.build().unwrap();
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    for _ in 0..10 {
        for (method, params, _) in requests() {
            let result = peer.result(method, params).await;
            assert_ne!(result["isError"], true, "{result}");
        }
    }
}

#[cfg(feature = "http-server")]
#[tokio::test]
async fn the_calls_of_one_principal_are_not_counted_for_another() {
    use crate::principal::{body, post};

    let server = builder(None).limits(limits()).build().unwrap();
    let service = server.http().service();
    let params = json!({"name": "place", "arguments": {"name": "Bari"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "place"),
    ];
    let (ada, eve) = (Principal::new("ada"), Principal::new("eve"));
    let adas_other_client = Principal {
        client_id: Some("other".into()),
        ..ada.clone()
    };
    for (at, (who, may)) in [
        (Some(&ada), true),
        (Some(&adas_other_client), true),
        (Some(&ada), false),
        (Some(&adas_other_client), false),
        (Some(&eve), true),
        (Some(&eve), true),
        (Some(&eve), false),
        (None, true),
        (None, true),
        (None, true),
        (None, false),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = body(post(&service, who, &headers, &call).await).await;
        let refused = answer["result"]["isError"] == true;
        assert_eq!(!refused, may, "{at}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_round_of_a_call_is_counted() {
    async fn asks_twice(ctx: Ctx) -> Result<&'static str> {
        let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
        let _: Seat = ctx.elicit("Another?").await?.accepted()?;
        Ok("Done.")
    }
    let server = || {
        let builder = Server::new("tests", "1").tool(Tool::new("asks", asks_twice));
        let mut limits = limits();
        limits.server.unknown_calls = 2;
        builder.limits(limits)
    };
    let seat = json!({"window": true});
    let person = Person::new()
        .answer("seat", seat.clone())
        .answer("seat-2", seat);
    let call = testing::call(server, "asks", json!({})).with(person);
    let run = call.in_revision(Revision::V2025_11_25).await;
    assert_eq!(run.text(), "Done.");
    let run = call.in_revision(Revision::V2026_07_28).await;
    assert!(run.text().contains("called too often"), "{run:?}");
}
