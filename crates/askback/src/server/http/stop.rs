//! How a server that serves over HTTP comes to its end.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::sync::watch;

use crate::flow::BoxFuture;

/// How far a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// A process of a fleet leaves: it takes no more connections, and streams that other processes go on with end. What
    /// comes on the connections that there are is answered.
    Leaving,
    /// Nothing new begins; what goes on may end, and be answered what it asked.
    Stopping,
    /// Nothing goes on that could be answered.
    Closing,
    /// The grace is over: the calls that still run are ended.
    Over,
}

/// Says, and hears, how far a server has come.
#[derive(Debug, Clone)]
pub(super) struct Stop(watch::Sender<Phase>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitEnd {
    Quiet,
    Over,
}

/// Waits through a quiet time; costs nothing until there is something to wait for.
#[derive(Default)]
pub(super) struct QuietTimer(Option<BoxFuture<'static, WaitEnd>>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }
}

impl Stop {
    pub(super) fn enter(&self, phase: Phase) {
        self.0.send_replace(phase);
    }

    pub(super) fn has_reached(&self, phase: Phase) -> bool {
        *self.0.borrow() >= phase
    }

    /// Waits until the server has come that far.
    pub(super) async fn reached(&self, phase: Phase) {
        let mut phases = self.0.subscribe();
        // The sender is right here.
        let _ = phases.wait_for(|reached| *reached >= phase).await;
    }
}

impl QuietTimer {
    pub(super) fn poll(
        &mut self,
        stop: &Stop,
        quiet: Duration,
        cx: &mut Context<'_>,
    ) -> Poll<WaitEnd> {
        let waiting: &mut Pin<Box<_>> = self.0.get_or_insert_with(|| {
            let stop = stop.clone();
            Box::pin(async move {
                tokio::select! {
                    () = stop.reached(Phase::Over) => WaitEnd::Over,
                    () = tokio::time::sleep(quiet) => WaitEnd::Quiet,
                }
            })
        });
        let woken = waiting.as_mut().poll(cx);
        if woken.is_ready() {
            self.0 = None;
        }
        woken
    }

    /// Begins anew: it is not quiet.
    pub(super) fn reset(&mut self) {
        self.0 = None;
    }
}
