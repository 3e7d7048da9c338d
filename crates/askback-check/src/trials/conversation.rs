//! A conversation with a server, and what is known of it.

use serde_json::Value;

use crate::probe::{Exchange, Probe};

/// A conversation that was begun.
pub(super) struct Conversation {
    pub(super) probe: Probe,
    /// The capabilities of the server.
    pub(super) offered: Value,
    /// The exchange it began with.
    pub(super) greeting: Exchange,
    /// The tools that were listed.
    pub(super) listed: Vec<Value>,
}

impl Conversation {
    /// Whether the server declares a capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.offered.get(capability).is_some_and(Value::is_object)
    }

    /// The listed tools that a client may call to no harm, as they say.
    pub(super) fn harmless(&self) -> impl Iterator<Item = &Value> {
        let tools = self.listed.iter();
        tools.filter(|tool| tool["annotations"]["readOnlyHint"] == true)
    }

    /// A listed tool, by its name.
    pub(super) fn tool(&self, name: &str) -> Option<&Value> {
        self.listed.iter().find(|tool| tool["name"] == name)
    }
}

/// The arguments that a tool requires.
pub(super) fn required(tool: &Value) -> Vec<&str> {
    let names = tool["inputSchema"]["required"].as_array();
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}
