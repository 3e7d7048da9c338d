use std::sync::Arc;

use askback_core::{
    ask::Principal,
    revision::{Era, Revision},
};
use serde_json::Value;

use super::{
    Report, Run, TestClock, Trouble,
    bench::{Bench, Stage},
    crash::Crash,
    handshake,
    person::Person,
    stateless,
};
use crate::store::MemoryStore;

/// A call that is tested with a scripted user.
#[derive(Clone)]
#[must_use = "a trial begins when its revision is chosen"]
pub struct Trial {
    stage: Arc<dyn Fn() -> Stage + Send + Sync>,
    method: &'static str,
    params: Value,
    person: Person,
    principal: Option<Principal>,
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

    /// Sets the user. By default, no question is answered.
    pub fn with(mut self, person: Person) -> Self {
        self.person = person;
        self
    }

    /// Makes the call as this principal, as if the server's authentication had identified it. By default, the caller is
    /// not authenticated.
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

    /// Makes the call in 2026-07-28, with this trouble.
    ///
    /// # Panics
    ///
    /// If the server cannot be built.
    pub async fn in_trouble(&self, trouble: Trouble) -> Run {
        self.run(Revision::LATEST, trouble).await
    }

    /// Makes the call in every revision and with every trouble, with a [crash](Trouble::Crash) at each of its commits.
    ///
    /// This compares questions, results and the values of steps. A repeated effect in plain code is only found if a
    /// [`Fixture`](super::Fixture) counts it.
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
        let mut commits = 1;
        while runs.last().is_some_and(|run| run.has_crashed) {
            runs.push(self.in_trouble(Trouble::Crash(commits)).await);
            commits += 1;
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
            claims: Arc::new(MemoryStore::default()),
            crash: Arc::new(Crash::new(match trouble {
                Trouble::Crash(commits) => Some(commits),
                _ => None,
            })),
        };
        let mut run = match revision.era() {
            Era::Legacy => handshake::run(bench, revision).await,
            Era::Modern => stateless::run(bench, revision, trouble).await,
        };
        run.effects = effects.map(|count| count());
        run
    }
}
