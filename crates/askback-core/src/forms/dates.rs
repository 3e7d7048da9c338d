//! Form fields for dates and times.

use alloc::{
    format,
    string::{String, ToString},
};

use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use super::{FieldKind, FormField, Sort, TextField, TextFormat, typed};

#[diagnostic::do_not_recommend]
impl FormField for Date {
    const SORT: Sort = Sort::Formatted;

    fn kind() -> FieldKind {
        formatted(TextFormat::Date)
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        read_formatted(value, TextFormat::Date)
    }

    fn write(&self) -> Option<Value> {
        Some(self.to_string().into())
    }
}

#[diagnostic::do_not_recommend]
impl FormField for Timestamp {
    const SORT: Sort = Sort::Formatted;

    fn kind() -> FieldKind {
        formatted(TextFormat::DateTime)
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        read_formatted(value, TextFormat::DateTime)
    }

    fn write(&self) -> Option<Value> {
        Some(self.to_string().into())
    }
}

fn formatted(format: TextFormat) -> FieldKind {
    FieldKind::Text(TextField {
        format: Some(format),
        ..TextField::default()
    })
}

fn read_formatted<T: core::str::FromStr>(
    value: Option<&Value>,
    format: TextFormat,
) -> Result<T, String> {
    let text = typed::text(value)?;
    let read = text.parse().ok().filter(|_| format.matches(text));
    read.ok_or_else(|| format!("must be {}", format.words()))
}
