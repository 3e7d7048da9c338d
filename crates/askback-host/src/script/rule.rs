//! The rules of an answers file.

use askback_core::forms::Content;

use super::when::When;

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule<A> {
    /// Which questions it answers; for what a model is asked, `message` is a part of any text in it.
    pub when: When,
    /// How.
    pub act: A,
    /// How many questions it should answer, where that is not left open.
    pub asked: Option<Asked>,
}

/// How many questions a rule should answer in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
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
#[derive(Debug, Clone, PartialEq)]
pub enum Accept {
    /// A form with these values, and the defaults of its other fields.
    Values(Content),
    /// A link; or a form with nothing but its defaults.
    Yes,
}

/// The action of a rule for what a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Says this in place of a model.
    Text(String),
    /// Declines.
    Decline {
        /// Whether the run is to end in this.
        expected: bool,
    },
}

impl Asked {
    /// Whether the question must not be asked.
    pub fn is_never(self) -> bool {
        self.most == Some(0)
    }

    /// Whether so many questions are as many as there should be.
    pub fn holds(self, times: u64) -> bool {
        self.least <= times && self.most.is_none_or(|most| times <= most)
    }
}

impl Act {
    /// Whether it is a no that the run is to end in.
    pub fn is_expected(&self) -> bool {
        match self {
            Self::Accept(_) => false,
            Self::Decline { expected, .. } | Self::Cancel { expected } => *expected,
        }
    }
}
