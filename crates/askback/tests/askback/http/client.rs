//! A client without sockets. Its requests go directly to the service, and time only advances while
//! a test waits.

use std::{collections::VecDeque, future::poll_fn, pin::Pin, time::Duration};

use askback::{
    Revision, Server,
    http::{Body, Service},
};
use askback_core::{
    http::sse::{Parser, SseEvent},
    limits::WireLimits,
};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body::Body as _;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

pub(crate) type Headers<'a> = Vec<(&'a str, &'a str)>;

pub(crate) const MESSAGE: [(&str, &str); 3] = [
    ("host", "localhost"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

/// Longer than any wait of a test.
const AGES: Duration = Duration::from_secs(60 * 60);

#[derive(Clone)]
pub(crate) struct Client(pub(crate) Service);

/// A response as it arrives.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Body,
    parser: Parser,
    events: VecDeque<SseEvent>,
}

impl Client {
    pub(crate) fn of(server: &Server) -> Self {
        Self(server.http().allow_http_sse().service())
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<String>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, value.as_bytes());
        }
        let request = request.body(body.into()).expect("a request");
        Response::new(self.0.respond(request).await)
    }

    /// Posts a message with these headers, in addition to the usual ones.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Response {
        let headers = [&MESSAGE[..], headers].concat();
        self.send("POST", "/mcp", &headers, message.to_string())
            .await
    }

    pub(crate) async fn get(&self, headers: &[(&str, &str)]) -> Response {
        let always = [("host", "localhost"), ("accept", "text/event-stream")];
        let headers = [&always[..], headers].concat();
        self.send("GET", "/mcp", &headers, "").await
    }

    /// Sends a request of the stateless era, with its headers.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Response {
        let message = stateless(method, params);
        let headers = mirrored(&message);
        self.post(&headers, &message).await
    }

    pub(crate) async fn open(&self, revision: Revision) -> Session {
        self.open_with(revision, json!({"elicitation": {}})).await
    }

    pub(crate) async fn open_with(&self, revision: Revision, capabilities: Value) -> Session {
        let response = self.post(&[], &hello(revision, capabilities)).await;
        assert_eq!(response.status, 200);
        let id = response.header("mcp-session-id").expect("a session");
        let session = Session {
            client: self.clone(),
            id: id.to_owned(),
            revision,
        };
        let answer = response.json().await;
        assert_eq!(answer["result"]["protocolVersion"], revision.as_str());
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&initialized).await.status, 202);
        session
    }
}

/// A client with the same interface as over standard streams. Each message is its own request, and
/// messages from any response are received.
pub(crate) struct HttpWire {
    pub(crate) client: Client,
    session: Option<Session>,
    heard: mpsc::UnboundedSender<Value>,
    hears: mpsc::UnboundedReceiver<Value>,
}

impl HttpWire {
    pub(crate) fn connect(server: &Server) -> Self {
        let (heard, hears) = mpsc::unbounded_channel();
        Self {
            client: Client::of(server),
            session: None,
            heard,
            hears,
        }
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        if message["method"] == "initialize" {
            return self.initialize(message).await;
        }
        let (session, client) = (self.session.clone(), self.client.clone());
        let (message, heard) = (message.clone(), self.heard.clone());
        tokio::spawn(async move {
            let response = match session {
                Some(session) => session.post(&message).await,
                None => client.post(&mirrored(&message), &message).await,
            };
            tell(response, heard).await;
        });
    }

    pub(crate) async fn hear(&mut self) -> Value {
        self.hears.recv().await.expect("the sender is kept here")
    }

    async fn initialize(&mut self, hello: &Value) {
        let response = self.client.post(&[], hello).await;
        let id = response.header("mcp-session-id").expect("a session");
        let revision = hello["params"]["protocolVersion"].as_str();
        self.session = Some(Session {
            client: self.client.clone(),
            id: id.to_owned(),
            revision: revision.expect("a string").parse().expect("a revision"),
        });
        tokio::spawn(tell(response, self.heard.clone()));
    }
}

async fn tell(mut response: Response, heard: mpsc::UnboundedSender<Value>) {
    // The receiver is dropped at the end of the test.
    if response.is_stream() {
        while let Some((_, message)) = response.told().await {
            let _ = heard.send(message);
        }
    } else if response.status != 202 {
        let _ = heard.send(response.json().await);
    }
}

#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) revision: Revision,
}

