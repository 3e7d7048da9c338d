//! Results of tools that are called.

use serde_json::json;

use super::{HEARS, kept};
use crate::run::Run;

#[test]
fn a_result_that_a_client_cannot_read_as_a_whole_is_found() {
    let text = json!({"type": "text", "text": "a"});
    let schema = json!({"type": "object", "properties": {}});
    let harmless = json!({"readOnlyHint": true});
    let tools = json!([{"name": "a", "inputSchema": schema, "annotations": harmless}]);
    for (name, result, fault) in [
        ("whole", json!({"content": [text]}), ""),
        ("failed", json!({"content": [text], "isError": true}), ""),
        ("text", json!({"content": "a"}), "`content`: expected"),
        (
            "block",
            json!({"content": [text, {"type": "tekst", "text": "a"}]}),
            "block 2: there is no content of type",
        ),
        (
            "member",
            json!({"content": [{"type": "text", "text": 5}]}),
            "block 1: ",
        ),
        (
            "flag",
            json!({"content": [text], "isError": 0}),
            "`isError`: expected",
        ),
        (
            "structured",
            json!({"structuredContent": {}}),
            "`content`: it is missing",
        ),
        ("empty", json!({}), "`content` is missing"),
        ("list", json!([text]), "expected"),
    ] {
        let server = HEARS.replace("{\"content\":[]}", &result.to_string());
        let server = format!("TOOLS='{tools}'\n{server}");
        let words = ["check", "--json", "--protocol", "2025-11-25"];
        let run = Run::new(&format!("check-results-{name}"), &words);
        let report = run.and(&["--", "sh", "-c", &server]).run().json();
        let mut found = report["findings"].as_array().expect("a list").iter();
        let found = found.find(|it| it["id"] == "result-shape");
        let is_kept = kept(&report).contains(&"result-shape");
        assert_eq!(is_kept, fault.is_empty(), "{report:#}");
        if let Some(found) = found {
            let place = found["places"][0].as_str().expect("a fault");
            assert!(!is_kept && place.contains(fault), "{fault}\n{found:#}");
            let sent = found["sent"].as_str().expect("a message");
            assert!(sent.contains("tools/call"), "{sent}");
        } else {
            assert!(is_kept, "{report:#}");
        }
    }
}
