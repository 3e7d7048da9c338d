//! A server's connection with any sequence of messages and decisions: every request is answered
//! exactly once, everything sent is a valid message, and nothing grows beyond its limit.

#![no_main]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arbitrary::Arbitrary;
use askback_core::{
    ask::CheckedRequest,
    engine::server::{AskId, Change, Connection, Output, Profile},
    forms::FormSchema,
    jsonrpc::{self, Message, Payload, RequestId},
    limits::{FormLimits, Limits, WireLimits},
    protocol::{
        ClientRequest, CreateMessageParams, ElicitParams, Implementation, InputRequest,
        LoggingLevel, LoggingMessageParams, PromptsCapability, RawJson, RequestParams,
        ResourcesCapability, ServerCapabilities, ServerNotification, ToolsCapability,
    },
    revision::Revision,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const IN_FLIGHT: usize = 4;
const SUBSCRIPTIONS: usize = 2;

#[derive(Debug, Arbitrary)]
enum Op<'a> {
    Say(Said),
    Batch(Vec<Said>),
    Bytes(&'a [u8]),
    Respond(u8),
    Ask { call: u8, question: u8 },
    Withdraw(u8),
    Notify(u8),
    Changed(u8),
    Finish,
}

/// A client's message.
#[derive(Debug, Arbitrary)]
enum Said {
    Initialize {
        id: u8,
        revision: u8,
    },
    /// Any method; in the stateless era if `modern` is set.
    Request {
        id: u8,
        method: u8,
        modern: bool,
        text: u8,
    },
    Cancel {
        id: u8,
    },
    RootsChanged,
    /// A response to a question, or with an unknown id.
    Answer {
        ask: u8,
        answer: u8,
    },
    /// A malformed message.
    Malformed {
        id: u8,
    },
}

fuzz_target!(|input: (u8, Vec<Op<'_>>)| {
    let (revisions, ops) = input;
    let mut peer = Peer::new(revisions);
    for op in ops {
        peer.apply(op);
        peer.drain();
    }
    peer.settle();
});

/// The driver and the client of one connection, and what each still waits for.
struct Peer {
    engine: Connection,
    calls: Vec<RequestId>,
    asks: Vec<AskId>,
    /// The number of responses that may still arrive for each id, including listeners.
    expected: BTreeMap<RequestId, usize>,
    /// The number of errors that may arrive without an id.
    nameless: usize,
    /// Cancelled ids. Whether their responses arrive depends on the order of events.
    cancelled: BTreeSet<RequestId>,
    /// Random bytes were sent, which may have refused or cancelled anything.
    wild: bool,
}

impl Peer {
    fn new(revisions: u8) -> Self {
        let spoken = |(at, _): &(usize, Revision)| revisions & (1 << at) != 0;
        let forwards = revisions & 0x80 != 0;
        let revisions: Vec<_> = Revision::ALL
            .into_iter()
            .rev()
            .enumerate()
            .filter(spoken)
            .collect();
        let mut limits = Limits::default();
        limits.wire.requests_in_flight = IN_FLIGHT;
        limits.server.subscriptions = SUBSCRIPTIONS;
        limits.wire.batch_messages = 8;
        let profile = Profile {
            info: Implementation {
                name: "fuzzed".into(),
                version: "1".into(),
                ..Default::default()
            },
            capabilities: capabilities(),
            instructions: None,
            revisions: revisions
                .into_iter()
                .map(|(_, revision)| revision)
                .collect(),
            ttl_ms: 0,
            limits: limits.into(),
            forwards,
        };
        Self {
            engine: Connection::new(Arc::new(profile)),
            calls: Vec::new(),
            asks: Vec::new(),
            expected: BTreeMap::new(),
            nameless: 0,
            cancelled: BTreeSet::new(),
            wild: false,
        }
    }

    fn apply(&mut self, op: Op<'_>) {
        match op {
            Op::Say(said) => {
                let message = self.say(&said);
                self.engine.handle_message(message.to_string().as_bytes());
            }
            Op::Batch(said) => {
                let before = self.expected.clone();
                let batch: Vec<_> = said.iter().map(|said| self.say(said)).collect();
                self.nameless += 1;
                self.engine
                    .handle_message(Value::Array(batch).to_string().as_bytes());
                let allowed = self.nameless;
                self.drain();
                if self.nameless < allowed {
                    // A message that is refused as a whole has one response.
                    self.expected = before;
                }
            }
            Op::Bytes(bytes) => {
                self.expect_bytes(bytes);
                self.engine.handle_message(bytes);
            }
            Op::Respond(call) => {
                if let Some(call) = pick(&mut self.calls, call) {
                    let response = jsonrpc::write_result(&call, &json!({}));
                    self.engine.respond(&call, response);
                }
            }
            Op::Ask { call, question } => {
                if let Some(call) = peek(&self.calls, call) {
                    let ask = self.engine.ask(call, "key", checked(question));
                    self.asks.push(ask.expect("a call in progress may ask"));
                }
            }
            Op::Withdraw(ask) => {
                if let Some(ask) = pick(&mut self.asks, ask) {
                    self.engine.withdraw(ask);
                }
            }
            Op::Notify(call) => {
                if let Some(call) = peek(&self.calls, call) {
                    let _ = self.engine.wants_log(call, LoggingLevel::Debug);
                    self.engine.notify(call, log_line());
                }
            }
            Op::Changed(what) => self.engine.changed(&changed(what)),
            Op::Finish => self.engine.finish(),
        }
    }

    /// Returns the message as JSON, and records its expected responses.
    fn say(&mut self, said: &Said) -> Value {
        match *said {
            Said::Initialize { id, revision } => {
                self.expect(id);
                let revision = Revision::ALL[usize::from(revision) % Revision::ALL.len()];
                let params = json!({
                    "protocolVersion": revision.as_str(),
                    "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
                    "clientInfo": {"name": "client", "version": "1"},
                });
                json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
            }
            Said::Request {
                id,
                method,
                modern,
                text,
            } => {
                self.expect(id);
                let methods = ClientRequest::METHODS;
                let method = methods[usize::from(method) % methods.len()];
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params(modern, text)})
            }
            Said::Cancel { id } => {
                self.cancelled.insert(RequestId::Number(id.into()));
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            }
            Said::RootsChanged => {
                json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
            }
            Said::Answer { ask, answer } => match answer % 4 {
                0 => {
                    json!({"jsonrpc": "2.0", "id": ask, "result": {"action": "accept", "content": {"yes": true}}})
                }
                1 => json!({"jsonrpc": "2.0", "id": ask, "result": 7}),
                2 => json!({"jsonrpc": "2.0", "id": ask, "error": {"code": -1, "message": "no"}}),
                _ => json!({"jsonrpc": "2.0", "id": ask, "result": {}, "error": {}}),
            },
            Said::Malformed { id } => {
                self.expect(id);
                json!({"jsonrpc": "2.0", "id": id, "method": 7})
            }
        }
    }

    fn expect(&mut self, id: u8) {
        *self
            .expected
            .entry(RequestId::Number(id.into()))
            .or_default() += 1;
    }

    /// The possible responses to random bytes.
    fn expect_bytes(&mut self, bytes: &[u8]) {
        let mut expect = |id: Option<&RequestId>| match id {
            Some(id) => *self.expected.entry(id.clone()).or_default() += 1,
            None => self.nameless += 1,
        };
        let mut expect_one = |message: &Result<Message, jsonrpc::MalformedMessage>| match message {
            Ok(Message::Request(request)) => expect(Some(&request.id)),
            Ok(Message::Notification(_)) => self.wild = true,
            Ok(Message::Response(_)) => {}
            Err(malformed) if malformed.response || malformed.notification => {}
            Err(malformed) => expect(malformed.id.as_ref()),
        };
        match jsonrpc::parse(bytes, &WireLimits::default()) {
            Ok(Payload::Single(message)) => expect_one(&Ok(message)),
            Ok(Payload::Batch(messages)) => {
                messages.iter().for_each(expect_one);
                self.nameless += 1;
                self.wild = true;
            }
            Err(malformed) => expect_one(&Err(malformed)),
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Send(message) | Output::Batch(_, message) | Output::Ask(_, message) => {
                    self.sent(&message);
                }
                Output::Call(call) => {
                    assert!(
                        !self.calls.contains(&call.id),
                        "one id, two calls in progress"
                    );
                    self.calls.push(call.id);
                }
                Output::Cancel(id, _) => {
                    let before = self.calls.len();
                    self.calls.retain(|call| *call != id);
                    assert_eq!(self.calls.len() + 1, before, "only what runs is cancelled");
                    self.answered(&id);
                }
                // A response or a cancellation for an id that another process may know.
                Output::StrayAnswer(..) | Output::StrayCancel(_) => {}
                Output::Answer(ask, _) => {
                    let before = self.asks.len();
                    self.asks.retain(|asked| *asked != ask);
                    assert_eq!(
                        self.asks.len() + 1,
                        before,
                        "only what was asked is answered"
                    );
                }
                Output::RootsChanged(_) | Output::Subscription(..) => {}
            }
        }
        assert!(self.calls.len() <= IN_FLIGHT);
    }

    fn sent(&mut self, message: &[u8]) {
        match jsonrpc::parse(message, &WireLimits::default()).expect("what is sent is a message") {
            Payload::Single(message) => self.sent_one(message),
            Payload::Batch(messages) => {
                for message in messages {
                    self.sent_one(message.expect("what is sent is a message"));
                }
            }
        }
    }

    fn sent_one(&mut self, message: Message) {
        let Message::Response(response) = message else {
            return;
        };
        match response.id {
            Some(id) => self.answered(&id),
            None => {
                assert!(self.nameless > 0, "an error that nobody caused");
                self.nameless -= 1;
            }
        }
    }

    fn answered(&mut self, id: &RequestId) {
        let expected = self.expected.get_mut(id).expect("a response to no request");
        assert!(*expected > 0, "a second response to {id}");
        *expected -= 1;
    }

    /// Answers everything that is open, so that nothing waits any more.
    fn settle(&mut self) {
        while let Some(call) = self.calls.pop() {
            let response = jsonrpc::write_result(&call, &json!({}));
            self.engine.respond(&call, response);
            self.drain();
        }
        for ask in std::mem::take(&mut self.asks) {
            self.engine.withdraw(ask);
        }
        self.engine.finish();
        self.drain();
        for (id, expected) in &self.expected {
            let forgiven = self.wild || self.cancelled.contains(id);
            assert!(*expected == 0 || forgiven, "no response to {id}");
        }
    }
}

