//! Expectations: what a case asks of its outcome.

mod condition;
mod judge;
mod place;
mod time;

use std::{collections::BTreeMap, fmt, time::Duration};

use askback_core::protocol::LoggingLevel;
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};

use self::{condition::Condition, place::Place, time::Time};
use super::{
    members,
    observe::{AskedMode, Replied},
};
use crate::json_schema::JsonSchema;

pub use judge::{Came, Mismatch};

/// The expectations of a case. Where nothing is said, a request has a result, the tool reports no
/// error, and every question is answered by a rule.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    text: Option<Condition>,
    result: BTreeMap<Place, Condition>,
    structured: BTreeMap<Place, Condition>,
    schema: Option<JsonSchema>,
    failed: Option<bool>,
    error: Option<ErrorExpect>,
    progress: Vec<Condition>,
    log: Vec<LogExpect>,
    questions: Option<Questions>,
    /// The time in which the request ends.
    pub(super) under: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectText {
    text: Option<Condition>,
    result: Option<BTreeMap<Place, Condition>>,
    structured: Option<BTreeMap<Place, Condition>>,
    schema: Option<JsonSchema>,
    failed: Option<bool>,
    error: Option<ErrorExpect>,
    #[serde(default)]
    progress: Vec<Condition>,
    #[serde(default)]
    log: Vec<LogExpect>,
    questions: Option<Questions>,
    under: Option<Time>,
}

/// An error that the server answers with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorExpect {
    code: Option<i64>,
    message: Option<Condition>,
    #[serde(default)]
    data: BTreeMap<Place, Condition>,
}

/// A log line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogExpect {
    level: Option<LoggingLevel>,
    text: Option<Condition>,
}

/// The questions that are asked.
#[derive(Debug, Clone)]
enum Questions {
    /// So many.
    Count(usize),
    /// These, in this order, and no others.
    These(Vec<QuestionExpect>),
}

/// A question.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionExpect {
    key: Option<String>,
    mode: Option<AskedMode>,
    message: Option<Condition>,
    /// Its fields, in any order.
    fields: Option<Vec<String>>,
    reply: Option<Replied>,
}

impl Expect {
    /// Whether log lines are expected, which a server may have to be asked for.
    pub fn wants_log(&self) -> bool {
        !self.log.is_empty()
    }
}

impl TryFrom<ExpectText> for Expect {
    type Error = &'static str;

    fn try_from(text: ExpectText) -> Result<Self, Self::Error> {
        let of_result = text.text.is_some()
            || text.result.is_some()
            || text.structured.is_some()
            || text.schema.is_some()
            || text.failed.is_some();
        if text.error.is_some() && of_result {
            return Err(
                "`error` is expected in place of a result: without `text`, `result`, `structured`, `schema` and `failed`",
            );
        }
        Ok(Self {
            text: text.text,
            result: text.result.unwrap_or_default(),
            structured: text.structured.unwrap_or_default(),
            schema: text.schema,
            failed: text.failed,
            error: text.error,
            progress: text.progress,
            log: text.log,
            questions: text.questions,
            under: text.under.map(|Time(time)| time),
        })
    }
}

impl<'de> Deserialize<'de> for Expect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        members::map::<_, ExpectText, _>(deserializer)
    }
}

impl<'de> Deserialize<'de> for Questions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Questions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of questions, or a list of them")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Questions, E> {
                let count = usize::try_from(count).map_err(E::custom)?;
                Ok(Questions::Count(count))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Questions, A::Error> {
                let mut all = Vec::new();
                while let Some(question) = list.next_element()? {
                    all.push(question);
                }
                Ok(Questions::These(all))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
