use std::net::SocketAddr;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The stateless era, answered with JSON.
    Json,
    /// The stateless era, answered with an event stream.
    Events,
    /// A session of 2025-11-25.
    Session,
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "modern, JSON",
            Self::Events => "modern, SSE",
            Self::Session => "session",
        }
    }

    fn accept(self) -> &'static str {
        match self {
            Self::Json | Self::Session => "application/json, text/event-stream",
            Self::Events => "text/event-stream",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Json | Self::Events => "2026-07-28",
            Self::Session => "2025-11-25",
        }
    }
}

pub(super) fn call(way: Way, tool: &str, more: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {"message": "Hello, world!"}});
    if way != Way::Session {
        params["_meta"] = meta();
    }
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more.clone());
    }
    json!({"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": params})
}

pub(super) fn listen() -> Value {
    let params = json!({"_meta": meta(), "notifications": {"toolsListChanged": true}});
    json!({"jsonrpc": "2.0", "id": 18, "method": "subscriptions/listen", "params": params})
}

pub(super) fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "load", "version": "1.0.0"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub(super) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub(super) fn post(address: SocketAddr, way: Way, session: Option<&str>, body: &Value) -> Vec<u8> {
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: {}\r\n",
        way.accept()
    );
    let method = body["method"].as_str();
    if method != Some("initialize") {
        head += &format!("mcp-protocol-version: {}\r\n", way.version());
    }
    if way != Way::Session
        && let Some(method) = method
    {
        head += &format!("mcp-method: {method}\r\n");
        if let Some(name) = body["params"]["name"].as_str() {
            head += &format!("mcp-name: {name}\r\n");
        }
    }
    if let Some(session) = session {
        head += &format!("mcp-session-id: {session}\r\n");
    }
    let body = body.to_string();
    head += &format!("content-length: {}\r\n\r\n{body}", body.len());
    head.into_bytes()
}

pub(super) fn bare(method: &str, address: SocketAddr, session: Option<&str>) -> Vec<u8> {
    let mut head = format!(
        "{method} /mcp HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n\
         mcp-protocol-version: 2025-11-25\r\n"
    );
    if let Some(session) = session {
        head += &format!("mcp-session-id: {session}\r\n");
    }
    head += "\r\n";
    head.into_bytes()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    })
}
