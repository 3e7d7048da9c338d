//! How questions ended.

use super::{Ask, By, Question, Reply, Why};

/// How the questions of a run ended, at worst: each of these outweighs those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Ended {
    /// Each was answered.
    #[default]
    Answered,
    /// One was declined or cancelled by a rule that says that this is expected.
    Expected,
    /// One was declined or cancelled otherwise.
    Refused,
    /// One was cancelled because there was nobody to answer it, and no rule.
    Unanswered,
    /// They were not those that the answers file expects.
    Unexpected,
}

impl Reply {
    /// Returns how this question ended by this reply. No call waits for folders that a server wants at
    /// its start: if nobody can name them, nothing is left undone.
    pub(crate) fn ended_for(&self, question: &Question) -> Ended {
        match (&question.ask, self) {
            (Ask::Roots, Self::Cancelled(Why::Nobody)) if question.key.is_none() => Ended::Answered,
            _ => self.ended(),
        }
    }

    /// Returns how the question ended by this reply.
    pub fn ended(&self) -> Ended {
        match self {
            Self::Declined { by, .. } => match by {
                By::Rule { expected: true } => Ended::Expected,
                By::Person | By::Rule { expected: false } | By::Policy => Ended::Refused,
            },
            Self::Cancelled(why) => match why {
                Why::Rule { expected: true } => Ended::Expected,
                Why::Person
                | Why::EndOfInput
                | Why::Muted
                | Why::Stopped
                | Why::Rule { expected: false } => Ended::Refused,
                Why::Nobody | Why::Unmatched | Why::Flood => Ended::Unanswered,
            },
            _ => Ended::Answered,
        }
    }
}
