//! A client is asked what it said it can answer, and nothing else.

use askback::{
    Ctx, Result, Revision, Server, Tool,
    protocol::{CreateMessageParams, IncludeContext},
    testing::Wire,
};
use serde_json::{Value, json};

use super::Seat;

async fn form(ctx: Ctx) -> Result<()> {
    ctx.elicit::<Seat>("A seat?").await?;
    Ok(())
}

async fn link(ctx: Ctx) -> Result<()> {
    let url = "https://example.com/sign-in";
    ctx.elicit_url("Sign in.", url).await?;
    Ok(())
}

async fn model(ctx: Ctx) -> Result<()> {
    let params = CreateMessageParams::new("Well?", 9);
    ctx.sample(params).await?;
    Ok(())
}

async fn model_with_tools(ctx: Ctx) -> Result<()> {
    let params = CreateMessageParams {
        tools: Some(Vec::new()),
        ..CreateMessageParams::new("Well?", 9)
    };
    ctx.sample(params).await?;
    Ok(())
}

async fn model_with_context(ctx: Ctx) -> Result<()> {
    let params = CreateMessageParams {
        include_context: Some(IncludeContext::ThisServer),
        ..CreateMessageParams::new("Well?", 9)
    };
    ctx.sample(params).await?;
    Ok(())
}

async fn roots(ctx: Ctx) -> Result<()> {
    ctx.roots().await?;
    Ok(())
}

fn server() -> Server {
    Server::builder("agency", "1")
        .tool(Tool::new("form", form))
        .tool(Tool::new("link", link))
        .tool(Tool::new("model", model))
        .tool(Tool::new("model_with_tools", model_with_tools))
        .tool(Tool::new("model_with_context", model_with_context))
        .tool(Tool::new("roots", roots))
        .build()
        .unwrap()
}

/// Whether a client that declared this is asked by a tool.
async fn is_asked(revision: Revision, declared: &Value, tool: &str) -> bool {
    let mut wire = Wire::connect(&server());
    let mut params = json!({"name": tool});
    if revision == Revision::LATEST {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": declared,
        });
    } else {
        wire.initialize(revision, declared).await;
    }
    wire.request("tools/call", params).await;
    let heard = wire.hear().await.expect("every call comes to something");
    let asks = heard["method"].is_string() || heard["result"]["inputRequests"].is_object();
    let refused = heard["error"]["code"] == -32021 || heard["result"]["isError"] == true;
    assert!(asks != refused, "{revision} {declared} {tool}: {heard}");
    asks
}

// Shows EL-09, MR-13, RO-15, SA-07, SA-09, BA-46, LI25-16.
#[tokio::test(start_paused = true)]
async fn a_client_is_asked_what_it_declared() {
    let tools = [
        "form",
        "link",
        "model",
        "model_with_tools",
        "model_with_context",
        "roots",
    ];
    for (declared, asked) in [
        (json!({}), &[][..]),
        (json!({"elicitation": {}}), &["form"]),
        (json!({"elicitation": {"form": {}}}), &["form"]),
        (json!({"elicitation": {"url": {}}}), &["link"]),
        (
            json!({"elicitation": {"form": {}, "url": {}}}),
            &["form", "link"],
        ),
        (json!({"sampling": {}}), &["model"]),
        (
            json!({"sampling": {"tools": {}}}),
            &["model", "model_with_tools"],
        ),
        (
            json!({"sampling": {"context": {}}}),
            &["model", "model_with_context"],
        ),
        (json!({"roots": {}}), &["roots"]),
    ] {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            for tool in tools {
                assert_eq!(
                    is_asked(revision, &declared, tool).await,
                    asked.contains(&tool),
                    "{revision} {declared} {tool}"
                );
            }
        }
    }
}
