//! The server's engine: what it answers itself, passes on and sends.

use std::sync::Arc;

use askback_core::{
    ask::CheckedRequest,
    engine::server::{Change, Connection, Output, Profile, SessionSeed},
    forms::FormSchema,
    jsonrpc::{self, RequestId},
    limits::{Limits, WireLimits},
    protocol::{
        ClientCapabilities, CompleteResult, ElicitParams, Implementation, InputRequest, JsonObject,
        LoggingLevel, LoggingMessageParams, PromptsCapability, ResourcesCapability,
        ServerCapabilities, ServerNotification, ToolsCapability,
    },
    revision::Revision,
    wire,
};
use serde_json::{Value, json};

/// One connection, and the outputs after the last message.
struct Bench {
    engine: Connection,
}

/// The parts of the engine's outputs that the tests examine.
#[derive(Debug, PartialEq)]
enum Seen {
    Sent(Value),
    Called(&'static str),
    Cancelled(RequestId),
    Answered(Result<Value, i64>),
    RootsChanged,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Profile)) -> Self {
        let told = Some(true);
        let mut profile = Profile {
            info: Implementation::new("agency", "1"),
            capabilities: ServerCapabilities {
                tools: Some(ToolsCapability { list_changed: told }),
                prompts: Some(PromptsCapability { list_changed: None }),
                resources: Some(ResourcesCapability {
                    list_changed: told,
                    subscribe: told,
                }),
                logging: Some(JsonObject::new()),
                ..ServerCapabilities::default()
            },
            instructions: Some("Book early.".into()),
            revisions: Revision::ALL.into_iter().rev().collect(),
            ttl_ms: 0,
            limits: Limits::default().into(),
            forwards: false,
        };
        change(&mut profile);
        Self {
            engine: Connection::new(Arc::new(profile)),
        }
    }

    /// A connection with an open session of this revision.
    fn opened(revision: &str) -> Self {
        let mut bench = Self::new();
        let opened = bench.say(initialize(revision));
        assert_eq!(sent(&opened)["result"]["protocolVersion"], revision);
        assert_eq!(
            bench.say(json!({"method": "notifications/initialized"})),
            []
        );
        bench
    }

    fn say(&mut self, message: Value) -> Vec<Seen> {
        let message = match message {
            Value::Object(mut message) => {
                message.insert("jsonrpc".into(), "2.0".into());
                Value::Object(message)
            }
            other => other,
        };
        self.engine.handle_message(message.to_string().as_bytes());
        self.drain()
    }

    fn drain(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.engine.poll())
            .filter_map(|output| {
                Some(match output {
                    Output::Send(message) | Output::Batch(_, message) | Output::Ask(_, message) => {
                        Seen::Sent(serde_json::from_slice(&message).unwrap())
                    }
                    Output::Call(call) => Seen::Called(call.request.known_method()),
                    Output::Cancel(id, _) => Seen::Cancelled(id),
                    Output::Answer(_, answer) => Seen::Answered(match answer {
                        Ok(value) => Ok(value.decode().unwrap()),
                        Err(error) => Err(error.code),
                    }),
                    Output::RootsChanged(_) => Seen::RootsChanged,
                    // Only a process of a fleet uses them.
                    Output::StrayAnswer(..) | Output::StrayCancel(_) => return None,
                    // Only a server that forwards requests uses it.
                    Output::Subscription(..) => return None,
                })
            })
            .collect()
    }

    fn respond(&mut self, id: impl Into<RequestId>) -> Vec<Seen> {
        let id = id.into();
        let result = CompleteResult::default();
        self.engine.respond(
            &id,
            wire::write_result(Revision::V2025_11_25, &id, result, None),
        );
        self.drain()
    }
}

fn initialize(revision: &str) -> Value {
    json!({"id": 0, "method": "initialize", "params": {
        "protocolVersion": revision,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "guest", "version": "1"},
    }})
}

/// A request of the stateless era.
fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"id": id, "method": method, "params": params})
}

fn sent(seen: &[Seen]) -> &Value {
    match seen {
        [Seen::Sent(message)] => message,
        other => panic!("one message was expected: {other:?}"),
    }
}

