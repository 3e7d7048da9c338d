//! The proof over a fleet: each message reaches another process. In a session, the client resumes
//! the call's stream at another process after each question.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use askback::store::SqliteStore;
use askback::{Fleet, Revision, journal::Journal};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Plan, World,
    client::{Dice, Habit, Link},
    prove_with,
};
use crate::{
    fleet::memory,
    http::client::{Client, Response, Session, mirrored},
    wrapped::{Around, Wrapped},
};

/// How many programs each of these tests runs.
const CASES: u32 = 300;

/// After this pause, no more messages are expected.
const QUIET: Duration = Duration::from_secs(1);

/// Longer than any wait of a test.
const AGES: Duration = Duration::from_secs(60 * 60);

const NODES: usize = 3;

#[test]
fn in_2025_06_18_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_06_18, in_memory);
    });
}

#[test]
fn in_2025_11_25_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_11_25, in_memory);
    });
}

#[test]
fn in_2026_07_28_programs_come_to_what_they_should() {
    prove_with(CASES, |case| case.stateless_over(Habit::Restart, in_memory));
}

#[test]
fn a_round_sent_twice_changes_nothing() {
    prove_with(CASES, |case| case.stateless_over(Habit::Twice, in_memory));
}

#[test]
fn a_round_sent_twice_changes_nothing_if_states_are_in_the_store() {
    prove_with(CASES / 3, |case| case.spilled_over(Habit::Twice, in_memory));
}

#[test]
fn an_old_round_sent_again_changes_nothing() {
    prove_with(CASES / 3, |case| {
        case.stateless_over(Habit::Again, in_memory)
    });
}

#[test]
fn tasks_come_to_what_they_should() {
    prove_with(CASES, |case| case.as_task_over(in_memory));
}

#[test]
fn in_sqlite_programs_come_to_what_they_should() {
    prove_with(CASES / 10, |case| {
        case.suspended_over(Revision::V2025_11_25, in_sqlite);
    });
}

#[test]
fn in_sqlite_tasks_come_to_what_they_should() {
    prove_with(CASES / 10, |case| case.as_task_over(in_sqlite));
}

fn in_memory(world: &World) -> Nodes {
    Nodes::new(world, Arc::new(Wrapped::new(memory::journal(), Yielding)))
}

/// Lets other processes work before and after each operation.
struct Yielding;

impl Around for Yielding {
    async fn around<T: Send>(operation: impl Future<Output = T> + Send) -> T {
        tokio::task::yield_now().await;
        let outcome = operation.await;
        tokio::task::yield_now().await;
        outcome
    }
}

fn in_sqlite(world: &World) -> Nodes {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path().join("proof.db")).expect("it opens");
    let journal = Arc::new(Wrapped::new(store, RealTime));
    Nodes {
        _folder: Some(folder),
        ..Nodes::new(world, journal)
    }
}

/// Stops the test's clock while another thread works.
struct RealTime;

impl Around for RealTime {
    async fn around<T: Send>(operation: impl Future<Output = T> + Send) -> T {
        // The paused time of a runtime does not advance while a blocking task runs.
        let (over, waits) = std::sync::mpsc::channel::<()>();
        let still = tokio::task::spawn_blocking(move || waits.recv());
        let outcome = operation.await;
        drop(over);
        // The thread ends with an error when `over` is dropped.
        let _ = still.await;
        outcome
    }
}

/// A connection to the processes of a fleet.
struct Nodes {
    way: Way,
    session: Option<Session>,
    heard: mpsc::UnboundedSender<Value>,
    hears: mpsc::UnboundedReceiver<Value>,
    _folder: Option<tempfile::TempDir>,
}

#[derive(Clone)]
struct Way {
    nodes: Arc<[Client]>,
    dice: Arc<Mutex<Dice>>,
    /// The ids of the questions that the client has answered.
    answered: Arc<Mutex<BTreeSet<String>>>,
}

impl Nodes {
    fn new(world: &World, journal: Arc<dyn Journal>) -> Self {
        let plan = world.plan();
        let node = |_| Client::of(&server(&plan, Fleet::new(Arc::clone(&journal))));
        let (heard, hears) = mpsc::unbounded_channel();
        Self {
            way: Way {
                nodes: (0..NODES).map(node).collect(),
                dice: Arc::new(Mutex::new(Dice(world.seed))),
                answered: Arc::default(),
            },
            session: None,
            heard,
            hears,
            _folder: None,
        }
    }
}

fn server(plan: &Plan, fleet: Fleet) -> askback::Server {
    let server = plan.builder().service("proof").fleet(fleet).build();
    server.expect("the server is whole")
}

impl Way {
    fn below(&self, bound: usize) -> usize {
        let mut dice = self.dice.lock().expect("nothing panics with it");
        dice.below(bound)
    }

    fn answered(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.answered.lock().expect("nothing panics with it")
    }

    fn any_node(&self) -> Client {
        self.nodes[self.below(NODES)].clone()
    }

    fn anywhere(&self, session: &Session) -> Session {
        Session {
            client: self.any_node(),
            ..session.clone()
        }
    }

