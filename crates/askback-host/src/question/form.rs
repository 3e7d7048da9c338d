//! The fields of a form in lines on a page.

use askback::{
    forms::{Field, FieldKind, FormSchema, Opt, TextField},
    limits::Limits,
};
use serde_json::Value;

use super::name;
use crate::{
    model::{Ask, Asker, Draft, Question, having, marks, options},
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{self, Words},
    words,
};

/// As much as is shown of what a server says about one field.
const FIELD_SHOWN: usize = 2048;

/// The most options of a field that are listed at once.
const LISTED: usize = 30;

/// The most members of an object that are named.
const NAMED: usize = 12;

/// How deep members are named.
const NAMED_DEPTH: usize = 2;

/// The most columns of the name of a member.
const NAME: usize = 40;

/// Puts a field on the page that is to be filled in.
pub(super) fn field(page: &mut Page, ask: &Ask, draft: &Draft, at: usize) {
    let Some(field) = draft.fields().get(at) else {
        return;
    };
    page.blank();
    let optional = if field.required { "" } else { ", optional" };
    let number = at.saturating_add(1);
    let place = words!("{} of {}{}", number, draft.fields().len(), optional);
    page.say(Style::Dim, place);
    let mut excerpt = Excerpt::new(page, FIELD_SHOWN);
    excerpt.quote_line("", field.label());
    if let Some(description) = &field.description {
        excerpt.quote(description);
    }
    excerpt.end(LEFT_OUT);
    let options = options(field);
    listed(page, options, 0..options.len());
    if let FieldKind::Text(TextField {
        pattern: Some(pattern),
        ..
    }) = &field.kind
    {
        page.quote_line("pattern ", pattern);
    }
    if let Some((default, issue)) = draft.dropped(at) {
        let words = words!(
            "The default of the server does not fit ({}) and is left out:",
            issue
        );
        page.item("! ", Style::Warning, words);
        page.quote_at("  ", field.show(default));
    }
    match draft.value(at) {
        Some(value) if is_secret(ask, field) => {
            page.quote_at("now ", text::hidden(&field.show(value)));
        }
        Some(value) if bracketed(field, value).is_none() => {
            page.quote_at("now ", field.show(value));
        }
        _ => {}
    }
}

/// Puts the options on the page that have this in them, if there are so many that not all were shown.
pub(crate) fn options_with(page: &mut Page, field: &Field, text: &str) {
    let options = options(field);
    if options.len() > LISTED {
        let found = having(options, text.trim());
        listed(page, options, found.into_iter());
    }
}

/// Puts these options on the page, the first of them where they are many.
fn listed(page: &mut Page, options: &[Opt], which: impl ExactSizeIterator<Item = usize>) {
    let marks = marks(options).unwrap_or_default();
    let more = which.len().saturating_sub(LISTED);
    for index in which.take(LISTED) {
        let mark = marks.get(index).cloned().unwrap_or_default();
        page.quote_line(words!("{} ", mark.right(3)), options[index].label());
    }
    if more > 0 {
        let words = words!("and {} more: type a part of one to see which have it", more);
        page.say(Style::Dim, words);
    }
}

