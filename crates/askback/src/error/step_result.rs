use askback_core::protocol::RawJson;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{Error, Kind, Result};

/// The recorded result of a step. An error keeps its message and its kind.
#[derive(Serialize, Deserialize)]
pub(crate) enum StepResult<T> {
    #[serde(rename = "ok")]
    Ok(T),
    #[serde(rename = "in")]
    InTransaction(T),
    #[serde(rename = "err")]
    Err(RecordedError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitPlace {
    Store,
    Transaction,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RecordedError {
    #[serde(rename = "m")]
    message: String,
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    whose: Option<ErrorCause>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ErrorCause {
    Caller,
    Person,
}

impl<T: Serialize> StepResult<T> {
    /// Returns the record. A value that cannot be serialized is recorded as an error, because the effect has happened
    /// and must not happen again.
    pub(crate) fn to_json(&self) -> Result<RawJson> {
        let json = RawJson::new(self).or_else(|error| {
            let why = format!("the result of a step cannot be recorded: {error}");
            RawJson::new(&StepResult::<()>::from(Err(Error::new(why))))
        });
        Ok(json?)
    }
}

impl<T> From<Result<T>> for StepResult<T> {
    fn from(result: Result<T>) -> Self {
        match result {
            Ok(value) => Self::Ok(value),
            Err(error) => Self::Err(RecordedError {
                whose: match error.kind {
                    Kind::InvalidParams => Some(ErrorCause::Caller),
                    Kind::NotDone(_) => Some(ErrorCause::Person),
                    // A step fails with only its message, both the first time and on replay.
                    Kind::Failed
                    | Kind::Ask(_)
                    | Kind::NotFound
                    | Kind::Protocol(_)
                    | Kind::UrlRequired(_)
                    | Kind::ClientLacks(_)
                    | Kind::Panicked
                    | Kind::Parked => None,
                },
                message: error.message,
            }),
        }
    }
}

impl<T> From<StepResult<T>> for Result<T> {
    fn from(recorded: StepResult<T>) -> Self {
        let error = match recorded {
            StepResult::Ok(value) | StepResult::InTransaction(value) => return Ok(value),
            StepResult::Err(error) => error,
        };
        let kind = match error.whose {
            Some(ErrorCause::Caller) => Kind::InvalidParams,
            Some(ErrorCause::Person) => Kind::NotDone(None),
            None => Kind::Failed,
        };
        Err(Error::of(kind, error.message))
    }
}

/// Reads the stored value of a commit.
///
/// # Errors
///
/// The recorded error. Also if the commit was made in another place: it is then a different commit with the same name,
/// and this one's effect would be skipped.
pub(crate) fn read_commit<T: DeserializeOwned>(
    name: &str,
    kept: &[u8],
    place: CommitPlace,
) -> Result<T> {
    let was = match serde_json::from_slice::<StepResult<IgnoredAny>>(kept)? {
        StepResult::InTransaction(_) => CommitPlace::Transaction,
        StepResult::Ok(_) | StepResult::Err(_) => CommitPlace::Store,
    };
    if was != place {
        return Err(Error::commit_name_used(name));
    }
    serde_json::from_slice::<StepResult<T>>(kept)?.into()
}
