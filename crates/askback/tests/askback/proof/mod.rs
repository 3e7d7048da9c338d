//! The proof of replay: thousands of random programs that ask have the same result in every era,
//! whatever their client does, as when they are read from top to bottom.
//!
//! `PROOF_CASES` says how many programs each test runs.

mod bridge;
mod client;
#[cfg(all(feature = "http-server", feature = "macros", feature = "sqlite"))]
mod fleet;
mod handler;
#[cfg(feature = "http-server")]
mod http;
mod oracle;
mod program;
mod script;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Limits, Revision, Server, ServerBuilder,
    keys::{Key, KeyRing, KeySource},
    store::MemoryStore,
    testing::{Crash, CrashingStore, TestClock, Wire},
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::Value;

use self::{
    client::{Client, Habit, Link, Outcome},
    oracle::{Expected, expect},
    program::{Path, Program, program},
    script::Script,
};

#[test]
fn in_2025_06_18_programs_come_to_what_they_should() {
    prove(|case| case.suspended(Revision::V2025_06_18));
}

#[test]
fn in_2025_11_25_programs_come_to_what_they_should() {
    prove(|case| case.suspended(Revision::V2025_11_25));
}

#[test]
fn in_2026_07_28_programs_come_to_what_they_should() {
    prove(|case| case.stateless(Habit::Plain));
}

// Shows BA-26.
#[test]
fn a_restart_between_two_rounds_changes_nothing() {
    prove(|case| case.stateless(Habit::Restart));
}

#[test]
fn a_round_sent_twice_changes_nothing() {
    prove(|case| case.stateless(Habit::Twice));
}

#[test]
fn an_old_round_sent_again_changes_nothing() {
    prove(|case| case.stateless(Habit::Again));
}

#[test]
fn no_commit_happens_twice_when_its_process_crashes() {
    prove(Case::crashed);
}

#[test]
fn states_kept_in_the_store_change_nothing() {
    prove_with(SPILLED, |case| case.spilled(Habit::Restart));
}

#[test]
fn a_round_sent_twice_changes_nothing_where_states_are_kept_in_the_store() {
    prove_with(SPILLED, |case| case.spilled(Habit::Twice));
}

#[test]
fn an_old_round_sent_again_changes_nothing_where_states_are_kept_in_the_store() {
    prove_with(SPILLED, |case| case.spilled(Habit::Again));
}

/// How many programs are run with states in the store. Only the place of the state is new here.
const SPILLED: u32 = 100;

struct Case {
    program: Program,
    script: Script,
}

fn prove(run: fn(&Case)) {
    prove_with(500, run);
}

