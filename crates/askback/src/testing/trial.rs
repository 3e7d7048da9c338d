//! A call that is tried out.

use std::{fmt, sync::Arc, time::Duration};

use askback_core::{
    ask::keys::{Key, KeyRing},
    limits::Limits,
    revision::{Era, Revision},
};
use serde_json::{Value, json};

use super::{Ended, Report, Run, TestClock, Told, Wire, handshake, person::Person, stateless};
use crate::{
    keys::KeySource,
    server::{ServerBuilder, UNSAFE_REPLAY},
    store::{MemoryStore, Store},
};

/// Calls a tool: `server` makes the server, as often as it is started.
///
/// The clock, the keys and, where the server has none, the store are those of the trial.
pub fn call<S>(server: S, tool: &str, arguments: Value) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    let params = json!({"name": tool, "arguments": arguments});
    Trial::new(server, "tools/call", params)
}

/// Gets a prompt, as [`call`] calls a tool.
pub fn prompt<S>(server: S, name: &str, arguments: Value) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    let params = json!({"name": name, "arguments": arguments});
    Trial::new(server, "prompts/get", params)
}

/// Reads a resource, as [`call`] calls a tool.
pub fn read<S>(server: S, uri: &str) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    Trial::new(server, "resources/read", json!({"uri": uri}))
}

/// A call that is tried out with a person in front of it.
#[derive(Clone)]
#[must_use = "a trial begins when its revision is chosen"]
pub struct Trial {
    server: Arc<dyn Fn() -> ServerBuilder + Send + Sync>,
    method: &'static str,
    params: Value,
    person: Person,
}

/// The trouble that the client of a call makes. Only in 2026-07-28, where the client carries the
/// call's state, can it make any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Nothing.
    None,
    /// It reaches another process in every round: the server is started anew between any two, with
    /// the same keys and store.
    Restart,
    /// It sends every round twice at once.
    Twice,
    /// When all is over it goes back, and sends every round again.
    Again,
    /// It changes the state before it sends it as it was.
    Forgery,
    /// It sends the state with another request before it sends it with the right one.
    Stranger,
}

impl Trouble {
    /// All there are, the first being none.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Restart,
        Self::Twice,
        Self::Again,
        Self::Forgery,
        Self::Stranger,
    ];
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no trouble",
            Self::Restart => "restarts between its rounds",
            Self::Twice => "every round sent twice",
            Self::Again => "every round sent again in the end",
            Self::Forgery => "attempts to change its state",
            Self::Stranger => "attempts to use its state for something else",
        })
    }
}

impl Trial {
    fn new<S>(server: S, method: &'static str, params: Value) -> Self
    where
        S: Fn() -> ServerBuilder + Send + Sync + 'static,
    {
        Self {
            server: Arc::new(server),
            method,
            params,
            person: Person::new(),
        }
    }

    /// Puts this person in front of it. Without one, nobody answers anything.
    pub fn with(mut self, person: Person) -> Self {
        self.person = person;
        self
    }

    /// Makes the call in one revision, without trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_revision(&self, revision: Revision) -> Run {
        let bench = self.bench();
        match revision.era() {
            Era::Legacy => handshake::run(bench, revision).await,
            Era::Modern => stateless::run(bench, revision, Trouble::None).await,
        }
    }

    /// Makes the call in 2026-07-28, with trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_trouble(&self, trouble: Trouble) -> Run {
        stateless::run(self.bench(), Revision::LATEST, trouble).await
    }

    /// Makes the call in every revision and under every trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_every_revision(&self) -> Report {
        let mut runs = Vec::new();
        for revision in Revision::ALL {
            runs.push(self.in_revision(revision).await);
        }
        for trouble in &Trouble::ALL[1..] {
            runs.push(self.in_trouble(*trouble).await);
        }
        Report { runs }
    }

    fn bench(&self) -> Bench {
        Bench {
            server: Arc::clone(&self.server),
            method: self.method,
            params: self.params.clone(),
            person: self.person.clone(),
            clock: TestClock::new(),
            store: Arc::new(MemoryStore::default()),
        }
    }
}

/// The set-up of one run.
pub(super) struct Bench {
    server: Arc<dyn Fn() -> ServerBuilder + Send + Sync>,
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) person: Person,
    pub(super) clock: TestClock,
    store: Arc<dyn Store>,
}

impl Bench {
    /// Starts the server, with the keys and store of the run, and connects to it.
    pub(super) fn connect(&self) -> Wire {
        let ring = KeyRing::new(Key::new(&[0x5a; 32]));
        let server = (self.server)()
            .clock(self.clock)
            .keys(KeySource::Ring(ring))
            .store_unless_set(Arc::clone(&self.store))
            .seed([0xa5; 32])
            .check_replay(true)
            .build();
        match server {
            Ok(server) => Wire::connect(&server),
            Err(error) => panic!("the server cannot be built: {error}"),
        }
    }

    /// How long a client waits for a person before it gives up on them.
    pub(super) fn patience() -> Duration {
        Limits::default().asking.answer
    }
}

impl Run {
    pub(super) fn new(revision: Revision, trouble: Trouble) -> Self {
        Self {
            revision,
            trouble,
            asked: Vec::new(),
            rounds: 1,
            ended: Ended::Left,
            told: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Notes the end of the call: a JSON-RPC response.
    pub(super) fn end(&mut self, response: &Value) {
        self.ended = Ended::from_response(response);
        if let Ended::Error { message, .. } = &self.ended
            && message.starts_with(UNSAFE_REPLAY)
        {
            self.findings.push(message.clone());
        }
    }

    /// Notes what the client is told.
    pub(super) fn tell(&mut self, notification: &Value) {
        let params = &notification["params"];
        let told = match notification["method"].as_str() {
            Some("notifications/message") => Told::Log(
                params["level"].as_str().unwrap_or_default().to_owned(),
                params["data"].clone(),
            ),
            Some("notifications/progress") => Told::Progress(
                params["progress"].as_f64().unwrap_or_default(),
                params["message"].as_str().map(str::to_owned),
            ),
            _ => return,
        };
        self.told.push(told);
    }
}

impl Ended {
    pub(super) fn from_response(response: &Value) -> Self {
        let error = &response["error"];
        if error.is_null() {
            return Self::Result(response["result"].clone());
        }
        Self::Error {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        }
    }
}
