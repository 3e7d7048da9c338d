//! The lines that are offered for what a server has.
//!
//! A name is the server's, and a line is read as a command: what is offered is read back as that very
//! command, and as no other.

use askback_core::{forms::FormSchema, limits::Limits, protocol::Tool};
use askback_host::text::{PeerText, acts_or_hides};
use serde_json::Value;

use super::line::{self, Command};

/// The line that calls a tool, if its name can be typed.
pub(super) fn tool(name: &str) -> Option<String> {
    let command = Command::Call(name.to_owned(), Vec::new());
    first(
        [format!("/call {name}"), format!("/call {}", quoted(name))],
        &command,
    )
}

/// The line that gets a prompt, if its name can be typed.
pub(super) fn prompt(name: &str) -> Option<String> {
    let command = Command::Prompt(name.to_owned(), Vec::new());
    let lines = [
        format!("/{name}"),
        format!("/prompt {name}"),
        format!("/prompt {}", quoted(name)),
    ];
    first(lines, &command)
}

/// The line that reads a resource, if its URI can be typed.
pub(super) fn resource(uri: &str) -> Option<String> {
    let command = Command::Read(uri.to_owned());
    first(
        [format!("/read {uri}"), format!("/read {}", quoted(uri))],
        &command,
    )
}

/// The names of a tool's arguments, with a `*` behind those that are required. Of a schema that is no
/// form, only those are known.
pub(super) fn arguments(tool: &Tool) -> PeerText {
    let schema = tool.input_schema.as_str().as_bytes();
    match FormSchema::parse_arguments(schema, &Limits::default().forms) {
        Ok(form) => {
            let fields = form.fields.iter();
            names(fields.map(|field| (field.name.as_str(), field.required)))
        }
        Err(_) => {
            let schema = tool.input_schema.decode().unwrap_or(Value::Null);
            let required = schema["required"].as_array().into_iter().flatten();
            names(required.filter_map(Value::as_str).map(|name| (name, true)))
        }
    }
}

/// The most arguments that are named.
const NAMED: usize = 16;

/// Names, with a `*` behind those that are required.
pub(super) fn names<'a>(names: impl Iterator<Item = (&'a str, bool)>) -> PeerText {
    let names = names
        .take(NAMED)
        .map(|(name, is_required)| match is_required {
            true => format!("{name}*"),
            false => name.to_owned(),
        });
    names.collect::<Vec<_>>().join(", ").into()
}

/// The first of these lines that is this command.
fn first<const N: usize>(lines: [String; N], command: &Command) -> Option<String> {
    let mut lines = lines.into_iter();
    lines.find(|line| !line.chars().any(acts_or_hides) && line::parse(line) == *command)
}

/// A text between double quotes, as a line is read.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_what_is_done() {
        #[track_caller]
        fn check(found: Option<String>, line: Option<&str>) {
            assert_eq!(found.as_deref(), line);
        }
        check(tool("book"), Some("/call book"));
        check(tool("x a=1"), Some("/call \"x a=1\""));
        check(
            tool("it's \"so\" \\"),
            Some("/call \"it's \\\"so\\\" \\\\\""),
        );
        check(tool("x\u{1b}[2J"), None);
        check(tool("x\ny"), None);
        check(tool(""), Some("/call \"\""));
        check(prompt("plan"), Some("/plan"));
        check(prompt("roots"), Some("/prompt roots"));
        check(prompt("roots /"), Some("/prompt \"roots /\""));
        check(
            prompt("sampling always"),
            Some("/prompt \"sampling always\""),
        );
        check(
            prompt("wire save a.txt"),
            Some("/prompt \"wire save a.txt\""),
        );
        check(prompt("prompt roots"), Some("/prompt \"prompt roots\""));
        check(prompt("quit"), Some("/prompt quit"));
        check(prompt("PROMPT"), Some("/PROMPT"));
        check(resource("a://b"), Some("/read a://b"));
        check(resource("a://b c"), Some("/read \"a://b c\""));
        check(resource("a://b\u{202e}"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_itself(name in "\\PC{0,12}|(roots|wire save|as|quit)[ /\"'\\\\=:{}a-z]{0,8}") {
            if let Some(line) = prompt(&name) {
                proptest::prop_assert_eq!(line::parse(&line), Command::Prompt(name.clone(), Vec::new()));
            }
            if let Some(line) = tool(&name) {
                proptest::prop_assert_eq!(line::parse(&line), Command::Call(name, Vec::new()));
            }
        }
    }
}
