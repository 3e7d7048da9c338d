//! The step down from one revision to the one before.

use alloc::{boxed::Box, vec::Vec};

use crate::{
    protocol::{
        CacheScope, CallToolResult, ClientCapabilities, ContentBlock, ElicitFormParams, Meta,
        SamplingBlock, SamplingContent, SamplingMessage, Tool,
    },
    revision::Revision,
};

/// One step on the way down. It says, for each kind of thing, what becomes of it; what it does not
/// mention stays.
#[expect(unused_variables, reason = "most steps leave most things alone")]
pub trait LowerStep {
    /// The members of any thing, after all else was done to them.
    fn members(&self, thing: &mut dyn Members) {}
    /// The `_meta` of a question to a client, or of its answer.
    fn question_meta(&self, meta: &mut Option<Box<Meta>>) {}
    /// How long and by whom a result may be kept.
    fn cache(&self, ttl_ms: &mut Option<i64>, scope: &mut Option<CacheScope>) {}
    /// The capabilities of a client.
    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {}
    /// A tool.
    fn tool(&self, tool: &mut Tool) {}
    /// A block of content.
    fn content(&self, block: &mut ContentBlock) {}
    /// A tool result.
    fn tool_result(&self, result: &mut CallToolResult) {}
    /// A form to fill in.
    fn elicit_form(&self, params: &mut ElicitFormParams) {}
    /// The messages to a model.
    fn sampling_messages(&self, messages: &mut Vec<SamplingMessage>) {}
    /// The answer of a model.
    fn sampling_result(&self, content: &mut SamplingContent) {}
    /// A block of what is said to or by a model.
    fn sampling_block(&self, block: &mut SamplingBlock) {}
}

/// A thing with members that not every revision has.
pub trait Members {
    /// Drops what the revision does not have.
    fn keep(&mut self, revision: Revision);
}
