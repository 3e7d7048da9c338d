//! 2025-11-25: structured content must be an object.

use alloc::string::String;

use serde::Deserialize;

use super::{degrade, step::LowerStep};
use crate::protocol::{CallToolResult, SamplingBlock, Schema, Tool};

pub(super) struct RevisionStep;

impl LowerStep for RevisionStep {
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

/// Whether a schema has `"type": "object"` at its root, as required of output schemas.
fn describes_object(schema: &Schema) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<String>,
    }
    schema
        .decode::<Root>()
        .is_ok_and(|root| root.r#type.as_deref() == Some("object"))
}
