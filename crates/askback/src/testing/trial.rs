//! A call that is tried out.

use std::{fmt, sync::Arc, time::Duration};

use askback_core::{
    ask::{
        Principal,
        keys::{Key, KeyRing},
    },
    limits::Limits,
    revision::{Era, Revision},
};
use serde_json::Value;

use super::{
    Ended, Fixture, Report, Run, TestClock, Told, Wire,
    fixture::{Stage, StartServer},
    handshake,
    person::Person,
    stateless,
};
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
    plain(server).call(tool, arguments)
}

/// Gets a prompt, as [`call`] calls a tool.
pub fn prompt<S>(server: S, name: &str, arguments: Value) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    plain(server).prompt(name, arguments)
}

/// Reads a resource, as [`call`] calls a tool.
pub fn read<S>(server: S, uri: &str) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    plain(server).read(uri)
}

fn plain(server: impl Fn() -> ServerBuilder + Send + Sync + 'static) -> Fixture<()> {
    Fixture::new(|| (), move |()| server())
}

/// A call that is tried out with a person in front of it.
#[derive(Clone)]
#[must_use = "a trial begins when its revision is chosen"]
pub struct Trial {
    stage: Arc<dyn Fn() -> Stage + Send + Sync>,
    method: &'static str,
    params: Value,
    person: Person,
    principal: Option<Principal>,
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
    pub(super) fn new(
        stage: impl Fn() -> Stage + Send + Sync + 'static,
        method: &'static str,
        params: Value,
    ) -> Self {
        Self {
            stage: Arc::new(stage),
            method,
            params,
            person: Person::new(),
            principal: None,
        }
    }

    /// Puts this person in front of it. Without one, nobody answers anything.
    pub fn with(mut self, person: Person) -> Self {
        self.person = person;
        self
    }

    /// Makes the call as this principal, whom the server's own authentication would have identified.
    /// Without one, the server does not know who calls.
    pub fn as_principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Makes the call in one revision, without trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_revision(&self, revision: Revision) -> Run {
        self.run(revision, Trouble::None).await
    }

    /// Makes the call in 2026-07-28, with trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_trouble(&self, trouble: Trouble) -> Run {
        self.run(Revision::LATEST, trouble).await
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

    async fn run(&self, revision: Revision, trouble: Trouble) -> Run {
        let Stage { server, effects } = (self.stage)();
        let bench = Bench {
            server,
            method: self.method,
            params: self.params.clone(),
            person: self.person.clone(),
            principal: self.principal.clone(),
            clock: TestClock::new(),
            store: Arc::new(MemoryStore::default()),
        };
        let mut run = match revision.era() {
            Era::Legacy => handshake::run(bench, revision).await,
            Era::Modern => stateless::run(bench, revision, trouble).await,
        };
        run.effects = effects.map(|count| count());
        run
    }
}

/// The set-up of one run.
pub(super) struct Bench {
    server: StartServer,
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) person: Person,
    principal: Option<Principal>,
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
            Ok(server) => Wire::to(&server, self.principal.clone()),
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
            effects: None,
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
