//! Which questions a rule answers.

use std::{fmt, num::NonZeroU64};

use askback_core::protocol::{CreateMessageParams, SamplingBlock};
use regex::Regex;
use serde::{Deserialize, Deserializer, de};

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
    /// A part of the message, or a pattern of it.
    pub message: Option<TextMatch>,
    /// Fields that the form has, by name.
    pub fields: Option<Vec<String>>,
    /// Whether the form has no fields but those.
    pub only: Option<bool>,
    /// Tools that a model is offered, by name.
    pub tools: Option<Vec<String>>,
    /// The host of the link, as [`Link::named`](link::Link::named) has it. A rule that accepts links has to name it.
    pub host: Option<String>,
    /// Which one, counted from 1 among the questions of a run that fit the rest.
    pub nth: Option<NonZeroU64>,
}

/// A text that is looked for in others.
#[derive(Debug, Clone)]
pub enum TextMatch {
    /// A part of the text, letter by letter.
    Part(String),
    /// A regular expression that matches somewhere in it.
    Regex(Regex),
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
            Ask::Link { url, .. } => link::judge(url).is_ok_and(|link| link.named() == *wanted),
            _ => false,
        };
        let has_fields = |wanted: &Vec<String>| match &question.ask {
            Ask::Form { schema, .. } => {
                let has_all = wanted.iter().all(|name| schema.field(name).is_some());
                let has_others = schema
                    .fields
                    .iter()
                    .any(|field| !wanted.contains(&field.name));
                has_all && !(has_others && self.only == Some(true))
            }
            _ => false,
        };
        self.fits_call(server, question)
            && self.mode.is_none_or(|wanted| mode == Some(wanted))
            && self.host.as_ref().is_none_or(leads_there)
            && self.fields.as_ref().is_none_or(has_fields)
            && self
                .message
                .as_ref()
                .is_none_or(|wanted| wanted.is_in(message))
    }

    pub(super) fn fits_sampling(
        &self,
        server: &str,
        question: &Question,
        request: &CreateMessageParams,
    ) -> bool {
        let offers = |wanted: &Vec<String>| {
            let offered: Vec<_> = request
                .tools
                .iter()
                .flatten()
                .map(|tool| &tool.name)
                .collect();
            wanted.iter().all(|name| offered.contains(&name))
        };
        let says = |wanted: &TextMatch| {
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
                .any(|text| wanted.is_in(text))
        };
        self.fits_call(server, question)
            && self.tools.as_ref().is_none_or(offers)
            && self.message.as_ref().is_none_or(says)
    }

    fn fits_call(&self, server: &str, question: &Question) -> bool {
        let call = question.call.as_ref();
        let (tool, prompt) = (call.and_then(Call::tool), call.and_then(Call::prompt));
        let is =
            |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        // Never what the server calls itself: any server can call itself anything.
        is(&self.server, Some(server))
            && is(&self.tool, tool)
            && is(&self.prompt, prompt)
            && is(&self.key, question.key.as_deref())
    }
}

impl TextMatch {
    /// Whether a text has it.
    pub fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Part(part) => text.contains(part),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

impl PartialEq for TextMatch {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Part(one), Self::Part(other)) => one == other,
            (Self::Regex(one), Self::Regex(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for TextMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextMatchVisitor)
    }
}

struct TextMatchVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegexText {
    regex: String,
}

impl<'de> de::Visitor<'de> for TextMatchVisitor {
    type Value = TextMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of the text, or `{regex: pattern}`")
    }

    fn visit_str<E: de::Error>(self, part: &str) -> Result<TextMatch, E> {
        Ok(TextMatch::Part(part.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TextMatch, A::Error> {
        let text = RegexText::deserialize(de::value::MapAccessDeserializer::new(map))?;
        let regex = Regex::new(&text.regex).map_err(|error| {
            // The lines before it show the pattern, which the file shows, too.
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last);
            de::Error::custom(format_args!("the regex cannot be read: {why}"))
        })?;
        Ok(TextMatch::Regex(regex))
    }
}