fn pick<T>(all: &mut Vec<T>, at: u8) -> Option<T> {
    (!all.is_empty()).then(|| all.swap_remove(usize::from(at) % all.len()))
}

fn peek<T>(all: &[T], at: u8) -> Option<&T> {
    all.get(usize::from(at) % all.len().max(1))
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        tools: Some(ToolsCapability {
            list_changed: Some(true),
            ..Default::default()
        }),
        prompts: Some(PromptsCapability {
            list_changed: Some(true),
            ..Default::default()
        }),
        resources: Some(ResourcesCapability {
            list_changed: Some(true),
            subscribe: Some(true),
            ..Default::default()
        }),
        logging: Some(Default::default()),
        completions: Some(Default::default()),
        ..Default::default()
    }
}

/// Parameters that are valid for many methods.
fn params(modern: bool, text: u8) -> Value {
    let mut params = json!({
        "name": format!("thing-{text}"),
        "uri": format!("a://{text}"),
        "level": "debug",
        "ref": {"type": "ref/prompt", "name": "thing"},
        "argument": {"name": "a", "value": "b"},
        "taskId": "task",
        "notifications": {
            "toolsListChanged": text & 1 != 0,
            "resourceSubscriptions": vec!["a://0"; usize::from(text % 4)],
        },
    });
    if modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": Revision::LATEST.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    params
}

