use std::time::Duration;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    read::CallText,
    value::{Values, texts_in},
    when::When,
};
use crate::{text::Words, yaml::Shape};

/// A rule: for forms and links, or for sampling requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule<const SAMPLING: bool> {
    /// Its name in messages, with its number in the file.
    pub(super) name: Words,
    /// Whether it belongs to a suite, for all its cases.
    pub(super) is_shared: bool,
    /// Which questions the rule matches. For sampling, `message` matches any text in the request.
    pub when: When,
    /// The answers, in order. After the last one, the rule answers nothing.
    pub steps: Vec<Step>,
}

pub type AnswerRule = Rule<false>;

pub type SamplingRule = Rule<true>;

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub act: Act,
    /// How many questions it answers. If absent, all that follow.
    pub times: Option<u64>,
    pub after: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    Accept(Accept),
    /// Replies to a sampling request instead of a model.
    Says(Vec<SampledPart>),
    Decline {
        /// The reason, for the server.
        reason: Option<String>,
        /// Whether the run is expected to end this way.
        expected: bool,
    },
    Cancel {
        /// Whether the run is expected to end this way.
        expected: bool,
    },
}

/// The content to accept with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Shape<Values, IgnoredAny>")]
pub enum Accept {
    /// A form with these values, and the defaults of all other fields.
    Values(Values),
    /// A link, or a form with only its defaults.
    Yes,
}

impl<const SAMPLING: bool> Rule<SAMPLING> {
    /// Returns the next answer, after `answered` questions.
    pub fn step(&self, answered: u64) -> Option<&Step> {
        let mut before = answered;
        self.steps.iter().find(|step| {
            let left = step.times.map(|times| before.checked_sub(times));
            match left.flatten() {
                Some(left) => {
                    before = left;
                    false
                }
                None => true,
            }
        })
    }

    /// Whether the rule only refuses. If so, it may stay unused.
    pub(super) fn is_guard(&self) -> bool {
        let is_plain_no = |step: &Step| match step.act {
            Act::Accept(_) | Act::Says(_) => false,
            Act::Decline { expected, .. } | Act::Cancel { expected } => !expected,
        };
        self.steps.iter().all(is_plain_no)
    }
}

impl Act {
    /// The texts that may contain placeholders.
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Accept(Accept::Values(values)) => values.texts(),
            Self::Says(parts) => {
                let mut texts = Vec::new();
                for part in parts {
                    match part {
                        SampledPart::Text(text) => texts.push(text),
                        SampledPart::Call { input, .. } => input
                            .values_mut()
                            .for_each(|value| texts_in(value, &mut texts)),
                    }
                }
                texts
            }
            Self::Decline { reason, .. } => reason.iter_mut().collect(),
            Self::Accept(Accept::Yes) | Self::Cancel { .. } => Vec::new(),
        }
    }
}

/// A part of a scripted model reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Shape<CallText, IgnoredAny>")]
pub enum SampledPart {
    Text(String),
    /// A call of a tool that the request offers.
    Call {
        tool: String,
        input: Map<String, Value>,
    },
}