fn code(seen: &[Seen]) -> i64 {
    sent(seen)["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("an error: {seen:?}"))
}

// Shows PR25-01, BA25-01, LI25-05, LI25-10, LI25-11, LI25-12, LI25-21.
#[test]
fn a_session_is_opened_in_the_revision_both_speak() {
    let cases = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // One revision without a handshake, and some that do not exist.
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ];
    for (wish, agreed) in cases {
        let opened = Bench::new().say(initialize(wish));
        let result = &sent(&opened)["result"];
        assert_eq!(result["protocolVersion"], agreed, "{wish}");
        assert_eq!(result["serverInfo"]["name"], "agency");
        assert_eq!(result["instructions"], "Book early.");
        assert_eq!(result["capabilities"]["prompts"], json!({}));
        assert!(
            result.get("resultType").is_none(),
            "the handshake era has no result types"
        );
    }
}

// Shows LI25-11, LI25-21, VE-01, VE-08.
#[test]
fn a_server_of_one_revision_says_so() {
    let only = |revision| Bench::with(move |profile| profile.revisions = vec![revision]);
    let refused = only(Revision::V2026_07_28).say(initialize("2025-11-25"));
    let error = &sent(&refused)["error"];
    assert_eq!(error["code"], -32022);
    assert_eq!(
        error["data"],
        json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );

    let opened = only(Revision::V2025_06_18).say(initialize("2025-11-25"));
    assert_eq!(sent(&opened)["result"]["protocolVersion"], "2025-06-18");
    // To a client, -32022 would mean that there is no handshake to try.
    for method in ["server/discover", "tools/list"] {
        let refused = only(Revision::V2025_06_18).say(modern(1, method, json!({})));
        assert_eq!(code(&refused), -32602, "{method}");
    }
    // A server of the stateless era alone reports the missing `_meta`, not a missing handshake.
    let refused = only(Revision::V2026_07_28).say(json!({"id": 1, "method": "tools/list"}));
    assert_eq!(code(&refused), -32602);
}

// Shows MR-02, PR-01, BA-22, BA-43, VE-01, VE-10.
#[test]
fn a_request_of_the_stateless_era_says_who_sends_it() {
    let meta = |version: Value, capabilities: Value| {
        let mut meta = json!({});
        if !version.is_null() {
            meta["io.modelcontextprotocol/protocolVersion"] = version;
        }
        if !capabilities.is_null() {
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        }
        json!({"id": 1, "method": "tools/list", "params": {"_meta": meta}})
    };
    assert_eq!(
        Bench::new().say(meta(json!("2026-07-28"), json!({}))),
        [Seen::Called("tools/list")]
    );
    let cases = [
        (json!("2026-07-28"), Value::Null, -32602),
        (json!("2025-11-25"), json!({}), -32022),
        (json!("2031-01-01"), json!({}), -32022),
        (json!(7), json!({}), -32602),
        (Value::Null, json!({}), -32602),
    ];
    for (version, capabilities, expected) in cases {
        let refused = Bench::new().say(meta(version.clone(), capabilities));
        assert_eq!(code(&refused), expected, "{version}");
    }
}

// Shows LI24-02, LI25-15.
#[test]
fn a_method_exists_in_the_revisions_that_have_it() {
    let no_params = json!({});
    for (revision, method, exists) in [
        ("2024-11-05", "server/discover", false),
        ("2025-11-25", "subscriptions/listen", false),
        ("2025-11-25", "prompts/list", true),
        ("2025-11-25", "tasks/list", true),
        ("2025-06-18", "tasks/list", false),
        ("2025-06-18", "no/such", false),
    ] {
        let said = Bench::opened(revision)
            .say(json!({"id": 1, "method": method, "params": {"notifications": {}}}));
        let found = said == [Seen::Called(Box::leak(method.into()))];
        assert_eq!(found, exists, "{method} in {revision}: {said:?}");
        assert!(exists || code(&said) == -32601);
    }
    for method in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "no/such",
        "tasks/list",
    ] {
        let mut params = no_params.clone();
        params["level"] = "info".into();
        params["uri"] = "a://b".into();
        assert_eq!(
            code(&Bench::new().say(modern(1, method, params))),
            -32601,
            "{method}"
        );
    }
}

