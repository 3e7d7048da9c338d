//! Rules, as an answers file writes them.

use std::{fmt, marker::PhantomData, num::NonZeroU64, time::Duration};

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::{
    rule::{Accept, Act, Action, Asked, Reply, Rule, Said, Step},
    value::Values,
    when::{Mode, When},
};

/// The members that both kinds of rules have.
struct Frame<A> {
    when: Option<When>,
    asked: Option<Asked>,
    times: Option<NonZeroU64>,
    after: Option<Delay>,
    then: Option<Vec<Step<A>>>,
    /// The action, unless there is none.
    act: Option<A>,
}

/// The action of a kind of rule, as it is written.
trait Written: Action + Sized {
    /// The fault of a rule without an action, or with two.
    const NEEDED: &str;

    /// The reply to a question that must not be asked, where the rule names none.
    fn refusal() -> Self;

    /// Checks whether the questions that are named can be answered so.
    fn check(&self, when: &When) -> Result<(), &'static str>;
}

impl<A: Written> Frame<A> {
    fn rule(self) -> Result<Rule<A>, &'static str> {
        let when = self.when.unwrap_or_default();
        if when.only.is_some() && when.fields.is_none() {
            return Err("`only` goes with `fields`: it says that the form has no others");
        }
        let is_never = self.asked.is_some_and(Asked::is_never);
        let act = match self.act {
            None if is_never => A::refusal(),
            act => act.ok_or(A::NEEDED)?,
        };
        // A single answer is given again and again, one of several once.
        let once = self.then.as_ref().map(|_| 1);
        let first = Step {
            act,
            times: self.times.map(NonZeroU64::get).or(once),
            after: delay(self.after),
        };
        let steps: Vec<_> = [first]
            .into_iter()
            .chain(self.then.into_iter().flatten())
            .collect();
        for step in &steps {
            step.act.check(&when)?;
            if is_never && !step.act.is_plain_no() {
                return Err(
                    "what must not be asked (`asked: false`) is neither accepted nor `expected`",
                );
            }
        }
        Ok(Rule {
            when,
            steps,
            asked: self.asked,
        })
    }

    fn step(self) -> Result<Step<A>, &'static str> {
        if self.when.is_some() || self.asked.is_some() || self.then.is_some() {
            return Err(
                "`when`, `asked` and `then` belong to the rule, not to an answer in `then`",
            );
        }
        Ok(Step {
            act: self.act.ok_or(A::NEEDED)?,
            times: Some(self.times.map_or(1, NonZeroU64::get)),
            after: delay(self.after),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    when: Option<When>,
    asked: Option<Asked>,
    times: Option<NonZeroU64>,
    after: Option<Delay>,
    then: Option<Vec<Step<Act>>>,
    accept: Option<Accept>,
    generate: Option<bool>,
    decline: Option<bool>,
    cancel: Option<bool>,
    reason: Option<String>,
    expected: Option<bool>,
}

impl RuleText {
    fn frame(self) -> Result<Frame<Act>, &'static str> {
        let is_expected = self.expected.unwrap_or_default();
        let declines = self.decline.is_some();
        let accept = match (self.accept, self.generate) {
            (accept, None | Some(false)) => accept,
            (Some(Accept::Values(values)), Some(true)) => Some(Accept::Values(values.generating())),
            (Some(Accept::Yes) | None, Some(true)) => {
                Some(Accept::Values(Values::default().generating()))
            }
        };
        let act = match (accept, self.decline, self.cancel) {
            (Some(accept), None, None) => Some(Act::Accept(accept)),
            (None, Some(true), None) => Some(Act::Decline {
                reason: self.reason.clone(),
                expected: is_expected,
            }),
            (None, None, Some(true)) => Some(Act::Cancel {
                expected: is_expected,
            }),
            (None, None, None) => None,
            _ => return Err(Act::NEEDED),
        };
        if self.reason.is_some() && !declines {
            return Err("`reason` goes with `decline: true` only");
        }
        if self.expected.is_some() && matches!(act, None | Some(Act::Accept(_))) {
            return Err("`expected` goes with `decline: true` and `cancel: true` only");
        }
        Ok(Frame {
            when: self.when,
            asked: self.asked,
            times: self.times,
            after: self.after,
            then: self.then,
            act,
        })
    }
}

