//! Clients over HTTP, at scripted servers.

mod eras;
mod headers;
mod hostile;
mod modern;
mod old;
pub(crate) mod server;
mod session;
#[cfg(feature = "http-server")]
mod together;
mod unanswered;
mod wire;

use std::time::Duration;

use askback::{
    Limits,
    client::{Client, ClientError},
    transport::Http,
};
use serde_json::json;

use self::server::{Asked, Piece, Reply, Server};
use super::{Hosted, Scripted, accept, builder, limits};

/// A client with short timeouts.
async fn connect(server: &Server) -> Result<Client, ClientError> {
    connect_as(server, builder(None)).await
}

async fn connect_as(
    server: &Server,
    builder: askback::client::ClientBuilder,
) -> Result<Client, ClientError> {
    let http = Http::new(&server.url).unwrap();
    builder.limits(impatient()).connect(http).await
}

fn impatient() -> Limits {
    limits(|limits| {
        limits.http.stream_retry = Duration::from_millis(1);
        limits.client.round_pause = Duration::from_millis(1);
        limits.http.stream_retry_most = Duration::from_millis(20);
    })
}

/// The default responses of a stateless server.
pub(crate) fn modern(asked: &Asked) -> Reply {
    match asked.what() {
        "server/discover" => Reply::json(
            200,
            asked.response(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}},
            })),
        ),
        "tools/call" => Reply::json(200, asked.response(said("done"))),
        "tools/list" => Reply::json(
            200,
            asked.response(json!({"resultType": "complete", "tools": []})),
        ),
        "GET" | "DELETE" => Reply::empty(405),
        _ => Reply::json(404, asked.error(-32601, json!(null))),
    }
}

/// The default responses of a server with sessions.
pub(crate) fn session(asked: &Asked) -> Reply {
    let wish = asked.body["params"]["protocolVersion"].as_str();
    session_in(asked, wish.unwrap_or_default())
}

/// The default responses of a server that speaks only this revision.
fn session_in(asked: &Asked, revision: &str) -> Reply {
    match asked.what() {
        // Bodies hold one message each.
        _ if asked.body.is_array() => Reply::empty(400),
        "server/discover" => Reply::empty(400),
        "initialize" => {
            let result = json!({
                "protocolVersion": revision,
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "s", "version": "1"},
            });
            Reply::json(200, asked.response(result)).header("Mcp-Session-Id", "session-1")
        }
        "tools/call" => Reply::json(200, asked.response(said("done"))),
        "GET" => Reply::empty(405),
        "DELETE" => Reply::empty(200),
        _ => Reply::empty(202),
    }
}

/// A tool result with this text.
fn said(text: &str) -> serde_json::Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// The outcome of a tool call, as text.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, ClientError> {
    let result = client.call_tool(tool, ()).await?;
    Ok(result.raw.get().to_owned())
}
