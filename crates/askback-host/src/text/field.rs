//! Our words for a field of a server's form.
//!
//! The core's sentences about a field hold its pattern and its options, which are the server's
//! words. They are taken out here before the core is asked, so that what is left are words of the
//! core and numbers.

use askback::{
    forms::{Field, FieldKind, TextFormat},
    limits::Limits,
};
use serde_json::Value;

use super::{Clock, Words};

/// Returns the hint of the field, without the pattern.
pub fn hint(field: &Field) -> Words {
    match field.kind {
        FieldKind::Text(_)
        | FieldKind::Number(_)
        | FieldKind::Boolean(_)
        | FieldKind::Choice(_)
        | FieldKind::Choices(_)
        | FieldKind::Json(_) => of_core(&bare(field).hint()),
        // What the core says of kinds that are not known here may hold anything.
        _ => "a value".into(),
    }
}

/// Returns the hint of a field that has a format or a range, which its kind alone does not tell.
pub fn bounds(field: &Field) -> Option<Words> {
    let is_bounded = match &field.kind {
        FieldKind::Text(text) => {
            text.format.is_some() || text.min_length.is_some() || text.max_length.is_some()
        }
        FieldKind::Number(number) => number.minimum.is_some() || number.maximum.is_some(),
        FieldKind::Choices(choices) => choices.min_items.is_some() || choices.max_items.is_some(),
        _ => false,
    };
    is_bounded.then(|| hint(field))
}

/// Reads what a person wrote as a value of the field's type; dates and times as they are written by the clock.
///
/// # Errors
///
/// Fails with the wanted kind of value. Options are not named.
pub fn read(field: &Field, written: &str, clock: Clock) -> Result<Value, Words> {
    if let FieldKind::Text(text) = &field.kind
        && let Some(read) = text.format.and_then(|format| clock.read(format, written))
    {
        return read.map(Value::String);
    }
    field.parse(written).map_err(|issue| match &field.kind {
        FieldKind::Choice(_) => "must be one of the options".into(),
        FieldKind::Choices(_) => "must be some of the options, with commas between".into(),
        FieldKind::Text(_) | FieldKind::Number(_) | FieldKind::Boolean(_) | FieldKind::Json(_) => {
            Words::of_core(&issue.message)
        }
        _ => "does not fit".into(),
    })
}

/// Checks a value, and says what is wrong.
///
/// # Errors
///
/// Fails with the issue. Options and patterns are not named: the person sees them in place, behind
/// the gutter.
pub fn check(field: &Field, value: &Value, limits: &Limits) -> Result<(), Words> {
    let Err(issue) = field.check(value, &limits.forms) else {
        return Ok(());
    };
    Err(match &field.kind {
        FieldKind::Choice(_) => "must be one of the options".into(),
        FieldKind::Choices(choices) => {
            let count = value.as_array().map_or(0, Vec::len) as u64;
            match (choices.min_items, choices.max_items) {
                (Some(min), _) if count < min => crate::words!("choose at least {}", min),
                (_, Some(max)) if count > max => crate::words!("choose at most {}", max),
                _ => "must be some of the options, with commas between".into(),
            }
        }
        FieldKind::Text(text) if text.pattern.is_some() => {
            match bare(field).check(value, &limits.forms) {
                Err(issue) => of_core(&issue.message),
                Ok(()) => "must match the pattern".into(),
            }
        }
        FieldKind::Text(_) | FieldKind::Number(_) | FieldKind::Boolean(_) | FieldKind::Json(_) => {
            of_core(&issue.message)
        }
        _ => "does not fit".into(),
    })
}

/// A value in words of ours, where it can be said without any of the server's: yes and no,
/// numbers and dates.
pub fn plain(field: &Field, value: &Value) -> Option<Words> {
    let is_plain = match (&field.kind, value) {
        (_, Value::Bool(_) | Value::Number(_)) => true,
        (FieldKind::Text(text), Value::String(value)) => {
            matches!(text.format, Some(TextFormat::Date | TextFormat::DateTime))
                && value.len() <= DATE
                && value
                    .chars()
                    .all(|c| c.is_ascii_digit() || "-:.+TZ".contains(c))
        }
        _ => false,
    };
    is_plain.then(|| Words::of_core(&field.show(value)))
}

/// The longest date that is shown within a line of ours, in characters.
const DATE: usize = 32;

/// Words of the core, for a person: they need not write dates as programs do.
fn of_core(words: &str) -> Words {
    const WRITTEN: &str = "a date and time such as 2026-06-15 14:30";
    Words::of_core(&words.replace(TextFormat::DateTime.words(), WRITTEN))
}

/// The field without its pattern.
fn bare(field: &Field) -> Field {
    let mut bare = field.clone();
    if let FieldKind::Text(text) = &mut bare.kind {
        text.pattern = None;
    }
    bare
}
