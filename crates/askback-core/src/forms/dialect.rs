//! Lowers forms for older revisions and for clients with fewer features.
//!
//! The same form must work everywhere. A feature that a revision lacks is written in a form that a
//! user can still answer, and the answer is converted back, so that the handler sees the form it
//! asked: see [`lower`].

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use super::{
    BooleanField, ChoiceField, ChoicesField, Content, Field, FieldKind, FormSchema, NumberField,
    Opt, TextField,
};

/// The form features of a revision, or of a client that supports fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Option titles are written as `enumNames` instead of `oneOf`.
    pub enum_names: bool,
    /// There are fields with several options.
    pub multi_choice: bool,
    /// There are number fields. Otherwise numbers are asked as text.
    pub numbers: bool,
    /// The client shows the defaults of text fields. Otherwise the description repeats them.
    pub text_defaults: bool,
    /// Text fields may have a `pattern`.
    pub pattern: bool,
    /// The form can be submitted while its last field, by name, is an empty text field. Otherwise a
    /// choice with one option is added behind it.
    pub empty_end: bool,
}

/// A lowered form, with what is needed to convert its answer back.
#[derive(Debug, Clone, PartialEq)]
pub struct LoweredForm {
    /// The form to send.
    pub schema: FormSchema,
    flattened: Vec<FlattenedChoice>,
    numbers: Vec<Field>,
    /// The name of the field that was added to submit the form.
    sender: Option<String>,
}

/// A choice of several options that is asked as one yes-or-no field per option.
#[derive(Debug, Clone, PartialEq)]
struct FlattenedChoice {
    name: String,
    required: bool,
    at_least_one: bool,
    /// The names of the yes-or-no fields, each with its option.
    parts: Vec<(String, String)>,
}

/// Writes a form in a dialect: a choice of several options as one yes-or-no field per option, a
/// number as text, and an unsupported pattern as a sentence in the description.
///
/// [`LoweredForm::lift`] converts the answer back. Then the original form checks it, including
/// bounds and pattern.
pub fn lower(form: &FormSchema, dialect: &Dialect) -> LoweredForm {
    let mut lowered = LoweredForm {
        schema: FormSchema {
            fields: Vec::with_capacity(form.fields.len()),
            annotations: form.annotations.clone(),
        },
        flattened: Vec::new(),
        numbers: Vec::new(),
        sender: None,
    };
    for field in &form.fields {
        match &field.kind {
            FieldKind::Choices(choices) if !dialect.multi_choice => {
                lowered.flatten(form, field, choices);
            }
            FieldKind::Number(number) if !dialect.numbers => {
                let text = number_as_text(field, number);
                lowered.schema.fields.push(lower_field(&text, dialect));
                lowered.numbers.push(field.clone());
            }
            _ => lowered.schema.fields.push(lower_field(field, dialect)),
        }
    }
    if !dialect.empty_end {
        lowered.end_in_choice();
    }
    lowered
}

impl LoweredForm {
    /// Converts the answer to the lowered form into an answer to the original form.
    ///
    /// Unknown values stay, so that the check of the original form rejects them.
    pub fn lift(&self, mut content: Content) -> Content {
        for flattened in &self.flattened {
            if let Some(chosen) = flattened.take_chosen(&mut content) {
                content.insert(flattened.name.clone(), chosen);
            }
        }
        for field in &self.numbers {
            let Some(Value::String(text)) = content.get(&field.name) else {
                continue;
            };
            if text.trim().is_empty() {
                content.remove(&field.name);
            } else if let Ok(number) = field.parse(text) {
                content.insert(field.name.clone(), number);
            }
        }
        if let Some(sender) = &self.sender {
            content.remove(sender);
        }
        content
    }

    /// If the last field may be empty, adds a choice with one option after it.
    fn end_in_choice(&mut self) {
        let last = self.schema.fields.iter().max_by_key(|field| &field.name);
        let is_text = |field: &&Field| matches!(field.kind, FieldKind::Text(_)) && !field.required;
        let Some(last) = last.filter(is_text) else {
            return;
        };
        let name = format!("{}~", last.name);
        self.schema.fields.push(Field {
            name: name.clone(),
            title: Some("All answers".into()),
            description: None,
            required: false,
            kind: FieldKind::Choice(ChoiceField {
                options: [Opt {
                    value: "send".into(),
                    title: Some("Send".into()),
                }]
                .into(),
                default: Some("send".into()),
                enum_names: true,
            }),
            not_secret: false,
        });
        self.sender = Some(name);
    }

