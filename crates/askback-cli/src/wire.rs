//! The messages of a session, as `--trace` and `/wire` show them.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime},
};

use askback::{Limits, transport::WireEvent};
use askback_host::{
    relay::Relay,
    text::{Words, given},
    wire::{self, News, Row, SharedWire, Wire},
    words,
};

use crate::{
    error::Error,
    private_file,
    target::{Reach, Target},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    Shown,
    File(PathBuf),
}

/// The messages of a session. Clones share them.
#[derive(Debug, Clone)]
pub struct WireLog {
    began: Instant,
    /// The size limit of a trace file, in bytes.
    trace_bytes: usize,
    shared: SharedWire,
}

pub type Observer = Arc<dyn Fn(WireEvent<'_>) + Send + Sync>;

#[derive(Debug)]
enum Sink {
    Relay(Relay),
    /// `None` once it is full or a write failed.
    File(Option<TraceFile>, Relay),
}

#[derive(Debug)]
struct TraceFile {
    file: File,
    /// The size limit in bytes, and the bytes left.
    most: usize,
    left: usize,
}

impl Trace {
    pub fn read(text: &str) -> Result<Self, std::convert::Infallible> {
        Ok(match text {
            "" => Self::Shown,
            file => Self::File(file.into()),
        })
    }
}

/// Shows requests with the URL as the server's file writes it, if that has variables, because their values may be
/// secrets.
pub fn as_written(observer: Observer, target: &Target) -> Observer {
    let Reach::Address(address) = &target.reach else {
        return observer;
    };
    let (Some(sent), Some(written)) = (target.reach.endpoint(), &address.written) else {
        return observer;
    };
    let end = written.find(['?', '#']).unwrap_or(written.len());
    let mut written = written[..end].to_owned();
    if let Some((scheme, rest)) = written.split_once("://")
        && let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()))
        && let Some((_, host)) = authority.rsplit_once('@')
    {
        written = format!("{scheme}://{host}{path}");
    }
    Arc::new(move |event| {
        observer(match event {
            WireEvent::Request(mut request) if request.url == sent.as_str() => {
                request.url.clone_from(&written);
                WireEvent::Request(request)
            }
            event => event,
        });
    })
}

impl WireLog {
    pub fn new(limits: &Limits) -> Self {
        let wire = Wire::new(SystemTime::now(), limits.host.wire_bytes);
        Self {
            began: Instant::now(),
            trace_bytes: limits.host.trace_bytes,
            shared: SharedWire::new(wire),
        }
    }

    /// Returns the observer that stores messages and writes them to the trace.
    pub fn observer(&self, trace: Option<&Trace>, relay: &Relay) -> Result<Observer, Error> {
        let sink = Mutex::new(match trace {
            None => None,
            Some(Trace::Shown) => Some(Sink::Relay(relay.clone())),
            Some(Trace::File(path)) => {
                Some(Sink::File(Some(self.trace_file(path)?), relay.clone()))
            }
        });
        let log = self.clone();
        Ok(Arc::new(move |event: WireEvent<'_>| {
            let at = log.began.elapsed();
            let news = log.shared.take(&event, at);
            let began = log.lock().began();
            if let (Some(news), Some(sink)) = (news, &mut *lock(&sink)) {
                sink.take(began, &news);
            }
        }))
    }

    fn trace_file(&self, path: &Path) -> Result<TraceFile, Error> {
        // A device or pipe keeps nothing that could be overwritten.
        let is_stream = path.metadata().is_ok_and(|found| !found.is_file());
        let file = match is_stream {
            true => private_file::append(path),
            false => private_file::create_new(path),
        };
        let file = file.map_err(|error| Error::unwritten(path, &error))?;
        let (most, left) = (self.trace_bytes, self.trace_bytes);
        Ok(TraceFile { file, most, left })
    }

    pub fn shared(&self) -> SharedWire {
        self.shared.clone()
    }

    pub fn lock(&self) -> MutexGuard<'_, Wire> {
        self.shared.lock()
    }

    /// Writes the stored messages to a new file that only its owner can read. Returns how many were written.
    pub fn save(&self, path: &Path) -> Result<usize, Error> {
        let wire = self.lock();
        let save = || -> io::Result<usize> {
            // Never overwrite an existing file.
            let mut file = io::BufWriter::new(private_file::create_new(path)?);
            for entry in wire.entries() {
                writeln!(file, "{}", wire::line(wire.began(), entry))?;
            }
            file.flush()?;
            Ok(wire.entries().count())
        };
        save().map_err(|error| Error::unwritten(path, &error))
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
                if let Err(why) = open.write(&line) {
                    *file = None;
                    relay.tell(words!("The trace ends here: {}", why));
                }
            }
        }
    }
}

impl TraceFile {
    /// Writes a line, or says why writing stopped.
    fn write(&mut self, line: &str) -> Result<(), Words> {
        let Some(left) = self.left.checked_sub(line.len()) else {
            return Err(words!("its file would be larger than {} bytes", self.most));
        };
        self.left = left;
        let written = self.file.write_all(line.as_bytes());
        written.map_err(given)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use askback_host::relay::Arrival;

    use super::*;

    #[test]
    fn a_trace_ends_when_its_file_is_full_and_says_so_once() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("trace");
        let mut limits = Limits::default();
        limits.host.trace_bytes = 400;
        let log = WireLog::new(&limits);
        let (relay, mut arrivals) = Relay::new();
        let observer = log.observer(Some(&Trace::File(path.clone())), &relay);
        let observer = observer.expect("the temporary folder is ours");
        for _ in 0..20 {
            observer(WireEvent::Sent(br#"{"jsonrpc":"2.0","method":"x"}"#));
        }
        let written = std::fs::read_to_string(&path).expect("it was written");
        assert!(written.ends_with("}\n") && written.lines().count() > 1);
        let rest = 400_usize.checked_sub(written.len());
        let line = written.len() / written.lines().count();
        assert!(rest.is_some_and(|rest| rest <= line), "{written}");
        let told = arrivals.try_recv().map(|(_, arrival)| arrival);
        let Ok(Arrival::Told(words)) = told else {
            panic!("{told:?} is nothing that is told");
        };
        let expected = "The trace ends here: its file would be larger than 400 bytes";
        assert_eq!(words.as_str(), expected);
        assert!(arrivals.try_recv().is_err());
        // Messages are still shown and saved.
        assert_eq!(log.lock().entries().count(), 20);
    }
}