impl Written for Act {
    const NEEDED: &str =
        "a rule needs one of `accept: {field: value}`, `decline: true` and `cancel: true`";

    fn refusal() -> Self {
        Self::Cancel { expected: false }
    }

    fn check(&self, when: &When) -> Result<(), &'static str> {
        let accepts = matches!(self, Self::Accept(_));
        let generates = matches!(self, Self::Accept(Accept::Values(values)) if values.generates());
        if generates && (when.mode == Some(Mode::Url) || when.host.is_some()) {
            return Err("`generate` fills in the fields of a form; a link has none");
        }
        if accepts && when.mode == Some(Mode::Url) && when.host.is_none() {
            return Err("a rule that accepts links names the `host` they lead to");
        }
        if when.host.is_some() && when.mode == Some(Mode::Form) {
            return Err("`host` is that of a link; a form has none");
        }
        if when.tools.is_some() {
            return Err("`tools` are those that a model is offered; forms and links have none");
        }
        if when.fields.is_some() && (when.host.is_some() || when.mode == Some(Mode::Url)) {
            return Err("`fields` are those of a form; a link has none");
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplingText {
    when: Option<When>,
    asked: Option<Asked>,
    times: Option<NonZeroU64>,
    after: Option<Delay>,
    then: Option<Vec<Step<Reply>>>,
    reply: Option<SaidText>,
    decline: Option<bool>,
    expected: Option<bool>,
}

impl SamplingText {
    fn frame(self) -> Result<Frame<Reply>, &'static str> {
        let act = match (self.reply, self.decline) {
            (Some(SaidText(parts)), None) => Some(Reply::Says(parts)),
            (None, Some(true)) => Some(Reply::Decline {
                expected: self.expected.unwrap_or_default(),
            }),
            (None, None) => None,
            _ => return Err(Reply::NEEDED),
        };
        if self.expected.is_some() && !matches!(act, Some(Reply::Decline { .. })) {
            return Err("`expected` goes with `decline: true` only");
        }
        Ok(Frame {
            when: self.when,
            asked: self.asked,
            times: self.times,
            after: self.after,
            then: self.then,
            act,
        })
    }
}

impl Written for Reply {
    const NEEDED: &str = "a sampling rule needs one of `reply: text` and `decline: true`";

    fn refusal() -> Self {
        Self::Decline { expected: false }
    }

    fn check(&self, when: &When) -> Result<(), &'static str> {
        if when.host.is_some() {
            return Err("`host` is that of a link; what a model is asked has none");
        }
        if when.fields.is_some() {
            return Err("`fields` are those of a form; what a model is asked has none");
        }
        if when.mode.is_some() {
            return Err("`mode` tells forms from links; what a model is asked has none");
        }
        Ok(())
    }
}

/// The longest time that is waited before an answer.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// A time to wait, as it is written: `2s`, `500ms`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Delay(Duration);

impl TryFrom<String> for Delay {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let read = text.parse::<SignedDuration>().ok();
        let delay = read.and_then(|delay| Duration::try_from(delay).ok());
        match delay {
            Some(delay) if delay <= LONGEST => Ok(Self(delay)),
            Some(_) => Err("`after` is at most `10m`"),
            None => Err("`after` is a time such as `2s` or `500ms`"),
        }
    }
}

fn delay(after: Option<Delay>) -> Duration {
    after.map_or(Duration::ZERO, |Delay(after)| after)
}

/// Makes what is read of the members that are written.
macro_rules! read {
    ($($text:ident => $read:ty, $make:ident;)*) => {$(
        impl TryFrom<$text> for $read {
            type Error = &'static str;

            fn try_from(text: $text) -> Result<Self, Self::Error> {
                text.frame()?.$make()
            }
        }

        impl<'de> Deserialize<'de> for $read {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(RuleVisitor::<$text, _>(PhantomData))
            }
        }
    )*};
}

