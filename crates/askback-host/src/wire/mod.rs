//! Recorded messages between a client and its server, and the call each belongs to.
//!
//! Reads no clock and no file. Messages are kept unchanged, up to
//! [`limits.host.wire_bytes`](askback::limits::HostLimits::wire_bytes); the oldest are dropped first.

mod export;
mod gist;
mod indent;
mod show;
pub(crate) mod view;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use askback::{
    client::CallTarget,
    transport::{WireEvent, WireHeader},
};
use tokio::sync::watch;

use self::gist::{Gist, Outcome};
pub use self::{
    export::line,
    indent::indented,
    show::{MessageSelection, Row, heading, put},
};

#[derive(Debug)]
pub struct Wire {
    began: SystemTime,
    kept: VecDeque<Entry>,
    bytes: usize,
    most: usize,
    last: u64,
    open: VecDeque<Open>,
}

/// A message, or an HTTP request without one.
#[derive(Debug, Clone)]
pub struct Entry {
    number: u64,
    /// Time since the session began.
    at: Duration,
    is_sent: bool,
    message: Vec<u8>,
    gist: Gist,
    /// The number of the first message of the call.
    call: u64,
    /// For a response: how long the request waited.
    took: Option<Duration>,
    /// For a response: the method of its request.
    answers: Option<String>,
    http: Option<Box<Exchange>>,
}

#[derive(Debug)]
pub enum News {
    /// A message, or an HTTP request.
    Message(Entry),
    /// The HTTP request whose response head arrived.
    Head(Entry),
}

#[derive(Debug, Clone)]
struct Exchange {
    number: u64,
    method: String,
    url: String,
    headers: Vec<WireHeader>,
    response: Option<Response>,
}

#[derive(Debug, Clone)]
struct Response {
    status: u16,
    headers: Vec<WireHeader>,
    took: Duration,
}

#[derive(Debug)]
struct Open {
    is_sent: bool,
    id: String,
    method: String,
    token: Option<String>,
    call: u64,
    /// Whether the server may ask questions during the request.
    may_ask: bool,
    at: Duration,
}

const LOG: &str = "notifications/message";

/// The cost of an entry in addition to its bytes.
const OVERHEAD: usize = 512;

/// Beyond this, the oldest open request is forgotten.
const MOST_OPEN: usize = 256;

impl Wire {
    /// It keeps at most `most` bytes.
    pub fn new(began: SystemTime, most: usize) -> Self {
        Self {
            began,
            kept: VecDeque::new(),
            bytes: 0,
            most,
            last: 0,
            open: VecDeque::new(),
        }
    }

    /// Records an event; `at` is the time since the session began. Returns what is new.
    pub fn take(&mut self, event: &WireEvent<'_>, at: Duration) -> Option<News> {
        match event {
            WireEvent::Sent(message) => Some(self.add(true, message, None, at)),
            WireEvent::Received(message) => Some(self.add(false, message, None, at)),
            WireEvent::Request(request) => {
                let exchange = Exchange {
                    number: request.exchange,
                    method: request.method.clone(),
                    url: request.url.clone(),
                    headers: request.headers.clone(),
                    response: None,
                };
                Some(self.add(true, request.message, Some(Box::new(exchange)), at))
            }
            WireEvent::Response(response) => {
                let response_of = |entry: &&mut Entry| {
                    let http = entry.http.as_ref();
                    http.is_some_and(|http| http.number == response.exchange)
                };
                let entry = self.kept.iter_mut().rev().find(response_of)?;
                let http = entry.http.as_mut()?;
                let more = sum(&response.headers);
                http.response = Some(Response {
                    status: response.status,
                    headers: response.headers.clone(),
                    took: at.saturating_sub(entry.at),
                });
                let answered = News::Head(entry.clone());
                self.bytes = self.bytes.saturating_add(more);
                self.fit();
                Some(answered)
            }
            _ => None,
        }
    }

    /// Forgets the open requests: a closed connection will not answer them.
    pub fn disconnected(&mut self) {
        self.open.clear();
    }

