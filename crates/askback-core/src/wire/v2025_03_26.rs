//! 2025-03-26: nobody asks a person; things have no title and no `_meta`; results are not
//! structured and do not link.

use alloc::boxed::Box;

use super::{degrade, lower::Step};
use crate::protocol::{
    Annotations, CallToolResult, ClientCapabilities, CompleteParams, ContentBlock, Implementation,
    Meta, Prompt, PromptReference, Resource, ResourceTemplate, Tool,
};

pub(super) struct Down;

impl Step for Down {
    fn item_meta(&self, meta: &mut Option<Box<Meta>>) {
        *meta = None;
    }

    fn annotations(&self, annotations: &mut Annotations) {
        annotations.last_modified = None;
    }

    fn implementation(&self, implementation: &mut Implementation) {
        implementation.title = None;
    }

    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {
        capabilities.elicitation = None;
    }

    /// The annotations of a tool had a title before tools themselves had one.
    fn tool(&self, tool: &mut Tool) {
        if let Some(title) = tool.title.take() {
            let annotations = tool.annotations.get_or_insert_default();
            annotations.title.get_or_insert(title);
        }
        tool.output_schema = None;
    }

    fn prompt(&self, prompt: &mut Prompt) {
        prompt.title = None;
        for argument in prompt.arguments.iter_mut().flatten() {
            argument.title = None;
        }
    }

    fn resource(&self, resource: &mut Resource) {
        resource.title = None;
    }

    fn resource_template(&self, template: &mut ResourceTemplate) {
        template.title = None;
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::ResourceLink(link) = block {
            *block = ContentBlock::Text(degrade::link(link));
        }
    }

    fn tool_result(&self, result: &mut CallToolResult) {
        degrade::structured(result);
    }

    fn complete(&self, params: &mut CompleteParams) {
        params.context = None;
    }

    fn prompt_reference(&self, reference: &mut PromptReference) {
        reference.title = None;
    }
}