// Shows PR-02, LO25-01, LO25-02, PI25-01, BA-08, BA-49, DI-01, DI-03, LI25-01, VE-03.
#[test]
fn what_a_session_needs_is_answered_by_the_engine() {
    let mut bench = Bench::new();
    assert_eq!(
        sent(&bench.say(json!({"id": 1, "method": "ping"})))["result"],
        json!({})
    );
    assert_eq!(
        code(&bench.say(json!({"id": 1, "method": "tools/list"}))),
        -32602
    );
    let mut bench = Bench::opened("2025-06-18");
    for request in [
        json!({"id": 1, "method": "ping"}),
        json!({"id": 1, "method": "logging/setLevel", "params": {"level": "error"}}),
        json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "a://b"}}),
        json!({"id": 1, "method": "resources/unsubscribe", "params": {"uri": "a://b"}}),
    ] {
        assert_eq!(sent(&bench.say(request))["result"], json!({}));
    }
    assert_eq!(
        code(&bench.say(initialize("2025-06-18"))),
        -32600,
        "only once"
    );
    let level = json!({"id": 1, "method": "logging/setLevel", "params": {"level": "loud"}});
    assert_eq!(code(&bench.say(level)), -32602);
    let discovered = bench.say(modern(9, "server/discover", json!({})));
    let result = &sent(&discovered)["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["capabilities"]["prompts"], json!({}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "agency"
    );
    assert_eq!(result["ttlMs"], 0);
}

// Shows BA-06, BA-23, BA24-01, VE-11.
#[test]
fn both_eras_share_a_connection() {
    let mut bench = Bench::opened("2025-06-18");
    let call = json!({"id": 1, "method": "tools/list"});
    assert_eq!(bench.say(call.clone()), [Seen::Called("tools/list")]);
    assert_eq!(
        bench.say(modern(2, "tools/list", json!({}))),
        [Seen::Called("tools/list")]
    );
    assert_eq!(code(&bench.say(call)), -32600, "the id is taken");
    assert_eq!(sent(&bench.respond(1))["id"], 1);
    assert_eq!(sent(&bench.respond(2))["id"], 2);
    assert_eq!(bench.respond(2), [], "nothing is answered twice");
}

#[test]
fn the_reason_of_a_cancellation_is_ready_for_a_log() {
    let long = "\u{1b}x".repeat(1000);
    let shown = r"\u{1b}x".repeat(100);
    for (reason, logged) in [
        (json!("enough"), Some("enough")),
        (json!("a\n\u{1b}[2J\u{202e}"), Some(r"a\n\u{1b}[2J\u{202e}")),
        (json!(long), Some(shown.as_str())),
        (Value::Null, None),
    ] {
        let mut bench = Bench::opened("2025-11-25");
        bench.say(json!({"id": "a", "method": "tools/list"}));
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": "a", "reason": reason},
        });
        bench
            .engine
            .handle_message(cancelled.to_string().as_bytes());
        let Some(Output::Cancel(_, reason)) = bench.engine.poll() else {
            panic!("it is not cancelled");
        };
        assert_eq!(reason.as_deref(), logged);
    }
}

// Shows RO25-05, ST-10, CA-19, CA-20, CA-22, CA25-06, BA-20.
#[test]
fn a_cancelled_request_is_not_answered() {
    let mut bench = Bench::opened("2025-11-25");
    bench.say(json!({"id": "a", "method": "tools/list"}));
    let cancel = |id: Value| json!({"method": "notifications/cancelled", "params": {"requestId": id, "reason": "no"}});
    assert_eq!(
        bench.say(cancel(json!("b"))),
        [],
        "an unknown id is ignored"
    );
    assert_eq!(bench.say(cancel(json!("a"))), [Seen::Cancelled("a".into())]);
    assert_eq!(bench.respond("a"), []);
    assert_eq!(bench.say(cancel(json!("a"))), []);
    assert_eq!(bench.say(json!({"method": "notifications/no/such"})), []);
    assert_eq!(
        bench.say(json!({"method": "notifications/roots/list_changed"})),
        [Seen::RootsChanged]
    );
}

// Shows BA24-05.
#[test]
fn a_batch_is_answered_as_one() {
    let request = |id: u32, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let mut bench = Bench::opened("2025-03-26");
    let seen = bench.say(json!([request(1, "tools/list"), request(2, "ping"), {"bad": 1}]));
    assert_eq!(seen, [Seen::Called("tools/list")]);
    let Seen::Sent(batch) = &bench.respond(1)[0] else {
        panic!("a batch")
    };
    let ids: Vec<_> = batch
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, [json!(2), Value::Null, json!(1)]);

    let seen = bench.say(json!([request(3, "tools/list"), request(4, "tools/list")]));
    assert_eq!(seen.len(), 2);
    bench.respond(3);
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 4}});
    let seen = bench.say(cancel);
    assert!(
        matches!(&seen[0], Seen::Sent(batch) if batch[0]["id"] == 3),
        "{seen:?}"
    );

    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(
        bench.say(json!([notification])),
        [],
        "nothing in it wants an answer"
    );
    assert_eq!(code(&bench.say(json!([]))), -32600);
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let refused = Bench::opened(revision).say(json!([request(1, "ping")]));
        assert_eq!(code(&refused), -32600, "{revision}");
    }
}

