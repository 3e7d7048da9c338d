//! What each scenario requires of a client.

use askback::{
    Error, Result,
    client::{Client, SkillError},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Wish;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCalls {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Value,
}

pub(super) async fn play(client: &Client, wish: &Wish) -> Result<()> {
    match wish.scenario.as_str() {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {
            client.tools().await?;
            Ok(())
        }
        "tools_call" => {
            client.tools().await?;
            call(client, "add_numbers", json!({"a": 5, "b": 3})).await
        }
        "elicitation-sep1034-client-defaults" => {
            call(client, "test_client_elicitation_defaults", json!({})).await
        }
        "sse-retry" => call(client, "test_reconnection", json!({})).await,
        "sep-2322-client-request-state" => rounds(client).await,
        "http-standard-headers" => everything(client).await,
        "http-custom-headers" => {
            client.tools().await?;
            let calls = ToolCalls::deserialize(&wish.context)?.tool_calls;
            for ToolCall { name, arguments } in calls {
                call(client, &name, arguments).await?;
            }
            Ok(())
        }
        "http-invalid-tool-headers" => {
            for tool in client.tools().await? {
                call(client, &tool.name, json!({"region": "eu"})).await?;
            }
            Ok(())
        }
        "sep-2640-client-no-prefetch" => {
            client.skills().await?;
            Ok(())
        }
        tampered if tampered.starts_with("sep-2640-client-verify-") => load_skills(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        authorized if authorized.starts_with("auth/") => {
            client.tools().await?;
            call(client, "test-tool", json!({})).await
        }
        unknown => Err(Error::new(format!("there is no scenario `{unknown}`"))),
    }
}

/// Makes a call with a state, one without, and an unrelated call.
async fn rounds(client: &Client) -> Result<()> {
    // The unrelated call runs while the other one is asking.
    tokio::try_join!(
        call(client, "test_mrtr_echo_state", json!({})),
        call(client, "test_mrtr_unrelated", json!({})),
    )?;
    call(client, "test_mrtr_no_state", json!({})).await?;
    call(client, "test_mrtr_no_result_type", json!({})).await
}

async fn everything(client: &Client) -> Result<()> {
    for tool in client.tools().await? {
        call(client, &tool.name, json!({})).await?;
    }
    for resource in client.resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.get_prompt(&prompt.name, ()).await?;
    }
    Ok(())
}

/// Reads the files of each skill, up to the first file that differs from its entry.
async fn load_skills(client: &Client) -> Result<()> {
    for skill in client.skills().await? {
        for file in skill.resources.iter().flatten() {
            match client.read_skill_file(&skill, &file.uri).await {
                Ok(_) => {}
                Err(SkillError::Different(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
    Err(Error::new("no file differs from its entry"))
}

async fn echo_schema(client: &Client) -> Result<()> {
    let name = "json_schema_2020_12_tool";
    let tools = client.tools().await?;
    let Some(tool) = tools.into_iter().find(|tool| tool.name == name) else {
        return Err(Error::new(format!("the server has no tool `{name}`")));
    };
    call(
        client,
        "json_schema_echo",
        json!({"schema": tool.input_schema}),
    )
    .await
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<()> {
    let result = client.call_tool(tool, arguments).await?;
    if result.failed() {
        return Err(Error::new(format!("`{tool}` failed: {}", result.raw.get())));
    }
    Ok(())
}