impl Session {
    pub(crate) fn headers(&self) -> Headers<'_> {
        let mut headers = vec![("mcp-session-id", &*self.id)];
        if self.revision.facts().http.version_header {
            headers.push(("mcp-protocol-version", self.revision.as_str()));
        }
        headers
    }

    pub(crate) async fn post(&self, message: &Value) -> Response {
        self.client.post(&self.headers(), message).await
    }

    pub(crate) async fn call(&self, id: u64, method: &str, params: Value) -> Response {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(&message).await
    }

    pub(crate) async fn answer(&self, question: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        let response = self.post(&answer).await;
        assert_eq!(response.status, 202);
        assert_eq!(response.text().await, "");
    }

    /// The GET stream, for messages that belong to no call.
    pub(crate) async fn listen(&self) -> Response {
        self.client.get(&self.headers()).await
    }

    /// The rest of a stream after this event.
    pub(crate) async fn resume(&self, last: &str) -> Response {
        let mut headers = self.headers();
        headers.push(("last-event-id", last));
        self.client.get(&headers).await
    }

    pub(crate) async fn delete(&self) -> Response {
        let mut headers = self.headers();
        headers.push(("host", "localhost"));
        self.client.send("DELETE", "/mcp", &headers, "").await
    }
}

impl Response {
    pub(crate) fn new(response: http::Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            body,
            parser: Parser::new(&WireLimits::default()),
            events: VecDeque::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The next chunk as text, or `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let bytes = self.bytes().await?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(crate) async fn bytes(&mut self) -> Option<Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await?;
        Some(frame.unwrap().into_data().unwrap())
    }

    pub(crate) async fn text(mut self) -> String {
        let mut text = String::new();
        while let Some(chunk) = self.chunk().await {
            text += &chunk;
        }
        text
    }

    /// The message of a response that is not a stream.
    pub(crate) async fn json(self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text:?}"))
    }

    /// The next event, or `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<SseEvent> {
        assert!(self.is_stream(), "no stream, but {}", self.status);
        let since = Instant::now();
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let chunk = self.chunk().await?;
            assert!(since.elapsed() < AGES, "nothing comes but signs of life");
            let mut bytes = chunk.as_bytes();
            while let Some(event) = self.parser.read(&mut bytes).unwrap() {
                self.events.push_back(event);
            }
        }
    }

    /// The next message of a stream, with its event id.
    pub(crate) async fn told(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                let message = serde_json::from_slice(&event.data).expect("JSON");
                return Some((event.id, message));
            }
        }
    }

    pub(crate) async fn message(&mut self) -> Value {
        self.told().await.expect("a message").1
    }

    /// The response to a call, as JSON or from a stream. Earlier messages are skipped.
    pub(crate) async fn answer(mut self) -> Value {
        if !self.is_stream() {
            return self.json().await;
        }
        let mut last = Value::Null;
        while let Some((_, message)) = self.told().await {
            last = message;
        }
        last
    }

    pub(crate) async fn assert_quiet(&mut self) {
        let soon = Duration::from_millis(1);
        if let Ok(event) = tokio::time::timeout(soon, self.event()).await {
            panic!("it was not quiet: {event:?}");
        }
    }

    pub(crate) async fn assert_ended(&mut self) {
        let soon = Duration::from_millis(1);
        let event = tokio::time::timeout(soon, self.event()).await;
        assert_eq!(event.expect("the stream goes on"), None);
    }

    pub(crate) fn last_event_id(&self) -> String {
        self.parser.last_event_id().expect("an id").to_owned()
    }

    pub(crate) fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }
}

pub(crate) fn hello(revision: Revision, capabilities: Value) -> Value {
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params})
}

/// A request of the stateless era. Keeps an existing `_meta`.
pub(crate) fn stateless(method: &str, mut params: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    if let (Some(meta), Some(given)) = (meta.as_object_mut(), params["_meta"].as_object()) {
        meta.extend(given.clone());
    }
    params["_meta"] = meta;
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The headers that mirror a message.
pub(crate) fn mirrored(message: &Value) -> Headers<'_> {
    let params = &message["params"];
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", message["method"].as_str().expect("a method")),
    ];
    let named = [&params["name"], &params["uri"], &params["taskId"]];
    let name = named.into_iter().find_map(Value::as_str);
    headers.extend(name.map(|name| ("mcp-name", name)));
    headers
}

pub(crate) fn hello_tool() -> Value {
    stateless("tools/call", json!({"name": "hello"}))
}
