//! Servers that try to make a client fail, wait or use up memory.

use std::time::{Duration, Instant};

use askback::{
    Limits,
    client::{Client, ClientError, Event},
};
use serde_json::{Value, json};

use super::{
    super::{Hosted, Scripted, builder, limits},
    Asked, Piece, Reply, Server, call, connect, connect_as, event, modern, said, session,
};

async fn outcome(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> String {
    let server = Server::start(move |asked, _| match asked.what() {
        "tools/call" => answer(asked),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    match call(&client, "t").await {
        Ok(result) if result.contains("done") => "done".to_owned(),
        Ok(result) => format!("{:.40}", result),
        Err(error) => error.to_string(),
    }
}

/// The response to a call, as an event.
fn done(asked: &Asked) -> String {
    event(&asked.response(said("done")))
}

/// A message other than the response, as an event.
fn other(message: Value) -> String {
    let mut message = message;
    message["jsonrpc"] = json!("2.0");
    event(&message.to_string())
}

#[tokio::test]
async fn unrelated_messages_have_no_effect() {
    type Before = fn(&Asked) -> String;
    let cases: [Before; 7] = [
        // A response twice, and then another response with the same id.
        |asked| done(asked) + &done(asked) + &other(json!({"id": asked.body["id"], "result": {}})),
        // Responses with ids that were never used, or are long answered.
        |_| other(json!({"id": 9_999_999, "result": {"content": []}})),
        |_| other(json!({"id": 1, "result": {"supportedVersions": [], "capabilities": {}}})),
        |asked| other(json!({"id": format!("{}-again", asked.body["id"]), "result": {}})),
        // Notifications that the client did not ask for.
        |_| {
            other(json!({"method": "notifications/cancelled", "params": {"requestId": 77}}))
                + &other(json!({"method": "notifications/cancelled", "params": {"requestId": "x"}}))
                + &other(json!({"method": "notifications/cancelled"}))
        },
        |asked| {
            let id = &asked.body["id"];
            // Only the client may cancel a call.
            other(json!({"method": "notifications/cancelled", "params": {"requestId": id}}))
                + &other(
                    json!({"method": "notifications/progress", "params": {"progressToken": 77, "progress": 1}}),
                )
                + &other(
                    json!({"method": "notifications/progress", "params": {"progressToken": id, "progress": -1e308}}),
                )
                + &other(
                    json!({"method": "notifications/subscriptions/acknowledged", "params": {
                    "notifications": {"toolsListChanged": true},
                    "_meta": {"io.modelcontextprotocol/subscriptionId": id}}}),
                )
        },
        |_| format!("retry: 0\nid: {}\n\n", "7".repeat(100)),
    ];
    for before in cases {
        let answered = outcome(move |asked| Reply::events(&(before(asked) + &done(asked)))).await;
        assert_eq!(answered, "done");
    }
}

#[tokio::test]
async fn what_cannot_be_an_answer_ends_the_call() {
    let result =
        |result: Value| outcome(move |asked| Reply::json(200, asked.response(result.clone())));
    let broke = "the server broke the protocol: ";
    let unknown = result(json!({"resultType": "surprise", "content": []})).await;
    assert!(
        unknown.starts_with(&format!("{broke}its answer cannot be read")),
        "{unknown}"
    );
    let text = outcome(|asked| {
        let id = asked.body["id"].to_string();
        Reply::events(&(other(json!({"id": id, "result": {}})) + &done(asked)))
    });
    let text = text.await;
    let wrong = format!("{broke}its response has the id ");
    assert!(
        text.starts_with(&wrong) && text.ends_with(" as a text"),
        "{text}"
    );
    let empty = result(json!({"resultType": "input_required"})).await;
    assert_eq!(
        empty,
        format!(
            "{broke}its answer cannot be read: a result that asks has `inputRequests` or `requestState`"
        )
    );
    // Endless rounds without a question.
    let endless = result(json!({"resultType": "input_required", "requestState": "s"})).await;
    assert_eq!(
        endless,
        "the server asked for more than 10 rounds; the call was given up"
    );
    // Nested more deeply than the parser allows.
    let deep = |member: &'static str| {
        outcome(move |asked| {
            let deep = "[".repeat(500_000) + &"]".repeat(500_000);
            let result = format!(r#"{{"resultType":"complete","content":[],"{member}":{deep}}}"#);
            let id = &asked.body["id"];
            Reply::json(
                200,
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            )
        })
    };
    assert_eq!(
        deep("x").await,
        r#"{"resultType":"complete","content":[],"x"#
    );
    for member in ["structuredContent", "_meta", "isError"] {
        let outcome = deep(member).await;
        let is_known = outcome.starts_with(broke) || outcome.starts_with(r#"{"resultType""#);
        assert!(is_known, "{member}: {outcome}");
    }
}

#[tokio::test]
async fn a_long_retry_delay_from_the_server_is_not_waited_for() {
    for status in [429, 503] {
        let begun = Instant::now();
        let error =
            outcome(move |_| Reply::empty(status).header("Retry-After", "4294967295")).await;
        assert!(error.contains(&format!("HTTP status {status}")), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test]
async fn a_redirection_to_itself_is_followed_a_few_times() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::empty(307).header("Location", "/mcp"),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert_eq!(
        call(&client, "t").await.unwrap_err().to_string(),
        "the server broke the protocol: it redirects more than 5 times"
    );
    assert_eq!(server.whats().len(), 1 + 1 + 5);
}

#[tokio::test]
async fn the_session_is_the_one_that_was_opened() {
    for (id, expected) in [
        // Values that `HeaderValue` rejects are tested below. It accepts these.
        (
            "é".to_owned(),
            Some("the id of its session holds characters it must not"),
        ),
        (
            "a\tb".to_owned(),
            Some("the id of its session holds characters it must not"),
        ),
        (
            String::new(),
            Some("the id of its session holds characters it must not"),
        ),
        (
            "x".repeat(70_000),
            Some("its headers are longer than the 65536 bytes accepted here"),
        ),
        ("x".repeat(1 << 20), None),
        ("a\u{1}b".to_owned(), None),
    ] {
        let shown: String = id.chars().take(5).collect();
        let server = Server::start(move |asked, _| match asked.what() {
            "initialize" => {
                Reply::json(200, asked.response(json!({}))).header("Mcp-Session-Id", id.clone())
            }
            _ => session(asked),
        })
        .await;
        let error = connect(&server).await.unwrap_err().to_string();
        match expected {
            Some(expected) => assert!(error.contains(expected), "{shown:?}: {error}"),
            None => assert!(!error.is_empty()),
        }
    }
    // Later responses name other values, which do not belong to this client.
    let server = Server::start(|asked, before| match asked.what() {
        "tools/call" => session(asked).header("Mcp-Session-Id", format!("other-{before}")),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    for _ in 0..2 {
        call(&client, "t").await.unwrap();
        assert_eq!(
            server.last("tools/call").header("mcp-session-id"),
            Some("session-1")
        );
    }
    client.close().await;
    assert_eq!(
        server.last("DELETE").header("mcp-session-id"),
        Some("session-1")
    );
}

#[tokio::test]
async fn a_stream_that_says_nothing_is_opened_ever_more_slowly() {
    const OPENED: usize = 11;
    let server = Server::start(|asked, _| match asked.what() {
        "GET" => Reply::events("retry: 0\n\n: nothing\n\n"),
        _ => session(asked),
    })
    .await;
    let slow = limits(|limits| limits.client.round_pause = Duration::from_millis(1));
    let http = askback::transport::Http::new(&server.url).unwrap();
    let client = builder(None).limits(slow).connect(http).await.unwrap();
    server.until("GET", 1).await;
    let begun = Instant::now();
    server.until("GET", OPENED).await;
    // The pauses are 1, 2, 4 … milliseconds, one second in all. The test may have seen the first
    // one late.
    let least = Duration::from_millis(500);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    drop(client);
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_nothing_behind_that_waits() {
    // The handshake falls back to HTTP+SSE, whose stream the server never begins.
    let server = Server::start(|asked, _| match asked.what() {
        "server/discover" => Reply::empty(400),
        "initialize" => Reply::empty(405),
        _ => Reply::silence(),
    })
    .await;
    let connecting = connect(&server);
    tokio::select! {
        connected = connecting => panic!("{connected:?}"),
        () = server.until("GET", 1) => {}
    }
    server.until_hung_up("GET").await;
}

#[tokio::test]
async fn tools_that_are_left_out_are_told_a_few_at_a_time() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/list" => {
            let bad = |number: usize| {
                let name = "n".repeat(1000) + &number.to_string();
                let schema = json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": ""}}});
                json!({"name": name, "inputSchema": schema})
            };
            let tools: Vec<Value> = (0..1000).map(bad).collect();
            let page = json!({"resultType": "complete", "tools": tools});
            Reply::json(200, asked.response(page))
        }
        _ => modern(asked),
    })
    .await;
    let host = Scripted::new(|_| panic!("nobody asks"));
    let client = connect_as(&server, builder(None).host(host.clone()))
        .await
        .unwrap();
    assert!(client.tools().await.unwrap().is_empty());
    client.close().await;
    let heard = host.heard();
    let notes = heard.iter().map(|event| match event {
        Event::Note(note) => note.as_str(),
        other => panic!("{other:?}"),
    });
    let notes: Vec<&str> = notes.collect();
    let told = Limits::default().client.malformed_reports as usize;
    assert_eq!(notes.len(), told + 1);
    assert!(notes.iter().all(|note| note.chars().count() <= 500));
    assert_eq!(notes[told], "984 more tools were left out");
}

#[tokio::test]
async fn the_stored_header_annotations_are_limited() {
    let tool = |name: &str| {
        json!({"name": name, "inputSchema": {
            "type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}})
    };
    let (one, two) = (tool("one"), tool("two"));
    let least = one.to_string().len();
    let pages = [one, two];
    // One page each, so that each list stays within its limit.
    let server = Server::start(move |asked, _| match asked.what() {
        "tools/list" => {
            let number = usize::from(!asked.body["params"]["cursor"].is_null());
            let page = json!({"tools": [pages[number]]}).to_string();
            let id = &asked.body["id"];
            Reply::json(
                200,
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{page}}}"#),
            )
        }
        _ => modern(asked),
    })
    .await;
    let http = askback::transport::Http::new(&server.url).unwrap();
    let tight = limits(|limits| limits.client.list_bytes = 2 * least - 1);
    let client = builder(None).limits(tight).connect(http).await.unwrap();
    client.tools_page(None).await.unwrap();
    client.tools_page(Some("2".to_owned())).await.unwrap();
    let mirrored = async |client: &Client, tool: &str| {
        let given = json!({"a": "x"});
        client.call_tool(tool, given).await.unwrap();
        let asked = server.last("tools/call");
        asked.header("mcp-param-a").map(str::to_owned)
    };
    assert_eq!(mirrored(&client, "one").await.as_deref(), Some("x"));
    assert_eq!(mirrored(&client, "two").await, None);
}

#[tokio::test]
async fn a_stream_without_end_ends_with_the_time_of_its_call() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => (0..1000)
            .fold(Reply::events(""), |reply, _| {
                reply.and(": on\n\nevent: x\ndata: y\n\n")
            })
            .then(Piece::Hang),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let timeout = Duration::from_millis(50);
    let error = call(&client.with_timeout(timeout), "t").await.unwrap_err();
    assert_eq!(error, ClientError::TimedOut(timeout));
    server.until_hung_up("tools/call").await;
}