    /// The kept messages, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.kept.iter()
    }

    /// The message with this number, if it is still kept.
    pub fn get(&self, number: u64) -> Option<&Entry> {
        self.kept.iter().find(|entry| entry.number == number)
    }

    pub fn dropped(&self) -> u64 {
        let kept = u64::try_from(self.kept.len()).unwrap_or(u64::MAX);
        self.last.saturating_sub(kept)
    }

    pub fn began(&self) -> SystemTime {
        self.began
    }

    /// Returns the newest messages with a number below `before`, at most `most`, grouped by call, and the number before
    /// which older messages begin, if some are kept.
    fn calls(&self, before: u64, most: usize) -> (Vec<Vec<&Entry>>, Option<u64>) {
        let mut kept = self
            .entries()
            .rev()
            .filter(|entry| entry.number < before)
            .peekable();
        let mut calls: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
        let mut oldest = None;
        for entry in kept.by_ref().take(most) {
            calls.entry(entry.call).or_default().push(entry);
            oldest = Some(entry.number);
        }
        let mut calls: Vec<_> = calls.into_values().collect();
        for call in &mut calls {
            call.reverse();
        }
        let older = oldest.filter(|_| kept.peek().is_some());
        (calls, older)
    }

    fn add(
        &mut self,
        is_sent: bool,
        message: &[u8],
        http: Option<Box<Exchange>>,
        at: Duration,
    ) -> News {
        self.last = self.last.saturating_add(1);
        let gist = Gist::read(message);
        let answered = self.answered(is_sent, &gist);
        let call = match &answered {
            Some(open) => open.call,
            None => self.call_of(is_sent, &gist).unwrap_or(self.last),
        };
        if let Gist::Request {
            id, method, token, ..
        } = &gist
        {
            self.open.push_back(Open {
                is_sent,
                id: id.clone(),
                method: method.clone(),
                token: token.clone(),
                call,
                may_ask: is_sent && CallTarget::may_ask(method),
                at,
            });
            if self.open.len() > MOST_OPEN {
                self.open.pop_front();
            }
        }
        let entry = Entry {
            number: self.last,
            at,
            is_sent,
            message: message.to_vec(),
            gist,
            call,
            took: answered.as_ref().map(|open| at.saturating_sub(open.at)),
            answers: answered.map(|open| open.method),
            http,
        };
        self.bytes = self.bytes.saturating_add(entry.cost());
        self.kept.push_back(entry.clone());
        self.fit();
        News::Message(entry)
    }

    fn fit(&mut self) {
        while self.bytes > self.most
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest.cost());
        }
    }

    fn answered(&mut self, is_sent: bool, gist: &Gist) -> Option<Open> {
        let Gist::Response { id, .. } = gist else {
            return None;
        };
        let asked = |open: &Open| open.is_sent != is_sent && open.id == *id;
        let at = self.open.iter().position(asked)?;
        self.open.remove(at)
    }

    /// The earlier call that a message belongs to, if the message is not a response.
    fn call_of(&self, is_sent: bool, gist: &Gist) -> Option<u64> {
        match gist {
            // A round carries the state, or else the answers, that the previous round asked for.
            Gist::Request { state, answers, .. } if is_sent => {
                let wanted = |entry: &&Entry| match &entry.gist {
                    Gist::Response {
                        outcome:
                            Outcome::Asked {
                                state: wanted,
                                asks,
                            },
                        ..
                    } => match state {
                        Some(state) => wanted.as_ref().is_some_and(|wanted| wanted == state),
                        None => wanted.is_none() && answers.iter().any(|key| asks.contains(key)),
                    },
                    _ => false,
                };
                let is_round = state.is_some() || !answers.is_empty();
                let round = is_round.then(|| self.kept.iter().rev().find(wanted))?;
                round.map(|entry| entry.call)
            }
            // A server request belongs to the open call if there is only one.
            Gist::Request { .. } => self.only_call(),
            Gist::Notification {
                about: Some(about), ..
            } => {
                let named = |open: &&Open| open.token.as_ref() == Some(about) || open.id == *about;
                self.open.iter().find(named).map(|open| open.call)
            }
            // A log message, too, belongs to the open call if there is only one.
            Gist::Notification { method, .. } if method == LOG => self.only_call(),
            Gist::Notification { .. } => None,
            Gist::Response { .. } | Gist::Batch(_) | Gist::Nothing | Gist::Unreadable => None,
        }
    }

    fn only_call(&self) -> Option<u64> {
        let mut calls = self.open.iter().filter(|open| open.may_ask);
        let call = calls.next()?.call;
        calls.all(|open| open.call == call).then_some(call)
    }
}

impl Entry {
    /// The unchanged message; empty for an HTTP request without one.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    fn cost(&self) -> usize {
        let http = self.http.as_ref().map_or(0, |http| {
            let response = http.response.as_ref();
            let response = response.map_or(0, |response| sum(&response.headers));
            sum(&http.headers)
                .saturating_add(response)
                .saturating_add(http.url.len())
        });
        OVERHEAD
            .saturating_add(self.message.len())
            .saturating_add(http)
    }
}

fn sum(headers: &[WireHeader]) -> usize {
    let bytes = |header: &WireHeader| {
        let value = match &header.value {
            askback::transport::WireValue::Shown(value) => value.len(),
            _ => 0,
        };
        header.name.len().saturating_add(value).saturating_add(64)
    };
    headers.iter().map(bytes).fold(0, usize::saturating_add)
}

/// The record of a session. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedWire(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wire: Mutex<Wire>,
    changes: watch::Sender<()>,
}

impl SharedWire {
    pub fn new(wire: Wire) -> Self {
        Self(Arc::new(Shared {
            wire: Mutex::new(wire),
            changes: watch::Sender::new(()),
        }))
    }

    /// Records an event, as [`Wire::take`].
    pub fn take(&self, event: &WireEvent<'_>, at: Duration) -> Option<News> {
        let news = self.lock().take(event, at);
        self.0.changes.send_replace(());
        news
    }

    /// The record. No event is recorded while it is locked.
    pub fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notified when something was recorded.
    #[cfg(feature = "web")]
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }
}