    fn flatten(&mut self, form: &FormSchema, field: &Field, choices: &ChoicesField) {
        let mut parts = Vec::with_capacity(choices.options.len());
        for (index, option) in choices.options.iter().enumerate() {
            let name = self.free_name(form, &format!("{}.{}", field.name, option.value));
            let default = choices.default.as_ref();
            self.schema.fields.push(Field {
                name: name.clone(),
                // Clients may show fields separately, so each title repeats the question.
                title: Some(format!("{}: {}", field.label(), option.label())),
                description: (index == 0).then(|| {
                    let hint = field.hint();
                    with_sentence(field.description.as_deref(), &capitalized(&hint))
                }),
                required: false,
                kind: FieldKind::Boolean(BooleanField {
                    // Options are off unless the user selects them. Without a default, Codex
                    // selects "yes".
                    default: Some(default.is_some_and(|chosen| chosen.contains(&option.value))),
                }),
                not_secret: field.not_secret,
            });
            parts.push((name, option.value.clone()));
        }
        self.flattened.push(FlattenedChoice {
            name: field.name.clone(),
            required: field.required,
            at_least_one: choices.min_items.is_some_and(|min| min > 0),
            parts,
        });
    }

    fn free_name(&self, form: &FormSchema, wanted: &str) -> String {
        let taken = |name: &str| form.field(name).or(self.schema.field(name)).is_some();
        let mut name = wanted.to_string();
        let mut number = 2;
        while taken(&name) {
            name = format!("{wanted}-{number}");
            number += 1;
        }
        name
    }
}

impl FlattenedChoice {
    /// Removes the yes-or-no fields and returns the selected options, or `None` if the choice was
    /// not made.
    fn take_chosen(&self, content: &mut Content) -> Option<Value> {
        let mut given = false;
        let mut chosen = Vec::new();
        for (name, option) in &self.parts {
            match content.get(name) {
                Some(Value::Bool(ticked)) => {
                    given = true;
                    if *ticked {
                        chosen.push(Value::from(option.as_str()));
                    }
                }
                Some(Value::Null) => {}
                // Missing, or invalid; the check of the form decides.
                _ => continue,
            }
            content.remove(name);
        }
        // Selecting nothing skips an optional choice.
        let skipped = !self.required && (self.at_least_one || !given);
        if chosen.is_empty() && (skipped || content.contains_key(&self.name)) {
            return None;
        }
        Some(Value::Array(chosen))
    }
}

fn lower_field(field: &Field, dialect: &Dialect) -> Field {
    let mut lowered = field.clone();
    if let FieldKind::Choice(choice) = &mut lowered.kind {
        let titled = choice.options.iter().any(|option| option.title.is_some());
        choice.enum_names |= dialect.enum_names && titled;
    }
    if let FieldKind::Text(text) = &mut lowered.kind
        && !dialect.pattern
        && let Some(pattern) = text.pattern.take()
    {
        describe(&mut lowered, &format!("Must match the pattern {pattern}"));
    }
    if let FieldKind::Text(text) = &lowered.kind
        && !dialect.text_defaults
        && let Some(default) = text.default.clone()
    {
        describe(&mut lowered, &format!("Default: {default}"));
    }
    lowered
}

fn number_as_text(field: &Field, number: &NumberField) -> Field {
    let mut lowered = field.clone();
    let default = number.default.as_ref();
    lowered.kind = FieldKind::Text(TextField {
        default: default.map(|number| field.show(&Value::Number(number.clone()))),
        ..TextField::default()
    });
    describe(&mut lowered, &capitalized(&field.hint()));
    lowered
}

fn describe(field: &mut Field, sentence: &str) {
    field.description = Some(with_sentence(field.description.as_deref(), sentence));
}

fn with_sentence(description: Option<&str>, sentence: &str) -> String {
    match description.map(str::trim_end).filter(|d| !d.is_empty()) {
        None => format!("{sentence}."),
        Some(description) if description.ends_with(['.', '!', '?', ':', '。']) => {
            format!("{description} {sentence}.")
        }
        Some(description) => format!("{description}. {sentence}."),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase());
    first.into_iter().flatten().chain(chars).collect()
}
