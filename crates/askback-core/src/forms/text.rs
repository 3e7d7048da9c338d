//! Reads values from text that a person typed, or from the string arguments of a prompt.
//!
//! The type of the field decides, not the look of the text: `42` stays a string in a text field.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Number, Value};

use super::{
    Content, Field, FieldKind, FormSchema, Issue, Issues, NumberField, Opt,
    check::{MISSING, NOT_BOOLEAN, UNKNOWN, choose_at_most, choose_from, one_of},
    number, words,
};
use crate::limits::FormLimits;

impl FormSchema {
    /// Reads and checks an answer given as strings, such as the arguments of a prompt. An empty
    /// string counts as missing, except in a text field.
    ///
    /// # Errors
    ///
    /// One issue per unreadable or invalid string, per missing required field, and per unknown
    /// name.
    pub fn parse_strings<K, V>(
        &self,
        strings: impl IntoIterator<Item = (K, V)>,
        limits: &FormLimits,
    ) -> Result<Content, Issues>
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let mut issues = Issues::default();
        let mut content = Content::new();
        for (name, text) in strings {
            let (name, text) = (name.as_ref(), text.as_ref());
            let Some(field) = self.field(name) else {
                if issues.0.len() < limits.fields {
                    issues.push(name, UNKNOWN);
                }
                continue;
            };
            if text.is_empty() && !matches!(field.kind, FieldKind::Text(_)) {
                continue;
            }
            let read = field.parse(text).and_then(|value| {
                field.check(&value, limits)?;
                Ok(value)
            });
            match read {
                Ok(value) => {
                    content.insert(name.to_string(), value);
                }
                Err(issue) => issues.0.push(issue),
            }
        }
        for field in self.fields.iter().filter(|field| field.required) {
            let told = issues.0.iter().any(|issue| issue.path == field.name);
            if !told && !content.contains_key(&field.name) {
                issues.push(&field.name, MISSING);
            }
        }
        issues.into_result().map(|()| content)
    }
}

impl Field {
    /// Reads text as a value of the field's type: booleans from yes, no, true and false, an option
    /// from its value or title, several options separated by commas. [`Field::check`] checks the
    /// bounds.
    ///
    /// # Errors
    ///
    /// An issue that says what is expected, if the text is not a value of the type.
    pub fn parse(&self, text: &str) -> Result<Value, Issue> {
        let read = match &self.kind {
            // Spaces around a date or an address are accidental; in free text they may be intended.
            FieldKind::Text(field) if field.format.is_some() => Ok(text.trim().into()),
            FieldKind::Text(_) => Ok(text.into()),
            FieldKind::Number(field) => parse_number(field, text.trim()),
            FieldKind::Boolean(_) => parse_boolean(text.trim()),
            FieldKind::Choice(field) => find_option(&field.options, text.trim())
                .map(|option| option.value.as_str().into())
                .ok_or_else(|| one_of(&field.options)),
            FieldKind::Choices(field) => parse_choices(&field.options, text),
            FieldKind::Json(field) => field.parse(text),
        };
        read.map_err(|message| Issue::new(self.name.clone(), message))
    }
}

fn parse_boolean(text: &str) -> Result<Value, String> {
    const TRUE: [&str; 3] = [words::YES, "y", "true"];
    const FALSE: [&str; 3] = [words::NO, "n", "false"];
    let is = |word: &&str| text.eq_ignore_ascii_case(word);
    if TRUE.iter().any(is) {
        Ok(true.into())
    } else if FALSE.iter().any(is) {
        Ok(false.into())
    } else {
        Err(NOT_BOOLEAN.into())
    }
}

fn parse_number(field: &NumberField, text: &str) -> Result<Value, String> {
    let number = if let Ok(integer) = text.parse::<i64>() {
        Some(Number::from(integer))
    } else if let Ok(integer) = text.parse::<u64>() {
        Some(Number::from(integer))
    } else {
        text.parse::<f64>().ok().and_then(Number::from_f64)
    };
    match number {
        Some(number) if !field.integer => Ok(Value::Number(number)),
        // Otherwise a different number than the written one would be sent.
        Some(number) if number::is_integral(&number) => number::read_exactly(&number)
            .map(Value::Number)
            .ok_or_else(|| "is too large to be sent exactly".into()),
        _ if field.integer => Err("must be a whole number".into()),
        _ => Err("must be a number".into()),
    }
}

/// Finds the option by its exact value, or else by value or title in any case, if that is
/// unambiguous.
fn find_option<'a>(options: &'a [Opt], text: &str) -> Option<&'a Opt> {
    if let Some(option) = options.iter().find(|option| option.value == text) {
        return Some(option);
    }
    let text = text.to_lowercase();
    let mut meant = options.iter().filter(|option| {
        option.value.to_lowercase() == text || option.label().to_lowercase() == text
    });
    meant.next().filter(|_| meant.next().is_none())
}

/// Reads options separated by commas. Options may contain commas, so the longest match is taken
/// each time.
fn parse_choices(options: &[Opt], text: &str) -> Result<Value, String> {
    let commas = |name: &str| name.matches(',').count();
    let longest = options
        .iter()
        .map(|option| commas(&option.value).max(commas(option.label())) + 1)
        .max()
        .unwrap_or(1);
    let pieces: Vec<&str> = text.split(',').collect();
    let mut chosen = Vec::new();
    let mut rest = pieces.as_slice();
    while !rest.is_empty() {
        if rest[0].trim().is_empty() {
            rest = &rest[1..];
            continue;
        }
        let runs = (1..=longest.min(rest.len())).rev();
        let found = runs
            .map(|run| (run, rest[..run].join(",")))
            .find_map(|(run, name)| Some((run, find_option(options, name.trim())?)));
        let Some((run, option)) = found else {
            return Err(choose_from(options));
        };
        // More pieces than options cannot be valid, and would make this loop unbounded.
        if chosen.len() == options.len() {
            return Err(choose_at_most(options.len() as u64));
        }
        chosen.push(Value::from(option.value.as_str()));
        rest = &rest[run..];
    }
    Ok(Value::Array(chosen))
}
