//! Schemas of tools: what is listed, and that arguments and results are checked.

mod around;
mod built;
mod client;
mod declined;

use askback::{
    Ctx, Error, Form, Json, PlainJson, Result, Revision, Server, Tool,
    protocol::{CallToolResult, ContentBlock, RawJson, Schema, TaskSupport},
    schemars::{self, JsonSchema},
    testing::Wire,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::asking::Seat;

/// The expenses.
#[derive(Deserialize, JsonSchema)]
struct Expense {
    /// The thing that was bought.
    items: Vec<Item>,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Item {
    amount: f64,
    #[serde(default)]
    paid_by: PaidBy,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PaidBy {
    #[default]
    Card,
    Cash,
}

/// The sum.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Total {
    pub(crate) total: f64,
    pub(crate) by: Vec<Part>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Part {
    paid_by: PaidBy,
    amount: f64,
}

async fn add_up(Json(Expense { items, note }): Json<Expense>) -> Result<Json<Total>> {
    if note.as_deref() == Some("private") {
        return Err(Error::new("private expenses are not paid"));
    }
    let parts = items.iter().map(|item| Part {
        paid_by: item.paid_by,
        amount: item.amount,
    });
    let total = items.iter().map(|item| item.amount).sum();
    Ok(Json(Total {
        total,
        by: parts.collect(),
    }))
}

pub(crate) fn schema(schema: &Value) -> Schema {
    Schema::new(schema).expect("it is an object")
}

pub(crate) fn server(tool: Tool) -> Server {
    Server::new("desk", "1").tool(tool).build().unwrap()
}

/// The result of a request, as a client that declines every question.
pub(crate) async fn ask(
    server: &Server,
    revision: Revision,
    method: &str,
    params: &Value,
) -> Value {
    let mut wire = Wire::connect(server);
    let capabilities = json!({
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    let mut round = params.clone();
    if revision == Revision::LATEST {
        round["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
    } else {
        wire.initialize(revision, &capabilities).await;
    }
    let no = json!({"action": "decline", "_meta": {"dev.askback/answered-by": "person"}});
    wire.request(method, round.clone()).await;
    loop {
        let heard = wire.hear().await.expect("every request is answered");
        if heard["method"] == "elicitation/create" {
            let answer = json!({"jsonrpc": "2.0", "id": heard["id"], "result": no});
            wire.say(&answer).await;
        } else if heard["result"]["resultType"] == "input_required" {
            let asked = heard["result"]["inputRequests"].as_object().unwrap();
            let answers = asked.keys().map(|key| (key.clone(), no.clone()));
            round["inputResponses"] = Value::Object(answers.collect());
            round["requestState"] = heard["result"]["requestState"].clone();
            wire.request(method, round.clone()).await;
        } else if heard["id"].is_u64() || heard["id"].is_string() {
            assert!(heard["error"].is_null(), "{revision}: {heard}");
            return heard["result"].clone();
        }
    }
}

pub(crate) async fn call(server: &Server, revision: Revision, arguments: Value) -> Value {
    let tools = ask(server, revision, "tools/list", &json!({})).await;
    let params = json!({"name": tools["tools"][0]["name"], "arguments": arguments});
    ask(server, revision, "tools/call", &params).await
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

async fn listed(tool: Tool, revision: Revision) -> Value {
    let listed = ask(&server(tool), revision, "tools/list", &json!({})).await;
    listed["tools"][0].clone()
}

// Shows TO-10.
#[tokio::test]
async fn a_type_gives_the_schemas_of_arguments_and_results() {
    let tool = listed(Tool::new("add_up", add_up), Revision::LATEST).await;
    let expected = json!({
        "title": "Expense",
        "description": "The expenses.",
        "type": "object",
        "properties": {
            "items": {
                "description": "The thing that was bought.",
                "type": "array",
                "items": {"$ref": "#/$defs/Item"},
            },
            "note": {"type": ["string", "null"]},
        },
        "required": ["items"],
        "$defs": {
            "Item": {
                "type": "object",
                "properties": {
                    "amount": {"type": "number", "format": "double"},
                    "paidBy": {"$ref": "#/$defs/PaidBy", "default": "card"},
                },
                "required": ["amount"],
            },
            "PaidBy": {"type": "string", "enum": ["card", "cash"]},
        },
    });
    assert_eq!(tool["inputSchema"], expected);
    let output = &tool["outputSchema"];
    assert_eq!(output["type"], "object");
    assert_eq!(output["required"], json!(["total", "by"]));
    assert_eq!(
        output["$defs"]["Part"]["required"],
        json!(["paid_by", "amount"])
    );
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Wish {
    Window,
    Row { number: u8 },
}

#[tokio::test]
async fn a_schema_says_of_an_object_that_it_is_one() {
    async fn takes<T: for<'a> Deserialize<'a> + JsonSchema + Send>(_: Json<T>) -> Result<()> {
        Ok(())
    }
    async fn gives(_: Ctx) -> Result<Json<Vec<Wish>>> {
        Ok(Json(vec![Wish::Window]))
    }
    async fn gives_one(_: Ctx) -> Result<Json<Wish>> {
        Ok(Json(Wish::Row { number: 7 }))
    }
    async fn gives_any(_: Ctx) -> Result<Json<Value>> {
        Ok(Json(Value::Null))
    }
    for tool in [
        Tool::new("t", takes::<Wish>),
        Tool::new("t", takes::<Option<Item>>),
        Tool::new("t", takes::<Value>),
        Tool::new("t", takes::<std::collections::BTreeMap<String, u8>>),
    ] {
        for revision in Revision::ALL {
            let tool = listed(tool.clone(), revision).await;
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }
    let output = async |tool: Tool, revision| listed(tool, revision).await["outputSchema"].clone();
    // Values other than objects came with 2026-07-28.
    let newest = output(Tool::new("t", gives), Revision::LATEST).await;
    assert_eq!(newest["type"], "array");
    let older = output(Tool::new("t", gives), Revision::V2025_11_25).await;
    assert_eq!(older, Value::Null);
    for revision in [
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::LATEST,
    ] {
        let one = output(Tool::new("t", gives_one), revision).await;
        assert_eq!(one["type"], "object", "{revision}");
    }
    // A schema that allows any value says nothing.
    let any = output(Tool::new("t", gives_any), Revision::LATEST).await;
    assert_eq!(any, Value::Null);
}

/// A tool whose result shows whether its handler ran.
fn by_hand(input: &Value) -> Tool {
    let ran = async |_: PlainJson<Value>| -> Result<&'static str> { Ok("It ran.") };
    Tool::new("by_hand", ran).input_schema(schema(input))
}

// Shows TO-35.
#[tokio::test]
async fn arguments_are_checked_before_the_handler_runs() {
    let object = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 1}},
        "required": ["name"],
    });
    let mut draft_07 = object.clone();
    draft_07["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    let typed = || Tool::new("add_up", add_up);
    for (tool, arguments, expected) in [
        (
            typed(),
            json!({"items": [{"amount": 1}, {"amount": 2}, {"amount": "many"}]}),
            "the arguments do not fit: items[2].amount: expected a number",
        ),
        (
            typed(),
            json!({"items": [{"amount": 1, "paidBy": "cheque"}]}),
            r#"the arguments do not fit: items[0].paidBy: must be one of "card", "cash""#,
        ),
        (
            typed(),
            json!({}),
            "the arguments do not fit: `items` is missing",
        ),
        (
            by_hand(&object),
            json!({"name": ""}),
            "the arguments do not fit: name: it is shorter than 1 character",
        ),
        (
            by_hand(&draft_07),
            json!({"name": 1}),
            "the arguments do not fit: name: expected a string",
        ),
    ] {
        let server = server(tool);
        for revision in Revision::ALL {
            let result = call(&server, revision, arguments.clone()).await;
            assert_eq!(result["isError"], true, "{revision}: {arguments}");
            assert_eq!(text(&result), expected, "{revision}: {arguments}");
        }
    }
    for (tool, arguments) in [
        (typed(), json!({"items": [{"amount": 1, "paidBy": "cash"}]})),
        (by_hand(&object), json!({"name": "Ada"})),
        (by_hand(&object).unchecked(), json!({"name": 1})),
    ] {
        let result = call(&server(tool), Revision::LATEST, arguments).await;
        assert_ne!(result["isError"], true, "{result}");
    }
}

#[tokio::test]
async fn what_serde_cannot_read_is_named_by_its_path() {
    // JSON Schema accepts 3.0 as an integer, and serde does not.
    #[derive(Deserialize)]
    struct Rooms {
        rooms: Vec<Room>,
    }
    #[derive(Deserialize)]
    struct Room {
        nights: u8,
    }
    let nights = async |PlainJson(stay): PlainJson<Rooms>| -> Result<String> {
        Ok(stay.rooms[0].nights.to_string())
    };
    let tool = Tool::new("nights", nights).input_schema(Schema::default());
    for (arguments, expected) in [
        (
            json!({"rooms": [{"nights": 1}, {"nights": "two"}]}),
            "the arguments do not fit: rooms[1].nights: expected a whole number from 0 to 255, got a text",
        ),
        (
            json!({"rooms": [{}]}),
            "the arguments do not fit: rooms[0]: `nights` is missing",
        ),
        (json!({}), "the arguments do not fit: `rooms` is missing"),
    ] {
        let result = call(&server(tool.clone()), Revision::LATEST, arguments).await;
        assert_eq!(text(&result), expected);
    }
}

/// A tool that returns this result, and has the schema of a total.
fn gives(result: CallToolResult) -> Tool {
    let handler = move || {
        let result = result.clone();
        async move { Ok(result) }
    };
    Tool::new("gives", handler).output_schema(schema(&json!({
        "type": "object",
        "properties": {"total": {"type": "number"}},
        "required": ["total"],
    })))
}

fn structured(value: &Value) -> CallToolResult {
    CallToolResult {
        content: vec![ContentBlock::text("a total")],
        structured_content: Some(RawJson::new(value).unwrap()),
        ..CallToolResult::default()
    }
}

// Shows TO-32.
#[tokio::test]
async fn a_result_that_does_not_fit_its_schema_is_withheld() {
    let withheld = |why: &str| {
        format!(
            "the result of this tool was withheld, because it does not fit the tool's output schema \
             ({why}). The author of the server has to mend that"
        )
    };
    for (result, why) in [
        (structured(&json!({"total": 1})), None),
        (
            structured(&json!({"total": "secret"})),
            Some("total: expected a number"),
        ),
        (structured(&json!({})), Some("`total` is missing")),
        (structured(&json!(null)), Some("expected an object")),
        (
            CallToolResult::new("a total"),
            Some("it has no structured content"),
        ),
        (
            CallToolResult::default(),
            Some("it has no structured content"),
        ),
    ] {
        for task in [TaskSupport::Forbidden, TaskSupport::Optional] {
            let server = server(gives(result.clone()).task(task));
            for revision in Revision::ALL {
                let mut given = call(&server, revision, json!({})).await;
                if given["resultType"] == "task" {
                    given = ended(&server, given).await;
                }
                let expected = why.map(withheld);
                let expected = expected.as_deref().unwrap_or("a total");
                assert_eq!(text(&given), expected, "{revision}: {given}");
                assert_eq!(given["isError"] == true, why.is_some(), "{revision}");
                assert!(why.is_none() || given["structuredContent"].is_null());
            }
        }
    }
    // A failed call has no value, and an unchecked result is not checked.
    let failing = server(gives(CallToolResult::error("no luck")));
    let failed = call(&failing, Revision::LATEST, json!({})).await;
    assert_eq!(text(&failed), "no luck");
    let unchecked = gives(structured(&json!({"total": "many"}))).unchecked();
    let given = call(&server(unchecked), Revision::LATEST, json!({})).await;
    assert_eq!(given["structuredContent"], json!({"total": "many"}));
}

async fn ended(server: &Server, task: Value) -> Value {
    let id = json!({"taskId": task["taskId"]});
    loop {
        let task = ask(server, Revision::LATEST, "tasks/get", &id).await;
        match task["status"].as_str() {
            Some("completed") => return task["result"].clone(),
            Some("working") => tokio::task::yield_now().await,
            _ => panic!("{task}"),
        }
    }
}

#[tokio::test]
async fn a_form_is_checked_as_a_form_and_a_schema_beside_it_as_a_schema() {
    #[derive(Form)]
    struct Stay {
        #[form(min = 1, max = 30, default = 7)]
        nights: u8,
    }
    let stay = async |stay: Stay| -> Result<String> { Ok(stay.nights.to_string()) };
    let form = server(Tool::new("stay", stay));
    let result = call(&form, Revision::LATEST, json!({"nights": 31})).await;
    assert_eq!(text(&result), "`nights`: must be at most 30");
    let result = call(&form, Revision::LATEST, json!({})).await;
    assert_eq!(text(&result), "7");
    let given = schema(&json!({"type": "object", "required": ["nights"]}));
    let both = server(Tool::new("stay", stay).input_schema(given));
    let result = call(&both, Revision::LATEST, json!({})).await;
    assert_eq!(
        text(&result),
        "the arguments do not fit: `nights` is missing"
    );
}
