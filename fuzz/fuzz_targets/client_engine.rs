//! A client's connection to any server: every call ends exactly once, nothing is sent on a closed
//! connection, and the host gets every question at most once.

#![no_main]

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use arbitrary::Arbitrary;
use askback_core::{
    engine::client::{CallId, Connection, Output, Profile, QuestionId},
    jsonrpc::{self, ErrorObject, Message, Payload, RequestId},
    limits::{Limits, WireLimits},
    protocol::{ClientRequest, Implementation, InputRequest, InputResponse},
    revision::{Kind, Revision},
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json, value::RawValue};

const IN_FLIGHT: usize = 4;

#[derive(Debug, Arbitrary)]
enum Op<'a> {
    /// The transport opens or closes.
    Connected,
    Disconnected,
    Wait(u16),
    Call(u8),
    Cancel(u8),
    /// The host answers: correctly, with an error, or with an answer to another question.
    Answer {
        question: u8,
        how: u8,
    },
    RootsChanged,
    /// The server responds to a recent request, or sends an unsolicited message.
    Respond {
        to: u8,
        with: Body,
    },
    Ask {
        id: u8,
        what: u8,
    },
    Notify {
        method: u8,
        to: u8,
    },
    Batch(Vec<(u8, Body)>),
    Bytes(&'a [u8]),
}

/// The body of a response.
#[derive(Debug, Arbitrary)]
enum Body {
    Initialized {
        revision: u8,
    },
    Discovered {
        revisions: u8,
    },
    Complete {
        ttl: u8,
    },
    /// Questions, a state, or neither.
    NeedsInput {
        questions: u8,
        state: bool,
    },
    Page {
        next: u8,
    },
    Error {
        code: u8,
    },
    Nonsense,
}

fuzz_target!(|input: (u8, Vec<Op<'_>>)| {
    let (revisions, ops) = input;
    let mut peer = Peer::new(revisions);
    peer.drain();
    for op in ops {
        peer.apply(op);
        peer.drain();
    }
    peer.settle();
});

/// The driver, the host and the server of one connection.
struct Peer {
    engine: Connection,
    now: Duration,
    transport: Transport,
    last_call: u64,
    calls: BTreeSet<CallId>,
    asked: BTreeMap<QuestionId, InputRequest>,
    seen: BTreeSet<QuestionId>,
    /// The ids of the client's latest requests.
    requests: Vec<RequestId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Closed,
    Wanted,
    Open,
}

impl Peer {
    fn new(revisions: u8) -> Self {
        let spoken = |at: usize| revisions & (1 << at) != 0;
        let all = Revision::ALL.into_iter().enumerate();
        let mut limits = Limits::default();
        limits.wire.requests_in_flight = IN_FLIGHT;
        limits.client.asks = 8;
        limits.wire.batch_messages = 8;
        let capabilities = json!({
            "elicitation": {"form": {}, "url": {}},
            "sampling": {},
            "roots": {"listChanged": true},
        });
        let profile = Profile {
            info: Implementation::new("fuzzed", "1"),
            capabilities: serde_json::from_value(capabilities).expect("plain capabilities"),
            any_form: spoken(Revision::ALL.len()),
            forwards: false,
            handshake: None,
            resends_answers: false,
            revisions: all
                .filter(|(at, _)| spoken(*at))
                .map(|(_, revision)| revision)
                .collect(),
            principal: None,
            limits,
        };
        Self {
            engine: Connection::new(profile),
            now: Duration::ZERO,
            transport: Transport::Closed,
            last_call: 0,
            calls: BTreeSet::new(),
            asked: BTreeMap::new(),
            seen: BTreeSet::new(),
            requests: Vec::new(),
        }
    }

    fn apply(&mut self, op: Op<'_>) {
        match op {
            Op::Connected if self.transport == Transport::Wanted => {
                self.transport = Transport::Open;
                self.engine.handle_connected(self.now);
            }
            Op::Disconnected if self.transport != Transport::Closed => self.disconnect(),
            Op::Connected | Op::Disconnected => {}
            Op::Wait(milliseconds) => self.wait(Duration::from_millis(u64::from(milliseconds) * 8)),
            Op::Call(what) => {
                self.last_call += 1;
                let id = CallId(self.last_call);
                self.calls.insert(id);
                self.engine.call(id, request(what), self.now);
            }
            Op::Cancel(call) => {
                let calls: Vec<_> = self.calls.iter().copied().collect();
                if let Some(call) = peek(&calls, call) {
                    self.calls.remove(call);
                    self.engine.cancel(*call, self.now);
                }
            }
            Op::Answer { question, how } => self.answer(question, how),
            Op::RootsChanged => self.engine.roots_changed(),
            Op::Respond { to, with } => {
                let message = self.response(to, &with);
                self.hear(&message);
            }
            Op::Ask { id, what } => {
                let mut message = question(what);
                message["jsonrpc"] = "2.0".into();
                message["id"] = id.into();
                self.hear(&message);
            }
            Op::Notify { method, to } => {
                let message = self.notification(method, to);
                self.hear(&message);
            }
            Op::Batch(responses) => {
                let batch = responses.iter().map(|(to, with)| self.response(*to, with));
                let batch = Value::Array(batch.collect());
                self.hear(&batch);
            }
            Op::Bytes(bytes) => self.hear_bytes(bytes),
        }
    }

