//! A form that is being filled in.

use std::collections::BTreeMap;

use askback::{
    forms::{Content, Field, FieldKind, FormSchema, JsonField, Opt, read_json},
    limits::Limits,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    text::{self, Clock, Words},
    words,
};

pub fn missing(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Boolean(_) | FieldKind::Choice(_) | FieldKind::Choices(_) => "needs a choice",
        _ => "needs an answer",
    }
}

/// A form and the current content of its fields.
///
/// A field keeps the user's text even if the text is not a valid value, so no input is lost.
/// Content is sent only if every field is valid. An object or a list is written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    fields: Vec<Field>,
    /// The defaults that are not valid, and why.
    dropped: Vec<Option<(Value, Words)>>,
    entries: Vec<Entry>,
    limits: Limits,
    clock: Clock,
}

#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Empty,
    Value(Value),
    Written(String, Words),
    Chosen(Vec<Value>, Words),
}

impl Draft {
    /// Starts a form. Each field holds its preset value or its default, if that is valid. Dates and
    /// times are read with the clock.
    pub fn new(schema: FormSchema, preset: &Content, limits: Limits, clock: Clock) -> Self {
        let mut draft = Self {
            fields: Vec::new(),
            dropped: Vec::new(),
            entries: Vec::new(),
            limits,
            clock,
        };
        for mut field in schema.fields {
            let preset = preset.get(&field.name).cloned();
            let passes = |value: &Value| field.check(value, &draft.limits.forms).is_ok();
            let mut dropped = None;
            let value = preset.filter(passes).or_else(|| {
                let default = field.default_value()?;
                match text::check(&field, &default, &draft.limits) {
                    Ok(()) => Some(default),
                    Err(issue) => {
                        dropped = Some((default, issue));
                        None
                    }
                }
            });
            explain(&mut field);
            draft.fields.push(field);
            draft.dropped.push(dropped);
            draft.entries.push(value.map_or(Entry::Empty, Entry::Value));
        }
        draft
    }

    /// A value that is not valid becomes text, in JSON.
    fn entry(&self, field: &Field, value: Value) -> Entry {
        match (text::check(field, &value, &self.limits), value) {
            (Err(issue), Value::String(text)) if read_json(&text).is_err() => {
                Entry::Written(text, issue)
            }
            (Err(issue), value) => Entry::Written(value.to_string(), issue),
            (Ok(()), value) => Entry::Value(value),
        }
    }

    /// Returns the content of each field, except for those with a secret.
    pub(super) fn typed(&self, is_secret: impl Fn(&Field) -> bool) -> Typed {
        let fields = self.fields.iter().zip(&self.entries);
        let open = fields.filter(|(field, _)| !is_secret(field));
        let typed = open.map(|(field, entry)| {
            let typed = match entry {
                Entry::Empty => TypedValue::Empty,
                Entry::Value(value) => TypedValue::Value(value.clone()),
                Entry::Written(text, _) => TypedValue::Text(text.clone()),
                Entry::Chosen(chosen, _) => TypedValue::Value(chosen.clone().into()),
            };
            (field.name.clone(), typed)
        });
        typed.collect()
    }

    /// Replaces the content of a field, as [`Draft::typed`] returned it.
    pub(super) fn retype(&mut self, name: &str, typed: &TypedValue) {
        let Some(index) = self.fields.iter().position(|field| field.name == name) else {
            return;
        };
        let field = self.fields[index].clone();
        match (typed, &field.kind) {
            (TypedValue::Text(text), _) => self.write(index, text.clone()),
            (TypedValue::Empty, _) => self.clear(index),
            (TypedValue::Value(Value::Array(chosen)), FieldKind::Choices(_)) => {
                let entry = self.several(&field, chosen.clone());
                self.put(index, entry);
            }
            (TypedValue::Value(value), _) => {
                let entry = self.entry(&field, value.clone());
                self.put(index, entry);
            }
        }
    }

