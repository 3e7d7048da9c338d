//! The answers to all questions of a server, where the person is not asked.

use super::{By, Reply, Why};

/// The way in which the questions of a server are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stance {
    /// By the person.
    #[default]
    Person,
    /// Each is declined.
    Decline,
    /// Each is cancelled.
    Cancel,
    /// None is.
    Silence,
}

impl Stance {
    /// The fate of each question, as the end of a sentence; none where the person answers it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Person => None,
            Self::Decline => Some("declined"),
            Self::Cancel => Some("cancelled"),
            Self::Silence => Some("left without an answer"),
        }
    }

    /// The reply to a question, if it gets one; none where the person answers it.
    pub(super) fn reply(self) -> Option<Option<Reply>> {
        match self {
            Self::Person => None,
            Self::Decline => Some(Some(Reply::Declined {
                by: By::Person,
                reason: None,
            })),
            Self::Cancel => Some(Some(Reply::Cancelled(Why::Person))),
            Self::Silence => Some(None),
        }
    }
}
