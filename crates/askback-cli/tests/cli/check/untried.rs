//! Reasons why a requirement is not checked.

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

/// Checks the reason why a requirement was not checked.
#[track_caller]
fn is_untried(ran: &Ran, id: &str, why: &str) {
    let report = ran.json();
    let untried = report["notTried"].as_array().expect("a list").iter();
    let mut untried = untried.filter(|rule| rule["id"] == id);
    let rule = untried.next().unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(rule["why"], why);
}

#[test]
fn the_reason_is_what_the_tools_lack() {
    let harmless = json!({"readOnlyHint": true});
    let tool = |hints: &Value| json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": hints});
    let result = json!({"content": []});
    let not_called = "no tool that was called did this: name one with --tool";
    let unfit = "no tool with an output schema that was called gave a result, or this build checks none \
                 (feature `json-schema`)";
    let mut wants = tool(&harmless);
    wants["inputSchema"]["required"] = json!(["x"]);
    let plain = tool(&harmless);
    for (name, tool) in [
        ("changes", tool(&json!({}))),
        ("wants", wants),
        ("plain", plain),
    ] {
        let ran = check(name, &json!([tool]), &result);
        is_untried(&ran, "TO-31", not_called);
        is_untried(&ran, "TO-32", unfit);
    }
    let mut declares = tool(&harmless);
    declares["outputSchema"] = json!({"type": "object"});
    let failed = json!({"content": [], "isError": true});
    is_untried(&check("fails", &json!([declares]), &failed), "TO-32", unfit);
    // The output schema is not a JSON Schema.
    declares["outputSchema"] = json!({"type": 7});
    let result = json!({"content": [], "structuredContent": {}});
    is_untried(
        &check("schema", &json!([declares]), &result),
        "TO-32",
        unfit,
    );
}