#[test]
fn a_batch_holds_no_requests_of_the_stateless_era() {
    let mut bench = Bench::opened("2025-03-26");
    let mut listen = modern(1, "subscriptions/listen", json!({"notifications": {}}));
    listen["jsonrpc"] = "2.0".into();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let answered = bench.say(json!([listen, ping]));
    let batch = sent(&answered);
    assert_eq!(batch[0]["error"]["code"], -32600, "{batch}");
    assert_eq!(batch[1]["result"], json!({}), "{batch}");
}

// Shows TO-09, CA-02, BA-51, SU-01, SU-02, SU-05, SU-06.
#[test]
fn a_subscription_tells_what_it_was_asked_to() {
    let mut bench = Bench::new();
    let wish = json!({"notifications": {
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourceSubscriptions": ["a://b"],
    }});
    let acknowledged = bench.say(modern(5, "subscriptions/listen", wish.clone()));
    let params = &sent(&acknowledged)["params"];
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
    // This server does not report changes of its prompts.
    assert_eq!(
        params["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["a://b"]})
    );
    for (changed, told) in [
        (Change::Tools, Some("notifications/tools/list_changed")),
        (Change::Prompts, None),
        (Change::Resources, None),
        (
            Change::Resource("a://b".into()),
            Some("notifications/resources/updated"),
        ),
        (Change::Resource("a://c".into()), None),
    ] {
        bench.engine.changed(&changed);
        let seen = bench.drain();
        assert_eq!(seen.len(), usize::from(told.is_some()), "{changed:?}");
        if let Some(method) = told {
            assert_eq!(sent(&seen)["method"], method);
            let meta = &sent(&seen)["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], 5);
        }
    }
    assert_eq!(
        code(&bench.say(modern(5, "subscriptions/listen", wish.clone()))),
        -32600
    );
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(bench.say(cancel), []);
    bench.engine.changed(&Change::Tools);
    assert_eq!(bench.drain(), []);

    bench.say(modern(6, "subscriptions/listen", wish));
    bench.engine.finish();
    let seen = bench.drain();
    let [Seen::Sent(cancelled), Seen::Sent(result)] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], 6);
    assert_eq!(result["id"], 6);
    assert_eq!(
        result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        6
    );
    bench.engine.finish();
    assert_eq!(bench.drain(), []);
}

// Shows RE-05, TO25-01.
#[test]
fn a_session_tells_of_what_it_watches() {
    let mut bench = Bench::opened("2025-11-25");
    bench.say(json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "a://b"}}));
    for (changed, told) in [
        (Change::Tools, true),
        (Change::Prompts, false),
        (Change::Resources, true),
        (Change::Resource("a://b".into()), true),
        (Change::Resource("a://c".into()), false),
    ] {
        bench.engine.changed(&changed);
        assert_eq!(bench.drain().len(), usize::from(told), "{changed:?}");
    }
    let mut fresh = Bench::new();
    fresh.engine.changed(&Change::Tools);
    assert_eq!(fresh.drain(), [], "nobody is there yet");
}

// Shows PR-05, PR25-02.
#[test]
fn a_change_of_the_prompts_is_told_where_it_was_promised() {
    let list_changed = Some(true);
    let promised = || {
        Bench::with(|profile| {
            profile.capabilities.prompts = Some(PromptsCapability { list_changed });
        })
    };
    let mut session = promised();
    session.say(initialize("2025-11-25"));
    session.say(json!({"method": "notifications/initialized"}));
    let mut listening = promised();
    let wish = json!({"notifications": {"promptsListChanged": true}});
    listening.say(modern(1, "subscriptions/listen", wish));
    for mut bench in [session, listening] {
        bench.engine.changed(&Change::Prompts);
        let told = bench.drain();
        assert_eq!(sent(&told)["method"], "notifications/prompts/list_changed");
    }
}

