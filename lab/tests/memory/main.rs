//! The memory that a server uses for its clients: all allocated bytes are counted, and compared with the server's own
//! estimate.
//!
//! This is a single test, because the bytes of the whole process are counted.

use std::{alloc::System, net::SocketAddr, time::Duration};

use askback::{Ctx, Form, Json, Limits, Result, Server, Tool, protocol::TaskSupport};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MOST: usize = 16 << 20;

/// The memory of a connection in addition to its client's data: hyper's buffers, and its task.
const CONNECTION: usize = 40 << 10;

/// The bytes that may vary: tables grow, but do not shrink.
const STRAY: usize = 1 << 20;

fn live() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

#[derive(Form)]
struct Seat {
    /// By the window?
    window: bool,
}

async fn asks(ctx: Ctx, _: Json<Value>) -> Result<String> {
    let seat: Seat = ctx.elicit("A seat?").await?.accepted()?;
    Ok(seat.window.to_string())
}

async fn repeats(ctx: Ctx, arguments: Json<Value>) -> Result<String> {
    let seat: Seat = ctx
        .elicit(format!("{}?", arguments.0["text"]))
        .await?
        .accepted()?;
    Ok(seat.window.to_string())
}

async fn works(_: Json<Value>) -> Result<String> {
    std::future::pending().await
}

async fn makes() -> Result<String> {
    Ok("x".repeat(100_000))
}

/// More than the buffers of sockets take.
async fn says() -> Result<String> {
    Ok("x".repeat(6_000_000))
}

struct Connection(TcpStream);

impl Connection {
    async fn open(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    async fn send(&mut self, bytes: &[u8]) {
        // A client that is refused early need not read everything.
        let _ = self.0.write_all(bytes).await;
    }

    async fn until(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        let reading = async {
            while !String::from_utf8_lossy(&read).contains(end) {
                if self.0.read_buf(&mut read).await.unwrap_or(0) == 0 {
                    break;
                }
            }
        };
        timeout(Duration::from_secs(30), reading)
            .await
            .expect("an answer");
        String::from_utf8(read).unwrap()
    }
}

/// A prepared request, because formatting it takes longer than serving it.
struct Post {
    /// The headers for requests without a session.
    headers: String,
    body: String,
}

impl Post {
    fn new(message: &Value) -> Self {
        let method = message["method"].as_str().unwrap();
        let headers = match message["params"]["name"].as_str() {
            _ if method == "initialize" => String::new(),
            None => format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n"),
            Some(name) => format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n"
            ),
        };
        let body = message.to_string();
        Self { headers, body }
    }

    fn alone(&self) -> Vec<u8> {
        self.bytes(&format!("{}Connection: close\r\n", self.headers))
    }

    fn kept_alive(&self) -> Vec<u8> {
        self.bytes(&self.headers)
    }

    fn within(&self, session: &str) -> Vec<u8> {
        self.bytes(&format!(
            "Mcp-Session-Id: {session}\r\nConnection: close\r\n"
        ))
    }

