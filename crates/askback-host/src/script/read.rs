//! Parses the rules of an answers file.

use std::num::NonZeroU64;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny},
};
use serde_json::{Map, Value};

use super::{
    rule::{Accept, Act, Action, Reply, Rule, SampledPart, Step},
    value::Values,
    when::{Mode, When},
};
use crate::yaml::{Shape, Time};

/// The time to wait before an answer: at most 10 minutes.
type Delay = Time<{ 10 * 60 }>;

struct Frame<A> {
    when: Option<When>,
    times: Option<NonZeroU64>,
    after: Delay,
    then: Option<Vec<Step<A>>>,
    act: Option<A>,
}

trait WrittenAction: Action + Sized {
    type Text: DeserializeOwned;

    /// The error if there is no action, or more than one.
    const NEEDED: &str;

    /// Parses the action. Fails if its members cannot be combined.
    fn frame(text: Self::Text) -> Result<Frame<Self>, &'static str>;

    /// Checks that this action can answer the questions that the rule matches.
    fn check(&self, when: &When) -> Result<(), &'static str>;
}

impl<A: WrittenAction> Frame<A> {
    fn rule(self) -> Result<Rule<A>, &'static str> {
        let when = self.when.unwrap_or_default();
        if when.only.is_some() && when.fields.is_none() {
            return Err("`only` goes with `fields`: it says that the form has no others");
        }
        let act = self.act.ok_or(A::NEEDED)?;
        // A single answer repeats; each answer of a list is given once.
        let once = self.then.as_ref().map(|_| 1);
        let first = Step {
            act,
            times: self.times.map(NonZeroU64::get).or(once),
            after: self.after.0,
        };
        let steps: Vec<_> = [first]
            .into_iter()
            .chain(self.then.into_iter().flatten())
            .collect();
        for step in &steps {
            step.act.check(&when)?;
        }
        Ok(Rule { when, steps })
    }

    fn step(self) -> Result<Step<A>, &'static str> {
        if self.when.is_some() || self.then.is_some() {
            return Err("`when` and `then` belong to the rule, not to an answer in `then`");
        }
        Ok(Step {
            act: self.act.ok_or(A::NEEDED)?,
            times: Some(self.times.map_or(1, NonZeroU64::get)),
            after: self.after.0,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    when: Option<When>,
    times: Option<NonZeroU64>,
    #[serde(default)]
    after: Delay,
    then: Option<Vec<Step<Act>>>,
    accept: Option<Accept>,
    decline: Option<bool>,
    cancel: Option<bool>,
    reason: Option<String>,
    expected: Option<bool>,
}

impl WrittenAction for Act {
    type Text = RuleText;

    const NEEDED: &str =
        "a rule needs one of `accept: {field: value}`, `decline: true` and `cancel: true`";

    fn frame(text: RuleText) -> Result<Frame<Self>, &'static str> {
        let is_expected = text.expected.unwrap_or_default();
        let declines = text.decline.is_some();
        let act = match (text.accept, text.decline, text.cancel) {
            (Some(accept), None, None) => Some(Self::Accept(accept)),
            (None, Some(true), None) => Some(Self::Decline {
                reason: text.reason.clone(),
                expected: is_expected,
            }),
            (None, None, Some(true)) => Some(Self::Cancel {
                expected: is_expected,
            }),
            (None, None, None) => None,
            _ => return Err(Self::NEEDED),
        };
        if text.reason.is_some() && !declines {
            return Err("`reason` goes with `decline: true` only");
        }
        if text.expected.is_some() && matches!(act, None | Some(Self::Accept(_))) {
            return Err("`expected` goes with `decline: true` and `cancel: true` only");
        }
        Ok(Frame {
            when: text.when,
            times: text.times,
            after: text.after,
            then: text.then,
            act,
        })
    }

    fn check(&self, when: &When) -> Result<(), &'static str> {
        let accepts = matches!(self, Self::Accept(_));
        if accepts && when.mode == Some(Mode::Url) && when.host.is_none() {
            return Err("a rule that accepts links names the `host` they lead to");
        }
        if when.host.is_some() && when.mode == Some(Mode::Form) {
            return Err("`host` is for links; a form has none");
        }
        if when.tools.is_some() {
            return Err("`tools` is for sampling rules; forms and links have none");
        }
        if when.fields.is_some() && (when.host.is_some() || when.mode == Some(Mode::Url)) {
            return Err("`fields` is for forms; a link has none");
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplingText {
    when: Option<When>,
    times: Option<NonZeroU64>,
    #[serde(default)]
    after: Delay,
    then: Option<Vec<Step<Reply>>>,
    reply: Option<Parts>,
    decline: Option<bool>,
    expected: Option<bool>,
}

impl WrittenAction for Reply {
    type Text = SamplingText;

    const NEEDED: &str = "a sampling rule needs one of `reply: text` and `decline: true`";

    fn frame(text: SamplingText) -> Result<Frame<Self>, &'static str> {
        let act = match (text.reply, text.decline) {
            (Some(Parts(parts)), None) => Some(Self::Says(parts)),
            (None, Some(true)) => Some(Self::Decline {
                expected: text.expected.unwrap_or_default(),
            }),
            (None, None) => None,
            _ => return Err(Self::NEEDED),
        };
        if text.expected.is_some() && !matches!(act, Some(Self::Decline { .. })) {
            return Err("`expected` goes with `decline: true` only");
        }
        Ok(Frame {
            when: text.when,
            times: text.times,
            after: text.after,
            then: text.then,
            act,
        })
    }

    fn check(&self, when: &When) -> Result<(), &'static str> {
        if when.host.is_some() {
            return Err("`host` is for links; a sampling request has none");
        }
        if when.fields.is_some() {
            return Err("`fields` is for forms; a sampling request has none");
        }
        if when.mode.is_some() {
            return Err("`mode` is for forms and links; a sampling request has none");
        }
        Ok(())
    }
}

impl<'de, A: WrittenAction> Deserialize<'de> for Rule<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = A::frame(A::Text::deserialize(deserializer)?);
        frame.and_then(Frame::rule).map_err(D::Error::custom)
    }
}

impl<'de, A: WrittenAction> Deserialize<'de> for Step<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = A::frame(A::Text::deserialize(deserializer)?);
        frame.and_then(Frame::step).map_err(D::Error::custom)
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
