//! The expectations of a case.

mod condition;
mod judge;

use std::{collections::BTreeMap, time::Duration};

use askback_host::yaml::{Shape, Time};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use serde_json::Value;

use self::condition::Condition;
use super::observe::{QuestionMode, ReplyKind};

pub use judge::{Came, Mismatch};

/// The place of a value in a JSON document (RFC 6901), empty for the whole document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct Place(String);

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.is_empty() || text.starts_with('/') {
            true => Ok(Self(text)),
            false => Err(format!(
                "`{text}` is not a place in JSON: write a pointer such as /{text}"
            )),
        }
    }
}

/// The expectations of a case. By default, a request has a result, the tool does not report an error, and a rule
/// answers every question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    text: Option<Condition>,
    result: BTreeMap<Place, Condition>,
    structured: BTreeMap<Place, Condition>,
    failed: Option<bool>,
    error: Option<ErrorExpect>,
    questions: Option<Questions>,
    under: Option<Time<{ 60 * 60 }>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorExpect {
    code: Option<i64>,
    message: Option<Condition>,
    #[serde(default)]
    data: BTreeMap<Place, Condition>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Shape<IgnoredAny, QuestionExpect>")]
enum Questions {
    Count(usize),
    /// Exactly these, in order.
    These(Vec<QuestionExpect>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionExpect {
    key: Option<String>,
    mode: Option<QuestionMode>,
    message: Option<Condition>,
    fields: Option<Vec<String>>,
    reply: Option<ReplyKind>,
}

impl Expect {
    pub fn under(&self) -> Option<Duration> {
        self.under.map(|Time(time)| time)
    }
}

/// Reads expectations. Rejects `error` together with conditions on a result.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expect, D::Error> {
    let expect = Expect::deserialize(deserializer)?;
    match expect.error.is_some() && expect.wants_result() {
        true => Err(D::Error::custom(
            "`error` is expected in place of a result: without `text`, `result`, `structured` and `failed`",
        )),
        false => Ok(expect),
    }
}

impl TryFrom<Shape<IgnoredAny, QuestionExpect>> for Questions {
    type Error = String;

    fn try_from(text: Shape<IgnoredAny, QuestionExpect>) -> Result<Self, String> {
        let count = match &text {
            Shape::Scalar(Value::Number(count)) => count.as_u64(),
            _ => None,
        };
        match (count.and_then(|count| usize::try_from(count).ok()), text) {
            (Some(count), _) => Ok(Self::Count(count)),
            (None, Shape::List(all)) => Ok(Self::These(all)),
            (None, other) => Err(other.refuse("a number of questions, or a list of them")),
        }
    }
}
