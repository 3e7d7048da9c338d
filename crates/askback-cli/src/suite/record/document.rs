//! The document of a recording. It can only be written without what may be secret: each text, name and
//! number in it that is not ours is held against the secrets that are known by then.

use std::collections::BTreeSet;

use serde_json::Value;
use yaml_serde::{Mapping, Value as Yaml};

use super::secrets::Secrets;

/// The most characters of a message by which a rule knows its question.
pub(super) const MESSAGE: usize = 80;

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// A word of ours.
    Ours(&'static str),
    /// A yes or a no.
    Is(bool),
    /// A text that somebody else wrote. It is left out where it repeats a secret.
    Text(String),
    /// The message of a question, as a rule knows it.
    Message(Message),
    /// A value, without the members that repeat a secret.
    Json(Value),
    /// A value that is expected whole. It is left out where it repeats a secret.
    Whole(Value),
    /// Members of a value, by their names. Each is expected at its JSON pointer, without those that repeat a secret.
    Members(Vec<(String, Value)>),
    /// A list that is left out where an element is.
    All(Vec<Part>),
    /// A list of what goes by this name, without the elements that are left out.
    Each(&'static str, Vec<Part>),
    /// Members.
    Map(Map),
}

/// The message of a question. Two are the same where they begin so: a rule knows them by that.
#[derive(Debug, Clone)]
pub(super) struct Message(pub(super) String);

impl Message {
    /// The beginning of its first line.
    fn beginning(&self) -> &str {
        let line = self.0.lines().next().unwrap_or_default();
        let end = line.char_indices().nth(MESSAGE);
        end.map_or(line, |(end, _)| &line[..end])
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.beginning() == other.beginning()
    }
}

/// Members by names of ours.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Map(Vec<Member>);

#[derive(Debug, Clone, PartialEq)]
struct Member {
    name: &'static str,
    part: Part,
    /// Whether nothing is left of the map without it.
    is_needed: bool,
}

impl Map {
    /// Adds a member, without which the map says something else.
    pub(super) fn need(&mut self, name: &'static str, part: impl Into<Part>) {
        self.add(name, part.into(), true);
    }

    /// Adds a member that may be left out.
    pub(super) fn put(&mut self, name: &'static str, part: impl Into<Part>) {
        self.add(name, part.into(), false);
    }

    /// Adds the members of another.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The part of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Part> {
        let member = self.0.iter().find(|member| member.name == name);
        member.map(|member| &member.part)
    }

    fn add(&mut self, name: &'static str, part: Part, is_needed: bool) {
        self.0.push(Member {
            name,
            part,
            is_needed,
        });
    }
}

impl Part {
    /// The part as it may be written, if anything is left of it. The names of what is not go to `left_out`.
    pub(super) fn without(
        &self,
        secrets: &Secrets,
        left_out: &mut BTreeSet<String>,
    ) -> Option<Yaml> {
        match self {
            Self::Ours(word) => Some((*word).into()),
            Self::Is(is) => Some((*is).into()),
            Self::Text(text) => (!secrets.are_in(text)).then(|| text.as_str().into()),
            Self::Message(Message(text)) if secrets.are_in(text) => {
                let pattern = Yaml::from(secrets.pattern_without(text)?);
                Some(Mapping::from_iter([("regex".into(), pattern)]).into())
            }
            Self::Message(message) => Some(message.beginning().into()),
            Self::Json(value) => {
                let value = json(value, secrets, left_out)?;
                // JSON is YAML.
                Some(yaml_serde::to_value(value).unwrap_or_default())
            }
            Self::Whole(value) => {
                let condition = (!secrets.are_within(value)).then(|| condition(value))?;
                Some(Mapping::from_iter([("".into(), condition)]).into())
            }
            Self::Members(members) => {
                let mut written = Mapping::new();
                for (name, value) in members {
                    // Its pointer writes a name in another way, in which a secret would not be found.
                    if secrets.are_in(name) {
                        continue;
                    }
                    if secrets.are_within(value) {
                        left_out.insert(name.clone());
                        continue;
                    }
                    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
                    written.insert(pointer.into(), condition(value));
                }
                (!written.is_empty()).then_some(written.into())
            }
            Self::All(parts) => {
                let parts = parts.iter().map(|part| part.without(secrets, left_out));
                parts.collect::<Option<_>>().map(Yaml::Sequence)
            }
            Self::Each(name, parts) => {
                let written: Vec<_> = parts
                    .iter()
                    .filter_map(|part| part.without(secrets, left_out))
                    .collect();
                if written.len() < parts.len() {
                    left_out.insert((*name).to_owned());
                }
                Some(Yaml::Sequence(written))
            }
            Self::Map(Map(members)) => {
                let mut written = Mapping::new();
                for member in members {
                    match member.part.without(secrets, left_out) {
                        Some(part) => drop(written.insert(member.name.into(), part)),
                        None if member.is_needed => return None,
                        None => {}
                    }
                }
                Some(written.into())
            }
        }
    }
}

