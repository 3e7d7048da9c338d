//! Attacks by a client on the request state that it carries.

use std::time::Duration;

use askback::{
    Ctx, Form, Limits, Prompt, Result, Server, ServerBuilder, Tool,
    keys::{Key, KeyRing, KeySource},
    store::{MemoryStore, Millis, PutRequest, Store},
    testing::{TestClock, Wire},
};
use askback_core::{
    ask::seal::{self, Binding, Entropy},
    canonical,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::Seat;

#[derive(Form)]
struct Rows {
    rows: f64,
}

/// Asks in two rounds, so that the second round has a settled answer.
async fn reserve(ctx: Ctx, rows: Rows) -> Result<String> {
    let first: Seat = ctx.elicit("A seat?").await?.accepted()?;
    let second: Seat = ctx.elicit("Another?").await?.accepted()?;
    Ok(format!("{} {} {}", rows.rows, first.window, second.window))
}

fn key(byte: u8) -> Key {
    Key::new(&[byte; 32])
}

fn builder(ring: KeyRing) -> ServerBuilder {
    Server::new("agency", "1")
        .tool(Tool::new("reserve", reserve))
        .tool(Tool::new("other", reserve))
        .prompt(Prompt::new("reserve", reserve))
        .keys(KeySource::Ring(ring))
}

/// A client's request. Each case changes parts of it.
#[derive(Clone)]
struct Attempt {
    method: &'static str,
    params: Value,
}

impl Attempt {
    fn new() -> Self {
        Self {
            method: "tools/call",
            params: json!({
                "name": "reserve",
                "arguments": {"rows": 1},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
                },
            }),
        }
    }

    fn retry(result: &Value, answers: Value) -> Self {
        let mut attempt = Self::new();
        attempt.params["requestState"] = result["requestState"].clone();
        attempt.params["inputResponses"] = answers;
        attempt
    }

    fn change(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    async fn send(self, server: &Server) -> Value {
        let mut wire = Wire::connect(server);
        wire.request(self.method, self.params).await;
        wire.hear().await.expect("every request is answered")
    }
}

fn window(key: &str, window: bool) -> Value {
    json!({key: {"action": "accept", "content": {"window": window}}})
}

async fn asked(server: &Server) -> Value {
    let response = Attempt::new().send(server).await;
    assert_eq!(
        response["result"]["resultType"], "input_required",
        "{response}"
    );
    response["result"].clone()
}

fn refused(response: &Value) {
    let error = &response["error"];
    assert_eq!(error["code"], -32602, "{response}");
    assert_eq!(
        error["message"], "Invalid or expired requestState",
        "{response}"
    );
    assert!(error.get("data").is_none(), "{response}");
}

fn goes_on(response: &Value) {
    let requests = &response["result"]["inputRequests"];
    assert!(requests["seat-2"].is_object(), "{response}");
}

// Shows MR-10, MR-23.
#[tokio::test(start_paused = true)]
async fn a_state_opens_for_its_own_request_and_no_other() {
    let server = builder(KeyRing::new(key(1))).build().unwrap();
    let first = asked(&server).await;
    let retry = || Attempt::retry(&first, window("seat", true));
    goes_on(&retry().send(&server).await);
    for spelling in ["1.0", "1e0", "10e-1"] {
        let number: Value = serde_json::from_str(spelling).unwrap();
        let same = retry().change(|attempt| attempt.params["arguments"]["rows"] = number);
        goes_on(&same.send(&server).await);
    }
    let others: [fn(&mut Attempt); 5] = [
        |attempt| attempt.params["name"] = "other".into(),
        |attempt| attempt.params["arguments"]["rows"] = 2.into(),
        |attempt| attempt.params["arguments"]["seats"] = 2.into(),
        |attempt| {
            attempt.params["arguments"].take();
            attempt.params["arguments"] = json!({});
        },
        |attempt| {
            attempt.method = "prompts/get";
            attempt.params["arguments"]["rows"] = "1".into();
        },
    ];
    for change in others {
        refused(&retry().change(change).send(&server).await);
    }
    let elsewhere = builder(KeyRing::new(key(1)))
        .service("elsewhere")
        .build()
        .unwrap();
    refused(&retry().send(&elsewhere).await);
}

// Shows MR-07, MR-23.
#[tokio::test(start_paused = true)]
async fn a_changed_state_is_refused() {
    let server = builder(KeyRing::new(key(1))).build().unwrap();
    let first = asked(&server).await;
    let state = first["requestState"].as_str().unwrap();
    let flipped = (0..state.len()).step_by(7).map(|at| {
        let other = if state.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        format!("{}{other}{}", &state[..at], &state[at + 1..])
    });
    let cut = [
        &state[..state.len() - 1],
        &state[1..],
        "",
        "AAAA",
        "no state at all",
    ];
    let longer = [format!("{state}A"), "A".repeat(1 << 17)];
    for forged in flipped.chain(cut.map(str::to_owned)).chain(longer) {
        let attempt = Attempt::retry(&first, window("seat", true))
            .change(|attempt| attempt.params["requestState"] = forged.into());
        refused(&attempt.send(&server).await);
    }
}

// Shows MR-09, MR-23.
#[tokio::test(start_paused = true)]
async fn a_state_does_not_last() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let server = builder(KeyRing::new(key(1)))
        .clock(TestClock::new())
        .build()
        .unwrap();
    let first = asked(&server).await;
    let retry = || Attempt::retry(&first, window("seat", true));
    tokio::time::advance(minutes(15)).await;
    goes_on(&retry().send(&server).await);
    tokio::time::advance(Duration::from_millis(1)).await;
    refused(&retry().send(&server).await);

    // Each round is in time, but the whole flow becomes too old.
    let mut limits = Limits::default();
    limits.asking.rounds = 1000;
    let server = builder(KeyRing::new(key(1)))
        .clock(TestClock::new())
        .limits(limits)
        .build()
        .unwrap();
    let mut last = asked(&server).await;
    for _ in 0..24 * 6 {
        tokio::time::advance(minutes(10)).await;
        let response = Attempt::retry(&last, json!({})).send(&server).await;
        assert!(response["result"]["requestState"].is_string(), "{response}");
        last = response["result"].clone();
    }
    tokio::time::advance(minutes(10)).await;
    refused(&Attempt::retry(&last, json!({})).send(&server).await);
}