    /// Returns the default of a field if it is not valid, and why.
    pub fn dropped(&self, index: usize) -> Option<(&Value, Words)> {
        let dropped = self.dropped.get(index)?.as_ref();
        dropped.map(|(value, issue)| (value, issue.clone()))
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the value of a field, if it is valid.
    pub fn value(&self, index: usize) -> Option<&Value> {
        match self.entries.get(index)? {
            Entry::Value(value) => Some(value),
            Entry::Empty | Entry::Written(..) | Entry::Chosen(..) => None,
        }
    }

    /// Returns the text of a field that is not valid.
    pub fn written(&self, index: usize) -> Option<&str> {
        match self.entries.get(index)? {
            Entry::Written(text, _) => Some(text),
            Entry::Empty | Entry::Value(_) | Entry::Chosen(..) => None,
        }
    }

    /// Returns why a field prevents sending the form.
    pub fn issue(&self, index: usize) -> Option<Words> {
        let field = self.fields.get(index)?;
        match self.entries.get(index)? {
            Entry::Value(_) => None,
            Entry::Written(_, issue) | Entry::Chosen(_, issue) => Some(issue.clone()),
            Entry::Empty => field.required.then(|| missing(field).into()),
        }
    }

    /// Returns the first field that prevents sending the form.
    pub fn wrong(&self) -> Option<usize> {
        (0..self.entries.len()).find(|&index| self.issue(index).is_some())
    }

    /// Returns the number of fields that prevent sending the form.
    pub fn left(&self) -> usize {
        let wrong = |index: &usize| self.issue(*index).is_some();
        (0..self.entries.len()).filter(wrong).count()
    }

    /// Parses text for a field without changing the form. An option's mark is accepted too.
    /// The error is the reason if the text is not a valid value.
    pub fn read(&self, index: usize, written: &str) -> Result<Value, Words> {
        let Some(field) = self.fields.get(index) else {
            return Err("unknown field".into());
        };
        let value = read_field(field, written, self.clock)?;
        text::check(field, &value, &self.limits)?;
        Ok(value)
    }

    /// Returns a copy of the form with this text in a field.
    #[must_use]
    pub fn with(&self, index: usize, written: String) -> Self {
        let mut draft = self.clone();
        draft.write(index, written);
        draft
    }

    /// Empty text clears the field.
    pub(super) fn write(&mut self, index: usize, written: String) {
        let entry = match self.read(index, &written) {
            _ if written.is_empty() => Entry::Empty,
            Ok(value) => Entry::Value(value),
            Err(issue) => Entry::Written(written, issue),
        };
        self.put(index, entry);
    }

    /// Selects an option by its index, or toggles it if several can be selected. In a yes/no field,
    /// yes is option 0.
    pub(super) fn choose(&mut self, index: usize, option: usize) {
        let Some(field) = self.fields.get(index) else {
            return;
        };
        let entry = match &field.kind {
            FieldKind::Boolean(_) => Entry::Value(Value::from(option == 0)),
            FieldKind::Choice(choice) => match choice.options.get(option) {
                Some(option) => Entry::Value(option.value.as_str().into()),
                None => return,
            },
            FieldKind::Choices(choices) => {
                let Some(toggled) = choices.options.get(option) else {
                    return;
                };
                let stays = |option: &&Opt| {
                    let is_in = self.is_chosen(index, &option.value);
                    is_in != (option.value == toggled.value)
                };
                let chosen = choices.options.iter().filter(stays);
                let chosen = chosen.map(|option| option.value.as_str().into());
                self.several(field, chosen.collect())
            }
            _ => return,
        };
        self.put(index, entry);
    }

    /// Whether a field has this option selected, by its value.
    pub fn is_chosen(&self, index: usize, option: &str) -> bool {
        match self.entries.get(index) {
            Some(Entry::Value(Value::Array(chosen)) | Entry::Chosen(chosen, _)) => {
                chosen.iter().any(|chosen| chosen == option)
            }
            Some(Entry::Value(chosen)) => chosen == option,
            Some(Entry::Empty | Entry::Written(..)) | None => false,
        }
    }

    fn several(&self, field: &Field, chosen: Vec<Value>) -> Entry {
        if chosen.is_empty() {
            return Entry::Empty;
        }
        let chosen = Value::Array(chosen);
        match (text::check(field, &chosen, &self.limits), chosen) {
            (Err(issue), Value::Array(chosen)) => Entry::Chosen(chosen, issue),
            (_, chosen) => Entry::Value(chosen),
        }
    }

    pub(super) fn clear(&mut self, index: usize) {
        self.put(index, Entry::Empty);
    }

    fn put(&mut self, index: usize, entry: Entry) {
        if let Some(place) = self.entries.get_mut(index) {
            *place = entry;
        }
    }

    pub fn content(&self) -> Content {
        let fields = self.fields.iter().zip(&self.entries);
        let values = fields.filter_map(|(field, entry)| match entry {
            Entry::Value(value) => Some((field.name.clone(), value.clone())),
            Entry::Empty | Entry::Written(..) | Entry::Chosen(..) => None,
        });
        values.collect()
    }
}

/// Appends the schema of a JSON field to the server's description. Unless the field is an object or
/// a list, also appends why it is written as JSON.
fn explain(field: &mut Field) {
    if let FieldKind::Json(json) = &field.kind {
        let schema = Value::from(json.schema.clone());
        let is_nested = matches!(schema["type"].as_str(), Some("object" | "array"));
        let why = match is_nested {
            true if is_list_of_texts(json) => {
                format!("With commas between, or as JSON. Its schema: {schema}")
            }
            true => format!("As JSON. Its schema: {schema}"),
            false => format!("As JSON: {}. Its schema: {schema}", json.reason),
        };
        let description = field.description.take();
        let parts: Vec<_> = description.into_iter().chain([why]).collect();
        field.description = Some(parts.join(" "));
    }
}

/// Parses text for a field. An option's title or mark is accepted too.
/// The error is the expected kind of value. The limits of the field are not checked.
pub fn read_field(field: &Field, written: &str, clock: Clock) -> Result<Value, Words> {
    match (&field.kind, text::read(field, written, clock)) {
        (FieldKind::Json(json), _)
            if is_list_of_texts(json) && !written.trim_start().starts_with('[') =>
        {
            let texts = written.split(',').map(str::trim);
            let texts = texts.filter(|text| !text.is_empty());
            Ok(texts.map(Value::from).collect())
        }
        (FieldKind::Choice(choice), Err(wanted)) => marked(&choice.options, written.trim())
            .map(|option| option.value.as_str().into())
            .ok_or(wanted),
        (FieldKind::Choices(choices), read) => match read_choices(field, &choices.options, written)
        {
            Some(value) => Ok(value),
            None => read,
        },
        (_, read) => read,
    }
}

/// Whether a field is a list of texts, which can be written without JSON.
fn is_list_of_texts(json: &JsonField) -> bool {
    let is = |schema: &Map<String, Value>, kind| schema.get("type").is_some_and(|it| it == kind);
    let items = json.schema.get("items").and_then(Value::as_object);
    is(&json.schema, "array") && items.is_some_and(|items| is(items, "string"))
}

fn marked<'a>(options: &'a [Opt], mark: &str) -> Option<&'a Opt> {
    let at = marks(options)?
        .iter()
        .position(|known| known.as_str() == mark)?;
    options.get(at)
}

