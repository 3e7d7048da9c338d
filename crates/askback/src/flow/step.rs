//! A step: an effect whose result is recorded, so that it does not happen again.

use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use askback_core::protocol::RawJson;
use serde::{Serialize, de::DeserializeOwned};

use super::{BoxFuture, Cell, Scope, Slot};
use crate::error::{Error, Recorded};

/// A step, on its way: see [`Ctx::run`](crate::Ctx::run) and [`Ctx::commit`](crate::Ctx::commit).
#[must_use = "a step runs when it is awaited"]
pub struct Step<T> {
    cell: Arc<Cell>,
    state: State<T>,
}

enum State<T> {
    New(Cow<'static, str>, Start<T>),
    Running(Slot, BoxFuture<'static, Result<T, Error>>),
    Waiting(Slot),
    Over,
}

/// Starts the effect, given the step's key.
type Start<T> = Box<dyn FnOnce(&str) -> BoxFuture<'static, Result<T, Error>> + Send>;

impl<T: Serialize + DeserializeOwned + Send + 'static> Step<T> {
    pub(crate) fn new(cell: &Arc<Cell>, name: Cow<'static, str>, start: Start<T>) -> Self {
        Self {
            cell: Arc::clone(cell),
            state: State::New(name, start),
        }
    }

    fn begin(&self, name: &str, start: Start<T>) -> State<T> {
        let mut flow = self.cell.flow();
        let id = flow.begin_step(name);
        let recorded = flow.run_step(id);
        let key = flow.step_key(id).to_owned();
        drop(flow);
        let slot = Slot::new(&self.cell, id);
        if recorded {
            return State::Waiting(slot);
        }
        let limit = self.cell.limits().run;
        let effect = start(&key);
        State::Running(
            slot,
            Box::pin(async move {
                match tokio::time::timeout(limit, effect).await {
                    Ok(result) => result,
                    Err(_) => Err(Error::new(format!(
                        "the step `{key}` did not end within {} seconds",
                        limit.as_secs()
                    ))),
                }
            }),
        )
    }

    fn record(&self, slot: &Slot, result: Result<T, Error>) -> Result<(), Error> {
        let value = RawJson::new(&Recorded::from(result))
            .map_err(|error| Error::new(format!("a step's result cannot be recorded: {error}")))?;
        let now = self.cell.clock().now();
        self.cell.flow().finish_step(slot.id, value, now);
        Ok(())
    }
}

impl<T> Unpin for Step<T> {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Future for Step<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::New(name, start) => {
                    if !Scope::may_ask(&self.cell) {
                        return Poll::Ready(Err(Error::misplaced_step(&name)));
                    }
                    self.begin(&name, start)
                }
                State::Running(slot, mut effect) => {
                    let polled = {
                        let _scope = Scope::step();
                        effect.as_mut().poll(cx)
                    };
                    let Poll::Ready(result) = polled else {
                        self.state = State::Running(slot, effect);
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
    match value.decode::<Recorded<T>>() {
        Ok(recorded) => recorded.into(),
        Err(error) => Err(Error::new(format!(
            "a recorded step no longer fits its type: {error}"
        ))),
    }
}