    fn disconnect(&mut self) {
        self.transport = Transport::Closed;
        self.engine
            .handle_disconnected(&"it ended".into(), self.now);
    }

    fn wait(&mut self, span: Duration) {
        self.now += span;
        if self
            .engine
            .next_timeout()
            .is_some_and(|due| due <= self.now)
        {
            self.engine.handle_timeout(self.now);
        }
    }

    fn answer(&mut self, question: u8, how: u8) {
        let ids: Vec<_> = self.asked.keys().copied().collect();
        let Some(id) = peek(&ids, question) else {
            return;
        };
        let request = self.asked.remove(id).expect("it was just listed");
        self.engine.answer(*id, answer(&request, how), self.now);
    }

    fn hear(&mut self, message: &Value) {
        self.hear_bytes(message.to_string().as_bytes());
    }

    fn hear_bytes(&mut self, bytes: &[u8]) {
        if self.transport == Transport::Open {
            self.engine.handle_message(bytes, self.now);
        }
    }

    fn response(&self, to: u8, with: &Body) -> Value {
        let last = self.requests.iter().rev().nth(usize::from(to % 8));
        let id = last.map_or(json!(to), |id| {
            serde_json::to_value(id).expect("an id is JSON")
        });
        let mut message = body(with);
        message["jsonrpc"] = "2.0".into();
        message["id"] = id;
        message
    }

    fn notification(&self, method: u8, to: u8) -> Value {
        let methods: Vec<_> = Revision::ALL
            .iter()
            .flat_map(|revision| revision.methods(Kind::ServerNotification))
            .collect();
        let last = self.requests.iter().rev().nth(usize::from(to % 8));
        json!({"jsonrpc": "2.0", "method": methods[usize::from(method) % methods.len()], "params": {
            "requestId": last,
            "progressToken": last,
            "progress": to,
            "level": "info",
            "data": "line",
            "uri": "a://0",
            "elicitationId": "link",
            "notifications": {"toolsListChanged": true},
            "_meta": {"io.modelcontextprotocol/subscriptionId": last},
        }})
    }

    fn drain(&mut self) {
        // No single message from a server makes the client do more than this.
        for _ in 0..10_000 {
            let Some(output) = self.engine.poll() else {
                assert!(
                    self.calls.len() <= IN_FLIGHT,
                    "more calls than may be in flight"
                );
                return;
            };
            self.take(output);
        }
        panic!("the engine does not come to rest");
    }

    fn take(&mut self, output: Output) {
        match output {
            Output::Connect => {
                assert!(
                    self.transport == Transport::Closed,
                    "one transport at a time"
                );
                self.transport = Transport::Wanted;
            }
            Output::Close(_) => self.transport = Transport::Closed,
            Output::Send(message) => {
                assert!(
                    self.transport == Transport::Open,
                    "sent where nobody listens"
                );
                self.sent(&message.bytes);
            }
            Output::Ask(id, question) => {
                assert!(self.seen.insert(id), "a question is put to the host twice");
                self.asked.insert(id, question.request);
            }
            Output::Withdraw(id) => {
                assert!(self.seen.contains(&id), "only what was asked is withdrawn");
                self.asked.remove(&id);
            }
            Output::Done(call, _) => {
                assert!(
                    self.calls.remove(&call),
                    "a call that had ended, or never began"
                );
            }
            Output::Granted(call, _) => assert!(self.calls.contains(&call)),
            Output::Opened | Output::Event(_) => {}
        }
    }

    fn sent(&mut self, message: &[u8]) {
        let parsed =
            jsonrpc::parse(message, &WireLimits::default()).expect("what is sent is a message");
        let Payload::Single(message) = parsed else {
            return;
        };
        if let Message::Request(request) = message {
            assert!(!self.requests.contains(&request.id), "an id is used twice");
            self.requests.push(request.id);
        }
    }

    /// The server disconnects for good, so every call must end.
    fn settle(&mut self) {
        for _ in 0..100 {
            while !self.asked.is_empty() {
                self.answer(0, 0);
                self.drain();
            }
            if self.transport != Transport::Closed {
                self.disconnect();
                self.drain();
            }
            self.wait(Duration::from_secs(24 * 3600));
            self.drain();
            if self.calls.is_empty() {
                return;
            }
        }
        panic!("calls that never end: {:?}", self.calls);
    }
}

