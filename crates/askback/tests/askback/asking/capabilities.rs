//! A server asks a client only what the client declared that it can answer.

use askback::{
    Ctx, Prompt, Resource, ResourceTemplate, Result, Revision, Server, Tool,
    protocol::{CreateMessageParams, IncludeContext, InputRequiredResult},
    server::CompletionRequest,
    testing::Wire,
};
use serde_json::{Value, json};

use super::Seat;

async fn form(ctx: Ctx) -> Result<()> {
    let _ = ctx.elicit::<Seat>("A seat?").await?;
    Ok(())
}

async fn link(ctx: Ctx) -> Result<()> {
    let url = "https://example.com/sign-in";
    let _ = ctx.elicit_url("Sign in.", url).await?;
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
    Server::new("agency", "1")
        .tool(Tool::new("form", form))
        .tool(Tool::new("link", link))
        .tool(Tool::new("model", model))
        .tool(Tool::new("model_with_tools", model_with_tools))
        .tool(Tool::new("model_with_context", model_with_context))
        .tool(Tool::new("roots", roots))
        .build()
        .unwrap()
}

const MAY_BE_ASKED: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The parameters, with the capabilities of a client that accepts every question.
fn asking(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
    });
    params
}

#[derive(askback::Form)]
struct Wish {
    wish: String,
}

// Shows MR-04.
#[tokio::test(start_paused = true)]
async fn only_what_runs_a_handler_asks() {
    let wishes = async |_: CompletionRequest| Ok(vec!["a".to_owned()]);
    let asks = async |ctx: Ctx| {
        ctx.elicit::<Seat>("A seat?").await?.accepted()?;
        Ok(String::new())
    };
    let wishing = async |ctx: Ctx, _: Wish| {
        ctx.elicit::<Seat>("A seat?").await?.accepted()?;
        Ok(String::new())
    };
    let server = Server::new("agency", "1")
        .tool(Tool::new("tool", asks))
        .prompt(Prompt::new("prompt", wishing).complete("wish", wishes))
        .resource(Resource::new("note://one", "one", asks))
        .resource_template(ResourceTemplate::new("note://{wish}/x", "x", wishing))
        .build()
        .unwrap();
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "prompt"},
        "argument": {"name": "wish", "value": ""},
    });
    for (method, params, asks) in [
        ("tools/call", json!({"name": "tool"}), true),
        (
            "prompts/get",
            json!({"name": "prompt", "arguments": {"wish": "a"}}),
            true,
        ),
        ("resources/read", json!({"uri": "note://one"}), true),
        ("resources/read", json!({"uri": "note://a/x"}), true),
        ("server/discover", json!({}), false),
        ("tools/list", json!({}), false),
        ("prompts/list", json!({}), false),
        ("resources/list", json!({}), false),
        ("resources/templates/list", json!({}), false),
        ("completion/complete", completion, false),
    ] {
        let mut wire = Wire::connect(&server);
        wire.request(method, asking(params)).await;
        let heard = wire.hear().await.unwrap();
        let expected = if asks { "input_required" } else { "complete" };
        assert_eq!(heard["result"]["resultType"], expected, "{method}: {heard}");
    }
}

// Shows MR-12.
#[tokio::test(start_paused = true)]
async fn a_round_that_asks_nothing_is_the_authors_mistake() {
    let empty = async || Ok(InputRequiredResult::default());
    let server = Server::new("agency", "1")
        .tool(Tool::new("tool", empty))
        .prompt(Prompt::new("prompt", empty))
        .resource(Resource::new("note://one", "one", empty))
        .build()
        .unwrap();
    for (method, params) in [
        ("tools/call", json!({"name": "tool"})),
        ("prompts/get", json!({"name": "prompt"})),
        ("resources/read", json!({"uri": "note://one"})),
    ] {
        let mut wire = Wire::connect(&server);
        wire.request(method, asking(params)).await;
        let heard = wire.hear().await.unwrap();
        let is_error = heard["error"].is_object() || heard["result"]["isError"] == true;
        assert!(is_error, "{method}: {heard}");
        assert!(heard["result"]["resultType"] != "input_required", "{heard}");
    }
}

/// Whether the tool asks a client with these capabilities.
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
    let asked = heard["result"]["inputRequests"].as_object();
    for request in asked.into_iter().flat_map(serde_json::Map::values) {
        let method = request["method"].as_str().unwrap_or_default();
        assert!(MAY_BE_ASKED.contains(&method), "{heard}");
    }
    asks
}

// Shows EL-09, MR-13, RO-15, SA-07, SA-09, BA-46, LI25-16, MR-06.
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
