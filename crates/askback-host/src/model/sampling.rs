//! Sampling: the request before it goes to a model, and the reply before it goes to the server.

use std::collections::BTreeSet;

use askback_core::{
    limits::Limits,
    protocol::{
        CreateMessageParams, CreateMessageResult, RawObject, Role, SamplingBlock, SamplingContent,
        SamplingMessage, Tool, ToolChoiceMode, ToolUseContent,
    },
};

use crate::{
    text::{Clock, Words},
    words,
};

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
    /// The reply of the model or of the person, as the person left it.
    pub reply: Option<CreateMessageResult>,
    /// The text of the person that is to be the reply, as far as it is written.
    pub so_far: String,
    /// A reply of the person's own, from which they went back.
    mine: Option<CreateMessageResult>,
    /// The arguments of a call from which the person went back.
    pub(super) left: Option<LeftCall>,
    /// Whether there is a model to reply.
    pub(super) has_model: bool,
    pub(super) limits: Limits,
    pub(super) clock: Clock,
}

/// A call that is not in the reply yet, or is to be another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeftCall {
    /// The tool among those offered, by its number from nought.
    pub(super) tool: usize,
    /// The id of the call of the reply in whose place it goes.
    pub(super) id: Option<String>,
    /// Its arguments in JSON, as they were written.
    pub(super) arguments: String,
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
    /// The arguments of a call, as JSON.
    Arguments,
}

impl Sampling {
    pub(super) fn new(
        request: &CreateMessageParams,
        has_model: bool,
        limits: &Limits,
        clock: Clock,
    ) -> Self {
        Self {
            request: request.clone(),
            reply: None,
            so_far: String::new(),
            mine: None,
            left: None,
            has_model,
            limits: limits.clone(),
            clock,
        }
    }

