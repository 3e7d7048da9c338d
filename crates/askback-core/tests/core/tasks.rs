//! The tasks a server keeps.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use askback_core::{
    ask::{CheckedRequest, Principal},
    engine::server::Tasks,
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{ElicitParams, InputResponses, RawJson, TaskStatus},
};
use proptest::{collection::vec, prelude::*};

use crate::proptest_config;

const TTL: u64 = 1000;

fn tasks(most: usize, bytes: usize) -> Tasks {
    let mut limits = Limits::default();
    limits.tasks = most;
    limits.task_bytes = bytes;
    limits.task_ttl = Duration::from_millis(TTL);
    Tasks::new(&limits)
}

fn question(message: &str) -> CheckedRequest {
    let link = ElicitParams::url(message, "https://travel.example").into();
    CheckedRequest::new(link, &Limits::default()).expect("a question")
}

fn answers(keys: &[&str]) -> InputResponses {
    let yes = RawJson::from_text(r#"{"action":"accept"}"#.to_owned()).unwrap();
    keys.iter().map(|key| (*key, yes.clone())).collect()
}

fn text(length: usize) -> RawJson {
    RawJson::new(&"x".repeat(length)).unwrap()
}

#[test]
fn nobody_takes_the_room_of_all() {
    const BYTES: usize = 64 << 10;
    let owner = |name: &str| Some(Arc::new(Principal::new(name)));
    let mut tasks = tasks(32, BYTES);
    for task in 0..4 {
        tasks
            .begin(&format!("eve's {task}"), owner("eve"), 0)
            .unwrap();
    }
    assert!(tasks.begin("another", owner("eve"), 0).is_err());
    tasks.begin("ada's", owner("ada"), 0).unwrap();
    // Who is not known shares what there is.
    for task in 0..5 {
        tasks.begin(&task.to_string(), None, 0).unwrap();
    }

    let failed = |tasks: &Tasks, name: &str, id: &str| {
        let task = tasks.get(id, owner(name).as_ref()).unwrap();
        task.status == TaskStatus::Failed
    };
    tasks.end("eve's 0", Ok(text(BYTES / 8 - 4 * 512 - 2)), 0);
    assert!(!failed(&tasks, "eve", "eve's 0"), "that is her share");
    assert!(!tasks.say("eve's 1", "Packing".to_owned(), 0));
    tasks.end("eve's 1", Ok(text(1)), 0);
    assert!(failed(&tasks, "eve", "eve's 1"));
    tasks.end("ada's", Ok(text(BYTES / 8 - 512 - 2)), 0);
    assert!(!failed(&tasks, "ada", "ada's"));

    tasks.sweep(TTL);
    assert_eq!(tasks.bytes(), 0);
    tasks.begin("again", owner("eve"), TTL).unwrap();
    tasks.end("again", Ok(text(BYTES / 8 - 512 - 2)), TTL);
    assert!(!failed(&tasks, "eve", "again"), "it was given back");
}

// Shows BP-40, BP-42, TA-64.
#[test]
fn a_task_belongs_to_whoever_began_it() {
    let mut tasks = tasks(8, 1 << 20);
    let [ada, eve] = ["ada", "eve"].map(|name| Arc::new(Principal::new(name)));
    tasks.begin("t", Some(Arc::clone(&ada)), 0).unwrap();
    tasks.ask("t", "seat", question("A seat?"), 0).unwrap();
    for stranger in [None, Some(&eve)] {
        assert!(tasks.get("t", stranger).is_none());
        assert!(tasks.answer("t", stranger, answers(&["seat"]), 0).is_none());
        assert!(tasks.cancel("t", stranger, 0).is_none());
    }
    assert!(tasks.get("u", Some(&ada)).is_none());
    let task = tasks.get("t", Some(&ada)).unwrap();
    assert_eq!(task.status, TaskStatus::InputRequired);
    let taken = tasks
        .answer("t", Some(&ada), answers(&["seat"]), 0)
        .unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(tasks.cancel("t", Some(&ada), 0), Some(true));
}

// Shows TA-31, TA-32, TA-37.
#[test]
fn a_key_is_used_once() {
    let mut tasks = tasks(8, 1 << 20);
    tasks.begin("t", None, 0).unwrap();
    let mut keys = BTreeSet::new();
    for asked in ["seat", "seat", "seat-again", "seat", "seat-again-2", "name"] {
        let key = tasks.ask("t", asked, question("?"), 0).unwrap();
        assert!(keys.insert(key.clone()), "{key} was used before");
        let taken = tasks
            .answer("t", None, answers(&[&key, "other"]), 0)
            .unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!(tasks.answer("t", None, answers(&[&key]), 0).unwrap(), []);
    }
}

#[test]
fn what_has_ended_stays_as_it_is() {
    let end: [fn(&mut Tasks); 3] = [
        |tasks| tasks.end("t", Ok(text(1)), 1),
        |tasks| tasks.end("t", Err(ErrorObject::internal("no")), 1),
        |tasks| assert_eq!(tasks.cancel("t", None, 1), Some(true)),
    ];
    for first in end {
        let mut tasks = tasks(8, 1 << 20);
        tasks.begin("t", None, 0).unwrap();
        tasks.ask("t", "seat", question("A seat?"), 0).unwrap();
        first(&mut tasks);
        let ended = tasks.get("t", None).unwrap();
        assert!(ended.status.is_terminal());
        tasks.end("t", Ok(text(2)), 2);
        assert_eq!(tasks.cancel("t", None, 2), Some(false));
        assert!(!tasks.say("t", "later".to_owned(), 2));
        assert!(tasks.ask("t", "more", question("?"), 2).is_err());
        assert_eq!(tasks.answer("t", None, answers(&["seat"]), 2).unwrap(), []);
        assert!(!tasks.withdraw("t", "seat", 2));
        assert_eq!(tasks.get("t", None).unwrap(), ended);
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut tasks = tasks(8, 4096);
    for id in ["a", "b", "c", "d", "e", "f"] {
        tasks.begin(id, None, 0).unwrap();
    }
    assert!(!tasks.say("a", "x".repeat(4096), 0));
    assert!(tasks.ask("a", "q", question(&"x".repeat(4096)), 0).is_err());
    tasks.end("a", Ok(text(4096)), 0);
    let failed = tasks.get("a", None).unwrap();
    assert_eq!(failed.status, TaskStatus::Failed);
    tasks.end("b", Ok(text(600)), 0);
    assert_eq!(tasks.get("b", None).unwrap().status, TaskStatus::Completed);
    assert!(tasks.begin("g", None, 0).is_err());
    assert_eq!(tasks.sweep(TTL - 1), Vec::<String>::new());
    assert_eq!(tasks.sweep(TTL).len(), 6);
    assert_eq!((tasks.len(), tasks.bytes()), (0, 0));
    tasks.begin("g", None, TTL).unwrap();
}

#[test]
fn times_are_written_as_dates_however_far_they_are() {
    let cases = [
        (0, "1970-01-01T00:00:00Z"),
        (1_785_196_800_123, "2026-07-28T00:00:00.123Z"),
        (u64::MAX, "9999-12-30T22:00:00.999999999Z"),
    ];
    for (now, expected) in cases {
        let mut tasks = tasks(8, 1 << 20);
        let task = tasks.begin("t", None, now).unwrap();
        assert_eq!(task.created_at, expected);
    }
}

#[derive(Debug, Clone)]
enum Act {
    Begin(u8),
    Say(u8, usize),
    Ask(u8, u8, usize),
    Answer(u8, u8),
    Withdraw(u8, u8),
    End(u8, Result<usize, usize>),
    Cancel(u8),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let id = 0..4u8;
    let size = 0..600usize;
    prop_oneof![
        id.clone().prop_map(Act::Begin),
        (id.clone(), size.clone()).prop_map(|(id, size)| Act::Say(id, size)),
        (id.clone(), 0..3u8, size.clone()).prop_map(|(id, key, size)| Act::Ask(id, key, size)),
        (id.clone(), 0..3u8).prop_map(|(id, key)| Act::Answer(id, key)),
        (id.clone(), 0..3u8).prop_map(|(id, key)| Act::Withdraw(id, key)),
        (
            id.clone(),
            prop_oneof![size.clone().prop_map(Ok), size.prop_map(Err)]
        )
            .prop_map(|(id, outcome)| Act::End(id, outcome)),
        id.prop_map(Act::Cancel),
        (0..400u64).prop_map(Act::Wait),
    ]
}

proptest! {
    #![proptest_config(proptest_config())]

    /// Whatever happens, nothing is kept beyond its bounds, and nothing for good.
    #[test]
    fn no_sequence_of_acts_keeps_too_much(acts in vec(act(), 0..60)) {
        let (most, bytes) = (3, 3000);
        let mut tasks = tasks(most, bytes);
        let mut now = 0;
        let mut begun = 0;
        let mut names = ["0", "1", "2", "3"].map(str::to_owned);
        for act in acts {
            match act {
                Act::Begin(id) => {
                    begun += 1;
                    let name = format!("{id}-{begun}");
                    if tasks.begin(&name, None, now).is_ok() {
                        names[usize::from(id)] = name;
                    }
                }
                Act::Say(id, size) => {
                    tasks.say(&names[usize::from(id)], "x".repeat(size), now);
                }
                Act::Ask(id, key, size) => {
                    let asked = question(&"x".repeat(size));
                    let _ = tasks.ask(&names[usize::from(id)], &key.to_string(), asked, now);
                }
                Act::Answer(id, key) => {
                    let key = key.to_string();
                    tasks.answer(&names[usize::from(id)], None, answers(&[&key]), now);
                }
                Act::Withdraw(id, key) => {
                    tasks.withdraw(&names[usize::from(id)], &key.to_string(), now);
                }
                Act::End(id, outcome) => {
                    let outcome = outcome
                        .map(text)
                        .map_err(|size| ErrorObject::internal("x".repeat(size)));
                    tasks.end(&names[usize::from(id)], outcome, now);
                }
                Act::Cancel(id) => {
                    tasks.cancel(&names[usize::from(id)], None, now);
                }
                Act::Wait(span) => {
                    now += span;
                    tasks.sweep(now);
                }
            }
            prop_assert!(tasks.len() <= most);
            // That there is no room is told in any case.
            prop_assert!(tasks.bytes() <= bytes + most * 200);
        }
        tasks.sweep(now + TTL);
        prop_assert!(tasks.is_empty());
        prop_assert_eq!(tasks.bytes(), 0);
    }
}
