//! The secrets of a session, which a recording is without.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::secret::{holds, is_name};

/// The member with the state of a call.
const STATE: &str = "requestState";

/// The member in which protocol and libraries keep their own.
const META: &str = "_meta";

/// The words in the place of a secret that the server repeats.
const LEFT_OUT: &str = "(left out)";

/// The names and values that are left out of a recording.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    pub(super) names: BTreeSet<String>,
    values: BTreeSet<String>,
    /// The states of calls, by their numbers.
    states: BTreeMap<String, usize>,
}

impl Secrets {
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        names.join(", ")
    }

    pub(super) fn note(&mut self, name: &str, value: &Value) {
        self.names.insert(name.to_owned());
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => drop(self.values.insert(text.clone())),
            Value::Array(all) => all.iter().for_each(|one| self.note(name, one)),
            other => drop(self.values.insert(other.to_string())),
        }
    }

    /// Removes the members of a value whose names are those of secrets, and those that hold one.
    pub(super) fn remove_from(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => members.retain(|name, value| {
                if is_name(name) || is_held(value) {
                    self.note(name, value);
                    return false;
                }
                self.remove_from(value);
                true
            }),
            Value::Array(all) => all.iter_mut().for_each(|one| self.remove_from(one)),
            _ => {}
        }
    }

    /// Leaves out of a message what the client sent of them, and what the server repeats. Returns where
    /// values of the client were.
    pub(super) fn leave_out(&mut self, message: &mut Value, is_sent: bool) -> Vec<String> {
        let mut left_out = Vec::new();
        for part in ["params", "result", "error"] {
            let Some(value) = message.get_mut(part) else {
                continue;
            };
            match is_sent {
                true => self.empty(value, format!("/{part}"), &mut left_out),
                false => self.blank(value),
            }
        }
        left_out
    }

    /// Puts nothing in the place of each secret of the client.
    fn empty(&mut self, value: &mut Value, path: String, left_out: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    match name.as_str() {
                        META => {}
                        STATE => self.label(value),
                        name if is_name(name) || is_held(value) || self.is_in(value) => {
                            if !value.is_null() {
                                self.note(name, value);
                                *value = Value::Null;
                            }
                            left_out.push(path);
                        }
                        _ => self.empty(value, path, left_out),
                    }
                }
            }
            Value::Array(all) => {
                for (index, value) in all.iter_mut().enumerate() {
                    self.empty(value, format!("{path}/{index}"), left_out);
                }
            }
            _ => {}
        }
    }

    /// Puts other words in the place of what the server repeats, and of what only a browser is to know.
    fn blank(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for secret in self.values.iter().filter(|secret| !secret.is_empty()) {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), LEFT_OUT);
                    }
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.blank(one)),
            Value::Object(members) => {
                let is_link = members.get("mode").is_some_and(|mode| mode == "url");
                for (name, value) in members {
                    match name.as_str() {
                        STATE => self.label(value),
                        "url" if is_link => {
                            without_query(value);
                            self.blank(value);
                        }
                        _ => self.blank(value),
                    }
                }
            }
            Value::Number(number) if self.values.contains(&number.to_string()) => {
                *value = Value::Null;
            }
            _ => {}
        }
    }

    /// Puts a number in the place of a state: some servers write into it what they were told.
    fn label(&mut self, state: &mut Value) {
        if let Value::String(text) = state {
            let next = self.states.len().saturating_add(1);
            let number = *self.states.entry(std::mem::take(text)).or_insert(next);
            *text = format!("state {number}");
        }
    }

    /// Whether a value repeats one of them.
    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Number(number) => self.values.contains(&number.to_string()),
            _ => false,
        }
    }

    /// Whether a text repeats one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let mut values = self.values.iter().filter(|value| !value.is_empty());
        values.any(|value| text.contains(value.as_str()))
    }
}

/// Whether a value holds a secret that is none of a member within.
fn is_held(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(all) => all.iter().any(is_held),
        value => holds(value),
    }
}

/// Takes the query and the fragment from a link, in which many servers write whom it is for.
fn without_query(link: &mut Value) {
    if let Value::String(text) = link
        && let Some(end) = text.find(['?', '#'])
    {
        text.truncate(end);
    }
}
