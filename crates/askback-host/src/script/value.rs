use std::{collections::BTreeMap, str::FromStr, time::SystemTime};

use askback::{
    forms::{Content, Field, FieldKind, FormSchema, TextFormat},
    limits::Limits,
};
use jiff::{Span, SpanFieldwise, Timestamp, tz::Offset};
use serde::Deserialize;
use serde_json::Value;

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
    /// The error says what is not valid. May contain the server's field names.
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

/// A date or time relative to the run: `today+14d`, `now-2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    from: From,
    by: SpanFieldwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Today,
    Now,
}

const UNREADABLE: &str =
    "a date counts from `today` or `now`, such as `today+14d`, `today-1mo` or `now+2h30m`";

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, rest) = match (text.strip_prefix("today"), text.strip_prefix("now")) {
            (Some(rest), _) => (From::Today, rest.trim()),
            (_, Some(rest)) => (From::Now, rest.trim()),
            (None, None) => return Err(UNREADABLE),
        };
        let span = |text: &str| {
            let is_plain = text.trim().starts_with(|c: char| c.is_ascii_digit());
            let span = is_plain.then(|| text.trim().parse::<Span>().ok());
            span.flatten().ok_or(UNREADABLE)
        };
        let by = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
            (Some(later), _) => span(later)?,
            (_, Some(earlier)) => span(earlier)?.negate(),
            (None, None) if rest.is_empty() => Span::new(),
            (None, None) => return Err(UNREADABLE),
        };
        Ok(Self {
            from,
            by: by.fieldwise(),
        })
    }
}

impl Moment {
    /// Formats the moment for a field of this format, in UTC. Returns `None` if it is outside the
    /// calendar.
    fn text(self, format: Option<TextFormat>, now: SystemTime) -> Option<String> {
        let now = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
        let now = Offset::UTC.to_datetime(now);
        let from = match self.from {
            From::Today => now.date().to_datetime(jiff::civil::Time::midnight()),
            From::Now => now,
        };
        let moment = from.checked_add(self.by.0).ok()?;
        let has_time = match format {
            Some(TextFormat::Date) => false,
            Some(TextFormat::DateTime) => true,
            _ => self.from == From::Now,
        };
        Some(match has_time {
            true => format!("{}Z", moment.strftime("%Y-%m-%dT%H:%M:%S")),
            false => moment.date().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of a format of times begins with digits.
    #[test]
    fn a_moment_is_written_in_each_format_of_times() {
        let today: Moment = "today".parse().expect("a moment");
        for format in TextFormat::ALL {
            let (_, example) = format.words().rsplit_once(' ').expect("an example");
            let text = today
                .text(Some(*format), SystemTime::UNIX_EPOCH)
                .expect("a date");
            let is_time = example.starts_with(|c: char| c.is_ascii_digit());
            assert_eq!(format.matches(&text), is_time, "{}: {text}", format.name());
        }
    }
}
