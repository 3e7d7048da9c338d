//! Running commits. Each has its own task, so it finishes even if its client goes away, the call is cancelled or the
//! response is dropped. A retry gets its value.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::Arc,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tracing::{Instrument, Span};

use crate::{
    error::{Error, Result},
    flow::{BoxFuture, Cell, Course, Scope},
};

#[derive(Clone, Default)]
pub(crate) struct RunningCommits(watch::Sender<usize>);

pub(super) struct CommitSlot(watch::Sender<usize>);

impl RunningCommits {
    pub(super) fn take_slot(&self, most: usize) -> Option<CommitSlot> {
        let has_room = self.0.send_if_modified(|running| {
            let has_room = *running < most;
            *running += usize::from(has_room);
            has_room
        });
        has_room.then(|| CommitSlot(self.0.clone()))
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn are_running(&self) -> bool {
        *self.0.borrow() > 0
    }

    pub(crate) async fn wait_until(&self, end: Instant) {
        let mut running = self.0.subscribe();
        if timeout_at(end, running.wait_for(|running| *running == 0))
            .await
            .is_err()
        {
            tracing::error!(
                commits = *self.0.borrow(),
                "the server stops while commits are running: their outcome is unknown"
            );
        }
    }
}

impl CommitSlot {
    /// Starts a commit in its own task, in the course of its step, and waits for it. Dropping the future does not stop
    /// the commit.
    pub(super) fn start<T: Send + 'static>(
        self,
        (cell, course): (Arc<Cell>, Course),
        mut commit: BoxFuture<'static, T>,
    ) -> impl Future<Output = Result<T>> + Send + use<T> {
        let task = async move {
            let value = poll_fn(|cx| {
                let _scope = Scope::step(&cell, course);
                commit.as_mut().poll(cx)
            });
            let value = value.await;
            drop(self);
            value
        };
        let task = tokio::spawn(task.instrument(Span::current()));
        async move {
            task.await.map_err(|error| match error.try_into_panic() {
                // Handle the panic like a panic of the handler.
                Ok(panic) => resume_unwind(panic),
                Err(_) => Error::new("the server has stopped: the outcome is unknown"),
            })
        }
    }
}

impl Drop for CommitSlot {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

pub(super) enum Effect<T> {
    Done(Result<T>),
    Panicked(Box<dyn Any + Send>),
    TookTooLong,
}

pub(super) async fn ended<T>(end: Instant, effect: impl Future<Output = Result<T>>) -> Effect<T> {
    let mut effect = pin!(effect);
    let caught = poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| effect.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Effect::Done),
            Err(panic) => std::task::Poll::Ready(Effect::Panicked(panic)),
        },
    );
    timeout_at(end, caught).await.unwrap_or(Effect::TookTooLong)
}
