//! Questions of a server before its answer over HTTP.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::run::{Run, served};

#[test]
fn what_is_asked_on_the_way_to_an_answer_is_answered_whatever_the_body_is() {
    for media in ["application/json", "text/event-stream"] {
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let url = served(move |message| {
            hears.lock().expect("no test failed").push(message.clone());
            let id = &message["id"];
            let answer = match message["method"].as_str() {
                Some("initialize") => {
                    json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-03-26", "capabilities": {},
                        "serverInfo": {"name": "a", "version": "1"}}})
                }
                Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                Some(_) if !id.is_null() => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
                }
                _ => {
                    return "202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        .to_owned();
                }
            };
            let asks = json!({"jsonrpc": "2.0", "id": "q", "method": "ping"});
            let body = match media {
                "application/json" => json!([asks, answer]).to_string(),
                _ => format!("data: {asks}\n\ndata: {answer}\n\n"),
            };
            let length = body.len();
            format!(
                "200 OK\r\nContent-Type: {media}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
        });
        let words = [
            "check",
            "--json",
            "--timeout",
            "2",
            "--protocol",
            "2025-03-26",
            "--url",
            &url,
        ];
        let ran = Run::new("check-answered", &words).run();
        let heard = heard.lock().expect("no test failed");
        let answer = json!({"jsonrpc": "2.0", "id": "q", "result": {}});
        let of_probe = |it: &&Value| it["method"] == "askback/no-such-method";
        assert!(heard.iter().any(|it| of_probe(&it)), "{}", ran.stdout);
        let at = heard
            .iter()
            .position(|it| of_probe(&it))
            .unwrap_or_default();
        assert_eq!(heard.get(at + 1), Some(&answer), "{media}");
    }
}
