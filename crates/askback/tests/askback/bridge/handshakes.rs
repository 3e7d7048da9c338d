//! Sends the first requests of real clients, recorded on 26 November 2026, through a bridge.

use askback::Revision;
use serde_json::{Value, json};

use super::{Standby, Wire, agency, serve, to};

/// A line of `handshakes.jsonl`.
struct Recording {
    client: String,
    request: Value,
}

impl Recording {
    fn all() -> Vec<Self> {
        let lines = include_str!("handshakes.jsonl").lines();
        let recordings = lines.map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            Self {
                client: format!("{} {}", line["client"], line["version"]),
                request: line["request"].clone(),
            }
        });
        recordings.collect()
    }

    fn is_modern(&self) -> bool {
        self.request["method"] == "server/discover"
    }

    /// The members of `_meta` that each request of the client has.
    fn meta(&self) -> Value {
        match self.is_modern() {
            true => self.request["params"]["_meta"].clone(),
            false => json!({}),
        }
    }

    /// Whether the client declares a kind of elicitation.
    fn elicits(&self, mode: &str) -> bool {
        let params = &self.request["params"];
        let modern = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let declared = match self.is_modern() {
            true => modern,
            false => &params["capabilities"],
        };
        declared["elicitation"][mode].is_object()
    }
}

/// Makes a call as a client with a session, and says yes to each question. Returns the text of the result.
async fn call_in_session(client: &mut Wire, tool: &str) -> (String, usize) {
    let call = json!({
        "jsonrpc": "2.0", "id": 100, "method": "tools/call",
        "params": {"name": tool, "arguments": {}},
    });
    client.say(&call.to_string()).await;
    let mut asked = 0;
    loop {
        let message = client.hear().await;
        if message["id"] == 100 && message["method"].is_null() {
            return (message["result"]["content"][0]["text"].to_string(), asked);
        }
        if message["method"] == "elicitation/create" {
            asked += 1;
            client
                .answer(&message["id"], &yes(&message["params"]).to_string())
                .await;
        }
    }
}

/// Makes a call as a client of 2026-07-28, and says yes to each question. Returns the text of the result.
async fn call_in_rounds(client: &mut Wire, tool: &str, meta: &Value) -> (String, usize) {
    let mut params = json!({"name": tool, "arguments": {}, "_meta": meta});
    let mut asked = 0;
    for id in 100.. {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.say(&call.to_string()).await;
        let message = client.hear().await;
        let result = &message["result"];
        if result["resultType"] != "input_required" {
            return (result["content"][0]["text"].to_string(), asked);
        }
        params["requestState"] = result["requestState"].clone();
        let questions = result["inputRequests"].as_object().expect("questions");
        asked += questions.len();
        let answers = questions
            .iter()
            .map(|(key, question)| (key.clone(), yes(&question["params"])));
        params["inputResponses"] = answers.collect::<Value>();
    }
    unreachable!("the ids have no end")
}

fn yes(question: &Value) -> Value {
    match question["mode"] == "url" {
        true => json!({"action": "accept"}),
        false => json!({"action": "accept", "content": {"window": true}}),
    }
}

#[tokio::test]
async fn each_recorded_client_gets_its_answers_from_servers_of_both_eras() {
    let recordings = Recording::all();
    assert!(recordings.len() >= 15, "{}", recordings.len());
    for recording in &recordings {
        for up in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let standby = Standby::default();
            let server = agency().revisions([up]).build().expect("it is one");
            let bridge = to(server).answers(standby.clone());
            let (near, _) = serve(&bridge);
            let mut client = Wire::new(near);
            client.say(&recording.request.to_string()).await;
            let greeting = client.hear().await;
            assert!(
                greeting["result"].is_object(),
                "{}: {greeting}",
                recording.client
            );
            let is_modern = recording.is_modern();
            if !is_modern {
                let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                client.say(initialized).await;
            }
            for (tool, mode, text) in [
                ("reserve", "form", "window: true"),
                ("sign_in", "url", "signed in"),
            ] {
                let before = standby.asked().len();
                let (result, asked) = match is_modern {
                    true => call_in_rounds(&mut client, tool, &recording.meta()).await,
                    false => call_in_session(&mut client, tool).await,
                };
                let cell = format!("{} with a server of {up}: {tool}", recording.client);
                assert_eq!(result, format!("{text:?}"), "{cell}");
                // Exactly one of the two was asked.
                let here = standby.asked().len() - before;
                let expected = match recording.elicits(mode) {
                    true => (asked.max(1), 0),
                    false => (0, 1),
                };
                assert_eq!((asked, here), expected, "{cell}");
            }
        }
    }
}