fn peek<T>(all: &[T], at: u8) -> Option<&T> {
    all.get(usize::from(at) % all.len().max(1))
}

fn request(what: u8) -> ClientRequest {
    let methods = ClientRequest::METHODS;
    // Requests that open the session come from the engine itself.
    let methods: Vec<_> = methods
        .iter()
        .filter(|method| **method != "initialize")
        .collect();
    let method = methods[usize::from(what) % methods.len()];
    let params = json!({
        "name": "thing",
        "uri": "a://0",
        "level": "debug",
        "ref": {"type": "ref/prompt", "name": "thing"},
        "argument": {"name": "a", "value": "b"},
        "taskId": "task",
        "inputResponses": {},
        "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a://0"]},
    });
    let params = RawValue::from_string(params.to_string()).expect("JSON");
    ClientRequest::parse(method, Some(&params)).expect("parameters that fit every method")
}

fn body(body: &Body) -> Value {
    let server = json!({"name": "server", "version": "1"});
    let capabilities =
        json!({"tools": {}, "prompts": {}, "resources": {"subscribe": true}, "logging": {}});
    let revision = |at: u8| Revision::ALL[usize::from(at) % Revision::ALL.len()].as_str();
    json!({"result": match *body {
        Body::Initialized { revision: at } => json!({
            "protocolVersion": revision(at),
            "capabilities": capabilities,
            "serverInfo": server,
        }),
        Body::Discovered { revisions } => {
            let spoken = Revision::ALL.iter().enumerate().filter(|(at, _)| revisions & (1 << at) != 0);
            json!({
                "resultType": "complete",
                "supportedVersions": spoken.map(|(_, revision)| revision.as_str()).collect::<Vec<_>>(),
                "capabilities": capabilities,
                "serverInfo": server,
            })
        }
        Body::Complete { ttl } => json!({
            "resultType": "complete",
            "ttlMs": i64::from(ttl) - 8,
            "cacheScope": if ttl % 2 == 0 { "public" } else { "private" },
            "content": [], "messages": [], "contents": [], "tools": [], "prompts": [],
        }),
        Body::NeedsInput { questions, state } => {
            let asked: serde_json::Map<_, _> =
                (0..questions % 5).map(|at| (format!("key-{at}"), question(questions.wrapping_add(at)))).collect();
            let mut result = json!({"resultType": "input_required"});
            if !asked.is_empty() {
                result["inputRequests"] = asked.into();
            }
            if state {
                result["requestState"] = "state".into();
            }
            result
        }
        Body::Page { next } => json!({"resultType": "complete", "tools": [], "nextCursor": next.to_string()}),
        Body::Error { code } => {
            let codes = [-32600, -32601, -32602, -32603, -32700, -32021, -32022, -32042, -32002, -1];
            return json!({"error": {
                "code": codes[usize::from(code) % codes.len()],
                "message": "no",
                "data": {
                    "supported": [revision(code)],
                    "requested": "x",
                    "elicitations": [{"mode": "url", "message": "Pay", "url": "https://a.example/", "elicitationId": "link"}],
                },
            }});
        }
        Body::Nonsense => json!(7),
    }})
}

fn question(what: u8) -> Value {
    match what % 6 {
        0 => json!({"method": "elicitation/create", "params": {
            "message": "Go on?",
            "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
        }}),
        1 => json!({"method": "elicitation/create", "params": {
            "mode": "url", "message": "Pay", "url": "https://a.example/", "elicitationId": "link",
        }}),
        2 => {
            json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        }
        3 => json!({"method": "roots/list"}),
        4 => json!({"method": "ping"}),
        _ => json!({"method": "elicitation/create", "params": {"message": 7}}),
    }
}

fn answer(request: &InputRequest, how: u8) -> Result<InputResponse, ErrorObject> {
    let elicit =
        |answer: Value| InputResponse::Elicit(serde_json::from_value(answer).expect("an answer"));
    let roots =
        || InputResponse::Roots(serde_json::from_value(json!({"roots": []})).expect("roots"));
    match (how % 5, request) {
        (0, InputRequest::Elicit(_)) => Ok(elicit(
            json!({"action": "accept", "content": {"yes": true}}),
        )),
        (0, InputRequest::Sample(_)) => {
            let reply = json!({"role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m"});
            Ok(InputResponse::Sample(
                serde_json::from_value(reply).expect("a reply"),
            ))
        }
        (0, InputRequest::Roots(_)) => Ok(roots()),
        (1, _) => Err(ErrorObject::new(-1, "User rejected")),
        (2, _) => Ok(elicit(json!({"action": "decline"}))),
        (3, _) => Ok(elicit(json!({"action": "accept", "content": {"no": 7}}))),
        _ => Ok(roots()),
    }
}
