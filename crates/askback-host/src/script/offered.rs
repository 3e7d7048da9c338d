//! Suggests a rule for a question that no rule answers.

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

/// Returns a rule for this question, to be completed and put into an answers file. A rule for a
/// link names the server and the call, so it consents to nothing else. A link that is never opened
/// has no rule.
///
/// The text is safe to print, and pasting what is shown gives the same rule.
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
        _ => None,
    }
}

/// Writes the reply of a model. If a tool must be called, it calls the first tool offered.
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

/// Writes the conditions that tell this link from other servers, calls and questions.
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

fn fields_for(schema: &FormSchema) -> String {
    let limits = Limits::default().forms;
    let has_default = |field: &&Field| {
        let default = field.default_value();
        default.is_some_and(|value| field.check(&value, &limits).is_ok())
    };
    let is_needed = |field: &&Field| field.required && !has_default(field);
    let mut fields: Vec<_> = schema.fields.iter().filter(is_needed).collect();
    if fields.is_empty() {
        // The defaults may be a no, which an empty rule would not show.
        fields.extend(&schema.fields);
    }
    let fields = fields
        .iter()
        .map(|field| format!("{}: …", word(&field.name)));
    fields.collect::<Vec<_>>().join(", ")
}

/// Words that some YAML version does not read as text. For example, `tool: null` would match every
/// tool.
const NO_TEXT: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

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

/// Quotes text for YAML. JSON escapes a character above U+FFFF as two surrogates, which YAML does
/// not combine.
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
