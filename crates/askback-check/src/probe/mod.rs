//! Raw exchanges with a server: any bytes can be sent, and all that comes back is kept.
//!
//! A client keeps to the protocol and hides what does not. A [`Probe`] does neither, so that a command can
//! try how a server behaves where a client would never lead it. It is bounded in time, messages and
//! bytes.

mod exchange;
mod fault;
mod http;
mod message;
mod patience;
mod stdio;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use askback::Revision;
use askback::transport::WireEvent;
use askback_core::revision::Era;
use serde_json::{Value, json};

pub use exchange::{End, Exchange, Reply, Sent, Verb, Wait};
pub(crate) use exchange::{cut, read};
pub use fault::Fault;
pub use http::{Address, Site};
pub use message::{MODERN_CAPABILITIES, id_of, is_question, meta, sampled};
pub use patience::{Lost, Patience};

use self::stdio::Process;
use crate::Program;

/// The most pages of a list that are read through a probe.
pub const PAGES: usize = 32;

/// The number of entries of a list behind which no further page is read.
pub const ENTRIES: usize = 10_000;

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
pub struct Probe {
    wire: Wire,
    bounds: Bounds,
    /// The bounds on the first exchange, in which a process starts.
    first: Bounds,
    /// Whether there was an exchange.
    is_begun: bool,
    /// The revision of the messages.
    revision: Revision,
    /// The capabilities that the server is told of.
    capabilities: Value,
    /// The session over HTTP, once there is one.
    session: Option<String>,
    /// Whether the handshake is over, so that the session's headers go with each request.
    is_open: bool,
    next: u64,
    /// The answers in a row that did not come; the most where the server is gone.
    silent: u32,
    /// The requests that the server has sent, the first ones.
    asked: Vec<Asked>,
    /// The lines of the standard output that are no messages.
    noise: Vec<String>,
    /// The lines of the standard error, the last ones.
    stderr: Vec<String>,
}

/// A request of the server.
#[derive(Debug)]
pub struct Asked {
    /// As much of it as is kept: its method.
    pub outline: Value,
    /// What had been sent when it came, as text.
    pub during: String,
}

#[derive(Debug)]
enum Wire {
    Process(Box<Process>),
    Address(Address),
}

/// The end of a connection.
#[derive(Debug, Default)]
pub struct Closed {
    /// The exit code of the process.
    pub code: Option<i32>,
    /// Whether the process ended when its input did; none over HTTP.
    pub is_by_itself: Option<bool>,
    /// How long it was waited for.
    pub allowed: Duration,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
    /// The lines of its standard output that are no messages.
    pub noise: Vec<String>,
}

/// The most lines that are kept of a server's standard error, and of its noise.
pub(crate) const LINES: usize = 32;

/// The header that names a session.
const SESSION_ID: &str = "mcp-session-id";

/// How often in a row a server may be silent before it is given up.
const SILENT: u32 = 3;

impl Way {
    /// Whether it leads over HTTP.
    pub fn is_http(&self) -> bool {
        matches!(self, Self::Address(_))
    }