// Shows SU-08.
#[test]
fn what_a_client_may_have_open_is_bounded() {
    let mut bench = Bench::with(|profile| {
        let limits = Arc::make_mut(&mut profile.limits);
        limits.wire.requests_in_flight = 2;
        limits.server.subscriptions = 2;
    });
    for id in 1..=2 {
        assert_eq!(bench.say(modern(id, "tools/list", json!({}))).len(), 1);
    }
    assert_eq!(code(&bench.say(modern(3, "tools/list", json!({})))), -32603);
    bench.respond(1);
    assert_eq!(
        bench.say(modern(3, "tools/list", json!({}))),
        [Seen::Called("tools/list")]
    );
    bench.respond(2);
    bench.respond(3);
    for (id, uris, granted) in [(4, 3, false), (5, 2, true), (6, 0, true), (7, 0, false)] {
        let uris: Vec<_> = (0..uris).map(|uri| format!("a://{uri}")).collect();
        let wish = json!({"notifications": {"resourceSubscriptions": uris}});
        let seen = bench.say(modern(id, "subscriptions/listen", wish));
        assert_eq!(sent(&seen).get("error").is_none(), granted, "{id}");
    }
}

fn checked(question: ElicitParams) -> CheckedRequest {
    CheckedRequest::new(InputRequest::Elicit(question), None, &Limits::default())
        .expect("a question")
}

/// Asks a question in a call that is in progress.
fn ask(bench: &mut Bench, key: &str, question: ElicitParams) -> (Value, Vec<Seen>) {
    let ask = bench.engine.ask(&1.into(), key, checked(question));
    assert!(ask.is_some());
    let seen = bench.drain();
    (sent(&seen)["id"].clone(), seen)
}

// Shows TA25-02, TA25-03.
#[test]
fn a_question_is_asked_in_the_words_of_the_revision() {
    let form: FormSchema = serde_json::from_value(json!({"type": "object", "properties": {
        "meals": {"type": "array", "items": {"type": "string", "enum": ["lunch", "dinner"]}},
        "nights": {"type": "integer", "default": 7},
    }}))
    .unwrap();
    let question = || ElicitParams::form("Which?", form.clone());
    for (revision, fields) in [
        ("2025-06-18", vec!["meals.lunch", "meals.dinner", "nights"]),
        ("2025-11-25", vec!["meals", "nights"]),
    ] {
        let mut bench = Bench::opened(revision);
        bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
        let (id, asked) = ask(&mut bench, "wishes", question());
        let params = &sent(&asked)["params"];
        assert_eq!(params["_meta"]["dev.askback/key"], "wishes");
        assert!(params.get("task").is_none(), "{params}");
        let properties = params["requestedSchema"]["properties"].as_object().unwrap();
        for field in &fields {
            assert!(
                properties.contains_key(*field),
                "{revision}: {properties:?}"
            );
        }
        assert_eq!(properties.len(), fields.len());
        let content = if fields.len() == 3 {
            json!({"meals.lunch": true, "meals.dinner": false})
        } else {
            json!({"meals": ["lunch"]})
        };
        let seen = bench.say(json!({"id": id, "result": {"action": "accept", "content": content}}));
        let [Seen::Answered(Ok(answer))] = &seen[..] else {
            panic!("{seen:?}")
        };
        assert_eq!(answer["content"], json!({"meals": ["lunch"]}), "{revision}");
        assert_eq!(
            bench.say(json!({"id": id, "result": {"action": "cancel"}})),
            [],
            "once"
        );
    }
}

// Shows EL25-03, EL25-19.
#[test]
fn a_link_has_an_id_where_the_revision_has_one() {
    let mut bench = Bench::opened("2025-11-25");
    bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
    let link = ElicitParams::url("Pay here.", "https://pay.example/");
    let (_, asked) = ask(&mut bench, "link", link);
    let id = &sent(&asked)["params"]["elicitationId"];
    let id = id.as_str().unwrap_or_else(|| panic!("{asked:?}"));
    bench.engine.complete_elicitation(id.to_owned());
    let told = bench.drain();
    assert_eq!(sent(&told)["method"], "notifications/elicitation/complete");
    assert_eq!(sent(&told)["params"]["elicitationId"], id);
}

