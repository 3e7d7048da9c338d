//! A process of a fleet may die at any await. The questions are still answered, and commits happen
//! once. The calls include the travel agency's. A process that freezes and continues much later
//! does no harm either.
//!
//! Each process has its own single-threaded runtime, and dies when it is dropped. `DEATH_CASES`
//! sets the number of schedules.

mod caller;
mod fate;
mod nodes;
mod tools;

use std::{
    cell::RefCell,
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use askback::journal::Millis;
use serde_json::json;

use self::{
    caller::Caller,
    fate::{FATE, Fate},
    nodes::{Common, Dice, Schedule, World},
    tools::{Call, Way, calls},
};

/// The maximum duration of a call, in milliseconds. An interrupted commit is given up after a
/// minute.
const PATIENCE: Millis = 10 * 60 * 1000;

const CASES: u64 = 200;

/// The maximum of a random number of awaits and polls before a death. After that many, a process
/// only waits.
const MOST_AWAITS: u64 = 100;
const MOST_POLLS: u64 = 600;

fn cases() -> u64 {
    let cases = std::env::var("DEATH_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn a_process_dies_at_each_await() {
    for trial in trials() {
        for at in some_of(trial.plain.awaits) {
            let schedule = Schedule {
                at: vec![at],
                ..Schedule::default()
            };
            let ran = trial.run(1, schedule, Common::in_memory());
            assert_eq!(ran.deaths, 1, "{:?}, await {at}", trial.call);
        }
    }
}

#[test]
fn a_process_dies_after_each_poll() {
    for trial in trials() {
        for at in some_of(trial.plain.polls) {
            let schedule = Schedule {
                after: vec![at],
                ..Schedule::default()
            };
            let ran = trial.run(1, schedule, Common::in_memory());
            assert_eq!(ran.deaths, 1, "{:?}, poll {at}", trial.call);
        }
    }
}

#[test]
fn processes_die_by_drawn_schedules() {
    die_by_drawn_schedules(cases(), false, Common::in_memory);
}

#[test]
fn processes_freeze_by_random_schedules() {
    die_by_drawn_schedules(cases() / 2, true, Common::in_memory);
}

#[test]
fn processes_die_by_drawn_schedules_over_sqlite() {
    die_by_drawn_schedules(cases() / 10, false, Common::in_sqlite);
}

#[allow(clippy::print_stdout, reason = "the figures are for the reader")]
fn die_by_drawn_schedules(cases: u64, freezes: bool, common: fn() -> Common) {
    let trials = trials();
    let (mut deaths, mut before, mut cut) = (0, 0, 0);
    for seed in 0..cases {
        let mut dice = Dice(seed);
        let trial = &trials[dice.below(trials.len() as u64) as usize];
        let mut schedule = Schedule {
            freezes,
            ..Schedule::default()
        };
        for _ in 0..=dice.below(3) {
            let Ran { awaits, polls, .. } = trial.plain;
            match dice.below(2) {
                0 => schedule
                    .at
                    .push(1 + dice.below(awaits.clamp(1, MOST_AWAITS))),
                _ => schedule
                    .after
                    .push(1 + dice.below(polls.clamp(1, MOST_POLLS))),
            }
        }
        let ran = trial.run(seed, schedule, common());
        deaths += ran.deaths;
        before += u64::from(ran.end == End::BeforeAQuestion);
        cut += u64::from(ran.end == End::Cut);
    }
    println!(
        "{deaths} deaths in {cases} calls, 0 lost, 0 twice; {before} ended before their first question, \
         {cut} in the middle of their commit or of the work of their task"
    );
}

/// All numbers below `count`, or a sample if there are more than cases.
fn some_of(count: u64) -> impl Iterator<Item = u64> {
    let step = count.div_ceil((cases() / calls().len() as u64).max(1));
    (1..=count).step_by(step.max(1) as usize)
}

fn trials() -> Vec<Trial> {
    calls().into_iter().map(Trial::new).collect()
}

/// A call, and its result if no process dies.
struct Trial {
    call: Call,
    plain: Ran,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The result is the same as without deaths.
    Result,
    /// A process died before the client received a question, and the call is lost.
    BeforeAQuestion,
    /// A process died during the commit, so its outcome is unknown, or during a task that is not
    /// durable.
    Cut,
}

struct Ran {
    end: End,
    /// The result, without parts that differ between calls.
    result: String,
    deaths: u64,
    awaits: u64,
    polls: u64,
}

impl Trial {
    fn new(call: Call) -> Self {
        let nothing = Ran {
            end: End::Result,
            result: String::new(),
            deaths: 0,
            awaits: 0,
            polls: 0,
        };
        let mut trial = Self {
            call,
            plain: nothing,
        };
        trial.plain = trial.run(1, Schedule::default(), Common::in_memory());
        let result = &trial.plain.result;
        assert!(
            result.contains(trial.call.says),
            "{:?}: {result}",
            trial.call
        );
        trial
    }

    /// Calls while processes die, and checks the outcome.
    fn run(&self, seed: u64, schedule: Schedule, common: Common) -> Ran {
        let call = &self.call;
        let what = format!("{call:?}, seed {seed}, {schedule:?}");
        FATE.with(Fate::begin);
        let world = Rc::new(RefCell::new(World::new(seed, common)));
        let calling = async {
            let mut caller = Caller {
                world: Rc::clone(&world),
                session: None,
                takes_tasks: call.way == Way::Task,
            };
            caller.open().await;
            world.borrow_mut().begin(schedule);
            let result = caller.call(call).await;
            let (awaits, polls) = world.borrow_mut().spare();
            let bookings = caller
                .exchange("resources/list", json!({}))
                .await
                .to_string();
            let bookings = bookings.matches("travel://bookings/").count();
            (result, awaits, polls, bookings)
        };
        let mut calling = pin!(calling);
        let mut cx = Context::from_waker(Waker::noop());
        let begun = world.borrow().now();
        let (result, awaits, polls, bookings) = loop {
            if let Poll::Ready(ended) = calling.as_mut().poll(&mut cx) {
                break ended;
            }
            let mut world = world.borrow_mut();
            world.turn();
            assert!(world.now() < begun + PATIENCE, "lost: {what}");
        };
        FATE.with(|fate| {
            assert!(
                !fate.is_granted_twice(),
                "a commit was granted twice: {what}"
            );
            let effects = fate.effects.get() + bookings as u32;
            let is_cut = fate.is_cut.get();
            let deaths = world.borrow().deaths;
            let result = result.map(|response| without_references(&response["result"].to_string()));
            let is_plain =
                result.as_ref() == Some(&self.plain.result) || self.plain.result.is_empty();
            let end = match &result {
                Some(_) if is_plain => End::Result,
                Some(text) if is_cut && text.contains("outcome is unknown") => End::Cut,
                Some(text) if call.ends_with_its_process() && text.contains("has ended") => {
                    End::Cut
                }
                Some(text) => panic!("{text}: {what}"),
                None => End::BeforeAQuestion,
            };
            match end {
                End::Result => assert_eq!(effects, call.commits, "{what}"),
                End::BeforeAQuestion => assert_eq!(effects, 0, "{what}"),
                End::Cut => assert!(effects <= call.commits, "{effects} effects: {what}"),
            }
            Ran {
                end,
                result: result.unwrap_or_default(),
                deaths,
                awaits,
                polls,
            }
        })
    }
}

/// Replaces booking references, which differ by flow.
fn without_references(text: &str) -> String {
    let mut parts = text.split("TRV-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + "TRV-" + part.get(8..).unwrap_or_default()
    })
}
