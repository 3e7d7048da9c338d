//! What a server really holds in memory for its clients: each byte that is allocated and not freed
//! is counted, and compared with what the server says it keeps.
//!
//! It is one test, because everything in the process is counted together.

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

/// How much the server may keep.
const MOST: usize = 16 << 20;

/// What a connection may hold beside what is kept for its client: what hyper reads into, and what
/// its task needs.
const CONNECTION: usize = 160 << 10;

/// What may change by itself: tables that grow, and do not shrink.
const STRAY: usize = 1 << 20;

/// How many bytes are allocated now.
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

async fn works(_: Json<Value>) -> Result<String> {
    std::future::pending().await
}

async fn makes() -> Result<String> {
    Ok("x".repeat(100_000))
}

/// One connection of a client, which says no more than it is told to.
struct Connection(TcpStream);

impl Connection {
    async fn open(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    async fn send(&mut self, bytes: &[u8]) {
        // Who is refused early need not take all.
        let _ = self.0.write_all(bytes).await;
    }

    /// Reads until this comes, or the end.
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

/// A message with the headers of a session, or of the stateless era.
fn post(message: &Value, session: Option<&str>) -> Vec<u8> {
    let more = match session {
        Some(session) => format!("Mcp-Session-Id: {session}\r\n"),
        None if message["method"] == "initialize" => String::new(),
        None => {
            let method = message["method"].as_str().unwrap();
            let name = message["params"]["name"].as_str();
            let name = name.map(|name| format!("Mcp-Name: {name}\r\n"));
            let name = name.unwrap_or_default();
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
        }
    };
    let body = message.to_string();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}Connection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
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

/// Opens a session on a connection of its own, and gives its id, if there is room for one.
async fn session(addr: SocketAddr, client: Value) -> Option<String> {
    let mut connection = Connection::open(addr).await;
    connection.send(&post(&initialize(client), None)).await;
    let said = connection.until("\r\n\r\n").await;
    let (_, id) = said.split_once("mcp-session-id: ")?;
    Some(id.split("\r\n").next()?.to_owned())
}

/// The kinds of what is held for a client.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Sessions,
    TalkativeSessions,
    OpenQuestions,
    LargeArguments,
    Tasks,
    Results,
    Bodies,
    ListensAfterLargeRequests,
    LargeFilters,
}

impl Kind {
    /// How often it is tried: more often than there is room for, where it is large.
    fn count(self) -> usize {
        match self {
            Self::Sessions => 300,
            Self::TalkativeSessions => 3,
            Self::OpenQuestions => 100,
            Self::LargeArguments | Self::Tasks | Self::Results => 200,
            Self::Bodies => 40,
            Self::ListensAfterLargeRequests => 10,
            Self::LargeFilters => 60,
        }
    }

    async fn one_more(self, addr: SocketAddr, open: &mut Vec<Connection>) {
        let text = || "x".repeat(100_000);
        match self {
            Self::Sessions => {
                session(addr, guest()).await;
            }
            Self::TalkativeSessions => {
                let icons = vec![json!({"src": ""}); 250_000];
                let client = json!({"name": "guest", "version": "1", "icons": icons});
                assert!(session(addr, client).await.is_some());
            }
            Self::OpenQuestions | Self::LargeArguments => {
                let Some(session) = session(addr, guest()).await else {
                    return;
                };
                let large = matches!(self, Self::LargeArguments);
                let text = if large { text() } else { String::new() };
                let params = json!({"name": "asks", "arguments": {"text": text}});
                let mut connection = Connection::open(addr).await;
                let asking = post(&call("tools/call", params), Some(&session));
                connection.send(&asking).await;
                connection.until("\n\n").await;
            }
            Self::Tasks | Self::Results => {
                let params = match self {
                    Self::Tasks => json!({"name": "works", "arguments": {"text": text()}}),
                    _ => json!({"name": "makes"}),
                };
                let mut connection = Connection::open(addr).await;
                let calling = post(&stateless("tools/call", params), None);
                connection.send(&calling).await;
                connection.until("}}").await;
            }
            Self::Bodies => {
                let mut connection = Connection::open(addr).await;
                let whole = post(&call("ping", json!({"text": "x".repeat(3_900_000)})), None);
                connection.send(&whole[..whole.len() - 1]).await;
                open.push(connection);
            }
            Self::ListensAfterLargeRequests => {
                let meta = json!({"example/text": "x".repeat(3_900_000)});
                let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
                let mut connection = Connection::open(addr).await;
                let listening = post(&stateless("subscriptions/listen", params), None);
                connection.send(&listening).await;
                connection.until("acknowledged").await;
                open.push(connection);
            }
            Self::LargeFilters => {
                let uris: Vec<_> = (0..64)
                    .map(|at| format!("{at}{}", "x".repeat(4000)))
                    .collect();
                let params = json!({"notifications": {"resourceSubscriptions": uris}});
                let mut connection = Connection::open(addr).await;
                let listening = post(&stateless("subscriptions/listen", params), None);
                connection.send(&listening).await;
                connection.until("\n\n").await;
                open.push(connection);
            }
        }
    }
}

async fn assert_bounded(kind: Kind) {
    let mut limits = Limits::default();
    limits.kept_bytes = MOST;
    let task = TaskSupport::Optional;
    let server = Server::builder("memory", "1")
        .tool(Tool::new("asks", asks))
        .tool(Tool::new("works", works).task(task))
        .tool(Tool::new("makes", makes).task(task))
        .resource(askback::Resource::new("note://one", "one", async || {
            Ok("One.".to_owned())
        }))
        .limits(limits)
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(server.http().serve(listener));
    session(addr, guest()).await.expect("a first session");
    let mut open = Vec::with_capacity(kind.count());
    let before = live() - server.kept_bytes();
    for _ in 0..kind.count() {
        kind.one_more(addr, &mut open).await;
    }
    sleep(Duration::from_millis(200)).await;
    let (held, kept) = (live() - before, server.kept_bytes());
    assert!(kept <= MOST, "{kind:?}: {kept}");
    // What is said to be kept may be less than what is, by little, or by far more.
    let allowed = kept + kept / 4 + open.len() * CONNECTION + STRAY;
    assert!(
        held <= allowed,
        "{kind:?}: {held} bytes are held, and {kept} said to be"
    );
    drop(open);
    serving.abort();
}

#[test]
fn what_is_held_is_what_is_said_to_be_kept() {
    for kind in [
        Kind::Sessions,
        Kind::TalkativeSessions,
        Kind::OpenQuestions,
        Kind::LargeArguments,
        Kind::Tasks,
        Kind::Results,
        Kind::Bodies,
        Kind::ListensAfterLargeRequests,
        Kind::LargeFilters,
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(assert_bounded(kind));
    }
}