#[test]
fn a_session_goes_on_on_another_connection() {
    let mut first = Bench::opened("2025-11-25");
    first.say(json!({"id": 1, "method": "logging/setLevel", "params": {"level": "error"}}));
    first.say(json!({"id": 2, "method": "resources/subscribe", "params": {"uri": "a://b"}}));
    let (seed, choices) = (first.engine.seed().unwrap(), first.engine.choices());
    let json = serde_json::to_string(&seed).unwrap();

    let mut other = Bench::new();
    let seed = serde_json::from_str(&json).unwrap();
    other.engine = other.engine.reopened(seed).unwrap();
    other.engine.choose(choices.clone());
    assert_eq!(other.engine.choices(), choices);
    let seen = other.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
    assert_eq!(seen, [Seen::Called("tools/call")]);
    let (_, asked) = ask(
        &mut other,
        "sure",
        ElicitParams::form("Sure?", FormSchema::default()),
    );
    assert_eq!(sent(&asked)["method"], "elicitation/create");
    // A question of another process, and a request that it handles.
    for (message, expected) in [
        (
            json!({"id": "a.0.b", "result": {"action": "cancel"}}),
            "answer a.0.b",
        ),
        (
            json!({"method": "notifications/cancelled", "params": {"requestId": 9}}),
            "cancel 9",
        ),
    ] {
        let mut message = message;
        message["jsonrpc"] = "2.0".into();
        other.engine.handle_message(message.to_string().as_bytes());
        let stray = match other.engine.poll() {
            Some(Output::StrayAnswer(id, Ok(_))) => format!("answer {id}"),
            Some(Output::StrayCancel(id)) => format!("cancel {id}"),
            output => format!("{output:?}"),
        };
        assert_eq!(stray, expected);
    }
    let unknown = SessionSeed {
        revision: "2026-07-28".into(),
        client: None,
        capabilities: ClientCapabilities::default(),
    };
    assert!(Bench::new().engine.reopened(unknown).is_none());
}

// Shows CA-11, CA25-01, CA25-07.
// Shows LI25-07.
#[test]
fn nothing_is_asked_before_the_client_is_initialized() {
    let initialized = || json!({"method": "notifications/initialized"});
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut bench = Bench::new();
        // Too early to have an effect.
        bench.say(initialized());
        bench.say(initialize(revision));
        bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
        let question = || checked(ElicitParams::form("Sure?", FormSchema::default()));
        let first = bench.engine.ask(&1.into(), "first", question());
        let second = bench.engine.ask(&1.into(), "second", question());
        assert!(first.is_some() && second.is_some());
        assert_eq!(bench.drain(), [], "{revision}");
        for guess in 1..=2 {
            let answer = json!({"id": guess, "result": {"action": "accept"}});
            assert_eq!(bench.say(answer), [], "{revision}");
        }
        // The withdrawn question was not sent yet.
        bench.engine.withdraw(first.unwrap());
        assert_eq!(bench.drain(), [], "{revision}");
        let seen = bench.say(initialized());
        let question = sent(&seen);
        assert_eq!(question["method"], "elicitation/create", "{revision}");
        assert_eq!(question["params"]["_meta"]["dev.askback/key"], "second");
        assert_eq!(bench.say(initialized()), [], "once");
        bench.engine.withdraw(second.unwrap());
        assert_eq!(sent(&bench.drain())["method"], "notifications/cancelled");
    }
}

#[test]
fn a_question_that_no_handler_waits_for_is_withdrawn() {
    let mut bench = Bench::opened("2025-11-25");
    let question = || ElicitParams::form("Sure?", FormSchema::default());
    assert!(
        bench
            .engine
            .ask(&1.into(), "sure", checked(question()))
            .is_none(),
        "no such call"
    );
    bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
    let ask_id = bench
        .engine
        .ask(&1.into(), "sure", checked(question()))
        .unwrap();
    let seen = bench.drain();
    let id = sent(&seen)["id"].clone();
    bench.engine.withdraw(ask_id);
    let seen = bench.drain();
    assert_eq!(sent(&seen)["method"], "notifications/cancelled");
    assert_eq!(sent(&seen)["params"]["requestId"], id);
    assert_eq!(
        bench.say(json!({"id": id, "result": {"action": "accept"}})),
        []
    );
    bench.engine.withdraw(ask_id);
    assert_eq!(bench.drain(), []);
}

// Shows EL-25.
#[test]
fn a_client_may_fail_to_answer() {
    for answer in [
        json!({"error": {"code": -1, "message": "User rejected"}}),
        json!({"result": {}, "error": {"code": -1, "message": "both"}}),
        json!({"result": 7}),
    ] {
        let mut bench = Bench::opened("2025-11-25");
        bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
        let question = ElicitParams::form("Sure?", FormSchema::default());
        let (id, _) = ask(&mut bench, "sure", question);
        let mut message = answer;
        message["id"] = id;
        assert!(matches!(&bench.say(message)[..], [Seen::Answered(_)]));
    }
    let mut bench = Bench::opened("2025-11-25");
    assert_eq!(
        bench.say(json!({"id": 77, "result": {}})),
        [],
        "nobody asked"
    );
}

