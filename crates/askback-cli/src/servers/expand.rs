//! Variables in configuration values: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and the variables of editors.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{MAIN_SEPARATOR_STR, PathBuf},
};

use serde_json::Value;

/// The keys of an entry in which variables are replaced.
const MEMBERS: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Environment variables without a default.
    pub variables: BTreeSet<String>,
    /// Environment variables with a default.
    pub optional: BTreeSet<String>,
    /// The ids of inputs, which the user is asked for.
    pub inputs: BTreeSet<String>,
    /// Names that askback does not know, such as `config:x`, as written in the file.
    pub unknown: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Values {
    pub variables: BTreeMap<String, String>,
    /// The values of inputs, by id.
    pub inputs: BTreeMap<String, String>,
    pub workspace: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    Variable(String),
    Input(String),
    /// The file belongs to no project, or the user has no folder.
    Folder(&'static str),
    /// With the value, the entry would be too long.
    Room,
}

/// The maximum size of an entry's values in bytes, with all variables replaced.
const MOST: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Plain(&'a str),
    Variable(&'a str, Option<&'a str>),
    Input(&'a str),
    /// A folder or a separator that editors define.
    Known(&'static str),
    /// A name in braces that only another client may know.
    Unknown(&'a str),
}

const WORKSPACE: &str = "workspaceFolder";
const WORKSPACE_NAME: &str = "workspaceFolderBasename";
const HOME: &str = "userHome";
const SEPARATOR: &str = "pathSeparator";

impl Names {
    pub fn of(server: &Value) -> Self {
        let mut names = Self::default();
        // Only collects the names; nothing is replaced.
        let _ = walk(&mut server.clone(), &mut |text| {
            names.take(text);
            Ok(())
        });
        names
            .optional
            .retain(|name| !names.variables.contains(name));
        names
    }

    pub fn is_empty(&self) -> bool {
        let Self {
            variables,
            optional,
            inputs,
            unknown: _,
        } = self;
        variables.is_empty() && optional.is_empty() && inputs.is_empty()
    }

    fn take(&mut self, text: &str) {
        for part in parts(text) {
            match part {
                Part::Variable(name, None) => self.variables.insert(name.to_owned()),
                Part::Variable(name, Some(_)) => self.optional.insert(name.to_owned()),
                Part::Input(id) => self.inputs.insert(id.to_owned()),
                Part::Unknown(name) => self.unknown.insert(name.to_owned()),
                Part::Plain(_) | Part::Known(_) => continue,
            };
        }
    }
}

/// Calls a function with each value of an entry in which variables are replaced.
fn walk(
    server: &mut Value,
    each: &mut impl FnMut(&mut String) -> Result<(), Missing>,
) -> Result<(), Missing> {
    fn within(
        value: &mut Value,
        each: &mut impl FnMut(&mut String) -> Result<(), Missing>,
    ) -> Result<(), Missing> {
        match value {
            Value::String(text) => each(text),
            Value::Array(values) => values.iter_mut().try_for_each(|value| within(value, each)),
            Value::Object(members) => members.values_mut().try_for_each(|it| within(it, each)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
    let mut members = MEMBERS.into_iter();
    members.try_for_each(|member| match server.get_mut(member) {
        Some(value) => within(value, each),
        None => Ok(()),
    })
}

impl Values {
    pub fn fill(&self, server: &mut Value) -> Result<(), Missing> {
        let mut left = MOST;
        walk(server, &mut |text| {
            *text = self.filled(text, &mut left)?;
            Ok(())
        })
    }

    /// Replaces the variables of a text. Variables within the inserted values are not replaced.
    fn filled(&self, text: &str, left: &mut usize) -> Result<String, Missing> {
        let mut filled = String::with_capacity(text.len());
        for part in parts(text) {
            let before = filled.len();
            match part {
                Part::Plain(plain) | Part::Unknown(plain) => filled.push_str(plain),
                Part::Variable(name, default) => {
                    let value = self.variables.get(name).map(String::as_str);
                    // As in a shell, a default also replaces an empty variable.
                    let value = match default {
                        Some(default) => value.filter(|value| !value.is_empty()).or(Some(default)),
                        None => value,
                    };
                    let missing = || Missing::Variable(name.to_owned());
                    filled.push_str(value.ok_or_else(missing)?);
                }
                Part::Input(id) => {
                    let missing = || Missing::Input(id.to_owned());
                    filled.push_str(self.inputs.get(id).ok_or_else(missing)?);
                }
                Part::Known(SEPARATOR) => filled.push_str(MAIN_SEPARATOR_STR),
                Part::Known(name) => {
                    let folder = match name {
                        HOME => self.home.as_deref(),
                        _ => self.workspace.as_deref(),
                    };
                    let folder = folder.ok_or(Missing::Folder(name))?;
                    let folder = match name {
                        WORKSPACE_NAME => folder.file_name().unwrap_or_default(),
                        _ => folder.as_os_str(),
                    };
                    filled.push_str(&folder.to_string_lossy());
                }
            }
            let added = filled.len().saturating_sub(before);
            *left = left.checked_sub(added).ok_or(Missing::Room)?;
        }
        Ok(filled)
    }
}

/// Splits a text at its variables. Text that does not look like a variable, such as a shell's `${1##*/}`, is unchanged.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(begin) = text[at..].find("${").map(|found| at.saturating_add(found)) {
        let inside = begin.saturating_add(2);
        let Some(end) = text[inside..]
            .find('}')
            .map(|found| inside.saturating_add(found))
        else {
            break;
        };
        let after = end.saturating_add(1);
        match named(&text[begin..after], &text[inside..end]) {
            Some(part) => {
                if from < begin {
                    parts.push(Part::Plain(&text[from..begin]));
                }
                parts.push(part);
                from = after;
                at = after;
            }
            None => at = inside,
        }
    }
    if from < text.len() {
        parts.push(Part::Plain(&text[from..]));
    }
    parts
}

/// Parses a name in braces. `None` if it is not a name.
fn named<'a>(whole: &'a str, name: &'a str) -> Option<Part<'a>> {
    let known = [WORKSPACE, WORKSPACE_NAME, HOME, SEPARATOR];
    if let Some(known) = known.into_iter().find(|&known| known == name) {
        return Some(Part::Known(known));
    }
    if name == "/" {
        return Some(Part::Known(SEPARATOR));
    }
    if let Some((name, default)) = name.split_once(":-") {
        let name = name.strip_prefix("env:").unwrap_or(name);
        return is_variable(name).then_some(Part::Variable(name, Some(default)));
    }
    match name.split_once(':') {
        Some(("env", name)) if is_variable(name) => Some(Part::Variable(name, None)),
        Some(("input", id)) if !id.is_empty() => Some(Part::Input(id)),
        Some((kind, rest)) if is_variable(kind) && is_word(rest) => Some(Part::Unknown(whole)),
        Some(_) => None,
        None => is_variable(name).then_some(Part::Variable(name, None)),
    }
}

fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_word(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    begins
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        Values {
            variables: pairs(&[("A", "a"), ("EMPTY", ""), ("NESTED", "${A}")]),
            inputs: pairs(&[("key", "typed")]),
            workspace: Some("/project/it".into()),
            home: Some("/home/ada".into()),
        }
    }

    #[test]
    fn a_text_is_filled() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let filled = values().filled(text, &mut { MOST });
            assert_eq!(filled.as_deref(), Ok(expected));
        }
        check("", "");
        check("plain $A $ {A} }{", "plain $A $ {A} }{");
        check("${A}", "a");
        check("x${A}y${A}", "xaya");
        check("é${A}é", "éaé");
        check("${env:A}", "a");
        check("${A:-b}", "a");
        check("${B:-b}", "b");
        check("${B:-}", "");
        check("${B:-http://x:1/}/mcp", "http://x:1//mcp");
        check("${EMPTY}", "");
        check("${EMPTY:-b}", "b");
        check("${env:B:-b}", "b");
        check("Bearer ${input:key}", "Bearer typed");
        check(
            "${userHome}${/}x",
            &format!("/home/ada{MAIN_SEPARATOR_STR}x"),
        );
        check("${workspaceFolder}/x", "/project/it/x");
        check("${workspaceFolderBasename}", "it");
        // Values are not expanded.
        check("${NESTED}", "${A}");
        // Syntax of a shell or another client is unchanged.
        check("${1##*/} ${A%x} ${!A} ${", "${1##*/} ${A%x} ${!A} ${");
        check("${config:editor.x} ${A", "${config:editor.x} ${A");
        check("${${A}}", "${a}");
    }

    #[test]
    fn a_name_without_a_value_is_told() {
        #[track_caller]
        fn check(text: &str, expected: Missing) {
            let values = Values {
                workspace: None,
                ..values()
            };
            let mut server = json!({"env": {"X": text}});
            assert_eq!(values.fill(&mut server), Err(expected));
        }
        check("${B}", Missing::Variable("B".to_owned()));
        check("${env:B}", Missing::Variable("B".to_owned()));
        check("${input:other}", Missing::Input("other".to_owned()));
        check("${workspaceFolder}", Missing::Folder(WORKSPACE));
    }

    #[test]
    fn texts_that_grow_without_end_are_refused() {
        let mut values = values();
        values
            .variables
            .insert("LONG".to_owned(), "x".repeat(1 << 10));
        let fill = |times| {
            let mut server = json!({"args": vec!["${LONG}"; times]});
            values.fill(&mut server)
        };
        assert_eq!(fill(1 << 10), Ok(()));
        assert_eq!(fill((1 << 10) + 1), Err(Missing::Room));
    }

    #[test]
    fn members_that_say_how_a_server_is_reached_are_filled() {
        let mut server = json!({
            "command": "${A}", "args": ["${A}", 1], "env": {"${A}": "${A}"}, "cwd": "${A}",
            "url": "${A}", "headers": {"x": "${A}"}, "other": "${A}", "oauth": {"clientId": "${A}"},
        });
        let expected = json!({
            "command": "a", "args": ["a", 1], "env": {"${A}": "a"}, "cwd": "a",
            "url": "a", "headers": {"x": "a"}, "other": "${A}", "oauth": {"clientId": "${A}"},
        });
        values().fill(&mut server).expect("all are set");
        assert_eq!(server, expected);
    }

    #[test]
    fn the_names_of_a_server_are_known_before() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let server = json!({
            "command": "${A}", "args": ["${B:-x}", "${A:-y}"], "headers": {"x": "${input:key}"},
            "url": "${config:x}", "other": "${C}",
        });
        let expected = Names {
            variables: names(&["A"]),
            optional: names(&["B"]),
            inputs: names(&["key"]),
            unknown: names(&["${config:x}"]),
        };
        assert_eq!(Names::of(&server), expected);
        assert!(Names::of(&json!({"command": "x", "args": "${config:x}"})).is_empty());
    }
}
