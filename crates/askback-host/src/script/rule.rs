//! The rules of an answers file.

use std::time::Duration;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    read::{CallText, RangeText},
    value::{Values, texts_in},
    when::When,
};
use crate::yaml::Shape;

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule<A> {
    /// Which questions it answers; for what a model is asked, `message` is a part of any text in it.
    pub when: When,
    /// Its answers, one after the other; after the last it answers no more.
    pub steps: Vec<Step<A>>,
    /// How many questions it should answer, where that is not left open.
    pub asked: Option<AskCount>,
}

/// One of the answers of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<A> {
    /// The answer.
    pub act: A,
    /// How many questions it answers; all that follow, where absent.
    pub times: Option<u64>,
    /// How long it is waited before.
    pub after: Duration,
}

/// How many questions a rule should answer in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Shape<RangeText, IgnoredAny>")]
pub struct AskCount {
    /// At least so many.
    pub least: u64,
    /// At most so many.
    pub most: Option<u64>,
}

/// The action of a rule for forms and links.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Accepts.
    Accept(Accept),
    /// Declines, and says why.
    Decline {
        /// Why, for the server.
        reason: Option<String>,
        /// Whether the run is to end in this.
        expected: bool,
    },
    /// Cancels.
    Cancel {
        /// Whether the run is to end in this.
        expected: bool,
    },
}

/// The accepted content.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Shape<Values, IgnoredAny>")]
pub enum Accept {
    /// A form with these values, and the defaults of its other fields.
    Values(Values),
    /// A link; or a form with nothing but its defaults.
    Yes,
}

/// The action of a rule for what a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Says this in place of a model.
    Says(Vec<SampledPart>),
    /// Declines.
    Decline {
        /// Whether the run is to end in this.
        expected: bool,
    },
}

/// The action of a rule.
pub(super) trait Action {
    /// Whether it says no, and nobody expects the run to end in that.
    fn is_plain_no(&self) -> bool;

    /// The texts in it that may stand for others.
    fn texts(&mut self) -> Vec<&mut String>;
}

impl<A> Rule<A> {
    /// The answer to the question after so many that the rule has answered.
    pub fn step(&self, answered: u64) -> Option<&Step<A>> {
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
}

/// Whether a rule only refuses what is better not asked: it may stay unused.
pub(super) fn is_guard<A: Action>(rule: &Rule<A>) -> bool {
    rule.steps.iter().all(|step| step.act.is_plain_no())
}

impl AskCount {
    /// Whether the question must not be asked.
    pub fn is_never(self) -> bool {
        self.most == Some(0)
    }

    /// Whether so many questions are as many as there should be.
    pub fn holds(self, times: u64) -> bool {
        self.least <= times && self.most.is_none_or(|most| times <= most)
    }
}

impl Action for Act {
    fn is_plain_no(&self) -> bool {
        match self {
            Self::Accept(_) => false,
            Self::Decline { expected, .. } | Self::Cancel { expected } => !expected,
        }
    }

    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Accept(Accept::Values(values)) => values.texts(),
            Self::Decline { reason, .. } => reason.iter_mut().collect(),
            Self::Accept(Accept::Yes) | Self::Cancel { .. } => Vec::new(),
        }
    }
}

/// A part of what is said in place of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Shape<CallText, IgnoredAny>")]
pub enum SampledPart {
    /// A text.
    Text(String),
    /// A call of a tool that the request offers.
    Call {
        /// The name of the tool.
        tool: String,
        /// Its arguments.
        input: Map<String, Value>,
    },
}

impl Action for Reply {
    fn is_plain_no(&self) -> bool {
        match self {
            Self::Says(_) => false,
            Self::Decline { expected } => !expected,
        }
    }

    fn texts(&mut self) -> Vec<&mut String> {
        match self {
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
            Self::Decline { .. } => Vec::new(),
        }
    }
}
