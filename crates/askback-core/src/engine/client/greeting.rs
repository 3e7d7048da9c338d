//! Servers, by their own description.

use alloc::{boxed::Box, string::String};

use serde_json::value::RawValue;

use crate::{
    protocol::{Implementation, ServerCapabilities},
    revision::Revision,
};

/// A server's description of itself, from the opening of the connection.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// The revision that is spoken.
    pub revision: Revision,
    /// The server's own name and version, unverified.
    pub server: Option<Implementation>,
    /// The capabilities.
    pub capabilities: ServerCapabilities,
    /// How to use it, for a model.
    pub instructions: Option<String>,
    /// The result of `server/discover` or `initialize`, as it was received.
    pub result: Box<RawValue>,
}
