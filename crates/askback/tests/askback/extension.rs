//! Values that a layer in front of the endpoint passes to handlers.

use askback::{Principal, Result, Server, Tool, handler::Extension, http::Service, tool};
use http::{HeaderMap, HeaderValue, Request};
use serde_json::{Value, json};

use crate::principal::body;

#[derive(Clone)]
struct Tenant(&'static str);

#[tool]
async fn tenant(
    Extension(Tenant(tenant)): Extension<Tenant>,
    Extension(headers): Extension<HeaderMap>,
) -> String {
    let mut names: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    format!("{tenant}: {}", names.join(" "))
}

async fn principal(Extension(_): Extension<Principal>) -> Result<()> {
    Ok(())
}

async fn granted_headers(Extension(_): Extension<Vec<String>>) -> Result<()> {
    Ok(())
}

fn service() -> Service {
    let server = Server::new("hotel", "1")
        .tool(tenant)
        .tool(Tool::new("principal", principal))
        .tool(Tool::new("missing", granted_headers));
    server.build().unwrap().http().service()
}

fn request(headers: &[(&str, &str)], message: &Value) -> Request<axum::body::Body> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("x-request-id", "7")
        .header("authorization", "Bearer canary")
        .header("proxy-authorization", "Basic canary")
        .header("cookie", "session=canary")
        .header("dpop", "canary");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let message = axum::body::Body::from(message.to_string());
    let mut request = request.body(message).unwrap();
    let mut secret = HeaderValue::from_static("canary");
    secret.set_sensitive(true);
    request.headers_mut().insert("x-api-key", secret);
    request.extensions_mut().insert(Tenant("acme"));
    request.extensions_mut().insert(Principal::new("alice"));
    request
}

async fn call(service: &Service, tool: &str) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let response = service.respond(request(&headers, &message)).await;
    body(response.map(axum::body::Body::new)).await["result"].clone()
}

#[tokio::test]
async fn a_handler_gets_the_extensions_of_a_layer_and_no_credentials() {
    let service = service();
    let said = call(&service, "tenant").await;
    assert_eq!(
        said["content"][0]["text"],
        "acme: accept content-type host mcp-method mcp-name mcp-protocol-version x-request-id"
    );
    for tool in ["principal", "missing"] {
        let said = call(&service, tool).await;
        assert_eq!(said["isError"], true, "{tool}: {said}");
    }
}

#[tokio::test]
async fn a_session_hands_on_each_request() {
    let service = service();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let opened = service.respond(request(&[], &hello)).await;
    let session = opened.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let call =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "tenant"}});
    let response = service
        .respond(request(&[("mcp-session-id", &session)], &call))
        .await;
    let said = body(response.map(axum::body::Body::new)).await;
    assert_eq!(
        said["result"]["content"][0]["text"],
        "acme: accept content-type host x-request-id"
    );
}
