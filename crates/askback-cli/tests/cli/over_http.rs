//! The travel agency over HTTP: a booking in every revision with forms. If rounds are separate
//! requests, each one goes to another process.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// A process of the agency, killed on drop.
struct Agency {
    process: Child,
    address: String,
}

struct Response {
    head: String,
    body: BufReader<TcpStream>,
}

impl Agency {
    /// The processes share their keys and a bookings folder.
    fn start(keys: &Path, bookings: &Path) -> Self {
        fs::create_dir_all(bookings).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["serve", "travel", "--http", "127.0.0.1:0", "--directory"])
            .arg(bookings)
            .env("XDG_STATE_HOME", keys)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address
            .unwrap_or_else(|| panic!("no address: {line}"))
            .to_owned();
        Self { process, address }
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = message.to_string();
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let (address, length) = (&self.address, body.len());
        // HTTP/1.0, so that the body is not chunked and ends with the connection.
        write!(
            stream,
            "POST /mcp HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut body = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(body.read_line(&mut head).unwrap() > 0, "{head}");
        }
        Response { head, body }
    }

    /// Sends one round of the call and returns the result.
    fn round(&self, before: Option<(&Value, Value)>) -> Value {
        let mut params = trip();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        if let Some((result, answers)) = before {
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = answers;
        }
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "book_holiday"),
        ];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self.post(&headers, &message).message();
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        // Killed with a signal, so that it cannot clean up.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Response {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.head.lines().filter_map(|line| line.split_once(": "));
        named
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The next message: the JSON body, or the data of the next event.
    fn message(&mut self) -> Value {
        if self.header("content-type") == Some("application/json") {
            let mut text = String::new();
            self.body.read_to_string(&mut text).unwrap();
            return serde_json::from_str(&text).unwrap();
        }
        loop {
            let mut line = String::new();
            assert!(self.body.read_line(&mut line).unwrap() > 0, "{}", self.head);
            let data = line.strip_prefix("data: ");
            if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
                return message;
            }
        }
    }
}

fn trip() -> Value {
    json!({
        "name": "book_holiday",
        "arguments": {"destination": "Barcelona", "depart": "2026-06-15"},
    })
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// The user's answer to the question with this key.
fn answer(key: &str) -> Value {
    match key {
        "wishes" => accept(json!({"confirm_booking": true})),
        "contact" => accept(json!({"name": "Ada", "email": "ada@example.com"})),
        _ => panic!("nobody expects {key}"),
    }
}

fn bookings(folder: &Path) -> usize {
    let bookings = fs::read_to_string(folder.join("bookings.jsonl")).unwrap();
    bookings.lines().filter(|line| !line.is_empty()).count()
}

fn hello(revision: &str) -> Value {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "tests", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

// Shows BP25-02, HT25-27.
#[test]
fn no_process_gives_a_session_the_id_that_another_gave() {
    let scratch = Scratch::new("over-http-ids");
    let mut ids = BTreeSet::new();
    // Everything from which an id could be derived is the same in both: keys, folder, messages and
    // their order.
    for _ in 0..2 {
        let agency = Agency::start(&scratch.path("state"), &scratch.path("agency"));
        for _ in 0..3 {
            let opened = agency.post(&[], &hello("2025-11-25"));
            let id = opened.header("mcp-session-id").expect("a session");
            assert!(ids.insert(id.to_owned()), "{id} again");
        }
    }
}

#[test]
fn a_holiday_is_booked_in_a_session_of_every_revision_with_forms() {
    let scratch = Scratch::new("over-http-sessions");
    let folder = scratch.path("agency");
    let agency = Agency::start(&scratch.path("state"), &folder);
    for (count, revision) in [(1, "2025-06-18"), (2, "2025-11-25")] {
        let mut opened = agency.post(&[], &hello(revision));
        assert_eq!(opened.message()["result"]["protocolVersion"], revision);
        let session = opened.header("mcp-session-id").expect("a session");
        let headers = [
            ("Mcp-Session-Id", session),
            ("MCP-Protocol-Version", revision),
        ];
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let taken = agency.post(&headers, &initialized);
        assert!(taken.head.contains(" 202 "), "{}", taken.head);
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": trip()});
        let mut called = agency.post(&headers, &call);
        let booked = loop {
            let message = called.message();
            if message["id"] == 2 && message["method"].is_null() {
                break message;
            }
            if message["method"] == "elicitation/create" {
                let key = message["params"]["_meta"]["dev.askback/key"]
                    .as_str()
                    .unwrap();
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer(key)});
                assert_eq!(agency.post(&headers, &answer).status(), "202");
            }
        };
        let result = &booked["result"]["structuredContent"];
        assert_eq!(result["total"], 3000, "{revision}: {booked}");
        assert_eq!(bookings(&folder), count, "{revision}");
    }
}

// Shows BA-23, BA-24.
#[test]
fn each_round_may_meet_another_process_that_shares_only_the_keys() {
    let scratch = Scratch::new("over-http-rounds");
    let keys = scratch.path("state");
    let folders = ["first", "second", "third"].map(|name| scratch.path(name));
    let (mut before, mut rounds) = (None::<(Value, Value)>, 0);
    let booked = loop {
        let agency = Agency::start(&keys, &folders[rounds]);
        rounds += 1;
        let before_it = before
            .as_ref()
            .map(|(result, answers)| (result, answers.clone()));
        let result = agency.round(before_it);
        if result["resultType"] != "input_required" {
            // Sending the last round again gives the same result.
            let (last, answers) = before.unwrap();
            let again = agency.round(Some((&last, answers)));
            assert_eq!(again["structuredContent"], result["structuredContent"]);
            break result;
        }
        let asked = result["inputRequests"].as_object().unwrap();
        let answers = asked.keys().map(|key| (key.clone(), answer(key)));
        before = Some((result.clone(), answers.collect()));
    };
    assert_eq!(rounds, 3);
    assert_eq!(booked["structuredContent"]["total"], 3000, "{booked}");
    assert_eq!(bookings(&folders[2]), 1);
    for folder in &folders[..2] {
        assert!(!folder.join("bookings.jsonl").exists(), "booked too early");
    }
}
