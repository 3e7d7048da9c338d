//! The calls in which a server may ask the user (2026-07-28, basic/patterns/mrtr, Supported
//! Requests).

use alloc::string::String;

/// The tool, prompt or resource of a call that may ask the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallTarget {
    /// The name of a tool.
    Tool(String),
    /// The name of a prompt.
    Prompt(String),
    /// The URI of a resource.
    Resource(String),
}

impl CallTarget {
    /// Returns the target of a request with this method that names this tool, prompt or resource,
    /// or `None` if a request with this method never asks.
    pub fn new(method: &str, name: impl Into<String>) -> Option<Self> {
        Self::kind(method).map(|kind| kind(name.into()))
    }

    /// Whether a request with this method may ask the user.
    #[must_use]
    pub fn may_ask(method: &str) -> bool {
        Self::kind(method).is_some()
    }

    fn kind(method: &str) -> Option<fn(String) -> Self> {
        match method {
            "tools/call" => Some(Self::Tool),
            "prompts/get" => Some(Self::Prompt),
            "resources/read" => Some(Self::Resource),
            _ => None,
        }
    }
}
