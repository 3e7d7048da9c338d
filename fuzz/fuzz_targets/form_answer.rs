//! Any answer to any form. Either the check rejects it, or it is valid; and text that a user types
//! is read into valid answers.
//!
//! The first line is the form, the second the answer.

#![no_main]

use askback_core::{
    forms::{Content, Dialect, FormSchema, lower},
    limits::FormLimits,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = FormLimits::default();
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (Some(form), Some(answer)) = (lines.next(), lines.next()) else {
        return;
    };
    let Ok(form) = FormSchema::parse(form, &limits) else {
        return;
    };
    let Ok(answer) = serde_json::from_slice::<Content>(answer) else {
        return;
    };
    checked(&form, &answer, &limits);
    typed(&form, &answer, &limits);
    lifted(&form, answer, &limits);
});

/// A valid answer is still valid with its defaults, and every issue has a message.
fn checked(form: &FormSchema, answer: &Content, limits: &FormLimits) {
    match form.check(answer, limits) {
        Ok(()) => {
            for (field, value) in answer.iter().filter(|(_, value)| !value.is_null()) {
                let field = form.field(field).expect("only what was asked passes");
                field
                    .check(value, limits)
                    .expect("an answer is as good as its values");
                let _ = field.show(value);
            }
            if form.lint(limits).is_ok() {
                let full = form.with_defaults(answer.clone());
                form.check(&full, limits).expect("defaults do no harm");
            }
        }
        Err(issues) => {
            assert!(!issues.0.is_empty());
            assert!(issues.0.iter().all(|issue| !issue.message.is_empty()));
        }
    }
}

/// If typed text is read as an answer, the answer is valid.
fn typed(form: &FormSchema, answer: &Content, limits: &FormLimits) {
    let texts: Vec<_> = answer
        .iter()
        .map(|(name, value)| {
            (
                name,
                value.as_str().map_or_else(|| value.to_string(), Into::into),
            )
        })
        .collect();
    let texts = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    if let Ok(content) = form.parse_strings(texts, limits) {
        form.check(&content, limits).expect("what was read fits");
    }
}

/// The answer to a lowered form is converted back. If the form needed no lowering, the answer does
/// not change.
fn lifted(form: &FormSchema, answer: Content, limits: &FormLimits) {
    let all = Dialect {
        enum_names: false,
        multi_choice: true,
        numbers: true,
        text_defaults: true,
        pattern: true,
        empty_end: true,
    };
    assert_eq!(lower(form, &all).lift(answer.clone()), answer);

    let plain = Dialect {
        enum_names: true,
        multi_choice: false,
        numbers: false,
        text_defaults: false,
        pattern: false,
        empty_end: false,
    };
    let lowered = lower(form, &plain);
    let fits = lowered.schema.check(&answer, limits).is_ok();
    let lifted = lowered.lift(answer);
    if fits {
        // Whatever a lowered form accepts, the converted answer has only the original fields.
        assert!(lifted.keys().all(|name| form.field(name).is_some()));
    }
}
