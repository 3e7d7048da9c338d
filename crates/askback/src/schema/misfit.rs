use std::fmt;

use askback_core::quote::{QuotedName, excerpt};
use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind},
    paths::{Location, LocationSegment},
};
use serde_json::Value;

/// Where a value does not fit its schema, and what is expected there: `items[2].amount: expected a number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    path: String,
    why: String,
}

const CHOICES: usize = 512;

const PATH: usize = 256;

const WHY: usize = 768;

impl Misfit {
    pub(super) fn of(error: &ValidationError<'_>) -> Self {
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                // The alternative with the deepest error is most likely the intended one.
                let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
                let firsts = context.iter().filter_map(|errors| errors.first());
                let deeper = firsts.filter(|inner| depth(inner) > depth(error));
                match deeper.max_by_key(|inner| depth(inner)) {
                    Some(inner) => Self::of(inner),
                    None => Self::at(error, "fits none of the alternatives".to_owned()),
                }
            }
            kind => Self::at(error, expected(kind, error)),
        }
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::whole(format!(
            "it cannot be read: {}",
            askback_core::json::explain(error)
        ))
    }

    pub(super) fn somewhere() -> Self {
        Self::whole("something in it is not what the schema says".to_owned())
    }

    pub(super) fn too_large() -> Self {
        Self::whole("it is too large to be checked by the schema".to_owned())
    }

    fn at(error: &ValidationError<'_>, why: String) -> Self {
        Self {
            path: path(error.instance_path()),
            why: in_one_line(&why),
        }
    }

    fn whole(why: String) -> Self {
        Self {
            path: String::new(),
            why,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.why)
    }
}

/// Escapes and shortens an expectation for a log, because its patterns, choices and names come from a peer. Quotes and
/// backslashes stay, because patterns often have them.
fn in_one_line(why: &str) -> String {
    let mut line = String::new();
    for char in why.chars() {
        match char {
            '"' | '\'' | '\\' => line.push(char),
            _ => line.extend(char.escape_debug()),
        }
        if line.len() > WHY {
            line.truncate(line.floor_char_boundary(WHY));
            line.push('…');
            break;
        }
    }
    line
}

fn expected(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    match kind {
        ValidationErrorKind::Type { kind } => format!("expected {}", types(kind)),
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("{} is missing", QuotedName(name))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let name = unexpected.first().map_or("", String::as_str);
            format!("{} is not known", QuotedName(name))
        }
        ValidationErrorKind::Enum { options } => choices(options),
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "fits more than one of the alternatives".to_owned()
        }
        ValidationErrorKind::FalseSchema => "must not be there".to_owned(),
        _ => error.masked_with("it").to_string(),
    }
}

fn types(kind: &TypeKind) -> String {
    let named = |kind: JsonType| match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    };
    match kind {
        TypeKind::Single(kind) => named(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            let mut names: Vec<_> = kinds.iter().map(named).collect();
            // Put `null` last.
            names.sort_by_key(|name| *name == "null");
            names.join(" or ")
        }
    }
}

fn choices(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut words = String::from("must be one of ");
    for (at, option) in options.iter().enumerate() {
        let option = option.to_string();
        if words.len() + option.len() > CHOICES {
            words.push('…');
            break;
        }
        if at > 0 {
            words.push_str(", ");
        }
        words.push_str(&option);
    }
    words
}

/// Formats a path as in most programming languages. Ambiguous names are quoted, and a long path keeps only its end.
fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Index(at) => path.push_str(&format!("[{at}]")),
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                if is_plain(&name) {
                    path.push_str(&name);
                } else {
                    path.push_str(&format!("\"{}\"", excerpt(&name)));
                }
            }
        }
    }
    if path.len() > PATH {
        let from = path.ceil_char_boundary(path.len() - PATH);
        path.replace_range(..from, "…");
    }
    path
}

fn is_plain(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-$".contains(char);
    !name.is_empty() && name.chars().all(plain)
}
