//! Any JSON Schema of a tool's arguments, as the command reads it to ask the user for them: each
//! field has a description, typed text is read, and the arguments are checked before they are sent.
//!
//! The first line is the schema, the others are what is typed for one field after the other.

#![no_main]

use askback_core::{
    forms::{Content, Field, FormSchema},
    limits::FormLimits,
    protocol::{RawObject, Schema},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = FormLimits::default();
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let mut lines = text.split('\n');
    // The command gets the schema in a list of tools, so it is at least valid JSON.
    let Some(Ok(schema)) = lines.next().map(|line| Schema::from_text(line.to_owned())) else {
        return;
    };
    let Ok(form) = FormSchema::parse(schema.as_str().as_bytes(), &limits) else {
        return;
    };
    assert!(form.fields.len() <= limits.fields);
    let mut content = Content::new();
    let mut fits = true;
    for (field, typed) in form
        .fields
        .iter()
        .zip(lines.by_ref().chain(core::iter::repeat("")))
    {
        shown(field, schema.as_str().len());
        match answered(field, typed, &limits) {
            Some(value) => {
                content.insert(field.name.clone(), value);
            }
            None => fits &= !field.required,
        }
    }
    sent(&form, content, fits, &limits);
});

/// The description of a field is at most a few times as long as its schema.
fn shown(field: &Field, longest: usize) {
    let default = field.default_value().map(|value| field.show(&value));
    let words = [
        field.label().to_owned(),
        field.hint(),
        default.unwrap_or_default(),
    ];
    for word in words {
        assert!(word.len() <= 16 * longest + 1024, "{word}");
    }
}

/// Reads typed text as an answer. If it is invalid, shows the issue, and the field is asked again.
fn answered(field: &Field, typed: &str, limits: &FormLimits) -> Option<serde_json::Value> {
    if typed.is_empty() {
        return None;
    }
    let checked = field.parse(typed).and_then(|value| {
        field.check(&value, limits)?;
        Ok(value)
    });
    match checked {
        Ok(value) => Some(value),
        Err(issue) => {
            assert!(!issue.message.is_empty());
            None
        }
    }
}

/// If all fields are valid, the arguments are sent as they were answered.
fn sent(form: &FormSchema, content: Content, fits: bool, limits: &FormLimits) {
    let checked = form.check(&content, limits);
    assert_eq!(checked.is_ok(), fits, "{checked:?}");
    let arguments = RawObject::new(&content).expect("an object is an object");
    let read: Content = arguments.decode().expect("what was written is read");
    assert_eq!(read, content);
    for (name, value) in &content {
        let field = form.field(name).expect("only what was asked is answered");
        let _ = field.show(value);
    }
}
