use askback::{
    forms::{Field, FieldKind, FormSchema, TextFormat},
    limits::Limits,
};
use serde::Serialize;
use serde_json::Value;

use super::{Labelled, Reader, Text, actions::with_ways_out, name};
use crate::{
    model::{Ask, Asker, Draft, Front, Suggestions, marks, options},
    text::{self, PeerText, Words},
    words,
};

/// A form to fill in or to review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormView {
    /// The title for the review.
    #[serde(skip)]
    pub ready: Words,
    pub fields: Vec<FieldView>,
    /// How many fields prevent sending the form, if any do.
    #[serde(skip)]
    pub left: Option<Words>,
    #[serde(skip)]
    pub suggested: Option<SuggestedView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldView {
    pub input: Input,
    pub label: PeerText,
    pub description: Option<PeerText>,
    pub required: bool,
    /// Whether it seems to ask for a secret.
    pub is_secret: bool,
    /// Whether it has a value, and whether the value is valid.
    pub state: FieldState,
    /// The text of its value. A secret is masked unless the reader reveals it.
    pub text: PeerText,
    #[serde(skip)]
    pub is_hidden: bool,
    /// The options. A yes/no field has two.
    pub choices: Vec<ChoiceView>,
    /// The expected kind of value.
    pub hint: Words,
    /// The expected format or range, if the field has one.
    pub bounds: Option<Words>,
    pub pattern: Option<Labelled>,
    /// Why the field prevents sending the form.
    pub issue: Option<Words>,
    /// The server's default, if it is not valid.
    pub dropped: Option<DroppedView>,
    /// Its position among the fields.
    #[serde(skip)]
    pub place: Words,
    /// The sentence about the lines that can be typed for it.
    #[serde(skip)]
    pub prompt: Words,
    /// The value, for a front end that shows one field at a time.
    #[serde(skip)]
    pub now: Option<Labelled>,
    /// The value in the review.
    #[serde(skip)]
    pub review: ReviewView,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedView {
    pub field: usize,
    pub values: Vec<PeerText>,
    /// Says that there are more values, or no values.
    pub note: Option<Words>,
    /// How to find more values on a full screen.
    pub more: Words,
    pub has_more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    Text,
    Email,
    Uri,
    Date,
    DateTime,
    Number,
    Integer,
    YesNo,
    One,
    Several,
    Json,
}

/// Whether a field has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FieldState {
    /// No value, or too few or too many options.
    Empty,
    /// Text that is not a valid value yet.
    Written,
    Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceView {
    /// A short text that selects it, or empty.
    #[serde(skip)]
    pub mark: Words,
    pub label: Text,
    pub is_chosen: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedView {
    pub words: Words,
    pub text: PeerText,
}

/// A value in the review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// The value, in quotes if it has blanks that are not visible.
    pub text: PeerText,
    /// Whether the whole value is shown, because it is not only the user's own text.
    pub is_whole: bool,
}

/// A form that seems to ask for secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretView {
    pub words: Words,
    pub fields: Vec<PeerText>,
}

/// The maximum number of options that a screen lists. With more, the user types to search.
pub(crate) const MAX_OPEN_CHOICES: usize = 7;

const MAX_NAMED_MEMBERS: usize = 12;

const MAX_NAMED_DEPTH: usize = 2;

const MEMBER_NAME_MAX_COLUMNS: usize = 40;

pub(super) fn form(asker: &Asker, front: &Front<'_>, draft: &Draft, reader: Reader) -> FormView {
    let ready = match front.question.ask.is_ours() {
        true => "Ready:".into(),
        false => words!("Ready to send to {}:", name(asker)),
    };
    let fields = 0..draft.fields().len();
    let left = draft.left();
    FormView {
        ready,
        left: (left > 0).then(|| match left {
            1 => "1 field left".into(),
            left => words!("{} fields left", left),
        }),
        suggested: front.suggested.map(suggested),
        fields: fields
            .filter_map(|index| field(front, draft, index, reader))
            .collect(),
    }
}

