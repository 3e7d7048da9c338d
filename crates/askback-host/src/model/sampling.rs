//! A sampling request before it goes to a model, and the reply before it goes to the server.

use std::collections::BTreeSet;

use askback::protocol::{
    CreateMessageParams, CreateMessageResult, Role, SamplingBlock, SamplingContent,
    SamplingMessage, Tool, ToolChoiceMode, ToolUseContent,
};

use crate::{text::Words, words};

/// The model name that is sent if the user writes the reply.
pub(crate) const PERSON: &str = "person";

const TOOL_USE: &str = "toolUse";

const END_TURN: &str = "endTurn";

/// A sampling request, and the model's reply if it has arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// The request, with the user's changes.
    pub request: CreateMessageParams,
    /// The model's reply, with the user's changes.
    pub reply: Option<CreateMessageResult>,
    /// The user's own reply so far.
    pub so_far: String,
    /// The user's own text, kept after going back to the request.
    mine: Option<String>,
    pub(super) has_model: bool,
}

/// A text of a [`Sampling`] that the user can rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The system prompt. Empty text removes it.
    System,
    /// The last text message of the user.
    Message,
    /// The text of the reply. If the reply calls tools, empty text removes it.
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

    /// Returns the offered tools; empty if the request disables tool calls.
    pub fn offered(&self) -> &[Tool] {
        match mode(&self.request) {
            ToolChoiceMode::None => &[],
            ToolChoiceMode::Auto | ToolChoiceMode::Required => {
                self.request.tools.as_deref().unwrap_or_default()
            }
        }
    }

    pub fn must_call(&self) -> bool {
        mode(&self.request) == ToolChoiceMode::Required
    }

    fn calls(&self) -> impl Iterator<Item = &ToolUseContent> {
        let reply = self.reply.iter();
        reply.flat_map(|reply| calls(reply.content.blocks()))
    }

    /// Returns why the model's reply cannot be sent, if it cannot.
    pub fn fault(&self) -> Option<Words> {
        let calls: Vec<_> = self.calls().collect();
        if mode(&self.request) == ToolChoiceMode::None && !calls.is_empty() {
            return Some("the server allows no tool call: run it again, or decline".into());
        }
        if self.must_call() && calls.is_empty() {
            return Some("the server requires a tool call: run it again, or decline".into());
        }
        let offered: BTreeSet<_> = self.offered().iter().map(|tool| &tool.name).collect();
        let strange = calls
            .iter()
            .position(|call| !offered.contains(&call.name))?;
        Some(words!(
            "call {} is to a tool that the server does not offer: run it again, or decline",
            strange.saturating_add(1)
        ))
    }

    /// Stores the model's reply. Each tool call gets a unique id.
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

    pub(super) fn keep(&mut self, text: String) {
        self.mine = Some(text);
    }

    pub(super) fn kept(&mut self) -> Option<String> {
        self.mine.take()
    }

    /// Whether the user's own text was kept.
    pub fn has_kept(&self) -> bool {
        self.mine.is_some()
    }
}

pub(crate) fn mode(request: &CreateMessageParams) -> ToolChoiceMode {
    let choice = request.tool_choice.as_ref();
    choice
        .and_then(|choice| choice.mode)
        .unwrap_or(ToolChoiceMode::Auto)
}

pub(crate) fn calls(blocks: &[SamplingBlock]) -> impl Iterator<Item = &ToolUseContent> {
    blocks.iter().filter_map(|block| match block {
        SamplingBlock::ToolUse(call) => Some(call),
        _ => None,
    })
}

fn free(ids: &BTreeSet<String>) -> String {
    let mut numbers = 1_usize..;
    let id = numbers.find_map(|number| {
        let id = format!("call-{number}");
        (!ids.contains(&id)).then_some(id)
    });
    id.unwrap_or_default()
}

/// A single block is not put in a list, for revisions before 2025-11-25.
pub(crate) fn content_of(mut blocks: Vec<SamplingBlock>) -> SamplingContent {
    match blocks.len() {
        1 => blocks.remove(0).into(),
        _ => blocks.into(),
    }
}

fn is_text(message: &SamplingMessage) -> bool {
    let mut blocks = message.content.blocks().iter();
    message.role == Role::User && blocks.any(|block| matches!(block, SamplingBlock::Text(_)))
}

/// Replaces the text blocks and keeps the others. Empty text next to tool calls is dropped.
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
