//! 2024-11-05: no sound, no hints about tools, no words with progress.

use super::{degrade, lower::Step};
use crate::protocol::{ContentBlock, ProgressParams, SamplingBlock, ServerCapabilities, Tool};

pub(super) struct Down;

impl Step for Down {
    fn server_capabilities(&self, capabilities: &mut ServerCapabilities) {
        capabilities.completions = None;
    }

    fn tool(&self, tool: &mut Tool) {
        tool.annotations = None;
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::Audio(audio) = block {
            *block = ContentBlock::Text(degrade::audio(audio));
        }
    }

    fn sampling_block(&self, block: &mut SamplingBlock) {
        if let SamplingBlock::Audio(audio) = block {
            *block = SamplingBlock::Text(degrade::audio(audio));
        }
    }

    fn progress(&self, params: &mut ProgressParams) {
        params.message = None;
    }
}
