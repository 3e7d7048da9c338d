//! The travel agency, killed between any two rounds of a call: each round goes to a new process.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// A process of the agency, killed on drop.
struct Agency(Child);

impl Agency {
    fn start(scratch: &Scratch) -> Self {
        let directory = scratch.path("agency");
        fs::create_dir_all(&directory).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["serve", "travel", "--directory"])
            .arg(directory)
            .env("XDG_STATE_HOME", scratch.path("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Sends one round of the call and returns the result.
    fn round(&mut self, id: u32, before: Option<(&Value, Value)>) -> Value {
        let mut params = json!({
            "name": "book_holiday",
            "arguments": {"destination": "Barcelona", "depart": "2026-06-15"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            },
        });
        if let Some((result, answers)) = before {
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = answers;
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let stdin = self.0.stdin.as_mut().unwrap();
        writeln!(stdin, "{request}").unwrap();
        let mut response = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap())
            .read_line(&mut response)
            .unwrap();
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["id"], id);
        response["result"].clone()
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        // Killed with a signal, so that it cannot clean up.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn each_round_may_meet_another_process_and_the_last_one_books_once() {
    let scratch = Scratch::new("restart");
    let accept = |content: Value| json!({"action": "accept", "content": content});

    let first = Agency::start(&scratch).round(1, None);
    assert!(first["inputRequests"]["wishes"].is_object(), "{first}");
    let wishes = json!({"wishes": accept(json!({"confirm_booking": true}))});
    let second = Agency::start(&scratch).round(2, Some((&first, wishes)));
    assert!(second["inputRequests"]["contact"].is_object(), "{second}");

    let contact = json!({"contact": accept(json!({"name": "Ada", "email": "ada@example.com"}))});
    let mut agency = Agency::start(&scratch);
    let booked = agency.round(3, Some((&second, contact.clone())));
    assert_eq!(booked["structuredContent"]["total"], 3000, "{booked}");
    let again = agency.round(4, Some((&second, contact.clone())));
    drop(agency);
    let once_more = Agency::start(&scratch).round(5, Some((&second, contact)));
    for repeated in [again, once_more] {
        assert_eq!(repeated["structuredContent"], booked["structuredContent"]);
    }
    let bookings = fs::read_to_string(scratch.path("agency").join("bookings.jsonl")).unwrap();
    let booked = bookings.lines().filter(|line| !line.is_empty());
    assert_eq!(booked.count(), 1, "{bookings}");
}
