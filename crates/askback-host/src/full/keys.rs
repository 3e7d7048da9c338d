//! Terminal events, read by crossterm.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use crossterm::event::{Event, EventStream};
use futures_core::Stream;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

#[cfg(unix)]
use crate::signals;

pub(super) struct Keys {
    events: EventStream,
    /// SIGHUP reports a closed window; reading does not.
    #[cfg(unix)]
    closed: Option<Signal>,
    is_closed: bool,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self {
            events: EventStream::new(),
            #[cfg(unix)]
            closed: signal(SignalKind::hangup()).ok(),
            is_closed: false,
        }
    }

    /// Returns the next event, or `None` if the terminal is gone.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        #[cfg(unix)]
        if let Some(closed) = &mut self.closed {
            let is_closed = self.is_closed || closed.poll_recv(context).is_ready();
            if is_closed && !self.is_closed {
                // A program that was started with `nohup` has no use for a terminal that is gone either.
                tokio::spawn(signals::close());
            }
            self.is_closed = is_closed;
        }
        if self.is_closed {
            return Poll::Ready(None);
        }
        let next = ready!(Pin::new(&mut self.events).poll_next(context));
        Poll::Ready(next.and_then(Result::ok))
    }

    /// Whether the window was closed. The process will end soon.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }
}
