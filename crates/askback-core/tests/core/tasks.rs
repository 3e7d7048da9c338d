//! The tasks of a server.

use std::{cell::Cell, collections::BTreeSet, rc::Rc, sync::Arc, time::Duration};

use askback_core::{
    ask::{CheckedRequest, Principal},
    engine::server::{Room, RoomError, Tasks},
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{ElicitParams, InputResponses, RawJson, TaskStatus},
};
use proptest::{collection::vec, prelude::*};

use crate::proptest_config;

const TTL: u64 = 1000;

/// A memory limit in bytes that the tasks of a test share.
#[derive(Debug, Clone)]
struct Shelf {
    most: usize,
    used: Rc<Cell<usize>>,
    own: usize,
}

impl Shelf {
    fn of(most: usize) -> Self {
        Self {
            most,
            used: Rc::default(),
            own: 0,
        }
    }

    fn used(&self) -> usize {
        self.used.get()
    }
}

impl Room for Shelf {
    fn resize(&mut self, bytes: usize) -> Result<(), RoomError> {
        let used = self.used.get() - self.own + bytes;
        if used > self.most {
            return Err(RoomError);
        }
        self.used.set(used);
        self.own = bytes;
        Ok(())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.used.set(self.used.get() - self.own);
    }
}

fn tasks() -> Tasks<Shelf> {
    let mut limits = Limits::default();
    limits.tasks.ttl = Duration::from_millis(TTL);
    Tasks::new(&limits.tasks)
}

fn large() -> Shelf {
    Shelf::of(1 << 20)
}

fn question(message: &str) -> CheckedRequest {
    let link = ElicitParams::url(message, "https://travel.example").into();
    CheckedRequest::new(link, None, &Limits::default()).expect("a question")
}

fn answers(keys: &[&str]) -> InputResponses {
    let yes = RawJson::from_text(r#"{"action":"accept"}"#.to_owned()).unwrap();
    keys.iter().map(|key| (*key, yes.clone())).collect()
}

fn text(length: usize) -> RawJson {
    RawJson::new(&"x".repeat(length)).unwrap()
}

#[test]
fn the_counted_memory_of_a_task_is_what_it_stores() {
    let shelf = Shelf::of(8 << 10);
    let mut tasks = tasks();
    tasks.begin("t", None, shelf.clone(), 0).unwrap();
    let bare = shelf.used();
    assert!(tasks.say("t", "x".repeat(1000), 0));
    assert_eq!(shelf.used(), bare + 1000);
    assert!(tasks.say("t", "y".repeat(10), 0));
    let key = tasks.ask("t", "q", question(&"x".repeat(2000)), 0).unwrap();
    assert!(shelf.used() > bare + 2010);
    tasks.withdraw("t", &key, 0);
    assert_eq!(shelf.used(), bare + 10 + key.len());
    // A message that does not fit changes nothing.
    assert!(!tasks.say("t", "x".repeat(8 << 10), 0));
    assert!(
        tasks
            .ask("t", "q", question(&"x".repeat(8 << 10)), 0)
            .is_err()
    );
    assert_eq!(shelf.used(), bare + 10 + key.len());
    // An ended task drops its questions, so that its result may use their memory.
    tasks.ask("t", "r", question(&"x".repeat(2000)), 0).unwrap();
    tasks.end("t", Ok(text(7000)), 0);
    assert_eq!(tasks.get("t", None).unwrap().status, TaskStatus::Completed);
    assert_eq!(shelf.used(), bare + 7002);
    tasks.sweep(TTL);
    assert_eq!(shelf.used(), 0);
}

// Shows BP-40, BP-42, TA-64.
#[test]
fn a_task_belongs_to_whoever_began_it() {
    let mut tasks = tasks();
    let [ada, eve] = ["ada", "eve"].map(|name| Arc::new(Principal::new(name)));
    tasks
        .begin("t", Some(Arc::clone(&ada)), large(), 0)
        .unwrap();
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
    let mut tasks = tasks();
    tasks.begin("t", None, large(), 0).unwrap();
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
fn an_ended_task_does_not_change() {
    let end: [fn(&mut Tasks<Shelf>); 3] = [
        |tasks| tasks.end("t", Ok(text(1)), 1),
        |tasks| tasks.end("t", Err(ErrorObject::internal("no")), 1),
        |tasks| assert_eq!(tasks.cancel("t", None, 1), Some(true)),
    ];
    for first in end {
        let mut tasks = tasks();
        tasks.begin("t", None, large(), 0).unwrap();
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
    let shelf = Shelf::of(4096);
    let mut tasks = tasks();
    for id in ["a", "b", "c", "d", "e", "f"] {
        tasks.begin(id, None, shelf.clone(), 0).unwrap();
    }
    assert!(!tasks.say("a", "x".repeat(4096), 0));
    assert!(tasks.ask("a", "q", question(&"x".repeat(4096)), 0).is_err());
    tasks.end("a", Ok(text(4096)), 0);
    let failed = tasks.get("a", None).unwrap();
    assert_eq!(failed.status, TaskStatus::Failed);
    tasks.end("b", Ok(text(600)), 0);
    assert_eq!(tasks.get("b", None).unwrap().status, TaskStatus::Completed);
    assert!(tasks.begin("g", None, shelf.clone(), 0).is_err());
    assert_eq!(tasks.sweep(TTL - 1), Vec::<String>::new());
    assert_eq!(tasks.sweep(TTL).len(), 6);
    assert_eq!((tasks.len(), shelf.used()), (0, 0));
    tasks.begin("g", None, shelf.clone(), TTL).unwrap();
}

#[test]
fn times_are_written_as_dates_however_far_they_are() {
    let cases = [
        (0, "1970-01-01T00:00:00Z"),
        (1_785_196_800_123, "2026-07-28T00:00:00.123Z"),
        (u64::MAX, "9999-12-31T23:59:59.999Z"),
    ];
    for (now, expected) in cases {
        let mut tasks = tasks();
        let task = tasks.begin("t", None, large(), now).unwrap();
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

    /// Nothing exceeds its limit, and nothing is stored forever.
    #[test]
    fn no_sequence_of_operations_exceeds_the_memory_limit(acts in vec(act(), 0..60)) {
        let shelf = Shelf::of(3000);
        let mut tasks = tasks();
        let mut now = 0;
        let mut begun = 0;
        let mut names = ["0", "1", "2", "3"].map(str::to_owned);
        for act in acts {
            match act {
                Act::Begin(id) => {
                    begun += 1;
                    let name = format!("{id}-{begun}");
                    if tasks.begin(&name, None, shelf.clone(), now).is_ok() {
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
            prop_assert!(tasks.len() <= 3000 / 512);
            prop_assert!(shelf.used() >= 512 * tasks.len());
        }
        tasks.sweep(now + TTL);
        prop_assert!(tasks.is_empty());
        prop_assert_eq!(shelf.used(), 0);
    }
}
