//! Questions that break the rules are refused, whichever API the author asks them with.

use std::collections::BTreeSet;

use askback::{
    Ctx, Error, Form, Limits, Prompt, Result, Revision, Server, State, Tool,
    forms::FormSchema,
    protocol::{
        CallToolResult, CreateMessageParams, ElicitParams, ElicitUrlParams, GetPromptResult,
        InputRequest, InputRequiredResult, Outcome, TaskSupport,
    },
    testing::Wire,
};
use serde_json::{Value, json};

type Round = Vec<(String, InputRequest)>;

async fn by_hand<T>(State(round): State<Round>) -> Result<Outcome<T>> {
    Ok(Outcome::NeedInput(InputRequiredResult {
        input_requests: Some(round.into_iter().collect()),
        ..InputRequiredResult::default()
    }))
}

fn one(question: impl Into<InputRequest>) -> Round {
    vec![("question".to_owned(), question.into())]
}

fn form(schema: Value) -> ElicitParams {
    let schema: FormSchema = serde_json::from_value(schema).expect("a form");
    ElicitParams::form("Well?", schema)
}

fn fields(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn sampled(messages: Value) -> CreateMessageParams {
    let params = json!({"messages": messages, "maxTokens": 9});
    serde_json::from_value(params).expect("a request to a model")
}

/// Rounds that break a rule, each with the expected error.
fn unfit() -> Vec<(Round, &'static str)> {
    let link = |url: &str| one(ElicitParams::url("Open.", url));
    let many = (0..17).map(|at| {
        let question = form(fields(json!({"user": {"type": "string"}})));
        (format!("q{at}"), question.into())
    });
    let alone = json!([{"role": "user", "content": [
        {"type": "tool_result", "toolUseId": "1", "content": []},
        {"type": "text", "text": "and more"},
    ]}]);
    vec![
        (
            one(form(fields(json!({"password": {"type": "string"}})))),
            "looks like a secret",
        ),
        (
            one(form(fields(
                json!({"a": {"type": "string", "title": "API key"}}),
            ))),
            "looks like a secret",
        ),
        (
            one(form(fields(
                json!({"a": {"type": "integer", "minimum": 2, "maximum": 1}}),
            ))),
            "this form cannot be asked",
        ),
        (link("javascript:alert(1)"), "absolute https URL"),
        (link("https://ada:pw@example.com/"), "carry credentials"),
        (link("http://example.com/"), "http is for pages of this"),
        (one(sampled(alone)), "this cannot be asked"),
        (many.collect(), "too many questions at once"),
    ]
}

fn server(round: Round) -> Server {
    Server::new("tests", "1")
        .state(round)
        .tool(Tool::new("tool", by_hand::<CallToolResult>))
        .tool(Tool::new("task", by_hand::<CallToolResult>).task(TaskSupport::Optional))
        .prompt(Prompt::new("prompt", by_hand::<GetPromptResult>))
        .build()
        .expect("the server is whole")
}

fn capabilities() -> Value {
    json!({
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    })
}

fn stateless(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// The outcome of a call, as text.
async fn called(server: &Server, revision: Revision, method: &str, name: &str) -> String {
    let mut wire = Wire::connect(server);
    let capabilities = capabilities();
    let params = json!({"name": name});
    if revision == Revision::LATEST {
        wire.request(method, stateless(params, &capabilities)).await;
    } else {
        wire.initialize(revision, &capabilities).await;
        wire.request(method, params).await;
    }
    let mut heard = wire.hear().await.expect("an answer");
    while heard["result"]["status"] == "working" {
        let task = json!({"taskId": heard["result"]["taskId"]});
        wire.request("tasks/get", stateless(task, &capabilities))
            .await;
        heard = wire.hear().await.expect("a task");
        tokio::task::yield_now().await;
    }
    heard.to_string()
}

// Shows EL-01, EL-15, EL-34, EL-45, SA-22.
#[tokio::test(start_paused = true)]
async fn a_round_written_by_hand_is_checked_as_any_other() {
    for (round, says) in unfit() {
        let server = server(round.clone());
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            for (method, name) in [
                ("tools/call", "tool"),
                ("tools/call", "task"),
                ("prompts/get", "prompt"),
            ] {
                let heard = called(&server, revision, method, name).await;
                assert!(heard.contains(says), "{revision} {name} {round:?}: {heard}");
                let leaves = [
                    "inputRequests",
                    "elicitation/create",
                    "sampling/createMessage",
                ];
                let left = leaves.iter().any(|leaves| heard.contains(leaves));
                assert!(!left, "{revision} {name} {round:?}: {heard}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_round_written_by_hand_is_asked_if_the_client_supports_it() {
    let server = server(one(form(fields(json!({"user": {"type": "string"}})))));
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for (method, name) in [("tools/call", "tool"), ("prompts/get", "prompt")] {
            let heard = called(&server, revision, method, name).await;
            assert!(heard.contains("requestedSchema"), "{revision}: {heard}");
        }
    }
}

async fn requires(State(url): State<&'static str>) -> Result<String> {
    let link = |url: &str| ElicitUrlParams {
        message: "Open.".to_owned(),
        url: url.to_owned(),
        ..ElicitUrlParams::default()
    };
    Err(Error::url_required(link("https://a.example/"), [link(url)]))
}

// Shows EL-09, EL25-06, EL25-07, EL25-08, EL25-11.
#[tokio::test(start_paused = true)]
async fn links_are_required_only_of_a_client_that_opens_them() {
    const GOOD: &str = "https://b.example/";
    let (opens, fills) = (
        json!({"elicitation": {"url": {}}}),
        json!({"elicitation": {}}),
    );
    for (revision, capabilities, url, tool, prompt) in [
        (Revision::V2025_11_25, &opens, GOOD, -32042, -32042),
        (Revision::V2025_11_25, &fills, GOOD, 0, -32603),
        (Revision::V2025_06_18, &opens, GOOD, 0, -32603),
        (Revision::V2026_07_28, &fills, GOOD, -32021, -32021),
        (Revision::V2026_07_28, &opens, GOOD, 0, -32603),
        (
            Revision::V2025_11_25,
            &opens,
            "http://b.example/",
            0,
            -32603,
        ),
        (Revision::V2025_11_25, &opens, "javascript:1", 0, -32603),
    ] {
        let server = Server::new("tests", "1")
            .state(url)
            .tool(Tool::new("requires", requires))
            .prompt(Prompt::new("requires", requires))
            .build()
            .expect("the server is whole");
        for (method, code) in [("tools/call", tool), ("prompts/get", prompt)] {
            let mut wire = Wire::connect(&server);
            let params = json!({"name": "requires"});
            if revision == Revision::LATEST {
                wire.request(method, stateless(params, capabilities)).await;
            } else {
                wire.initialize(revision, capabilities).await;
                wire.request(method, params).await;
            }
            let heard = wire.hear().await.expect("an answer");
            let got = heard["error"]["code"].as_i64().unwrap_or_default();
            assert_eq!(
                got, code,
                "{revision} {method} {capabilities} {url}: {heard}"
            );
            let links = heard["error"]["data"]["elicitations"].as_array();
            let links = links.into_iter().flatten();
            let ids: BTreeSet<_> = links
                .filter(|link| link["mode"] == "url")
                .filter_map(|link| link["elicitationId"].as_str())
                .collect();
            assert_eq!(ids.len(), 2 * usize::from(code == -32042), "{heard}");
        }
    }
}

/// Links that a handler asks with a future are checked as well.
#[tokio::test(start_paused = true)]
async fn a_link_that_is_not_encrypted_is_an_error_of_the_author() {
    let asks = async |ctx: Ctx| -> Result<String> {
        let _ = ctx.elicit_url("Open.", "http://example.com/").await?;
        Ok("opened".to_owned())
    };
    let server = Server::new("tests", "1")
        .tool(Tool::new("tool", asks))
        .build();
    let server = server.expect("the server is whole");
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let heard = called(&server, revision, "tools/call", "tool").await;
        assert!(heard.contains("a link must be https"), "{heard}");
    }
}

#[derive(Form)]
struct Guest {
    name: String,
}

async fn welcome(ctx: Ctx) -> Result<String> {
    let guest = ctx.incoming().answer::<Guest>("guest")?;
    let guest = guest.expect("the client answers").accepted()?;
    Ok(format!("Welcome, {}", guest.name))
}

/// On a mounted server, the limits of the handler's own server apply.
#[tokio::test]
async fn an_answer_to_a_round_written_by_hand_is_held_to_the_limits_of_its_server() {
    let mut limits = Limits::default();
    limits.forms.answer_bytes = 5;
    let hotel = || {
        Server::new("hotel", "1")
            .limits(limits.clone())
            .tool(Tool::new("welcome", welcome))
    };
    let whole = Server::new("whole", "1").mount("hotel", hotel());
    for (server, tool) in [(hotel(), "welcome"), (whole, "hotel_welcome")] {
        let server = server.build().unwrap();
        for (name, says) in [("Grace", "Welcome, Grace"), ("Amelia", "5 bytes")] {
            let answers = json!({"guest": {"action": "accept", "content": {"name": name}}});
            let params = json!({"name": tool, "inputResponses": answers});
            let mut wire = Wire::connect(&server);
            wire.request("tools/call", stateless(params, &capabilities()))
                .await;
            let heard = wire.hear().await.expect("an answer").to_string();
            assert!(heard.contains(says), "{tool}: {heard}");
        }
    }
}
