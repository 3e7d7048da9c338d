//! 2024-11-05: no audio.

use super::{degrade, step::LowerStep};
use crate::protocol::{ContentBlock, SamplingBlock};

pub(super) struct RevisionStep;

impl LowerStep for RevisionStep {
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
}
