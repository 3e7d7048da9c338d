//! Servers of the stateless era.

use std::sync::Arc;

use askback::{
    client::{ClientError, Event},
    protocol::SubscriptionFilter,
};
use serde_json::json;
use tokio::sync::Notify;

use super::{
    Hosted, Piece, Reply, Scripted, Server, accept, builder, call, connect, connect_as, event,
    modern, said,
};

// Shows HT-06, HT-07, HT-08, HT-09, HT-20, HT-21, HT-26, HT-46, HT-47, BA-42.
#[tokio::test]
async fn each_request_is_a_post_with_the_headers_that_mirror_it() {
    let server = Server::start(|asked, _| modern(asked)).await;
    let client = connect(&server).await.unwrap();
    assert!(call(&client, "reserve").await.unwrap().contains("done"));
    assert_eq!(server.whats(), ["server/discover", "tools/call"]);
    for asked in server.asked() {
        assert_eq!((&*asked.method, &*asked.path), ("POST", "/mcp"));
        assert_eq!(
            asked.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), Some(asked.what()));
        assert_eq!(asked.header("mcp-session-id"), None);
        let version = &asked.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version, "2026-07-28");
    }
    assert_eq!(server.last("server/discover").header("mcp-name"), None);
    assert_eq!(
        server.last("tools/call").header("mcp-name"),
        Some("reserve")
    );
    client.close().await;
    // No session, so no DELETE.
    assert_eq!(server.whats(), ["server/discover", "tools/call"]);
}

/// Checks the result of a call that is answered with these chunks of an event stream.
async fn check(pieces: impl Fn(&str) -> Vec<Vec<u8>> + Send + Sync + 'static, expected: &str) {
    let server = Server::start(move |asked, _| match asked.what() {
        "tools/call" => {
            let response = asked.response(said("Grüße 🌍"));
            pieces(&response)
                .into_iter()
                .fold(Reply::events(""), |reply, piece| {
                    reply.then(Piece::Chunk(piece))
                })
        }
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let outcome = match call(&client, "t").await {
        Ok(result) if result.contains("Grüße 🌍") => "answered".to_owned(),
        Ok(result) => result,
        Err(error) => error.to_string(),
    };
    assert_eq!(outcome, expected);
}

// Shows HT-13.
#[tokio::test]
async fn streams_are_read_however_they_are_cut_and_written() {
    let whole = |text: String| vec![text.into_bytes()];
    check(move |it| whole(event(it)), "answered").await;
    // Byte by byte, so that characters and line ends are split.
    check(
        |it| {
            event(it)
                .replace('\n', "\r\n")
                .bytes()
                .map(|byte| vec![byte])
                .collect()
        },
        "answered",
    )
    .await;
    check(
        move |it| whole(format!("\u{feff}data:{it}\r\r")),
        "answered",
    )
    .await;
    check(
        move |it| whole(format!(": hello\n\n:\r\n\r\n{}", event(it))),
        "answered",
    )
    .await;
    check(
        move |it| whole(format!("id: 1\ndata:\n\nretry: 5\n\n{}", event(it))),
        "answered",
    )
    .await;
    check(
        move |it| whole(format!("id: a\0b\ndata: {it}\n\n")),
        "answered",
    )
    .await;
    check(
        move |it| whole(format!("event: ping\ndata: {{}}\n\n{}", event(it))),
        "answered",
    )
    .await;
    check(
        move |it| {
            let (start, end) = it.split_at(it.find(',').unwrap() + 1);
            whole(format!("data: {start}\ndata: {end}\n\n"))
        },
        "answered",
    )
    .await;
    check(
        move |it| whole(format!("data: not json\n\n{}", event(it))),
        "answered",
    )
    .await;
    // The event is incomplete.
    check(
        move |it| whole(format!("data: {it}\n")),
        "the server went away: its stream of events ended",
    )
    .await;
    check(
        move |_| vec![],
        "the server went away: its stream of events ended",
    )
    .await;
}

// Shows HT-15, PA-02.
#[tokio::test]
async fn what_comes_before_the_response_is_heard() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => {
            let token = &asked.body["params"]["_meta"]["progressToken"];
            let progress = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1, "message": "half"},
            });
            let strange = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
            Reply::events(&event(&progress.to_string()))
                .and(&event(strange))
                .and(&event(&asked.response(said("done"))))
                .then(Piece::Hang)
        }
        _ => modern(asked),
    })
    .await;
    let host = Scripted::new(|_| panic!("nobody asks"));
    let client = connect_as(&server, builder(None).host(host.clone()))
        .await
        .unwrap();
    call(&client, "t").await.unwrap();
    let heard = host.heard();
    assert!(matches!(&heard[0], Event::Progress { message: Some(said), .. } if said == "half"));
    assert!(
        matches!(&heard[1], Event::Note(note) if note.contains("the request `ping`")),
        "{heard:?}"
    );
    assert_eq!(server.whats(), ["server/discover", "tools/call"]);
    client.close().await;
}