read! {
    RuleText => Rule<Act>, rule;
    RuleText => Step<Act>, step;
    SamplingText => Rule<Reply>, rule;
    SamplingText => Step<Reply>, step;
}

/// Reads the fields of a rule, and makes the rule of them while its place in the file is known: what is
/// wrong with all of it is told of the rule, not of the list it stands in.
struct RuleVisitor<T, R>(PhantomData<(T, R)>);

impl<'de, T, R> de::Visitor<'de> for RuleVisitor<T, R>
where
    T: Deserialize<'de>,
    R: TryFrom<T, Error = &'static str>,
{
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rule")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
        let text = T::deserialize(de::value::MapAccessDeserializer::new(map))?;
        R::try_from(text).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Accept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AcceptVisitor)
    }
}

struct AcceptVisitor;

impl<'de> de::Visitor<'de> for AcceptVisitor {
    type Value = Accept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`{field: value}`, or true for a link")
    }

    fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Accept, E> {
        match yes {
            true => Ok(Accept::Yes),
            false => Err(E::custom("write `decline: true` or `cancel: true` instead")),
        }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Accept, A::Error> {
        let map = de::value::MapAccessDeserializer::new(map);
        Values::deserialize(map).map(Accept::Values)
    }
}

impl<'de> Deserialize<'de> for Asked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AskedVisitor)
    }
}

struct AskedVisitor;

/// The members of `asked`, where it is a range.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedText {
    #[serde(default)]
    least: u64,
    most: Option<u64>,
}

impl<'de> de::Visitor<'de> for AskedVisitor {
    type Value = Asked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, a number, or `{least: number, most: number}`")
    }

    fn visit_bool<E: de::Error>(self, is_asked: bool) -> Result<Asked, E> {
        Ok(match is_asked {
            true => Asked {
                least: 1,
                most: None,
            },
            false => Asked {
                least: 0,
                most: Some(0),
            },
        })
    }

    fn visit_u64<E: de::Error>(self, times: u64) -> Result<Asked, E> {
        Ok(Asked {
            least: times,
            most: Some(times),
        })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Asked, A::Error> {
        let text = AskedText::deserialize(de::value::MapAccessDeserializer::new(map))?;
        if text.most.is_some_and(|most| most < text.least) {
            return Err(de::Error::custom("`most` is less than `least`"));
        }
        Ok(Asked {
            least: text.least,
            most: text.most,
        })
    }
}

/// The parts of a `reply`: one by itself, or a list.
struct SaidText(Vec<Said>);

impl<'de> Deserialize<'de> for SaidText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SaidTextVisitor)
    }
}

struct SaidTextVisitor;

impl<'de> de::Visitor<'de> for SaidTextVisitor {
    type Value = SaidText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SAID}, or a list of such")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SaidText, E> {
        SaidVisitor.visit_str(text).map(|said| SaidText(vec![said]))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SaidText, A::Error> {
        SaidVisitor.visit_map(map).map(|said| SaidText(vec![said]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut parts: A) -> Result<SaidText, A::Error> {
        let mut said = Vec::new();
        while let Some(part) = parts.next_element()? {
            said.push(part);
        }
        match said.is_empty() {
            true => Err(de::Error::custom("a `reply` says something")),
            false => Ok(SaidText(said)),
        }
    }
}

/// The forms of a part of a `reply`.
const SAID: &str = "a text, `{tool: name, input: {…}}`";

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SaidVisitor)
    }
}

struct SaidVisitor;

/// The members of a call of a tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
}

impl<'de> de::Visitor<'de> for SaidVisitor {
    type Value = Said;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SAID)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Said, E> {
        Ok(Said::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Said, A::Error> {
        let text = CallText::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Said::Call {
            tool: text.tool,
            input: text.input,
        })
    }
}
