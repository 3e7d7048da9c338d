//! Pages in browsers.

use askback::Revision;
use serde_json::json;

use super::{
    Stage,
    client::{Client, hello, hello_tool, mirrored},
};

const PAGE: (&str, &str) = ("origin", "http://localhost:6274");

#[tokio::test]
async fn a_browser_is_told_what_a_page_may_send() {
    let newest = [Revision::V2026_07_28];
    let newest = Stage::default()
        .builder()
        .revisions(newest)
        .build()
        .unwrap();
    let newest = Client::of(&newest);
    let both = Stage::default().client();
    let wishes = "content-type, mcp-protocol-version, mcp-param-region, authorization";
    let asked = [
        ("host", "localhost"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", wishes),
    ];
    for (client, methods) in [(&newest, "POST"), (&both, "POST, GET, DELETE")] {
        let headers = [&asked[..], &[PAGE]].concat();
        let response = client.send("OPTIONS", "/mcp", &headers, "").await;
        assert_eq!(response.status, 204);
        let told = |name| response.header(name);
        assert_eq!(told("access-control-allow-origin"), Some(PAGE.1));
        assert_eq!(told("access-control-allow-methods"), Some(methods));
        assert_eq!(told("access-control-allow-headers"), Some(wishes));
        assert_eq!(told("vary"), Some("origin"));
    }
    for (why, headers, status) in [
        (
            "another page",
            [&asked[..], &[("origin", "https://evil.example")]].concat(),
            403,
        ),
        (
            "a page without an origin",
            [&asked[..], &[("origin", "null")]].concat(),
            403,
        ),
        ("nobody", asked.to_vec(), 405),
        ("no question", vec![("host", "localhost"), PAGE], 405),
    ] {
        let response = both.send("OPTIONS", "/mcp", &headers, "").await;
        assert_eq!(response.status, status, "{why}");
        let allowed = response.header("access-control-allow-methods");
        assert_eq!(allowed, None, "{why}");
    }
}

#[tokio::test]
async fn a_page_may_read_answers_and_the_id_of_its_session() {
    let client = Stage::default().client();
    let call = hello_tool();
    let opening = hello(Revision::V2025_11_25, json!({}));
    for (message, headers) in [(&call, mirrored(&call)), (&opening, Vec::new())] {
        let alone = client.post(&headers, message).await;
        assert_eq!(alone.header("access-control-allow-origin"), None);
        let read = client
            .post(&[&headers[..], &[PAGE]].concat(), message)
            .await;
        assert_eq!(read.status, 200);
        assert_eq!(read.header("access-control-allow-origin"), Some(PAGE.1));
        let exposed = read.header("access-control-expose-headers");
        assert_eq!(
            exposed,
            Some("mcp-session-id, www-authenticate, dpop-nonce")
        );
    }
}
