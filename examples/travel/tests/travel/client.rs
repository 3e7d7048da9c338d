//! A client that sends plain JSON in any revision, and answers questions.

use std::path::Path;

use askback::{
    Server, ServerBuilder,
    clock::Clock,
    forms::Timestamp,
    keys::{Key, KeyRing, KeySource},
    transport::{Receiver, Sender, memory},
};
use askback_travel::{Bookings, Itineraries};
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";

/// Returns the agency with replay checks for its handlers.
pub(crate) fn agency(directory: Option<&Path>) -> Server {
    agency_with(directory, Itineraries::SharedFolders)
}

/// Like [`agency`], with another place for itineraries.
pub(crate) fn agency_with(directory: Option<&Path>, itineraries: Itineraries) -> Server {
    let bookings = directory.map_or_else(Bookings::default, in_directory);
    checked(askback_travel::builder(bookings, itineraries))
}

fn in_directory(directory: &Path) -> Bookings {
    Bookings::in_directory(directory).unwrap()
}

/// Like [`agency`], on the day of this timestamp.
pub(crate) fn agency_on(directory: &Path, day: &str) -> Server {
    let builder = askback_travel::builder(in_directory(directory), Itineraries::Nowhere);
    let day: Timestamp = day.parse().unwrap();
    let day = u64::try_from(day.as_millisecond()).unwrap();
    // All entries of a list on one page.
    checked(builder.clock(Day(day)).page_size(10_000))
}

fn checked(builder: ServerBuilder) -> Server {
    let keys = KeySource::Ring(KeyRing::new(Key::new(&[7; 32])));
    builder.keys(keys).check_replay(true).build().unwrap()
}

/// A clock that does not move, in milliseconds since the Unix epoch.
struct Day(u64);

impl Clock for Day {
    fn now(&self) -> u64 {
        self.0
    }
}

pub(crate) struct Client {
    revision: &'static str,
    capabilities: Value,
    receiver: Receiver,
    sender: Sender,
    last_id: u64,
    /// The received questions, with their keys.
    pub(crate) asked: Vec<(String, Value)>,
    pub(crate) notified: Vec<Value>,
}

impl Client {
    pub(crate) async fn connect(server: &Server, revision: &'static str) -> Self {
        let all = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        Self::with(server, revision, all).await
    }

    pub(crate) async fn with(server: &Server, revision: &'static str, capabilities: Value) -> Self {
        let (near, far) = memory();
        let server = server.clone();
        tokio::spawn(async move { server.serve(far).await });
        let (receiver, sender) = near.split();
        let mut client = Self {
            revision,
            capabilities,
            receiver,
            sender,
            last_id: 0,
            asked: Vec::new(),
            notified: Vec::new(),
        };
        if revision != MODERN {
            client.shake_hands().await;
        }
        client
    }

    pub(crate) async fn result(
        &mut self,
        method: &str,
        params: Value,
        answers: &[(&str, Value)],
    ) -> Value {
        let response = self.response(method, params, answers).await;
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    pub(crate) async fn error(&mut self, method: &str, params: Value) -> Value {
        let response = self.response(method, params, &[]).await;
        assert!(response["result"].is_null(), "{response}");
        response["error"].clone()
    }

    pub(crate) async fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        answers: &[(&str, Value)],
    ) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.result("tools/call", params, answers).await
    }

    /// Returns the last response to a request. Questions are answered by key.
    pub(crate) async fn response(
        &mut self,
        method: &str,
        params: Value,
        answers: &[(&str, Value)],
    ) -> Value {
        let mut round = params.clone();
        loop {
            let id = self.request(method, round).await;
            let response = self.response_to(id, answers).await;
            if response["result"]["resultType"] != "input_required" {
                return response;
            }
            round = self.next_round(&params, &response["result"], answers);
        }
    }

    /// Returns the request that answers the questions in a result.
    pub(crate) fn next_round(
        &mut self,
        params: &Value,
        result: &Value,
        answers: &[(&str, Value)],
    ) -> Value {
        let mut round = params.clone();
        round["requestState"] = result["requestState"].clone();
        for (key, question) in result["inputRequests"].as_object().unwrap() {
            self.asked.push((key.clone(), question["params"].clone()));
            round["inputResponses"][key] = answer(answers, key);
        }
        round
    }

    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> u64 {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.last_id += 1;
        let id = self.last_id;
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Waits for a response, and answers questions in the meantime.
    pub(crate) async fn response_to(&mut self, id: u64, answers: &[(&str, Value)]) -> Value {
        loop {
            let message = self.hear().await;
            if message["method"].is_null() {
                assert_eq!(message["id"], id, "{message}");
                return message;
            }
            if message["id"].is_null() {
                self.notified.push(message);
                continue;
            }
            let key = message["params"]["_meta"]["dev.askback/key"].as_str();
            let key = key.expect("a question has its key").to_owned();
            let result = answer(answers, &key);
            self.asked.push((key, message["params"].clone()));
            self.say(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
                .await;
        }
    }

    pub(crate) async fn notification(&mut self) -> Value {
        if self.notified.is_empty() {
            return self.hear().await;
        }
        self.notified.remove(0)
    }

    async fn shake_hands(&mut self) {
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let opened = self.result("initialize", params, &[]).await;
        assert_eq!(opened["protocolVersion"], self.revision);
        self.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    async fn say(&mut self, message: Value) {
        let message = message.to_string().into_bytes();
        self.sender.send(message).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let message = self.receiver.receive().await.unwrap();
        serde_json::from_slice(&message.expect("the server is there")).unwrap()
    }
}

pub(crate) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn answer(answers: &[(&str, Value)], key: &str) -> Value {
    let found = answers.iter().find(|(known, _)| *known == key);
    found
        .unwrap_or_else(|| panic!("no answer is prepared for `{key}`"))
        .1
        .clone()
}
