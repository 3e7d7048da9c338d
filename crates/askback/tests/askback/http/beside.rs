//! Other services at the endpoint's address.

use askback::http::{ConnectionEnds, Guard};
use axum::{
    Router,
    extract::Request,
    response::IntoResponse,
    routing::{get, post},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Stage, serving::Serving};

/// A router that answers every request with its name, the method and the path.
fn named(name: &'static str) -> Router {
    Router::new().fallback(move |request: Request| async move {
        format!("{name}: {} {}", request.method(), request.uri())
    })
}

async fn serving() -> Serving {
    let endpoint = Stage::default().builder().build().unwrap().http();
    let forms = Router::new()
        .route(
            "/forms/echo",
            post(|body: String| async move { body.to_uppercase() }),
        )
        .route(
            "/forms/large",
            get(|| async { "x".repeat(100_000).into_response() }),
        );
    let endpoint = endpoint
        .beside("/connect/", named("outer"))
        .beside("/connect/inner", named("inner"))
        .beside("/forms", forms);
    Serving::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await
}

fn request(line: &str, body: &str) -> String {
    request_to("localhost", line, body)
}

fn request_to(host: &str, line: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_service_answers_below_its_path_and_nowhere_else() {
    let serving = serving().await;
    let cases = [
        ("GET /connect", "200", "outer: GET /connect"),
        ("GET /connect/c/1?a=b", "200", "outer: GET /connect/c/1?a=b"),
        ("POST /connect/inner", "200", "inner: POST /connect/inner"),
        ("GET /connect/inner/x", "200", "inner: GET /connect/inner/x"),
        (
            "GET /connect/innermost",
            "200",
            "outer: GET /connect/innermost",
        ),
        ("GET /connected", "404", "not found; the endpoint is /mcp"),
        ("GET /", "404", "not found; the endpoint is /mcp"),
        ("POST /mcp", "415", ""),
        (
            "POST /mcp/connect",
            "404",
            "not found; the endpoint is /mcp",
        ),
    ];
    for (line, status, says) in cases {
        let said = serving.says(request(line, "")).await;
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status}")),
            "{line}: {said}"
        );
        assert!(said.contains(says), "{line}: {said}");
    }
    let echoed = serving
        .says(request("POST /forms/echo", "to be read"))
        .await;
    assert!(echoed.ends_with("\r\n\r\nTO BE READ"), "{echoed}");
    let large = serving.says(request("GET /forms/large", "")).await;
    assert!(
        large.ends_with(&"x".repeat(100_000)),
        "{} bytes",
        large.len()
    );
}

#[tokio::test]
async fn a_service_at_the_root_gets_all_other_requests() {
    let endpoint = Stage::default().builder().build().unwrap().http();
    let endpoint = endpoint.beside("/", named("root"));
    let serving = Serving::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await;
    let said = serving.says(request("GET /a/b", "")).await;
    assert!(said.ends_with("root: GET /a/b"), "{said}");
    let said = serving.says(request("POST /mcp", "")).await;
    assert!(said.starts_with("HTTP/1.1 415"), "{said}");
}

/// With DNS rebinding, a web page could read what a service on this machine returns.
#[tokio::test]
async fn a_service_is_reached_only_under_a_host_of_the_endpoint() {
    let endpoint = Stage::default().builder().build().unwrap().http();
    let guard = Guard::default().allow_host("tools.example").unwrap();
    let endpoint = endpoint.guard(guard).beside("/", named("root"));
    let serving = Serving::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await;
    for (host, status) in [
        ("tools.example", 200),
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("evil.example", 403),
        ("tools.example.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        ("localhost\r\nhost: localhost", 403),
    ] {
        for line in ["GET /a", "POST /a"] {
            let said = serving.says(request_to(host, line, "")).await;
            let wanted = format!("HTTP/1.1 {status} ");
            assert!(said.starts_with(&wanted), "{line} at {host:?}: {said}");
        }
    }
    // The service checks origins itself, because its own pages send theirs.
    let own = "tools.example\r\norigin: https://tools.example";
    let said = serving.says(request_to(own, "POST /a", "")).await;
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    // Both host names of a request must be right.
    let line = "GET http://evil.example/a";
    let said = serving.says(request_to("tools.example", line, "")).await;
    assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
}

#[tokio::test]
async fn a_service_knows_both_ends_of_a_connection() {
    let endpoint = Stage::default().builder().build().unwrap().http();
    let ends = Router::new().fallback(|request: Request| async move {
        let ends = request.extensions().get::<ConnectionEnds>().copied();
        ends.map_or_else(String::new, |it| format!("{} to {}", it.remote, it.local))
    });
    let endpoint = endpoint.beside("/", ends);
    let serving = Serving::by(|listener, stopped| endpoint.serve_until(listener, stopped)).await;
    let mut stream = TcpStream::connect(serving.addr).await.unwrap();
    let own = stream.local_addr().unwrap();
    let asked = request("GET /", "");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(
        said.ends_with(&format!("\r\n\r\n{own} to {}", serving.addr)),
        "{said}"
    );
}
