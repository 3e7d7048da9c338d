//! The report on a run of a script.

use super::rule::Asked;
use crate::{model::Ended, text::Words, words};

/// The report on a run of a script: whether its rules answered as often as they should.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The findings, in the order of the file.
    pub findings: Vec<Finding>,
    /// Whether the file says that a rule without a question fails the run.
    pub(super) unused_fails: bool,
}

/// A rule that did not answer as often as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The rule answered no question.
    Unused(Place),
    /// The rule answered more or fewer questions than it says.
    Miscounted {
        /// The rule.
        rule: Place,
        /// How many questions it answered.
        times: u64,
        /// How many it should have.
        asked: Asked,
    },
}

/// The place of a rule in an answers file, by its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the list of `answers`.
    Answers(usize),
    /// In the list of `sampling`.
    Sampling(usize),
}

impl Report {
    /// Whether a finding fails the run.
    pub fn fails(&self, finding: &Finding) -> bool {
        match finding {
            Finding::Unused(_) => self.unused_fails,
            Finding::Miscounted { .. } => true,
        }
    }

    /// Returns how the questions ended, as far as the rules have a say in it.
    pub fn ended(&self) -> Ended {
        match self.findings.iter().any(|finding| self.fails(finding)) {
            true => Ended::Unexpected,
            false => Ended::Answered,
        }
    }
}

impl Finding {
    /// The finding in a sentence.
    pub fn words(&self) -> Words {
        match *self {
            Self::Unused(rule) => words!("{} answered no question", rule.words()),
            Self::Miscounted { rule, times, asked } => {
                let (rule, times) = (rule.words(), questions(times));
                words!("{} answered {}; expected: {}", rule, times, asked.words())
            }
        }
    }
}

impl Place {
    /// The rule by its number.
    pub fn words(self) -> Words {
        match self {
            Self::Answers(number) => words!("rule {}", number),
            Self::Sampling(number) => words!("sampling rule {}", number),
        }
    }
}

impl Asked {
    fn words(self) -> Words {
        match (self.least, self.most) {
            (0, Some(0)) => "none".into(),
            (least, None) => words!("{} or more", least),
            (least, Some(most)) if least == most => words!("{}", least),
            (least, Some(most)) => words!("{} to {}", least, most),
        }
    }
}

fn questions(count: u64) -> Words {
    match count {
        0 => "no question".into(),
        1 => "1 question".into(),
        count => words!("{} questions", count),
    }
}
