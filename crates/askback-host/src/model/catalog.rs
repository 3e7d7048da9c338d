//! The lists of a server.

use askback_core::protocol::{Prompt, Resource, ResourceTemplate, Tool};

/// The lists of a server.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Catalog {
    /// The tools.
    pub tools: Vec<Tool>,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The resources.
    pub resources: Vec<Resource>,
    /// The templates of resources.
    pub templates: Vec<ResourceTemplate>,
}
