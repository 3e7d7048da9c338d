//! The events of the terminal, read by a thread of their own.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use crossterm::event::Event;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

#[cfg(unix)]
use super::decode::Decoder;

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
        let sender_of_keys = sender.clone();
        #[cfg(windows)]
        drop(sender);
        thread::spawn(move || {
            let mut source = Source::new();
            while !sender_of_keys.is_closed() {
                let Ok(events) = reader.read(&mut source) else {
                    return;
                };
                for event in events {
                    if sender_of_keys.blocking_send(event).is_err() {
                        return;
                    }
                }
            }
        });
        #[cfg(unix)]
        tokio::spawn(resized(sender));
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
    /// Reads events; none if there are none for a while.
    fn read(&self, source: &mut Source) -> io::Result<Vec<Event>> {
        let waited = self.opened.wait_while(held(&self.is_shut), |shut| *shut);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        let _reading = held(&self.reading);
        if *held(&self.is_shut) {
            return Ok(Vec::new());
        }
        source.read()
    }
}

/// The terminal, whose bytes are read here: a paste whose end does not come swallows no keys then.
#[cfg(unix)]
struct Source {
    decoder: Decoder,
    began: std::time::Instant,
}

#[cfg(unix)]
impl Source {
    fn new() -> Self {
        Self {
            decoder: Decoder::default(),
            began: std::time::Instant::now(),
        }
    }

    fn read(&mut self) -> io::Result<Vec<Event>> {
        let wait = match self.decoder.is_unsure() {
            true => FOLLOWING,
            false => TURN,
        };
        if !Self::has_come(wait)? {
            return Ok(self.decoder.settle());
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(many) => Ok(self.decoder.feed(&bytes[..many], self.began.elapsed())),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether bytes come within so long.
    fn has_come(wait: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = rustix::stdio::stdin();
        let mut awaited = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec::try_from(wait).ok();
        match poll(&mut awaited, wait.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// How long the rest of a sequence may take: an Esc alone has none.
#[cfg(unix)]
const FOLLOWING: Duration = Duration::from_millis(30);

/// Sends the size of the terminal whenever it has become another.
#[cfg(unix)]
async fn resized(sender: mpsc::Sender<Event>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut changed) = signal(SignalKind::window_change()) else {
        return;
    };
    loop {
        tokio::select! {
            () = sender.closed() => return,
            came = changed.recv() => if came.is_none() {
                return;
            },
        }
        if let Ok((columns, rows)) = crossterm::terminal::size()
            && sender.send(Event::Resize(columns, rows)).await.is_err()
        {
            return;
        }
    }
}

/// The terminal, whose events the system has.
#[cfg(windows)]
struct Source;

#[cfg(windows)]
impl Source {
    fn new() -> Self {
        Self
    }

    fn read(&mut self) -> io::Result<Vec<Event>> {
        use crossterm::event::{poll, read};
        match poll(TURN)? {
            true => read().map(|event| vec![event]),
            false => Ok(Vec::new()),
        }
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
