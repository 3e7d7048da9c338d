//! The phases of stopping an HTTP server.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::sync::watch;

use crate::flow::BoxFuture;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// A process leaves its fleet: it accepts no more connections, and streams that other processes
    /// can continue end. Requests on existing connections are answered.
    Leaving,
    /// No new calls start. Running calls may continue, with their questions.
    Stopping,
    /// No running call is left.
    Closing,
    Over,
}

#[derive(Debug, Clone)]
pub(super) struct Stop(watch::Sender<Phase>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitEnd {
    Quiet,
    Over,
}

/// Waits for a quiet period. It costs nothing until it is first polled.
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

    pub(super) async fn reached(&self, phase: Phase) {
        let mut phases = self.0.subscribe();
        // This cannot fail, because `self` holds the sender.
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
}
