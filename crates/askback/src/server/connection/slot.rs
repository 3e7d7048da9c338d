//! The memory of the call that a connection works on.

use std::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

/// A future in memory that the next one finds again: most calls end where they were read.
pub(super) struct Slot<F>(Pin<Box<Option<F>>>);

impl<F: Future> Slot<F> {
    pub(super) fn new() -> Self {
        Self(Box::pin(None))
    }

    /// Puts a future in, in place of another.
    pub(super) fn put(&mut self, future: F) {
        self.0.set(Some(future));
    }

    /// Drops the future.
    pub(super) fn clear(&mut self) {
        self.0.set(None);
    }

    /// Takes the future out with its memory, as it cannot be moved.
    pub(super) fn take(&mut self) -> Self {
        mem::replace(self, Self::new())
    }

    /// Polls the future; an empty slot waits for nothing that will come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.0.as_mut().as_pin_mut();
        future.map_or(Poll::Pending, |future| future.poll(cx))
    }
}
