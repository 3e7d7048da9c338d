//! YAML that a user writes, with errors that name the place.

use std::{fmt, marker::PhantomData, time::Duration};

use askback::internal::json::reworded;
use jiff::SignedDuration;
use serde::{
    Deserialize,
    de::{
        self, DeserializeOwned, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::Value;
use yaml_serde::Deserializer;

use crate::{
    text::{Words, given},
    words,
};

/// Parses YAML or JSON.
///
/// An error names the path of the invalid value. Its line may be that of the list or map around the
/// value.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Words> {
    // The parser would count a byte order mark as a column.
    let text = text.trim_start_matches('\u{feff}');
    // Rejects duplicate members: most types would use the last one. `yaml_serde::Value` cannot hold
    // large numbers, so that error is left to the type.
    let values =
        yaml_serde::from_str::<yaml_serde::Value>(text).map_err(|error| (error.to_string(), error));
    if let Err((told, error)) = values
        && !told.contains("expected any YAML value")
    {
        let twice = told.split_once("duplicate entry with key \"");
        let twice = twice.and_then(|(at, rest)| Some((at, rest.split_once('"')?)));
        let twice = twice.map(|(at, (name, rest))| format!("{at}duplicate field `{name}`{rest}"));
        let why = given(reworded(&twice.unwrap_or(told)));
        return Err(match place(&error) {
            // YAML errors do not mention this place.
            Some((1, 1)) => words!("{} at line 1", why),
            _ => words!("{}", why),
        });
    }
    serde_path_to_error::deserialize(Deserializer::from_str(text)).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let told = error.to_string();
        let told = told
            .rsplit_once(" at line ")
            .map_or(&*told, |(told, _)| told);
        // The parser's path may end at the list or map around the value.
        let (told, is_around) = match told.split_once(": ") {
            _ if told.contains("unknown field ") => (told.to_owned(), false),
            Some((around, why)) if path.starts_with(around) => {
                (format!("{path}: {why}"), around != path)
            }
            _ if path == "." => (told.to_owned(), false),
            _ => (format!("{path}: {told}"), true),
        };
        let why = given(with_near_name(reworded(&told)));
        match place(&error) {
            Some((line, _)) if is_around => words!("{}, in the list or map at line {}", why, line),
            None | Some((1, 1)) => words!("{} at line 1", why),
            Some((line, column)) => words!("{} at line {} column {}", why, line, column),
        }
    })
}

/// Replaces the list of known names in an error with the nearest one, if one is near.
fn with_near_name(why: String) -> String {
    let Some((told, known)) = why.split_once("; known: ") else {
        return why;
    };
    let name = told.rsplit('`').nth(1).unwrap_or_default();
    let names = known.split('`').skip(1).step_by(2);
    let distances = names.map(|known| (strsim::osa_distance(name, known), known));
    match distances.min() {
        Some((distance, near)) if distance.saturating_sub(1) <= name.chars().count() / 4 => {
            format!("{told}: did you mean `{near}`?")
        }
        _ => why,
    }
}

fn place(error: &yaml_serde::Error) -> Option<(usize, usize)> {
    error.location().map(|at| (at.line(), at.column()))
}

/// A duration such as `2s` or `500ms`, at most `MAX_SECONDS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Time<const MAX_SECONDS: u64>(pub Duration);

impl<const MAX_SECONDS: u64> TryFrom<String> for Time<MAX_SECONDS> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = text.parse::<SignedDuration>().ok();
        match read.and_then(|time| Duration::try_from(time).ok()) {
            Some(time) if time <= Duration::from_secs(MAX_SECONDS) => Ok(Self(time)),
            Some(_) => Err(format!("expected at most `{}m`", MAX_SECONDS / 60)),
            None => Err("expected a time such as `2s` or `500ms`".to_owned()),
        }
    }
}

/// A value that can be written as a scalar, a list or a map.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape<M, L = Value> {
    /// A string, a number, a boolean or null.
    Scalar(Value),
    List(Vec<L>),
    Map(M),
}

impl<M, L> Shape<M, L> {
    /// The error message for a value of the wrong shape.
    pub fn refuse(&self, expected: &str) -> String {
        let found = match self {
            Self::Scalar(Value::String(_)) => "a text",
            Self::Scalar(Value::Number(_)) => "a number",
            Self::Scalar(Value::Bool(_)) => "true or false",
            Self::Scalar(_) => "null",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        };
        format!("expected {expected}, got {found}")
    }
}

impl<'de, M: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for Shape<M, L> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor(PhantomData))
    }
}

struct ShapeVisitor<M, L>(PhantomData<(M, L)>);

impl<'de, M: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for ShapeVisitor<M, L> {
    type Value = Shape<M, L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(value.into()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Shape::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Shape::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        M::deserialize(MapAccessDeserializer::new(map)).map(Shape::Map)
    }
}
