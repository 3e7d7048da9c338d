//! 2025-03-26: tools have no title of their own; results have no structured content and no links.

use super::{degrade, step::LowerStep};
use crate::protocol::{CallToolResult, ContentBlock, Tool};

pub(super) struct RevisionStep;

impl LowerStep for RevisionStep {
    /// The annotations of a tool had a title before the tool itself.
    fn tool(&self, tool: &mut Tool) {
        if let Some(title) = tool.title.take() {
            let annotations = tool.annotations.get_or_insert_default();
            annotations.title.get_or_insert(title);
        }
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::ResourceLink(link) = block {
            *block = ContentBlock::Text(degrade::link(link));
        }
    }

    fn tool_result(&self, result: &mut CallToolResult) {
        degrade::structured(result);
    }
}
