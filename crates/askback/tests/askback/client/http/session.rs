//! Servers with sessions.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use askback::{
    Revision,
    client::{ClientError, Event},
    protocol::ListRootsResult,
    transport::{Http, WireEvent},
};
use askback_core::protocol::InputResponse;
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use super::{
    Hosted, Piece, Reply, Scripted, Server, builder, call, connect, connect_as, event, impatient,
    said, session, session_in,
};

// Shows HT25-04, HT25-05, HT25-17, HT25-30, HT25-34, HT25-35, LI25-14.
#[tokio::test]
async fn the_session_is_named_in_everything_and_taken_leave_of() {
    let server = Server::start(|asked, _| session(asked)).await;
    let client = connect(&server).await.unwrap();
    assert_eq!(client.revision(), Revision::LATEST_LEGACY);
    call(&client, "t").await.unwrap();
    server.until("GET", 1).await;
    client.close().await;
    let mut whats = server.whats();
    whats.retain(|what| what != "GET");
    let expected = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "DELETE",
    ];
    assert_eq!(whats, expected);
    for asked in server.asked() {
        let before = matches!(asked.what(), "server/discover" | "initialize");
        let of_session = |value| (!before).then_some(value);
        assert_eq!(
            asked.header("mcp-session-id"),
            of_session("session-1"),
            "{asked:?}"
        );
        if !before {
            assert_eq!(
                asked.header("mcp-protocol-version"),
                Some("2025-11-25"),
                "{asked:?}"
            );
            assert_eq!(asked.header("mcp-method"), None);
        }
        let accepted = match asked.what() {
            "GET" => "text/event-stream",
            "DELETE" => "*/*",
            _ => "application/json, text/event-stream",
        };
        assert_eq!(asked.header("accept"), Some(accepted));
    }
    assert_eq!(
        server.last("initialize").header("mcp-protocol-version"),
        None
    );
}

// Shows HT25-35, HT25-36, LI25-14.
#[tokio::test]
async fn the_version_header_is_sent_where_the_revision_has_it() {
    for (revision, expected) in [
        ("2024-11-05", None),
        ("2025-03-26", None),
        ("2025-06-18", Some("2025-06-18")),
        ("2025-11-25", Some("2025-11-25")),
    ] {
        // The client asks for this revision, or asks for a newer one and gets this one.
        for wish in [Some(revision.parse().unwrap()), None] {
            let server = Server::start(move |asked, _| session_in(asked, revision)).await;
            let client = connect_as(&server, builder(wish)).await.unwrap();
            assert_eq!(client.revision().as_str(), revision);
            call(&client, "t").await.unwrap();
            assert_eq!(
                server.last("tools/call").header("mcp-protocol-version"),
                expected,
                "{revision}, asked for {wish:?}"
            );
        }
    }
}

