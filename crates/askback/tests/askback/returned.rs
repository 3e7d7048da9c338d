//! What handlers may return, and the errors they may end with.

use std::io;

use askback::{
    Ctx, Json, PlainJson, Result, Server, ServerBuilder,
    handler::JsonWithText,
    prompt, resource,
    testing::{self, Person, Wire},
    tool,
};
use serde_json::{Value, json};

#[derive(Debug, thiserror::Error)]
#[error("the plane is full")]
struct Full;

#[tool]
async fn text() -> String {
    "Booked.".to_owned()
}

#[tool]
async fn nothing() {}

#[tool]
async fn number(nights: u8) -> u32 {
    u32::from(nights) * 120
}

#[tool]
async fn truth() -> bool {
    true
}

#[tool]
async fn value() -> PlainJson<Value> {
    PlainJson(json!({"nights": 7}))
}

#[tool]
async fn in_words() -> Result<JsonWithText<PlainJson<Value>>> {
    Ok(PlainJson(json!({"nights": 7})).with_text("Seven nights."))
}

#[tool]
async fn own_error() -> Result<String, Full> {
    Err(Full)
}

#[tool]
async fn machine_error() -> io::Result<String> {
    Err(io::Error::other("/canary"))
}

#[tool]
async fn asks_and_fails(ctx: Ctx) -> Result<()> {
    ctx.elicit::<bool>("Sure?").await?.accepted()?;
    Err(Full)?
}

#[prompt]
async fn plan(city: String) -> String {
    format!("Plan a trip to {city}.")
}

#[resource(uri = "travel://places")]
async fn places() -> &'static str {
    "Rome"
}

#[resource(uri = "travel://rates")]
async fn rates() -> Json<Vec<u8>> {
    Json(vec![1, 2])
}

fn server() -> ServerBuilder {
    let server = Server::new("agency", "1")
        .tool(text)
        .tool(nothing)
        .tool(number)
        .tool(truth)
        .tool(value)
        .tool(in_words)
        .tool(own_error)
        .tool(machine_error)
        .tool(asks_and_fails)
        .prompt(plan)
        .resource(places)
        .resource(rates);
    #[cfg(feature = "anyhow")]
    let server = foreign::add(server);
    server
}

async fn check(tool: &str, arguments: Value, is_error: bool, text: &str) {
    let call = testing::call(server, tool, arguments).with(Person::new().decline("yes_or_no"));
    let report = call.in_every_revision().await;
    let run = report.assert_same();
    assert_eq!(
        (run.is_error(), run.text()),
        (is_error, text.to_owned()),
        "{tool}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_returns_a_plain_value_or_any_error() {
    let none = json!({});
    check("text", none.clone(), false, "Booked.").await;
    check("nothing", none.clone(), false, "").await;
    check("number", json!({"nights": 2}), false, "240").await;
    check("truth", none.clone(), false, "true").await;
    check("value", none.clone(), false, r#"{"nights":7}"#).await;
    check("in_words", none.clone(), false, "Seven nights.").await;
    check("own_error", none.clone(), true, "the plane is full").await;
    let failed =
        "The server failed while it handled this request; its operator finds the cause in the log.";
    check("machine_error", none.clone(), true, failed).await;
    let declined = "Nothing was done: the person declined.";
    check("asks_and_fails", none, false, declined).await;
}

#[tokio::test]
async fn prompts_and_resources_return_plain_values() {
    let server = server().build().unwrap();
    for (method, params, expected) in [
        (
            "prompts/get",
            json!({"name": "plan", "arguments": {"city": "Rome"}}),
            json!({"messages": [{
                "role": "user", "content": {"type": "text", "text": "Plan a trip to Rome."}
            }]}),
        ),
        (
            "resources/read",
            json!({"uri": "travel://places"}),
            json!({"contents": [{"uri": "travel://places", "text": "Rome"}]}),
        ),
        (
            "resources/read",
            json!({"uri": "travel://rates"}),
            json!({"contents": [{
                "uri": "travel://rates", "mimeType": "application/json", "text": "[1,2]"
            }]}),
        ),
    ] {
        let mut wire = Wire::connect(&server);
        wire.initialize(askback::Revision::V2025_06_18, &json!({}))
            .await;
        wire.request(method, params).await;
        let response = wire.hear().await.unwrap();
        assert_eq!(response["result"], expected, "{method}");
    }
}

#[cfg(feature = "anyhow")]
mod foreign {
    use anyhow::{Context, anyhow, bail};
    use askback::Error;

    use super::*;

    #[tool]
    async fn words() -> anyhow::Result<String> {
        bail!("the plane is full")
    }

    #[tool]
    async fn context() -> anyhow::Result<String> {
        Err(io::Error::other("/canary")).context("the rates cannot be read")
    }

    #[tool]
    async fn machine() -> anyhow::Result<String> {
        Err(io::Error::other("/canary"))?
    }

    #[tool]
    async fn declined(ctx: Ctx) -> anyhow::Result<()> {
        let sure = ctx.elicit::<bool>("Sure?").await?;
        sure.accepted()?;
        Ok(())
    }

    #[tool]
    async fn converted() -> Result<()> {
        Err(anyhow!("the plane is full"))?
    }

    #[tool]
    async fn invalid() -> anyhow::Result<()> {
        Err(Error::invalid_params("there is no such room"))?
    }

    pub(super) fn add(server: ServerBuilder) -> ServerBuilder {
        let server = server.tool(words).tool(context).tool(machine);
        server.tool(declined).tool(converted).tool(invalid)
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_of_anyhow_says_its_outermost_words() {
        let none = json!({});
        check("words", none.clone(), true, "the plane is full").await;
        check("context", none.clone(), true, "the rates cannot be read").await;
        let failed = "The server failed while it handled this request; its operator finds the cause in the log.";
        check("machine", none.clone(), true, failed).await;
        let declined = "Nothing was done: the person declined.";
        check("declined", none.clone(), false, declined).await;
        check("converted", none.clone(), true, "the plane is full").await;
        check("invalid", none, true, "there is no such room").await;
    }
}