fn prove_with(few: u32, run: fn(&Case)) {
    let cases = std::env::var("PROOF_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(few),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    };
    let cases = (program(), any::<u64>());
    TestRunner::new(config)
        .run(&cases, |(program, script)| {
            run(&Case {
                program,
                script: Script(script),
            });
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

impl Case {
    fn suspended(&self, revision: Revision) {
        self.suspended_over(revision, World::bench);
    }

    fn stateless(&self, habit: Habit) {
        self.stateless_over(habit, World::bench);
    }

    /// Like [`Case::stateless`], with servers that save every state in their store.
    fn spilled(&self, habit: Habit) {
        self.spilled_over(habit, World::bench);
    }

    fn spilled_over<L: Link>(&self, habit: Habit, link: fn(&World) -> L) {
        let world = self.world().spilling();
        self.stateless_in(&world, habit, link);
    }

    /// Ends the process after a commit's effect, before its value is saved. The call may then fail,
    /// but no commit happens twice.
    fn crashed(&self) {
        let mut world = self.world();
        world.crash_after = Some((self.script.0 % 4) as usize);
        let (_, effects) = block_on(
            async {
                let client = Client::new(world.bench(), self.script, self.arguments());
                client.stateless(Revision::LATEST, Habit::Crash).await
            },
            &world,
        );
        let expected = expect(&self.program, self.script);
        for (path, times) in &effects {
            assert!(expected.effects.contains(path), "{path} happened");
            let is_once = *times == 1 || !expected.commits.contains(path);
            assert!(is_once, "{path} happened {times} times");
        }
    }

    fn world(&self) -> World {
        World::new(self.script.0)
    }

    fn suspended_over<L: Link>(&self, revision: Revision, link: fn(&World) -> L) {
        let world = self.world();
        let (outcome, effects) = block_on(
            async {
                let client = Client::new(link(&world), self.script, self.arguments());
                client.suspended(revision).await
            },
            &world,
        );
        self.check(&outcome, &effects, true);
    }

    fn as_task_over<L: Link>(&self, link: fn(&World) -> L) {
        let world = self.world();
        let (outcome, effects) = block_on(
            async {
                let client = Client::new(link(&world), self.script, self.arguments());
                client.task(Revision::LATEST).await
            },
            &world,
        );
        self.check(&outcome, &effects, true);
    }

    fn stateless_over<L: Link>(&self, habit: Habit, link: fn(&World) -> L) {
        self.stateless_in(&self.world(), habit, link);
    }

    fn stateless_in<L: Link>(&self, world: &World, habit: Habit, link: fn(&World) -> L) {
        let (outcome, effects) = block_on(
            async {
                let client = Client::new(link(world), self.script, self.arguments());
                client.stateless(Revision::LATEST, habit).await
            },
            world,
        );
        let once = matches!(habit, Habit::Plain | Habit::Restart);
        self.check(&outcome, &effects, once);
    }

    fn arguments(&self) -> Value {
        serde_json::to_value(&self.program).expect("a program is JSON")
    }

    /// Compares with the oracle. If the client repeats rounds, recorded steps may run more than
    /// once; commits never do.
    fn check(&self, outcome: &Outcome, effects: &BTreeMap<String, u32>, once: bool) {
        let Expected {
            text,
            questions,
            effects: expected,
            commits,
        } = expect(&self.program, self.script);
        assert_eq!(outcome.text, text);
        let asked: BTreeSet<String> = outcome
            .questions
            .values()
            .flatten()
            .map(|words| without_draw(words))
            .collect();
        assert_eq!(asked, questions);
        for (path, words) in &outcome.questions {
            assert_eq!(
                words.len(),
                1,
                "{path} was asked in several ways: {words:?}"
            );
        }
        assert_eq!(effects.keys().cloned().collect::<BTreeSet<_>>(), expected);
        for (path, times) in effects {
            if once || commits.contains(path) {
                assert_eq!(*times, 1, "{path} happened more than once");
            }
        }
    }
}

fn without_draw(words: &str) -> String {
    let (question, _) = words.rsplit_once('|').expect("a question of the proof");
    format!("{question}|")
}

fn block_on(run: impl Future<Output = Outcome>, world: &World) -> (Outcome, BTreeMap<String, u32>) {
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(run);
    let effects = world.effects.lock().expect("no effect panics").clone();
    (outcome, effects)
}

/// The parts of a case that outlive its servers.
struct World {
    seed: u64,
    effects: Arc<Mutex<BTreeMap<String, u32>>>,
    check_replay: bool,
    spills: bool,
    /// After this many commits, the process ends before the next commit's value is saved.
    crash_after: Option<usize>,
}

/// The parts from which each server of a case is built.
#[derive(Clone)]
struct Plan {
    effects: handler::Effects,
    check_replay: bool,
    spills: bool,
    clock: TestClock,
    crash: Arc<Crash>,
    store: Arc<CrashingStore>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            effects: Arc::default(),
            check_replay: seed.is_multiple_of(2),
            spills: false,
            crash_after: None,
        }
    }

    /// Leaves clients only the id under which the store has the state.
    fn spilling(mut self) -> Self {
        self.spills = true;
        self
    }

    fn plan(&self) -> Plan {
        let effects = Arc::clone(&self.effects);
        let note = move |path: &Path| {
            *effects
                .lock()
                .expect("no effect panics")
                .entry(path.to_string())
                .or_default() += 1;
        };
        let crash = Arc::new(Crash::new(self.crash_after));
        Plan {
            store: Arc::new(CrashingStore::new(Arc::new(MemoryStore::default()), &crash)),
            crash,
            effects: Arc::new(note),
            check_replay: self.check_replay,
            spills: self.spills,
            clock: TestClock::new(),
        }
    }

    fn bench(&self) -> Bench {
        let mut bench = Bench {
            plan: self.plan(),
            wire: None,
        };
        bench.start();
        bench
    }
}

impl Plan {
    fn server(&self) -> Server {
        self.builder().build().expect("the server is whole")
    }

    fn builder(&self) -> ServerBuilder {
        let mut limits = Limits::default();
        limits.asking.rounds = 1000;
        limits.asking.rounds_warned = 1000;
        limits.asking.questions_per_round = 100;
        if self.spills {
            limits.asking.spill_bytes = 8;
        }
        Server::new("proof", "1")
            .tool(handler::tool(Arc::clone(&self.effects)))
            .limits(limits)
            .clock(self.clock)
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(Arc::clone(&self.store))
            .check_replay(self.check_replay)
    }
}

struct Bench {
    plan: Plan,
    wire: Option<Wire>,
}

impl Bench {
    fn start(&mut self) {
        self.wire = Some(Wire::connect(&self.plan.server()));
    }

    fn wire(&mut self) -> &mut Wire {
        self.wire.as_mut().expect("it was started")
    }
}

impl Link for Bench {
    async fn restart(&mut self) {
        self.wire = None;
        self.start();
    }

    fn crashed(&self) -> impl Future<Output = ()> + use<> {
        let crash = Arc::clone(&self.plan.crash);
        async move { crash.happened().await }
    }

    async fn say(&mut self, message: Value) {
        self.wire().say(&message).await;
    }

    async fn hear(&mut self) -> Value {
        self.wire().hear().await.expect("the server is there")
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
