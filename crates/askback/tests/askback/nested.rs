//! Tool arguments that no form can ask for.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use askback::{
    Form, Result, Revision, Server, ServerBuilder,
    schemars::{self, JsonSchema},
    testing::{self, Wire},
    tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Form, Debug)]
enum Seat {
    Window,
    Aisle,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// What was bought.
    what: String,
    cents: u32,
}

/// Packs.
#[expect(clippy::too_many_arguments, reason = "each is an argument of the tool")]
#[tool]
async fn pack(
    /// Where to.
    city: String,
    #[arg(min = 1, max = 9, default = 2)] bags: u8,
    #[arg(default = Seat::Aisle)] seat: Seat,
    /// The names of those who travel.
    names: Vec<String>,
    #[arg(rename = "labels", title = "Labels")] tags: Option<BTreeMap<String, u8>>,
    path: Option<PathBuf>,
    #[arg(json)] items: Vec<Item>,
    #[arg(json, description = "The first.")] first: Option<Item>,
) -> String {
    let say = |item: &Item| format!("{} for {}", item.what, item.cents);
    let items: Vec<_> = items.iter().map(say).collect();
    let first = first.as_ref().map(say);
    format!("{city} {bags} {seat:?} {names:?} {tags:?} {path:?} {items:?} {first:?}")
}

#[tool]
async fn only_nested(rows: Vec<Vec<u8>>, kinds: BTreeSet<String>, at: (u8, u8)) -> Result<String> {
    Ok(format!("{rows:?} {kinds:?} {at:?}"))
}

fn server() -> ServerBuilder {
    Server::new("agency", "1").tool(pack).tool(only_nested)
}

async fn check(tool: &str, arguments: Value, is_error: bool, text: &str) {
    let report = testing::call(server, tool, arguments)
        .in_every_revision()
        .await;
    let run = report.assert_same();
    assert_eq!((run.is_error(), run.text()), (is_error, text.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn arguments_may_be_lists_maps_paths_and_structs() {
    let whole = json!({
        "city": "Rome", "bags": 3, "seat": "window", "names": ["Ada", "Bob"],
        "labels": {"red": 1}, "path": "/tmp/a", "items": [{"what": "pen", "cents": 90}],
        "first": {"what": "cup", "cents": 5},
    });
    let said = r#"Rome 3 Window ["Ada", "Bob"] Some({"red": 1}) Some("/tmp/a") ["pen for 90"] Some("cup for 5")"#;
    check("pack", whole, false, said).await;
    let least = json!({"city": "Rome", "names": [], "items": []});
    check("pack", least, false, "Rome 2 Aisle [] None None [] None").await;
    let rows = json!({"rows": [[1], []], "kinds": ["a"], "at": [1, 2]});
    check("only_nested", rows, false, r#"[[1], []] {"a"} (1, 2)"#).await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_named_by_its_place() {
    let with = |name: &str, value: Value| {
        let mut arguments = json!({"city": "Rome", "names": [], "items": []});
        arguments[name] = value;
        arguments
    };
    for (arguments, said) in [
        (
            with("names", json!([1])),
            "the arguments do not fit: names[0]: expected a string",
        ),
        (
            with("items", json!([{"what": "pen"}])),
            "the arguments do not fit: items[0]: `cents` is missing",
        ),
        (
            with("bags", json!(10)),
            "the arguments do not fit: bags: it is greater than the maximum of 9",
        ),
        (
            json!({"city": "Rome", "items": []}),
            "the arguments do not fit: `names` is missing",
        ),
    ] {
        check("pack", arguments, true, said).await;
    }
}

#[tokio::test]
async fn the_schema_describes_all_arguments() {
    let server = server().build().unwrap();
    let mut wire = Wire::connect(&server);
    wire.initialize(Revision::V2025_06_18, &json!({})).await;
    wire.request("tools/list", json!({})).await;
    let tools = wire.hear().await.unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where to."},
            "bags": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
            "seat": {"type": "string", "enum": ["window", "aisle"], "default": "aisle"},
            "names": {
                "type": "array", "items": {"type": "string"},
                "description": "The names of those who travel.",
            },
            "labels": {
                "type": ["object", "null"], "title": "Labels",
                "additionalProperties": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
            },
            "path": {"type": ["string", "null"]},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "first": {
                "anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}], "description": "The first.",
            },
        },
        "required": ["city", "names", "items"],
        "$defs": {"Item": {
            "type": "object",
            "properties": {
                "what": {"type": "string", "description": "What was bought."},
                "cents": {"type": "integer", "format": "uint32", "minimum": 0},
            },
            "required": ["what", "cents"],
        }},
    });
    assert_eq!(tools["result"]["tools"][0]["inputSchema"], expected);
}
