//! Raw exchanges with a server: any bytes can be sent, and all that comes back is kept.
//!
//! A client keeps to the protocol and hides what does not. A probe does neither, so that a check can try how a server
//! behaves where a client would never lead it. It is bounded in time, messages and bytes.

mod exchange;
mod fault;
mod http;
mod message;
mod patience;
mod stdio;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use ::http::Method;
use askback::{Revision, transport::WireEvent};
use askback_core::revision::Era;
use askback_host::text::head;
use serde_json::{Value, json};

pub use self::{
    exchange::Reply,
    http::{Address, Site},
    message::{MODERN_CAPABILITIES, meta},
    patience::{Lost, Patience},
};
pub(crate) use self::{
    exchange::{End, Sent, Wait},
    fault::Fault,
    message::{client_info, id_of, is_question, sampled},
};

use self::{
    message::{Speaker, request},
    stdio::Process,
};
use crate::Program;

/// The most pages of a list that are read through a probe.
pub(crate) const PAGES: usize = 32;

/// The number of entries of a list behind which no further page is read.
pub(crate) const ENTRIES: usize = 10_000;

/// A way in which connections to a server are opened.
#[derive(Debug, Clone)]
pub enum Way {
    /// A process is started for each.
    Start(Program),
    /// Requests are sent to an address.
    Address(Address),
}

/// The bounds on a probe.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The limits of what is read and waited for; `wire.request` is how long an answer may take.
    pub limits: askback::Limits,
    /// How long a process may take to start and to answer for the first time, if that is longer.
    pub start: Duration,
    /// The most messages that are read while one answer is waited for.
    pub messages: usize,
    /// How long the server is borne at all.
    pub patience: Patience,
    /// Where the messages are recorded.
    pub recorder: Option<Arc<dyn Recorder>>,
}

/// Records the messages of connections.
pub trait Recorder: fmt::Debug + Send + Sync {
    /// A connection begins.
    fn begin(&self);

