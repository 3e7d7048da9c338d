use super::rule::AskCount;
use crate::{model::WorstEnd, text::Words, words};

/// The result of a run: which rules did not answer the expected number of questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The findings, in file order.
    pub findings: Vec<Finding>,
    pub(super) unused_fails: bool,
}

/// A rule that did not answer the expected number of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The rule answered no question.
    Unused(Place),
    /// The rule answered more or fewer questions than its `asked` says.
    Miscounted {
        /// The rule.
        rule: Place,
        /// How many questions it answered.
        times: u64,
        /// How many it should have answered.
        asked: AskCount,
    },
}

const OF_CASE: &str = "case ";

/// The position of a rule in an answers file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the list of `answers`.
    Answers(usize),
    /// In the list of `sampling`.
    Sampling(usize),
}

/// The origin of a script's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RulesOf {
    /// An answers file.
    #[default]
    Answers,
    /// A suite: the rules of a case, then the rules of the suite.
    Suite {
        /// The number of the case's `answers` rules.
        answers: usize,
        /// The number of the case's `sampling` rules.
        sampling: usize,
    },
}

impl Report {
    /// Whether a finding fails the run.
    pub fn fails(&self, finding: &Finding) -> bool {
        match finding {
            Finding::Unused(_) => self.unused_fails,
            Finding::Miscounted { .. } => true,
        }
    }

    /// Returns the worst outcome according to the rules.
    pub fn ended(&self) -> WorstEnd {
        match self.findings.iter().any(|finding| self.fails(finding)) {
            true => WorstEnd::Unexpected,
            false => WorstEnd::Answered,
        }
    }
}

impl Finding {
    /// Returns the finding as a sentence.
    pub fn words(&self, of: RulesOf) -> Words {
        match *self {
            Self::Unused(rule) => words!("{} answered no question", rule.words(of)),
            Self::Miscounted { rule, times, asked } => {
                let (rule, times) = (rule.words(of), questions(times));
                words!("{} answered {}; expected: {}", rule, times, asked.words())
            }
        }
    }
}

impl Place {
    /// Returns the rule's name for messages.
    pub fn words(self, of: RulesOf) -> Words {
        let (whose, number) = of.numbered(self);
        match self {
            Self::Answers(_) => words!("{}rule {}", whose, number),
            Self::Sampling(_) => words!("{}sampling rule {}", whose, number),
        }
    }
}

impl RulesOf {
    /// Whether a rule belongs to the case, not to the suite.
    pub fn is_of_case(self, place: Place) -> bool {
        self.numbered(place).0 == OF_CASE
    }

    /// Returns the prefix of the rule's name and its number in the case or suite.
    fn numbered(self, place: Place) -> (&'static str, usize) {
        let (number, own) = match (self, place) {
            (Self::Answers, Place::Answers(number) | Place::Sampling(number)) => {
                return ("", number);
            }
            (Self::Suite { answers, .. }, Place::Answers(number)) => (number, answers),
            (Self::Suite { sampling, .. }, Place::Sampling(number)) => (number, sampling),
        };
        match number.checked_sub(own) {
            None | Some(0) => (OF_CASE, number),
            Some(number) => ("suite ", number),
        }
    }

    /// Returns the name of a rule that answered a question, without `sampling`.
    pub(crate) fn rule(self, place: Place) -> Words {
        let (whose, number) = self.numbered(place);
        words!("{}rule {}", whose, number)
    }
}

impl AskCount {
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