// Shows LI25-06.
#[tokio::test]
async fn nothing_overtakes_the_message_that_opens_the_session() {
    // If the server rejects it, the waiting requests are sent all the same.
    for status in [202, 500] {
        let opened = Arc::new(Notify::new());
        let taken = Arc::clone(&opened);
        let server = Server::start(move |asked, _| match asked.what() {
            "notifications/initialized" => Reply::empty(status).after(&taken),
            _ => session(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        let caller = client.clone();
        let called = tokio::spawn(async move { call(&caller, "t").await });
        server.until("notifications/initialized", 1).await;
        // Long enough for the call to arrive if it were not delayed.
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.whats().last().unwrap(), "notifications/initialized");
        opened.notify_one();
        assert!(called.await.unwrap().unwrap().contains("done"));
        client.close().await;
    }
}

// Shows HT25-05.
#[tokio::test]
async fn questions_come_on_the_stream_and_answers_go_by_post() {
    const ROOTS: &str = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    // On the stream of the call, and on the GET stream.
    for on_call in [true, false] {
        let answered = Arc::new(Notify::new());
        let seen = Arc::clone(&answered);
        let server = Server::start(move |asked, _| match asked.what() {
            _ if asked.body.is_array() => {
                answered.notify_one();
                session(asked)
            }
            "tools/call" => {
                let first = if on_call { event(ROOTS) } else { String::new() };
                Reply::events(&first)
                    .then(Piece::Wait(Arc::clone(&answered)))
                    .and(&event(&asked.response(said("done"))))
            }
            "GET" if !on_call => Reply::events(&event(ROOTS)).then(Piece::Hang),
            "POST" => {
                answered.notify_one();
                Reply::empty(202)
            }
            _ => session(asked),
        })
        .await;
        let roots = || InputResponse::Roots(ListRootsResult::default());
        let host = Scripted::new(move |_| Ok(roots()));
        let client = connect_as(&server, builder(None).host(host)).await.unwrap();
        assert!(call(&client, "t").await.unwrap().contains("done"));
        let answer = server.last("POST");
        assert_eq!(answer.body["id"], "q");
        assert_eq!(answer.body["result"], json!({"roots": []}));
        assert_eq!(answer.header("mcp-session-id"), Some("session-1"));
        drop(seen);
        client.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_reached_no_server_is_sent_again() {
    const ROOTS: &str =
        "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n";
    let crash = Arc::new(Notify::new());
    let crashed = Arc::clone(&crash);
    let first = Server::start(move |asked, _| match asked.what() {
        "tools/call" => Reply::events(ROOTS)
            .then(Piece::Wait(Arc::clone(&crashed)))
            .then(Piece::Break),
        // No earlier connection is reused.
        "GET" => Reply::empty(405).header("Connection", "close"),
        _ => session(asked).header("Connection", "close"),
    })
    .await;
    let (address, url) = (first.address(), first.url.clone());
    let first = Mutex::new(Some(first));
    let host = Scripted::new(move |_| {
        // The server crashes while the user sees the question.
        drop(first.lock().unwrap().take());
        crash.notify_one();
        Ok(InputResponse::Roots(ListRootsResult::default()))
    });
    // The answer is sent again, because the first attempt failed.
    let again = Arc::new(Notify::new());
    let (telling, sent) = (Arc::clone(&again), AtomicBool::new(false));
    let builder = builder(None).host(host).on_wire(move |event| {
        let is_answer = matches!(event, WireEvent::Request(request) if is_answer(request.message));
        if is_answer && sent.swap(true, Ordering::Relaxed) {
            telling.notify_one();
        }
    });
    let mut limits = impatient();
    limits.http.stream_unreachable = PATIENCE;
    limits.http.stream_resumptions = u32::MAX;
    let builder = builder.limits(limits);
    let client = builder.connect(Http::new(&url).unwrap()).await.unwrap();
    let calling = tokio::spawn(async move { call(&client, "t").await });
    again.notified().await;
    let answered = Arc::new(Notify::new());
    let second = Server::start_at(&address, move |asked, _| match asked.what() {
        "GET" if asked.header("last-event-id") == Some("1") => {
            let response = json!({"jsonrpc": "2.0", "id": 3, "result": said("resumed")});
            Reply::events("")
                .then(Piece::Wait(Arc::clone(&answered)))
                .and(&event(&response.to_string()))
        }
        "POST" => {
            answered.notify_one();
            Reply::empty(202)
        }
        _ => Reply::empty(405),
    })
    .await;
    let called = timeout(PATIENCE, calling).await.expect("it goes on");
    assert!(called.unwrap().unwrap().contains("resumed"));
    assert_eq!(second.last("POST").body["id"], "q");
}

#[tokio::test]
async fn an_answer_that_a_gateway_could_not_pass_on_is_sent_again() {
    const ROOTS: &str =
        "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n";
    const REFUSALS: usize = 3;
    for status in [502, 503, 504] {
        let answered = Arc::new(Notify::new());
        let taken = Arc::clone(&answered);
        let server = Server::start(move |asked, before| match asked.what() {
            "tools/call" => {
                let response =
                    json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": said("done")});
                Reply::events(ROOTS)
                    .then(Piece::Wait(Arc::clone(&answered)))
                    .and(&event(&response.to_string()))
            }
            // An answer has no method.
            "POST" if before < REFUSALS => Reply::empty(status),
            "POST" => {
                taken.notify_one();
                Reply::empty(202)
            }
            _ => session(asked),
        })
        .await;
        let host = Scripted::new(|_| Ok(InputResponse::Roots(ListRootsResult::default())));
        let mut limits = impatient();
        // Each attempt is later than this, but the gateway responds.
        limits.http.stream_unreachable = Duration::ZERO;
        let client = connect_as(&server, builder(None).host(host).limits(limits)).await;
        let client = client.unwrap();
        let called = timeout(PATIENCE, call(&client, "t")).await;
        assert!(
            called.expect("it goes on").unwrap().contains("done"),
            "{status}"
        );
        assert_eq!(server.last("POST").body["id"], "q");
        client.close().await;
    }
}

fn is_answer(message: &[u8]) -> bool {
    serde_json::from_slice(message).is_ok_and(|message: Value| message["id"] == "q")
}

// Shows HT25-16.
#[tokio::test]
async fn a_call_is_cancelled_by_a_message() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::events(": working\n\n").then(Piece::Hang),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let other = client.clone();
    let calling = tokio::spawn(async move { call(&other, "t").await });
    server.until("tools/call", 1).await;
    calling.abort();
    server.until("notifications/cancelled", 1).await;
    let id = &server.last("tools/call").body["id"];
    assert_eq!(
        &server.last("notifications/cancelled").body["params"]["requestId"],
        id
    );
    client.close().await;
}

// Shows HT25-10, HT25-25, HT25-49.
#[tokio::test]
async fn a_broken_answer_is_taken_up_where_it_broke_off() {
    let server = Server::start(|asked, before| match (asked.what(), before) {
        ("tools/call", _) => Reply::events("id: 1\nretry: 3\ndata:\n\n").then(Piece::Break),
        // The first GET is the stream that the client listens on.
        ("GET", _) => match asked.header("last-event-id") {
            None => Reply::empty(405),
            Some("1") => Reply::events("id: 2\ndata:\n\n"),
            Some("2") if before < 3 => Reply::empty(503),
            Some("2") => {
                let response = json!({"jsonrpc": "2.0", "id": 3, "result": said("resumed")});
                Reply::events(&event(&response.to_string()))
            }
            Some(other) => panic!("nobody gave the id {other}"),
        },
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    server.until("GET", 1).await;
    assert!(call(&client, "t").await.unwrap().contains("resumed"));
    assert_eq!(
        server.last("GET").header("mcp-session-id"),
        Some("session-1")
    );
    client.close().await;
}

#[tokio::test]
async fn a_stream_that_begins_and_breaks_off_again_is_taken_up_as_often_as_it_does() {
    const BREAKS: usize = 12;
    let begins = || Reply::events("id: 1\nretry: 3\ndata:\n\n").then(Piece::Break);
    let server = Server::start(move |asked, before| match asked.what() {
        "tools/call" => begins(),
        "GET" if asked.header("last-event-id").is_none() => Reply::empty(405),
        "GET" if before <= BREAKS => begins(),
        "GET" => {
            let response = json!({"jsonrpc": "2.0", "id": 3, "result": said("resumed")});
            Reply::events(&event(&response.to_string()))
        }
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    server.until("GET", 1).await;
    assert!(call(&client, "t").await.unwrap().contains("resumed"));
    client.close().await;
}

/// Checks how many times a refused call is sent, and how it ends.
async fn check_refused(status: u16, retry_after: Option<&'static str>, sent: usize, ends: &str) {
    let server = Server::start(move |asked, before| match asked.what() {
        "tools/call" if before < 2 => match retry_after {
            Some(seconds) => Reply::empty(status).header("Retry-After", seconds),
            None => Reply::empty(status),
        },
        "tools/call" => {
            let id = &asked.body["id"];
            let response = json!({"jsonrpc": "2.0", "id": id, "result": said("begun")});
            Reply::json(200, response.to_string())
        }
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let ended = match call(&client, "t").await {
        Ok(result) => result,
        Err(error) => error.to_string(),
    };
    let what = format!("{status}, {retry_after:?}");
    assert!(ended.contains(ends), "{what}: {ended}");
    client.close().await;
    let calls = server.whats().into_iter().filter(|it| it == "tools/call");
    assert_eq!(calls.count(), sent, "{what}");
}

#[tokio::test]
async fn a_call_that_was_not_begun_is_sent_again_if_the_server_says_when() {
    check_refused(503, Some("0"), 3, "begun").await;
    // A gateway may have forwarded it.
    check_refused(503, None, 1, "503").await;
    check_refused(502, Some("0"), 1, "502").await;
    // The client does not wait that long.
    check_refused(503, Some("30"), 1, "503").await;
    check_refused(503, Some("tomorrow"), 1, "503").await;
}

// Shows HT25-49.
#[tokio::test]
async fn an_answer_that_cannot_be_taken_up_is_lost() {
    // The event has no id, the server cannot resume, or the server never answers.
    for (first, status, expected) in [
        (
            "data:\n\n",
            405,
            "the server went away: its stream of events",
        ),
        ("id: 1\ndata:\n\n", 405, "cannot be resumed (405"),
        ("id: 1\ndata:\n\n", 404, "cannot be resumed (404"),
        (
            "id: 1\ndata:\n\n",
            503,
            "the server went away: its stream of events",
        ),
    ] {
        let server = Server::start(move |asked, _| match asked.what() {
            "tools/call" => Reply::events(first).then(Piece::Break),
            "GET" if asked.header("last-event-id").is_some() => Reply::empty(status),
            _ => session(asked),
        })
        .await;
        let client = connect(&server).await.unwrap();
        let error = call(&client, "t").await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        client.close().await;
    }
}

/// A host that collects the client's notes.
#[derive(Clone, Default)]
struct Noting {
    notes: Arc<Mutex<Vec<String>>>,
    changed: Arc<Notify>,
}

impl Noting {
    fn hearing(&self) -> impl Fn(Event) + Send + Sync + 'static {
        let Self { notes, changed } = self.clone();
        move |event| {
            if let Event::Note(note) = event {
                notes.lock().unwrap().push(note);
                changed.notify_one();
            }
        }
    }
}

const AGAIN: &str = "the answer broke off and is asked for again: ";

#[tokio::test]
async fn an_answer_that_is_taken_up_late_is_told_of() {
    for (refusals, expected) in [
        (0, &[][..]),
        (1, &[AGAIN, "the answer continues"]),
        (2, &[AGAIN, "the answer continues"]),
    ] {
        let server = Server::start(move |asked, before| match asked.what() {
            "tools/call" => Reply::events("id: 1\nretry: 3\ndata:\n\n").then(Piece::Break),
            // The first GET is the stream that the client listens on.
            "GET" if asked.header("last-event-id").is_none() => Reply::empty(405),
            "GET" if before <= refusals => Reply::empty(503),
            "GET" => {
                let response = json!({"jsonrpc": "2.0", "id": 3, "result": said("resumed")});
                Reply::events(&event(&response.to_string()))
            }
            _ => session(asked),
        })
        .await;
        let host = Noting::default();
        let client = connect_as(&server, builder(None).on_event(host.hearing()))
            .await
            .unwrap();
        server.until("GET", 1).await;
        assert!(call(&client, "t").await.unwrap().contains("resumed"));
        let notes = host.notes.lock().unwrap().clone();
        let told = notes
            .iter()
            .zip(expected)
            .all(|(note, it)| note.starts_with(it));
        assert!(
            told && notes.len() == expected.len(),
            "{refusals}: {notes:?}"
        );
        client.close().await;
    }
}

#[tokio::test]
async fn a_long_pause_before_an_answer_goes_on_is_told_of_at_once() {
    let server = Server::start(|asked, _| match asked.what() {
        "tools/call" => Reply::events("id: 1\nretry: 20000\ndata:\n\n").then(Piece::Break),
        "GET" => Reply::empty(405),
        _ => session(asked),
    })
    .await;
    let host = Noting::default();
    let builder = builder(None).on_event(host.hearing());
    let client = builder
        .connect(Http::new(&server.url).unwrap())
        .await
        .unwrap();
    tokio::select! {
        called = call(&client, "t") => panic!("it waits: {called:?}"),
        () = host.changed.notified() => {}
    }
    let notes = host.notes.lock().unwrap().clone();
    assert!(notes.len() == 1 && notes[0].starts_with(AGAIN), "{notes:?}");
}

#[tokio::test]
async fn an_answer_is_given_up_if_no_server_listens_any_more() {
    let crash = Arc::new(Notify::new());
    let crashed = Arc::clone(&crash);
    let server = Server::start(move |asked, _| match asked.what() {
        "tools/call" => Reply::events("id: 1\nretry: 3\ndata:\n\n")
            .then(Piece::Wait(Arc::clone(&crashed)))
            .then(Piece::Break),
        // No earlier connection is reused.
        "GET" => Reply::empty(405).header("Connection", "close"),
        _ => session(asked).header("Connection", "close"),
    })
    .await;
    let host = Noting::default();
    let mut limits = impatient();
    // With any number of attempts, nothing new arrives.
    limits.http.stream_resumptions = u32::MAX;
    limits.http.stream_unreachable = Duration::from_millis(50);
    let builder = builder(None).on_event(host.hearing()).limits(limits);
    let client = builder
        .connect(Http::new(&server.url).unwrap())
        .await
        .unwrap();
    let other = client.clone();
    let calling = tokio::spawn(async move { call(&other, "t").await });
    server.until("tools/call", 1).await;
    drop(server);
    crash.notify_one();
    let called = timeout(PATIENCE, calling).await.expect("it is given up");
    let error = called.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Crashed(_)), "{error:?}");
    let notes = host.notes.lock().unwrap().clone();
    assert!(notes.len() == 1 && notes[0].starts_with(AGAIN), "{notes:?}");
}

/// The timeout for something that should take a moment. It is long because tests share a machine.
const PATIENCE: Duration = Duration::from_secs(20);

// Shows HT25-45.
#[tokio::test]
async fn the_stream_that_is_listened_on_is_opened_again() {
    const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"here"}}"#;
    let server = Server::start(|asked, before| match asked.what() {
        "GET" => match before {
            0 => Reply::events("id: 7\ndata:\n\n"),
            1 => Reply::empty(500),
            2 => {
                assert_eq!(asked.header("last-event-id"), Some("7"));
                Reply::events(&event(LOG)).then(Piece::Hang)
            }
            _ => Reply::empty(405),
        },
        _ => session(asked),
    })
    .await;
    let heard = Arc::new(Notify::new());
    let telling = Arc::clone(&heard);
    let builder = builder(None).on_event(move |event| {
        if matches!(event, Event::Log { .. }) {
            telling.notify_one();
        }
    });
    let client = connect_as(&server, builder).await.unwrap();
    heard.notified().await;
    client.close().await;
}

// Shows HT25-21.
#[tokio::test]
async fn the_stream_that_is_listened_on_is_opened_again_when_the_server_says() {
    let server = Server::start(|asked, before| match (asked.what(), before) {
        ("GET", 0) => Reply::events("id: 7\nretry: 3\ndata:\n\n"),
        ("GET", _) => {
            assert_eq!(asked.header("last-event-id"), Some("7"));
            Reply::events("").then(Piece::Hang)
        }
        _ => session(asked),
    })
    .await;
    let mut limits = impatient();
    limits.http.stream_retry = Duration::from_secs(3600);
    limits.http.stream_retry_most = Duration::from_secs(3600);
    let http = Http::new(&server.url).unwrap();
    let client = builder(None).limits(limits).connect(http).await.unwrap();
    let again = timeout(PATIENCE, server.until("GET", 2)).await;
    assert!(
        again.is_ok(),
        "it waits as long as if the server had said nothing"
    );
    client.close().await;
}

// Shows TA25-23.
#[tokio::test]
async fn a_task_asks_on_any_stream() {
    const ROOTS: &str = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}"#;
    let task = |status: &str| {
        let at = "2026-01-01T00:00:00Z";
        json!({
            "taskId": "t1", "status": status, "createdAt": at, "lastUpdatedAt": at, "ttl": 60_000,
            "pollInterval": 1,
        })
    };
    for asks in ["GET", "tasks/get", "tasks/result"] {
        let answered = Arc::new(Notify::new());
        let wait = Arc::clone(&answered);
        let is_answered = Arc::new(AtomicBool::new(false));
        let server = Server::start(move |asked, before| {
            let status = match (is_answered.load(Ordering::SeqCst), asks) {
                (true, _) => "completed",
                (false, "tasks/result") => "input_required",
                (false, _) => "working",
            };
            match (asked.what(), before) {
                ("initialize", _) => {
                    let result = json!({
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
                        "serverInfo": {"name": "s", "version": "1"},
                    });
                    let reply = Reply::json(200, asked.response(result));
                    reply.header("Mcp-Session-Id", "session-1")
                }
                ("tools/call", _) => {
                    let created = json!({"task": task("working")});
                    Reply::json(200, asked.response(created))
                }
                ("GET", 0) if asks == "GET" => {
                    Reply::events(&event(ROOTS)).then(Piece::Hang)
                }
                ("tasks/get", 0) if asks == "tasks/get" => Reply::events(&event(ROOTS))
                    .then(Piece::Wait(Arc::clone(&wait)))
                    .and(&event(&asked.response(task("working")))),
                ("tasks/get", _) => Reply::json(200, asked.response(task(status))),
                ("tasks/result", _) if asks == "tasks/result" => Reply::events(&event(ROOTS))
                    .then(Piece::Wait(Arc::clone(&wait)))
                    .and(&event(&asked.response(said("done")))),
                ("tasks/result", _) => Reply::json(200, asked.response(said("done"))),
                ("POST", _) => {
                    is_answered.store(true, Ordering::SeqCst);
                    answered.notify_one();
                    Reply::empty(202)
                }
                _ => session(asked),
            }
        })
        .await;
        let host = Scripted::new(|_| Ok(InputResponse::Roots(ListRootsResult::default())));
        let client = connect_as(&server, builder(None).host(host)).await.unwrap();
        let tool = json!({
            "name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"},
        });
        let tool = serde_json::from_value(tool).unwrap();
        let called = timeout(PATIENCE, client.call_as_task(&tool, ())).await;
        let result = called.expect(asks).unwrap().raw;
        assert!(result.get().contains("done"), "{asks}: {}", result.get());
        let answer = server.last("POST").body;
        assert_eq!(answer["id"], "q", "{asks}");
        let related = &answer["result"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], "t1", "{asks}: {answer}");
        client.close().await;
    }
}

// Shows HT25-33.
#[tokio::test]
async fn a_session_that_is_over_is_followed_by_another() {
    let server = Server::start(|asked, before| match (asked.what(), before) {
        ("initialize", 1) => session(asked).header("X-Other", "1"),
        ("tools/call", 1) => Reply::json(404, asked.error(-32001, json!("session not found"))),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    call(&client, "t").await.unwrap();
    // The request that finds out is sent again in the new session.
    assert!(call(&client, "t").await.unwrap().contains("done"));
    let mut whats = server.whats();
    whats.retain(|what| what != "GET");
    let expected = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "tools/call",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    assert_eq!(whats, expected);
    assert_eq!(server.last("initialize").header("mcp-session-id"), None);
    client.close().await;
}

#[tokio::test]
async fn an_invalid_session_id_is_refused() {
    let server = Server::start(|asked, _| match asked.what() {
        "initialize" => Reply::json(200, "{}").header("Mcp-Session-Id", "a b"),
        _ => session(asked),
    })
    .await;
    let error = connect(&server).await.unwrap_err();
    assert!(matches!(error, ClientError::Protocol(_)), "{error:?}");
}

// Shows HT25-08, HT25-46.
#[tokio::test]
async fn a_server_without_sessions_is_not_taken_leave_of() {
    let server = Server::start(|asked, _| match asked.what() {
        "initialize" => {
            let result = json!({
                "protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            });
            Reply::events(&event(&asked.response(result)))
        }
        // Some servers answer a request on the GET stream.
        "tools/call" => Reply::empty(202),
        "GET" => {
            let response = json!({"jsonrpc": "2.0", "id": 3, "result": said("elsewhere")});
            Reply::events(&event(&format!("[{response}]"))).then(Piece::Hang)
        }
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let other = client.clone();
    let calling = tokio::spawn(async move { call(&other, "t").await });
    server.until("tools/call", 1).await;
    calling.abort();
    client.close().await;
    assert!(!server.whats().contains(&"DELETE".to_owned()));
}

// Shows HT25-47.
#[tokio::test]
async fn a_session_may_be_one_that_clients_do_not_end() {
    let server = Server::start(|asked, _| match asked.what() {
        "DELETE" => Reply::empty(405),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    assert!(call(&client, "t").await.unwrap().contains("done"));
    client.close().await;
    server.until("DELETE", 1).await;
}

// Shows HT25-29.
#[tokio::test]
async fn a_session_is_told_to_nobody_else() {
    let other = Server::start(|asked, _| session(asked)).await;
    let elsewhere = other.url.clone();
    let server = Server::start(move |asked, _| match asked.what() {
        "tools/call" => Reply::empty(307).header("Location", elsewhere.clone()),
        _ => session(asked),
    })
    .await;
    let client = connect(&server).await.unwrap();
    let error = call(&client, "t").await.unwrap_err();
    assert!(
        matches!(error, ClientError::Http { status: 307, .. }),
        "{error:?}"
    );
    client.close().await;
    assert_eq!(other.whats(), [""; 0]);
}
