//! Messages as a probe writes them: JSON, since some of them must be wrong.

use askback_core::http::headers::{self, name_member};
use askback_host::text::head;
use serde_json::{Map, Value, json};

/// The capabilities of a client that can be asked everything a result may ask for.
pub const MODERN_CAPABILITIES: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// The most characters of a method that are kept.
const METHOD: usize = 100;

/// The answers to a server that asks in the middle of a session.
pub(super) struct Answers<'a> {
    /// The capabilities that the server was told of.
    pub(super) capabilities: &'a Value,
}

/// Returns the members of `_meta` that go with each request of 2026-07-28.
pub fn meta(version: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "askback", "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Adds members to the `_meta` of parameters; those that are there stay.
pub(super) fn add_meta(params: &mut Value, meta: Value) {
    let (Some(params), Value::Object(meta)) = (params.as_object_mut(), meta) else {
        return;
    };
    let place = params.entry("_meta").or_insert_with(|| json!({}));
    if let Some(place) = place.as_object_mut() {
        for (key, value) in meta {
            place.entry(key).or_insert(value);
        }
    }
}

pub(super) fn request(id: &Value, method: &str, params: Option<Value>) -> Value {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), json!("2.0"));
    message.insert("id".to_owned(), id.clone());
    message.insert("method".to_owned(), json!(method));
    message.extend(params.map(|params| ("params".to_owned(), params)));
    Value::Object(message)
}

/// Returns the id of a message; null where it has none.
pub fn id_of(message: &Value) -> Value {
    message["id"].clone()
}

/// The reply of a model that there is not.
pub fn sampled() -> Value {
    let content = json!({"type": "text", "text": "A word."});
    json!({"role": "assistant", "content": content, "model": "askback"})
}

/// Returns as much of a request of the server as is kept of it.
pub(super) fn outline(asked: &Value) -> Value {
    let (method, _) = head(asked["method"].as_str().unwrap_or_default(), METHOD);
    json!({"method": method})
}

/// Whether a message is a question, which a server may ask only a client that can be asked.
pub fn is_question(message: &Value) -> bool {
    let method = message["method"].as_str();
    method.is_some_and(|method| {
        matches!(
            method,
            "elicitation/create" | "sampling/createMessage" | "roots/list"
        )
    })
}

/// The headers that say what the body says (2026-07-28, basic/transports/streamable-http, Standard
/// Request Headers).
pub(super) fn mirrored(body: &[u8]) -> Vec<(String, String)> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Vec::new();
    };
    let Some(method) = message["method"].as_str() else {
        return Vec::new();
    };
    let mut mirrored = vec![("mcp-method".to_owned(), method.to_owned())];
    let name = name_member(method).and_then(|member| message["params"][member].as_str());
    mirrored.extend(name.map(|name| ("mcp-name".to_owned(), headers::encode(name).into_owned())));
    mirrored
}

impl Answers<'_> {
    /// Answers a request of the server: nothing is agreed to.
    pub(super) fn to(&self, asked: &Value) -> Value {
        let result = match asked["method"].as_str() {
            Some("ping") => Some(json!({})),
            Some("roots/list") if self.can("roots") => Some(json!({"roots": []})),
            Some("elicitation/create") if self.can("elicitation") => {
                Some(json!({"action": "decline"}))
            }
            Some("sampling/createMessage") if self.can("sampling") => Some(sampled()),
            _ => None,
        };
        match result {
            Some(result) => json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
            None => {
                let error = json!({"code": -32601, "message": "not supported by this client"});
                json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})
            }
        }
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }
}
