//! Parses the rules of an answers file.

use std::num::NonZeroU64;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use serde_json::{Map, Value};

use super::{
    rule::{Accept, Act, Rule, SampledPart, Step},
    value::Values,
    when::{Mode, When},
};
use crate::{
    text::Words,
    yaml::{Shape, Time},
};

/// The time to wait before an answer: at most 10 minutes.
type Delay = Time<{ 10 * 60 }>;

/// A rule, or an answer in `then`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText<const SAMPLING: bool> {
    when: Option<When>,
    times: Option<NonZeroU64>,
    #[serde(default)]
    after: Delay,
    then: Option<Vec<StepText<SAMPLING>>>,
    accept: Option<Accept>,
    reply: Option<Parts>,
    decline: Option<bool>,
    cancel: Option<bool>,
    reason: Option<String>,
    expected: Option<bool>,
}

struct StepText<const SAMPLING: bool>(Step);

impl<const SAMPLING: bool> RuleText<SAMPLING> {
    /// Takes the action. Fails if there is no action, or more than one.
    fn act(&mut self) -> Result<Act, &'static str> {
        let expected = self.expected.unwrap_or_default();
        let acts = (self.accept.take(), self.reply.take());
        let act = match (acts, self.decline, self.cancel) {
            ((Some(accept), None), None, None) if !SAMPLING => Act::Accept(accept),
            ((None, Some(Parts(parts))), None, None) if SAMPLING => Act::Says(parts),
            ((None, None), Some(true), None) => Act::Decline {
                reason: match SAMPLING {
                    true => None,
                    false => self.reason.take(),
                },
                expected,
            },
            ((None, None), None, Some(true)) if !SAMPLING => Act::Cancel { expected },
            _ if SAMPLING => {
                return Err(
                    "a sampling rule needs exactly one of `reply: text` and `decline: true`",
                );
            }
            _ => {
                return Err(
                    "a rule needs exactly one of `accept: {field: value}`, `decline: true` and `cancel: true`",
                );
            }
        };
        if self.reason.is_some() {
            return Err("`reason` goes with `decline: true` of a form or link only");
        }
        if self.expected.is_some() && matches!(act, Act::Accept(_) | Act::Says(_)) {
            return Err(match SAMPLING {
                true => "`expected` goes with `decline: true` only",
                false => "`expected` goes with `decline: true` and `cancel: true` only",
            });
        }
        Ok(act)
    }

    fn rule(mut self) -> Result<Rule<SAMPLING>, &'static str> {
        let act = self.act()?;
        let when = self.when.unwrap_or_default();
        if when.only.is_some() && when.fields.is_none() {
            return Err("`only` goes with `fields`: it says that the form has no others");
        }
        // A single answer repeats; each answer of a list is given once.
        let once = self.then.as_ref().map(|_| 1);
        let first = Step {
            act,
            times: self.times.map(NonZeroU64::get).or(once),
            after: self.after.0,
        };
        let then = self.then.into_iter().flatten().map(|StepText(step)| step);
        let steps: Vec<_> = [first].into_iter().chain(then).collect();
        for step in &steps {
            check::<SAMPLING>(&step.act, &when)?;
        }
        Ok(Rule {
            name: Words::default(),
            is_shared: false,
            when,
            steps,
        })
    }

    fn step(mut self) -> Result<Step, &'static str> {
        let act = self.act()?;
        if self.when.is_some() || self.then.is_some() {
            return Err("`when` and `then` belong to the rule, not to an answer in `then`");
        }
        Ok(Step {
            act,
            times: Some(self.times.map_or(1, NonZeroU64::get)),
            after: self.after.0,
        })
    }
}

/// Checks that an action can answer the questions that its rule matches.
fn check<const SAMPLING: bool>(act: &Act, when: &When) -> Result<(), &'static str> {
    let (has_host, has_fields) = (when.host.is_some(), when.fields.is_some());
    let is_link = when.mode == Some(Mode::Url);
    let accepts_link = is_link && matches!(act, Act::Accept(_));
    let wrong = match SAMPLING {
        true => [
            (has_host, "`host` is for links; a sampling request has none"),
            (
                has_fields,
                "`fields` is for forms; a sampling request has none",
            ),
            (
                when.mode.is_some(),
                "`mode` is for forms and links; a sampling request has none",
            ),
            (false, ""),
        ],
        false => [
            (
                accepts_link && !has_host,
                "a rule that accepts links names the `host` they lead to",
            ),
            (
                has_host && when.mode == Some(Mode::Form),
                "`host` is for links; a form has none",
            ),
            (
                when.tools.is_some(),
                "`tools` is for sampling rules; forms and links have none",
            ),
            (
                has_fields && (has_host || is_link),
                "`fields` is for forms; a link has none",
            ),
        ],
    };
    let wrong = wrong.iter().find(|(is_wrong, _)| *is_wrong);
    wrong.map_or(Ok(()), |(_, why)| Err(why))
}

impl<'de, const SAMPLING: bool> Deserialize<'de> for Rule<SAMPLING> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RuleText::<SAMPLING>::deserialize(deserializer)?;
        text.rule().map_err(D::Error::custom)
    }
}

impl<'de, const SAMPLING: bool> Deserialize<'de> for StepText<SAMPLING> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RuleText::<SAMPLING>::deserialize(deserializer)?;
        text.step().map(Self).map_err(D::Error::custom)
    }
}

impl TryFrom<Shape<Values, IgnoredAny>> for Accept {
    type Error = String;

    fn try_from(text: Shape<Values, IgnoredAny>) -> Result<Self, String> {
        match text {
            Shape::Map(values) => Ok(Self::Values(values)),
            Shape::Scalar(Value::Bool(true)) => Ok(Self::Yes),
            Shape::Scalar(Value::Bool(false)) => {
                Err("write `decline: true` or `cancel: true` instead".to_owned())
            }
            other => Err(other.refuse("`{field: value}`, or true for a link")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallText {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
}

impl TryFrom<Shape<CallText, IgnoredAny>> for SampledPart {
    type Error = String;

    fn try_from(text: Shape<CallText, IgnoredAny>) -> Result<Self, String> {
        match text {
            Shape::Scalar(Value::String(text)) => Ok(Self::Text(text)),
            Shape::Map(CallText { tool, input }) => Ok(Self::Call { tool, input }),
            other => Err(other.refuse("a text, `{tool: name, input: {…}}`")),
        }
    }
}

/// The `reply` member: a single part or a list.
#[derive(Deserialize)]
#[serde(try_from = "Shape<CallText, SampledPart>")]
struct Parts(Vec<SampledPart>);

impl TryFrom<Shape<CallText, SampledPart>> for Parts {
    type Error = String;

    fn try_from(text: Shape<CallText, SampledPart>) -> Result<Self, String> {
        match text {
            Shape::List(parts) if parts.is_empty() => Err("a `reply` must not be empty".to_owned()),
            Shape::List(parts) => Ok(Self(parts)),
            Shape::Map(call) => Ok(Self(vec![Shape::Map(call).try_into()?])),
            Shape::Scalar(Value::String(text)) => Ok(Self(vec![SampledPart::Text(text)])),
            other => Err(other.refuse("a text, `{tool: name, input: {…}}`, or a list of such")),
        }
    }
}