/// Parses options by name or mark, separated by commas, or by mark, separated by spaces. Duplicates
/// are dropped.
fn read_choices(field: &Field, options: &[Opt], text: &str) -> Option<Value> {
    let named = |text: &str| match field.parse(text) {
        Ok(Value::Array(values)) => Some(values),
        _ => None,
    };
    let by_piece = || {
        let pieces = text
            .split(',')
            .map(str::trim)
            .filter(|piece| !piece.is_empty());
        let read = pieces.map(|piece| named(piece).or_else(|| by_marks(options, piece)));
        Some(read.collect::<Option<Vec<_>>>()?.concat())
    };
    let mut values: Vec<Value> = Vec::new();
    for value in named(text).or_else(by_piece)? {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Some(Value::Array(values))
}

fn by_marks(options: &[Opt], text: &str) -> Option<Vec<Value>> {
    let marks = text.split_whitespace();
    marks
        .map(|mark| Some(marked(options, mark)?.value.as_str().into()))
        .collect()
}

/// Empty if the field is not a selection.
pub fn options(field: &Field) -> &[Opt] {
    match &field.kind {
        FieldKind::Choice(choice) => &choice.options,
        FieldKind::Choices(choices) => &choices.options,
        _ => &[],
    }
}

/// Returns the indexes of the options whose label contains the text, ignoring case.
pub fn having(options: &[Opt], text: &str) -> Vec<usize> {
    let text = text.to_lowercase();
    let has = |option: &Opt| option.label().to_lowercase().contains(&text);
    let all = options.iter().enumerate();
    all.filter(|(_, option)| has(option))
        .map(|(index, _)| index)
        .collect()
}

/// Returns short marks to select options by: numbers, or letters if a number could be mistaken for
/// an option. Returns `None` if a letter could be mistaken too.
pub fn marks(options: &[Opt]) -> Option<Vec<Words>> {
    let any = |test: fn(&str) -> bool| {
        options
            .iter()
            .any(|option| test(option.value.trim()) || test(option.label().trim()))
    };
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_letter =
        |text: &str| text.len() == 1 && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if !any(is_number) {
        return Some((1..=options.len()).map(|n| words!("{}", n)).collect());
    }
    (options.len() <= LETTERS.len() && !any(is_letter)).then(|| {
        let letters = LETTERS.iter().take(options.len());
        letters.map(|&letter| letter.into()).collect()
    })
}

const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y", "z",
];

/// The field name for the reply that a user writes instead of a model. Such a question has no
/// fields.
pub(super) const TEXT: &str = "text";

/// The typed content of a question, by the name of the field. Fields that seem to ask for a
/// secret are left out.
pub type Typed = BTreeMap<String, TypedValue>;

/// The typed content of a field, or of all fields of an object or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TypedValue {
    Empty,
    /// A text that is not a value of the field, or not yet.
    Text(String),
    Value(Value),
}

/// A change that another front end made to a field.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedChange {
    pub name: String,
    /// The content that the change replaces. If the user has typed something else in the meantime,
    /// the change is dropped. `None` replaces anything.
    pub over: Option<TypedValue>,
    pub now: TypedValue,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_texts_is_written_with_commas() {
        let schema = json!({"type": "object", "properties": {
            "tags": {"type": "array", "items": {"type": "string"}}
        }});
        let schema = serde_json::from_str(&schema.to_string()).expect("it is a schema");
        let draft = Draft::new(schema, &Content::new(), Limits::default(), Clock::default());
        for (written, texts) in [
            ("early, window seat", json!(["early", "window seat"])),
            ("early,, window seat,", json!(["early", "window seat"])),
            (r#"["early", ""]"#, json!(["early", ""])),
            (" ", json!([])),
            (",", json!([])),
        ] {
            assert_eq!(draft.read(0, written), Ok(texts), "{written}");
        }
    }
}
