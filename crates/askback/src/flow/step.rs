//! Steps: effects whose results are recorded, so that they happen only once.

use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::protocol::RawJson;
use serde::{Serialize, de::DeserializeOwned};

use super::{BoxFuture, Cell, Course, Scope, Slot, scope::course_of_step};
use crate::error::{CommitPlace, Error, StepResult};

/// A pending step: see [`Ctx::run`](crate::Ctx::run) and [`Ctx::commit`](crate::Ctx::commit).
#[must_use = "nothing is done until it is awaited: add `.await?`"]
pub struct Step<'a, T> {
    cell: Arc<Cell>,
    state: State<'a, T>,
    limit: Duration,
}

enum State<'a, T> {
    New(Cow<'static, str>, Start<'a, T>, NamePolicy),
    Begun(Slot, Start<'a, T>),
    Running(Slot, Course, BoxFuture<'a, Result<T, Error>>),
    Waiting(Slot),
    Over,
}

#[derive(Clone, Copy)]
pub(crate) enum NamePolicy {
    /// An ordinal distinguishes the steps.
    Ordinal,
    /// A second use of the name is an error. Concurrent branches may run in a different order in each execution, so an
    /// ordinal could change, but a claim in a store needs the same name in all executions.
    Unique,
}

/// Starts the effect with the step's key and time limit. The effect ends within that limit.
type Start<'a, T> = Box<dyn FnOnce(&str, Duration) -> BoxFuture<'a, Result<T, Error>> + Send + 'a>;

impl<'a, T: Serialize + DeserializeOwned + Send + 'static> Step<'a, T> {
    pub(crate) fn new(
        cell: &Arc<Cell>,
        name: Cow<'static, str>,
        naming: NamePolicy,
        start: Start<'a, T>,
    ) -> Self {
        Self {
            cell: Arc::clone(cell),
            state: State::New(name, start, naming),
            limit: cell.limits().asking.run,
        }
    }

    /// Sets the time limit of this step. The default is [`limits.asking.run`](crate::limits::AskingLimits::run).
    ///
    /// The client waits that long, and many clients end a call after a minute. [Progress](crate::Ctx::progress) helps
    /// with clients that reset their timeout on it; a [task](crate::Ctx::become_task) does not keep the client waiting.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn begin(&self, name: &str, naming: NamePolicy) -> Result<Slot, Error> {
        if !Scope::may_ask(&self.cell) {
            return Err(Error::misplaced_step(name));
        }
        if matches!(naming, NamePolicy::Unique) {
            if self.cell.flow().has_step(name) {
                return Err(Error::new(format!(
                    "a step named `{name}` was started before in this call, and each commit needs its own name: add its subject to the name"
                )));
            }
            if self.cell.committed(name).is_some() {
                return Err(Error::commit_name_used(name));
            }
            self.cell.note_commit(name, CommitPlace::Store);
        }
        let id = self.cell.flow().begin_step(name);
        Ok(Slot::new(&self.cell, id))
    }

    fn run(&self, slot: Slot, start: Start<'a, T>) -> State<'a, T> {
        let key = self.cell.flow().step_key(slot.id).to_owned();
        State::Running(slot, course_of_step(&key), start(&key, self.limit))
    }

    fn record(&self, slot: &Slot, result: Result<T, Error>) -> Result<(), Error> {
        let value = StepResult::from(result).to_json()?;
        let now = self.cell.clock().now();
        self.cell.flow().finish_step(slot.id, value, now);
        Ok(())
    }
}

impl<T> Unpin for Step<'_, T> {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Future for Step<'_, T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::New(name, start, naming) => State::Begun(self.begin(&name, naming)?, start),
                State::Begun(slot, start) => {
                    let started = self.cell.flow().start_step(slot.id, cx.waker());
                    match started {
                        Poll::Ready(true) => self.run(slot, start),
                        Poll::Ready(false) => State::Waiting(slot),
                        Poll::Pending => {
                            self.state = State::Begun(slot, start);
                            return Poll::Pending;
                        }
                    }
                }
                State::Running(slot, course, mut effect) => {
                    let polled = {
                        let _scope = Scope::aside(course);
                        effect.as_mut().poll(cx)
                    };
                    let Poll::Ready(result) = polled else {
                        self.state = State::Running(slot, course, effect);
                        return Poll::Pending;
                    };
                    self.record(&slot, result)?;
                    State::Waiting(slot)
                }
                State::Waiting(slot) => {
                    let polled = self.cell.flow().poll_step(slot.id, cx.waker());
                    let Poll::Ready(value) = polled else {
                        self.state = State::Waiting(slot);
                        return Poll::Pending;
                    };
                    return Poll::Ready(read(&value));
                }
                State::Over => return Poll::Pending,
            };
        }
    }
}

fn read<T: DeserializeOwned>(value: &RawJson) -> Result<T, Error> {
    match value.decode::<StepResult<T>>() {
        Ok(recorded) => recorded.into(),
        Err(error) => Err(Error::new(format!(
            "a recorded step no longer fits its type: {error}"
        ))),
    }
}
