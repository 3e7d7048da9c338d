//! The record of answers in a flow.

use std::{
    sync::Arc,
    task::{Poll, Waker},
};

use askback_core::{
    ask::{
        AskError, Capability, CheckedAnswer, Flow, FlowId, FlowState, Identity, Reply, Settlement,
        TokenId, Verdict,
    },
    limits::Limits,
    protocol::{InputRequest, RawJson},
};
use serde_json::{Value, json};

const NOW: u64 = 1_800_000_000_000;

fn question(request: Value) -> InputRequest {
    serde_json::from_value(request).unwrap()
}

fn form() -> InputRequest {
    question(json!({"method": "elicitation/create", "params": {
        "message": "A seat?",
        "requestedSchema": {"type": "object", "properties": {
            "window": {"type": "boolean"},
            "row": {"type": "integer", "default": 7},
            "note": {"type": "string"},
        }},
    }}))
}

fn link() -> InputRequest {
    question(json!({"method": "elicitation/create", "params": {
        "mode": "url", "message": "Pay.", "url": "https://example.com/pay", "elicitationId": "1",
    }}))
}

fn sample() -> InputRequest {
    question(
        json!({"method": "sampling/createMessage", "params": {"maxTokens": 9, "messages": []}}),
    )
}

fn roots() -> InputRequest {
    question(json!({"method": "roots/list"}))
}

fn value(json: &Value) -> Reply {
    Reply::Value(RawJson::new(json).unwrap())
}

fn identity() -> Identity {
    Identity {
        flow: FlowId([1; 16]),
        started: NOW,
        seed: [2; 32],
    }
}

/// A flow that has asked `request` and received this reply.
fn answered(
    request: InputRequest,
    reply: Reply,
    limits: &Arc<Limits>,
) -> (Flow, Poll<CheckedAnswer>) {
    let mut flow = Flow::start(NOW, Arc::clone(limits));
    let slot = flow.ask("question", request, None).unwrap();
    assert_eq!(flow.verdict(NOW), Verdict::Ask);
    flow.send_questions();
    flow.reply("question", reply, NOW);
    flow.verdict(NOW);
    let polled = flow.poll_question(slot, Waker::noop());
    (flow, polled.map(|answer| answer.unwrap()))
}

fn suspended(flow: &Flow) -> FlowState {
    flow.suspend(identity(), TokenId([3; 16]), NOW)
}