fn field(front: &Front<'_>, draft: &Draft, index: usize, reader: Reader) -> Option<FieldView> {
    let field = draft.fields().get(index)?;
    let (value, written) = (draft.value(index), draft.written(index));
    let shown = value.map(|value| field.show(value));
    let is_secret = is_secret(&front.question.ask, field);
    let is_hidden = is_secret && !reader.reveals;
    let seen = |text: &str| match is_hidden {
        true => text::hidden(text),
        false => text.to_owned(),
    };
    let marks = marks(options(field));
    let optional = if field.required { "" } else { ", optional" };
    let (number, count) = (index.saturating_add(1), draft.fields().len());
    let hint = text::hint(field);
    let typed = match is_secret {
        true => words!("{} · not shown as you type", hint),
        false => hint.clone(),
    };
    let prompt = match value {
        Some(_) => words!("{} · Enter keeps it", typed),
        None if field.required => typed,
        None => words!("{} · Enter skips", typed),
    };
    let prompt = match front.suggests() {
        true => words!("{} · /suggest ab lists what begins with ab", prompt),
        false => prompt,
    };
    let is_quoted = |shown: &str| {
        !is_hidden && matches!(&field.kind, FieldKind::Text(_)) && has_unseen_blanks(shown)
    };
    let is_text = matches!(&field.kind, FieldKind::Text(text) if text.format.is_none());
    Some(FieldView {
        input: input(field),
        label: field.label().into(),
        description: field.description.as_ref().map(PeerText::from),
        required: field.required,
        is_secret,
        state: match (written, value) {
            (Some(_), _) => FieldState::Written,
            (None, Some(_)) => FieldState::Value,
            (None, None) => FieldState::Empty,
        },
        text: written
            .or(shown.as_deref())
            .map(seen)
            .unwrap_or_default()
            .into(),
        is_hidden,
        choices: choices(draft, index, field, marks.as_deref()),
        bounds: text::bounds(field),
        pattern: pattern(field),
        issue: draft.issue(index),
        dropped: draft.dropped(index).map(|(default, issue)| DroppedView {
            words: words!(
                "The server's default does not fit ({}) and is left out:",
                issue
            ),
            text: seen(&field.show(default)).into(),
        }),
        place: words!("{} of {}{}", number, count, optional),
        prompt: with_ways_out(front, prompt),
        hint: words!("{}{}", hint, optional),
        now: shown
            .as_deref()
            .map(|shown| Labelled::new("now", seen(shown))),
        review: ReviewView {
            text: match &shown {
                None => "(empty)".into(),
                Some(shown) if is_quoted(shown) => format!("\"{shown}\"").into(),
                Some(shown) => seen(shown).into(),
            },
            // The user's text may contain a suggestion from the server.
            is_whole: !is_text || front.suggests() || field.default_value().is_some(),
        },
    })
}

/// Whether a text has whitespace that the user would not see without quotes around it. A line break is visible, and so
/// is the indentation after it.
fn has_unseen_blanks(text: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let is_unseen = |line: &str| line.ends_with(is_blank) || line.trim().contains("  ");
    let is_odd = |c: char| is_blank(c) && c != ' ';
    text.starts_with(is_blank) || text.contains(is_odd) || text.split('\n').any(is_unseen)
}

fn suggested(suggested: &Suggestions) -> SuggestedView {
    let note = match (suggested.values.is_empty(), suggested.has_more) {
        (true, _) => Some("the server suggests nothing"),
        (false, true) => Some("and more"),
        (false, false) => None,
    };
    SuggestedView {
        field: suggested.field,
        values: suggested.values.iter().map(PeerText::from).collect(),
        note: note.map(Words::from),
        more: "and more; type on".into(),
        has_more: suggested.has_more,
    }
}

fn input(field: &Field) -> Input {
    match &field.kind {
        FieldKind::Text(text) => match text.format {
            Some(TextFormat::Email) => Input::Email,
            Some(TextFormat::Uri) => Input::Uri,
            Some(TextFormat::Date) => Input::Date,
            Some(TextFormat::DateTime) => Input::DateTime,
            _ => Input::Text,
        },
        FieldKind::Number(number) if number.integer => Input::Integer,
        FieldKind::Number(_) => Input::Number,
        FieldKind::Boolean(_) => Input::YesNo,
        FieldKind::Choice(_) => Input::One,
        FieldKind::Choices(_) => Input::Several,
        FieldKind::Json(_) => Input::Json,
        _ => Input::Text,
    }
}

fn pattern(field: &Field) -> Option<Labelled> {
    match &field.kind {
        FieldKind::Text(text) => {
            let pattern = text.pattern.as_ref();
            pattern.map(|pattern| Labelled::new("pattern", pattern))
        }
        _ => None,
    }
}

