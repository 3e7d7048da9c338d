//! Why a question ended without an answer of the user who sees it.

use serde::{Deserialize, Serialize};

use crate::{text::Words, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FrontEndKind {
    Terminal,
    Page,
    Script,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// Why a question ended although the user did not answer it in this front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionEnd {
    AnsweredIn(FrontEndKind),
    /// The client cancelled the call that asks, or disconnected.
    CallCancelled,
    /// The client did not make the call again in time, so the call was given up.
    CallTimedOut,
    NotAnswered,
    /// The program that asks ended, or cannot be reached.
    ProgramEnded,
    /// The server withdrew it, or its call ended.
    #[default]
    #[serde(other)]
    Withdrawn,
}

impl QuestionEnd {
    /// Returns the reason as a sentence. `server` is the user's name for the server.
    pub(crate) fn words(self, server: Words) -> Words {
        match self {
            Self::AnsweredIn(kind) => words!("The question was answered {}.", place(kind)),
            Self::CallCancelled => words!(
                "The client cancelled the call or disconnected, so the question of {} is gone.",
                server
            ),
            Self::CallTimedOut => words!(
                "The call took too long and was given up, so the question of {} is gone.",
                server
            ),
            Self::Withdrawn => words!("{} withdrew its question.", server),
            Self::NotAnswered => words!(
                "The question was not answered in time. {} is told that no person answered.",
                server
            ),
            Self::ProgramEnded => "The program ended before its question was answered.".into(),
        }
    }
}

fn place(kind: FrontEndKind) -> &'static str {
    match kind {
        FrontEndKind::Terminal => "in a terminal",
        FrontEndKind::Page => "on the page in a browser",
        FrontEndKind::Script => "by an answers file",
        FrontEndKind::Other => "in another window",
    }
}
