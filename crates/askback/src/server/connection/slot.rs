//! Reuses the memory for the futures of calls.

use std::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

/// A pinned place for one future. Most calls end on their first poll and free the place.
pub(super) struct Slot<F>(Pin<Box<Option<F>>>);

impl<F: Future> Slot<F> {
    pub(super) fn new() -> Self {
        Self(Box::pin(None))
    }

    pub(super) fn put(&mut self, future: F) {
        self.0.set(Some(future));
    }

    pub(super) fn clear(&mut self) {
        self.0.set(None);
    }

    /// Takes the future together with its memory, since it is pinned there.
    pub(super) fn take(&mut self) -> Self {
        mem::replace(self, Self::new())
    }

    /// An empty slot is pending.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.0.as_mut().as_pin_mut();
        future.map_or(Poll::Pending, |future| future.poll(cx))
    }
}
