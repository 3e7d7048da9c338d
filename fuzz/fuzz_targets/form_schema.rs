//! Any form: if it can be read, it is written so that it reads the same again, and so is its
//! lowered form in each dialect.

#![no_main]

use askback_core::{
    forms::{Content, Dialect, FormSchema, lower},
    limits::FormLimits,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = FormLimits::default();
    let Ok(form) = FormSchema::parse(data, &limits) else {
        return;
    };
    // The written form may be longer than the original, which is not an error.
    let roomy = FormLimits::default();
    let again = |form: &FormSchema| {
        let text = form.to_json();
        if text.len() <= roomy.bytes {
            let read = FormSchema::parse(text.as_bytes(), &roomy);
            let read = read.unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(read.to_json(), text);
        }
    };
    again(&form);
    words(&form);

    let may_be_asked = form.lint(&limits).is_ok();
    let defaults = form.with_defaults(Content::new());
    if may_be_asked
        && form
            .fields
            .iter()
            .all(|f| !f.required || f.default_value().is_some())
    {
        form.check(&defaults, &limits)
            .expect("the defaults of a form that may be asked fit it");
    }
    for dialect in dialects() {
        let lowered = lower(&form, &dialect);
        again(&lowered.schema);
        if may_be_asked && lowered.schema.fields.len() <= limits.fields {
            lowered
                .schema
                .lint(&limits)
                .expect("a form that may be asked may be asked anywhere");
        }
        let asked = lowered.schema.with_defaults(Content::new());
        let _ = form.check(&lowered.lift(asked), &limits);
    }
});

fn words(form: &FormSchema) {
    for field in &form.fields {
        let _ = (field.label(), field.hint(), field.looks_secret());
        if let Some(default) = field.default_value() {
            let _ = field.show(&default);
        }
    }
}

fn dialects() -> impl Iterator<Item = Dialect> {
    (0..32).map(|bits| Dialect {
        enum_names: bits & 1 != 0,
        multi_choice: bits & 2 != 0,
        numbers: bits & 4 != 0,
        text_defaults: bits & 4 != 0,
        pattern: bits & 8 != 0,
        empty_end: bits & 16 != 0,
    })
}
