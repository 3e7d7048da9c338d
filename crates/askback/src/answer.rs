//! A person's answer to a question.

use crate::error::Error;

/// A person's answer to a question.
///
/// A no is an answer like any other: declining ("I will not") and cancelling ("not now") are kept
/// apart, and neither is an error until the author says so with [`Answer::accepted`].
#[must_use = "the person may have said no: add `.accepted()?` to end the call then"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The person answered.
    Accepted(T),
    /// The person said no, perhaps with a reason.
    Declined {
        /// The person's own words, where the client carries them.
        reason: Option<String>,
    },
    /// The person left without choosing.
    Cancelled,
}

impl<T> Answer<T> {
    /// The answer, or an error that ends the call with a clear result: nothing was done, because
    /// the person declined or cancelled.
    ///
    /// # Errors
    ///
    /// Fails where the person declined or cancelled.
    pub fn accepted(self) -> Result<T, Error> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined {
                reason: Some(reason),
            } => Err(Error::not_done(format!(
                "Nothing was done: the person declined ({reason})."
            ))),
            Self::Declined { reason: None } => {
                Err(Error::not_done("Nothing was done: the person declined."))
            }
            Self::Cancelled => Err(Error::not_done("Nothing was done: the person cancelled.")),
        }
    }

    /// The answer, if the person gave one.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined { .. } | Self::Cancelled => None,
        }
    }

    /// The same answer with its value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Accepted(value) => Answer::Accepted(change(value)),
            Self::Declined { reason } => Answer::Declined { reason },
            Self::Cancelled => Answer::Cancelled,
        }
    }
}