    /// Returns the text of a part; none where there is no such part.
    pub fn text(&self, part: Part) -> Option<String> {
        match part {
            Part::System => Some(self.request.system_prompt.clone().unwrap_or_default()),
            Part::Message => self.last_message().map(|message| message.content.text()),
            Part::Reply => self.reply.as_ref().map(|reply| reply.content.text()),
            Part::Arguments => None,
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
            Part::Arguments => {}
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

    /// The offered tools, by their numbers from nought, that a person may mean by this text: the one
    /// of this name, or of this number from 1, or else all that have it in their name or title.
    pub fn meant(&self, text: &str) -> Vec<usize> {
        let offered = self.offered();
        let named = offered.iter().position(|tool| tool.name == text);
        let number = text.parse::<usize>().ok();
        let index = number.and_then(|number| number.checked_sub(1));
        let numbered = index.filter(|&index| index < offered.len());
        match named.or(numbered) {
            Some(one) => vec![one],
            None => self.having(text),
        }
    }

    /// The offered tools, by their numbers from nought, that have this text in their name or title: first
    /// those that are called so.
    pub fn having(&self, text: &str) -> Vec<usize> {
        let lower = text.to_lowercase();
        let has = |name: &String| name.to_lowercase().contains(&lower);
        let has = |tool: &Tool| has(&tool.name) || tool.title.as_ref().is_some_and(has);
        let tools = self
            .offered()
            .iter()
            .enumerate()
            .filter(|(_, tool)| has(tool));
        let is_named = |tool: &Tool| tool.name == text && !text.is_empty();
        let (named, others): (Vec<_>, Vec<_>) = tools.partition(|(_, tool)| is_named(tool));
        let all = named.into_iter().chain(others);
        all.map(|(index, _)| index).collect()
    }

    /// The calls of tools in the reply.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUseContent> {
        let reply = self.reply.iter();
        reply.flat_map(|reply| calls(reply.content.blocks()))
    }

    /// Whether the reply is the person's own.
    pub fn is_by_hand(&self) -> bool {
        self.reply.as_ref().is_some_and(is_by_hand)
    }

    /// Returns why the reply cannot be sent, if it cannot.
    pub fn fault(&self) -> Option<Words> {
        let calls: Vec<_> = self.calls().collect();
        if mode(&self.request) == ToolChoiceMode::None && !calls.is_empty() {
            return Some("the server wants no tool called: take the calls out".into());
        }
        if self.must_call() && calls.is_empty() {
            return Some("the server wants a tool called: add a call, or decline".into());
        }
        let offered: BTreeSet<_> = self.offered().iter().map(|tool| &tool.name).collect();
        let strange = calls
            .iter()
            .position(|call| !offered.contains(&call.name))?;
        Some(words!(
            "call {} is of a tool that is not offered: take it out",
            strange.saturating_add(1)
        ))
    }

    /// Takes a reply of the person's own, with this text.
    pub(super) fn write(&mut self, text: String) {
        self.so_far.clear();
        self.reply = Some(CreateMessageResult::text(PERSON, text));
    }

    /// Takes the reply of a model. Ids of calls that were there before are made others.
    pub(super) fn take_reply(&mut self, mut reply: CreateMessageResult) {
        self.forget_change();
        let mut ids = self.ids();
        edit(&mut reply, |blocks| {
            for block in blocks {
                if let SamplingBlock::ToolUse(call) = block {
                    if call.id.is_empty() || ids.contains(&call.id) {
                        call.id = free(&ids);
                    }
                    ids.insert(call.id.clone());
                }
            }
        });
        self.reply = Some(reply);
    }

    /// Puts a call in the place of the one of that number from nought, or behind all.
    pub(super) fn call(&mut self, place: Option<usize>, name: &str, input: RawObject) {
        let id = free(&self.ids());
        let reply = self.reply.get_or_insert_with(|| CreateMessageResult {
            content: Vec::new().into(),
            ..CreateMessageResult::text(PERSON, "")
        });
        edit(reply, |blocks| {
            let before = place.and_then(|place| calls_mut(blocks).nth(place));
            if let Some(call) = before {
                call.input = input;
                return;
            }
            // A text without a word says nothing beside a call.
            blocks.retain(
                |block| !matches!(block, SamplingBlock::Text(text) if text.text.is_empty()),
            );
            blocks.push(SamplingBlock::ToolUse(ToolUseContent {
                id,
                name: name.to_owned(),
                input,
                meta: None,
            }));
        });
    }

    /// Takes out the call of that number from nought. Returns whether there is one.
    pub(super) fn take_out(&mut self, place: usize) -> bool {
        let Some(id) = self.calls().nth(place).map(|call| call.id.clone()) else {
            return false;
        };
        self.forget_change();
        if let Some(reply) = &mut self.reply {
            edit(reply, |blocks| {
                blocks.retain(
                    |block| !matches!(block, SamplingBlock::ToolUse(call) if call.id == id),
                );
                if blocks.is_empty() {
                    blocks.push(SamplingBlock::text(""));
                }
            });
        }
        true
    }

    /// Puts the reply aside if it is the person's own, to be gone on with later.
    pub(super) fn put_aside(&mut self) {
        if let Some(reply) = self.reply.take().filter(is_by_hand) {
            self.mine = Some(reply);
        }
    }

    /// Keeps a text that the person wrote for a reply, and may write anew.
    pub(super) fn keep(&mut self, text: String) {
        self.mine = Some(CreateMessageResult::text(PERSON, text));
    }

    /// Takes the text back that was kept.
    pub(super) fn kept(&mut self) -> Option<String> {
        self.mine.take().map(|reply| reply.content.text())
    }

    /// Whether a reply of the person is kept while they are elsewhere.
    pub fn has_kept(&self) -> bool {
        self.mine.is_some()
    }

    /// Takes up the reply that was put aside. Returns whether there was one.
    pub(super) fn take_up(&mut self) -> bool {
        self.reply = self.mine.take();
        self.reply.is_some()
    }

    /// Takes up the arguments of a call of a tool that was left.
    pub(super) fn take_left(&mut self, tool: usize, id: Option<&str>) -> Option<String> {
        let left = self
            .left
            .take_if(|left| left.tool == tool && left.id.as_deref() == id)?;
        Some(left.arguments)
    }

    /// Forgets the arguments of a call of the reply that were left: another call may get its id.
    fn forget_change(&mut self) {
        self.left.take_if(|left| left.id.is_some());
    }

    /// The ids of all calls in the conversation and in the reply.
    fn ids(&self) -> BTreeSet<String> {
        let messages = self.request.messages.iter();
        let said = messages.flat_map(|message| calls(message.content.blocks()));
        said.chain(self.calls())
            .map(|call| call.id.clone())
            .collect()
    }
}

/// Whether tools may, must or must not be called.
pub(crate) fn mode(request: &CreateMessageParams) -> ToolChoiceMode {
    let choice = request.tool_choice.as_ref();
    choice
        .and_then(|choice| choice.mode)
        .unwrap_or(ToolChoiceMode::Auto)
}

/// Whether a reply is the person's own.
pub(crate) fn is_by_hand(reply: &CreateMessageResult) -> bool {
    reply.model == PERSON
}

/// The calls of tools among blocks.
pub(crate) fn calls(blocks: &[SamplingBlock]) -> impl Iterator<Item = &ToolUseContent> {
    blocks.iter().filter_map(|block| match block {
        SamplingBlock::ToolUse(call) => Some(call),
        _ => None,
    })
}

fn calls_mut(blocks: &mut [SamplingBlock]) -> impl Iterator<Item = &mut ToolUseContent> {
    blocks.iter_mut().filter_map(|block| match block {
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

/// Changes the blocks of a reply, and says why it stops by whether it calls tools then.
fn edit(reply: &mut CreateMessageResult, change: impl FnOnce(&mut Vec<SamplingBlock>)) {
    let content = std::mem::replace(&mut reply.content, Vec::new().into());
    let mut blocks = content.into_blocks();
    change(&mut blocks);
    let has_calls = calls(&blocks).next().is_some();
    let says_so = reply.stop_reason.as_deref() == Some(TOOL_USE);
    match (has_calls, says_so) {
        (true, false) => reply.stop_reason = Some(TOOL_USE.to_owned()),
        (false, true) => reply.stop_reason = Some(END_TURN.to_owned()),
        (true, true) | (false, false) => {}
    }
    reply.content = content_of(blocks);
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
