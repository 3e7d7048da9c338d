//! The contents of the log.

use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

/// Each event is a line.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<String>>);

/// Collects this thread's log messages until it is dropped.
pub(crate) struct Listening {
    _here: DefaultGuard,
    /// With only one subscriber, tracing asks the first thread that reaches a line whether it is
    /// enabled, and caches the result. That thread may belong to another test.
    _second: Dispatch,
}

impl Log {
    pub(crate) fn listen(&self) -> Listening {
        Listening {
            _second: Dispatch::new(self.clone()),
            _here: tracing::subscriber::set_default(self.clone()),
        }
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

struct Writer<'a>(&'a mut String);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut Writer(&mut self.0.lock().unwrap()));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Writer(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut log = self.0.lock().unwrap();
        log.push('\n');
        event.record(&mut Writer(&mut log));
        log.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
