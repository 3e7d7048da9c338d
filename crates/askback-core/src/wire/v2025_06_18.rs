//! 2025-06-18: elicitation means forms; a sampling message is one block and has no tools.

use alloc::{boxed::Box, vec::Vec};

use super::{degrade, step::LowerStep};
use crate::protocol::{ClientCapabilities, SamplingBlock, SamplingContent, SamplingMessage};

pub(super) struct RevisionStep;

impl LowerStep for RevisionStep {
    /// A client that supports only links declares nothing.
    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {
        if !capabilities.elicits_form() {
            capabilities.elicitation = None;
        }
    }

    /// Each block becomes its own message. Tool uses and results become text.
    fn sampling_messages(&self, messages: &mut Vec<SamplingMessage>) {
        let single = |message: &SamplingMessage| {
            matches!(message.content, SamplingContent::One(_)) && message.meta.is_none()
        };
        if messages.iter().all(single) {
            return;
        }
        *messages = core::mem::take(messages)
            .into_iter()
            .flat_map(|message| {
                let role = message.role;
                let blocks = message.content.into_blocks();
                blocks.into_iter().map(move |block| SamplingMessage {
                    role,
                    content: SamplingContent::One(Box::new(block)),
                    meta: None,
                })
            })
            .collect();
    }

    /// A reply has one block. Several blocks are joined as text.
    fn sampling_result(&self, content: &mut SamplingContent) {
        if let SamplingContent::Many(blocks) = content {
            let block = match blocks.as_mut_slice() {
                [block] => core::mem::replace(block, SamplingBlock::text("")),
                blocks => SamplingBlock::text(degrade::as_text(blocks)),
            };
            *content = block.into();
        }
    }

    fn sampling_block(&self, block: &mut SamplingBlock) {
        degrade::tool_block(block);
    }
}
