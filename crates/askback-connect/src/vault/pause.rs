//! A point at which tests run other tasks.

use std::{future::poll_fn, task::Poll};

/// Yields once.
pub(super) async fn pause_once() {
    let mut paused = false;
    poll_fn(|context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
