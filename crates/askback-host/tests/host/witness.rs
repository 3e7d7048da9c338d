use std::{cell::RefCell, future::ready, io, rc::Rc};

use askback::{
    client::HostQuestion,
    limits::Limits,
    protocol::{ElicitFormParams, RequestParams, Root},
};
use askback_host::{
    host::Host,
    model::{Ask, Desk, Question, Reply},
    relay::Relay,
    script::Script,
    unattended::UnattendedRun,
};

use crate::{form, travel};

fn asked<Q>(request: Q) -> HostQuestion<Q> {
    HostQuestion {
        server: None,
        call: None,
        target: None,
        key: None,
        request,
        retried: false,
    }
}

fn wishes() -> HostQuestion<ElicitFormParams> {
    let question = form("Book?", r#""confirm": {"type": "boolean"}"#, "");
    let Ask::Form { message, schema } = question.ask else {
        unreachable!("it is a form");
    };
    asked(ElicitFormParams {
        message,
        requested_schema: schema.into(),
        ..ElicitFormParams::default()
    })
}

#[tokio::test]
async fn every_reply_is_recorded_whatever_its_source() {
    let limits = Limits::default();
    let script = Script::parse("answers: [{decline: true}]").expect("the file is one of answers");
    let leaf = UnattendedRun::new(Some(script), limits.clone(), Box::new(io::sink()));
    let shared = Some(vec![Root::new("file:///")]);
    let desk = Desk::new(travel(), None, shared, limits.clone());
    let (relay, arrivals) = Relay::new();
    let mut host = Host::new(desk, Box::new(leaf), arrivals, &limits);
    let noted = Rc::new(RefCell::new(Vec::new()));
    let notes = Rc::clone(&noted);
    host.note(move |question: &Question, reply: &Reply| {
        let message = question.ask.message().unwrap_or("folders").to_owned();
        notes.borrow_mut().push((message, reply.is_refusal()));
    });

    let by_rule = host.attend(relay.clone().fill(wishes())).await;
    assert!(by_rule.is_ok_and(|answer| answer.is_ok()));
    let folders = relay.clone().roots(asked(RequestParams::default()));
    let by_itself = host.attend(folders).await;
    assert!(by_itself.is_ok_and(|answer| answer.is_ok()));
    let withdrawn = host.attend(async {
        tokio::select! {
            biased;
            _ = relay.fill(wishes()) => false,
            () = ready(()) => true,
        }
    });
    assert_eq!(withdrawn.await, Ok(true));

    let noted = noted.take();
    assert_eq!(
        noted,
        [("Book?".to_owned(), true), ("folders".to_owned(), false)]
    );
}
