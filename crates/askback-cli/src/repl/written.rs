//! A call as the line that makes it again.

use std::collections::BTreeMap;

use askback_host::text::{self, acts_or_hides};
use serde_json::{Map, Value};

use super::{
    again::Call,
    line::{self, Command},
    offered,
};
use crate::args::{self, Place};

/// The line that makes this call of what has this address; none where no line is read as just that.
pub(super) fn line(call: &Call, address: &str) -> Option<String> {
    let mut line = call.offered(address)?;
    match call {
        Call::Tool(tool, arguments) => {
            let schema = tool.input_schema.decode().unwrap_or(Value::Null);
            for (name, value) in arguments {
                let is_it = |word: String| {
                    let given =
                        args::for_tool(args::parse(&[word]).ok()?, &schema, Place::Line).ok()?;
                    (given == Map::from_iter([(name.clone(), value.clone())])).then_some(())
                };
                line = format!("{line} {}", argument(name, value, is_it)?);
            }
            Some(line)
        }
        Call::Prompt(_, arguments) => {
            for (name, text) in arguments {
                let is_it = |word: String| {
                    let given = args::for_prompt(args::parse(&[word]).ok()?);
                    (given == BTreeMap::from([(name.clone(), text.clone())])).then_some(())
                };
                line = format!("{line} {}", argument(name, &text.as_str().into(), is_it)?);
            }
            Some(line)
        }
        Call::Read(_) => Some(line),
    }
}

/// The first way to write an argument that is read as that very value.
fn argument(name: &str, value: &Value, is_it: impl Fn(String) -> Option<()>) -> Option<String> {
    let json = text::json(&value.to_string());
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let mut ways = Vec::new();
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        ways.push(format!("{name}={text}"));
        ways.push(format!("{name}={}", offered::quoted(&text)));
    }
    ways.push(format!("{name}:={json}"));
    let mut ways = ways.into_iter();
    ways.find(|way| {
        let is_seen = !way.chars().any(acts_or_hides);
        // A word of its own, whatever stands around it.
        let Command::Call(_, words) = line::parse(&format!("/call a {way} b")) else {
            return false;
        };
        match <[String; 2]>::try_from(words) {
            Ok([word, after]) => is_seen && after == "b" && is_it(word).is_some(),
            Err(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use askback_core::protocol::{Schema, Tool};
    use serde_json::json;

    use super::*;

    fn tool(arguments: Value) -> Call {
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
            assert_eq!(line(&tool(arguments), "book").as_deref(), expected);
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
            let call = Call::Prompt("plan".to_owned(), arguments);
            assert_eq!(line(&call, "plan").as_deref(), Some(expected));
        }
        check("Rome", "/plan to=Rome");
        check("New York", "/plan to=\"New York\"");
        check("one\ntwo", "/plan to:=\"one\\ntwo\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_itself(text in "\\PC{0,12}|[ '\"\\\\=:{}\\[\\]\n\ta-z]{0,8}") {
            let call = tool(json!({"s": text}));
            let line = line(&call, "book").expect("it can be written");
            let Command::Call(name, words) = line::parse(&line) else {
                panic!("{line} is no call");
            };
            proptest::prop_assert_eq!(name, "book");
            let schema = json!({"properties": {"s": {"type": "string"}}});
            let given = args::parse(&words).and_then(|words| args::for_tool(words, &schema, Place::Line));
            proptest::prop_assert_eq!(given.ok().map(Value::Object), Some(json!({"s": text})));
        }
    }
}
