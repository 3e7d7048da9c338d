//! The arguments of a tool or prompt, as they stand on the command line: `key=value` and
//! `key:=json`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    error::Error,
    text::{self, Words, given},
    words,
};

/// One argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its name.
    pub key: String,
    /// What it was given.
    pub given: Given,
}

/// What an argument was given.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// `key=value`: a text, to be read as its type wants.
    Text(String),
    /// `key:=json`.
    Json(Value),
}

/// Reads the words of a command line.
///
/// # Errors
///
/// A usage error for a word of neither form, JSON that is none, and a key that stands twice.
pub fn parse(words: &[String]) -> Result<Vec<Argument>, Error> {
    let mut arguments: Vec<Argument> = Vec::with_capacity(words.len());
    for word in words {
        let argument = parse_one(word)?;
        if arguments.iter().any(|other| other.key == argument.key) {
            return Err(Error::usage(words!(
                "`{}` is given twice",
                given(&argument.key)
            )));
        }
        arguments.push(argument);
    }
    Ok(arguments)
}

/// The arguments of a tool: each text is read as the type that the tool's input schema declares
/// for it, and stays a string where it declares none.
///
/// # Errors
///
/// A usage error for a text that is not of the declared type.
pub fn for_tool(arguments: Vec<Argument>, schema: &Value) -> Result<Map<String, Value>, Error> {
    arguments
        .into_iter()
        .map(|Argument { key, given }| {
            let value = match given {
                Given::Json(value) => value,
                Given::Text(text) => {
                    let types = declared_types(schema, &schema["properties"][&key], 0);
                    read_as(&key, text, &types)?
                }
            };
            Ok((key, value))
        })
        .collect()
}

/// The arguments of a prompt, which are strings on the wire: a JSON string is taken as it is, any
/// other JSON as its text.
pub fn for_prompt(arguments: Vec<Argument>) -> BTreeMap<String, String> {
    arguments
        .into_iter()
        .map(|Argument { key, given }| {
            let text = match given {
                Given::Text(text) | Given::Json(Value::String(text)) => text,
                Given::Json(value) => value.to_string(),
            };
            (key, text)
        })
        .collect()
}

fn parse_one(word: &str) -> Result<Argument, Error> {
    let Some((key, value)) = word.split_once('=') else {
        return Err(Error::usage(words!("`{}` is no argument", given(word)))
            .hint("Write key=value, or key:=json for numbers, lists and the like."));
    };
    let (key, given) = match key.strip_suffix(':') {
        None => (key, Given::Text(value.to_owned())),
        Some(key) => {
            let json = serde_json::from_str(value).map_err(|error| {
                Error::usage(words!(
                    "what follows `{}:=` is not JSON: {}",
                    given(key),
                    given(error)
                ))
                .hint(words!(
                    "For a plain text write {}={}",
                    given(key),
                    given(value)
                ))
            })?;
            (key, Given::Json(json))
        }
    };
    if key.is_empty() {
        return Err(Error::usage(words!(
            "`{}` has no name before the `=`",
            text::given(word)
        )));
    }
    Ok(Argument {
        key: key.to_owned(),
        given,
    })
}

/// How deep references and unions in a schema are followed; deeper ones declare nothing.
const DEPTH: usize = 8;

/// The types a property may have, in the order the schema names them; none where it does not say.
fn declared_types(root: &Value, property: &Value, depth: usize) -> Vec<String> {
    if depth > DEPTH {
        return Vec::new();
    }
    match &property["type"] {
        Value::String(name) => return vec![name.clone()],
        Value::Array(names) => {
            return names
                .iter()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect();
        }
        _ => {}
    }
    if let Some(pointer) = property["$ref"]
        .as_str()
        .and_then(|to| to.strip_prefix('#'))
    {
        let target = root.pointer(pointer).unwrap_or(&Value::Null);
        return declared_types(root, target, depth.saturating_add(1));
    }
    let mut types = Vec::new();
    for union in ["anyOf", "oneOf", "allOf"] {
        for member in property[union].as_array().into_iter().flatten() {
            types.extend(declared_types(root, member, depth.saturating_add(1)));
        }
    }
    let fixed = property["enum"].as_array().into_iter().flatten();
    types.extend(fixed.chain(property.get("const")).map(type_of));
    types
}

fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
    .to_owned()
}

