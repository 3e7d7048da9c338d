//! The rule that is offered where none fits.

use std::fmt::Write as _;

use askback::{
    forms::{Field, FormSchema},
    limits::Limits,
    protocol::{CreateMessageParams, ToolChoiceMode},
};

use crate::{
    model::{
        self, Ask, Asker, Call, Question,
        link::{self, Link},
    },
    text,
};

/// A rule that would answer a question of this server, to be filled in and put into an answers
/// file. One for a link names the server and the call: it consents to nothing else; a link that is not opened has none.
/// It is safe to show as it is: what is shown of it and pasted is read as that rule.
pub fn rule_for(asker: &Asker, question: &Question) -> Option<String> {
    let call = question.call.as_ref();
    let tool = call.and_then(Call::tool);
    let prompt = call.and_then(Call::prompt);
    let when = match (&question.key, tool, prompt) {
        (Some(key), ..) => format!("{{key: {}}}", word(key)),
        (None, Some(tool), _) => format!("{{tool: {}}}", word(tool)),
        (None, None, Some(prompt)) => format!("{{prompt: {}}}", word(prompt)),
        (None, None, None) => "{}".to_owned(),
    };
    match &question.ask {
        Ask::Form { schema, .. } => Some(format!(
            "answers:\n  - when: {when}\n    accept: {{{}}}",
            fields_for(schema)
        )),
        Ask::Link { url, .. } => {
            let link = link::judge(url).ok()?;
            Some(format!(
                "answers:\n  - when: {}\n    accept: true",
                this_link(asker, question, &link)
            ))
        }
        Ask::Sample(request) => Some(format!("sampling:\n  - reply: {}", reply_to(request))),
        Ask::Roots => Some("roots: [.]".to_owned()),
        Ask::Arguments { .. }
        | Ask::Retry { .. }
        | Ask::Older { .. }
        | Ask::Register { .. }
        | Ask::Client { .. }
        | Ask::SignIn { .. } => None,
    }
}

/// The reply of a rule in place of a model: a call of the first tool that is offered, where there has to
/// be a call.
fn reply_to(request: &CreateMessageParams) -> String {
    let must_call = model::mode(request) == ToolChoiceMode::Required;
    let first = request.tools.iter().flatten().next();
    match first.filter(|_| must_call) {
        Some(tool) => {
            let schema = tool.input_schema.as_str().as_bytes();
            let form = FormSchema::parse_arguments(schema, &Limits::default().forms);
            let fields = form.map_or_else(|_| "…".to_owned(), |form| fields_for(&form));
            format!("{{tool: {}, input: {{{fields}}}}}", word(&tool.name))
        }
        None => "…".to_owned(),
    }
}

/// Everything that tells a link from those of other servers, calls and questions.
fn this_link(asker: &Asker, question: &Question, link: &Link) -> String {
    let call = question.call.as_ref();
    let named = [
        ("tool", call.and_then(Call::tool)),
        ("prompt", call.and_then(Call::prompt)),
        ("key", question.key.as_deref()),
    ];
    let mut parts = vec![
        "mode: url".to_owned(),
        format!("server: {}", word(&asker.name)),
        format!("host: {}", word(&link.named())),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    parts.extend(named.map(|(name, value)| format!("{name}: {}", word(value))));
    format!("{{{}}}", parts.join(", "))
}

/// The fields that a rule must give.
fn fields_for(schema: &FormSchema) -> String {
    let limits = Limits::default().forms;
    let has_default = |field: &&Field| {
        let default = field.default_value();
        default.is_some_and(|value| field.check(&value, &limits).is_ok())
    };
    let required = schema.fields.iter().filter(|field| field.required);
    let needed = required.filter(|field| !has_default(field));
    let fields: Vec<_> = needed
        .map(|field| format!("{}: …", word(&field.name)))
        .collect();
    fields.join(", ")
}

/// Words that YAML, in one of its versions, reads as something else than a text: a tool called `null`
/// would be none, and the rule one for every tool.
const NO_TEXT: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A word of a YAML file, quoted unless it is plain.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !NO_TEXT.iter().any(|word| text.eq_ignore_ascii_case(word));
    match is_plain {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A text between double quotes, as YAML reads it. JSON would write a character beyond the first 65,536
/// as two, which YAML does not put together.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // Writing to a string cannot fail.
            c if text::acts_or_hides(c) => drop(write!(out, "\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
