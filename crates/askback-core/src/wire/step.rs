//! One step from a revision to the previous one.

use alloc::{boxed::Box, vec::Vec};

use crate::{
    protocol::{
        CacheScope, CallToolResult, ClientCapabilities, ContentBlock, ElicitFormParams, Meta,
        SamplingBlock, SamplingContent, SamplingMessage, Tool,
    },
    revision::Revision,
};

/// One step of lowering. Each method changes one kind of part; the default keeps it.
#[expect(unused_variables, reason = "most steps leave most things alone")]
pub trait LowerStep {
    /// Changes the members of any part, after all other changes.
    fn members(&self, thing: &mut dyn Members) {}
    /// Changes the `_meta` of a question to a client, or of its answer.
    fn question_meta(&self, meta: &mut Option<Box<Meta>>) {}
    /// Changes the cache hints of a result.
    fn cache(&self, ttl_ms: &mut Option<i64>, scope: &mut Option<CacheScope>) {}
    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {}
    fn tool(&self, tool: &mut Tool) {}
    fn content(&self, block: &mut ContentBlock) {}
    fn tool_result(&self, result: &mut CallToolResult) {}
    fn elicit_form(&self, params: &mut ElicitFormParams) {}
    fn sampling_messages(&self, messages: &mut Vec<SamplingMessage>) {}
    fn sampling_result(&self, content: &mut SamplingContent) {}
    fn sampling_block(&self, block: &mut SamplingBlock) {}
}

/// A type with members that not every revision has.
pub trait Members {
    /// Drops the members that the revision lacks.
    fn keep(&mut self, revision: Revision);
}
