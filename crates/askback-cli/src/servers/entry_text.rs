//! Edits one entry in the text of a file. Comments, order and spaces elsewhere are kept.

use std::{path::Path, str::FromStr as _};

use jsonc_parser::{
    CollectOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
    parse_to_ast,
};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item};

use super::document::{Unreadable, strict};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Yaml,
}

/// Some Windows editors write it at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Format {
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }

    pub fn read(self, text: &str) -> Result<Value, Unreadable> {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        let malformed = |why: String, (line, column): (usize, usize)| {
            Unreadable(format!("{why}, at line {line} column {column}"))
        };
        match self {
            Self::Json => {
                let read = parse_to_ast(text, &CollectOptions::default(), &strict());
                let read = read.map_err(|error| {
                    let at = (error.line_display(), error.column_display());
                    malformed(format!("this is not JSON: {}", error.kind()), at)
                })?;
                Ok(read.value.map_or_else(|| Map::new().into(), Value::from))
            }
            Self::Toml => toml::from_str(text).map_err(|error: toml::de::Error| {
                let start = error.span().map_or(0, |span| span.start);
                malformed("this is not TOML".to_owned(), position(text, start))
            }),
            Self::Yaml => {
                let read: Result<Value, _> = yaml_serde::from_str(text);
                let read = read.map_err(|error| {
                    let at = error.location();
                    let at = at.map_or((1, 1), |at| (at.line(), at.column()));
                    malformed("this is not YAML".to_owned(), at)
                })?;
                Ok(match read {
                    Value::Null => Map::new().into(),
                    read => read,
                })
            }
        }
    }

    /// Changes the entry at a path to `after`, and checks that only the entry has changed. Unchanged members keep their
    /// text.
    pub fn change(self, text: &str, path: &[String], after: &Value) -> Result<String, Unreadable> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut expected = self.read(bare)?;
        let edited = match self {
            Self::Json => change_json(bare, path, after),
            Self::Toml => change_toml(bare, path, after),
            Self::Yaml => change_yaml(bare, path, after),
        };
        let edited = edited.ok_or_else(|| unreadable("there is no such entry"))?;
        let entry = path.iter().try_fold(&mut expected, |value, member| {
            value.as_object_mut()?.get_mut(member)
        });
        if let Some(entry) = entry {
            entry.clone_from(after);
        }
        if self.read(&edited)? != expected {
            return Err(unreadable("it is written in a way that cannot be edited"));
        }
        let mark = text.strip_suffix(bare).unwrap_or_default();
        Ok(format!("{mark}{edited}"))
    }

    /// Restores the entry that is at a path in `before`, an earlier text of the file: byte for byte, unless the entry was
    /// formatted anew since it was changed.
    pub fn restore(self, text: &str, path: &[String], before: &str) -> Result<String, Unreadable> {
        let entry = |text: &str| at(&self.read(text).ok()?, path).cloned();
        let lacks = || unreadable("the backup has no such entry");
        let [now, then] = [entry(text), entry(before)];
        let (now, then) = (now.ok_or_else(lacks)?, then.ok_or_else(lacks)?);
        if let Ok(changed) = self.change(before, path, &now) {
            let (of_then, of_now) = difference(before, &changed);
            for (start, _) in text.match_indices(of_now) {
                let end = start.saturating_add(of_now.len());
                let restored = [&text[..start], of_then, &text[end..]].concat();
                if entry(&restored).as_ref() == Some(&then) {
                    return Ok(restored);
                }
            }
        }
        self.change(text, path, &then)
    }
}

/// Returns the parts of two texts between their common beginning and their common end.
fn difference<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let same = |(one, other): &(char, char)| one == other;
    let begin = one.chars().zip(other.chars()).take_while(same);
    let begin = begin.map(|(c, _)| c.len_utf8()).sum::<usize>();
    let (one, other) = (&one[begin..], &other[begin..]);
    let end = one.chars().rev().zip(other.chars().rev()).take_while(same);
    let end = end.map(|(c, _)| c.len_utf8()).sum::<usize>();
    let until = |text: &'a str| &text[..text.len().saturating_sub(end)];
    (until(one), until(other))
}

