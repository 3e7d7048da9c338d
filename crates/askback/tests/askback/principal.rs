//! What belongs to one principal is not available to another.

use askback::{
    Ctx, Principal, Result, Server, Tool,
    http::Service,
    keys::{Key, KeyRing, KeySource},
};
use axum::body::to_bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::asking::Seat;

async fn whoami(ctx: Ctx) -> Result<String> {
    let _: Seat = ctx.elicit("A seat?").await?.accepted()?;
    let principal = ctx.principal().map(|principal| principal.subject.clone());
    Ok(principal.unwrap_or_else(|| "nobody".to_owned()))
}

fn server() -> Server {
    let ring = KeyRing::new(Key::new(&[1; 32]));
    let builder = Server::new("agency", "1").tool(Tool::new("whoami", whoami));
    builder.keys(KeySource::Ring(ring)).build().unwrap()
}

/// No principal, and principals that differ in one field each.
fn everybody() -> Vec<Option<Principal>> {
    let alice = Principal {
        tenant: Some("acme".into()),
        issuer: Some("https://issuer.example".into()),
        subject: "alice".into(),
        client_id: Some("app".into()),
    };
    let change = |change: fn(&mut Principal)| {
        let mut other = alice.clone();
        change(&mut other);
        Some(other)
    };
    vec![
        Some(alice.clone()),
        None,
        change(|other| other.tenant = None),
        change(|other| other.tenant = Some("globex".into())),
        change(|other| other.issuer = Some("https://issuer.example/".into())),
        change(|other| other.subject = "mallory".into()),
        change(|other| other.client_id = None),
        Some(Principal::new("alice")),
    ]
}

pub(crate) async fn post(
    service: &Service,
    principal: Option<&Principal>,
    headers: &[(&str, &str)],
    message: &Value,
) -> Response<axum::body::Body> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request
        .body(axum::body::Body::from(message.to_string()))
        .unwrap();
    if let Some(principal) = principal {
        request.extensions_mut().insert(principal.clone());
    }
    service.respond(request).await.map(axum::body::Body::new)
}

pub(crate) async fn body(response: Response<axum::body::Body>) -> Value {
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

const STATELESS: [(&str, &str); 3] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "whoami"),
];

// Shows BP-42, EL-17, EL-26, MR-08.
#[tokio::test]
async fn a_sealed_state_opens_for_its_principal_only() {
    let service = server().http().service();
    let mut params = json!({
        "name": "whoami",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    let everybody = everybody();
    for owner in &everybody {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let asked = body(post(&service, owner.as_ref(), &STATELESS, &call).await).await;
        params["requestState"] = asked["result"]["requestState"].clone();
        let requests = asked["result"]["inputRequests"].as_object().unwrap();
        let answers = requests.keys().map(|key| {
            let answer = json!({"action": "accept", "content": {"window": true}});
            (key.clone(), answer)
        });
        params["inputResponses"] = Value::Object(answers.collect());
        let retry = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        for other in &everybody {
            let answered = body(post(&service, other.as_ref(), &STATELESS, &retry).await).await;
            if other == owner {
                let subject = owner.as_ref().map_or("nobody", |owner| &owner.subject);
                assert_eq!(answered["result"]["content"][0]["text"], subject);
            } else {
                assert_eq!(answered["error"]["code"], -32602, "{answered}");
            }
        }
        params["requestState"].take();
        params["inputResponses"].take();
    }
}

// Shows BP-40, BP25-01, BP25-04, EL-26, EL25-09, EL25-10.
#[tokio::test]
async fn a_session_is_there_for_its_principal_only() {
    let service = server().http().service();
    let everybody = everybody();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    }});
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for owner in &everybody {
        let opened = post(&service, owner.as_ref(), &[], &hello).await;
        let id = opened.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        for other in &everybody {
            let headers = [("mcp-session-id", &*id)];
            let status = post(&service, other.as_ref(), &headers, &ping)
                .await
                .status();
            assert_eq!(status, if other == owner { 200 } else { 404 });
        }
    }
}

#[test]
fn a_principal_is_not_printed() {
    let printed = format!("{:?}", everybody());
    for secret in ["alice", "acme", "issuer.example"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
