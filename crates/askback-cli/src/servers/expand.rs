//! Variables in configuration values: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and the variables of editors.

use std::{
    collections::BTreeSet,
    env,
    path::{MAIN_SEPARATOR_STR, Path},
};

use serde_json::Value;

use super::entry::each_text;

/// The keys of an entry in which variables are replaced.
const MEMBERS: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Environment variables without a default.
    pub variables: BTreeSet<String>,
    /// Environment variables with a default.
    pub optional: BTreeSet<String>,
    /// Names that askback does not know, such as `config:x`, as written in the file.
    pub unknown: BTreeSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    Variable(String),
    /// The variable of an input, which has no default.
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
    /// An environment variable, and its default.
    Variable(&'a str, Option<&'a str>),
    /// The environment variable for an input, which an editor asks its user for.
    Input(String),
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
            for part in parts(text) {
                match part {
                    Part::Variable(name, None) => names.variables.insert(name.to_owned()),
                    Part::Variable(name, Some(_)) => names.optional.insert(name.to_owned()),
                    Part::Input(name) => names.variables.insert(name),
                    Part::Unknown(name) => names.unknown.insert(name.to_owned()),
                    Part::Plain(_) | Part::Known(_) => continue,
                };
            }
            Ok(())
        });
        names
            .optional
            .retain(|name| !names.variables.contains(name));
        names
    }

    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.optional.is_empty()
    }
}

/// Calls a function with each value of an entry in which variables are replaced.
fn walk(
    server: &mut Value,
    each: &mut impl FnMut(&mut String) -> Result<(), Missing>,
) -> Result<(), Missing> {
    let mut members = MEMBERS.into_iter();
    members.try_for_each(|member| match server.get_mut(member) {
        Some(value) => each_text(value, each),
        None => Ok(()),
    })
}

/// Replaces the variables of an entry. `project` is the project folder.
pub fn fill(server: &mut Value, project: Option<&Path>) -> Result<(), Missing> {
    let mut left = MOST;
    let variable = |name: &str| env::var(name).ok();
    walk(server, &mut |text| {
        *text = filled(text, project, &variable, &mut left)?;
        Ok(())
    })
}

/// Replaces the variables of a text. Variables within the inserted values are not replaced.
fn filled(
    text: &str,
    project: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut usize,
) -> Result<String, Missing> {
    let mut filled = String::with_capacity(text.len());
    for part in parts(text) {
        let before = filled.len();
        match part {
            Part::Plain(plain) | Part::Unknown(plain) => filled.push_str(plain),
            Part::Variable(name, default) => {
                let value = variable(name);
                // As in a shell, a default also replaces an empty variable.
                let value = match default {
                    Some(default) => value
                        .filter(|value| !value.is_empty())
                        .or_else(|| Some(default.to_owned())),
                    None => value,
                };
                let missing = || Missing::Variable(name.to_owned());
                filled.push_str(&value.ok_or_else(missing)?);
            }
            Part::Input(name) => {
                let value = variable(&name);
                filled.push_str(&value.ok_or(Missing::Input(name))?);
            }
            Part::Known(SEPARATOR) => filled.push_str(MAIN_SEPARATOR_STR),
            Part::Known(name) => {
                let folder = match name {
                    HOME => env::home_dir(),
                    _ => project.map(Path::to_owned),
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
        Some(("input", id)) if !id.is_empty() => Some(Part::Input(of_input(id))),
        Some((kind, rest)) if is_variable(kind) && is_word(rest) => Some(Part::Unknown(whole)),
        Some(_) => None,
        None => is_variable(name).then_some(Part::Variable(name, None)),
    }
}

/// The environment variable for an input: `API_KEY` for `api-key`.
fn of_input(id: &str) -> String {
    id.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
        .to_ascii_uppercase()
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

    fn value(name: &str) -> Option<String> {
        let values = [
            ("A", "a"),
            ("EMPTY", ""),
            ("NESTED", "${A}"),
            ("MY_KEY", "k"),
        ];
        let value = values.into_iter().find(|(known, _)| *known == name);
        value.map(|(_, value)| value.to_owned())
    }

    #[test]
    fn a_text_is_filled() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let project = Some(Path::new("/project/it"));
            let filled = filled(text, project, &value, &mut { MOST });
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
        check("Bearer ${input:my-key}", "Bearer k");
        let home = env::home_dir().expect("a folder");
        let inside = format!("{}{MAIN_SEPARATOR_STR}x", home.display());
        check("${userHome}${/}x", &inside);
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
            let filled = filled(text, None, &value, &mut { MOST });
            assert_eq!(filled, Err(expected));
        }
        check("${B}", Missing::Variable("B".to_owned()));
        check("${env:B}", Missing::Variable("B".to_owned()));
        check("${input:other}", Missing::Input("OTHER".to_owned()));
        check("${workspaceFolder}", Missing::Folder(WORKSPACE));
    }

    #[test]
    fn texts_that_grow_without_end_are_refused() {
        let long = |_: &str| Some("x".repeat(1 << 10));
        let fill = |times| filled(&"${LONG}".repeat(times), None, &long, &mut { MOST });
        assert!(fill(1 << 10).is_ok());
        assert_eq!(fill((1 << 10) + 1), Err(Missing::Room));
    }

    #[test]
    fn members_that_say_how_a_server_is_reached_are_filled() {
        let a = "${NOT_SET:-a}";
        let mut server = json!({
            "command": a, "args": [a, 1], "env": {a: a}, "cwd": a,
            "url": a, "headers": {"x": a}, "other": a, "oauth": {"clientId": a},
        });
        let expected = json!({
            "command": "a", "args": ["a", 1], "env": {a: "a"}, "cwd": "a",
            "url": "a", "headers": {"x": "a"}, "other": a, "oauth": {"clientId": a},
        });
        fill(&mut server, None).expect("all have a default");
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
            variables: names(&["A", "KEY"]),
            optional: names(&["B"]),
            unknown: names(&["${config:x}"]),
        };
        assert_eq!(Names::of(&server), expected);
        assert!(Names::of(&json!({"command": "x", "args": "${config:x}"})).is_empty());
    }
}
