//! Conditions on a JSON value.

use askback_host::{
    text::{Words, given},
    words,
    yaml::Shape,
};
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// How many characters of an expected value an error shows.
const SHOWN: usize = 200;

/// A condition on a value. Unless it is a map, the value must equal it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Shape<Tests>")]
pub(super) struct Condition(Tests);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Tests {
    #[serde(deserialize_with = "some")]
    equals: Option<Value>,
    /// Parts of a text, or elements of a list.
    #[serde(deserialize_with = "one_or_more")]
    contains: Vec<Value>,
    matches: Option<Pattern>,
    length: Option<u64>,
    present: Option<bool>,
    not: Option<Box<Condition>>,
}

/// Accepts any value, `null` included.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(all) => all,
        one => vec![one],
    })
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // The crate's message has several lines.
        Regex::new(&text).map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => format!("the pattern `{text}` is too large"),
            _ => format!("`{text}` is not a regular expression"),
        })
    }
}

impl From<Shape<Tests>> for Condition {
    fn from(text: Shape<Tests>) -> Self {
        let equal_to = |value| Tests {
            equals: Some(value),
            ..Tests::default()
        };
        Self(match text {
            Shape::Map(tests) => tests,
            Shape::Scalar(value) => equal_to(value),
            Shape::List(values) => equal_to(values.into()),
        })
    }
}

impl Condition {
    /// Checks a value or its absence. The error says what was expected.
    pub(super) fn check(&self, found: Option<&Value>) -> Result<(), Words> {
        if let Some(wanted) = &self.0.equals
            && !found.is_some_and(|found| equal(wanted, found))
        {
            return Err(shown(wanted));
        }
        let mut parts = self.parts(found).into_iter();
        match parts.find(|(fits, _)| !fits) {
            Some((_, words)) => Err(words),
            None => Ok(()),
        }
    }

    /// Evaluates all tests except `equals`. Returns for each whether the value passes, and what was
    /// expected.
    fn parts(&self, found: Option<&Value>) -> Vec<(bool, Words)> {
        let mut parts = Vec::new();
        if let Some(present) = self.0.present {
            let words = match present {
                true => "a value",
                false => "nothing there",
            };
            parts.push((found.is_some() == present, words.into()));
        }
        for part in &self.0.contains {
            let fits = found.is_some_and(|found| contains(found, part));
            parts.push((fits, words!("something that contains {}", shown(part))));
        }
        if let Some(Pattern(regex)) = &self.0.matches {
            let fits = found.is_some_and(|found| regex.is_match(&text(found)));
            let words = words!("something that matches {}", cut(regex.as_str()));
            parts.push((fits, words));
        }
        if let Some(length) = self.0.length {
            let fits = found.and_then(self::length) == Some(length);
            parts.push((fits, words!("something of length {}", length)));
        }
        if let Some(not) = &self.0.not {
            parts.push((not.check(found).is_err(), words!("not {}", not.in_words())));
        }
        parts
    }

    pub(super) fn check_text(&self, found: &str) -> Result<(), Words> {
        self.check(Some(&Value::String(found.to_owned())))
    }

    pub(super) fn in_words(&self) -> Words {
        let parts = self.parts(None).into_iter().map(|(_, words)| words);
        let all: Vec<_> = self.0.equals.iter().map(shown).chain(parts).collect();
        match all.is_empty() {
            true => "anything".into(),
            false => Words::join(all, " and "),
        }
    }
}

/// Numbers are compared by value.
fn equal(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Number(wanted), Value::Number(found)) => {
            wanted == found
                || wanted.as_f64() == found.as_f64() && (wanted.is_f64() || found.is_f64())
        }
        (Value::Array(wanted), Value::Array(found)) => {
            let mut both = wanted.iter().zip(found);
            wanted.len() == found.len() && both.all(|(wanted, found)| equal(wanted, found))
        }
        (Value::Object(wanted), Value::Object(found)) => {
            let is_same = |(name, wanted): (&String, &Value)| {
                found.get(name).is_some_and(|found| equal(wanted, found))
            };
            wanted.len() == found.len() && wanted.iter().all(is_same)
        }
        _ => wanted == found,
    }
}

fn contains(found: &Value, part: &Value) -> bool {
    match found {
        Value::Array(all) => all.iter().any(|one| equal(part, one)),
        _ => text(found).contains(&text(part)),
    }
}

/// The text of a string, or the JSON of any other value.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(all) => all.len(),
        Value::Object(all) => all.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

fn shown(value: &Value) -> Words {
    cut(&value.to_string())
}

fn cut(text: &str) -> Words {
    match text.char_indices().nth(SHOWN) {
        None => given(text),
        Some((end, _)) => words!("{}…", given(&text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A condition, the JSON of a value or nothing, and what was expected if the value does not fit.
    const CASES: &str = r#"
        yes it is                   | "yes it is"      |
        yes                         | "yes, it is"     | "yes"
        ''                          | "yes"            | ""
        3000                        | 3000.0           |
        3000.0                      | 3000             |
        3000                        | "3000"           | 3000
        true                        | "true"           | true
        [3]                         | ["3"]            | [3]
        9007199254740993            | 9007199254740992 | 9007199254740993
        [1, {a: 2}]                 | [1.0, {"a": 2}]  |
        [1]                         | [1, 2]           | [1]
        null                        | null             |
        null                        |                  | null
        {equals: {a: 1}}            | {"a": 1, "b": 2} | {"a":1}
        {contains: ell}             | "hello"          |
        {contains: [h, lo]}         | "hello"          |
        {contains: [h, x]}          | "hello"          | something that contains "x"
        {contains: 2}               | [1, 2]           |
        {contains: 3}               | [1, 2]           | something that contains 3
        {matches: '^T-[0-9A-F]{2}'} | "T-D3"           |
        {matches: '^TRV'}           | "x"              | something that matches ^TRV
        {length: 2}                 | "äö"             |
        {length: 2}                 | [1]              | something of length 2
        {present: true}             | null             |
        {present: true}             |                  | a value
        {present: false}            |                  |
        {present: false}            | 1                | nothing there
        {not: {contains: TRV-}}     | "nothing"        |
        {not: {contains: TRV-}}     | "TRV-1"          | not something that contains "TRV-"
        {contains: a, length: 1}    | "ab"             | something of length 1
    "#;

    #[test]
    fn a_condition_describes_its_requirement() {
        for case in CASES.trim().lines() {
            let [condition, found, wanted] = case.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{case}");
            };
            let condition: Condition = yaml_serde::from_str(condition).expect("a condition");
            let found = (!found.is_empty()).then(|| serde_json::from_str(found).expect("JSON"));
            let told = condition.check(found.as_ref()).err();
            assert_eq!(told.unwrap_or_default().as_str(), wanted, "{case}");
        }
    }
}
