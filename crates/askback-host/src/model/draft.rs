//! A form while it is being filled in: every field of it, in any order.

use askback_core::{
    forms::{Content, Field, FieldKind, FormSchema, Opt},
    limits::Limits,
};
use serde_json::Value;

use crate::{
    text::{self, Words},
    words,
};

/// A form and what stands in its fields so far.
///
/// A field keeps what a person wrote in it also where that is no value of the field yet: nothing
/// written is lost. What is sent has passed the check of every field.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    schema: FormSchema,
    entries: Vec<Entry>,
    /// The defaults that are no values of their fields, and why.
    dropped: Vec<(usize, Value, Words)>,
    limits: Limits,
}

/// The content of a field.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Empty,
    /// A value that has passed the check of its field.
    Value(Value),
    /// A text that has not, and why.
    Written(String, Words),
    /// Options of several, too few or too many of them, and why.
    Chosen(Vec<Value>, Words),
}

impl Draft {
    /// A form as it is asked: each field holds what is given beforehand, or its default, if that
    /// passes the check.
    pub fn new(mut schema: FormSchema, preset: &Content, limits: Limits) -> Self {
        schema.fields.iter_mut().for_each(explain);
        let mut dropped = Vec::new();
        let mut first = |(index, field): (usize, &Field)| {
            let preset = preset.get(&field.name).cloned();
            let passes = |value: &Value| field.check(value, &limits.forms).is_ok();
            if let Some(value) = preset.filter(passes) {
                return Entry::Value(value);
            }
            let Some(default) = field.default_value() else {
                return Entry::Empty;
            };
            match text::check(field, &default, &limits) {
                Ok(()) => Entry::Value(default),
                Err(issue) => {
                    dropped.push((index, default, issue));
                    Entry::Empty
                }
            }
        };
        let entries = schema.fields.iter().enumerate().map(&mut first).collect();
        Self {
            schema,
            entries,
            dropped,
            limits,
        }
    }

    /// Returns the default of a field that is left out because it is no value of the field, and
    /// why.
    pub fn dropped(&self, index: usize) -> Option<(&Value, Words)> {
        let found = self.dropped.iter().find(|(at, ..)| *at == index);
        found.map(|(_, value, issue)| (value, issue.clone()))
    }

    /// The fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    /// Returns the value of a field.
    pub fn value(&self, index: usize) -> Option<&Value> {
        match self.entries.get(index)? {
            Entry::Value(value) => Some(value),
            Entry::Empty | Entry::Written(..) | Entry::Chosen(..) => None,
        }
    }

    /// Returns what a person wrote in a field that is no value of it yet.
    pub fn written(&self, index: usize) -> Option<&str> {
        match self.entries.get(index)? {
            Entry::Written(text, _) => Some(text),
            Entry::Empty | Entry::Value(_) | Entry::Chosen(..) => None,
        }
    }

    /// Returns why the form cannot be sent because of a field.
    pub fn issue(&self, index: usize) -> Option<Words> {
        let field = self.schema.fields.get(index)?;
        match self.entries.get(index)? {
            Entry::Value(_) => None,
            Entry::Written(_, issue) | Entry::Chosen(_, issue) => Some(issue.clone()),
            Entry::Empty => field.required.then(|| "must be given".into()),
        }
    }

    /// The first field because of which the form cannot be sent.
    pub fn wrong(&self) -> Option<usize> {
        (0..self.entries.len()).find(|&index| self.issue(index).is_some())
    }

    /// The number of fields because of which the form cannot be sent.
    pub fn left(&self) -> usize {
        let wrong = |index: &usize| self.issue(*index).is_some();
        (0..self.entries.len()).filter(wrong).count()
    }

    /// Reads what a person wrote for a field: an option may be given by its mark too. The form
    /// stays as it is.
    ///
    /// # Errors
    ///
    /// Says why it is no value of the field.
    pub fn read(&self, index: usize, written: &str) -> Result<Value, Words> {
        let Some(field) = self.schema.fields.get(index) else {
            return Err("there is no such field".into());
        };
        let value = read(field, written)?;
        text::check(field, &value, &self.limits)?;
        Ok(value)
    }

    /// Writes into a field. No text empties it.
    pub(super) fn write(&mut self, index: usize, written: String) {
        let entry = match self.read(index, &written) {
            _ if written.is_empty() => Entry::Empty,
            Ok(value) => Entry::Value(value),
            Err(issue) => Entry::Written(written, issue),
        };
        self.put(index, entry);
    }

    /// Chooses an option, by its number from nought: of several it is put in or taken out again. A
    /// yes or no has two: yes is the first.
    pub(super) fn choose(&mut self, index: usize, option: usize) {
        let Some(field) = self.schema.fields.get(index) else {
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

    /// Whether an option is chosen in a field, by its value.
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

    /// Empties a field.
    pub(super) fn clear(&mut self, index: usize) {
        self.put(index, Entry::Empty);
    }

    fn put(&mut self, index: usize, entry: Entry) {
        if let Some(place) = self.entries.get_mut(index) {
            *place = entry;
        }
    }

    /// Returns the content to send.
    pub fn content(&self) -> Content {
        let fields = self.schema.fields.iter().enumerate();
        fields
            .filter_map(|(index, field)| Some((field.name.clone(), self.value(index)?.clone())))
            .collect()
    }
}
/// The short marks by which the options of a list can be chosen: numbers, or letters where an
/// option could be taken for a number, or none where it could be taken for a letter too.
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

/// The letters that mark options.
const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y", "z",
];

/// Says in the description of a field of JSON, behind the words of the server, why it is one, and its
/// schema.
fn explain(field: &mut Field) {
    if let FieldKind::Json(json) = &field.kind {
        let schema = Value::from(json.schema.clone());
        let why = format!("As JSON: {}. Its schema: {schema}", json.reason);
        let description = field.description.take();
        let parts: Vec<_> = description.into_iter().chain([why]).collect();
        field.description = Some(parts.join(" "));
    }
}

fn read(field: &Field, written: &str) -> Result<Value, Words> {
    match (&field.kind, text::read(field, written)) {
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

fn marked<'a>(options: &'a [Opt], mark: &str) -> Option<&'a Opt> {
    let at = marks(options)?
        .iter()
        .position(|known| known.as_str() == mark)?;
    options.get(at)
}

/// Options by name or mark between commas, or by their marks between spaces; each counts once.
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
