//! With any sequence of events, each question ends once, no text of the user is lost, and only
//! checked and reviewed content is sent.

use std::collections::{BTreeMap, BTreeSet};

use askback::{
    forms::{Content, FormSchema},
    limits::{FormLimits, Limits},
    protocol::{
        CreateMessageParams, CreateMessageResult, Root, SamplingBlock, ToolChoiceMode,
        ToolUseContent,
    },
};
use askback_host::model::{
    Action, Ask, Call, Desk, Draft, Effect, Event, Front, Notice, Part, Permission, Question,
    Refused, Reply, Step, Typed, TypedChange, TypedValue, Why, WorstEnd,
};
use askback_host::{ending::QuestionEnd, text::Words};
use proptest::prelude::*;

use crate::{
    agreed::{Agreed, Written},
    called, form, going_on, journey, link, offering, reply_of_a_model, safety, sign_in, travel,
};

fn question() -> impl Strategy<Value = Question> {
    let fields = r#"
        "age": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["S", "M"], "default": "M"},
        "extras": {"type": "array", "items": {"enum": ["bike", "boat"], "type": "string"}, "minItems": 2},
        "note": {"type": "string", "maxLength": 3}
    "#;
    prop_oneof![
        1 => Just(form("Fill in.", fields, r#""age""#)),
        1 => Just(journey()),
        1 => Just(form("Agree?", "", "")),
        2 => Just(form("Why?", r#""why": {"type": "string"}"#, "")),
        1 => Just(form("Sign in.", r#""password": {"type": "string"}"#, "")),
        1 => Just(link("https://example.com/")),
        1 => Just(link("http://example.com:8080/")),
        1 => Just(link("https://good.com@evil.com/")),
        1 => Just(going_on()),
        1 => Just(sign_in("https://auth.example.com/")),
        1 => Just(Question {
            call: Some(Call::Tool("pick".to_owned())),
            key: None,
            ask: Ask::Sample(Box::new(CreateMessageParams::new("Pick.", 10))),
        }),
        1 => modes().prop_map(|mode| offering(mode, called())),
        1 => modes().prop_map(|mode| offering(mode, called())),
        1 => Just(Question {
            call: None,
            key: None,
            ask: Ask::Roots
        }),
    ]
}

fn modes() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("auto"), Just("required"), Just("none")]
}

fn permission() -> impl Strategy<Value = Permission> {
    prop_oneof![
        3 => Just(Permission::Ask),
        1 => Just(Permission::Session),
        1 => Just(Permission::Always),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![Just(Part::System), Just(Part::Message), Just(Part::Reply)]
}

/// A model's reply with two tool calls, whose id is the same and was used before.
fn called_twice() -> Event {
    let call = SamplingBlock::ToolUse(ToolUseContent {
        id: "call-1".to_owned(),
        name: "now".to_owned(),
        ..ToolUseContent::default()
    });
    let mut reply = CreateMessageResult::text("qwen3", "");
    reply.content = vec![call.clone(), call].into();
    reply.stop_reason = Some("toolUse".to_owned());
    Event::Sampled(Ok(Box::new(reply)))
}

fn refused() -> Refused {
    Refused {
        call: None,
        what: "something that cannot be shown here",
        message: Some("Where do you live?".to_owned()),
        reason: "an object cannot be asked in a form".to_owned(),
        is_told: false,
    }
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![
        Just("1"),
        Just("9"),
        Just("M"),
        Just("long text"),
        Just("{\"a\": 1}"),
        Just("")
    ];
    let said = prop_oneof![
        9 => (0usize..4, text.clone()).prop_map(|(field, text)| Action::Write { field, text: text.to_owned() }),
        3 => (0usize..4, 0usize..4).prop_map(|(field, option)| Action::Choose { field, option }),
        2 => text.prop_map(|text| Action::Fill(text.to_owned())),
        6 => Just(Action::Submit),
        6 => Just(Action::Send),
        3 => Just(Action::Done),
        4 => Just(Action::Yes),
        5 => Just(Action::Back),
        1 => (0usize..4).prop_map(Action::Clear),
        2 => (0usize..4).prop_map(|field| Action::Suggest { field, text: "1".to_owned() }),
        1 => Just(Action::Folder("/tmp".to_owned())),
        1 => Just(Action::OpenAgain),
        3 => Just(Action::Decline(None)),
        1 => Just(Action::Decline(Some("no".to_owned()))),
        1 => Just(Action::Cancel),
        4 => permission().prop_map(Action::Run),
        1 => Just(Action::Never),
        2 => part().prop_map(Action::Rewrite),
        3 => Just(Action::WriteMyself),
    ];
    prop_oneof![
        // The numbers are assigned later.
        6 => question().prop_map(|question| Event::Asked(0, question)),
        1 => (0u64..30).prop_map(|id| Event::Ended(id, QuestionEnd::Withdrawn)),
        // Number 0 stands for the current question.
        1 => Just(Event::Ended(0, QuestionEnd::Withdrawn)),
        4 => any::<bool>().prop_map(|tool| reply_of_a_model("Two.", tool)),
        2 => Just(called_twice()),
        1 => Just(Event::Sampled(Err(Words::from("it is overloaded").into()))),
        1 => Just(Event::Refused(refused())),
        24 => said.prop_map(Event::Action),
        1 => Just(Event::EndOfInput),
        1 => Just(Event::Answered(Reply::Cancelled(Why::Rule { expected: false }))),
        1 => Just(Event::Folder(Ok(Root::new("file:///tmp")))),
        1 => Just(Event::Folder(Err("it is not there".into()))),
        1 => Just(Event::LinkDone("one".to_owned())),
        2 => any::<bool>().prop_map(Event::Browser),
    ]
}

/// The forms by question number; `None` for other questions.
type Asked = BTreeMap<u64, Option<FormSchema>>;

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

fn looked_over(front: Front<'_>) -> Option<(u64, Content)> {
    match front.step {
        Step::Review(draft) => Some((front.id, draft.content())),
        Step::Confirm => Some((front.id, Content::new())),
        _ => None,
    }
}

fn replied(front: Front<'_>) -> Option<Box<CreateMessageResult>> {
    match front.step {
        Step::Replied(sampling) => sampling.reply.clone().map(Box::new),
        _ => None,
    }
}

fn requested(front: Front<'_>) -> Option<Box<CreateMessageParams>> {
    match front.step {
        Step::Request(sampling) | Step::Replied(sampling) => {
            Some(Box::new(sampling.request.clone()))
        }
        _ => None,
    }
}

/// Checks that the request allows the tool calls of a reply, and that their ids are unique.
fn check_calls(
    request: &CreateMessageParams,
    reply: &CreateMessageResult,
) -> Result<(), TestCaseError> {
    let blocks = reply.content.blocks().iter();
    let calls: Vec<_> = blocks
        .filter_map(|block| match block {
            SamplingBlock::ToolUse(call) => Some(call),
            _ => None,
        })
        .collect();
    let mode = request.tool_choice.as_ref().and_then(|choice| choice.mode);
    prop_assert!(mode != Some(ToolChoiceMode::Required) || !calls.is_empty());
    prop_assert!(mode != Some(ToolChoiceMode::None) || calls.is_empty());
    let said = request
        .messages
        .iter()
        .map(|message| message.content.blocks());
    let mut ids: BTreeSet<_> = said
        .flatten()
        .filter_map(|block| match block {
            SamplingBlock::ToolUse(call) => Some(&call.id),
            _ => None,
        })
        .collect();
    for call in &calls {
        let mut offered = request.tools.iter().flatten();
        prop_assert!(offered.any(|tool| tool.name == call.name), "{call:?}");
        prop_assert!(ids.insert(&call.id), "{call:?} has the id of another");
    }
    let says_so = reply.stop_reason.as_deref() == Some("toolUse");
    prop_assert_eq!(says_so, !calls.is_empty());
    Ok(())
}

/// Whether a field holds this text, or the value that it was parsed to.
fn holds(draft: &Draft, field: usize, text: &str) -> bool {
    match (draft.written(field), draft.value(field)) {
        (Some(written), None) => written == text && draft.issue(field).is_some(),
        (None, Some(value)) => draft.read(field, text).as_ref() == Ok(value),
        (None, None) => text.is_empty(),
        (Some(_), Some(_)) => false,
    }
}

#[test]
fn a_muted_server_can_be_unmuted() {
    let mut desk = Desk::new(travel(), None, None, Limits::default());
    desk.update(Event::Asked(1, form("Why?", "", "")));
    desk.update(Event::Action(Action::Mute));
    desk.update(Event::Asked(2, form("Why?", "", "")));
    assert!(desk.front().is_none());
    desk.unmute();
    desk.update(Event::Asked(3, form("Why?", "", "")));
    assert_eq!(desk.front().map(|front| front.id), Some(3));
}

#[test]
fn a_question_that_is_refused_is_told_and_counts() {
    let limits = Limits::default();
    let most = limits.host.refusals;
    let mut desk = Desk::new(travel(), None, None, limits);
    assert_eq!(desk.ended(), WorstEnd::Answered);
    for count in 1..=most + 2 {
        let told = desk.update(Event::Refused(refused())).effects;
        let expected = match count {
            count if count <= most => vec![Effect::Tell(Notice::Refused(refused()))],
            count if count == most + 1 => vec![Effect::Tell(Notice::RefusedMore)],
            _ => Vec::new(),
        };
        assert_eq!(told, expected);
        assert_eq!(desk.ended(), WorstEnd::Unanswered);
    }
    // A refusal that the user already knows of is not reported again, but it counts.
    let mut desk = Desk::new(travel(), None, None, Limits::default());
    let flood = Refused {
        is_told: true,
        ..refused()
    };
    assert_eq!(desk.update(Event::Refused(flood)).effects, []);
    assert_eq!(desk.ended(), WorstEnd::Unanswered);
}

proptest! {
    #![proptest_config(safety::config())]

    #[test]
    fn every_question_ends_once(
        events in prop::collection::vec(event(), 0..120),
        mute: bool,
        has_model: bool,
    ) {
        let offer = Some(Root::new("file:///home"));
        let mut desk = Desk::new(travel(), offer, None, Limits::default());
        if has_model {
            desk = crate::with_model(desk);
        }
        let mut asked = Asked::new();
        let (mut agreed, mut drafts) = (Agreed::default(), Written::default());
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
                Event::Ended(id, QuestionEnd::Withdrawn) => {
                    let front = desk.front().map(|front| front.id);
                    let id = front.filter(|_| id == 0).unwrap_or(id);
                    asked.remove(&id);
                    Event::Ended(id, QuestionEnd::Withdrawn)
                }
                other => other,
            };
            if !agreed.hear(desk.front(), &event) {
                continue;
            }
            drafts.hear(desk.front(), &event);
            let front = desk.front().map(|front| front.id);
            let looked_over = desk.front().and_then(looked_over);
            let replied = desk.front().and_then(replied);
            let requested = desk.front().and_then(requested);
            let is_running = matches!(desk.front().map(|front| front.step), Some(Step::Running(_)));
            let asked_of_model = desk.front().and_then(|front| match &front.question.ask {
                Ask::Sample(request) => Some(request.clone()),
                _ => None,
            });
            let written = match &event {
                Event::Action(Action::Write { field, text }) => Some((*field, text.clone())),
                _ => None,
            };
            let effects = desk.update(event.clone()).effects;
            agreed.check(front, &effects)?;
            drafts.check(desk.front(), &event, &effects)?;
            for effect in &effects {
                if let Effect::Answer(id, Reply::Form(content)) = effect {
                    prop_assert_eq!(looked_over.as_ref(), Some(&(*id, content.clone())));
                }
                let is_permitted = desk.permission().is_given();
                if let Effect::Answer(_, Reply::Sampled(reply)) = effect {
                    let is_seen = replied.as_ref() == Some(reply);
                    prop_assert!(is_seen || is_permitted && is_running, "{reply:?} was not looked over");
                    if let Some(request) = &asked_of_model {
                        check_calls(request, reply)?;
                    }
                }
                if let (Effect::Answer(_, Reply::Text(_)), Some(request)) = (effect, &asked_of_model) {
                    let mode = request.tool_choice.as_ref().and_then(|choice| choice.mode);
                    let is_fit = mode != Some(ToolChoiceMode::Required);
                    prop_assert!(is_fit, "a text was sent where a tool has to be called");
                }
                if let Effect::Run(request) = effect {
                    let is_seen = requested.as_ref() == Some(request);
                    prop_assert!(is_seen || is_permitted, "{request:?} was not looked over");
                }
            }
            if let (Some((field, text)), Some(Step::Filling(draft))) =
                (written, desk.front().map(|front| front.step))
                && field < draft.fields().len()
            {
                prop_assert!(holds(draft, field, &text), "{text:?} is lost: {draft:?}");
            }
            settle(&effects, &mut asked)?;
            prop_assert_eq!(desk.front().is_some(), !asked.is_empty());
        }
        let end = || if mute { Event::Action(Action::Mute) } else { Event::EndOfInput };
        for _ in 0..=asked.len() {
            settle(&desk.update(end()).effects, &mut asked)?;
        }
        prop_assert!(asked.is_empty(), "{asked:?} were never answered");
        prop_assert!(desk.front().is_none());
    }
}

/// Answers a form without fields or with one text field, repeats the call, and returns the effects
/// of the second question.
fn repeated(first: &Question, second: &Question, is_repeated: bool) -> Vec<Effect> {
    let mut desk = Desk::new(travel(), None, None, Limits::default());
    desk.begin_call(false);
    desk.update(Event::Asked(1, first.clone()));
    let mut answered = false;
    for said in [
        Action::Yes,
        Action::Submit,
        Action::Send,
        Action::Fill("a".to_owned()),
        Action::Send,
    ] {
        let effects = desk.update(Event::Action(said)).effects;
        answered |= effects.iter().any(|it| matches!(it, Effect::Answer(1, _)));
    }
    assert!(answered, "{first:?}");
    desk.end_call();
    desk.begin_call(is_repeated);
    let effects = desk.update(Event::Asked(2, second.clone())).effects;
    desk.end_call();
    // After the call, no question is answered automatically.
    let late = desk.update(Event::Asked(3, second.clone())).effects;
    assert!(!late.iter().any(|it| matches!(it, Effect::Answer(3, _))));
    effects
}

#[test]
fn only_the_same_question_of_the_same_call_is_answered_as_before() {
    #[track_caller]
    fn check(first: &Question, second: &Question, is_repeated: bool, is_answered: bool) {
        let effects = repeated(first, second, is_repeated);
        let answers = effects
            .iter()
            .any(|it| matches!(it, Effect::Answer(2, reply) if !reply.is_refusal()));
        assert_eq!(answers, is_answered, "{effects:?}");
    }
    let note = |message: &str| form(message, r#""note": {"type": "string"}"#, "");
    check(&note("A?"), &note("A?"), true, true);
    check(&note("A?"), &note("A?"), false, false);
    check(&note("A?"), &note("B?"), true, false);
    check(&note("A?"), &form("A?", "", ""), true, false);
    let of_another = Question {
        call: Some(Call::Tool("another".to_owned())),
        ..note("A?")
    };
    check(&note("A?"), &of_another, true, false);
    let sample = Question {
        call: None,
        key: None,
        ask: Ask::Sample(Box::new(CreateMessageParams::new("Pick.", 10))),
    };
    check(&sample, &sample, true, true);
    // Secrets are not kept.
    let secret = form("Sign in.", r#""password": {"type": "string"}"#, "");
    check(&secret, &secret, true, false);
}

#[test]
fn a_form_that_is_asked_again_with_more_words_has_what_was_sent() {
    let fields = r#""to": {"type": "string"}, "by": {"type": "string", "default": "train"}"#;
    let asks = |message: &str| form(message, fields, "");
    #[track_caller]
    fn check(questions: &[Question], expected: &[(&str, &str)]) {
        let mut desk = Desk::new(travel(), None, None, Limits::default());
        desk.begin_call(false);
        let (last, before) = questions.split_last().expect("there is one");
        for (id, (question, to)) in (1..).zip(before.iter().zip(["Rome", "Oslo"])) {
            desk.update(Event::Asked(id, question.clone()));
            let (field, text) = (0, to.to_owned());
            for said in [
                Action::Yes,
                Action::Write { field, text },
                Action::Clear(1),
                Action::Submit,
                Action::Send,
            ] {
                desk.update(Event::Action(said));
            }
            assert!(desk.front().is_none(), "{question:?}");
        }
        let effects = desk.update(Event::Asked(9, last.clone())).effects;
        let told = effects == [Effect::Tell(Notice::Restored)];
        desk.update(Event::Action(Action::Yes));
        let Some(Step::Filling(draft)) = desk.front().map(|front| front.step) else {
            panic!("{:?}", desk.front());
        };
        let expected = expected.iter();
        let expected =
            expected.map(|&(name, value)| (name.to_owned(), serde_json::Value::from(value)));
        assert_eq!(draft.content(), expected.collect::<Content>());
        assert_eq!(told, !draft.content().contains_key("by"));
    }
    let empty = [("by", "train")];
    let (first, again) = (asks("Where?"), asks("Where? Not there."));
    check(&[first.clone(), again.clone()], &[("to", "Rome")]);
    let third = asks("Where? Not there, too.");
    check(&[first.clone(), again.clone(), third], &[("to", "Oslo")]);
    // A question with the same message is not a follow-up.
    check(&[first.clone(), first.clone()], &empty);
    check(&[again.clone(), first.clone()], &empty);
    let keyed = Question {
        key: Some("other".to_owned()),
        ..again
    };
    check(&[first, keyed], &empty);
    let secret = |message: &str| {
        let fields = fields.replace("to", "password");
        form(message, &fields, "")
    };
    check(&[secret("Who?"), secret("Who? No.")], &empty);
}

fn fills() -> impl Strategy<Value = Action> {
    let text = prop_oneof![
        Just("1"),
        Just("99"),
        Just("M"),
        Just("long text"),
        Just("{\"a\": 1}"),
        Just("{}"),
        Just("[]"),
        Just("{\"street\": 7}"),
        Just("[{\"city\": \"Rome\"}]"),
        Just(""),
        Just("{")
    ];
    prop_oneof![
        5 => (0usize..8, text).prop_map(|(field, text)| Action::Write { field, text: text.to_owned() }),
        2 => (0usize..8, 0usize..3).prop_map(|(field, option)| Action::Choose { field, option }),
        1 => (0usize..8).prop_map(Action::Clear),
        1 => Just(Action::Submit),
    ]
}

fn changes(typed: &Typed) -> Vec<TypedChange> {
    let changes = typed.iter().map(|(name, now)| TypedChange {
        name: name.clone(),
        over: None,
        now: now.clone(),
    });
    changes.collect()
}

/// The content that can be sent; `None` if a field needs attention.
fn drafted(desk: &Desk) -> Option<Content> {
    match desk.front().map(|front| front.step) {
        Some(Step::Filling(draft) | Step::Review(draft)) => {
            draft.wrong().is_none().then(|| draft.content())
        }
        step => panic!("{step:?}"),
    }
}

proptest! {
    /// Another front end gets all that is typed, whatever it showed before.
    #[test]
    fn what_is_typed_is_the_same_elsewhere(
        asked in question().prop_filter("a form with fields", |asked| matches!(
            &asked.ask, Ask::Form { schema, .. }
                if !schema.fields.is_empty() && !asked.ask.asks_for_secrets()
        )),
        here in proptest::collection::vec(fills(), 0..12),
        there in proptest::collection::vec(fills(), 0..4),
    ) {
        let mut desks = [(); 2].map(|()| Desk::new(travel(), None, None, Limits::default()));
        for (desk, actions) in desks.iter_mut().zip([here, there]) {
            desk.update(Event::Asked(1, asked.clone()));
            for action in actions {
                desk.update(Event::Action(action));
            }
        }
        let [here, mut there] = desks;
        let typed = here.typed(1).expect("it is open");
        let sent = serde_json::to_string(&typed).expect("it is JSON");
        let received: Typed = serde_json::from_str(&sent).expect("it is typed content");
        let is_restored = false;
        let before = there.typed(1);
        let reviewed = matches!(there.front().map(|front| front.step), Some(Step::Review(_)));
        there.update(Event::Typed { id: 1, changes: changes(&received), is_restored });
        if let Some(content) = drafted(&here) {
            prop_assert_eq!(drafted(&there), Some(content));
        }
        if reviewed && there.typed(1) != before {
            let step = there.front().map(|front| front.step);
            prop_assert!(matches!(step, Some(Step::Filling(_))), "what the user has not seen is not sent");
        }
        // A text that is not a value is kept as well.
        let again = there.typed(1).expect("it is open");
        for (name, typed) in &typed {
            if let TypedValue::Text(_) = typed {
                prop_assert_eq!(again.get(name), Some(typed));
            }
        }
    }
}

#[test]
fn newer_text_of_the_user_is_not_overwritten() {
    let mut desk = Desk::new(travel(), None, None, Limits::default());
    desk.update(Event::Asked(
        1,
        form("Why?", r#""why": {"type": "string"}"#, ""),
    ));
    let write = |text: &str| {
        Event::Action(Action::Write {
            field: 0,
            text: text.to_owned(),
        })
    };
    let text = |text: &str| TypedValue::Value(text.into());
    let change = |over: TypedValue, now: &str| Event::Typed {
        id: 1,
        changes: vec![TypedChange {
            name: "why".to_owned(),
            over: Some(over),
            now: text(now),
        }],
        is_restored: false,
    };
    let typed = |desk: &Desk| desk.typed(1).expect("it is open")["why"].clone();
    desk.update(write("mine"));
    assert_eq!(desk.update(change(TypedValue::Empty, "theirs")).effects, []);
    assert_eq!(typed(&desk), text("mine"));
    let told = desk.update(change(text("mine"), "theirs")).effects;
    assert_eq!(told, [Effect::Tell(Notice::TypedElsewhere)]);
    assert_eq!(typed(&desk), text("theirs"));
    // The notice is shown once.
    let told = desk
        .update(change(text("theirs"), "more of theirs"))
        .effects;
    assert_eq!(told, []);
    desk.update(Event::Action(Action::Submit));
    desk.update(change(text("more of theirs"), "another"));
    let front = desk.front().expect("it is open");
    assert!(matches!(front.step, Step::Filling(_)));
    assert!(front.issue.is_some());
}