    /// Posts a message that has no response, to one process or to two at once.
    async fn tell(self, session: Session, message: Value) {
        // Another message may overtake it.
        tokio::time::sleep(Duration::from_millis(self.below(4) as u64)).await;
        let (one, two) = (self.anywhere(&session), self.anywhere(&session));
        let first = one.post(&message);
        let statuses = match self.below(3) {
            0 => {
                let (first, second) = tokio::join!(first, two.post(&message));
                vec![first.status, second.status]
            }
            _ => vec![first.await.status],
        };
        for status in statuses {
            assert_eq!(status, 202, "{message}");
        }
    }

    /// Reads a call's stream, at another process after each message, and forwards new messages.
    async fn call(self, session: Session, message: Value, heard: mpsc::UnboundedSender<Value>) {
        let mut response = self.anywhere(&session).post(&message).await;
        if !response.is_stream() {
            let _ = heard.send(response.json().await);
            return;
        }
        let mut said = BTreeMap::<String, Value>::new();
        let mut asked = BTreeSet::new();
        // The client gets all messages of a round at once, when the stream is quiet.
        let mut fresh = Vec::new();
        loop {
            let Ok(event) = tokio::time::timeout(QUIET, response.event()).await else {
                self.hand_on(&mut fresh, &heard);
                continue;
            };
            let event = event.expect("the stream ends after the result");
            let id = event.id.expect("each event of a call has an id");
            let last = id.clone();
            if event.data.is_empty() {
                continue;
            }
            let told: Value = serde_json::from_slice(&event.data).expect("JSON");
            if let Some(before) = said.insert(id, told.clone()) {
                assert_eq!(before, told, "an event that was told before");
            } else if told["id"] == message["id"] && told["method"].is_null() {
                asked.retain(|name| !self.answered().contains(name));
                assert!(asked.is_empty(), "still asked after the result: {asked:?}");
                fresh.push(told);
                self.hand_on(&mut fresh, &heard);
                return;
            } else {
                // If a question was asked and cancelled while the client was disconnected, only the
                // cancellation arrives. The client may also have answered a cancelled question
                // meanwhile.
                let is_known = match told["method"].as_str() {
                    Some("notifications/cancelled") => {
                        let name = told["params"]["requestId"].to_string();
                        asked.remove(&name) && !self.answered().contains(&name)
                    }
                    _ => asked.insert(told["id"].to_string()),
                };
                if is_known {
                    fresh.push(told);
                }
            }
            // A client may resume from an older id than the last.
            let last = match self.below(4) {
                0 => {
                    let at = self.below(said.len());
                    said.keys().nth(at).cloned().unwrap_or(last)
                }
                _ => last,
            };
            response = self.come_back(&session, &last).await;
        }
    }

    /// Forwards the messages, without cancellations of questions that the client has answered
    /// meanwhile.
    fn hand_on(&self, fresh: &mut Vec<Value>, heard: &mpsc::UnboundedSender<Value>) {
        for told in fresh.drain(..) {
            let is_withdrawal = told["method"] == "notifications/cancelled";
            let name = told["params"]["requestId"].to_string();
            if !(is_withdrawal && self.answered().contains(&name)) {
                // The receiver is dropped at the end of the test.
                let _ = heard.send(told);
            }
        }
    }

    async fn come_back(&self, session: &Session, last: &str) -> Response {
        if self.below(4) == 0 {
            // The client reconnects again before anything arrived.
            drop(self.anywhere(session).resume(last).await);
        }
        let response = self.anywhere(session).resume(last).await;
        assert_eq!(response.status, 200, "{last} is known");
        response
    }
}

impl Link for Nodes {
    /// Each request reaches another process anyway.
    async fn restart(&mut self) {}

    async fn say(&mut self, message: Value) {
        if message["params"]["_meta"].is_object() {
            let (node, heard) = (self.way.any_node(), self.heard.clone());
            tokio::spawn(async move {
                let response = node.post(&mirrored(&message), &message).await;
                // The receiver is dropped at the end of the test.
                let _ = heard.send(response.answer().await);
            });
            return;
        }
        let Some(session) = &self.session else {
            let response = self.way.nodes[0].post(&[], &message).await;
            let id = response.header("mcp-session-id").expect("a session");
            let revision = message["params"]["protocolVersion"].as_str();
            self.session = Some(Session {
                client: self.way.nodes[0].clone(),
                id: id.to_owned(),
                revision: revision.expect("a string").parse().expect("a revision"),
            });
            let _ = self.heard.send(response.json().await);
            return;
        };
        let (way, session) = (self.way.clone(), session.clone());
        if message["method"] == "tools/call" {
            tokio::spawn(way.call(session, message, self.heard.clone()));
        } else {
            way.answered().insert(message["id"].to_string());
            tokio::spawn(way.tell(session, message));
        }
    }

    async fn hear(&mut self) -> Value {
        let heard = tokio::time::timeout(AGES, self.hears.recv()).await;
        let heard = heard.expect("something is said");
        heard.expect("the sender is kept here")
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