/// The record of an answer, as JSON.
fn recorded(state: &FlowState) -> Option<Value> {
    let entry = state.journal.first()?;
    match &entry.outcome {
        Settlement::Answered(answered) => match &answered.reply {
            Reply::Value(value) => Some(value.decode().unwrap()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Each kind of question, an answer to it, and the parsed answer.
fn answers() -> Vec<(InputRequest, Value, Value)> {
    let reason = json!({"dev.askback/reason": "too dear"});
    let text = json!({"type": "text", "text": "hello"});
    vec![
        (
            form(),
            json!({"action": "accept", "content": {"window": true, "note": null}}),
            json!({"action": "accept", "content": {"window": true, "row": 7}}),
        ),
        (
            form(),
            json!({"action": "decline", "content": {"window": true}}),
            json!({"action": "decline"}),
        ),
        (
            form(),
            json!({"action": "cancel"}),
            json!({"action": "cancel"}),
        ),
        (
            link(),
            json!({"action": "accept", "content": {"window": true}}),
            json!({"action": "accept"}),
        ),
        (
            sample(),
            json!({"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}),
            json!({"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}),
        ),
        (
            roots(),
            json!({"roots": [{"uri": "file:///a", "name": "A", "_meta": reason, "colour": "red"}]}),
            json!({"roots": [{"uri": "file:///a", "name": "A"}]}),
        ),
    ]
}

fn with_more(mut answer: Value) -> Value {
    answer["_meta"] = json!({"com.example/much": "x".repeat(1000)});
    answer["com.example/more"] = json!({"much": "x".repeat(1000)});
    answer
}

#[test]
fn what_is_read_of_an_answer_is_recorded_and_nothing_else() {
    let limits = Arc::new(Limits::default());
    for (request, answer, read) in answers() {
        let (flow, polled) = answered(request.clone(), value(&with_more(answer)), &limits);
        let Poll::Ready(first) = polled else {
            panic!("{request:?} has its answer");
        };
        let state = suspended(&flow);
        assert_eq!(recorded(&state), Some(read), "{request:?}");

        // The record gives the same answer.
        let mut flow = Flow::resume(state, Default::default(), NOW, Arc::clone(&limits));
        let slot = flow.ask("question", request.clone(), None).unwrap();
        assert_eq!(flow.verdict(NOW), Verdict::Delivered);
        let again = flow.poll_question(slot, Waker::noop());
        assert_eq!(again, Poll::Ready(Ok(first)), "{request:?}");
    }
}

#[test]
fn a_persons_reason_is_recorded() {
    let limits = Arc::new(Limits::default());
    let mut answer = json!({"action": "decline", "_meta": {"com.example/much": "x"}});
    let reason = json!({"dev.askback/reason": "too dear"});
    answer["_meta"]["dev.askback/reason"] = "too dear".into();
    let (flow, _) = answered(form(), value(&answer), &limits);
    let expected = json!({"action": "decline", "_meta": reason});
    assert_eq!(recorded(&suspended(&flow)), Some(expected));
}

/// A handler may wait before it asks a question again. Meanwhile its answer is stored without
/// unknown members, unless it is larger than any valid answer may be.
#[test]
fn an_answer_that_is_not_asked_for_yet_is_kept_in_bounds() {
    let limits = Arc::new(Limits::default());
    for (request, answer, read) in answers() {
        let mut flow = Flow::start(NOW, Arc::clone(&limits));
        flow.ask("question", request.clone(), None).unwrap();
        flow.verdict(NOW);
        flow.send_questions();
        let asked = suspended(&flow);

        let resume = |answer: &Value| {
            let replies = [("question".to_owned(), value(answer))].into();
            let mut flow = Flow::resume(asked.clone(), replies, NOW, Arc::clone(&limits));
            flow.verdict(NOW);
            suspended(&flow)
        };
        let kept = resume(&with_more(answer.clone()));
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("much"), "{text}");
        let mut flow = Flow::resume(kept, Default::default(), NOW, Arc::clone(&limits));
        let slot = flow.ask("question", request.clone(), None).unwrap();
        assert_eq!(flow.verdict(NOW), Verdict::Delivered);
        assert!(flow.poll_question(slot, Waker::noop()).is_ready());
        assert_eq!(recorded(&suspended(&flow)), Some(read));

        let mut huge = answer;
        huge["content"] = json!({"note": "x".repeat(2 << 20)});
        assert_eq!(recorded(&resume(&huge)), None);
    }
}

#[test]
fn an_answer_is_bounded() {
    let limits = Arc::new(Limits::default());
    let much = "x".repeat(2 << 20);
    let text = json!({"type": "text", "text": much});
    let roots_of = |uri: &str| json!({"roots": [{"uri": format!("file:///{uri}")}]});
    for (request, answer, reason) in [
        (
            sample(),
            json!({"role": "assistant", "content": text, "model": "m"}),
            "longer than 1048576 bytes",
        ),
        (roots(), roots_of(&much), "longer than 65536 bytes"),
        (
            roots(),
            json!({"roots": [{"uri": "x".repeat(60_000)}]}),
            "not `xxx",
        ),
        (
            form(),
            json!({"action": "accept", "content": {much.clone(): 1}}),
            "`xxx",
        ),
    ] {
        let (flow, polled) = answered(request, value(&answer), &limits);
        assert_eq!(polled, Poll::Pending);
        let state = suspended(&flow);
        let told = state.open[0].reason.as_deref().unwrap();
        assert!(told.contains(reason), "{}", &told[..100.min(told.len())]);
        assert!(told.len() <= limits.asking.reason_bytes);
        assert_eq!(recorded(&state), None);
    }
    let answer = json!({"action": "decline", "_meta": {"dev.askback/reason": "ü".repeat(2000)}});
    let (_, polled) = answered(form(), value(&answer), &limits);
    let Poll::Ready(CheckedAnswer::Elicit(declined)) = polled else {
        panic!("it has its answer");
    };
    let kept = declined
        .meta
        .as_ref()
        .and_then(|meta| meta.reason())
        .unwrap();
    assert!(kept.ends_with("ü…") && kept.len() <= limits.asking.reason_bytes);
}

/// The outcome of a question, after this reply, whose client no longer supports it: the record may
/// answer it, but it is not sent again.
#[test]
fn a_question_that_the_client_no_longer_supports_is_answered_only_from_the_record() {
    #[track_caller]
    fn check(request: &InputRequest, reply: Option<Reply>, wanted: Result<(), AskError>) {
        let limits = Arc::new(Limits::default());
        let mut flow = Flow::start(NOW, Arc::clone(&limits));
        flow.ask("question", request.clone(), None).unwrap();
        assert_eq!(flow.verdict(NOW), Verdict::Ask);
        flow.send_questions();
        let replies = reply.map(|reply| ("question".to_owned(), reply));
        let replies = replies.into_iter().collect();
        let mut flow = Flow::resume(suspended(&flow), replies, NOW, limits);
        let asked = flow.ask("question", request.clone(), Some(Capability::ElicitForm));
        let settled = asked.map(|slot| {
            assert_eq!(flow.verdict(NOW), Verdict::Delivered);
            flow.poll_question(slot, Waker::noop())
        });
        let settled = match settled {
            Ok(Poll::Ready(answer)) => answer.map(drop),
            Ok(Poll::Pending) => panic!("it would be sent again"),
            Err(error) => Err(error),
        };
        assert_eq!(settled, wanted);
        assert!(flow.send_questions().is_empty());
    }
    let lacks = || Err(AskError::Unsupported(Capability::ElicitForm));
    let usable = json!({"action": "decline"});
    let unusable = json!({"action": "accept", "content": {"row": "seven"}});
    check(&form(), Some(value(&usable)), Ok(()));
    check(&form(), Some(value(&unusable)), lacks());
    check(&form(), Some(value(&json!(7))), lacks());
    check(&form(), None, lacks());
}