fn unreadable(why: &str) -> Unreadable {
    Unreadable(why.to_owned())
}

pub fn at<'a>(whole: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(whole, |value, member| value.as_object()?.get(member))
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count().saturating_add(1);
    let start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let column = before[start..].chars().count().saturating_add(1);
    (line, column)
}

fn change_json(text: &str, path: &[String], after: &Value) -> Option<String> {
    let root = CstRootNode::parse(text, &strict()).ok()?;
    let mut entry: CstObject = root.object_value()?;
    for member in path {
        entry = entry.object_value(member)?;
    }
    let before = entry.to_serde_value()?;
    for name in before.as_object()?.keys() {
        if after.get(name).is_none() {
            entry.get(name)?.remove();
        }
    }
    for (name, value) in after.as_object()? {
        match (before.get(name), entry.get(name)) {
            (Some(before), _) if before == value => {}
            (_, Some(member)) => member.set_value(input(value)),
            (_, None) => drop(entry.append(name, input(value))),
        }
    }
    Some(root.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(name, value)| (name.clone(), input(value)))
                    .collect(),
            )
        }
    }
}

fn change_toml(text: &str, path: &[String], after: &Value) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let before = Format::Toml.read(text).ok()?;
    let before = at(&before, path)?.as_object()?;
    let entry = path
        .iter()
        .try_fold(document.as_item_mut(), |item, member| item.get_mut(member))?;
    let entry = entry.as_table_like_mut()?;
    for name in before.keys() {
        if after.get(name).is_none() {
            entry.remove(name);
        }
    }
    for (name, value) in after.as_object()? {
        if before.get(name) == Some(value) {
            continue;
        }
        let mut new = toml_value(value)?;
        match entry.get_mut(name) {
            Some(item) => {
                if let Some(old) = item.as_value() {
                    // Keeps the comment after the value.
                    *new.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(new);
            }
            None => drop(entry.insert(name, Item::Value(new))),
        }
    }
    Some(document.to_string())
}

fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(it) => (*it).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => {
            let values: Option<toml_edit::Array> = values.iter().map(toml_value).collect();
            values?.into()
        }
        Value::Object(members) => {
            let mut table = toml_edit::InlineTable::new();
            for (name, value) in members {
                table.insert(name, toml_value(value)?);
            }
            table.into()
        }
    })
}

fn yaml_mapping(text: &str, path: &[String]) -> Option<(yaml_edit::Document, yaml_edit::Mapping)> {
    let document = yaml_edit::Document::from_str(text).ok()?;
    let mut mapping = document.as_mapping()?;
    for member in path {
        mapping = mapping.get_mapping(member.as_str())?;
    }
    Some((document, mapping))
}

fn change_yaml(text: &str, path: &[String], after: &Value) -> Option<String> {
    let before = Format::Yaml.read(text).ok()?;
    let before = at(&before, path)?.as_object()?;
    let (document, entry) = yaml_mapping(text, path)?;
    for name in before.keys() {
        if after.get(name).is_none() {
            entry.remove(name.as_str());
        }
    }
    for (name, value) in after.as_object()? {
        if before.get(name) != Some(value) {
            // JSON is also YAML.
            let value = yaml_edit::Document::from_str(&value.to_string()).ok()?;
            set_yaml(&entry, name, &value)?;
        }
    }
    Some(document.to_string())
}

fn set_yaml(entry: &yaml_edit::Mapping, name: &str, value: &yaml_edit::Document) -> Option<()> {
    if let Some(mapping) = value.as_mapping() {
        entry.set(name, mapping);
    } else if let Some(list) = value.as_sequence() {
        entry.set(name, list);
    } else {
        entry.set(name, value.as_scalar()?);
    }
    Some(())
}
