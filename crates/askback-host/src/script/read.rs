//! Rules, as an answers file writes them.

use std::{fmt, marker::PhantomData};

use askback_core::forms::Content;
use serde::{Deserialize, Deserializer, de};

use super::{
    rule::{Accept, Act, Asked, Reply, Rule},
    when::{Mode, When},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(default)]
    when: When,
    asked: Option<Asked>,
    accept: Option<Accept>,
    decline: Option<bool>,
    cancel: Option<bool>,
    reason: Option<String>,
    expected: Option<bool>,
}

impl TryFrom<RuleText> for Rule<Act> {
    type Error = &'static str;

    fn try_from(text: RuleText) -> Result<Self, Self::Error> {
        let is_never = text.asked.is_some_and(Asked::is_never);
        let expected = text.expected.unwrap_or_default();
        let act = match (text.accept, text.decline, text.cancel) {
            (Some(accept), None, None) => Act::Accept(accept),
            (None, Some(true), None) => Act::Decline {
                reason: text.reason.clone(),
                expected,
            },
            (None, None, Some(true)) => Act::Cancel { expected },
            (None, None, None) if is_never => Act::Cancel { expected },
            _ => {
                return Err(
                    "a rule needs one of `accept: {field: value}`, `decline: true` and `cancel: true`",
                );
            }
        };
        let accepts = matches!(act, Act::Accept(_));
        if accepts && text.when.mode == Some(Mode::Url) && text.when.host.is_none() {
            return Err("a rule that accepts links names the `host` they lead to");
        }
        if text.when.host.is_some() && text.when.mode == Some(Mode::Form) {
            return Err("`host` is that of a link; a form has none");
        }
        if text.reason.is_some() && !matches!(act, Act::Decline { .. }) {
            return Err("`reason` goes with `decline: true` only");
        }
        if text.expected.is_some() && accepts {
            return Err("`expected` goes with `decline: true` and `cancel: true` only");
        }
        if is_never && (accepts || expected) {
            return Err(UNWANTED);
        }
        Ok(Self {
            when: text.when,
            act,
            asked: text.asked,
        })
    }
}

/// The fault of a rule whose question must not be asked, and that says yes to it nevertheless.
const UNWANTED: &str = "what must not be asked (`asked: false`) is neither accepted nor `expected`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplingText {
    #[serde(default)]
    when: When,
    asked: Option<Asked>,
    reply: Option<String>,
    decline: Option<bool>,
    expected: Option<bool>,
}

impl TryFrom<SamplingText> for Rule<Reply> {
    type Error = &'static str;

    fn try_from(text: SamplingText) -> Result<Self, Self::Error> {
        if text.when.host.is_some() {
            return Err("`host` is that of a link; what a model is asked has none");
        }
        if text.when.mode.is_some() {
            return Err("`mode` tells forms from links; what a model is asked has none");
        }
        let is_never = text.asked.is_some_and(Asked::is_never);
        let expected = text.expected.unwrap_or_default();
        let act = match (text.reply, text.decline) {
            (Some(reply), None) => Reply::Text(reply),
            (None, Some(true)) => Reply::Decline { expected },
            (None, None) if is_never => Reply::Decline { expected },
            _ => return Err("a sampling rule needs one of `reply: text` and `decline: true`"),
        };
        let replies = matches!(act, Reply::Text(_));
        if text.expected.is_some() && replies {
            return Err("`expected` goes with `decline: true` only");
        }
        if is_never && (replies || expected) {
            return Err(UNWANTED);
        }
        Ok(Self {
            when: text.when,
            act,
            asked: text.asked,
        })
    }
}

impl<'de> Deserialize<'de> for Rule<Act> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RuleVisitor::<RuleText, _>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Rule<Reply> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RuleVisitor::<SamplingText, _>(PhantomData))
    }
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

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Accept, A::Error> {
        let mut values = Content::new();
        while let Some((field, value)) = map.next_entry::<String, _>()? {
            // Of two values it would be a guess which one is meant.
            if values.contains_key(&field) {
                let why = format_args!("duplicate field `{field}`");
                return Err(de::Error::custom(why));
            }
            values.insert(field, value);
        }
        Ok(Accept::Values(values))
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
