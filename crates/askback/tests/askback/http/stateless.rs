//! Requests of the stateless era over HTTP (2026-07-28, basic/transports/streamable-http).

use std::time::Duration;

use askback::{
    Change, Prompt, Result, Revision, Server, Tool,
    protocol::{ContentBlock, PromptMessage},
};
use serde_json::{Value, json};

use super::{
    Stage,
    client::{Client, MESSAGE, hello_tool, mirrored, stateless},
};

// Shows HT-69, HT25-18.
#[tokio::test]
async fn a_server_without_sessions_takes_only_posts() {
    let builder = Stage::default()
        .builder()
        .revisions([Revision::V2026_07_28]);
    let newest = Client::of(&builder.build().unwrap());
    let both = Stage::default().client();
    let headers = [("host", "localhost"), ("accept", "text/event-stream")];
    for (client, method, allowed) in [
        (&newest, "GET", "POST"),
        (&newest, "DELETE", "POST"),
        (&newest, "PUT", "POST"),
        (&both, "PUT", "POST, GET, DELETE"),
        (&both, "HEAD", "POST, GET, DELETE"),
        (&both, "OPTIONS", "POST, GET, DELETE"),
        (&both, "QUERY", "POST, GET, DELETE"),
    ] {
        let response = client.send(method, "/mcp", &headers, "").await;
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("allow"), Some(allowed), "{method}");
    }
    let headers = [&headers[..], &[("mcp-protocol-version", "2026-07-28")]].concat();
    for method in ["GET", "DELETE", "HEAD", "PUT"] {
        let response = both.send(method, "/mcp", &headers, "").await;
        assert_eq!(response.status, 405, "{method} in the stateless era");
        assert_eq!(response.header("allow"), Some("POST"));
    }
}

// Shows HT-10, HT-11, HT-12, BA-04, BA-20.
#[tokio::test]
async fn what_is_no_request_is_taken_or_refused_by_its_kind() {
    let client = Stage::default().client();
    let version = [("mcp-protocol-version", "2026-07-28")];
    let cases = [
        (
            "a notification",
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
            202,
        ),
        (
            "a response",
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            400,
        ),
        ("a batch", json!([hello_tool()]), 400),
        ("an empty batch", json!([]), 400),
        ("no message", json!({"id": 1}), 400),
        ("a number", json!(7), 400),
        (
            "no id",
            json!({"jsonrpc": "2.0", "id": null, "method": "tools/list"}),
            400,
        ),
        (
            "another JSON-RPC",
            json!({"jsonrpc": "1.0", "id": 1, "method": "tools/list"}),
            400,
        ),
    ];
    for (name, message, status) in cases {
        let response = client.post(&version, &message).await;
        assert_eq!(response.status, status, "{name}");
        if status == 202 {
            assert_eq!(response.text().await, "", "{name}");
        } else {
            assert!(response.json().await["error"].is_object(), "{name}");
        }
    }
}

// Shows HT-13.
#[tokio::test]
async fn bodies_are_json_and_answers_are_in_what_the_client_takes() {
    let client = Stage::default().client();
    let message = hello_tool();
    let send = async |name: &'static str, value: &'static str, drop: &str| {
        let mut headers: Vec<_> = MESSAGE
            .into_iter()
            .filter(|(name, _)| *name != drop)
            .collect();
        if !name.is_empty() {
            headers.push((name, value));
        }
        headers.extend(mirrored(&message));
        client
            .send("POST", "/mcp", &headers, message.to_string())
            .await
    };
    for (value, status) in [
        ("application/json", 200),
        ("Application/JSON; charset=UTF-8", 200),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/json, text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ] {
        let response = send("content-type", value, "content-type").await;
        assert_eq!(response.status, status, "{value}");
    }
    assert_eq!(send("", "", "content-type").await.status, 415);
    for (value, status, stream) in [
        ("application/json", 200, false),
        ("text/event-stream", 200, true),
        ("text/event-stream, application/json", 200, false),
        ("*/*", 200, false),
        ("application/*", 200, false),
        ("text/html", 406, false),
        ("", 406, false),
    ] {
        let response = send("accept", value, "accept").await;
        assert_eq!(response.status, status, "{value}");
        assert_eq!(response.is_stream(), stream, "{value}");
        if status == 200 {
            let answer = response.answer().await;
            assert_eq!(answer["result"]["content"][0]["text"], "Hello!", "{value}");
        }
    }
    assert_eq!(send("", "", "accept").await.status, 200);
    let twice = send("content-type", "text/plain", "").await;
    assert_eq!(twice.status, 415, "two media types");
}

// Shows LO-06.
#[tokio::test]
async fn errors_of_handlers_are_answers() {
    let client = Stage::default().client();
    let failed = client.call("tools/call", json!({"name": "fails"})).await;
    assert_eq!(failed.status, 200);
    assert_eq!(failed.json().await["result"]["isError"], true);
    let panicked = client.call("tools/call", json!({"name": "panics"})).await;
    assert_eq!(panicked.status, 200);
    assert_eq!(panicked.json().await["error"]["code"], -32603);
}

