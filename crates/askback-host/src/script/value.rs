use std::{collections::BTreeMap, time::SystemTime};

use askback::{
    forms::{Content, Field, FieldKind, FormSchema},
    limits::Limits,
};
use serde::Deserialize;
use serde_json::Value;

use super::moment::Moment;

/// Values for the fields of a form, by name.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<String, FieldValue>);

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum FieldValue {
    /// A given value. Text is parsed like typed text.
    Given(Value),
    /// A date or time relative to the run.
    Date(Moment),
}

impl Values {
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        let mut texts = Vec::new();
        for value in self.0.values_mut() {
            match value {
                FieldValue::Given(value) => texts_in(value, &mut texts),
                FieldValue::Date(_) => {}
            }
        }
        texts
    }

    /// Returns the content of a form: these values, and the valid defaults of the other fields.
    ///
    /// # Errors
    ///
    /// Says what is not valid. May contain the server's field names.
    pub(super) fn content(
        &self,
        schema: &FormSchema,
        now: SystemTime,
        limits: &Limits,
    ) -> Result<Content, String> {
        let mut content = Content::new();
        for (name, value) in &self.0 {
            let value = match schema.field(name) {
                Some(field) => value.of(field, now)?,
                // The check reports that the field does not exist.
                None => Value::Null,
            };
            content.insert(name.clone(), value);
        }
        let mut content = schema.with_defaults(content);
        // An invalid default is ignored.
        content.retain(|name, value| {
            let fits = |field: &Field| field.check(value, &limits.forms).is_ok();
            self.0.contains_key(name) || schema.field(name).is_none_or(fits)
        });
        match schema.check(&content, &limits.forms) {
            Ok(()) => Ok(content),
            Err(issues) => Err(issues.to_string()),
        }
    }
}

impl FieldValue {
    /// Converts the value for this field. A value that cannot be converted is returned unchanged.
    fn of(&self, field: &Field, now: SystemTime) -> Result<Value, String> {
        Ok(match self {
            Self::Given(value) => written(field, value),
            Self::Date(moment) => {
                let format = match &field.kind {
                    FieldKind::Text(text) => text.format,
                    _ => None,
                };
                let text = moment.text(format, now).map(Value::from);
                text.ok_or_else(|| format!("`{}`: is beyond the last possible date", field.name))?
            }
        })
    }
}

pub(super) fn texts_in<'a>(value: &'a mut Value, texts: &mut Vec<&'a mut String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter_mut().for_each(|value| texts_in(value, texts)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| texts_in(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses text like typed text: `yes` as true, an option's title as the option.
fn written(field: &Field, value: &Value) -> Value {
    match (&field.kind, value) {
        (FieldKind::Text(_) | FieldKind::Json(_), _) => value.clone(),
        (_, Value::String(text)) => field.parse(text).unwrap_or_else(|_| value.clone()),
        (FieldKind::Choices(_), Value::Array(values)) => {
            let options = values.iter().flat_map(|value| match written(field, value) {
                Value::Array(options) => options,
                other => vec![other],
            });
            options.collect()
        }
        _ => value.clone(),
    }
}

impl TryFrom<Value> for FieldValue {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        // A date is written as an object with a single member.
        let made = value.as_object().filter(|members| members.len() == 1);
        let made = made.and_then(|members| members.iter().next());
        match made.map(|(member, value)| (member.as_str(), value)) {
            Some(("date", Value::String(date))) => date.parse().map(Self::Date),
            _ => Ok(Self::Given(value)),
        }
    }
}