#[tokio::test(start_paused = true)]
async fn keys_are_rotated_with_an_overlap() {
    let old = builder(KeyRing::new(key(1))).build().unwrap();
    let both = builder(KeyRing::new(key(2)).and_accept(key(1)))
        .build()
        .unwrap();
    let new = builder(KeyRing::new(key(2))).build().unwrap();
    let first = asked(&old).await;
    let second = Attempt::retry(&first, window("seat", true))
        .send(&both)
        .await;
    goes_on(&second);
    refused(
        &Attempt::retry(&first, window("seat", true))
            .send(&new)
            .await,
    );
    refused(
        &Attempt::retry(&second["result"], json!({}))
            .send(&old)
            .await,
    );
    let retry = Attempt::retry(&second["result"], window("seat-2", false));
    let done = retry.send(&new).await;
    assert_eq!(
        done["result"]["content"][0]["text"], "1 true false",
        "{done}"
    );
}

// Shows MR-14, MR-21, MR-22.
#[tokio::test(start_paused = true)]
async fn only_what_was_asked_is_answered() {
    let server = builder(KeyRing::new(key(1))).build().unwrap();
    let first = asked(&server).await;
    // Answers to questions that were not asked yet are ignored.
    let mut early = window("seat-2", true);
    early["harbour"] = json!({"action": "accept", "content": {}});
    let again = Attempt::retry(&first, early).send(&server).await;
    let requests = again["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["seat"], "{again}");

    let second = Attempt::retry(&first, window("seat", true))
        .send(&server)
        .await;
    let mut answers = window("seat-2", false);
    answers["seat"] = window("seat", false)["seat"].clone();
    let done = Attempt::retry(&second["result"], answers)
        .send(&server)
        .await;
    assert_eq!(
        done["result"]["content"][0]["text"], "1 true false",
        "{done}"
    );
}

// Shows MR-22, BA-26.
#[tokio::test(start_paused = true)]
async fn answers_without_a_state_answer_nothing() {
    let server = builder(KeyRing::new(key(1))).build().unwrap();
    let answering =
        || Attempt::new().change(|attempt| attempt.params["inputResponses"] = window("seat", true));
    let mut wire = Wire::connect(&server);
    // An answer without a state is ignored, even on a connection that was just asked.
    for attempt in [answering(), Attempt::new(), answering()] {
        wire.request(attempt.method, attempt.params).await;
        let response = wire.hear().await.expect("every request is answered");
        assert!(
            response["result"]["inputRequests"]["seat"].is_object(),
            "{response}"
        );
    }
}

/// A token that refers to the stored state with this id.
fn named(id: [u8; 32]) -> String {
    let binding = Binding {
        audience: "agency",
        tenant: None,
        issuer: None,
        subject: None,
        client_id: None,
        method: "tools/call",
        target: "reserve",
        arguments: canonical::digest_of(&json!({"rows": 1})).unwrap(),
        revision: "2026-07-28",
    };
    let name = json!({"p": URL_SAFE_NO_PAD.encode(id)}).to_string();
    let ring = KeyRing::new(key(1));
    seal::seal(&ring, &binding, name.as_bytes(), Entropy([7; 28]), 4096).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_kept_state_that_names_another_is_refused() {
    let store = std::sync::Arc::new(MemoryStore::default());
    let mut limits = Limits::default();
    limits.asking.spill_bytes = 8;
    let server = builder(KeyRing::new(key(1)))
        .limits(limits)
        .store(store.clone())
        .build()
        .unwrap();
    let first = asked(&server).await;
    let kept = |id: [u8; 32], text: String| {
        let store = store.clone();
        async move {
            let state = PutRequest {
                owner: None,
                id,
                bytes: text.as_bytes(),
                now: 0,
                expires: Millis::MAX,
            };
            store.put(state).await
        }
    };
    // One token refers to itself, and one to an id that the store does not have.
    kept([1; 32], named([1; 32])).await.unwrap();
    kept([2; 32], named([3; 32])).await.unwrap();
    for id in [[1; 32], [2; 32], [3; 32]] {
        let forged = named(id);
        let attempt = Attempt::retry(&first, window("seat", true))
            .change(|attempt| attempt.params["requestState"] = forged.into());
        refused(&attempt.send(&server).await);
    }
    goes_on(
        &Attempt::retry(&first, window("seat", true))
            .send(&server)
            .await,
    );
}

#[cfg(feature = "sqlite")]
fn bytes_in(directory: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn other_members_of_an_answer_are_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let store = askback::store::SqliteStore::open(directory.path().join("store.db")).unwrap();
    let server = builder(KeyRing::new(key(1))).store(store).build().unwrap();
    let before = bytes_in(directory.path());
    let first = asked(&server).await;
    let much = "x".repeat(1 << 20);
    for _ in 0..8 {
        let mut answers = window("seat", true);
        answers["seat"]["_meta"] = json!({"com.example/much": much});
        answers["seat"]["much"] = json!(much);
        let response = Attempt::retry(&first, answers).send(&server).await;
        goes_on(&response);
        let state = response["result"]["requestState"].as_str().unwrap();
        assert!(state.len() < 2048, "{}", state.len());
    }
    assert_eq!(bytes_in(directory.path()), before);
}

#[tokio::test]
async fn an_error_about_an_answer_is_short() {
    let server = builder(KeyRing::new(key(1))).build().unwrap();
    let first = asked(&server).await;
    let much = "x".repeat(1 << 20);
    let answers = json!({"seat": {"action": "accept", "content": {(much): true}}});
    let response = Attempt::retry(&first, answers).send(&server).await;
    let state = response["result"]["requestState"].as_str();
    assert!(
        state.is_some_and(|state| state.len() < 8192),
        "{}",
        &response.to_string()[..300]
    );
    let message = &response["result"]["inputRequests"]["seat"]["params"]["message"];
    let message = message.as_str().unwrap();
    assert!(message.contains("could not be used"), "{message}");
    assert!(message.len() < 4096, "{}", message.len());
}
