//! Checks an answer: in the client before it is sent, and in the server when it arrives.

use alloc::{format, string::String, vec::Vec};
use core::cmp::Ordering;

use serde_json::Value;

use super::{
    ChoicesField, Content, Field, FieldKind, FormSchema, Issue, Issues, NumberField, Opt,
    TextField, number, pattern::Pattern, words,
};
use crate::limits::FormLimits;

const OPTIONS_NAMED: usize = 12;

impl FormSchema {
    /// Checks an answer. Null counts as missing.
    ///
    /// # Errors
    ///
    /// One issue per missing or invalid field, in the order of the form, then one per value that
    /// the form did not ask for.
    pub fn check(&self, content: &Content, limits: &FormLimits) -> Result<(), Issues> {
        let mut issues = Issues::default();
        for field in &self.fields {
            match content.get(&field.name) {
                None | Some(Value::Null) if field.required => {
                    issues.push(&field.name, MISSING);
                }
                None | Some(Value::Null) => {}
                Some(value) => issues.0.extend(field.check(value, limits).err()),
            }
        }
        let unknown = content.keys().filter(|name| self.field(name).is_none());
        // As many issues as a form could have fields.
        for name in unknown.take(limits.fields) {
            issues.push(name, UNKNOWN);
        }
        issues.into_result()
    }

    /// Fills in the defaults of missing fields. A null, such as for a field that the user emptied,
    /// counts as missing; without a default it is removed.
    pub fn with_defaults(&self, mut content: Content) -> Content {
        for field in &self.fields {
            if content.get(&field.name).is_none_or(Value::is_null) {
                match field.default_value() {
                    Some(value) => content.insert(field.name.clone(), value),
                    None => content.remove(&field.name),
                };
            }
        }
        content
    }
}

impl Field {
    /// Checks one value and stops at the first problem.
    ///
    /// # Errors
    ///
    /// The issue, under the name of the field.
    pub fn check(&self, value: &Value, limits: &FormLimits) -> Result<(), Issue> {
        match &self.kind {
            FieldKind::Text(text) => check_text(text, value, limits),
            FieldKind::Number(number) => check_number(number, value),
            FieldKind::Boolean(_) if value.is_boolean() => Ok(()),
            FieldKind::Boolean(_) => Err(NOT_BOOLEAN.into()),
            FieldKind::Choice(choice) => match value {
                Value::String(value) if is_option(&choice.options, value) => Ok(()),
                _ => Err(one_of(&choice.options)),
            },
            FieldKind::Choices(choices) => check_choices(choices, value),
            FieldKind::Json(json) => json.check(value),
        }
        .map_err(|message| Issue::new(self.name.clone(), message))
    }

    /// Returns the default as JSON.
    pub fn default_value(&self) -> Option<Value> {
        match &self.kind {
            FieldKind::Text(text) => text.default.clone().map(Value::String),
            FieldKind::Number(number) => number.default.clone().map(Value::Number),
            FieldKind::Boolean(boolean) => boolean.default.map(Value::Bool),
            FieldKind::Choice(choice) => choice.default.clone().map(Value::String),
            FieldKind::Choices(choices) => choices.default.clone().map(Value::from),
            FieldKind::Json(json) => json.default_value(),
        }
    }
}

pub(super) const MISSING: &str = "must be given";
pub(super) const UNKNOWN: &str = "is not known";
pub(super) const NOT_BOOLEAN: &str = "must be yes or no";

fn check_text(field: &TextField, value: &Value, limits: &FormLimits) -> Result<(), String> {
    let Value::String(text) = value else {
        return Err("must be a text".into());
    };
    if text.len() > limits.answer_bytes {
        return Err(format!("is longer than {} bytes", limits.answer_bytes));
    }
    check_length(field, text)?;
    match field.format {
        Some(format) if !format.matches(text) => {
            return Err(format!("must be {}", format.words()));
        }
        _ => {}
    }
    match &field.pattern {
        Some(pattern) => check_pattern(pattern, text, limits),
        None => Ok(()),
    }
}

fn check_length(field: &TextField, text: &str) -> Result<(), String> {
    if (field.min_length, field.max_length) == (None, None) {
        return Ok(());
    }
    // `usize` fits into `u64` on every target.
    let length = text.chars().count() as u64;
    match (field.min_length, field.max_length) {
        (Some(min), _) if length == 0 && min > 0 => Err("must not be empty".into()),
        (Some(min), _) if length < min => {
            let missing = words::counted(min - length, "more character");
            Err(format!("needs {missing}"))
        }
        (_, Some(max)) if length > max => {
            let over = words::counted(length - max, "character");
            Err(format!("is {over} too long"))
        }
        _ => Ok(()),
    }
}

fn check_pattern(pattern: &str, text: &str, limits: &FormLimits) -> Result<(), String> {
    let Ok(compiled) = Pattern::new(pattern, limits) else {
        // This engine cannot check the pattern; the server will.
        return Ok(());
    };
    if text.len() > limits.pattern_text_bytes {
        return Err(format!(
            "is longer than {} bytes",
            limits.pattern_text_bytes
        ));
    }
    if compiled.matches(text) {
        Ok(())
    } else {
        Err(format!("must match the pattern {pattern}"))
    }
}

fn check_number(field: &NumberField, value: &Value) -> Result<(), String> {
    let number = match value {
        Value::Number(number) => number,
        _ if field.integer => return Err("must be a whole number".into()),
        _ => return Err("must be a number".into()),
    };
    if field.integer && !number::is_integral(number) {
        return Err("must be a whole number".into());
    }
    match (&field.minimum, &field.maximum) {
        (Some(minimum), _) if number::compare(number, minimum) == Ordering::Less => {
            Err(format!("must be at least {minimum}"))
        }
        (_, Some(maximum)) if number::compare(number, maximum) == Ordering::Greater => {
            Err(format!("must be at most {maximum}"))
        }
        _ => Ok(()),
    }
}

fn check_choices(field: &ChoicesField, value: &Value) -> Result<(), String> {
    let Value::Array(values) = value else {
        return Err("must be a list of options".into());
    };
    let count = values.len() as u64;
    let most = field.options.len() as u64;
    let most = field.max_items.unwrap_or(most).min(most);
    // Checked first, to bound the search below.
    if count > most {
        return Err(choose_at_most(most));
    }
    let mut seen: Vec<&str> = Vec::with_capacity(values.len());
    for value in values {
        let Some(value) = value.as_str().filter(|v| is_option(&field.options, v)) else {
            return Err(choose_from(&field.options));
        };
        if seen.contains(&value) {
            return Err(format!("has `{value}` twice"));
        }
        seen.push(value);
    }
    match field.min_items {
        Some(min) if count < min => Err(format!("choose at least {min}")),
        _ => Ok(()),
    }
}

fn is_option(options: &[Opt], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

/// For example "must be one of window, aisle".
pub(super) fn one_of(options: &[Opt]) -> String {
    format!("must be one of {}", values(options))
}

/// For example "choose at most 2".
pub(super) fn choose_at_most(most: u64) -> String {
    format!("choose at most {most}")
}

/// For example "choose from window, aisle".
pub(super) fn choose_from(options: &[Opt]) -> String {
    format!("choose from {}", values(options))
}

fn values(options: &[Opt]) -> String {
    let named = options.iter().take(OPTIONS_NAMED);
    let mut names: Vec<_> = named.map(|option| option.value.as_str()).collect();
    if options.len() > OPTIONS_NAMED {
        names.push("…");
    }
    names.join(", ")
}
