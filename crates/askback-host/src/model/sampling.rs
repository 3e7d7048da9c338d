//! Sampling: the request before it goes to a model, and the reply before it goes to the server.

use askback_core::protocol::{
    CreateMessageParams, CreateMessageResult, Role, SamplingBlock, SamplingContent, SamplingMessage,
};

/// A request to a model, and the reply to it once there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// The request, as the person left it.
    pub request: CreateMessageParams,
    /// The reply of the model, as the person left it.
    pub reply: Option<CreateMessageResult>,
}

/// A text of a [`Sampling`] that a person may rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The system prompt. No text takes it out.
    System,
    /// The last message of the user that is text.
    Message,
    /// The reply.
    Reply,
}

impl Sampling {
    pub(super) fn new(request: &CreateMessageParams) -> Self {
        Self {
            request: request.clone(),
            reply: None,
        }
    }

    /// Returns the text of a part; none where there is no such part.
    pub fn text(&self, part: Part) -> Option<String> {
        match part {
            Part::System => Some(self.request.system_prompt.clone().unwrap_or_default()),
            Part::Message => self.last_message().map(|message| message.content.text()),
            Part::Reply => self.reply.as_ref().map(|reply| reply.content.text()),
        }
    }

    pub(super) fn rewrite(&mut self, part: Part, text: String) {
        match part {
            Part::System => self.request.system_prompt = Some(text).filter(|text| !text.is_empty()),
            Part::Message => {
                let messages = self.request.messages.iter_mut().rev();
                if let Some(message) = messages.into_iter().find(|message| is_text(message)) {
                    put_text(&mut message.content, text);
                }
            }
            Part::Reply => {
                if let Some(reply) = &mut self.reply {
                    put_text(&mut reply.content, text);
                }
            }
        }
    }

    fn last_message(&self) -> Option<&SamplingMessage> {
        let mut messages = self.request.messages.iter().rev();
        messages.find(|message| is_text(message))
    }
}

/// Whether a message is the user's and has a text in it.
fn is_text(message: &SamplingMessage) -> bool {
    let mut blocks = message.content.blocks().iter();
    message.role == Role::User && blocks.any(|block| matches!(block, SamplingBlock::Text(_)))
}

/// Puts a text in the place of those that are there; what is no text stays.
fn put_text(content: &mut SamplingContent, text: String) {
    let blocks = std::mem::replace(content, SamplingContent::Many(Vec::new())).into_blocks();
    let is_text = |block: &SamplingBlock| matches!(block, SamplingBlock::Text(_));
    let at = blocks.iter().position(is_text).unwrap_or(0);
    let mut blocks: Vec<_> = blocks.into_iter().filter(|block| !is_text(block)).collect();
    blocks.insert(at.min(blocks.len()), SamplingBlock::text(text));
    let mut only = blocks.into_iter();
    *content = match (only.next(), only.len()) {
        (Some(block), 0) => block.into(),
        (first, _) => SamplingContent::Many(first.into_iter().chain(only).collect()),
    };
}
