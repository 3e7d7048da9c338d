//! Random events in random order: nothing panics, and every call ends once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use askback_core::{
    engine::client::{CallId, ClientMessage, Connection, Output, QuestionId},
    jsonrpc::ErrorObject,
    protocol::{ClientRequest, ElicitResult, InputRequest, InputResponse, ListRootsResult},
    revision::{Kind, Revision},
};
use proptest::prelude::*;
use serde_json::{Value, value::RawValue};

use super::{check_kind, profile};

#[derive(Debug, Clone)]
enum Step {
    Connected,
    Gone,
    /// The client has new credentials.
    Authorized,
    /// Time passes: to the next timeout, or by some milliseconds.
    Timeout,
    Wait(u16),
    Call(usize),
    Cancel(usize),
    /// Answers an open question: correctly, with an error, or wrongly.
    Answer(usize, usize),
    /// A response to a sent request, with some result.
    Respond(usize, usize),
    /// One of the other messages.
    Say(usize),
    Bytes(Vec<u8>),
}

const CALLS: [(&str, &str); 7] = [
    ("tools/call", r#"{"name":"t","arguments":{"a":1}}"#),
    ("tools/call", r#"{"name":"u"}"#),
    ("prompts/get", r#"{"name":"p"}"#),
    ("resources/read", r#"{"uri":"a:b"}"#),
    ("tools/list", "{}"),
    (
        "subscriptions/listen",
        r#"{"notifications":{"toolsListChanged":true}}"#,
    ),
    ("logging/setLevel", r#"{"level":"info"}"#),
];

const OUTCOMES: [&str; 21] = [
    r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}"#,
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"resultType":"complete","content":[],"ttlMs":100}"#,
    r#""result":{"content":[]}"#,
    r#""result":{"resultType":"input_required","requestState":"s"}"#,
    r#""result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}"#,
    r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#,
    r#""result":{"resultType":"input_required"}"#,
    r#""result":{"resultType":"?"}"#,
    r#""error":{"code":-32601,"message":"no"}"#,
    r#""error":{"code":-32602,"message":"no"}"#,
    r#""error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18","2026-07-28"]}}"#,
    r#""error":{"code":-32021,"message":"no"}"#,
    r#""error":{"code":-32042,"message":"no","data":{"elicitations":[{"mode":"url","message":"m","url":"https://a.test","elicitationId":"e"},{"mode":"url","message":"m","url":"https://a.test","elicitationId":"f"}]}}"#,
    r#""result":{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":0}"#,
    r#""result":{"resultType":"complete","taskId":"t","status":"input_required","createdAt":"","lastUpdatedAt":"","ttlMs":null,"inputRequests":{"a":{"method":"roots/list"},"c":{"method":"roots/list"}}}"#,
    r#""result":{"resultType":"complete","taskId":"t","status":"input_required","createdAt":"","lastUpdatedAt":"","ttlMs":5,"inputRequests":{"b":{"method":"roots/list"}}}"#,
    r#""result":{"resultType":"complete","taskId":"t","status":"completed","createdAt":"","lastUpdatedAt":"","ttlMs":5,"result":{"content":[]}}"#,
    r#""result":{},"error":{}"#,
    r#""result":null"#,
];

const SAID: [&str; 18] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}"#,
    r#"{"jsonrpc":"2.0","id":"y","method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.test","elicitationId":"e"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"nope"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":2}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#,
    r#"[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"roots/list"},{"jsonrpc":"2.0","id":2,"result":{"content":[]}}]"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":5}"#,
];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Connected),
        1 => Just(Step::Gone),
        2 => Just(Step::Timeout),
        1 => Just(Step::Authorized),
        2 => any::<u16>().prop_map(Step::Wait),
        6 => any::<usize>().prop_map(Step::Call),
        1 => any::<usize>().prop_map(Step::Cancel),
        6 => (any::<usize>(), any::<usize>()).prop_map(|(which, how)| Step::Answer(which, how)),
        10 => (any::<usize>(), any::<usize>()).prop_map(|(which, what)| Step::Respond(which, what)),
        6 => any::<usize>().prop_map(Step::Say),
        1 => proptest::collection::vec(any::<u8>(), 0..20).prop_map(Step::Bytes),
    ]
}

struct Driver {
    connection: Connection,
    now: Duration,
    connecting: bool,
    calls: u64,
    open_calls: BTreeSet<u64>,
    questions: BTreeMap<QuestionId, InputRequest>,
    sent: Vec<Value>,
    ids: BTreeSet<String>,
}

impl Driver {
    fn new(revisions: Vec<Revision>) -> Self {
        let mut profile = profile();
        profile.revisions = revisions;
        profile.capabilities.declare_tasks_extension();
        let mut driver = Self {
            connection: Connection::new(profile),
            now: Duration::ZERO,
            connecting: false,
            calls: 0,
            open_calls: BTreeSet::new(),
            questions: BTreeMap::new(),
            sent: Vec::new(),
            ids: BTreeSet::new(),
        };
        driver.drain();
        driver
    }