    /// A message travels on it.
    fn take(&self, event: &WireEvent<'_>);
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Probe {
    wire: Wire,
    bounds: Bounds,
    speaker: Speaker,
    is_begun: bool,
    next: u64,
    /// The answers in a row that did not come; the most if the server is gone.
    silent: u32,
    /// The requests that the server has sent, the first ones.
    pub(crate) asked: Vec<ServerRequest>,
    /// The lines of the standard output that are no messages.
    noise: Vec<String>,
    /// The lines of the standard error, the last ones.
    stderr: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct ServerRequest {
    pub(crate) method: Value,
    /// What had been sent when it came, as text.
    pub(crate) during: String,
}

#[derive(Debug)]
enum Wire {
    Process(Box<Process>),
    Address(Address),
}

#[derive(Debug, Default)]
pub(crate) struct Closed {
    /// Whether the process ended when its input did; none over HTTP.
    pub(crate) is_by_itself: Option<bool>,
    /// How long it was waited for.
    pub(crate) allowed: Duration,
    /// The lines of its standard output that are no messages.
    pub(crate) noise: Vec<String>,
}

/// The most lines that are kept of a server's standard error, and of its noise.
pub(crate) const LINES: usize = 32;

/// The most characters of a method that are kept of a request of the server.
const METHOD_CHARS: usize = 100;

pub(crate) const SESSION_ID: &str = "mcp-session-id";

/// How often in a row a server may be silent before it is given up.
const SILENT: u32 = 3;

impl Way {
    /// Whether it leads over HTTP.
    pub fn is_http(&self) -> bool {
        matches!(self, Self::Address(_))
    }

    /// Opens a connection, on which nothing is sent yet.
    pub(crate) fn open(&self, bounds: &Bounds, revision: Revision) -> std::io::Result<Probe> {
        let wire = match self {
            Self::Start(program) => {
                let child = (program.child)().open(&bounds.limits)?;
                Wire::Process(Box::new(Process::new(child)))
            }
            Self::Address(address) => Wire::Address(address.clone()),
        };
        if let Some(recorder) = &bounds.recorder {
            recorder.begin();
        }
        Ok(Probe {
            wire,
            bounds: bounds.clone(),
            speaker: Speaker {
                revision,
                capabilities: json!({}),
                session: None,
                is_open: false,
            },
            is_begun: false,
            next: 0,
            silent: 0,
            asked: Vec::new(),
            noise: Vec::new(),
            stderr: Vec::new(),
        })
    }
}

impl Bounds {
    /// Has a message seen that is sent.
    fn sends(&self, message: &[u8]) {
        if let (Some(recorder), false) = (&self.recorder, message.is_empty()) {
            recorder.take(&WireEvent::Sent(message));
        }
    }

    /// Has a message seen that came.
    fn receives(&self, message: &[u8]) {
        if let Some(recorder) = &self.recorder {
            recorder.take(&WireEvent::Received(message));
        }
    }
}

impl Probe {
    pub(crate) fn session(&self) -> Option<&str> {
        self.speaker.session.as_deref()
    }

    /// Sets the capabilities that the server is told of.
    pub(crate) fn set_capabilities(&mut self, capabilities: Value) {
        self.speaker.capabilities = capabilities;
    }

    /// Sends what a conversation begins with.
    pub(crate) async fn greet(&mut self) -> Reply {
        match self.speaker.revision.era() {
            Era::Modern => self.ask("server/discover", json!({})).await,
            Era::Legacy => self.initialize(self.speaker.revision.as_str()).await,
        }
    }

    /// Makes the handshake up to its answer, asking for this version.
    pub(crate) async fn initialize(&mut self, version: &str) -> Reply {
        let params = json!({
            "protocolVersion": version,
            "capabilities": self.speaker.capabilities,
            "clientInfo": client_info(),
        });
        let message = request(&self.next_id(), "initialize", params);
        let reply = self.send(Sent::request(&message)).await;
        self.speaker.session = reply.header(SESSION_ID).map(Cow::into_owned);
        self.speaker.is_open = !reply.result().is_null();
        reply
    }

    pub(crate) async fn initialized(&mut self) {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(Sent::message(&message, Wait::Nothing)).await;
    }

    /// Sends a request as this revision writes it.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Reply {
        let message = self.request(method, params);
        self.send(Sent::request(&message)).await
    }

    /// Returns a request as this revision writes it.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id();
        self.speaker.request(&id, method, params)
    }

    /// Sends anything, and waits for what is wanted.
    pub(crate) async fn send(&mut self, sent: Sent) -> Reply {
        let bounds = &self.bounds;
        if self.silent >= SILENT || bounds.patience.lost().is_some() {
            return Reply::unsent(&sent);
        }
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let mut reply = match &mut self.wire {
            Wire::Process(process) => {
                let usual = bounds.limits.wire.request;
                let time = match is_first {
                    true => usual.max(bounds.start),
                    false => usual,
                };
                process.exchange(&sent, &self.speaker, bounds, time).await
            }
            Wire::Address(address) => address.exchange(&sent, &self.speaker, bounds).await,
        };
        bounds.patience.note(&reply, is_first);
        reply.sent = sent.shown();
        self.note(&mut reply);
        reply
    }

    /// Notes what matters beyond this exchange.
    fn note(&mut self, reply: &mut Reply) {
        self.silent = match &reply.end {
            End::Silent(_) => self.silent.saturating_add(1),
            End::Closed(_) | End::Unreachable(_) if matches!(self.wire, Wire::Process(_)) => SILENT,
            _ => 0,
        };
        let room = LINES.saturating_sub(self.asked.len());
        let asked = reply.asked.iter().map(|asked| {
            let method = asked["method"].as_str().unwrap_or_default();
            ServerRequest {
                method: head(method, METHOD_CHARS).0.into(),
                during: reply.sent.clone(),
            }
        });
        self.asked.extend(asked.take(room));
        for line in &reply.noise {
            keep(&mut self.noise, line.clone());
        }
        for line in &reply.stderr {
            keep(&mut self.stderr, line.clone());
        }
        if reply.is_gone() {
            reply.stderr.clone_from(&self.stderr);
        }
    }

    /// Ends the connection, and with it the process.
    pub(crate) async fn close(mut self) -> Closed {
        match self.wire {
            Wire::Process(mut process) => {
                process.finish(&self.bounds).await;
                Closed {
                    noise: self.noise,
                    ..process.closed
                }
            }
            Wire::Address(address) => {
                if self.speaker.session.is_some() {
                    self.speaker.is_open = false;
                    let sent = Sent::bare(Method::DELETE);
                    // A server that keeps its sessions may.
                    address.exchange(&sent, &self.speaker, &self.bounds).await;
                }
                Closed::default()
            }
        }
    }

    pub(crate) fn next_id(&mut self) -> Value {
        self.next = self.next.saturating_add(1);
        json!(self.next)
    }
}

pub(crate) fn keep(lines: &mut Vec<String>, line: String) {
    if lines.len() == LINES {
        lines.remove(0);
    }
    lines.push(line);
}