    /// Opens a connection, on which nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Fails where a process cannot be started.
    pub fn open(&self, bounds: &Bounds, revision: Revision) -> std::io::Result<Probe> {
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
        let mut first = bounds.clone();
        first.limits.wire.request = first.limits.wire.request.max(bounds.start);
        Ok(Probe {
            wire,
            bounds: bounds.clone(),
            first,
            is_begun: false,
            revision,
            capabilities: json!({}),
            session: None,
            is_open: false,
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
    /// The revision of the messages.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether it is over HTTP.
    pub fn is_http(&self) -> bool {
        matches!(self.wire, Wire::Address(_))
    }

    /// The id of the session over HTTP.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The requests that the server has sent so far.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// Sets the capabilities that the server is told of: with the handshake, or each request.
    pub fn set_capabilities(&mut self, capabilities: Value) {
        self.capabilities = capabilities;
    }

    /// Makes the handshake up to its answer, asking for this version.
    pub async fn initialize(&mut self, version: &str) -> Exchange {
        let info = json!({"name": "askback", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": version, "capabilities": self.capabilities, "clientInfo": info,
        });
        let id = self.next_id();
        let message = message::request(&id, "initialize", Some(params));
        let exchange = self.send(Sent::message(&message, Wait::For(id))).await;
        let session = exchange.reply.header(SESSION_ID);
        self.session = session.map(Cow::into_owned);
        self.is_open = exchange.reply.result().is_some();
        exchange
    }

    /// Ends the handshake.
    pub async fn initialized(&mut self) -> Exchange {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(Sent::message(&message, Wait::Nothing)).await
    }

    /// Sends a request as this revision writes it.
    pub async fn ask(&mut self, method: &str, params: Value) -> Exchange {
        let message = self.request(method, params);
        self.send(Sent::request(&message)).await
    }

    /// Returns a request as this revision writes it.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id();
        let mut params = params;
        if self.revision.era() == Era::Modern {
            let meta = meta(self.revision.as_str(), &self.capabilities);
            message::add_meta(&mut params, meta);
        }
        let params = (params != json!({})).then_some(params);
        message::request(&id, method, params)
    }

    /// Sends anything, and waits for what is wanted.
    pub async fn send(&mut self, sent: Sent) -> Exchange {
        if self.silent >= SILENT || self.bounds.patience.lost().is_some() {
            let why = "the server was gone before".to_owned();
            return Exchange {
                shown: sent.shown(),
                reply: Reply {
                    end: End::Unreachable(why),
                    ..Reply::default()
                },
            };
        }
        let (headers, is_http) = (self.headers(&sent), self.is_http());
        let mut reply = match &mut self.wire {
            Wire::Process(process) => {
                let answers = message::Answers {
                    capabilities: &self.capabilities,
                };
                let answer = |asked: &Value| answers.to(asked);
                let bounds = match self.is_begun {
                    true => &self.bounds,
                    false => &self.first,
                };
                process.exchange(&sent, bounds, answer).await
            }
            Wire::Address(address) => {
                let address = address.clone();
                let answer = |asked: &Value| Some(self.answer(asked));
                address
                    .exchange(&sent, &headers, &self.bounds, answer)
                    .await
            }
        };
        self.bounds.patience.note(&reply, !self.is_begun);
        self.is_begun = true;
        self.silent = match &reply.end {
            End::Silent(_) => self.silent.saturating_add(1),
            End::Closed(_) | End::Unreachable(_) if !is_http => SILENT,
            _ => 0,
        };
        let room = LINES.saturating_sub(self.asked.len());
        let asked = reply.asked.iter().map(|asked| Asked {
            outline: message::outline(asked),
            during: sent.shown(),
        });
        self.asked.extend(asked.take(room));
        for (from, to) in [
            (&reply.noise, &mut self.noise),
            (&reply.stderr, &mut self.stderr),
        ] {
            to.extend(from.iter().cloned());
            let over = to.len().saturating_sub(LINES);
            to.drain(..over);
        }
        if reply.is_gone() {
            reply.stderr.clone_from(&self.stderr);
        }
        Exchange {
            shown: sent.shown(),
            reply,
        }
    }

    /// The request over HTTP that answers one of the server, and its headers.
    fn answer(&self, asked: &Value) -> (Sent, Vec<(String, String)>) {
        let answers = message::Answers {
            capabilities: &self.capabilities,
        };
        let sent = Sent::message(&answers.to(asked), Wait::Nothing);
        let headers = self.headers(&sent);
        (sent, headers)
    }

    /// The headers of the protocol, over HTTP.
    fn headers(&self, sent: &Sent) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if !self.is_http() {
            return headers;
        }
        let is_modern = self.revision.era() == Era::Modern;
        if is_modern || self.is_open && self.revision.facts().http.version_header {
            let version = self.revision.as_str().to_owned();
            headers.push(("mcp-protocol-version".to_owned(), version));
        }
        if let Some(session) = &self.session {
            headers.push((SESSION_ID.to_owned(), session.clone()));
        }
        if is_modern {
            headers.extend(message::mirrored(&sent.body));
            headers.extend(sent.mirrored.iter().cloned());
        }
        for (name, value) in &sent.headers {
            headers.retain(|(known, _)| known != name);
            headers.extend(
                value
                    .iter()
                    .map(|value| ((*name).to_owned(), value.clone())),
            );
        }
        headers
    }

    /// Ends the connection, and with it the process.
    pub async fn close(self) -> Closed {
        match self.wire {
            Wire::Process(process) => {
                let mut closed = process.end(&self.bounds).await;
                closed.stderr.splice(0..0, self.stderr);
                closed.noise.splice(0..0, self.noise);
                closed
            }
            Wire::Address(address) => {
                if let Some(session) = self.session {
                    let headers = [(SESSION_ID.to_owned(), session)];
                    let sent = Sent::bare(Verb::Delete);
                    // A server that keeps its sessions may.
                    address
                        .exchange(&sent, &headers, &self.bounds, |_| None)
                        .await;
                }
                Closed::default()
            }
        }
    }

    fn next_id(&mut self) -> Value {
        self.next = self.next.saturating_add(1);
        json!(self.next)
    }
}
