//! Raw exchanges with a server. A probe sends any bytes and keeps everything that comes back.
//!
//! A client follows the protocol and hides what does not. A probe does neither, so a check can
//! create situations that a client never causes. Time, messages and bytes are limited.

mod exchange;
mod patience;
mod wire;

use std::{borrow::Cow, io, sync::Arc, time::Duration};

use ::http::{HeaderMap, HeaderName, Method};
use askback::{
    Revision,
    internal::{http::headers::encode, revision::Era},
    protocol::name_member,
};
use askback_host::text::head;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

pub(crate) use self::exchange::{End, Fault, ProbeRequest, Reply, Wait};
pub use self::{
    patience::{GiveUpReason, Patience},
    wire::Address,
};

use self::wire::Wire;
use crate::Program;

pub(crate) const PAGES: usize = 32;

/// After this many entries, no further page is read.
pub(crate) const ENTRIES: usize = 10_000;

/// How many lines are kept of a server's standard error, and of its invalid output.
pub(crate) const LINES: usize = 32;

const METHOD_CHARS: usize = 100;

pub(crate) const SESSION_ID: &str = "mcp-session-id";

/// How connections to a server are opened.
#[derive(Debug, Clone)]
pub enum Way {
    /// Starts a process for each connection.
    Start(Program),
    Address(Arc<Address>),
}

#[derive(Debug, Clone)]
pub struct Bounds {
    /// The limits for reading and waiting; `wire.request` is the timeout of an answer.
    pub limits: askback::Limits,
    /// The timeout for a process's start and first answer, if it is longer than `wire.request`.
    pub start: Duration,
    /// When the whole server is given up.
    pub patience: Patience,
}

#[derive(Debug)]
pub(crate) struct Probe {
    wire: Wire,
    bounds: Bounds,
    speaker: Speaker,
    is_begun: bool,
    next: u64,
    pub(crate) asked: Vec<ServerRequest>,
    stderr: Vec<String>,
    closed: Closing,
}

#[derive(Debug)]
struct Speaker {
    revision: Revision,
    /// The client's capabilities. They are sent with the handshake or with each request.
    capabilities: Value,
    session: Option<String>,
    /// Whether the handshake is done, so that each request carries the session headers.
    is_open: bool,
}

#[derive(Debug)]
pub(crate) struct ServerRequest {
    pub(crate) method: Value,
    /// The message being sent when the request arrived.
    pub(crate) during: String,
}

#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// Whether the process ended when its input was closed. `None` over HTTP.
    pub(crate) is_by_itself: Option<bool>,
    pub(crate) allowed: Duration,
    pub(crate) noise: Vec<String>,
}

impl Way {
    pub fn is_http(&self) -> bool {
        matches!(self, Self::Address(_))
    }

    /// Opens a connection for a client with these capabilities, without sending anything.
    pub(crate) fn open(
        &self,
        bounds: &Bounds,
        revision: Revision,
        capabilities: Value,
    ) -> io::Result<Probe> {
        let wire = match self {
            Self::Start(program) => {
                Wire::Process(Some(Box::new((program.child)().open(&bounds.limits)?)))
            }
            Self::Address(address) => Wire::Address(address.clone()),
        };
        Ok(Probe {
            wire,
            bounds: bounds.clone(),
            speaker: Speaker {
                revision,
                capabilities,
                session: None,
                is_open: false,
            },
            is_begun: false,
            next: 0,
            asked: Vec::new(),
            stderr: Vec::new(),
            closed: Closing::default(),
        })
    }
}

impl Probe {
    pub(crate) async fn greet(&mut self) -> Reply {
        match self.speaker.revision.era() {
            Era::Modern => self.ask("server/discover", json!({})).await,
            Era::Legacy => self.initialize(self.speaker.revision.as_str()).await,
        }
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Reply {
        let params = json!({
            "protocolVersion": version,
            "capabilities": self.speaker.capabilities,
            "clientInfo": client_info(),
        });
        let message = request(&self.next_id(), "initialize", params);
        let reply = self.send(ProbeRequest::request(&message)).await;
        self.speaker.session = reply.header(SESSION_ID).map(Cow::into_owned);
        self.speaker.is_open = !reply.result().is_null();
        reply
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Reply {
        let message = self.request(method, params);
        self.send(ProbeRequest::request(&message)).await
    }

    /// Returns a request in the form of this revision. Keeps existing members of `_meta`.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        let Speaker {
            revision,
            capabilities,
            ..
        } = &self.speaker;
        if revision.era() == Era::Modern
            && let Value::Object(mut meta) = meta(revision.as_str(), capabilities)
            && let Some(params) = params.as_object_mut()
        {
            if let Some(Value::Object(given)) = params.remove("_meta") {
                meta.extend(given);
            }
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        request(&self.next_id(), method, params)
    }

    pub(crate) async fn send(&mut self, sent: ProbeRequest) -> Reply {
        if self.bounds.patience.lost().is_some() {
            return Reply::unsent(&sent);
        }
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let is_process = matches!(self.wire, Wire::Process(_));
        let mut time = self.bounds.limits.wire.request;
        if is_first && is_process {
            time = time.max(self.bounds.start);
        }
        let mut reply = Reply {
            sent: sent.shown(),
            ..Reply::default()
        };
        let began = Instant::now();
        let exchange = self
            .wire
            .exchange(&sent, &self.speaker, &self.bounds, &mut reply);
        let end = timeout(time, exchange).await;
        reply.end = end.unwrap_or(End::Silent(time));
        reply.took = began.elapsed();
        if matches!(reply.end, End::Closed(_)) {
            let stderr = self.finish().await;
            reply.stderr.extend(stderr);
        }
        self.bounds.patience.note(&reply, is_first);
        self.note(&mut reply);
        reply
    }

    fn note(&mut self, reply: &mut Reply) {
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
            keep(&mut self.closed.noise, line.clone());
        }
        for line in &reply.stderr {
            keep(&mut self.stderr, line.clone());
        }
        if reply.is_gone() {
            reply.stderr.clone_from(&self.stderr);
        }
    }

