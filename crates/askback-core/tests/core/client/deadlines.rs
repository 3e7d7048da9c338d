//! The next deadline of many calls.

use std::{collections::BTreeMap, time::Duration};

use askback_core::{
    engine::client::{CallId, CallTarget, MessageKind, Output, QuestionId, Timeouts},
    protocol::{ClientRequest, InputResponse, ListRootsResult},
};
use serde_json::value::RawValue;

use super::{Player, modern, profile};

const QUESTION: &str = r#""inputRequests":{"q":{"method":"roots/list"}}"#;
const STATE: &str = r#""requestState":"s""#;

/// What this test expects of a call.
#[derive(Default)]
struct Expected {
    timeout: Duration,
    /// The id of the last request.
    request: String,
    progress: u64,
    /// Whether the server has asked for another round.
    has_asked: bool,
    question: Option<QuestionId>,
    /// `None` while the host is asked.
    deadline: Option<Duration>,
}

struct Calls {
    player: Player,
    /// By id, which is also the name of the called tool.
    open: BTreeMap<u64, Expected>,
    timed_out: usize,
}

impl Calls {
    fn call(&mut self, id: u64, timeout: Duration) {
        let params = format!(r#"{{"name":"{id}"}}"#);
        let params = RawValue::from_string(params).unwrap();
        let request = ClientRequest::parse("tools/call", Some(&params)).unwrap();
        let timeouts = Timeouts {
            request: Some(timeout),
            in_all: None,
        };
        let expected = Expected {
            timeout,
            ..Expected::default()
        };
        self.open.insert(id, expected);
        let now = self.player.now;
        let connection = &mut self.player.connection;
        connection.call_within(CallId(id), request, timeouts, now);
    }

    fn respond(&mut self, id: u64, result: &str) {
        let request = &self.open[&id].request;
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{request},"result":{{{result}}}}}"#
        ));
    }

    fn receive(&mut self, message: &str) {
        let now = self.player.now;
        let connection = &mut self.player.connection;
        connection.handle_message(message.as_bytes(), now);
    }

    /// Reads what the engine does and updates the expected deadlines.
    fn drain(&mut self) {
        let now = self.player.now;
        while let Some(output) = self.player.connection.poll() {
            match output {
                Output::Send(message) => {
                    let MessageKind::Request(sent) = &message.kind else {
                        continue;
                    };
                    let id = sent.request.target().expect("a tool").parse().unwrap();
                    let call = self.open.get_mut(&id).expect("an open call");
                    call.request = serde_json::to_string(&sent.id).unwrap();
                    call.deadline = Some(now + call.timeout);
                }
                Output::Ask(question, asked) => {
                    let Some(CallTarget::Tool(name)) = asked.target else {
                        panic!("a question without a tool");
                    };
                    let call = self.open.get_mut(&name.parse().unwrap()).unwrap();
                    call.question = Some(question);
                    call.deadline = None;
                }
                Output::Done(CallId(id), result) => {
                    let call = self.open.remove(&id).expect("an open call");
                    if result.is_err() {
                        assert!(call.deadline.is_some_and(|at| at <= now), "call {id}");
                        self.timed_out += 1;
                    }
                }
                _ => {}
            }
        }
    }
}

/// A small deterministic generator.
fn draw(state: &mut u64, most: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 33) % most
}

#[test]
fn the_next_deadline_is_the_first_of_all_calls_whatever_was_done_to_them() {
    let mut profile = profile();
    profile.limits.client.asks = u32::MAX;
    let mut player = Player::new(profile);
    player.play_all(&modern(""));
    let mut calls = Calls {
        player,
        open: BTreeMap::new(),
        timed_out: 0,
    };
    let mut state = 7;
    for step in 1..5_000 {
        let now = Duration::from_millis(50 * step);
        calls.player.now = now;
        calls.player.connection.handle_timeout(now);
        calls.drain();
        let which = draw(&mut state, calls.open.len().max(1) as u64) as usize;
        let id = calls.open.keys().nth(which).copied();
        match (draw(&mut state, 8), id) {
            (0..=2, _) if calls.open.len() < 40 => {
                let seconds = 1 + draw(&mut state, 5);
                calls.call(step, Duration::from_secs(seconds));
            }
            (3, Some(id)) => {
                calls.open.remove(&id);
                calls.player.connection.cancel(CallId(id), now);
            }
            (4 | 5, Some(id)) => {
                let call = calls.open.get_mut(&id).unwrap();
                // Only a round in flight makes progress.
                if call.question.is_none() && call.deadline > Some(now + Duration::from_millis(50))
                {
                    call.progress += 1;
                    call.deadline = Some(now + call.timeout);
                    let (token, progress) = (&call.request, call.progress);
                    let message = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
                    );
                    calls.receive(&message);
                }
            }
            (6, Some(id)) if !calls.open[&id].has_asked => {
                let call = calls.open.get_mut(&id).unwrap();
                call.has_asked = true;
                if draw(&mut state, 2) == 0 {
                    calls.respond(id, &format!(r#""resultType":"input_required",{QUESTION}"#));
                } else {
                    call.deadline = Some(now + Duration::from_millis(50));
                    calls.respond(id, &format!(r#""resultType":"input_required",{STATE}"#));
                }
            }
            (7, Some(id)) => {
                if let Some(question) = calls.open.get_mut(&id).unwrap().question.take() {
                    let roots = serde_json::from_str::<ListRootsResult>(r#"{"roots":[]}"#).unwrap();
                    let answer = Ok(InputResponse::Roots(roots));
                    calls.player.connection.answer(question, answer, now);
                } else {
                    calls.respond(id, r#""resultType":"complete","content":[]"#);
                }
            }
            _ => {}
        }
        calls.drain();
        let expected = calls.open.values().filter_map(|call| call.deadline).min();
        assert_eq!(
            calls.player.connection.next_timeout(),
            expected,
            "after step {step}"
        );
    }
    assert!(calls.timed_out > 100, "only {} timed out", calls.timed_out);
}