// Shows PR-13.
#[tokio::test]
async fn a_prompt_that_breaks_is_an_internal_error() {
    let breaks = Prompt::new("breaks", async || -> Result<String> { panic!("it breaks") });
    let server = Server::new("s", "1").prompt(breaks).build().unwrap();
    let client = Client::of(&server);
    let broken = client.call("prompts/get", json!({"name": "breaks"})).await;
    assert_eq!(broken.json().await["error"]["code"], -32603);
}

// Shows PR-07.
#[tokio::test]
async fn sound_is_base64_and_says_its_type() {
    let song = Prompt::new("song", async || {
        Ok(PromptMessage::user(ContentBlock::audio_bytes(
            b"\0\xff la",
            "audio/wav",
        )))
    });
    let server = Server::new("s", "1").prompt(song).build().unwrap();
    let client = Client::of(&server);
    let answer = client
        .call("prompts/get", json!({"name": "song"}))
        .await
        .json()
        .await;
    let expected = json!({"type": "audio", "data": "AP8gbGE=", "mimeType": "audio/wav"});
    assert_eq!(
        answer["result"]["messages"][0]["content"], expected,
        "{answer}"
    );
}

// Shows HT-16, HT-17.
#[tokio::test(start_paused = true)]
async fn a_response_becomes_a_stream_after_a_while() {
    let stage = Stage::default();
    let client = stage.client();
    let began = tokio::time::Instant::now();
    let mut response = client.call("tools/call", json!({"name": "waits"})).await;
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    assert!(response.is_stream());
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    for _ in 0..3 {
        assert_eq!(response.chunk().await.as_deref(), Some(":\n\n"));
    }
    assert_eq!(began.elapsed(), Duration::from_secs(46));
    stage.go_on();
    let answer = response.message().await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "It was worth the wait."
    );
    response.assert_ended().await;
    assert_eq!(stage.handlers(), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_accepts_no_stream_waits_for_the_end() {
    let stage = Stage::default();
    let client = stage.client();
    let message = stateless(
        "tools/call",
        json!({"name": "tells", "_meta": {"progressToken": 1}}),
    );
    let mut headers = vec![MESSAGE[0], MESSAGE[1], ("accept", "application/json")];
    headers.extend(mirrored(&message));
    let waiting = client.send("POST", "/mcp", &headers, message.to_string());
    let minutes = tokio::time::sleep(Duration::from_secs(100));
    tokio::pin!(waiting);
    tokio::select! {
        _ = &mut waiting => panic!("nothing lets it go on"),
        () = minutes => stage.go_on(),
    }
    let answer = waiting.await.json().await;
    assert_eq!(answer["result"]["content"][0]["text"], "Told.");
}

// Shows LO-03, LO-04, PA-02.
#[tokio::test(start_paused = true)]
async fn a_handler_that_tells_has_a_stream_at_once() {
    let stage = Stage::default();
    let client = stage.client();
    let began = tokio::time::Instant::now();
    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"});
    let params = json!({"name": "tells", "_meta": meta});
    let mut response = client.call("tools/call", params).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    let progress = response.message().await;
    assert_eq!(progress["params"]["progressToken"], "p", "{progress}");
    let line = response.message().await;
    assert_eq!(line["params"]["data"], "a line", "{line}");
    response.assert_quiet().await;
    stage.go_on();
    assert_eq!(response.message().await["params"]["progress"], 2.0);
    let answer = response.told().await.unwrap();
    assert_eq!(answer.0, None, "streams of this era are not resumed");
    assert_eq!(answer.1["result"]["content"][0]["text"], "Told.");
    response.assert_ended().await;

    // A change that no client subscribed to is not reported.
    stage.go_on();
    let response = client.call("tools/call", json!({"name": "tells"})).await;
    assert!(!response.is_stream());
}

// Shows HT-14, PA-01.
#[tokio::test(start_paused = true)]
async fn a_stream_tells_of_its_own_call_alone() {
    let stage = Stage::default();
    let server = stage.builder().build().unwrap();
    let client = Client::of(&server);
    let call = async |token: &str| {
        let meta = json!({"progressToken": token, "io.modelcontextprotocol/logLevel": "info"});
        let params = json!({"name": "tells", "_meta": meta});
        client.call("tools/call", params).await
    };
    let (mut one, mut two) = (call("one").await, call("two").await);
    for (response, token) in [(&mut one, "one"), (&mut two, "two")] {
        let progress = response.message().await;
        assert_eq!(progress["params"]["progressToken"], token, "{progress}");
        assert_eq!(response.message().await["params"]["data"], "a line");
    }
    for changed in [
        Change::Tools,
        Change::Prompts,
        Change::Resources,
        Change::Resource("note://one".to_owned()),
    ] {
        server.changed(changed);
    }
    one.assert_quiet().await;
    two.assert_quiet().await;
    // One call continues. The other's stream gets nothing.
    stage.go_on();
    let progress = one.message().await;
    assert_eq!(progress["params"]["progressToken"], "one", "{progress}");
    assert_eq!(one.message().await["result"]["content"][0]["text"], "Told.");
    one.assert_ended().await;
    two.assert_quiet().await;
}

// Shows HT-18, HT-19, CA-04, CA-13, CA-14.
#[tokio::test(start_paused = true)]
async fn whoever_goes_away_cancels() {
    let stage = Stage::default();
    let client = stage.client();
    let response = client.call("tools/call", json!({"name": "waits"})).await;
    assert_eq!(stage.handlers(), (1, 0, 0));
    drop(response);
    assert_eq!(stage.handlers(), (1, 0, 1), "with its stream");

    let early = client.call("tools/call", json!({"name": "waits"}));
    let soon = Duration::from_millis(10);
    assert!(tokio::time::timeout(soon, early).await.is_err());
    assert_eq!(stage.handlers(), (2, 0, 2), "before there was one");
}

#[tokio::test(start_paused = true)]
async fn what_tells_of_the_way_is_left_out_where_nobody_reads() {
    let client = Stage::default().client();
    let arguments = json!({"lines": 400, "bytes": 4096, "result": 10});
    let meta = json!({"progressToken": 1});
    let params = json!({"name": "floods", "arguments": arguments, "_meta": meta});
    let mut response = client.call("tools/call", params).await;
    // The handler works while its client reads. No chunk holds more than the limit and one message.
    let mut last = String::new();
    while let Some(chunk) = response.chunk().await {
        assert!(chunk.len() < (256 << 10) + 5000, "{}", chunk.len());
        last = chunk;
    }
    assert!(last.contains("yyyyyyyyyy"), "{last}");
}

// Shows HT-15, MR-01, BA-24, BA-26, PA-01.
#[tokio::test]
async fn questions_are_results() {
    let client = Stage::default().client();
    let first = client.call("tools/call", json!({"name": "asks"})).await;
    assert_eq!(first.status, 200);
    let first = first.json().await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let answers = json!({"seat": {"action": "accept", "content": {"window": true}}});
    let params = json!({
        "name": "asks",
        "requestState": first["result"]["requestState"],
        "inputResponses": answers,
    });
    // Any process with the same key can continue the call.
    let other = Stage::default().client();
    let last = other.call("tools/call", params).await.json().await;
    assert_eq!(
        last["result"]["content"][0]["text"], "by the window: true",
        "{last}"
    );
}

/// A server whose list of tools is so large that its memory is counted.
fn many_tools() -> Server {
    let mut builder = Stage::default().builder();
    for number in 0..64 {
        let tool = Tool::new(
            format!("tool_{number}"),
            async || -> Result<&'static str> { Ok("") },
        );
        builder = builder.tool(tool.description("Says nothing, however often it is called"));
    }
    builder.build().unwrap()
}

#[tokio::test]
async fn a_list_is_given_to_each_request_under_its_own_id_and_takes_room_until_it_is_read() {
    let server = many_tools();
    let client = Client::of(&server);
    let before = server.kept_bytes();
    let mut lists = Vec::new();
    for id in [json!(1), json!("two"), json!(-3)] {
        let mut message = stateless("tools/list", json!({}));
        message["id"] = id.clone();
        let response = client.post(&mirrored(&message), &message).await;
        let taken = server.kept_bytes() - before;
        let text = response.text().await;
        assert!(
            (4096..).contains(&taken) && taken <= 2 * text.len(),
            "{id}: {taken}"
        );
        assert_eq!(server.kept_bytes(), before, "{id}");
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["id"].take(), id);
        lists.push(answer);
    }
    assert!(lists.iter().all(|list| *list == lists[0]));
    assert!(lists[0]["result"]["tools"].as_array().unwrap().len() > 64);
}

#[tokio::test]
async fn a_list_is_sent_from_where_it_is_kept() {
    let client = Client::of(&many_tools());
    let message = stateless("tools/list", json!({}));
    // The first request makes the server serialize the list.
    client.post(&mirrored(&message), &message).await;
    let mut pieces = Vec::new();
    for _ in 0..2 {
        let mut response = client.post(&mirrored(&message), &message).await;
        let _before_the_list = response.bytes().await.unwrap();
        pieces.push(response.bytes().await.unwrap());
        assert_eq!(response.bytes().await, None);
    }
    assert!(pieces[0].len() > 4096);
    // Both exist at the same time, so equal addresses are the same allocation.
    assert_eq!(pieces[0].as_ptr(), pieces[1].as_ptr());
}