/// A value in brackets, in a line of ours, where it can be said there without a word of the
/// server's: yes and no, numbers and dates, and options by their marks.
fn bracketed(field: &Field, value: &Value) -> Option<Words> {
    let options = options(field);
    let chosen: Vec<_> = match value {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if options.is_empty() || chosen.is_empty() {
        return text::plain(field, value).map(|value| words!("[{}]", value));
    }
    let marks = marks(options)?;
    let chosen = chosen.into_iter().map(|chosen| {
        let at = options.iter().position(|option| option.value == chosen)?;
        marks.get(at).cloned()
    });
    let chosen = chosen.collect::<Option<Vec<_>>>()?;
    Some(words!("[{}]", Words::join(chosen, ", ")))
}

/// The words on what can be typed in a field.
pub(super) fn field_hint(ask: &Ask, draft: &Draft, at: usize) -> Words {
    let Some(field) = draft.fields().get(at) else {
        return Words::default();
    };
    let is_secret = is_secret(ask, field);
    let hint = match is_secret {
        true => words!("{} · not shown as you type", text::hint(field)),
        false => text::hint(field),
    };
    match draft.value(at) {
        Some(_) if is_secret => words!("{} · Enter keeps it", hint),
        Some(value) => match bracketed(field, value) {
            Some(value) => words!("{} · Enter takes {}", hint, value),
            None => words!("{} · Enter keeps it", hint),
        },
        None if field.required => hint,
        None => words!("{} · Enter skips", hint),
    }
}

/// Puts every value that will be sent on the page.
pub(super) fn review(page: &mut Page, asker: &Asker, question: &Question, draft: &Draft) {
    page.blank();
    let title = match &question.ask {
        ask if ask.is_ours() => "Ready:".into(),
        _ => words!("Ready to send to {}:", name(asker)),
    };
    page.say(Style::Strong, title);
    for (index, field) in draft.fields().iter().enumerate() {
        let label = text::line(field.label());
        let number = words!("{}", index.saturating_add(1)).right(3);
        let (value, blanks) = reviewed(draft, index);
        let value = match draft.value(index) {
            Some(value) if is_secret(&question.ask, field) => text::hidden(&field.show(value)),
            _ => value,
        };
        page.quote_at(words!("{} ", number), format!("{label}: {value}"));
        if let Some(blanks) = blanks {
            page.item("    ", Style::Warning, blanks);
        }
    }
}

/// Whether a field of a question, or of what is nested in it, seems to ask for a secret.
pub(crate) fn is_secret(ask: &Ask, field: &Field) -> bool {
    match ask {
        Ask::Form { message, schema } => {
            // An item of a list has no words of its own.
            let is_item = |list: &&Field| field.name.strip_prefix(&list.name).is_some_and(is_index);
            let is_it = |secret: &Field| secret.name == field.name;
            field.looks_secret()
                || schema.fields.iter().find(is_item).is_some_and(Field::looks_secret)
                // What a field alone asks for may stand in the message.
                || schema.fields.len() == 1 && schema.secret_fields(message).any(is_it)
        }
        Ask::Arguments { .. } => field.looks_secret(),
        _ => false,
    }
}

/// Whether this stands behind the name of a list for one of its items.
fn is_index(text: &str) -> bool {
    let digits = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a field that is filled in seems to be for a secret.
pub(crate) fn has_secret(ask: &Ask, draft: &Draft) -> bool {
    draft.fields().iter().any(|field| is_secret(ask, field))
}

/// The value of a field as it is looked over, and which blanks of it are not seen: then it stands between quotes.
pub(crate) fn reviewed(draft: &Draft, index: usize) -> (String, Option<Words>) {
    let Some((field, value)) = draft.fields().get(index).zip(draft.value(index)) else {
        return ("(empty)".to_owned(), None);
    };
    let shown = field.show(value);
    let blanks = match field.kind {
        FieldKind::Text(_) => text::unseen_blanks(&shown),
        _ => None,
    };
    match blanks {
        Some(blanks) => (format!("\"{shown}\""), Some(blanks)),
        None => (shown, None),
    }
}

/// Puts the fields of a form on the page, in a line each behind a mark of ours.
pub(crate) fn fields(page: &mut Page, mark: &'static str, schema: &FormSchema) {
    for line in field_lines(schema) {
        page.quote_at(mark, line);
    }
}

/// The fields of a form, in a line each.
pub(crate) fn field_lines(schema: &FormSchema) -> impl Iterator<Item = String> {
    schema.fields.iter().map(|field| {
        let optional = if field.required { "" } else { ", optional" };
        let default = field.default_value().map_or_else(String::new, |value| {
            let shown = text::line(&field.show(&value));
            match field.check(&value, &Limits::default().forms) {
                Ok(()) => format!(" [{shown}]"),
                Err(_) => format!(", its default does not fit: {shown}"),
            }
        });
        let mut hint = field.hint();
        for (index, option) in options(field).iter().enumerate() {
            hint += if index == 0 { ": " } else { ", " };
            hint += &option.value;
        }
        if let Some(members) = members(field, NAMED_DEPTH) {
            hint += &format!(": {members}");
        }
        let (name, hint) = (text::line(&field.name), text::line(&hint));
        format!("{name}: {hint}{default}{optional}")
    })
}

/// The names of the members of an object, or of each object of a list. A star is behind those that must be given.
fn members(field: &Field, depth: usize) -> Option<String> {
    let FieldKind::Json(json) = &field.kind else {
        return None;
    };
    let items = json.schema.get("items").and_then(Value::as_object);
    let limits = Limits::default().forms;
    let members = json.members(items.unwrap_or(&json.schema), &limits).ok()?;
    let named = |member: &Field| {
        let star = if member.required { "*" } else { "" };
        let depth = depth.saturating_sub(1);
        let within = (depth > 0).then(|| self::members(member, depth)).flatten();
        let within = within.map_or_else(String::new, |within| format!(" {within}"));
        format!(
            "{}{star}{within}",
            text::fitted(&text::line(&member.name), NAME)
        )
    };
    let mut names: Vec<_> = members.iter().take(NAMED).map(named).collect();
    if let more @ 1.. = members.len().saturating_sub(NAMED) {
        names.push(format!("and {more} more"));
    }
    let names = names.join(", ");
    match items {
        _ if names.is_empty() => None,
        None => Some(format!("{{{names}}}")),
        Some(_) => Some(format!("[{{{names}}}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_objects_are_named() {
        /// An argument with this schema is listed so.
        #[track_caller]
        fn check(argument: &str, line: &str) {
            let schema = format!(r#"{{"type": "object", "properties": {{"it": {argument}}}}}"#);
            let limits = Limits::default().forms;
            let schema =
                FormSchema::parse_arguments(schema.as_bytes(), &limits).expect("it is one");
            let lines: Vec<_> = field_lines(&schema).collect();
            assert_eq!(lines, [format!("it: {line}, optional")]);
        }
        let object =
            |members: &str| format!(r#"{{"type": "object", "properties": {{{members}}}}}"#);
        let list = |items: &str| format!(r#"{{"type": "array", "items": {items}}}"#);
        let person = r#"{
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"]
        }"#;
        check(r#"{"type": "string"}"#, "a text");
        check(r#"{"type": "object"}"#, "an object, as JSON");
        check(&list(r#"{"type": "array"}"#), "a list, as JSON");
        check(person, "an object, as JSON: {name*, age}");
        check(&list(person), "a list, as JSON: [{name*, age}]");
        check(
            &object(&format!(r#""all": {}, "one": {person}"#, list(person))),
            "an object, as JSON: {all [{name*, age}], one {name*, age}}",
        );
        // What is deeper than two levels is not named.
        check(
            &object(&format!(
                r#""of": {}"#,
                object(&format!(r#""who": {person}"#))
            )),
            "an object, as JSON: {of {who}}",
        );
        let many: Vec<_> = (0..20).map(|at| format!(r#""m{at}": {{}}"#)).collect();
        check(
            &object(&many.join(", ")),
            "an object, as JSON: {m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, and 8 more}",
        );
        let long = "x".repeat(50);
        let named = format!("an object, as JSON: {{{}}}", text::fitted(&long, NAME));
        check(&object(&format!(r#""{long}": {{}}"#)), &named);
    }
}