    fn bytes(&self, headers: &str) -> Vec<u8> {
        let (body, length) = (&self.body, self.body.len());
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

fn initialize(client: Value) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": client,
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn guest() -> Value {
    json!({"name": "guest", "version": "1"})
}

fn call(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn stateless(method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    call(method, params)
}

/// Opens a session on a new connection. Returns its id, or `None` if there is no room.
async fn session(addr: SocketAddr, initialize: &Post) -> Option<String> {
    let mut connection = Connection::open(addr).await;
    connection.send(&initialize.alone()).await;
    let said = connection.until("\r\n\r\n").await;
    let (_, id) = said.split_once("mcp-session-id: ")?;
    Some(id.split("\r\n").next()?.to_owned())
}

/// Opens a session of a client that can be asked, if there is room.
async fn asked_session(addr: SocketAddr) -> Option<String> {
    let session = session(addr, &Post::new(&initialize(guest()))).await?;
    let mut connection = Connection::open(addr).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let initialized = Post::new(&initialized).within(&session);
    connection.send(&initialized).await;
    connection.until("\r\n\r\n").await;
    Some(session)
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sessions,
    TalkativeSessions,
    /// Questions for a client that has not sent `initialized`, which wait for that.
    WithheldQuestions,
    OpenQuestions,
    LargeArguments,
    /// Calls whose question repeats their arguments, such as `Delete {path}?`.
    SuspendedCalls,
    Tasks,
    Results,
    Bodies,
    ListensAfterLargeRequests,
    LargeFilters,
    /// Connections that stay open after the response to a large request.
    IdleAfterLargeRequests,
    /// Responses that a client only reads the head of.
    UnreadAnswers,
    UnreadAnswersOfSessions,
}

impl Kind {
    /// Whether there are more attempts than there is room for.
    fn is_large(self) -> bool {
        matches!(
            self,
            Self::LargeArguments
                | Self::Tasks
                | Self::Results
                | Self::Bodies
                | Self::LargeFilters
                | Self::UnreadAnswers
                | Self::UnreadAnswersOfSessions
        )
    }

    fn count(self) -> usize {
        match self {
            Self::Sessions => 300,
            Self::TalkativeSessions => 3,
            Self::WithheldQuestions | Self::OpenQuestions => 100,
            Self::LargeArguments | Self::Tasks | Self::Results => 200,
            Self::SuspendedCalls => 45,
            Self::Bodies => 40,
            Self::ListensAfterLargeRequests
            | Self::UnreadAnswers
            | Self::UnreadAnswersOfSessions => 10,
            Self::LargeFilters => 60,
            Self::IdleAfterLargeRequests => 100,
        }
    }

    fn post(self) -> Post {
        let text = || "x".repeat(100_000);
        let message = match self {
            Self::Sessions => initialize(guest()),
            Self::TalkativeSessions => {
                let icons = vec![json!({"src": ""}); 250_000];
                initialize(json!({"name": "guest", "version": "1", "icons": icons}))
            }
            Self::WithheldQuestions | Self::OpenQuestions => {
                call("tools/call", json!({"name": "asks", "arguments": {}}))
            }
            Self::LargeArguments => {
                let params = json!({"name": "asks", "arguments": {"text": text()}});
                call("tools/call", params)
            }
            Self::SuspendedCalls => {
                let params = json!({"name": "repeats", "arguments": {"text": "x".repeat(65_000)}});
                call("tools/call", params)
            }
            Self::Tasks => {
                let params = json!({"name": "works", "arguments": {"text": text()}});
                stateless("tools/call", params)
            }
            Self::Results => stateless("tools/call", json!({"name": "makes"})),
            Self::IdleAfterLargeRequests => {
                let meta = json!({"example/text": "x".repeat(200_000)});
                stateless("tools/list", json!({"_meta": meta}))
            }
            Self::UnreadAnswers => stateless("tools/call", json!({"name": "says"})),
            Self::UnreadAnswersOfSessions => call("tools/call", json!({"name": "says"})),
            Self::Bodies => call("ping", json!({"text": "x".repeat(3_900_000)})),
            Self::ListensAfterLargeRequests => {
                let meta = json!({"example/text": "x".repeat(3_900_000)});
                let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
                stateless("subscriptions/listen", params)
            }
            Self::LargeFilters => {
                let uris: Vec<_> = (0..64)
                    .map(|at| format!("{at}{}", "x".repeat(4000)))
                    .collect();
                let params = json!({"notifications": {"resourceSubscriptions": uris}});
                stateless("subscriptions/listen", params)
            }
        };
        Post::new(&message)
    }

    async fn one_more(self, addr: SocketAddr, post: &Post, open: &mut Vec<Connection>) {
        match self {
            Self::Sessions => {
                session(addr, post).await;
            }
            Self::TalkativeSessions => assert!(session(addr, post).await.is_some()),
            Self::WithheldQuestions => {
                let Some(session) = session(addr, &Post::new(&initialize(guest()))).await else {
                    return;
                };
                let mut connection = Connection::open(addr).await;
                connection.send(&post.within(&session)).await;
                let said = connection.until("\n\n").await;
                assert!(!said.contains("elicitation/create"), "{said}");
            }
            Self::OpenQuestions | Self::LargeArguments | Self::SuspendedCalls => {
                let Some(session) = asked_session(addr).await else {
                    return;
                };
                let mut connection = Connection::open(addr).await;
                connection.send(&post.within(&session)).await;
                let said = connection.until("elicitation/create").await;
                let is_refused = said.starts_with("HTTP/1.1 503");
                assert!(is_refused || said.contains("elicitation/create"), "{said}");
            }
            Self::Tasks | Self::Results => {
                let mut connection = Connection::open(addr).await;
                connection.send(&post.alone()).await;
                connection.until("}}").await;
            }
            Self::Bodies => {
                let mut connection = Connection::open(addr).await;
                let whole = post.alone();
                connection.send(&whole[..whole.len() - 1]).await;
                open.push(connection);
            }
            Self::IdleAfterLargeRequests => {
                let mut connection = Connection::open(addr).await;
                connection.send(&post.kept_alive()).await;
                connection.until("}}").await;
                open.push(connection);
            }
            Self::UnreadAnswers => {
                let mut connection = Connection::open(addr).await;
                connection.send(&post.alone()).await;
                connection.until("HTTP/1.1 ").await;
                open.push(connection);
            }
            Self::UnreadAnswersOfSessions => {
                let Some(session) = asked_session(addr).await else {
                    return;
                };
                let mut connection = Connection::open(addr).await;
                connection.send(&post.within(&session)).await;
                connection.until("HTTP/1.1 ").await;
                open.push(connection);
            }
            Self::ListensAfterLargeRequests | Self::LargeFilters => {
                let mut connection = Connection::open(addr).await;
                connection.send(&post.alone()).await;
                connection.until("acknowledged").await;
                open.push(connection);
            }
        }
    }
}

/// Waits until the server has read everything and freed what it no longer needs. In a single-threaded process, the
/// memory then does not change.
async fn settle() {
    let (mut before, mut same) = (live(), 0);
    while same < 20 {
        sleep(Duration::from_millis(1)).await;
        let now = live();
        same = if now == before { same + 1 } else { 0 };
        before = now;
    }
}

async fn assert_bounded(kind: Kind) {
    let mut limits = Limits::default();
    limits.server.kept_bytes = MOST;
    // A client without notifications need not wait to see that the call is running.
    limits.http.undecided = Duration::from_millis(1);
    let task = TaskSupport::Optional;
    let server = Server::new("memory", "1")
        .tool(Tool::new("asks", asks))
        .tool(Tool::new("repeats", repeats))
        .tool(Tool::new("works", works).task(task))
        .tool(Tool::new("makes", makes).task(task))
        .tool(Tool::new("says", says))
        .resource(askback::Resource::new("note://one", "one", async || {
            Ok("One.".to_owned())
        }))
        .limits(limits)
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(server.http().serve(listener));
    let first = session(addr, &Post::new(&initialize(guest()))).await;
    assert!(first.is_some(), "{kind:?}");
    let post = kind.post();
    let mut open = Vec::with_capacity(kind.count());
    settle().await;
    let before = live() - server.kept_bytes();
    for _ in 0..kind.count() {
        kind.one_more(addr, &post, &mut open).await;
    }
    settle().await;
    let (held, kept) = (live() - before, server.kept_bytes());
    assert!(kept <= MOST, "{kind:?}: {kept}");
    // The server's estimate may be slightly too low, or far too high.
    let allowed = kept + kept / 4 + open.len() * CONNECTION + STRAY;
    assert!(
        held <= allowed,
        "{kind:?}: {held} bytes are held, and {kept} said to be"
    );
    // If less was kept, the test has measured nothing.
    assert!(!kind.is_large() || kept > MOST / 2, "{kind:?}: {kept}");
    drop(open);
    serving.abort();
}

#[test]
fn what_is_held_is_what_is_said_to_be_kept() {
    for kind in [
        Kind::Sessions,
        Kind::TalkativeSessions,
        Kind::WithheldQuestions,
        Kind::OpenQuestions,
        Kind::LargeArguments,
        Kind::SuspendedCalls,
        Kind::Tasks,
        Kind::Results,
        Kind::Bodies,
        Kind::ListensAfterLargeRequests,
        Kind::LargeFilters,
        Kind::IdleAfterLargeRequests,
        Kind::UnreadAnswers,
        Kind::UnreadAnswersOfSessions,
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(assert_bounded(kind));
    }
}
