//! 2025-06-18: no icons, no tasks, no links to open; a message to a model is one block and offers
//! no tools; a form has no mode and says less.

use alloc::{boxed::Box, vec::Vec};

use super::{degrade, lower::Step};
use crate::{
    protocol::{
        ClientCapabilities, ContentBlock, CreateMessageParams, ElicitFormParams,
        ElicitationCapability, Implementation, Meta, Prompt, Resource, ResourceTemplate,
        SamplingBlock, SamplingCapability, SamplingContent, SamplingMessage, ServerCapabilities,
        TaskMetadata, Tool,
    },
    revision::Revision,
};

pub(super) struct Down;

impl Step for Down {
    fn meta(&self, meta: &mut Meta) {
        meta.related_task = None;
    }

    fn task(&self, task: &mut Option<TaskMetadata>) {
        *task = None;
    }

    fn implementation(&self, implementation: &mut Implementation) {
        implementation.description = None;
        implementation.icons = None;
        implementation.website_url = None;
    }

    /// To declare elicitation is to take forms; a client that takes only links has nothing to
    /// declare.
    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {
        capabilities.elicitation = capabilities
            .elicits_form()
            .then(ElicitationCapability::default);
        if let Some(sampling) = &mut capabilities.sampling {
            *sampling = SamplingCapability::default();
        }
        capabilities.tasks = None;
    }

    fn server_capabilities(&self, capabilities: &mut ServerCapabilities) {
        capabilities.tasks = None;
    }

    fn tool(&self, tool: &mut Tool) {
        tool.execution = None;
        tool.icons = None;
    }

    fn prompt(&self, prompt: &mut Prompt) {
        prompt.icons = None;
    }

    fn resource(&self, resource: &mut Resource) {
        resource.icons = None;
    }

    fn resource_template(&self, template: &mut ResourceTemplate) {
        template.icons = None;
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::ResourceLink(link) = block {
            link.icons = None;
        }
    }

    fn elicit_form(&self, params: &mut ElicitFormParams) {
        params.mode = None;
        degrade::form(params, Revision::V2025_06_18);
    }

    fn sampling(&self, params: &mut CreateMessageParams) {
        params.tools = None;
        params.tool_choice = None;
    }

    /// Each block becomes a message of its own; what tools were asked and said is told as text.
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

    /// An answer can be only one block: the one there is, or all of them as text.
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
