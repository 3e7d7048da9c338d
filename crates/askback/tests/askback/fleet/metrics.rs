//! The metrics of a call are the same in a session as in the stateless era.

use std::time::Duration;

use askback::{Ctx, Error, Result, Revision};
use serde_json::{Value, json};

use super::{Shared, Who, accept};
use crate::log::Log;

const DURATION: &str = "histogram.mcp.server.operation.duration=";

pub(super) async fn refuses(ctx: Ctx) -> Result<String> {
    let who: Who = ctx.elicit("Who travels?").await?.accepted()?;
    Err(Error::new(format!("there is no seat for {}", who.name)))
}

/// Returns what was counted, without durations.
fn counted(log: &Log) -> Vec<String> {
    let text = log.text();
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| {
        line.starts_with(DURATION) || line.starts_with("monotonic_counter.askback.")
    });
    lines
        .map(|line| match line.strip_prefix(DURATION) {
            Some(rest) => rest.split_once(' ').expect("more fields").1.to_owned(),
            None => line.to_owned(),
        })
        .collect()
}

/// Returns how the requests of a tool ended.
fn ended(counted: &[String]) -> Vec<&str> {
    let requests = counted.iter();
    let requests = requests.filter(|line| line.starts_with("mcp.method.name=\"tools/call\""));
    let outcomes = requests.filter_map(|line| line.split_once("askback.outcome=\""));
    outcomes
        .filter_map(|(_, rest)| rest.split('"').next())
        .collect()
}

/// Returns how the requests of a tool ended, by the log.
pub(super) fn calls_ended(log: &Log) -> Vec<String> {
    let counted = counted(log);
    ended(&counted).into_iter().map(str::to_owned).collect()
}

/// The answer to a question, by its form.
fn answer(question: &Value) -> Value {
    let fields = question["params"]["requestedSchema"]["properties"].as_object();
    let (field, schema) = fields.and_then(|it| it.iter().next()).expect("a field");
    accept(match schema["type"].as_str() {
        Some("string") => json!({ field: "Ada" }),
        _ => json!({ field: true }),
    })
}

async fn in_session(shared: &Shared, tool: &str) -> Value {
    let node = shared.node();
    let session = node
        .open_with(Revision::V2025_11_25, json!({"elicitation": {}}))
        .await;
    let called = json!({"name": tool});
    let mut stream = session.call(1, "tools/call", called).await;
    if !stream.is_stream() {
        return stream.json().await;
    }
    loop {
        let message = stream.message().await;
        if message["method"] != "elicitation/create" {
            return message;
        }
        session.answer(&message, answer(&message)).await;
    }
}

async fn in_rounds(shared: &Shared, tool: &str) -> Value {
    let node = shared.node();
    let mut params = json!({"name": tool});
    loop {
        let answered = node.call("tools/call", params.clone()).await.answer().await;
        let round = &answered["result"];
        let Some(questions) = round["inputRequests"].as_object() else {
            return answered;
        };
        let answers = questions.iter();
        let answers = answers.map(|(key, question)| (key.clone(), answer(question)));
        params["inputResponses"] = Value::Object(answers.collect());
        params["requestState"] = round["requestState"].clone();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_counted_alike_in_both_eras() {
    for (tool, outcomes) in [
        ("book", &["asked", "asked", "done"][..]),
        ("refuses", &["asked", "error"]),
        ("hello", &["done"]),
    ] {
        let log = Log::default();
        let listening = log.listen();
        in_session(&Shared::new(), tool).await;
        drop(listening);
        let in_session = counted(&log);
        let log = Log::default();
        let listening = log.listen();
        in_rounds(&Shared::new(), tool).await;
        drop(listening);
        assert_eq!(in_session, counted(&log), "{tool}");
        assert_eq!(ended(&in_session), outcomes, "{tool}: {in_session:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_counted() {
    const FEW: Duration = Duration::from_secs(6);
    let log = Log::default();
    let _listening = log.listen();
    let shared = Shared::new();
    let node = shared.node();
    let session = node
        .open_with(Revision::V2025_11_25, json!({"elicitation": {}}))
        .await;
    let mut stream = session.call(1, "tools/call", json!({"name": "book"})).await;
    let question = stream.message().await;
    tokio::time::sleep(FEW).await;
    let waiting = |count: u64| {
        format!(
            "gauge.askback.waiting_calls={count} gauge.askback.running_calls=0 gauge.askback.overdue_calls=0 \
             gauge.askback.lag=0.0"
        )
    };
    assert!(log.text().contains(&waiting(1)), "{}", log.text());
    assert!(!log.text().contains(&waiting(0)));
    session.answer(&question, answer(&question)).await;
    let question = stream.message().await;
    session.answer(&question, answer(&question)).await;
    stream.message().await;
    tokio::time::sleep(FEW).await;
    assert!(log.text().contains(&waiting(0)), "{}", log.text());
}
