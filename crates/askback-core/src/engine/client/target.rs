//! The calls of a client, as others name them.

use alloc::{borrow::ToOwned, string::String};

use crate::protocol::ClientRequest;

/// The id of a call, chosen by the caller and never used twice on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// The target of a call that may ask a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallTarget {
    /// The tool of this name.
    Tool(String),
    /// The prompt of this name.
    Prompt(String),
    /// The resource of this URI.
    Resource(String),
}

/// The kind of a target, and its name.
type Parts<'a> = (fn(String) -> CallTarget, &'a str);

impl CallTarget {
    /// The target of a request; `None` for requests that never ask (2026-07-28,
    /// basic/patterns/mrtr, Supported Requests).
    pub(super) fn of(request: &ClientRequest) -> Option<Self> {
        let (kind, name) = Self::parts(request)?;
        Some(kind(name.to_owned()))
    }

    /// Whether a request has a target.
    pub(super) fn has(request: &ClientRequest) -> bool {
        Self::parts(request).is_some()
    }

    fn parts(request: &ClientRequest) -> Option<Parts<'_>> {
        match request {
            ClientRequest::CallTool(params) => Some((Self::Tool, &params.name)),
            ClientRequest::GetPrompt(params) => Some((Self::Prompt, &params.name)),
            ClientRequest::ReadResource(params) => Some((Self::Resource, &params.uri)),
            _ => None,
        }
    }
}
