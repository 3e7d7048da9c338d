//! Detects when a shell resumes the stopped program.

use std::task::{Context, Poll};

#[cfg(unix)]
use rustix::process::Signal;
#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind, signal};

#[derive(Debug)]
pub(super) struct ResumeSignal {
    #[cfg(unix)]
    signal: Option<unix::Signal>,
}

impl ResumeSignal {
    /// Must be called within the runtime.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(unix)]
            signal: signal(SignalKind::from_raw(Signal::CONT.as_raw())).ok(),
        }
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            return signal.poll_recv(context).map(|_| ());
        }
        let _ = context;
        Poll::Pending
    }
}