// Shows LO-03, LO-04, LO25-01, PO-08.
#[test]
fn a_log_line_is_sent_to_who_wants_it() {
    let mut bench = Bench::opened("2025-11-25");
    bench.say(json!({"id": 1, "method": "tools/call", "params": {"name": "book"}}));
    assert!(bench.engine.wants_log(&1.into(), LoggingLevel::Info));
    assert!(!bench.engine.wants_log(&1.into(), LoggingLevel::Debug));
    bench.say(json!({"id": 2, "method": "logging/setLevel", "params": {"level": "error"}}));
    assert!(!bench.engine.wants_log(&1.into(), LoggingLevel::Warning));

    let mut params = json!({"name": "book"});
    let mut request = modern(3, "tools/call", params.take());
    bench.say(modern(4, "tools/call", json!({"name": "book"})));
    assert!(
        !bench.engine.wants_log(&4.into(), LoggingLevel::Emergency),
        "it did not ask"
    );
    request["params"]["name"] = "book".into();
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "notice".into();
    bench.say(request);
    assert!(bench.engine.wants_log(&3.into(), LoggingLevel::Notice));
    assert!(!bench.engine.wants_log(&3.into(), LoggingLevel::Info));

    let line = || {
        ServerNotification::Message(LoggingMessageParams {
            level: LoggingLevel::Error,
            logger: None,
            data: askback_core::protocol::RawJson::new("overbooked").unwrap(),
            meta: None,
        })
    };
    bench.engine.notify(&3.into(), line());
    assert_eq!(sent(&bench.drain())["params"]["data"], "overbooked");
    bench.respond(3);
    bench.engine.notify(&3.into(), line());
    assert_eq!(bench.drain(), [], "the request is over");
}

// Shows MR-20, BA-12.
#[test]
fn what_cannot_be_read_is_answered_as_far_as_it_can() {
    let mut bench = Bench::new();
    for (text, expected, id) in [
        ("{", -32700, Value::Null),
        ("7", -32600, Value::Null),
        (
            r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#,
            -32600,
            json!(4),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#,
            -32602,
            json!(5),
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            -32602,
            json!(6),
        ),
    ] {
        bench.engine.handle_message(text.as_bytes());
        let seen = bench.drain();
        assert_eq!(code(&seen), expected, "{text}");
        assert_eq!(sent(&seen)["id"], id, "{text}");
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(5 << 20)
    );
    bench.engine.handle_message(long.as_bytes());
    assert_eq!(code(&bench.drain()), -32600);
    assert!(jsonrpc::parse(long.as_bytes(), &WireLimits::default()).is_err());
}

/// A long description of a client, and the part of it that is stored.
fn verbose(info: &str, icons: usize) -> (Value, Value) {
    let icon = json!({"src": "", "sizes": vec![""; 8]});
    let info = json!({
        "name": info,
        "title": info,
        "version": info,
        "description": info,
        "websiteUrl": info,
        "icons": vec![icon; icons],
        "unknown": vec![info; 8],
    });
    let other: serde_json::Map<_, _> = (0..icons)
        .map(|at| (format!("example/{at}"), json!({"a": {"b": {}}})))
        .collect();
    let mut extensions = other.clone();
    extensions.insert("io.modelcontextprotocol/tasks".into(), json!({"a": other}));
    let capabilities = json!({
        "elicitation": {"form": other, "url": other},
        "sampling": {"context": other, "tools": other},
        "roots": {"listChanged": true},
        "tasks": {"list": other},
        "extensions": extensions,
        "experimental": {"x": other},
    });
    (info, capabilities)
}