// Shows HT-18.
#[tokio::test]
async fn a_request_is_cancelled_by_hanging_up() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::events(": working\n\n").then(Piece::Hang),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let (other, cancelled) = (client.clone(), Arc::new(Notify::new()));
    let calling = tokio::spawn(async move { call(&other, "t").await });
    server.until("tools/call", 1).await;
    calling.abort();
    server.until_hung_up("tools/call").await;
    assert_eq!(server.whats(), ["server/discover", "tools/call"]);
    drop(cancelled);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_hung_up_on() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::events(": working\n\n").then(Piece::Hang),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let timeout = std::time::Duration::from_millis(20);
    let error = call(&client.with_timeout(timeout), "t").await.unwrap_err();
    assert_eq!(error, ClientError::TimedOut(timeout));
    server.until_hung_up("tools/call").await;
    assert_eq!(server.whats(), ["server/discover", "tools/call"]);
}

// Shows HT-10.
#[tokio::test]
async fn questions_are_answered_in_a_request_of_their_own() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => {
            let answers = &asked.body["params"]["inputResponses"];
            let result = if answers.is_null() {
                json!({"resultType": "input_required", "requestState": "s", "inputRequests": {"seat": {
                    "method": "elicitation/create", "params": {"message": "Which seat?", "requestedSchema": {
                        "type": "object", "properties": {"seat": {"type": "string"}}}}}}})
            } else {
                said(answers["seat"]["content"]["seat"].as_str().unwrap())
            };
            Reply::events(&event(&asked.response(result)))
        }
        _ => modern(asked),
    })
    .await;
    let host = Scripted::new(|_| accept(json!({"seat": "12A"})));
    let client = connect_as(&server, builder(None).host(host)).await.unwrap();
    assert!(call(&client, "t").await.unwrap().contains("12A"));
    assert_eq!(
        server.last("tools/call").body["params"]["requestState"],
        "s"
    );
}

