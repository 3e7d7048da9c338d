//! Our own messages for a field of a server's form.
//!
//! The core's messages may contain the field's pattern and options, which are text from the server.
//! This module removes the pattern and the options first, so that the core's message is safe to
//! show as our own.

use askback::{
    forms::{Field, FieldKind, TextFormat},
    limits::Limits,
};
use serde_json::Value;

use super::{Clock, Words};

/// Describes the expected value, without the pattern.
pub fn hint(field: &Field) -> Words {
    match field.kind {
        FieldKind::Text(_)
        | FieldKind::Number(_)
        | FieldKind::Boolean(_)
        | FieldKind::Choice(_)
        | FieldKind::Choices(_)
        | FieldKind::Json(_) => of_core(&bare(field).hint()),
        // For an unknown kind, the core's hint may contain text from the server.
        _ => "a value".into(),
    }
}

/// Returns the hint if the field has a format or a range, which its kind does not tell.
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

/// Parses what the user wrote as a value of the field's type. The clock resolves relative dates and
/// times.
/// The error is the expected kind of value, without naming the options.
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

/// The error is what is wrong, without naming options or the pattern. The user sees those behind
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

/// Shows the date format that users type, not the one that programs send.
fn of_core(words: &str) -> Words {
    const WRITTEN: &str = "a date and time such as 2026-06-15 14:30";
    Words::of_core(&words.replace(TextFormat::DateTime.words(), WRITTEN))
}

fn bare(field: &Field) -> Field {
    let mut bare = field.clone();
    if let FieldKind::Text(text) = &mut bare.kind {
        text.pattern = None;
    }
    bare
}
