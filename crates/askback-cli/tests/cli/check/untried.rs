//! Why a requirement is not tried.

use serde_json::{Value, json};

use super::HEARS;
use crate::run::{Ran, Run};

fn check(name: &str, tools: &Value, result: &Value) -> Ran {
    let server = HEARS.replace("{\"content\":[]}", &result.to_string());
    let server = format!("TOOLS='{tools}'\n{server}");
    let words = ["check", "--json", "--protocol", "2025-11-25"];
    let run = Run::new(&format!("check-untried-{name}"), &words);
    run.and(&["--", "sh", "-c", &server]).run()
}

/// That this is why a requirement is not tried.
#[track_caller]
fn is_untried(ran: &Ran, id: &str, why: &str) {
    let report = ran.json();
    let untried = report["notTried"].as_array().expect("a list").iter();
    let mut untried = untried.filter(|rule| rule["id"] == id);
    let rule = untried.next().unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(rule["why"], why);
}

#[test]
fn the_reason_is_that_of_the_tools_there_are() {
    let harmless = json!({"readOnlyHint": true});
    let schema = json!({"type": "object"});
    let tool = |hints: &Value| json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": hints});
    let result = json!({"content": []});
    let ran = check("changes", &json!([tool(&json!({}))]), &result);
    let why = "no tool says that it changes nothing; name one with --tool";
    for id in ["TO-31", "TO-32"] {
        is_untried(&ran, id, why);
    }
    let mut wants = tool(&harmless);
    wants["inputSchema"]["required"] = json!(["x"]);
    let ran = check("wants", &json!([wants]), &result);
    let why =
        "each tool that says that it changes nothing requires arguments; name one with --tool";
    is_untried(&ran, "TO-32", why);
    let ran = check("plain", &json!([tool(&harmless)]), &result);
    is_untried(
        &ran,
        "TO-32",
        "no tool that was called has an output schema",
    );
    let why = "no tool that was called gave structured content";
    is_untried(&ran, "TO-31", why);
    let mut declares = tool(&harmless);
    declares["outputSchema"] = schema;
    let failed = json!({"content": [], "isError": true});
    let ran = check("fails", &json!([declares]), &failed);
    let why = "no tool that was called with an output schema gave a result";
    is_untried(&ran, "TO-32", why);
}

#[test]
fn an_output_schema_that_cannot_be_checked_is_told_from_a_build_that_checks_none() {
    let tool = json!({
        "name": "a",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": 7},
        "annotations": {"readOnlyHint": true},
    });
    let result = json!({"content": [], "structuredContent": {}});
    let ran = check("schema", &json!([tool]), &result);
    let why = match cfg!(feature = "json-schema") {
        true => "the output schema of a tool is no JSON Schema",
        false => {
            "this build checks no output schemas: install askback with the feature `json-schema`"
        }
    };
    is_untried(&ran, "TO-32", why);
}
