//! Malformed and hostile use of sockets.

use std::time::Duration;

use askback::Limits;
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use super::{
    Stage,
    client::stateless,
    serving::{HEADERS, Serving, call, calling, hello, soon},
};

/// A message whose headers do not matter.
fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\n{HEADERS}Mcp-Method: tools/call\r\nMcp-Name: hello\r\n\
         Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

// Shows HT25-01.
#[tokio::test]
async fn bodies_that_are_no_message_are_refused() {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 256 << 10;
    let server = Serving::start(Stage::default().builder().limits(limits)).await;
    let good = call("hello");
    let twice = |key: &str| good.replacen('{', &format!("{{{key},"), 1);
    let in_params = |key: &str| good.replace(r#""params":{"#, &format!(r#""params":{{{key},"#));
    let in_meta = |key: &str| good.replace(r#""_meta":{"#, &format!(r#""_meta":{{{key},"#));
    let cases = [
        ("nothing", String::new()),
        ("no end", good[..good.len() - 1].to_owned()),
        ("too much", format!("{good}}}")),
        ("two", format!("{good}{good}")),
        ("deep arrays", "[".repeat(200_000)),
        ("deep objects", r#"{"a":"#.repeat(20_000)),
        (
            "deep metadata",
            in_meta(&format!(
                r#""x":{}{}"#,
                "[".repeat(9_000),
                "]".repeat(9_000)
            )),
        ),
        ("two ids", twice(r#""id":2"#)),
        ("two methods", twice(r#""method":"tools/list""#)),
        (
            "two methods in other letters",
            twice(r#""\u006dethod":"tools/list""#),
        ),
        ("two params", twice(r#""params":{}"#)),
        ("two names", in_params(r#""name":"panics""#)),
        (
            "two names in other letters",
            in_params(r#""n\u0061me":"panics""#),
        ),
        ("two _metas", in_params(r#""_meta":{}"#)),
        (
            "two versions",
            in_meta(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#),
        ),
        (
            "a lone surrogate",
            in_params(r#""x":"\ud800""#).replace("hello", r"\ud800"),
        ),
        ("a number", "1e999999".to_owned()),
    ];
    for (name, body) in cases {
        let said = server.says(post(&body)).await;
        assert!(said.starts_with("HTTP/1.1 400"), "{name}: {said}");
        assert!(said.contains(r#""error":{"code":-32"#), "{name}: {said}");
    }
    let mut broken = post(&good).into_bytes();
    let at = broken.len() - 3;
    broken[at] = 0xff;
    let said = server.says(broken).await;
    assert!(said.starts_with("HTTP/1.1 400"), "no UTF-8: {said}");
    server.assert_well().await;
}

#[tokio::test]
async fn too_much_is_refused_before_it_is_read() {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 64 << 10;
    limits.http.header_bytes = 16 << 10;
    limits.http.headers = 20;
    let server = Serving::start(Stage::default().builder().limits(limits)).await;
    let start = format!("POST /mcp HTTP/1.1\r\n{HEADERS}Connection: close\r\n");
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let many: String = (0..30).map(|at| format!("X-{at}: 1\r\n")).collect();
    let cases = [
        (
            "a length",
            format!("{start}Content-Length: 999999999999\r\n\r\n"),
            "413",
        ),
        (
            "more than a length",
            format!("{start}Content-Length: 99999999999999999999999\r\n\r\n"),
            "400",
        ),
        ("a body", post(&" ".repeat(65 << 10)), "413"),
        (
            "a body in pieces",
            format!(
                "{start}Transfer-Encoding: chunked\r\n\r\n{}",
                chunk.repeat(40)
            ),
            "413",
        ),
        ("headers", hello(&many), "431"),
        (
            "a header",
            hello(&format!("X-Long: {}\r\n", "x".repeat(64 << 10))),
            "431",
        ),
        (
            "a path",
            format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)),
            "4",
        ),
    ];
    for (name, request, status) in cases {
        let said = server.says(request).await;
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status}")),
            "{name}: {said}"
        );
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_head_has_no_more_bytes_than_the_limit() {
    for most in [1 << 10, 16 << 10, Limits::default().http.header_bytes] {
        let mut limits = Limits::default();
        limits.http.header_bytes = most;
        let server = Serving::start(Stage::default().builder().limits(limits)).await;
        let end = "\r\n\r\n".len();
        for (over, status) in [(0, "200"), (1, "431"), (most / 2, "431")] {
            let padded =
                |long: usize| hello(&format!("Connection: close\r\nX: {}\r\n", "x".repeat(long)));
            let bare = padded(0).find("\r\n\r\n").unwrap() + end;
            let said = server.says(padded(most + over - bare)).await;
            assert!(
                said.starts_with(&format!("HTTP/1.1 {status}")),
                "{most} and {over}: {said}"
            );
        }
    }
}

// Shows HT-02, HT-03.
#[tokio::test]
async fn hosts_and_origins_of_others_are_refused() {
    let server = Serving::start(Stage::default().builder()).await;
    let port = server.addr.port();
    let send = async |host: &str, origin: &str| {
        let hosts = host.split('|').filter(|host| !host.is_empty());
        let hosts: String = hosts.map(|host| format!("Host: {host}\r\n")).collect();
        let origins = origin.split('|').filter(|origin| !origin.is_empty());
        let origins: String = origins
            .map(|origin| format!("Origin: {origin}\r\n"))
            .collect();
        let request = hello("Connection: close\r\n");
        let request = request.replacen("Host: localhost\r\n", &format!("{hosts}{origins}"), 1);
        let said = server.says(request).await;
        said.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let mine = format!("127.0.0.1:{port}");
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8000", &mine] {
        assert_eq!(send(host, "").await, "200", "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost.",
        "127.1",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "127.0.0.01",
        "[::ffff:127.0.0.1]",
        "[::1%25lo]",
        "[::]",
        "::1",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:80@evil",
        "localhost:0",
        "localhost:080",
        "localhost:",
        "localhost:99999",
        "localhost, evil.example",
        "localhost evil.example",
        "local\u{fb01}host",
        "xn--localhost",
        "",
        "localhost|localhost",
        "localhost|evil.example",
        "evil.example|localhost",
        "http://localhost",
        "localhost/",
    ] {
        let status = send(host, "").await;
        assert!(["400", "403"].contains(&&*status), "{host}: {status}");
    }
    for origin in [
        "http://localhost",
        "https://localhost:3000",
        "http://127.0.0.1:1",
        "http://[::1]",
    ] {
        assert_eq!(send("localhost", origin).await, "200", "{origin}");
    }
    for origin in [
        "null",
        "http://evil.example",
        "https://localhost.evil.example",
        "http://localhost.",
        "file://",
        "http://localhost@evil.example",
        "http://localhost/",
        "HTTP://LOCALHOST",
        "ws://localhost",
        "localhost",
        "http://localhost http://evil.example",
        "http://localhost|http://localhost",
        "http://localhost|http://evil.example",
        "*",
    ] {
        assert_eq!(send("localhost", origin).await, "403", "{origin}");
    }
    // The form of request target that proxies get contains a host too.
    for (target, status) in [
        ("http://localhost/mcp", "200"),
        ("http://evil.example/mcp", "403"),
    ] {
        let request = hello("Connection: close\r\n").replacen("/mcp", target, 1);
        let said = server.says(request).await;
        assert_eq!(said.split(' ').nth(1), Some(status), "{target}");
    }
    server.assert_well().await;
}

// Shows HT-01.
#[tokio::test]
async fn there_is_one_path() {
    let server = Serving::start(Stage::default().builder()).await;
    for (path, status) in [
        ("/mcp", "200"),
        ("/mcp?a=b", "200"),
        ("/", "404"),
        ("/mcp/", "404"),
        ("//mcp", "404"),
        ("/MCP", "404"),
        ("/mcp%2f", "404"),
        ("/%6dcp", "404"),
        ("/x/../mcp", "404"),
        ("/mcp;a", "404"),
    ] {
        let request = hello("Connection: close\r\n").replacen("/mcp", path, 1);
        let said = server.says(request).await;
        assert_eq!(said.split(' ').nth(1), Some(status), "{path}: {said}");
    }
    for line in [
        "OPTIONS * HTTP/1.1",
        "CONNECT localhost:80 HTTP/1.1",
        "TRACE /mcp HTTP/1.1",
    ] {
        let said = server
            .says(format!(
                "{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ))
            .await;
        assert!(said.starts_with("HTTP/1.1 4"), "{line}: {said}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn nothing_is_smuggled() {
    let server = Serving::start(Stage::default().builder()).await;
    // If it were read as a request, the response would be 404.
    let hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let length = hidden.len();
    let start = format!("POST /mcp HTTP/1.1\r\n{HEADERS}");
    let cases = [
        (
            "two lengths",
            format!("{start}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{hidden}"),
        ),
        (
            "a list of lengths",
            format!("{start}Content-Length: 0, {length}\r\n\r\n{hidden}"),
        ),
        (
            "a signed length",
            format!("{start}Content-Length: +{length}\r\n\r\n{hidden}"),
        ),
        (
            "a length below zero",
            format!("{start}Content-Length: -1\r\n\r\n{hidden}"),
        ),
        (
            "a length in hex",
            format!("{start}Content-Length: 0x0\r\n\r\n{hidden}"),
        ),
        (
            "a space before a colon",
            format!("{start}Content-Length : {length}\r\n\r\n{hidden}"),
        ),
        (
            "a folded header",
            format!("{start}X-A: b\r\n Content-Length: {length}\r\n\r\n{hidden}"),
        ),
        (
            "no known encoding",
            format!("{start}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "chunked not last",
            format!("{start}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a bare return",
            format!("{start}X-A: b\rContent-Length: {length}\r\n\r\n{hidden}"),
        ),
        ("a zero byte", format!("{start}X-A: b\0\r\n\r\n{hidden}")),
        (
            "a chunk of bad size",
            format!("{start}Transfer-Encoding: chunked\r\n\r\nzz\r\n{hidden}"),
        ),
        (
            "a chunk too long",
            format!("{start}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{hidden}"),
        ),
        (
            "a chunk with no end",
            format!("{start}Transfer-Encoding: chunked\r\n\r\n1\r\nxx{hidden}"),
        ),
    ];
    for (name, request) in cases {
        let said = server.says(request).await;
        assert!(!said.contains("not found"), "{name}: {said}");
        assert!(!said.starts_with("HTTP/1.1 200"), "{name}: {said}");
    }
    // If a request has both a length and chunks, the chunks count, and the connection is closed.
    let body = call("hello");
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let both = format!(
        "{start}Mcp-Method: tools/call\r\nMcp-Name: hello\r\nContent-Length: 5\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}{hidden}"
    );
    let said = server.says(both).await;
    assert!(!said.contains("not found"), "{said}");
    server.assert_well().await;
}

#[tokio::test]
async fn other_ways_to_send_a_request_are_understood() {
    let server = Serving::start(Stage::default().builder()).await;
    let mut socket = server.connect().await;
    socket
        .send(hello("").repeat(3) + &hello("Connection: close\r\n"))
        .await;
    let said = socket.rest().await;
    assert_eq!(
        said.matches("HTTP/1.1 200").count(),
        4,
        "one after another: {said}"
    );

    let old = hello("").replacen("HTTP/1.1", "HTTP/1.0", 1);
    let said = server.says(old).await;
    assert!(
        said.starts_with("HTTP/1.0 200") && said.contains("Hello!"),
        "{said}"
    );

    let text = "caf\u{e9} \u{1f600}";
    let params = json!({"name": "echoes", "arguments": {"text": text}});
    let body = stateless("tools/call", params).to_string();
    let start =
        format!("POST /mcp HTTP/1.1\r\n{HEADERS}Mcp-Method: tools/call\r\nMcp-Name: echoes\r\n");
    let mut socket = server.connect().await;
    let more = "Transfer-Encoding: chunked\r\nTrailer: X-A\r\nConnection: close\r\n\r\n";
    socket.send(format!("{start}{more}")).await;
    for byte in body.as_bytes() {
        socket
            .send([&b"1\r\n"[..], &[*byte], &b"\r\n"[..]].concat())
            .await;
    }
    socket
        .send("0\r\nX-A: trailer\r\nMcp-Name: panics\r\n\r\n")
        .await;
    let said = socket.rest().await;
    assert!(said.contains(text), "byte for byte: {said}");

    let mut socket = server.connect().await;
    let length = body.len();
    let more =
        format!("Expect: 100-continue\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    socket.send(format!("{start}{more}")).await;
    socket.until("HTTP/1.1 100 Continue\r\n\r\n").await;
    socket.send(body).await;
    assert!(socket.rest().await.contains(text));

    for nonsense in [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\0\x01",
        "\r\n\r\n\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
    ] {
        server.says(nonsense).await;
    }
    server.assert_well().await;
}

#[tokio::test]
async fn the_slow_are_cut_off() {
    let mut limits = Limits::default();
    limits.http.header_read = Duration::from_millis(100);
    limits.http.body_read = Duration::from_millis(100);
    let server = Serving::start(Stage::default().builder().limits(limits)).await;
    let whole = hello("");
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    for cut in [0, 1, 20, head.len() - 1] {
        let said = server.says(&head[..cut]).await;
        assert!(!said.contains("200"), "{cut}: {said}");
    }
    for cut in [0, 1, body.len() - 1] {
        let said = server.says(format!("{head}\r\n\r\n{}", &body[..cut])).await;
        assert!(said.starts_with("HTTP/1.1 408"), "{cut}: {said}");
    }
    // An idle connection is closed too.
    let said = server.says(&whole).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    server.assert_well().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_cut_off() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.http.write_stall = Duration::from_millis(100);
    let server = Serving::start(stage.builder().limits(limits)).await;
    let arguments = json!({"lines": usize::MAX, "bytes": 64 << 10, "result": 1});
    let meta = json!({"progressToken": 1});
    let params = json!({"name": "floods", "arguments": arguments, "_meta": meta});
    let body = stateless("tools/call", params).to_string();
    let length = body.len();
    let mut socket = server.connect().await;
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{HEADERS}Mcp-Method: tools/call\r\nMcp-Name: floods\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    socket.send(request).await;
    // The handler never ends by itself.
    stage.until((1, 0, 1)).await;
    server.assert_well().await;
}

#[tokio::test]
async fn a_client_that_disconnects_does_not_affect_others() {
    let stage = Stage::default();
    let server = Serving::start(stage.builder()).await;
    let whole = calling("waits", "");
    for cut in (0..whole.len()).step_by(13) {
        let mut socket = server.connect().await;
        socket.send(&whole[..cut]).await;
    }
    assert_eq!(stage.handlers().0, 0);
    for at in 1..=5 {
        let mut socket = server.connect().await;
        socket.send(&whole).await;
        stage.until((at, 0, at - 1)).await;
        drop(socket);
        stage.until((at, 0, at)).await;
    }
    // The client disconnects in the middle of its stream.
    let mut socket = server.connect().await;
    socket.send(&whole).await;
    socket.until("text/event-stream").await;
    drop(socket);
    stage.until((6, 0, 6)).await;
    server.assert_well().await;
}

#[tokio::test]
async fn more_connections_than_the_limit_wait() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.http.connections = 2;
    let server = Serving::start(stage.builder().limits(limits)).await;
    let mut waiting = Vec::new();
    for at in 1..=2 {
        let mut socket = server.connect().await;
        socket.send(calling("waits", "")).await;
        stage.until((at, 0, 0)).await;
        waiting.push(socket);
    }
    let mut third = server.connect().await;
    third.send(hello("Connection: close\r\n")).await;
    let early = timeout(Duration::from_millis(100), third.more()).await;
    assert!(early.is_err(), "there is no room for it yet");
    drop(waiting.pop());
    assert!(third.rest().await.contains("Hello!"));
    stage.go_on();
    waiting[0].until("It was worth the wait.").await;
}

#[tokio::test]
async fn connections_that_wait_give_way_to_new_ones() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.http.connections = 3;
    let server = Serving::start(stage.builder().limits(limits)).await;
    let mut busy = server.connect().await;
    busy.send(calling("waits", "")).await;
    stage.until((1, 0, 0)).await;
    let mut idle = server.connect().await;
    idle.send(hello("")).await;
    idle.until("Hello!").await;
    let mut begun = server.connect().await;
    begun.send(&hello("")[..30]).await;
    // The connections that have waited longest are closed first, whether a request has begun or
    // not.
    server.assert_well().await;
    idle.rest().await;
    let mut third = server.connect().await;
    third.send(hello("")).await;
    third.until("Hello!").await;
    server.assert_well().await;
    assert_eq!(begun.rest().await, "");
    stage.go_on();
    busy.until("It was worth the wait.").await;
}

#[tokio::test]
async fn heads_that_do_not_end_give_way_to_others() {
    let mut limits = Limits::default();
    limits.server.kept_bytes = 1 << 20;
    limits.http.header_read = Duration::from_secs(60 * 60);
    let room = limits.server.kept_bytes / limits.server.owner_share;
    let server = Serving::start(Stage::default().builder().limits(limits)).await;
    let head = format!("POST /mcp HTTP/1.1\r\nX-Long: {}", "x".repeat(50_000));
    let fit = room / head.len();
    let mut sockets = JoinSet::new();
    for _ in 0..8 {
        let mut socket = server.connect().await;
        socket.send(&head).await;
        sockets.spawn(async move { socket.ends().await });
    }
    for _ in fit + 1..8 {
        soon(sockets.join_next()).await;
    }
    // A complete head keeps its connection, however long it is.
    let long = format!("X-Long: {}\r\nConnection: close\r\n", "x".repeat(50_000));
    for _ in 0..8 {
        let said = server.says(hello(&long)).await;
        assert!(said.contains("Hello!"), "{said}");
        server.assert_well().await;
    }
}

/// An unfinished body does not block other connections, and neither does a response that is being
/// read.
#[tokio::test]
async fn requests_that_do_not_end_give_way() {
    let mut limits = Limits::default();
    limits.http.connections = 2;
    limits.http.body_read = Duration::from_secs(60 * 60);
    let server = Serving::start(Stage::default().builder().limits(limits)).await;
    let whole = hello("");
    let mut sockets = JoinSet::new();
    for _ in 0..4 {
        let mut socket = server.connect().await;
        socket.send(&whole[..whole.len() - 1]).await;
        sockets.spawn(async move { socket.ends().await });
        server.assert_well().await;
    }
    for _ in 1..4 {
        soon(sockets.join_next()).await;
    }
}