fn choices(draft: &Draft, index: usize, field: &Field, marks: Option<&[Words]>) -> Vec<ChoiceView> {
    if let FieldKind::Boolean(_) = field.kind {
        let value = draft.value(index).and_then(Value::as_bool);
        let choices = [("yes", true), ("no", false)].map(|(word, is)| ChoiceView {
            mark: word.into(),
            label: Text::Ours(word.into()),
            is_chosen: value == Some(is),
        });
        return choices.into();
    }
    let options = options(field).iter().enumerate();
    let choices = options.map(|(at, option)| ChoiceView {
        mark: marks
            .and_then(|marks| marks.get(at).cloned())
            .unwrap_or_default(),
        label: Text::Peer(option.label().into()),
        is_chosen: draft.is_chosen(index, &option.value),
    });
    choices.collect()
}

pub(super) fn secret(ask: &Ask) -> Option<SecretView> {
    let Ask::Form { message, schema } = ask else {
        return None;
    };
    let fields = schema.secret_fields(message);
    let fields: Vec<_> = fields.map(|field| field.label().into()).collect();
    let words = "Careful: this seems to ask for a secret, which a server must not do in a form. What you type goes to it as it is.";
    (!fields.is_empty()).then(|| SecretView {
        words: words.into(),
        fields,
    })
}

/// Whether a field, or a value inside it, seems to ask for a secret.
pub(crate) fn is_secret(ask: &Ask, field: &Field) -> bool {
    match ask {
        Ask::Form { message, schema } => {
            let is_it = |secret: &Field| secret.name == field.name;
            // The message may name the secret if there is only one field.
            field.looks_secret()
                || schema.fields.len() == 1 && schema.secret_fields(message).any(is_it)
        }
        Ask::Arguments { .. } => field.looks_secret(),
        _ => false,
    }
}

pub(super) fn has_secret(ask: &Ask, draft: &Draft) -> bool {
    draft.fields().iter().any(|field| is_secret(ask, field))
}

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
        if let Some(members) = members(field, MAX_NAMED_DEPTH) {
            hint += &format!(": {members}");
        }
        let (name, hint) = (text::line(&field.name), text::line(&hint));
        format!("{name}: {hint}{default}{optional}")
    })
}

/// Returns the member names of an object, or of each object in a list. A `*` follows each required
/// one.
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
            text::fitted(&text::line(&member.name), MEMBER_NAME_MAX_COLUMNS)
        )
    };
    let mut names: Vec<_> = members.iter().take(MAX_NAMED_MEMBERS).map(named).collect();
    if let more @ 1.. = members.len().saturating_sub(MAX_NAMED_MEMBERS) {
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
    use crate::text::Clock;

    #[test]
    fn no_format_is_drawn_as_plain_text() {
        let read = |format: TextFormat| {
            let name = format.name();
            let property = format!(r#"{{"type": "string", "format": "{name}"}}"#);
            let schema = format!(r#"{{"type": "object", "properties": {{"it": {property}}}}}"#);
            FormSchema::parse(schema.as_bytes(), &Limits::default().forms).expect("a form")
        };
        let mut inputs = Vec::new();
        for format in TextFormat::ALL {
            let name = format.name();
            let form = read(*format);
            let field = &form.fields[0];
            let input = input(field);
            assert!(input != Input::Text && !inputs.contains(&input), "{name}");
            inputs.push(input);
            let (_, example) = format.words().rsplit_once(' ').expect("an example");
            // A time begins with digits. The user may write it in words.
            let is_time = example.starts_with(|c: char| c.is_ascii_digit());
            let clock = Clock::default();
            let mut words = ["today", "now"].into_iter();
            let is_read = words.any(|word| clock.read(*format, word).is_some());
            assert_eq!(is_read, is_time, "{name}");
        }
    }

    #[test]
    fn blanks_that_are_not_seen_are_quoted() {
        for seen in ["", "Ada Lovelace", "one\n  two\n"] {
            assert!(!has_unseen_blanks(seen), "{seen:?}");
        }
        for unseen in [" Ada", " ", "Ada ", "Ada  L", "one \n\ntwo", "Ada\u{a0}L"] {
            assert!(has_unseen_blanks(unseen), "{unseen:?}");
        }
    }

    #[test]
    fn members_of_objects_are_named() {
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
        check(person, "an object, as JSON: {age, name*}");
        check(&list(person), "a list, as JSON: [{age, name*}]");
        check(
            &object(&format!(r#""all": {}, "one": {person}"#, list(person))),
            "an object, as JSON: {all [{age, name*}], one {age, name*}}",
        );
        // Deeper members are not named.
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
            "an object, as JSON: {m0, m1, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, and 8 more}",
        );
        let long = "x".repeat(50);
        let named = format!(
            "an object, as JSON: {{{}}}",
            text::fitted(&long, MEMBER_NAME_MAX_COLUMNS)
        );
        check(&object(&format!(r#""{long}": {{}}"#)), &named);
    }
}
