//! A function that verifies tokens.

use askback::{
    Principal, Server, Tool,
    authorization::server::{Access, Protection, TokenError},
};
use serde_json::json;

use super::{RESOURCE, whoami};
use crate::principal::{body, post};

#[tokio::test]
async fn a_function_verifies_tokens() {
    let protection = Protection::verify_with(RESOURCE, async |token: String| match &*token {
        "alices-token" => Ok(Access::from(Principal::new("alice"))),
        "bobs-token" => Err(TokenError::Expired),
        _ => Err(TokenError::Invalid("no such token".to_owned())),
    })
    .unwrap();
    let server = Server::new("notes", "1").tool(Tool::new("whoami", whoami));
    let service = server.build().unwrap().http().protect(protection).service();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "whoami",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    for (authorization, status) in [
        (Some("Bearer alices-token"), 200),
        (Some("Bearer bobs-token"), 401),
        (Some("Bearer alices-token-"), 401),
        (None, 401),
    ] {
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "whoami"),
        ];
        headers.extend(authorization.map(|token| ("authorization", token)));
        let response = post(&service, None, &headers, &call).await;
        assert_eq!(response.status(), status, "{authorization:?}");
        if status == 200 {
            let said = body(response).await;
            let said = &said["result"]["content"][0]["text"];
            assert_eq!(*said, r#"None None alice None"#);
        }
    }
}