    fn take(&mut self, step: &Step) {
        let now = self.now;
        match step {
            Step::Connected if self.connecting => {
                self.connecting = false;
                self.connection.handle_connected(now);
            }
            Step::Connected => {}
            Step::Gone => {
                self.connecting = false;
                self.connection.handle_disconnected(&"gone".into(), now);
            }
            Step::Authorized => {
                let next = self.connection.authorization_context() + 1;
                self.connection.set_authorization_context(next, now);
            }
            Step::Timeout => self.time_out(),
            Step::Wait(millis) => {
                self.now += Duration::from_millis((*millis).into());
                self.connection.handle_timeout(self.now);
            }
            Step::Call(which) => {
                let (method, params) = CALLS[which % CALLS.len()];
                let params = RawValue::from_string(params.to_owned()).unwrap();
                let request = ClientRequest::parse(method, Some(&params)).unwrap();
                self.calls += 1;
                self.open_calls.insert(self.calls);
                self.connection.call(CallId(self.calls), request, now);
            }
            Step::Cancel(which) => {
                if let Some(id) = nth(self.open_calls.iter(), *which).copied() {
                    self.open_calls.remove(&id);
                    self.connection.cancel(CallId(id), now);
                }
            }
            Step::Answer(which, how) => {
                if let Some(id) = nth(self.questions.keys(), *which).copied() {
                    let request = self.questions.remove(&id).unwrap();
                    self.connection.answer(id, answer(&request, *how), now);
                }
            }
            Step::Respond(which, what) => {
                // Usually a recent request, because it may still be waiting.
                let recent = if which % 4 == 0 { usize::MAX } else { 4 };
                if let Some(id) = nth(self.sent.iter().rev().take(recent), which / 4) {
                    let outcome = OUTCOMES[what % OUTCOMES.len()];
                    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#);
                    self.connection.handle_message(message.as_bytes(), now);
                }
            }
            Step::Say(what) => {
                self.connection
                    .handle_message(SAID[what % SAID.len()].as_bytes(), now);
            }
            Step::Bytes(bytes) => self.connection.handle_message(bytes, now),
        }
        self.drain();
    }

    fn time_out(&mut self) {
        if let Some(due) = self.connection.next_timeout() {
            self.now = self.now.max(due);
            self.connection.handle_timeout(self.now);
            self.drain();
            let next = self.connection.next_timeout();
            assert!(
                next.is_none_or(|next| next > self.now),
                "a timeout that is never over"
            );
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.connection.poll() {
            match output {
                Output::Connect => {
                    assert!(!self.connecting, "one transport at a time");
                    self.connecting = true;
                }
                Output::Close(_) | Output::Opened | Output::Event(_) => {}
                Output::Send(message) => self.check_sent(&message),
                Output::Ask(id, question) => {
                    assert!(self.questions.insert(id, question.request).is_none());
                }
                Output::Withdraw(id) => {
                    assert!(
                        self.questions.remove(&id).is_some(),
                        "a question nobody has"
                    );
                }
                Output::Granted(CallId(id), _) => assert!(self.open_calls.contains(&id)),
                Output::Done(CallId(id), _) => {
                    assert!(
                        self.open_calls.remove(&id),
                        "the call {id} ends a second time"
                    );
                }
            }
        }
    }

    fn check_sent(&mut self, message: &ClientMessage) {
        check_kind(message);
        let message: Value = serde_json::from_slice(&message.bytes).unwrap();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return;
        };
        let known = |kind| {
            Revision::ALL
                .iter()
                .any(|revision| revision.has(kind, method))
        };
        match message.get("id") {
            Some(id) => {
                assert!(known(Kind::ClientRequest), "{method}");
                assert!(self.ids.insert(id.to_string()), "the id {id} is used again");
                self.sent.push(id.clone());
            }
            None => assert!(known(Kind::ClientNotification), "{method}"),
        }
    }

    /// Answers all questions and lets all timeouts pass, until nothing is pending.
    fn settle(&mut self) {
        for id in self.questions.keys().copied().collect::<Vec<_>>() {
            let error = Err(ErrorObject::new(-1, "no"));
            if self.questions.remove(&id).is_some() {
                self.connection.answer(id, error, self.now);
                self.drain();
            }
        }
        let mut left = 10_000;
        while !self.open_calls.is_empty() {
            left -= 1;
            assert!(left > 0, "calls that never end: {:?}", self.open_calls);
            if self.connection.next_timeout().is_some() {
                self.time_out();
            } else {
                self.take(&Step::Gone);
            }
        }
        assert!(self.questions.is_empty(), "questions of calls that ended");
    }

    /// Cancels everything; the host must have no questions left.
    fn abandon(&mut self) {
        self.take(&Step::Gone);
        while !self.open_calls.is_empty() {
            self.take(&Step::Cancel(0));
        }
        assert!(self.questions.is_empty(), "questions nobody waits for");
        assert!(
            self.connection
                .next_timeout()
                .is_none_or(|_| self.connecting)
        );
    }
}

fn nth<T>(items: impl ExactSizeIterator<Item = T>, which: usize) -> Option<T> {
    let mut items = items;
    let length = items.len();
    items.nth(which.checked_rem(length)?)
}

fn answer(request: &InputRequest, how: usize) -> Result<InputResponse, ErrorObject> {
    let roots = InputResponse::Roots(ListRootsResult::default());
    let decline = InputResponse::Elicit(ElicitResult::decline());
    match (how % 4, request) {
        (0, _) => Err(ErrorObject::new(-1, "User rejected")),
        (1, _) => Ok(decline),
        (_, InputRequest::Elicit(_)) => Ok(InputResponse::Elicit(ElicitResult::agree())),
        _ => Ok(roots),
    }
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    // Shows CA-22, CA25-07.
    #[test]
    fn every_call_ends_once(
        newest in 0..3usize,
        opened: bool,
        patient: bool,
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let revisions = match newest {
            0 => Revision::ALL.to_vec(),
            1 => vec![Revision::LATEST],
            _ => Revision::ALL[..4].to_vec(),
        };
        let mut driver = Driver::new(revisions);
        if opened {
            // The first outcome opens the stateless era, the second a session.
            driver.take(&Step::Connected);
            driver.take(&Step::Respond(1, usize::from(newest == 2)));
        }
        for step in &steps {
            driver.take(step);
        }
        if patient {
            driver.settle();
        } else {
            driver.abandon();
        }
    }
}