fn checked(kind: u8) -> CheckedRequest {
    CheckedRequest::new(question(kind), None, &Limits::default()).expect("a question")
}

fn question(kind: u8) -> InputRequest {
    match kind % 4 {
        0 => InputRequest::Elicit(ElicitParams::form("Go on?", form())),
        1 => InputRequest::Elicit(ElicitParams::url("Pay", "https://a.example/")),
        2 => InputRequest::from(sample()),
        _ => InputRequest::Roots(RequestParams::default()),
    }
}

fn form() -> FormSchema {
    let form = br#"{"type": "object", "properties": {"yes": {"type": "boolean"}}}"#;
    FormSchema::parse(form, &FormLimits::default()).expect("a plain form")
}

fn sample() -> CreateMessageParams {
    serde_json::from_value(json!({"messages": [], "maxTokens": 1})).expect("a plain request")
}

fn log_line() -> ServerNotification {
    ServerNotification::Message(LoggingMessageParams {
        level: LoggingLevel::Debug,
        logger: None,
        data: RawJson::new("line").expect("a text is JSON"),
        meta: None,
    })
}

fn changed(what: u8) -> Change {
    match what % 4 {
        0 => Change::Tools,
        1 => Change::Prompts,
        2 => Change::Resources,
        _ => Change::Resource("a://0".into()),
    }
}
