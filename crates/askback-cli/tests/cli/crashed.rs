//! A server over HTTP that crashes during a call. Its stream can be resumed.

use std::{
    io::Write,
    net::TcpListener,
    process::{Command, Stdio},
    thread,
};

use serde_json::json;

use crate::run::{json_response, message};

/// Answers requests up to the call, begins a response to the call, and closes the connection.
fn crash(listener: &TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept()?;
        let asked = message(&stream)?;
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "fragile", "version": "1"},
            }),
            Some("tools/list") => json!({
                "tools": [{"name": "crash", "inputSchema": {"type": "object"}}],
            }),
            Some("tools/call") => {
                return write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                     Transfer-Encoding: chunked\r\n\r\n17\r\nid: 1\nretry: 10\ndata:\n\n\r\n"
                );
            }
            Some(_) => {
                write!(stream, "HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n")?;
                continue;
            }
            None => {
                write!(
                    stream,
                    "HTTP/1.1 405 Not\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )?;
                continue;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        write!(stream, "HTTP/1.1 {}", json_response("200 OK", &answer))?;
    }
}

#[test]
fn a_person_is_told_that_an_answer_broke_off() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let address = listener.local_addr().expect("it is bound");
    let server = thread::spawn(move || crash(&listener));
    let output = Command::new(env!("CARGO_BIN_EXE_askback"))
        .args(["call", "crash", "--protocol", "2025-11-25", "--url"])
        .arg(format!("http://{address}/mcp"))
        .args(["--credentials", "nowhere"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the command was built");
    let shown = String::from_utf8(output.stderr).expect("it writes text");
    assert_eq!(output.status.code(), Some(4), "{shown}");
    let told = shown.find("the answer broke off and is asked for again: ");
    let ended = shown.find("askback: the server went away:");
    assert!(told.is_some() && told < ended, "{shown}");
    server
        .join()
        .expect("it does not panic")
        .expect("it is talked to");
}
