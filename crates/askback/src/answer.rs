use std::convert::Infallible;

use crate::error::Error;

/// The user's answer to a question.
///
/// A refusal is an ordinary answer: declining ("I will not"), cancelling ("not now") and a client that declines by
/// itself are different variants, and are only errors if the author calls [`Answer::accepted`].
#[must_use = "the person may have said no: add `.accepted()?` to end the call then"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user answered.
    Accepted(T),
    /// The user declined, possibly with a reason.
    Declined {
        /// The user's own words, if the client sends them.
        reason: Option<String>,
    },
    /// The user dismissed the question without choosing.
    Cancelled,
    /// The client declined or cancelled by itself, without showing the question to a user: the client says so, or it
    /// took less than [`limits.asking.person_reaction`](crate::limits::AskingLimits::person_reaction), or less than 1.5
    /// seconds for a client that is known to refuse by itself. Clients that
    /// declare elicitation do this if no user is present, for example `claude -p`.
    DeclinedByClient {
        /// Why no user answered, if the client says so.
        reason: Option<String>,
    },
}

impl<T> Answer<T> {
    /// Returns the value, or an error that ends the call with a clear result: nothing was done, because the user or the
    /// client declined or cancelled.
    ///
    /// # Errors
    ///
    /// If the user did not answer.
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
            Self::DeclinedByClient {
                reason: Some(reason),
            } => Err(Error::not_done(format!(
                "Nothing was done: no person answered the question ({reason})."
            ))),
            Self::DeclinedByClient { reason: None } => Err(Error::not_done(
                "Nothing was done: the client turned the question down by itself, and no person has \
                 read it. Use a client that shows such questions, with a person at it.",
            )),
        }
    }

    /// Returns the value if the user answered.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined { .. } | Self::Cancelled | Self::DeclinedByClient { .. } => None,
        }
    }

    /// Converts the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self.try_map(|value| Ok::<_, Infallible>(change(value))) {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    pub(crate) fn try_map<U, E>(
        self,
        change: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Answer<U>, E> {
        Ok(match self {
            Self::Accepted(value) => Answer::Accepted(change(value)?),
            Self::Declined { reason } => Answer::Declined { reason },
            Self::Cancelled => Answer::Cancelled,
            Self::DeclinedByClient { reason } => Answer::DeclinedByClient { reason },
        })
    }
}