    pub(crate) async fn close(mut self) -> Closing {
        if let (Wire::Address(_), Some(_)) = (&self.wire, &self.speaker.session) {
            self.speaker.is_open = false;
            // The server need not end the session.
            let (sent, mut reply) = (ProbeRequest::bare(Method::DELETE), Reply::default());
            let exchange = self
                .wire
                .exchange(&sent, &self.speaker, &self.bounds, &mut reply);
            let _ = timeout(self.bounds.limits.wire.request, exchange).await;
        }
        self.finish().await;
        self.closed
    }

    async fn finish(&mut self) -> Vec<String> {
        let Wire::Process(child) = &mut self.wire else {
            return Vec::new();
        };
        let Some(child) = child.take() else {
            return Vec::new();
        };
        // If waiting for the process fails, its end is unknown.
        let Ok(end) = child.end(&self.bounds.limits).await else {
            return Vec::new();
        };
        self.closed.is_by_itself = Some(end.is_by_itself);
        self.closed.allowed = self.bounds.limits.client.exit;
        end.stderr
    }

    fn next_id(&mut self) -> Value {
        self.next = self.next.saturating_add(1);
        json!(self.next)
    }
}

impl Speaker {
    fn answer(&self, asked: &Value) -> ProbeRequest {
        let method = asked["method"].as_str().unwrap_or_default();
        let capability = method.split('/').next().unwrap_or_default();
        let is_declared = self.capabilities.get(capability).is_some();
        let refusal = json!({"code": -32601, "message": "not supported by this client"});
        let (member, value) = match answer_to(&asked["method"]) {
            Some(answer) if is_declared => ("result", answer),
            _ if method == "ping" => ("result", json!({})),
            _ => ("error", refusal),
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], member: value});
        ProbeRequest::message(&answer, Wait::Nothing)
    }

    /// Returns the protocol's HTTP headers, with the changes in `sent`.
    fn headers(&self, sent: &ProbeRequest) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: Option<&str>| {
            let Ok(name) = name.parse::<HeaderName>() else {
                return;
            };
            match value.map(str::parse) {
                Some(Ok(value)) => _ = headers.insert(name, value),
                _ => _ = headers.remove(name),
            }
        };
        let is_modern = self.revision.era() == Era::Modern;
        if is_modern || self.is_open && self.revision.facts().http.version_header {
            set("mcp-protocol-version", Some(self.revision.as_str()));
        }
        set(SESSION_ID, self.session.as_deref());
        if is_modern {
            // The headers repeat the body (2026-07-28, basic/transports/streamable-http, Standard
            // Request Headers).
            let message: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
            if let Some(method) = message["method"].as_str() {
                set("mcp-method", Some(method));
                let name = name_member(method).and_then(|it| message["params"][it].as_str());
                set("mcp-name", name.map(encode).as_deref());
            }
        }
        for (name, value) in &sent.headers {
            set(name, value.as_deref());
        }
        headers
    }
}

/// In each request of 2026-07-28.
pub(crate) fn meta(version: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub(crate) fn client_info() -> Value {
    json!({"name": "askback", "version": env!("CARGO_PKG_VERSION")})
}

fn request(id: &Value, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if params != json!({}) {
        message["params"] = params;
    }
    message
}

/// Returns an answer, if this method is a question, which a server may send only to a client with
/// that capability.
pub(crate) fn answer_to(method: &Value) -> Option<Value> {
    let content = json!({"type": "text", "text": "A word."});
    match method.as_str()? {
        "elicitation/create" => Some(json!({"action": "decline"})),
        "sampling/createMessage" => {
            Some(json!({"role": "assistant", "content": content, "model": "askback"}))
        }
        "roots/list" => Some(json!({"roots": []})),
        _ => None,
    }
}

pub(crate) fn is_question(method: &Value) -> bool {
    answer_to(method).is_some()
}

pub(crate) fn keep(lines: &mut Vec<String>, line: String) {
    if lines.len() == LINES {
        lines.remove(0);
    }
    lines.push(line);
}
