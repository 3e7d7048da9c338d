//! Detects handlers that block their thread, in builds with debug assertions.

use std::{
    future::{Future, poll_fn},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use askback_core::ask::Millis;

use crate::{ctx::Ctx, error::Result, flow::BoxFuture};

/// The time limit for one poll of a handler: the same as in asyncio's debug mode.
const LONGEST_POLL: Millis = 100;

#[derive(Clone, Default)]
pub(super) struct BlockingWatch {
    warned: Arc<AtomicBool>,
}

impl BlockingWatch {
    pub(super) fn run<T: 'static>(
        &self,
        ctx: Ctx,
        mut handler: BoxFuture<'static, Result<T>>,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        let Self { warned } = self.clone();
        poll_fn(move |cx| {
            let begun = ctx.clock().now();
            let polled = handler.as_mut().poll(cx);
            let took = ctx.clock().now().saturating_sub(begun);
            if took >= LONGEST_POLL && !warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    target = ?ctx.incoming().target,
                    "the handler blocked its thread for {took} ms, and everything else that runs on it: move blocking or long work to `tokio::task::spawn_blocking`"
                );
            }
            polled
        })
    }
}
