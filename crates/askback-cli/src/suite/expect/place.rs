//! Places of values in JSON documents.

use serde::Deserialize;
use serde_json::Value;
use serde_json_path::JsonPath;

/// The place of one value (RFC 6901), or a path to any number of values (RFC 9535).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Place(String);

/// How many members are named if one is missing.
const NAMED: usize = 16;

impl Place {
    /// The place as it was written, empty for the whole document.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    fn path(&self) -> Option<JsonPath> {
        JsonPath::parse(&self.0).ok()
    }

    pub(super) fn values<'a>(&self, whole: &'a Value) -> Vec<(String, &'a Value)> {
        match self.path() {
            Some(path) => {
                let found = path.query_located(whole).into_iter();
                let found = found.map(|found| (found.location().to_string(), found.node()));
                found.collect()
            }
            None => {
                let found = whole.pointer(&self.0);
                let found = found.map(|value| (self.0.clone(), value));
                found.into_iter().collect()
            }
        }
    }

    /// Describes how much of a missing place exists.
    pub(super) fn missed(&self, whole: &Value) -> String {
        let text = &self.0;
        if self.path().is_some() {
            return format!("nothing is at {text}");
        }
        let mut there = text.as_str();
        let within = loop {
            there = there.rsplit_once('/').map_or("", |(before, _)| before);
            match whole.pointer(there) {
                Some(value) => break value,
                None if there.is_empty() => break whole,
                None => {}
            }
        };
        let place = match there {
            "" => "it",
            there => there,
        };
        let has = match within {
            Value::Object(members) if members.is_empty() => "has no members".to_owned(),
            Value::Object(members) => {
                let mut names: Vec<_> = members.keys().take(NAMED).map(String::as_str).collect();
                if members.len() > NAMED {
                    names.push("…");
                }
                format!("has {}", names.join(", "))
            }
            Value::Array(all) => format!("is a list of {}", all.len()),
            value => format!("is {value}"),
        };
        format!("nothing is at {text}: {place} {has}")
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.chars().next() {
            None | Some('/') => {}
            Some('$') => {
                JsonPath::parse(&text).map_err(|error| {
                    let at = error.position();
                    format!("`{text}` is no JSON path: it is read as far as its character {at}")
                })?;
            }
            Some(_) => {
                return Err(format!(
                    "`{text}` is not a place in JSON: write a pointer such as /{text}, or a path that begins with $"
                ));
            }
        }
        Ok(Self(text))
    }
}
