//! The messages of a session, as `--trace` and `/wire` show them.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime},
};

use askback::transport::WireEvent;
use askback_core::limits::Limits;
use askback_host::{
    page::Page,
    relay::Relay,
    text::{Words, given},
    wire::{self, News, Row, Shown, Wire},
    words,
};

use crate::{error::Error, private_file};

/// Where `--trace` shows each message as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// On the standard error.
    Shown,
    /// In this file.
    File(PathBuf),
}

/// The messages of a session, and where they are shown as they travel. Clones share them.
#[derive(Clone)]
pub struct WireLog {
    began: Instant,
    shared: Arc<Mutex<Wire>>,
}

/// A function that is shown what travels.
pub type Observer = Arc<dyn Fn(WireEvent<'_>) + Send + Sync>;

/// Where each message goes as it travels.
enum Sink {
    /// Before the person.
    Relay(Relay),
    /// Into a file, until it cannot be written.
    File(Option<File>, Relay),
}

impl Trace {
    /// Reads what `--trace` is given.
    pub fn read(text: &str) -> Result<Self, std::convert::Infallible> {
        Ok(match text {
            "" => Self::Shown,
            file => Self::File(file.into()),
        })
    }
}

impl WireLog {
    /// Nothing yet. What follows is kept as far as `limits` has it.
    pub fn new(limits: &Limits) -> Self {
        let wire = Wire::new(SystemTime::now(), limits.host.wire_bytes);
        Self {
            began: Instant::now(),
            shared: Arc::new(Mutex::new(wire)),
        }
    }

    /// Returns the function that keeps what travels, and shows it where the trace goes.
    ///
    /// # Errors
    ///
    /// If the file of the trace cannot be written.
    pub fn observer(&self, trace: Option<&Trace>, relay: &Relay) -> Result<Observer, Error> {
        let sink = match trace {
            None => None,
            Some(Trace::Shown) => Some(Sink::Relay(relay.clone())),
            Some(Trace::File(path)) => {
                let file = private_file::create(path).map_err(|error| unwritten(path, &error))?;
                Some(Sink::File(Some(file), relay.clone()))
            }
        };
        let sink = Mutex::new(sink);
        let (began, shared) = (self.began, Arc::clone(&self.shared));
        let started = self.lock().began();
        Ok(Arc::new(move |event: WireEvent<'_>| {
            let at = began.elapsed();
            let news = lock(&shared).take(&event, at);
            if let (Some(news), Some(sink)) = (news, &mut *lock(&sink)) {
                sink.take(started, &news);
            }
        }))
    }

    /// Returns what puts messages that are kept on a page.
    pub fn shows(&self) -> impl Fn(&mut Page, Shown) -> Result<(), Words> + 'static {
        let shared = Arc::clone(&self.shared);
        move |page, shown| wire::put(page, &lock(&shared), shown, SystemTime::now())
    }

    /// The messages that are kept.
    pub fn lock(&self) -> MutexGuard<'_, Wire> {
        lock(&self.shared)
    }

    /// Writes the messages that are kept to a new file that only its owner can read. Returns how many
    /// those are.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<usize, Error> {
        let wire = self.lock();
        let save = || -> io::Result<usize> {
            // What is there already is somebody's.
            let mut file = io::BufWriter::new(private_file::create_new(path)?);
            for entry in wire.entries() {
                writeln!(file, "{}", wire::line(wire.began(), entry))?;
            }
            file.flush()?;
            Ok(wire.entries().count())
        };
        save().map_err(|error| unwritten(path, &error))
    }
}

impl Sink {
    fn take(&mut self, began: SystemTime, news: &News) {
        match self {
            Self::Relay(relay) => relay.trace(Row::of_news(news)),
            Self::File(file, relay) => {
                let Some(open) = file else { return };
                let (News::Message(entry) | News::Head(entry)) = news;
                let line = wire::line(began, entry) + "\n";
                if let Err(error) = open.write_all(line.as_bytes()) {
                    *file = None;
                    let words = words!("The trace ends here: {}", given(error));
                    relay.tell(words);
                }
            }
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::usage(words!(
        "{} cannot be written: {}",
        given(path.display()),
        given(error)
    ))
}
