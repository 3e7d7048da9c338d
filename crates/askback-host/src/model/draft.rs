//! A form while it is being filled in.

use askback_core::{
    forms::{Content, Field, FieldKind, FormSchema, Opt},
    limits::Limits,
};
use serde_json::Value;

use crate::{
    text::{self, Words},
    words,
};

/// A form and what has been filled in so far. Every value in it has passed its field's check.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    schema: FormSchema,
    values: Vec<Option<Value>>,
    limits: Limits,
}

impl Draft {
    /// An empty form: each field holds what is given beforehand, or its default, if that passes
    /// the check.
    pub fn new(schema: FormSchema, preset: &Content, limits: Limits) -> Self {
        let values = schema
            .fields
            .iter()
            .map(|field| {
                let preset = preset.get(&field.name).cloned();
                let passes = |value: &Value| field.check(value, &limits.forms).is_ok();
                preset
                    .filter(passes)
                    .or_else(|| field.default_value().filter(passes))
            })
            .collect();
        Self {
            schema,
            values,
            limits,
        }
    }

    /// The fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    /// Returns the value of a field.
    pub fn value(&self, index: usize) -> Option<&Value> {
        self.values.get(index)?.as_ref()
    }

    /// Fills a field in with what a person wrote: an option may be given by its mark too.
    ///
    /// # Errors
    ///
    /// Fails with the issue; the field keeps its value.
    pub fn fill(&mut self, index: usize, written: &str) -> Result<(), Words> {
        let Some(field) = self.schema.fields.get(index) else {
            return Ok(());
        };
        let value = read(field, written)?;
        text::check(field, &value, &self.limits)?;
        self.values[index] = Some(value);
        Ok(())
    }

    /// Leaves a field as it is.
    ///
    /// # Errors
    ///
    /// If it holds nothing and must.
    pub fn keep(&self, index: usize) -> Result<(), Words> {
        match (self.schema.fields.get(index), self.value(index)) {
            (Some(field), None) if field.required => Err("must be given".into()),
            _ => Ok(()),
        }
    }

    /// Empties a field.
    ///
    /// # Errors
    ///
    /// If it must hold something.
    pub fn clear(&mut self, index: usize) -> Result<(), Words> {
        match self.schema.fields.get(index) {
            Some(field) if field.required => Err("must be given".into()),
            Some(_) => {
                self.values[index] = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The first field that must hold something and holds nothing.
    pub fn missing(&self) -> Option<usize> {
        (0..self.schema.fields.len()).find(|&index| self.keep(index).is_err())
    }

    /// Returns the content to send.
    pub fn content(&self) -> Content {
        self.schema
            .fields
            .iter()
            .zip(&self.values)
            .filter_map(|(field, value)| Some((field.name.clone(), value.clone()?)))
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
