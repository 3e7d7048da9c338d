//! The ways in which a call that asks is made again as no client would, and what should come of each.

use super::rules::*;
use crate::probe::Exchange;

/// A way in which a call that asks is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same round once more, when its call has ended.
    Again,
    /// The first round once more, when a later one was sent.
    Old,
    /// The round on a server that was restarted in between.
    Restarted,
    /// The state with a character changed.
    Tampered,
    /// The state with another character changed.
    TamperedElsewhere,
    /// The state with other arguments.
    OtherArguments,
    /// The state with another tool.
    OtherTool,
    /// The state after a time in which it should have lapsed.
    Lapsed,
    /// The state from another principal.
    OtherPrincipal,
    /// Answers that are no object.
    BadAnswers,
    /// No answers.
    NoAnswers,
    /// An answer that was not asked for.
    ExtraAnswer,
    /// A second answer on a session.
    AnsweredTwice,
    /// An answer on a session to a question that there is not.
    AnsweredUnknown,
    /// An answer on a session after its call was cancelled.
    AnsweredLate,
}

/// Something that was tried, and what came.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The way.
    pub kind: Kind,
    /// The exchange, or why there was none.
    pub seen: Result<Exchange, &'static str>,
}

impl Kind {
    /// The words for what is sent.
    pub fn does(self) -> &'static str {
        match self {
            Self::Again => "the same round again, after the call ended",
            Self::Old => "the first round again, after a later one",
            Self::Restarted => "the round, sent to a restarted server",
            Self::Tampered => "the state with a character changed",
            Self::TamperedElsewhere => "the state with another character changed",
            Self::OtherArguments => "the state with other arguments",
            Self::OtherTool => "the state with another tool",
            Self::Lapsed => "the state after its lifetime",
            Self::OtherPrincipal => "the state from another principal",
            Self::BadAnswers => "answers that are no object",
            Self::NoAnswers => "no answers",
            Self::ExtraAnswer => "an answer that was not asked for",
            Self::AnsweredTwice => "a second answer, then a ping",
            Self::AnsweredUnknown => "an answer to no question, then a ping",
            Self::AnsweredLate => "an answer after the call was cancelled, then a ping",
        }
    }

    /// The requirement, where one says what should come of it.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Self::Again | Self::Old | Self::Restarted => None,
            Self::Tampered | Self::TamperedElsewhere => Some(TAMPERED),
            Self::OtherArguments | Self::OtherTool => Some(FOREIGN),
            Self::Lapsed => Some(LAPSED),
            Self::OtherPrincipal => Some(PRINCIPAL),
            Self::BadAnswers => Some(BAD_RESPONSES),
            Self::NoAnswers => Some(ASKED_AGAIN),
            Self::ExtraAnswer => Some(EXTRA_RESPONSES),
            Self::AnsweredTwice | Self::AnsweredUnknown | Self::AnsweredLate => Some(PING),
        }
    }

    /// The reply that is wanted.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Again | Self::Old => {
                "either is right; a state that may be used only once has to be refused (MR-11)"
            }
            Self::Restarted => "either is right; a state that outlives a restart is accepted",
            Self::Tampered | Self::TamperedElsewhere => "an error: the state was changed",
            Self::OtherArguments | Self::OtherTool => {
                "an error: the state is that of another request"
            }
            Self::Lapsed => "an error, or the question again: the state has lapsed",
            Self::OtherPrincipal => "an error: the state is that of another principal",
            Self::BadAnswers => "the error -32602",
            Self::NoAnswers => "a result that asks again",
            Self::ExtraAnswer => "the result without that answer",
            Self::AnsweredTwice | Self::AnsweredUnknown | Self::AnsweredLate => {
                "the empty result of the ping"
            }
        }
    }

    /// Whether this came of it that was wanted; none where either is right.
    pub fn is_kept(self, seen: &Exchange) -> Option<bool> {
        let result = seen.reply.result();
        self.rule()?;
        Some(match self {
            Self::NoAnswers => is_asked(seen),
            Self::ExtraAnswer => seen.reply.code().is_none(),
            Self::AnsweredTwice | Self::AnsweredUnknown | Self::AnsweredLate => {
                result.is_some_and(|result| result.as_object().is_some_and(|it| it.is_empty()))
            }
            _ => !is_success(seen),
        })
    }
}

/// Whether a call came to a result that asks.
pub fn is_asked(seen: &Exchange) -> bool {
    let result = seen.reply.result();
    result.is_some_and(|result| result["resultType"] == "input_required")
}

/// Whether a call came to a result that is no error, and asks nothing.
pub fn is_success(seen: &Exchange) -> bool {
    let result = seen.reply.result();
    result.is_some_and(|result| result["isError"] != true) && !is_asked(seen)
}