/// Reads a text as the first of its types that takes it. A string takes everything, so it comes
/// last.
fn read_as(key: &str, text: String, types: &[String]) -> Result<Value, Error> {
    let json = serde_json::from_str::<Value>(&text).ok();
    let fits = |name: &str| match (name, json.as_ref()) {
        ("integer", Some(Value::Number(number))) => {
            number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        ("number", Some(Value::Number(_)))
        | ("boolean", Some(Value::Bool(_)))
        | ("null", Some(Value::Null))
        | ("array", Some(Value::Array(_)))
        | ("object", Some(Value::Object(_))) => true,
        _ => false,
    };
    if types.iter().any(|name| fits(name)) {
        return Ok(json.unwrap_or_default());
    }
    if types.is_empty() || types.iter().any(|name| name == "string") {
        return Ok(Value::String(text));
    }
    let error = Error::usage(words!(
        "{}={}: `{}` is {}",
        given(key),
        given(text),
        given(key),
        in_words(types)
    ));
    Err(
        match types.iter().any(|name| name == "array" || name == "object") {
            true => error.hint(words!(
                "Write it as JSON, such as {}:='[\"one\", \"two\"]'.",
                given(key)
            )),
            false => error,
        },
    )
}

fn in_words(types: &[String]) -> Words {
    let mut words: Vec<&'static str> = Vec::new();
    for name in types {
        let word = match name.as_str() {
            "integer" => "a whole number, such as 7",
            "number" => "a number, such as 1.5",
            "boolean" => "true or false",
            "array" => "a list",
            "object" => "an object",
            "null" => "null",
            _ => "a text",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    Words::join(words.into_iter().map(Words::from), ", or ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(line: &[&str]) -> Result<Vec<Argument>, Error> {
        parse(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        #[track_caller]
        fn check(line: &[&str], arguments: &[(&str, Given)]) {
            let expected: Vec<_> = arguments
                .iter()
                .map(|(key, given)| Argument {
                    key: (*key).to_owned(),
                    given: given.clone(),
                })
                .collect();
            assert_eq!(words(line), Ok(expected));
        }
        let text = |text: &str| Given::Text(text.to_owned());
        check(&[], &[]);
        check(&["a=b"], &[("a", text("b"))]);
        check(&["a="], &[("a", text(""))]);
        check(&["a=b=c"], &[("a", text("b=c"))]);
        check(&["a=b:=c"], &[("a", text("b:=c"))]);
        check(
            &["a:=1", "b=1"],
            &[("a", Given::Json(json!(1))), ("b", text("1"))],
        );
        check(&["a:=[1,\"x\"]"], &[("a", Given::Json(json!([1, "x"])))]);
        check(&["a b=c d"], &[("a b", text("c d"))]);
    }

    #[test]
    fn words_of_no_form_are_refused() {
        #[track_caller]
        fn check(line: &[&str], says: &str) {
            let error = words(line).expect_err("the words are wrong");
            assert!(error.to_string().contains(says), "{error}");
        }
        check(&["barcelona"], "`barcelona` is no argument");
        check(&["=x"], "has no name");
        check(&[":=1"], "has no name");
        check(&["a:=x"], "what follows `a:=` is not JSON");
        check(&["a=1", "a=2"], "`a` is given twice");
        check(&["a=1", "a:=2"], "`a` is given twice");
    }

    #[test]
    fn texts_are_read_by_the_schema() {
        #[track_caller]
        fn check(property: Value, text: &str, value: Value) {
            let schema = json!({
                "properties": {"a": property},
                "$defs": {"N": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}},
            });
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let read = for_tool(given, &schema).expect("the text is of its type");
            assert_eq!(read["a"], value);
        }
        check(json!({"type": "string"}), "7", json!("7"));
        check(json!({"type": "string"}), "true", json!("true"));
        check(json!({"type": "integer"}), "7", json!(7));
        check(json!({"type": "integer"}), "-7", json!(-7));
        check(json!({"type": "number"}), "1.5", json!(1.5));
        check(json!({"type": "boolean"}), "true", json!(true));
        check(json!({"type": "array"}), "[1]", json!([1]));
        check(json!({"type": "object"}), "{\"b\":1}", json!({"b": 1}));
        check(json!({"type": ["integer", "null"]}), "7", json!(7));
        check(json!({"type": ["integer", "null"]}), "null", json!(null));
        check(json!({"type": ["string", "integer"]}), "7", json!(7));
        check(
            json!({"type": ["string", "integer"]}),
            "seven",
            json!("seven"),
        );
        check(json!({"$ref": "#/$defs/N"}), "7", json!(7));
        check(json!({"$ref": "#/$defs/Loop"}), "7", json!("7"));
        check(json!({"$ref": "#/$defs/Absent"}), "7", json!("7"));
        check(
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            "7",
            json!(7),
        );
        check(json!({"enum": ["1", "2"]}), "1", json!("1"));
        check(json!({"enum": [1, 2]}), "1", json!(1));
        check(json!({"const": true}), "true", json!(true));
        check(json!({}), "7", json!("7"));
        check(json!(null), "7", json!("7"));
    }

    #[test]
    fn json_is_taken_as_it_is_and_no_schema_means_strings() {
        let given = words(&["a:=\"7\"", "b=7"]).expect("the words are right");
        let read = for_tool(given, &json!({"properties": {"a": {"type": "integer"}}}));
        assert_eq!(
            Value::from(read.expect("nothing to refuse")),
            json!({"a": "7", "b": "7"})
        );
    }

    #[test]
    fn texts_of_another_type_are_refused() {
        #[track_caller]
        fn check(property: Value, text: &str, says: &str) {
            let schema = json!({"properties": {"a": property}});
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let error = for_tool(given, &schema).expect_err("the text is of another type");
            assert!(error.to_string().starts_with(says), "{error}");
        }
        check(
            json!({"type": "integer"}),
            "x",
            "a=x: `a` is a whole number, such as 7",
        );
        check(
            json!({"type": "integer"}),
            "1.5",
            "a=1.5: `a` is a whole number",
        );
        check(json!({"type": "number"}), "", "a=: `a` is a number");
        check(
            json!({"type": "boolean"}),
            "yes",
            "a=yes: `a` is true or false",
        );
        check(
            json!({"type": "array"}),
            "x",
            "a=x: `a` is a list\n  Write it as JSON",
        );
    }

    #[test]
    fn prompts_take_strings() {
        let given = words(&["a=7", "b:=7", "c:=\"x\""]).expect("the words are right");
        let read = for_prompt(given);
        assert_eq!(
            read.into_iter().collect::<Vec<_>>(),
            [("a", "7"), ("b", "7"), ("c", "x")].map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
    }
}
