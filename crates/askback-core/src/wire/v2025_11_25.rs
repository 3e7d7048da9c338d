//! 2025-11-25: who speaks and what he can do was said by `initialize`; nothing is kept and no
//! result asks; structured content is an object.

use alloc::string::String;

use serde::Deserialize;

use super::{degrade, lower::Step};
use crate::protocol::{
    CacheScope, CallToolResult, ClientCapabilities, InputResponses, Meta, SamplingBlock, Schema,
    ServerCapabilities, Tool,
};

pub(super) struct Down;

impl Step for Down {
    fn meta(&self, meta: &mut Meta) {
        meta.protocol_version = None;
        meta.client_info = None;
        meta.client_capabilities = None;
        meta.log_level = None;
        meta.subscription_id = None;
        meta.server_info = None;
    }

    fn cache(&self, ttl_ms: &mut Option<i64>, scope: &mut Option<CacheScope>) {
        *ttl_ms = None;
        *scope = None;
    }

    fn round(&self, responses: &mut Option<InputResponses>, state: &mut Option<String>) {
        *responses = None;
        *state = None;
    }

    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {
        capabilities.extensions = None;
    }

    fn server_capabilities(&self, capabilities: &mut ServerCapabilities) {
        capabilities.extensions = None;
    }

    fn tool(&self, tool: &mut Tool) {
        tool.output_schema = tool.output_schema.take().filter(describes_object);
    }

    fn tool_result(&self, result: &mut CallToolResult) {
        if !result
            .structured_content
            .as_ref()
            .is_none_or(degrade::is_object)
        {
            degrade::structured(result);
        }
    }

    fn sampling_block(&self, block: &mut SamplingBlock) {
        if let SamplingBlock::ToolResult(result) = block {
            result.structured_content = result.structured_content.take().filter(degrade::is_object);
        }
    }
}

/// Whether a schema says `"type": "object"` at its root, as output schemas here must.
fn describes_object(schema: &Schema) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<String>,
    }
    schema
        .decode::<Root>()
        .is_ok_and(|root| root.r#type.as_deref() == Some("object"))
}
