//! The HTTP traffic that a client reports.

use askback::transport::Http;

use super::{super::wire::watched, Server, builder, call, impatient, modern, session};

#[tokio::test]
async fn requests_and_responses_are_shown_without_what_is_secret() {
    let server = Server::start(|asked, _| match asked.what() {
        "server/discover" => session(asked),
        _ => session(asked).header("Set-Cookie", "hush"),
    })
    .await;
    let (builder, seen) = watched(builder(None));
    let http = Http::new(&format!("{}?key=hush", server.url)).unwrap();
    let http = http.header("X-Api-Key", "hush").unwrap();
    let http = http.header("Authorization", "Bearer hush").unwrap();
    let client = builder.limits(impatient()).connect(http).await.unwrap();
    call(&client, "reserve").await.unwrap();
    client.close().await;
    let asked = server.last("tools/call");
    assert_eq!(asked.header("authorization"), Some("Bearer hush"));
    assert_eq!(asked.header("mcp-session-id"), Some("session-1"));

    let seen = seen.lock().unwrap();
    let whole = seen.join("\n");
    for secret in ["hush", "session-1"] {
        assert!(!whole.contains(secret), "{whole}");
    }
    let find = |parts: &[&str]| {
        let is_found = |line: &&String| parts.iter().all(|part| line.contains(part));
        let found = seen.iter().find(is_found);
        found.unwrap_or_else(|| panic!("{parts:?} is not in {whole}"))
    };
    let request = find(&[
        "Request",
        "\"POST\"",
        "\"authorization\", value: Hidden { bytes: 11 }",
    ]);
    assert!(request.contains(r#"name: "mcp-protocol-version""#) || request.contains("exchange: 0"));
    find(&[r#"name: "x-api-key", value: Hidden { bytes: 4 }"#]);
    find(&[r#"name: "content-type", value: Shown("application/json")"#]);
    find(&[
        "Response",
        "status: 200",
        r#"name: "set-cookie", value: Hidden { bytes: 4 }"#,
    ]);
    find(&["Response", "status: 400"]);
    find(&["\"DELETE\"", "message: []"]);
    find(&["received", "done"]);
}

#[tokio::test]
async fn every_request_has_one_response_and_its_number() {
    let server = Server::start(|asked, _| modern(asked)).await;
    let (builder, seen) = watched(builder(None));
    let client = super::connect_as(&server, builder).await.unwrap();
    call(&client, "reserve").await.unwrap();
    client.close().await;
    let kinds: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|line| line.split(['(', ',', ' ']).next().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "Request", "Response", "received", "Request", "Response", "received"
        ]
    );
}
