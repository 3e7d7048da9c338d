//! A process of a fleet may die at any await: what was asked is answered all the same, and what is committed happens once.
//!
//! Each process has a runtime of its own on one thread, and dies by losing it. `DEATH_CASES` says how many schedules are
//! drawn.

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
    nodes::{Dice, Schedule, World},
    tools::CALLS,
};

/// The longest that a call may take, in milliseconds: a commit that was cut off is given up after a minute.
const PATIENCE: Millis = 10 * 60 * 1000;

/// How many schedules are tried unless `DEATH_CASES` says so.
const CASES: u64 = 300;

fn cases() -> u64 {
    let cases = std::env::var("DEATH_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn a_process_dies_at_each_await() {
    for call in 0..CALLS.len() {
        let awaits = run(call, 1, Schedule::default()).awaits;
        // A call that takes its time has many: some are tried.
        let some = awaits.div_ceil(cases() / CALLS.len() as u64);
        for at in (1..=awaits).step_by(some as usize) {
            let schedule = Schedule {
                at: vec![at],
                ..Schedule::default()
            };
            let ran = run(call, 1, schedule);
            assert_eq!(ran.deaths, 1, "{call}, await {at} of {awaits}");
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are for the reader")]
fn processes_die_by_drawn_schedules() {
    let cases = cases();
    let (mut deaths, mut before, mut unknown) = (0, 0, 0);
    for seed in 0..cases {
        let mut dice = Dice(seed);
        let mut schedule = Schedule::default();
        for _ in 0..=dice.below(3) {
            match dice.below(2) {
                0 => schedule.at.push(1 + dice.below(60)),
                _ => schedule.after.push(1 + dice.below(600)),
            }
        }
        let ran = run(dice.below(CALLS.len() as u64) as usize, seed, schedule);
        deaths += ran.deaths;
        before += u64::from(ran.end == End::BeforeAQuestion);
        unknown += u64::from(ran.end == End::Unknown);
    }
    println!(
        "{deaths} deaths in {cases} calls, 0 lost, 0 twice; {before} ended before their first question, \
         {unknown} in the middle of their commit"
    );
}

/// The outcome of a call that was not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The result of a call without deaths.
    Result,
    /// A process died before the client heard of a question, and nothing is known of the call.
    BeforeAQuestion,
    /// A process died in the middle of the commit, so its outcome is unknown.
    Unknown,
}

struct Ran {
    end: End,
    deaths: u64,
    awaits: u64,
}

/// Calls while processes die, and checks what comes of it.
fn run(call: usize, seed: u64, schedule: Schedule) -> Ran {
    let (method, name, expected) = CALLS[call];
    let what = format!("{name}, seed {seed}, {schedule:?}");
    FATE.with(Fate::begin);
    let world = Rc::new(RefCell::new(World::new(seed)));
    let params = match method {
        "resources/read" => json!({"uri": name}),
        _ => json!({"name": name}),
    };
    let calling = async {
        let mut caller = Caller {
            world: Rc::clone(&world),
            session: None,
        };
        caller.open().await;
        FATE.with(Fate::begin);
        {
            let mut world = world.borrow_mut();
            world.schedule = schedule;
            world.plan();
        }
        caller.call(method, &params).await
    };
    let mut calling = pin!(calling);
    let mut cx = Context::from_waker(Waker::noop());
    let begun = world.borrow().now();
    let result = loop {
        if let Poll::Ready(result) = calling.as_mut().poll(&mut cx) {
            break result;
        }
        let mut world = world.borrow_mut();
        world.turn();
        assert!(world.now() < begun + PATIENCE, "lost: {what}");
    };
    let text = result.as_ref().map(ToString::to_string);
    let (effects, is_cut) = FATE.with(|fate| (fate.effects.get(), fate.is_cut.get()));
    assert!(effects <= 1, "{effects} effects: {what}");
    let end = match &text {
        Some(text) if text.contains(expected) => End::Result,
        Some(text) if is_cut && text.contains("outcome is unknown") => End::Unknown,
        None => End::BeforeAQuestion,
        Some(text) => panic!("{text}: {what}"),
    };
    if end == End::Result {
        assert_eq!(effects, u32::from(expected.contains("as 7")), "{what}");
    }
    if end == End::BeforeAQuestion {
        assert_eq!(effects, 0, "{what}");
    }
    Ran {
        end,
        deaths: world.borrow().deaths,
        awaits: FATE.with(|fate| fate.awaits.get()),
    }
}
