//! Errors of the command, and its exit codes.

use std::{fmt, io, path::Path, process::ExitCode};

use askback::{ErrorObject, protocol::RawJson};
use askback_host::{
    Interruption,
    model::WorstEnd,
    page::out::Unwritten,
    text::{PeerText, Words, given},
    words,
};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// Who caused the error. It decides the exit code.
    pub kind: Kind,
    pub message: Words,
    /// A peer's words about the error, or the faulty part of a message.
    pub quoted: Option<PeerText>,
    pub answer: Option<Box<ErrorObject>>,
    /// The result, if it does not match the server's own schema.
    pub result: Option<RawJson>,
    pub hints: Vec<Words>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Usage,
    Connection,
    /// The connection was lost after questions were answered, so it is unknown whether the server acted on them.
    OutcomeUnknown,
    Protocol,
    Server,
    Refused,
    /// A required sign-in was not completed, or the server rejected the credentials.
    SignIn,
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The tool reported an error, a case of a suite failed, or a check found a fault.
    pub tool_error: bool,
    pub questions: WorstEnd,
    /// A case of a suite could not be run because of this party, or the user ended a check early.
    pub broken: Option<Kind>,
    /// A part of the server's result cannot be read. The rest was shown.
    pub malformed: bool,
    /// The check needs a sign-in to continue.
    pub unauthorized: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    /// The tool reported an error, a case of a suite failed, or a check found a fault.
    ToolError = 1,
    Usage = 2,
    /// A question was declined or cancelled unexpectedly, even if the tool then succeeded.
    Refused = 3,
    Failure = 4,
    /// A required sign-in was not completed, or the server rejected the credentials.
    SignIn = 5,
    /// A question had no user to ask and no matching rule.
    Unanswered = 6,
    /// The questions differ from those that the answers file expects.
    Unexpected = 7,
    /// The user interrupted the run. Shells use this code for Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// The exit code of a run: from its outcome, and from the error that ended it early, if any. A failure takes
    /// precedence over the ends of questions, and those over a tool error. An expected decline takes precedence over a
    /// tool error, too, because servers report a decline as an error.
    pub fn of(outcome: Outcome, error: Option<&Error>) -> Self {
        match error.map(|error| error.kind).or(outcome.broken) {
            Some(Kind::Connection | Kind::OutcomeUnknown | Kind::Protocol) => Self::Failure,
            Some(Kind::SignIn) => Self::SignIn,
            Some(Kind::Usage) => Self::Usage,
            Some(Kind::Interrupted) => Self::Interrupted,
            None if outcome.malformed => Self::Failure,
            kind => match (outcome.questions, kind) {
                (WorstEnd::Unexpected, _) => Self::Unexpected,
                (WorstEnd::Unanswered, _) => Self::Unanswered,
                (WorstEnd::Refused, _) => Self::Refused,
                (WorstEnd::Expected, _) => Self::Done,
                (WorstEnd::Answered, Some(Kind::Refused)) => Self::Refused,
                (WorstEnd::Answered, Some(_)) => Self::ToolError,
                (WorstEnd::Answered, None) if outcome.tool_error => Self::ToolError,
                (WorstEnd::Answered, None) if outcome.unauthorized => Self::SignIn,
                (WorstEnd::Answered, None) => Self::Done,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<Words>) -> Self {
        Self {
            kind,
            message: message.into(),
            quoted: None,
            answer: None,
            result: None,
            hints: Vec::new(),
        }
    }

    pub fn usage(message: impl Into<Words>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A file that the user named cannot be read.
    pub fn unread(path: &Path, why: impl fmt::Display) -> Self {
        let path = given(path.display());
        Self::usage(words!("{} cannot be read: {}", path, given(why)))
    }

    /// A file that the user named cannot be written.
    pub fn unwritten(path: &Path, why: &io::Error) -> Self {
        let file = given(path.display());
        match why.kind() {
            io::ErrorKind::AlreadyExists => {
                Self::usage(words!("{} exists already, and is not overwritten", file))
                    .hint("Choose another name, or remove it.")
            }
            _ => Self::usage(words!("{} cannot be written: {}", file, given(why))),
        }
    }

    /// Returns the quoted words, or else the message. They may be a peer's: make them safe before they are shown.
    pub fn reason(&self) -> String {
        let quoted = self.quoted.as_ref().map(|quoted| quoted.raw().to_owned());
        quoted.unwrap_or_else(|| self.message.to_string())
    }

    /// Adds a peer's words, which are shown after the gutter.
    #[must_use]
    pub fn quoting(mut self, text: impl Into<PeerText>) -> Self {
        self.quoted = Some(text.into());
        self
    }

    /// The end of a call that the user interrupted. The server was notified.
    pub fn cancelled(_: Interruption) -> Self {
        Self::new(
            Kind::Interrupted,
            "cancelled: the server was told to stop, and may have done part of it",
        )
    }

    /// Puts what the error is about before the message.
    #[must_use]
    pub fn about(mut self, what: impl Into<Words>) -> Self {
        self.message = words!("{}: {}", what.into(), self.message);
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Words>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Interruption> for Error {
    fn from(_: Interruption) -> Self {
        Self::new(Kind::Interrupted, "stopped")
    }
}

impl From<Unwritten> for Error {
    fn from(Unwritten(why): Unwritten) -> Self {
        Self::usage(words!("the result cannot be written: {}", given(why)))
    }
}

/// Only our own text. A page shows the peer's text.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        for hint in &self.hints {
            write!(f, "\n  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_a_refusal_and_a_refusal_outweighs_a_tool_error() {
        #[track_caller]
        fn check(tool_error: bool, questions: WorstEnd, kind: Option<Kind>, exit: Exit) {
            let error = kind.map(|kind| Error::new(kind, "x"));
            let outcome = Outcome {
                tool_error,
                questions,
                ..Outcome::default()
            };
            assert_eq!(Exit::of(outcome, error.as_ref()), exit);
            // The exit code is the same for a run and for a case of a suite.
            let outcome = Outcome {
                broken: kind,
                ..outcome
            };
            assert_eq!(Exit::of(outcome, None), exit);
        }
        use WorstEnd::{Answered, Expected, Refused, Unanswered, Unexpected};
        check(false, Answered, None, Exit::Done);
        check(true, Answered, None, Exit::ToolError);
        check(false, Refused, None, Exit::Refused);
        check(true, Refused, None, Exit::Refused);
        check(false, Unanswered, None, Exit::Unanswered);
        check(true, Unanswered, None, Exit::Unanswered);
        check(true, Unexpected, None, Exit::Unexpected);
        check(false, Unexpected, Some(Kind::Refused), Exit::Unexpected);
        check(false, Expected, None, Exit::Done);
        check(true, Expected, None, Exit::Done);
        check(false, Answered, Some(Kind::Usage), Exit::Usage);
        check(false, Answered, Some(Kind::Server), Exit::ToolError);
        check(false, Refused, Some(Kind::Server), Exit::Refused);
        check(false, Unanswered, Some(Kind::Refused), Exit::Unanswered);
        check(false, Expected, Some(Kind::Server), Exit::Done);
        check(false, Expected, Some(Kind::Refused), Exit::Done);
        check(false, Answered, Some(Kind::Refused), Exit::Refused);
        for questions in [Answered, Expected, Refused, Unanswered, Unexpected] {
            check(true, questions, Some(Kind::Connection), Exit::Failure);
            check(true, questions, Some(Kind::OutcomeUnknown), Exit::Failure);
            check(true, questions, Some(Kind::Protocol), Exit::Failure);
            check(false, questions, Some(Kind::SignIn), Exit::SignIn);
            check(false, questions, Some(Kind::Interrupted), Exit::Interrupted);
        }
    }

    #[test]
    fn a_found_fault_outweighs_a_missing_sign_in() {
        for (tool_error, unauthorized, exit) in [
            (false, false, Exit::Done),
            (true, false, Exit::ToolError),
            (false, true, Exit::SignIn),
            (true, true, Exit::ToolError),
        ] {
            let outcome = Outcome {
                tool_error,
                unauthorized,
                ..Outcome::default()
            };
            assert_eq!(Exit::of(outcome, None), exit);
        }
    }
}
