//! Sampling: the request before it goes to a model, and the reply before it goes to the server.

use std::collections::BTreeSet;

use askback::protocol::{
    CreateMessageParams, CreateMessageResult, Role, SamplingBlock, SamplingContent,
    SamplingMessage, Tool, ToolChoiceMode, ToolUseContent,
};

use crate::{text::Words, words};

/// The name of a person where a model would be named.
pub(crate) const PERSON: &str = "person";

/// The reason for stopping of a reply that calls tools.
const TOOL_USE: &str = "toolUse";

/// The reason for stopping of a reply that calls none.
const END_TURN: &str = "endTurn";

/// A request to a model, and the reply to it once there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// The request, as the person left it.
    pub request: CreateMessageParams,
    /// The reply of the model, as the person left it.
    pub reply: Option<CreateMessageResult>,
    /// The text of the person that is to be the reply, as far as it is written.
    pub so_far: String,
    /// A text of the person's own, from which they went back.
    mine: Option<String>,
    /// Whether there is a model to reply.
    pub(super) has_model: bool,
}

/// A text of a [`Sampling`] that a person may rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The system prompt. No text takes it out.
    System,
    /// The last message of the user that is text.
    Message,
    /// The text of the reply. No text takes it out where the reply calls tools.
    Reply,
}

impl Sampling {
    pub(super) fn new(request: &CreateMessageParams, has_model: bool) -> Self {
        Self {
            request: request.clone(),
            reply: None,
            so_far: String::new(),
            mine: None,
            has_model,
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

    /// The tools that may be called: those that the request offers, unless it wants none called.
    pub fn offered(&self) -> &[Tool] {
        match mode(&self.request) {
            ToolChoiceMode::None => &[],
            ToolChoiceMode::Auto | ToolChoiceMode::Required => {
                self.request.tools.as_deref().unwrap_or_default()
            }
        }
    }

    /// Whether a tool has to be called.
    pub fn must_call(&self) -> bool {
        mode(&self.request) == ToolChoiceMode::Required
    }

    /// The calls of tools in the reply.
    fn calls(&self) -> impl Iterator<Item = &ToolUseContent> {
        let reply = self.reply.iter();
        reply.flat_map(|reply| calls(reply.content.blocks()))
    }

    /// Returns why the reply of the model cannot be sent, if it cannot.
    pub fn fault(&self) -> Option<Words> {
        let calls: Vec<_> = self.calls().collect();
        if mode(&self.request) == ToolChoiceMode::None && !calls.is_empty() {
            return Some("the server wants no tool called: run it again, or decline".into());
        }
        if self.must_call() && calls.is_empty() {
            return Some("the server wants a tool called: run it again, or decline".into());
        }
        let offered: BTreeSet<_> = self.offered().iter().map(|tool| &tool.name).collect();
        let strange = calls
            .iter()
            .position(|call| !offered.contains(&call.name))?;
        Some(words!(
            "call {} is of a tool that the server does not offer: run it again, or decline",
            strange.saturating_add(1)
        ))
    }

    /// Takes the reply of a model. A call gets an id that no other call has.
    pub(super) fn take_reply(&mut self, mut reply: CreateMessageResult) {
        let messages = self.request.messages.iter();
        let said = messages.flat_map(|message| calls(message.content.blocks()));
        let mut ids: BTreeSet<_> = said.map(|call| call.id.clone()).collect();
        let content = std::mem::replace(&mut reply.content, Vec::new().into());
        let mut blocks = content.into_blocks();
        for block in &mut blocks {
            if let SamplingBlock::ToolUse(call) = block {
                if call.id.is_empty() || ids.contains(&call.id) {
                    call.id = free(&ids);
                }
                ids.insert(call.id.clone());
            }
        }
        let has_calls = calls(&blocks).next().is_some();
        let says_so = reply.stop_reason.as_deref() == Some(TOOL_USE);
        match (has_calls, says_so) {
            (true, false) => reply.stop_reason = Some(TOOL_USE.to_owned()),
            (false, true) => reply.stop_reason = Some(END_TURN.to_owned()),
            (true, true) | (false, false) => {}
        }
        reply.content = content_of(blocks);
        self.reply = Some(reply);
    }

    /// Keeps a text that the person wrote for a reply, and may write anew.
    pub(super) fn keep(&mut self, text: String) {
        self.mine = Some(text);
    }

    /// Takes the text back that was kept.
    pub(super) fn kept(&mut self) -> Option<String> {
        self.mine.take()
    }

    /// Whether a text of the person is kept while they are elsewhere.
    pub fn has_kept(&self) -> bool {
        self.mine.is_some()
    }
}

/// Whether tools may, must or must not be called.
pub(crate) fn mode(request: &CreateMessageParams) -> ToolChoiceMode {
    let choice = request.tool_choice.as_ref();
    choice
        .and_then(|choice| choice.mode)
        .unwrap_or(ToolChoiceMode::Auto)
}

/// The calls of tools among blocks.
pub(crate) fn calls(blocks: &[SamplingBlock]) -> impl Iterator<Item = &ToolUseContent> {
    blocks.iter().filter_map(|block| match block {
        SamplingBlock::ToolUse(call) => Some(call),
        _ => None,
    })
}

/// An id that is not among these.
fn free(ids: &BTreeSet<String>) -> String {
    let mut numbers = 1_usize..;
    let id = numbers.find_map(|number| {
        let id = format!("call-{number}");
        (!ids.contains(&id)).then_some(id)
    });
    id.unwrap_or_default()
}

/// Blocks as content: one by itself, or a list.
fn content_of(mut blocks: Vec<SamplingBlock>) -> SamplingContent {
    match blocks.len() {
        1 => blocks.remove(0).into(),
        _ => blocks.into(),
    }
}

/// Whether a message is the user's and has a text in it.
fn is_text(message: &SamplingMessage) -> bool {
    let mut blocks = message.content.blocks().iter();
    message.role == Role::User && blocks.any(|block| matches!(block, SamplingBlock::Text(_)))
}

/// Puts a text in the place of those that are there; what is no text stays. No text stands beside calls
/// where it is empty.
fn put_text(content: &mut SamplingContent, text: String) {
    let blocks = std::mem::replace(content, SamplingContent::Many(Vec::new())).into_blocks();
    let is_text = |block: &SamplingBlock| matches!(block, SamplingBlock::Text(_));
    let at = blocks.iter().position(is_text).unwrap_or(0);
    let mut blocks: Vec<_> = blocks.into_iter().filter(|block| !is_text(block)).collect();
    if !text.is_empty() || calls(&blocks).next().is_none() {
        blocks.insert(at.min(blocks.len()), SamplingBlock::text(text));
    }
    *content = content_of(blocks);
}
