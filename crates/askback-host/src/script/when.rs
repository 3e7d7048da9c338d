//! Which questions a rule answers.

use std::num::NonZeroU64;

use askback_core::protocol::{CreateMessageParams, SamplingBlock};
use serde::Deserialize;

use crate::model::{Ask, Call, Question, link};

/// Which questions a rule answers: those that fit everything given here.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The name that the person gave the server.
    pub server: Option<String>,
    /// The name of the tool that is being called.
    pub tool: Option<String>,
    /// The name of the prompt that is being got.
    pub prompt: Option<String>,
    /// The key of the question.
    pub key: Option<String>,
    /// Form or link.
    pub mode: Option<Mode>,
    /// A part of the message.
    pub message: Option<String>,
    /// The host of the link. A rule that accepts links has to name it.
    pub host: Option<String>,
    /// Which one, counted from 1 among the questions of a run that fit the rest.
    pub nth: Option<NonZeroU64>,
}

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A form.
    Form,
    /// A link.
    Url,
}

impl When {
    pub(super) fn fits(&self, server: &str, question: &Question) -> bool {
        let mode = match &question.ask {
            Ask::Form { .. } => Some(Mode::Form),
            Ask::Link { .. } => Some(Mode::Url),
            _ => None,
        };
        let message = question.ask.message().unwrap_or_default();
        let leads_there = |wanted: &String| match &question.ask {
            Ask::Link { url, .. } => link::judge(url).is_ok_and(|link| link.host() == wanted),
            _ => false,
        };
        self.fits_call(server, question)
            && self.mode.is_none_or(|wanted| mode == Some(wanted))
            && self.host.as_ref().is_none_or(leads_there)
            && self
                .message
                .as_ref()
                .is_none_or(|part| message.contains(part))
    }

    pub(super) fn fits_sampling(
        &self,
        server: &str,
        question: &Question,
        request: &CreateMessageParams,
    ) -> bool {
        let says = |part: &String| {
            let blocks = request
                .messages
                .iter()
                .flat_map(|message| message.content.blocks());
            let texts = blocks.filter_map(|block| match block {
                SamplingBlock::Text(text) => Some(&text.text),
                _ => None,
            });
            request
                .system_prompt
                .iter()
                .chain(texts)
                .any(|text| text.contains(part))
        };
        self.fits_call(server, question)
            && self.mode.is_none()
            && self.message.as_ref().is_none_or(says)
    }

    fn fits_call(&self, server: &str, question: &Question) -> bool {
        let (tool, prompt) = match &question.call {
            Some(Call::Tool(name)) => (Some(name.as_str()), None),
            Some(Call::Prompt(name)) => (None, Some(name.as_str())),
            Some(Call::Resource(_)) | None => (None, None),
        };
        let is =
            |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        // Never what the server calls itself: any server can call itself anything.
        is(&self.server, Some(server))
            && is(&self.tool, tool)
            && is(&self.prompt, prompt)
            && is(&self.key, question.key.as_deref())
    }
}
