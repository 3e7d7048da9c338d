//! Messages as a probe writes them: JSON, since some of them must be wrong.

use askback::Revision;
use askback_core::{
    http::headers::{encode, name_member},
    revision::Era,
};
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::{SESSION_ID, Sent, Wait};

/// The capabilities of a client that can be asked everything a result may ask for.
pub const MODERN_CAPABILITIES: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// The client that a probe is.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) revision: Revision,
    /// The capabilities that the server is told of: with the handshake, or each request.
    pub(super) capabilities: Value,
    /// The session over HTTP, once there is one.
    pub(super) session: Option<String>,
    /// Whether the handshake is over, so that the headers of a session go with each request.
    pub(super) is_open: bool,
}

/// Returns the members of `_meta` that go with each request of 2026-07-28.
pub fn meta(version: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub(crate) fn client_info() -> Value {
    json!({"name": "askback", "version": env!("CARGO_PKG_VERSION")})
}

pub(super) fn request(id: &Value, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if params != json!({}) {
        message["params"] = params;
    }
    message
}

/// Returns the id of a message; null where it has none.
pub(crate) fn id_of(message: &Value) -> Value {
    message["id"].clone()
}

/// The reply of a model that there is not.
pub(crate) fn sampled() -> Value {
    let content = json!({"type": "text", "text": "A word."});
    json!({"role": "assistant", "content": content, "model": "askback"})
}

/// Whether a request of this method is a question, which a server may ask only a client that can be asked.
pub(crate) fn is_question(method: &Value) -> bool {
    let questions = ["elicitation/create", "sampling/createMessage", "roots/list"];
    questions.iter().any(|question| method == question)
}

impl Speaker {
    /// Returns a request as this revision writes it. Members of `_meta` that are there stay.
    pub(super) fn request(&self, id: &Value, method: &str, mut params: Value) -> Value {
        if self.revision.era() == Era::Modern
            && let Value::Object(mut meta) = meta(self.revision.as_str(), &self.capabilities)
            && let Some(params) = params.as_object_mut()
        {
            if let Some(Value::Object(given)) = params.remove("_meta") {
                meta.extend(given);
            }
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        request(id, method, params)
    }

    /// Answers a request of the server: nothing is agreed to.
    pub(super) fn answer(&self, asked: &Value) -> Sent {
        let can = |capability: &str| self.capabilities.get(capability).is_some();
        let result = match asked["method"].as_str() {
            Some("ping") => Some(json!({})),
            Some("roots/list") if can("roots") => Some(json!({"roots": []})),
            Some("elicitation/create") if can("elicitation") => Some(json!({"action": "decline"})),
            Some("sampling/createMessage") if can("sampling") => Some(sampled()),
            _ => None,
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": asked["id"]});
        match result {
            Some(result) => answer["result"] = result,
            None => {
                let message = "not supported by this client";
                answer["error"] = json!({"code": -32601, "message": message});
            }
        }
        Sent::message(&answer, Wait::Nothing)
    }

    /// The headers of the protocol, over HTTP, as a message changes them.
    pub(super) fn headers(&self, sent: &Sent) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: Option<&str>| {
            let Ok(name) = name.parse::<HeaderName>() else {
                return;
            };
            match value.map(str::parse) {
                Some(Ok(value)) => _ = headers.insert(name, value),
                _ => _ = headers.remove(name),
            }
        };
        let is_modern = self.revision.era() == Era::Modern;
        if is_modern || self.is_open && self.revision.facts().http.version_header {
            set("mcp-protocol-version", Some(self.revision.as_str()));
        }
        set(SESSION_ID, self.session.as_deref());
        if is_modern {
            // They say what the body says (2026-07-28, basic/transports/streamable-http, Standard Request Headers).
            let message: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
            if let Some(method) = message["method"].as_str() {
                set("mcp-method", Some(method));
                let name = name_member(method).and_then(|it| message["params"][it].as_str());
                set("mcp-name", name.map(encode).as_deref());
            }
            for (name, value) in &sent.mirrored {
                set(name, Some(value));
            }
        }
        for (name, value) in &sent.headers {
            set(name, value.as_deref());
        }
        headers
    }
}
