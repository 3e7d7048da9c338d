//! Splits typed lines into words, and writes the lines offered for a server's items. A server chooses the names, and
//! a line is run as a command, so an offered line must be read back as exactly the same command.

use askback_host::text::acts_or_hides;
use serde::de::IgnoredAny;

use super::grammar;

/// Splits a line into words, with quotes and backslashes as in a shell. A JSON list, object or string after `:=` is
/// one word that keeps its quotes and spaces; shlex and shell-words would remove the quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let (None, '{' | '[' | '"', Some(before)) = (quote, c, &mut word)
            && before.ends_with(":=")
            && let Some(json) = json(rest)
        {
            before.push_str(json);
            rest = &rest[json.len()..];
            continue;
        }
        let mut after = rest.chars();
        after.next();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(after.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
        rest = after.as_str();
    }
    words.extend(word);
    words
}

fn json(text: &str) -> Option<&str> {
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    read.next()?.ok()?;
    text.get(..read.byte_offset())
}

/// Writes a text in double quotes, as [`words`] reads it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) fn tool(name: &str) -> Option<String> {
    named("/call", name)
}

pub(super) fn prompt(name: &str) -> Option<String> {
    let is_free = !name.is_empty() && grammar::find(name).is_none();
    let line = is_free.then(|| format!("/{name}"));
    line.filter(|line| is_read(line, &[line]))
        .or_else(|| named("/prompt", name))
}

pub(super) fn resource(uri: &str) -> Option<String> {
    named("/read", uri)
}

pub(super) fn named(command: &str, name: &str) -> Option<String> {
    let mut lines = [
        format!("{command} {name}"),
        format!("{command} {}", quoted(name)),
    ]
    .into_iter();
    lines.find(|line| is_read(line, &[command, name]))
}

/// Whether a line is displayed unchanged and read as these words.
fn is_read(line: &str, expected: &[&str]) -> bool {
    !line.chars().any(acts_or_hides) && words(line) == expected
}

#[cfg(test)]
mod tests {
    use super::{super::grammar::Command, *};

    #[test]
    fn quoted_words_are_read_as_one_word() {
        #[track_caller]
        fn check(line: &str, expected: &[&str]) {
            assert_eq!(words(line), expected);
        }
        check("a  b", &["a", "b"]);
        check("a='b c'", &["a=b c"]);
        check("'' x", &["", "x"]);
        check("\"it's\" 'a \"b\"'", &["it's", "a \"b\""]);
        check("a\\ b 'c\\d' \"e\\\"f\"", &["a b", "c\\d", "e\"f"]);
        check("a:={\"b\":1}", &["a:={\"b\":1}"]);
        check(
            "a:={\"b\": [1, \"c d\"]} e:=[\"\\\"\"]",
            &["a:={\"b\": [1, \"c d\"]}", "e:=[\"\\\"\"]"],
        );
        check(
            "a:=\"b\" c:=\"d  'e\\\"\" f",
            &["a:=\"b\"", "c:=\"d  'e\\\"\"", "f"],
        );
        check("a=\"b:=\" c", &["a=b:=", "c"]);
        check("a:={b c}", &["a:={b", "c}"]);
        check("a:='{\"b\":1}'", &["a:={\"b\":1}"]);
        check("'open", &["open"]);
    }

    #[test]
    fn an_offered_line_runs_the_offered_command() {
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
        fn any_name_is_kept(name in "\\PC{0,12}|(roots|wire save|as|quit|-|--)[ /\"'\\\\=:{}a-z]{0,8}") {
            if let Some(line) = prompt(&name) {
                proptest::prop_assert_eq!(
                    grammar::parse(&line),
                    Ok(Some(Command::Prompt { prompt: name.clone(), arguments: Vec::new() }))
                );
            }
            if let Some(line) = tool(&name) {
                proptest::prop_assert_eq!(
                    grammar::parse(&line),
                    Ok(Some(Command::Call { tool: name, arguments: Vec::new() }))
                );
            }
        }
    }
}
