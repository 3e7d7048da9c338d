//! The events of the terminal, read by a thread of their own.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use crossterm::event::{Event, poll, read};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// The most events that wait to be taken.
const AHEAD: usize = 4096;

/// How long the thread waits for an event before it looks whether another program wants them.
const TURN: Duration = Duration::from_millis(200);

/// The events of the terminal.
pub(super) struct Keys {
    events: mpsc::Receiver<Event>,
    gate: Arc<Gate>,
    /// Tells that the window was closed, which reading does not.
    #[cfg(unix)]
    closed: Option<Signal>,
    is_closed: bool,
}

/// Whether events are read.
#[derive(Default)]
struct Gate {
    is_shut: Mutex<bool>,
    opened: Condvar,
    /// Held while the terminal is read.
    reading: Mutex<()>,
}

impl Keys {
    /// The events from now on.
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::channel(AHEAD);
        let gate = Arc::<Gate>::default();
        let reader = Arc::clone(&gate);
        thread::spawn(move || {
            while !sender.is_closed() {
                let Ok(event) = reader.read() else {
                    return;
                };
                if let Some(event) = event
                    && sender.blocking_send(event).is_err()
                {
                    return;
                }
            }
        });
        Self {
            events,
            gate,
            #[cfg(unix)]
            closed: signal(SignalKind::hangup()).ok(),
            is_closed: false,
        }
    }

    /// Returns the next event; none once the terminal is gone.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        #[cfg(unix)]
        if let Some(closed) = &mut self.closed {
            self.is_closed |= closed.poll_recv(context).is_ready();
        }
        match self.is_closed {
            true => Poll::Ready(None),
            false => self.events.poll_recv(context),
        }
    }

    /// Whether the window was closed, which ends the program soon.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Leaves what is typed from now on to another program.
    pub(super) fn shut(&self) {
        *held(&self.gate.is_shut) = true;
        // Once the thread has let go, it looks before it reads again.
        drop(held(&self.gate.reading));
    }

    /// Takes what is typed from now on.
    pub(super) fn open(&self) {
        *held(&self.gate.is_shut) = false;
        self.gate.opened.notify_all();
    }
}

impl Gate {
    /// Reads an event; none if there is none for a while.
    fn read(&self) -> std::io::Result<Option<Event>> {
        let waited = self.opened.wait_while(held(&self.is_shut), |shut| *shut);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        let _reading = held(&self.reading);
        if *held(&self.is_shut) || !poll(TURN)? {
            return Ok(None);
        }
        read().map(Some)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.open();
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
