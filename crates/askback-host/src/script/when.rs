use askback::protocol::SamplingBlock;
use regex::Regex;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::{
    model::{Ask, Call, Question, link},
    yaml::Shape,
};

/// The conditions of a rule. A question matches if it meets all of them.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The name that the user gave the server.
    pub server: Option<String>,
    pub tool: Option<String>,
    pub prompt: Option<String>,
    pub key: Option<String>,
    pub mode: Option<Mode>,
    /// Text or a pattern in the message.
    pub message: Option<TextMatch>,
    /// The form must have fields with these names.
    pub fields: Option<Vec<String>>,
    /// Whether the form has no other fields.
    pub only: Option<bool>,
    /// Names of tools that the request offers.
    pub tools: Option<Vec<String>>,
    /// The link's host, as in [`Link::named`](link::Link::named). A rule that accepts links must
    /// name it.
    pub host: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Shape<RegexText, IgnoredAny>")]
pub enum TextMatch {
    /// A literal part of the text, case-sensitive.
    Part(String),
    /// A regular expression that matches anywhere in the text.
    Regex(Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Form,
    Url,
}

impl When {
    pub(super) fn fits(&self, server: &str, question: &Question) -> bool {
        let call = question.call.as_ref();
        let (tool, prompt) = (call.and_then(Call::tool), call.and_then(Call::prompt));
        let is =
            |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        // The server's own name is not used: any server can claim any name.
        is(&self.server, Some(server))
            && is(&self.tool, tool)
            && is(&self.prompt, prompt)
            && is(&self.key, question.key.as_deref())
            && self.fits_ask(&question.ask)
    }

    fn fits_ask(&self, ask: &Ask) -> bool {
        let mode = match ask {
            Ask::Form { .. } => Some(Mode::Form),
            Ask::Link { .. } => Some(Mode::Url),
            _ => None,
        };
        let leads_there = |wanted: &String| match ask {
            Ask::Link { url, .. } => link::judge(url).is_ok_and(|link| link.named() == *wanted),
            _ => false,
        };
        let has_fields = |wanted: &Vec<String>| match ask {
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
        let offers = |wanted: &Vec<String>| match ask {
            Ask::Sample(request) => wanted.iter().all(|name| {
                let mut offered = request.tools.iter().flatten();
                offered.any(|tool| tool.name == *name)
            }),
            _ => false,
        };
        let says = |wanted: &TextMatch| match ask {
            Ask::Sample(request) => {
                let messages = request.messages.iter();
                let blocks = messages.flat_map(|message| message.content.blocks());
                let texts = blocks.filter_map(|block| match block {
                    SamplingBlock::Text(text) => Some(&text.text),
                    _ => None,
                });
                let mut texts = request.system_prompt.iter().chain(texts);
                texts.any(|text| wanted.is_in(text))
            }
            ask => ask.message().is_some_and(|message| wanted.is_in(message)),
        };
        self.mode.is_none_or(|wanted| mode == Some(wanted))
            && self.host.as_ref().is_none_or(leads_there)
            && self.fields.as_ref().is_none_or(has_fields)
            && self.tools.as_ref().is_none_or(offers)
            && self.message.as_ref().is_none_or(says)
    }
}

impl TextMatch {
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegexText {
    regex: String,
}

impl TryFrom<Shape<RegexText, IgnoredAny>> for TextMatch {
    type Error = String;

    fn try_from(text: Shape<RegexText, IgnoredAny>) -> Result<Self, String> {
        match text {
            Shape::Scalar(Value::String(part)) => Ok(Self::Part(part)),
            Shape::Map(RegexText { regex }) => {
                let regex = Regex::new(&regex).map_err(|error| {
                    // The lines before it show the pattern, which is in the file already.
                    let message = error.to_string();
                    let last = message.lines().last().unwrap_or_default();
                    let why = last.strip_prefix("error: ").unwrap_or(last);
                    format!("the regex cannot be read: {why}")
                })?;
                Ok(Self::Regex(regex))
            }
            other => Err(other.refuse("a part of the text, or `{regex: pattern}`")),
        }
    }
}
