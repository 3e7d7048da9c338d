//! The texts that user interfaces show for a field.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Number, Value};

use super::{
    ChoicesField, Field, FieldKind, FormSchema, Issue, Issues, NumberField, Opt, TextField,
    TextFormat, number,
};

pub(super) const YES: &str = "yes";
pub(super) const NO: &str = "no";

impl FormSchema {
    /// Describes the issues to the user, with the labels of the fields.
    pub fn say(&self, issues: &Issues) -> String {
        let say = |issue: &Issue| match self.field(&issue.path) {
            Some(field) => format!("{}: {}", field.label(), issue.message),
            None => issue.to_string(),
        };
        issues.0.iter().map(say).collect::<Vec<_>>().join("; ")
    }
}

impl Field {
    /// Returns the title, or the name if there is no title.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Returns a hint for the user: "a whole number from 1 to 30".
    pub fn hint(&self) -> String {
        match &self.kind {
            FieldKind::Text(text) => text_hint(text),
            FieldKind::Number(number) => number_hint(number),
            FieldKind::Boolean(_) => "yes or no".into(),
            FieldKind::Choice(_) => "choose one".into(),
            FieldKind::Choices(choices) => choices_hint(choices),
            FieldKind::Json(json) => json.hint(),
        }
    }

    /// Formats a value for the user: titles for options, yes and no for booleans.
    pub fn show(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (FieldKind::Boolean(_), Value::Bool(true)) => YES.into(),
            (FieldKind::Boolean(_), Value::Bool(false)) => NO.into(),
            (FieldKind::Choice(choice), Value::String(value)) => {
                option_label(&choice.options, value).into()
            }
            (FieldKind::Choices(choices), Value::Array(values)) => {
                let labels: Vec<_> = values
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|value| option_label(&choices.options, value))
                    .collect();
                labels.join(", ")
            }
            (FieldKind::Number(_), Value::Number(number)) => {
                number::whole(number).as_ref().unwrap_or(number).to_string()
            }
            // JSON, in the syntax that is read back.
            (FieldKind::Json(_), value) => value.to_string(),
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        }
    }
}

/// For example "1 character" and "2 characters".
pub(super) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn text_hint(text: &TextField) -> String {
    let what = text.format.map_or("a text", TextFormat::words);
    let length = match (text.min_length.filter(|&min| min > 0), text.max_length) {
        (None, None) => None,
        (Some(min), None) => Some(format!("at least {}", counted(min, "character"))),
        (None, Some(max)) => Some(format!("at most {}", counted(max, "character"))),
        (Some(min), Some(max)) if min == max => {
            Some(format!("exactly {}", counted(max, "character")))
        }
        (Some(min), Some(max)) => Some(format!("{min} to {}", counted(max, "character"))),
    };
    let pattern = text.pattern.as_ref().map(|p| format!("matching {p}"));
    let parts = [Some(what.to_string()), length, pattern];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn number_hint(field: &NumberField) -> String {
    let what = if field.integer {
        "a whole number"
    } else {
        "a number"
    };
    let minimum = field.minimum.as_ref().filter(|n| tells_something(n));
    let maximum = field.maximum.as_ref().filter(|n| tells_something(n));
    match (minimum, maximum) {
        (None, None) => what.into(),
        (Some(minimum), None) => format!("{what} of at least {minimum}"),
        (None, Some(maximum)) => format!("{what} of at most {maximum}"),
        (Some(minimum), Some(maximum)) => format!("{what} from {minimum} to {maximum}"),
    }
}

/// Whether a bound is informative. The limit of a machine type is not.
fn tells_something(bound: &Number) -> bool {
    number::to_i128(bound).is_none_or(|bound| bound.unsigned_abs() < i32::MAX as u128)
}

fn choices_hint(choices: &ChoicesField) -> String {
    match (choices.min_items.filter(|&min| min > 0), choices.max_items) {
        (None, None) => "choose any number".into(),
        (Some(min), None) => format!("choose at least {min}"),
        (None, Some(max)) => format!("choose at most {max}"),
        (Some(min), Some(max)) if min == max => format!("choose exactly {max}"),
        (Some(min), Some(max)) => format!("choose {min} to {max}"),
    }
}

fn option_label<'a>(options: &'a [Opt], value: &'a str) -> &'a str {
    let chosen = options.iter().find(|option| option.value == value);
    chosen.map_or(value, Opt::label)
}
