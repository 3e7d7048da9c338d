//! Whatever happens at the desk, every question ends once, and what is sent has been checked.

use std::collections::BTreeMap;

use askback_core::{
    forms::FormSchema,
    limits::{FormLimits, Limits},
    protocol::{CreateMessageParams, Root},
};
use askback_host::model::{Ask, Call, Desk, Effect, Event, Question, Reply, Said};
use proptest::prelude::*;

use crate::{form, link, safety};

fn question() -> impl Strategy<Value = Question> {
    let fields = r#"
        "age": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["S", "M"], "default": "M"},
        "note": {"type": "string", "maxLength": 3}
    "#;
    prop_oneof![
        Just(form("Fill in.", fields, r#""age""#)),
        Just(form("Agree?", "", "")),
        Just(form("Sign in.", r#""password": {"type": "string"}"#, "")),
        Just(link("https://example.com/")),
        Just(link("http://example.com:8080/")),
        Just(link("https://good.com@evil.com/")),
        Just(Question {
            call: Some(Call::Tool("pick".to_owned())),
            key: None,
            ask: Ask::Sample(Box::new(CreateMessageParams::new("Pick.", 10))),
        }),
        Just(Question {
            call: None,
            key: None,
            ask: Ask::Roots
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![Just("1"), Just("9"), Just("M"), Just("long text"), Just("")];
    let said = prop_oneof![
        6 => text.prop_map(|text| Said::Fill(text.to_owned())),
        6 => Just(Said::Keep),
        4 => Just(Said::Yes),
        2 => Just(Said::Back),
        1 => Just(Said::Clear),
        2 => (0usize..4).prop_map(Said::Reopen),
        1 => Just(Said::Folder("/tmp".to_owned())),
        1 => Just(Said::OpenAgain),
        1 => Just(Said::Decline(None)),
        1 => Just(Said::Decline(Some("no".to_owned()))),
        1 => Just(Said::Cancel),
    ];
    prop_oneof![
        // The numbers are given when the events are played.
        6 => question().prop_map(|question| Event::Asked(0, question)),
        1 => (0u64..30).prop_map(Event::Withdrawn),
        24 => said.prop_map(Event::Said),
        1 => Just(Event::EndOfInput),
        1 => Just(Event::Folder(Ok(Root::new("file:///tmp")))),
        1 => Just(Event::Folder(Err("it is not there".into()))),
        1 => Just(Event::LinkDone("one".to_owned())),
    ]
}

/// The forms that were asked, by number; none once the question has ended.
type Asked = BTreeMap<u64, Option<FormSchema>>;

/// Takes note of what was answered.
fn settle(effects: &[Effect], asked: &mut Asked) -> Result<(), TestCaseError> {
    for effect in effects {
        if let Effect::Answer(id, reply) = effect {
            let schema = asked.remove(id);
            prop_assert!(schema.is_some(), "{id} was answered twice, or never asked");
            if let (Some(Some(schema)), Reply::Form(content)) = (schema, reply) {
                let checked = schema.check(content, &FormLimits::default());
                prop_assert!(checked.is_ok(), "{content:?}: {checked:?}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(safety::config())]

    #[test]
    fn every_question_ends_once(events in prop::collection::vec(event(), 0..120), mute: bool) {
        let offer = Some(Root::new("file:///home"));
        let mut desk = Desk::new(offer, None, Limits::default());
        let mut asked = Asked::new();
        let mut last = 0;
        for event in events {
            let event = match event {
                Event::Asked(_, question) => {
                    let schema = match &question.ask {
                        Ask::Form { schema, .. } => Some(schema.clone()),
                        _ => None,
                    };
                    last += 1;
                    asked.insert(last, schema);
                    Event::Asked(last, question)
                }
                Event::Withdrawn(id) => {
                    asked.remove(&id);
                    Event::Withdrawn(id)
                }
                other => other,
            };
            settle(&desk.update(event), &mut asked)?;
            prop_assert_eq!(desk.front().is_some(), !asked.is_empty());
        }
        let end = || if mute { Event::Said(Said::Mute) } else { Event::EndOfInput };
        for _ in 0..=asked.len() {
            settle(&desk.update(end()), &mut asked)?;
        }
        prop_assert!(asked.is_empty(), "{asked:?} were never answered");
        prop_assert!(desk.front().is_none());
    }
}
