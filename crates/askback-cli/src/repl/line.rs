//! Splits typed lines into words, and writes the lines offered for a server's items. A server chooses the names, and
//! a line is run as a command, so an offered line must be read back as exactly the same command.

use askback_host::text::{self, acts_or_hides};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::{calls::Call, grammar};
use crate::args;

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

/// The line with this command and one argument.
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

/// The line that calls the tool, prompt or resource with this address, if a line can be read as exactly that.
pub(super) fn call(call: &Call, address: &str) -> Option<String> {
    let (schema, arguments) = match call {
        Call::Tool(tool, arguments) => (tool.input_schema.decode().ok(), arguments.clone()),
        Call::Prompt(_, arguments) => {
            let arguments = arguments.iter();
            let arguments = arguments.map(|(name, text)| (name.clone(), text.as_str().into()));
            (None, arguments.collect())
        }
        Call::Read(_) => (None, Map::new()),
    };
    let read = |word: String| {
        let words = args::parse(&[word]).ok()?;
        match call {
            Call::Tool(..) => args::for_tool(words, schema.as_ref().unwrap_or(&Value::Null)).ok(),
            _ => {
                let arguments = args::for_prompt(words).into_iter();
                Some(arguments.map(|(name, text)| (name, text.into())).collect())
            }
        }
    };
    arguments
        .iter()
        .try_fold(call.offered(address)?, |line, (name, value)| {
            let whole = Some(Map::from_iter([(name.clone(), value.clone())]));
            let argument = argument(name, value, |word| read(word) == whole)?;
            Some(format!("{line} {argument}"))
        })
}

/// The first way to write an argument that is read back as the same value.
fn argument(name: &str, value: &Value, is_it: impl Fn(String) -> bool) -> Option<String> {
    let json = text::json(&value.to_string());
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let mut ways = Vec::new();
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        ways.push(format!("{name}={text}"));
        ways.push(format!("{name}={}", quoted(&text)));
    }
    ways.push(format!("{name}:={json}"));
    let mut ways = ways.into_iter();
    ways.find(|way| {
        // The text must be parsed as a single word, also between other words.
        match &words(&format!("a {way} b"))[..] {
            [before, word, after] => {
                let is_seen = !way.chars().any(acts_or_hides);
                is_seen && before == "a" && after == "b" && is_it(word.clone())
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use askback::protocol::{Schema, Tool};
    use serde_json::json;

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

    fn tool_call(arguments: Value) -> Call {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "yes": {"type": "boolean"}, "s": {"type": "string"},
            "days": {"type": "array"}, "home": {"type": "object"},
        }});
        let tool = Tool {
            name: "book".to_owned(),
            input_schema: Schema::new(&schema).expect("it is a schema"),
            ..Tool::default()
        };
        match arguments {
            Value::Object(arguments) => Call::Tool(Box::new(tool), arguments),
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn a_call_is_the_line_that_makes_it() {
        #[track_caller]
        fn check(arguments: Value, expected: Option<&str>) {
            assert_eq!(call(&tool_call(arguments), "book").as_deref(), expected);
        }
        check(json!({}), Some("/call book"));
        check(json!({"s": "Rome"}), Some("/call book s=Rome"));
        check(json!({"s": "New York"}), Some("/call book s=\"New York\""));
        check(
            json!({"s": "it's \"so\""}),
            Some("/call book s=\"it's \\\"so\\\"\""),
        );
        check(json!({"s": ""}), Some("/call book s="));
        check(json!({"s": "12"}), Some("/call book s=12"));
        check(json!({"other": "12"}), Some("/call book other=12"));
        check(json!({"other": 12}), Some("/call book other:=12"));
        check(
            json!({"n": 12, "yes": true}),
            Some("/call book n=12 yes=true"),
        );
        check(
            json!({"s": "one\ntwo's"}),
            Some("/call book s:=\"one\\ntwo's\""),
        );
        check(
            json!({"s": "a\u{202e}b"}),
            Some("/call book s:=\"a\\u202eb\""),
        );
        check(
            json!({"days": ["a b", 1]}),
            Some("/call book days:=[\"a b\",1]"),
        );
        check(
            json!({"days": ["it's\u{202e}"]}),
            Some("/call book days:=[\"it's\\u202e\"]"),
        );
        check(
            json!({"home": {"street": "Main"}}),
            Some("/call book home:={\"street\":\"Main\"}"),
        );
        check(json!({"a b": "c"}), None);
        check(json!({"a=b": "c"}), None);
    }

    #[test]
    fn a_prompt_is_the_line_that_gets_it() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let arguments = BTreeMap::from([("to".to_owned(), text.to_owned())]);
            let made = Call::Prompt("plan".to_owned(), arguments);
            assert_eq!(call(&made, "plan").as_deref(), Some(expected));
        }
        check("Rome", "/plan to=Rome");
        check("New York", "/plan to=\"New York\"");
        check("one\ntwo", "/plan to:=\"one\\ntwo\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_kept(text in "\\PC{0,12}|[ '\"\\\\=:{}\\[\\]\n\ta-z]{0,8}") {
            let made = tool_call(json!({"s": text}));
            let line = call(&made, "book").expect("it can be written");
            let Ok(Some(Command::Call { tool, arguments })) = grammar::parse(&line) else {
                panic!("{line} is no call");
            };
            proptest::prop_assert_eq!(tool, "book");
            let schema = json!({"properties": {"s": {"type": "string"}}});
            let given = args::parse(&arguments).and_then(|words| args::for_tool(words, &schema));
            proptest::prop_assert_eq!(given.ok().map(Value::Object), Some(json!({"s": text})));
        }
    }
}