#[tokio::test]
async fn a_round_that_carries_its_state_is_sent_again_once() {
    let server = Server::start(|asked, before| match (asked.what(), before) {
        ("tools/call", 0) => {
            let waits = json!({"resultType": "input_required", "requestState": "s"});
            Reply::json(200, asked.response(waits))
        }
        ("tools/call", 1) => Reply::events(": working\n\n").then(Piece::Break),
        ("tools/call", _) => Reply::json(200, asked.response(said("done"))),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert!(call(&client, "t").await.unwrap().contains("done"));
    let calls = server.asked();
    let ids: Vec<_> = calls[1..]
        .iter()
        .map(|asked| asked.body["id"].clone())
        .collect();
    assert_eq!(ids, [json!(2), json!(3), json!(4)]);
    assert_eq!(calls[3].body["params"]["requestState"], "s");
}

#[tokio::test]
async fn a_call_that_may_have_had_its_effect_is_not_sent_again() {
    for reply in [
        || Reply::events(": working\n\n").then(Piece::Break),
        || Reply::json(200, "{\"jsonrpc\"").then(Piece::Break),
    ] {
        let server = Server::start(move |asked, _| match asked.what() {
            "tools/call" => reply(),
            _ => modern(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        let error = call(&client, "t").await.unwrap_err();
        assert!(matches!(error, ClientError::Crashed(_)), "{error:?}");
        assert_eq!(server.whats(), ["server/discover", "tools/call"]);
    }
}

#[tokio::test]
async fn a_subscription_that_breaks_off_is_opened_again() {
    let server = Server::start(|asked, before| match asked.what() {
        "subscriptions/listen" => {
            let subscription = json!({"io.modelcontextprotocol/subscriptionId": asked.body["id"]});
            let said = |method: &str| {
                event(&json!({
                    "jsonrpc": "2.0", "method": method,
                    "params": {"notifications": {"toolsListChanged": true}, "_meta": subscription},
                }).to_string())
            };
            let begun = Reply::events(&said("notifications/subscriptions/acknowledged"));
            match before {
                0 => begun.then(Piece::Break),
                _ => begun
                    .and(":\n\n")
                    .and(&said("notifications/tools/list_changed"))
                    .then(Piece::Hang),
            }
        }
        _ => modern(asked),
    })
    .await;
    let (told, changed) = tokio::sync::mpsc::unbounded_channel();
    let builder = builder(None).on_event(move |event| told.send(event).unwrap_or_default());
    let client = connect_as(&server, builder).await.unwrap();
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        ..SubscriptionFilter::default()
    };
    let subscription = client.listen(filter).await.unwrap();
    let mut changed = changed;
    while changed.recv().await.unwrap() != Event::ToolsChanged {}
    server.until("subscriptions/listen", 2).await;
    drop(subscription);
    server.until_hung_up("subscriptions/listen").await;
    client.close().await;
}

#[tokio::test]
async fn bad_answers_end_the_call_and_say_why() {
    #[track_caller]
    fn is(error: &ClientError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }
    type Answer = fn(&super::Asked) -> Reply;
    // 200 characters of the body.
    const LONG_BODY: &str = "the server answered with HTTP status 500: Internal Server Error: \
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    let cases: [(Answer, &str); 17] = [
        (
            |_| Reply::empty(202),
            "the server answered with HTTP status 202: a request was not answered",
        ),
        (
            |_| Reply::empty(502),
            "the server answered with HTTP status 502: Bad Gateway",
        ),
        (
            |_| Reply::empty(404),
            "the server answered with HTTP status 404: Not Found",
        ),
        (
            |_| Reply::json(429, r#"{"detail": "slow down"}"#).header("Retry-After", "30"),
            r#"the server answered with HTTP status 429: Too Many Requests (Retry-After: 30): {"detail": "slow down"}"#,
        ),
        (
            |_| {
                Reply::empty(503)
                    .header("Content-Type", "text/plain")
                    .and("no\nroom\u{1b}[0m \n")
            },
            r"the server answered with HTTP status 503: Service Unavailable: no\nroom\u{1b}[0m",
        ),
        (
            |_| {
                Reply::empty(502)
                    .header("Content-Type", "text/html")
                    .and("<html>")
            },
            "the server answered with HTTP status 502: Bad Gateway: an HTML page",
        ),
        (
            |_| Reply::empty(500).and("{"),
            "the server answered with HTTP status 500: Internal Server Error: {",
        ),
        (|_| Reply::json(500, vec![b'x'; 5000]), LONG_BODY),
        (
            |_| {
                Reply::empty(200)
                    .header("Content-Type", "text/html")
                    .and("<html>")
            },
            "the server answered with HTTP status 200: the answer is neither JSON nor events: an HTML page",
        ),
        (
            |_| Reply::json(200, "{"),
            "the server broke the protocol: its answer cannot be read: the message is not JSON: it ends too early",
        ),
        (
            |_| Reply::json(200, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
            "the server broke the protocol: its answer cannot be read: it is not a response to the request",
        ),
        (
            |_| Reply::json(200, vec![b' '; (4 << 20) + 1]),
            "a message of the server is larger than 4194304 bytes, the limit `wire.message_bytes`",
        ),
        (
            |_| Reply::events("data: ").and(&" ".repeat((4 << 20) + 100)),
            "a message of the server is larger than 4194304 bytes, the limit `wire.message_bytes`",
        ),
        (
            |_| Reply::empty(200).header("X-Large", "x".repeat(70_000)),
            "the server broke the protocol: its headers are longer than the 65536 bytes accepted here",
        ),
        (
            |asked| Reply::json(500, asked.error(-32603, json!(null))),
            "the server answered: no (-32603)",
        ),
        (
            |_| {
                Reply::json(
                    400,
                    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}"#,
                )
            },
            "the server answered: bad (-32602)",
        ),
        (
            |_| Reply::empty(401).header("WWW-Authenticate", "Bearer x=\"y\""),
            "the server answered with HTTP status 401: the client is not authorized",
        ),
    ];
    for (answer, expected) in cases {
        let server = Server::start(move |asked, _| match asked.what() {
            "tools/call" => answer(asked),
            _ => modern(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        is(&call(&client, "t").await.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn redirections_are_followed_at_home_only() {
    let server = Server::start(|asked, _| match (asked.what(), &*asked.path) {
        ("server/discover", _) => modern(asked),
        (_, "/mcp") => Reply::empty(308).header("Location", "/moved"),
        (_, "/moved") => Reply::empty(307).header("Location", "./again"),
        (_, "/again") => modern(asked),
        _ => Reply::empty(404),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert!(call(&client, "t").await.unwrap().contains("done"));
    assert_eq!(server.last("tools/call").header("mcp-name"), Some("t"));

    for (status, target, expected) in [
        (
            307,
            "https://evil.test/mcp?secret",
            "it redirects to https://evil.test/mcp, which is not followed; connect there if that is the server",
        ),
        (
            302,
            "/elsewhere",
            "it redirects to http://HOST/elsewhere, which is not followed; connect there if that is the server",
        ),
        (307, "http://[", "it redirects, but not to a URL"),
    ] {
        let server = Server::start(move |asked, _| match asked.what() {
            "tools/call" => Reply::empty(status).header("Location", target),
            _ => modern(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        let error = call(&client, "t").await.unwrap_err();
        let host = server
            .url
            .trim_start_matches("http://")
            .trim_end_matches("/mcp");
        let why = expected.replace("HOST", host);
        assert_eq!(error, ClientError::Http { status, why });
    }
    // The password would be sent unencrypted.
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => {
            let host = asked.header("host").unwrap();
            let home = format!("http://me:secret@{host}/mcp");
            Reply::empty(307).header("Location", &home)
        }
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let error = call(&client, "t").await.unwrap_err();
    let why = "its URL holds a name or a password".to_owned();
    assert_eq!(error, ClientError::Unreachable(why));
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::empty(307).header("Location", "/mcp"),
        _ => modern(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let error = call(&client, "t").await.unwrap_err();
    assert_eq!(
        error,
        ClientError::Protocol("it redirects more than 5 times".into())
    );
}
