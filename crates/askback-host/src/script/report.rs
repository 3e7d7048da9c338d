use crate::{model::WorstEnd, text::Words, words};

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The rules that answered no question, in file order.
    pub unused: Vec<Place>,
    /// Whether such a rule fails the run.
    pub unused_fails: bool,
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
    /// Returns the worst outcome according to the rules.
    pub fn ended(&self) -> WorstEnd {
        match self.unused_fails && !self.unused.is_empty() {
            true => WorstEnd::Unexpected,
            false => WorstEnd::Answered,
        }
    }
}

impl Place {
    /// Says that the rule answered no question.
    pub fn unused(self, of: RulesOf) -> Words {
        words!("{} answered no question", self.words(of))
    }

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
