//! A person's answer to a question.

use std::convert::Infallible;

use crate::error::Error;

/// A person's answer to a question.
///
/// A no is an answer like any other: declining ("I will not"), cancelling ("not now") and a client
/// that declines by itself are kept apart, and none is an error until the author says so with
/// [`Answer::accepted`].
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
    /// The client declined or cancelled by itself, and no person has seen the question: the client
    /// says so, or it took less than
    /// [`limits.asking.person_reaction`](crate::limits::AskingLimits::person_reaction). Clients that
    /// declare elicitation do this when no person is at them, such as `claude -p`.
    DeclinedByClient,
}

impl<T> Answer<T> {
    /// The answer, or an error that ends the call with a clear result: nothing was done, because
    /// the person declined or cancelled, or the client did by itself.
    ///
    /// # Errors
    ///
    /// Fails unless the person answered.
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
            Self::DeclinedByClient => Err(Error::not_done(
                "Nothing was done: the client turned the question down by itself, and no person has \
                 read it. Use a client that shows such questions, with a person at it.",
            )),
        }
    }

    /// The answer, if the person gave one.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined { .. } | Self::Cancelled | Self::DeclinedByClient => None,
        }
    }

    /// The same answer with its value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self.try_map(|value| Ok::<_, Infallible>(change(value))) {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    /// The same answer with its value changed, unless that fails.
    pub(crate) fn try_map<U, E>(
        self,
        change: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Answer<U>, E> {
        Ok(match self {
            Self::Accepted(value) => Answer::Accepted(change(value)?),
            Self::Declined { reason } => Answer::Declined { reason },
            Self::Cancelled => Answer::Cancelled,
            Self::DeclinedByClient => Answer::DeclinedByClient,
        })
    }
}
