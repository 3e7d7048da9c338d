//! A tool's schema that its author did not write, such as a fetched one, and arguments to check
//! against it.
//!
//! The first line is the schema, the second the arguments.

#![no_main]

use askback::{PlainJson, Result, Server, Tool, protocol::Schema, testing::Wire};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Builder;

/// The largest length of the message about invalid arguments, in bytes.
const SENTENCE: usize = 2048;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let (schema, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = Schema::from_text(schema.to_owned()) else {
        return;
    };
    let taken = Tool::new("taken", taken).input_schema(schema);
    let Ok(server) = Server::new("fuzz", "1").tool(taken).build() else {
        return;
    };
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return;
    };
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(called(&server, &arguments));
    judge(&answer, &arguments);
});

/// Returns its arguments.
async fn taken(arguments: PlainJson<Value>) -> Result<String> {
    Ok(arguments.0.to_string())
}

async fn called(server: &Server, arguments: &Value) -> Value {
    let mut wire = Wire::connect(server);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "taken", "arguments": arguments, "_meta": meta});
    wire.request("tools/call", params).await;
    wire.hear().await.expect("each call is answered")
}

/// Valid arguments reach the handler unchanged. Invalid ones get a short message.
fn judge(answer: &Value, arguments: &Value) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let said = answer["error"]["message"].as_str().or(text);
    let said = said.unwrap_or_else(|| panic!("{answer}"));
    let failed = result.is_null() || result["isError"] == true;
    if failed {
        assert!(said.len() <= SENTENCE, "{said}");
    } else {
        assert_eq!(serde_json::from_str(said).ok().as_ref(), Some(arguments));
    }
}