#[test]
fn only_what_handlers_can_read_of_a_client_is_stored() {
    let long = "\u{e9}".repeat(100_000);
    for (info, icons) in [("a", 1), (&*long, 1000)] {
        let (client, capabilities) = verbose(info, icons);
        let mut bench = Bench::new();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": client,
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        bench.say(hello);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        bench.engine.handle_message(call.to_string().as_bytes());
        let params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": client,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params});
        bench.engine.handle_message(call.to_string().as_bytes());
        for _ in 0..2 {
            let Some(Output::Call(call)) = bench.engine.poll() else {
                panic!("no call");
            };
            let origin = &call.origin;
            let client = origin.client.as_ref().unwrap();
            let title = client.title.as_deref().unwrap();
            for text in [&client.name, &client.version, title] {
                assert!(
                    info.starts_with(text) && text.len() <= 256,
                    "{}",
                    text.len()
                );
                assert!(text.len() + 1 >= info.len().min(256));
            }
            assert_eq!(
                *client,
                Implementation {
                    title: client.title.clone(),
                    ..Implementation::new(client.name.clone(), client.version.clone())
                }
            );
            let known = &origin.capabilities;
            assert!(known.elicits_form() && known.elicits_url() && known.roots());
            assert!(known.samples_with_tools() && known.samples_with_context());
            assert!(known.tasks_extension());
            let extensions = known.extensions.as_ref().unwrap();
            assert_eq!(extensions.len(), if icons == 1 { 2 } else { 1 });
            assert_eq!(known.experimental.is_some(), icons == 1);
        }
        assert!(
            bench.engine.kept_bytes() < 16 << 10,
            "{}",
            bench.engine.kept_bytes()
        );
    }
}

#[test]
fn names_of_stored_things_are_short() {
    let limits = Limits::default();
    let (id, uri) = (
        limits.wire.request_id_bytes,
        limits.server.watched_uri_bytes,
    );
    type Case = (&'static str, usize, fn(String) -> Value);
    let cases: [Case; 5] = [
        (
            "an id",
            id,
            |text| json!({"jsonrpc": "2.0", "id": text, "method": "ping"}),
        ),
        (
            "an id of a call",
            id,
            |text| json!({"jsonrpc": "2.0", "id": text, "method": "tools/list", "params": {}}),
        ),
        ("a progress token", id, |text| {
            let meta = json!({"progressToken": text});
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}})
        }),
        ("a URI", uri, |text| {
            let params = json!({"uri": text});
            json!({"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": params})
        }),
        ("a URI of a subscription", uri, |text| {
            let wish = json!({"notifications": {"resourceSubscriptions": [text]}});
            modern(7, "subscriptions/listen", wish)
        }),
    ];
    for (name, most, message) in cases {
        let mut bench = Bench::new();
        bench.say(initialize("2025-11-25"));
        let seen = bench.say(message("x".repeat(most + 1)));
        let error = &sent(&seen)["error"];
        let why = error["message"].as_str().unwrap_or_default();
        assert!(
            why.contains(&format!("more than the {most} bytes")),
            "{name}: {seen:?}"
        );
        let before = bench.engine.kept_bytes();
        let seen = bench.say(message("x".repeat(most)));
        assert!(!format!("{seen:?}").contains("error"), "{name}: {seen:?}");
        assert!(bench.engine.kept_bytes() < before + most + 1024, "{name}");
    }
}

// Shows CA-03, CA-12, CA-15, CA-19, CA-20, CA-21.
#[test]
fn in_the_stateless_era_a_server_cancels_subscriptions_alone() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.say(modern(1, "tools/call", json!({"name": "book"}))),
        [Seen::Called("tools/call")]
    );
    let wish = json!({"notifications": {"toolsListChanged": true}});
    bench.say(modern(2, "subscriptions/listen", wish));
    // Ignores a notification that names no request in progress.
    for params in [
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": {}}),
        json!({"requestId": 77}),
        json!({"requestId": "1"}),
        json!([1]),
        json!("1"),
    ] {
        let cancel = json!({"method": "notifications/cancelled", "params": params});
        assert_eq!(bench.say(cancel), [], "{params}");
    }
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(bench.say(cancel.clone()), [Seen::Cancelled(1.into())]);
    assert_eq!(bench.respond(1), [], "it is not answered");
    assert_eq!(bench.say(cancel), [], "it is over");
    bench.say(modern(3, "tools/call", json!({"name": "book"})));
    bench.engine.finish();
    let cancelled: Vec<_> = bench
        .drain()
        .into_iter()
        .filter_map(|seen| match seen {
            Seen::Sent(message) if message["method"] == "notifications/cancelled" => {
                Some(message["params"]["requestId"].clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(cancelled, [2]);
}

// Shows LI24-01.
#[test]
fn a_session_is_not_opened_in_a_batch() {
    let mut hello = initialize("2025-03-26");
    hello["jsonrpc"] = "2.0".into();
    let mut bench = Bench::new();
    assert_eq!(code(&bench.say(json!([hello]))), -32600);
    let list = json!({"id": 1, "method": "tools/list"});
    assert_eq!(code(&bench.say(list)), -32602, "none is open");
}
