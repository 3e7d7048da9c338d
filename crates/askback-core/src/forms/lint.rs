//! Checks that a form makes sense, so that only answerable forms are asked.

use alloc::{format, string::String};
use core::cmp::Ordering;

use super::{
    ChoicesField, Field, FieldKind, FormSchema, Issues, NumberField, Opt, TextField, number,
    pattern::Pattern, write::ROOT_KEYWORDS,
};
use crate::limits::FormLimits;

impl FormSchema {
    /// Checks that the form can be asked and answered: names and options are unique and not empty,
    /// bounds are in order, defaults are valid, patterns can be checked, and nothing exceeds the
    /// limits.
    ///
    /// # Errors
    ///
    /// The issues, for the author of the form.
    pub fn lint(&self, limits: &FormLimits) -> Result<(), Issues> {
        self.lint_written(limits, || self.to_json().len())
    }

    /// Like [`FormSchema::lint`], for a form with JSON of `bytes` length.
    pub(super) fn lint_written(
        &self,
        limits: &FormLimits,
        bytes: impl FnOnce() -> usize,
    ) -> Result<(), Issues> {
        let mut issues = Issues::default();
        if self.fields.len() > limits.fields {
            issues.push("", format!("has more than {} fields", limits.fields));
            return Err(issues);
        }
        for (index, field) in self.fields.iter().enumerate() {
            if self.fields[..index].iter().any(|f| f.name == field.name) {
                issues.push(&field.name, "is asked twice");
            } else if let Err(message) = lint_field(field, limits) {
                issues.push(&field.name, message);
            }
        }
        for keyword in ROOT_KEYWORDS {
            if self.annotations.contains_key(keyword) {
                issues.push(
                    "",
                    format!("has an annotation `{keyword}`, which is its own"),
                );
            }
        }
        issues.into_result()?;
        if bytes() > limits.bytes {
            let message = format!("is longer than {} bytes", limits.bytes);
            return Err(super::Issue::new("", message).into());
        }
        Ok(())
    }
}

fn lint_field(field: &Field, limits: &FormLimits) -> Result<(), String> {
    if field.name.is_empty() {
        return Err("a field must have a name".into());
    }
    match &field.kind {
        FieldKind::Text(text) => lint_text(text, limits),
        FieldKind::Number(number) => lint_number(number),
        FieldKind::Boolean(_) => Ok(()),
        FieldKind::Choice(choice) => lint_options(&choice.options, limits),
        FieldKind::Choices(choices) => lint_choices(choices, limits),
        FieldKind::Json(json) => Err(json.reason.clone()),
    }?;
    match field.default_value() {
        Some(default) => field
            .check(&default, limits)
            .map_err(|issue| format!("has a default that does not fit: {}", issue.message)),
        None => Ok(()),
    }
}

fn lint_text(text: &TextField, limits: &FormLimits) -> Result<(), String> {
    if let (Some(min), Some(max)) = (text.min_length, text.max_length)
        && min > max
    {
        return Err(format!("can be no text of {min} to {max} characters"));
    }
    match &text.pattern {
        Some(pattern) => Pattern::new(pattern, limits)
            .map(drop)
            .map_err(|reason| format!("has a pattern that cannot be checked: {reason}")),
        None => Ok(()),
    }
}

fn lint_number(field: &NumberField) -> Result<(), String> {
    let bounds = [&field.minimum, &field.maximum];
    for bound in bounds.into_iter().flatten() {
        if field.integer && !number::is_integral(bound) {
            return Err(format!(
                "is a whole number and so is not bounded by {bound}"
            ));
        }
    }
    match (&field.minimum, &field.maximum) {
        (Some(min), Some(max)) if number::compare(min, max) == Ordering::Greater => {
            Err(format!("can be no number from {min} to {max}"))
        }
        _ => Ok(()),
    }
}

fn lint_choices(choices: &ChoicesField, limits: &FormLimits) -> Result<(), String> {
    lint_options(&choices.options, limits)?;
    let most = choices.options.len() as u64;
    let most = choices.max_items.unwrap_or(most).min(most);
    match choices.min_items {
        Some(min) if min > most => Err(format!("wants {min} chosen where {most} can be")),
        _ => Ok(()),
    }
}

fn lint_options(options: &[Opt], limits: &FormLimits) -> Result<(), String> {
    if options.is_empty() {
        return Err("has no options".into());
    }
    if options.len() > limits.options {
        return Err(format!("has more than {} options", limits.options));
    }
    let titled = options.iter().filter(|o| o.title.is_some()).count();
    if titled != 0 && titled != options.len() {
        return Err("has titles for some of its options only".into());
    }
    for (index, option) in options.iter().enumerate() {
        if option.value.is_empty() {
            return Err("has an option without a value".into());
        }
        if options[..index].iter().any(|o| o.value == option.value) {
            return Err(format!("has the option `{}` twice", option.value));
        }
    }
    Ok(())
}
