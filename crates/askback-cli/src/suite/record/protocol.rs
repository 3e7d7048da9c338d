//! The words of the protocol, which stay in a recording where a secret is the same: without them it
//! could not be played.

use std::str::FromStr as _;

use askback_core::revision::Revision;
use serde_json::Value;

/// The names of members.
const NAMES: [&str; 66] = [
    "_meta",
    "action",
    "annotations",
    "anyOf",
    "arguments",
    "blob",
    "capabilities",
    "code",
    "completion",
    "const",
    "content",
    "contents",
    "data",
    "default",
    "description",
    "elicitation",
    "enum",
    "format",
    "icons",
    "id",
    "inputRequests",
    "inputResponses",
    "inputSchema",
    "instructions",
    "isError",
    "items",
    "level",
    "logger",
    "logging",
    "maxTokens",
    "message",
    "messages",
    "method",
    "mimeType",
    "mode",
    "model",
    "name",
    "nextCursor",
    "oneOf",
    "outputSchema",
    "params",
    "pattern",
    "progress",
    "progressToken",
    "prompts",
    "properties",
    "protocolVersion",
    "requestState",
    "requestedSchema",
    "required",
    "resource",
    "resourceTemplates",
    "resources",
    "resultType",
    "role",
    "serverInfo",
    "status",
    "structuredContent",
    "task",
    "tasks",
    "text",
    "title",
    "tools",
    "type",
    "uri",
    "version",
];

/// The members whose values are words of the protocol, and those words.
const VALUES: [(&str, &[&str]); 6] = [
    ("action", &["accept", "cancel", "decline"]),
    (
        "method",
        &["elicitation/create", "roots/list", "sampling/createMessage"],
    ),
    ("mode", &["auto", "form", "none", "required", "url"]),
    ("resultType", &["complete", "input_required", "task"]),
    ("role", &["assistant", "user"]),
    (
        "type",
        &[
            "array",
            "audio",
            "boolean",
            "image",
            "integer",
            "null",
            "number",
            "object",
            "resource",
            "resource_link",
            "string",
            "text",
            "tool_result",
            "tool_use",
        ],
    ),
];

/// The bounds of a schema.
const BOUNDS: [&str; 6] = [
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
];

/// Whether the protocol has members of this name.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.contains(&name) || BOUNDS.contains(&name)
}

/// Whether the value of a member is a word of the protocol, or a bound of a schema.
pub(super) fn is_value(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) if name == "protocolVersion" => Revision::from_str(text).is_ok(),
        Value::String(text) => VALUES
            .iter()
            .any(|(of, words)| *of == name && words.contains(&text.as_str())),
        Value::Number(_) => BOUNDS.contains(&name),
        _ => false,
    }
}