/// A value as it is expected. A map says more of a condition.
fn condition(value: &Value) -> Yaml {
    match yaml_serde::to_value(value).unwrap_or_default() {
        Yaml::Mapping(value) => Mapping::from_iter([("equals".into(), value.into())]).into(),
        value => value,
    }
}

/// A value without the members that repeat a secret; none where it is one itself.
fn json(value: &Value, secrets: &Secrets, left_out: &mut BTreeSet<String>) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter_map(|(name, value)| {
                if secrets.are_in(name) {
                    return None;
                }
                let written = json(value, secrets, left_out);
                if written.is_none() {
                    left_out.insert(name.clone());
                }
                Some((name.clone(), written?))
            });
            Some(Value::Object(members.collect()))
        }
        Value::Array(all) => {
            let all = all.iter().map(|one| json(one, secrets, left_out));
            all.collect::<Option<_>>().map(Value::Array)
        }
        value => (!secrets.is_in(value)).then(|| value.clone()),
    }
}

impl From<&'static str> for Part {
    fn from(word: &'static str) -> Self {
        Self::Ours(word)
    }
}

impl From<bool> for Part {
    fn from(is: bool) -> Self {
        Self::Is(is)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Part {
    fn from(number: i64) -> Self {
        Self::Json(number.into())
    }
}

impl From<Map> for Part {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_written_without_secrets() {
        #[track_caller]
        fn check(part: impl Into<Part>, written: Value, left: &[&str]) {
            let mut secrets = Secrets::default();
            for secret in [json!("hush"), json!(4711), json!("a~b/\"c\n")] {
                secrets.note("password", &secret);
            }
            let mut names = BTreeSet::new();
            let part = part.into().without(&secrets, &mut names);
            let part = part.map(|part| yaml_serde::from_value::<Value>(part).expect("it is JSON"));
            assert_eq!(part.unwrap_or(json!("gone")), written);
            assert_eq!(names.into_iter().collect::<Vec<_>>(), left);
        }
        let gone = json!("gone");
        let text = |text: &str| Part::Text(text.to_owned());
        // A person may have chosen a word of ours.
        check("hush", json!("hush"), &[]);
        check(text("all"), json!("all"), &[]);
        check(text("a hush b"), gone.clone(), &[]);
        check(text("no. 4711"), gone.clone(), &[]);
        let message = |text: &str| Part::Message(Message(text.to_owned()));
        check(
            message("Hello!\nhush"),
            json!({"regex": "^Hello!\n(?:\\S+|\\(left out\\))$"}),
            &[],
        );
        check(message("Hello!\nYou"), json!("Hello!"), &[]);
        check(message("hush?"), gone.clone(), &[]);
        check(4711, gone.clone(), &[]);
        check(4712, json!(4712), &[]);
        check(
            Part::Json(
                json!({"a": "hush", "b": {"c": ["x", "hush"], "d": 1}, "hush": 1, "e": 4711}),
            ),
            json!({"b": {"d": 1}}),
            &["a", "c", "e"],
        );
        check(Part::All(vec![text("a"), text("hush")]), gone.clone(), &[]);
        // A name is written as a pointer, and looked at as it is.
        let members = json!({
            "a/b~c": 1, "a~b/\"c\n": 2, "hush": 3, "x/y": "hush", "z": {"a~b/\"c\n": 4},
        });
        let members = members.as_object().cloned().unwrap_or_default();
        check(
            Part::Members(members.into_iter().collect()),
            json!({"/a~1b~0c": 1}),
            &["x/y", "z"],
        );
        check(
            Part::Members(vec![("hush".to_owned(), json!(1))]),
            gone.clone(),
            &[],
        );
        check(Part::Whole(json!([1, "x"])), json!({"": [1, "x"]}), &[]);
        check(Part::Whole(json!(["hush"])), gone.clone(), &[]);
        let case = |name: &str, end: &str| {
            let mut case = Map::default();
            case.need("call", name.to_owned());
            case.put("text", end.to_owned());
            Part::Map(case)
        };
        check(
            Part::Each("a case", vec![case("a", "hush"), case("hush", "a")]),
            json!([{"call": "a"}]),
            &["a case"],
        );
    }
}
