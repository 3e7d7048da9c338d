//! Places of values in JSON documents.

use serde::Deserialize;
use serde_json::Value;

/// The place of a value (RFC 6901).
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

    pub(super) fn value<'a>(&self, whole: &'a Value) -> Option<&'a Value> {
        whole.pointer(&self.0)
    }

    /// Describes how much of a missing place exists.
    pub(super) fn missed(&self, whole: &Value) -> String {
        let text = &self.0;
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
        if text.is_empty() || text.starts_with('/') {
            return Ok(Self(text));
        }
        if text.starts_with('$') {
            let names = text.split(|c: char| "$.[]'\"".contains(c));
            let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
            let pointer = names.join("/");
            return Err(format!(
                "JSON paths are not read: write a pointer such as /{pointer}"
            ));
        }
        Err(format!(
            "`{text}` is not a place in JSON: write a pointer such as /{text}"
        ))
    }
}
