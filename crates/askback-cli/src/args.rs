//! The arguments of a tool or prompt on the command line: `key=value` and `key:=json`.

use std::collections::BTreeMap;

use askback::{
    Limits,
    forms::{Field, FieldKind, FormSchema, read_json},
};
use askback_host::{
    text::{self, given},
    words,
};
use serde_json::{Map, Value, json};

use crate::{error::Error, misplaced};

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub key: String,
    pub given: ArgumentValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue {
    /// `key=value`: a text, parsed according to the type of the argument.
    Text(String),
    Json(Value),
}

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

/// The arguments of a tool. Each text is parsed as the type that the tool's input schema declares for it; without a
/// type it stays a string.
pub fn for_tool(arguments: Vec<Argument>, schema: &Value) -> Result<Map<String, Value>, Error> {
    let read = |Argument { key, given }| {
        let value = match (given, field(schema, &key)) {
            (ArgumentValue::Json(value), _) => value,
            (ArgumentValue::Text(text), None) => Value::String(text),
            (ArgumentValue::Text(text), Some(field)) => {
                let is_null = text == "null" && allows_null(&schema["properties"][&key]);
                match read_as(&field, text) {
                    Err(_) if is_null => Value::Null,
                    read => read?,
                }
            }
        };
        Ok((key, value))
    };
    arguments.into_iter().map(read).collect()
}

/// The arguments that the tool's input schema does not know. Empty if the schema allows additional properties or
/// combines several schemas, because these may know any argument.
pub fn unknown<'a>(arguments: &'a Map<String, Value>, schema: &Value) -> Vec<&'a str> {
    const OTHERS: [&str; 11] = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "propertyNames",
    ];
    let is_open = |keyword: &str| {
        schema
            .get(keyword)
            .is_some_and(|it| *it != Value::Bool(false))
    };
    let Some(known) = schema["properties"].as_object() else {
        return Vec::new();
    };
    if OTHERS.into_iter().any(is_open) {
        return Vec::new();
    }
    let names = arguments.keys().map(String::as_str);
    names.filter(|name| !known.contains_key(*name)).collect()
}

/// The arguments of a prompt. They are strings on the wire: a JSON string is used as it is, other JSON as its text.
pub fn for_prompt(arguments: Vec<Argument>) -> BTreeMap<String, String> {
    arguments
        .into_iter()
        .map(|Argument { key, given }| {
            let text = match given {
                ArgumentValue::Text(text) | ArgumentValue::Json(Value::String(text)) => text,
                ArgumentValue::Json(value) => value.to_string(),
            };
            (key, text)
        })
        .collect()
}

/// Whether a word has the form `name=value` or `name:=json`.
pub fn names_one(word: &str) -> bool {
    let key = word.split_once('=').map(|(key, _)| key);
    let key = key.map(|key| key.strip_suffix(':').unwrap_or(key));
    key.is_some_and(|key| {
        let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        !key.is_empty() && key.chars().all(is_part)
    })
}

fn parse_one(word: &str) -> Result<Argument, Error> {
    let Some((key, value)) = word.split_once('=') else {
        let error = Error::usage(words!("expected KEY=VALUE, got `{}`", given(word)));
        return Err(match misplaced::address(word) {
            Some(url) => error.hint(words!("For a server write --url {}", given(url))),
            None => error.hint("Write key=value, or key:=json for numbers, lists and the like."),
        });
    };
    let (key, given) = match key.strip_suffix(':') {
        None => (key, ArgumentValue::Text(value.to_owned())),
        Some(key) => {
            let json = read_json(value).map_err(|error| {
                Error::usage(words!("what follows `{}:=` {}", given(key), given(error))).hint(
                    words!("For a plain text write {}={}", given(key), given(value)),
                )
            })?;
            (key, ArgumentValue::Json(json))
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

/// The form field for an argument that the tool's schema knows. Faults elsewhere in the schema do not matter.
fn field(schema: &Value, name: &str) -> Option<Field> {
    let property = schema.get("properties")?.get(name)?;
    let mut alone = json!({"type": "object", "properties": {name: property}});
    for shared in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(shared) {
            alone[shared] = definitions.clone();
        }
    }
    let form = FormSchema::parse_arguments(alone.to_string().as_bytes(), &Limits::default().forms);
    form.ok()?.fields.pop()
}

/// Whether the schema of a property allows `null`.
fn allows_null(property: &Value) -> bool {
    let of_several = |keyword: &str| property[keyword].as_array().into_iter().flatten();
    let mut types = of_several("type").chain([&property["type"]]);
    types.any(|it| it == "null")
        || of_several("anyOf")
            .chain(of_several("oneOf"))
            .any(|one| one["type"] == "null")
}

/// Parses a text as the value of a field. If the field takes any text, the server validates it.
fn read_as(field: &Field, text: String) -> Result<Value, Error> {
    let read = match &field.kind {
        FieldKind::Text(_) | FieldKind::Choice(_) => return Ok(Value::String(text)),
        FieldKind::Json(json) if !json.schema.contains_key("type") => {
            let says = |keyword: &&str| json.schema.contains_key(*keyword);
            let is_known = ["anyOf", "oneOf", "allOf", "enum", "const"]
                .iter()
                .any(says);
            let value = read_json(&text).ok().filter(|_| is_known);
            let value = value.filter(|value| field.check(value, &Limits::default().forms).is_ok());
            return Ok(value.unwrap_or(Value::String(text)));
        }
        FieldKind::Choices(_) => match read_json(&text) {
            Ok(list @ Value::Array(_)) => return Ok(list),
            _ => field.parse(&text),
        },
        _ => field.parse(&text),
    };
    read.map_err(|issue| {
        let key = given(&field.name);
        let mut error = Error::usage(words!(
            "{}={}: `{}` {}",
            key.clone(),
            given(&text),
            key.clone(),
            given(issue.message)
        ));
        if matches!(field.kind, FieldKind::Choices(_) | FieldKind::Json(_)) {
            error = error.hint(words!(
                "Write it as JSON, such as {}:='[\"one\", \"two\"]'.",
                key.clone()
            ));
        }
        // A quote would end the quoted argument.
        let json = text::json(&Value::from(text).to_string()).replace('\'', "\\u0027");
        error.hint(words!(
            "To send it anyway, write {}:='{}'",
            key,
            given(json)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Result<Vec<Argument>, Error> {
        parse(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        #[track_caller]
        fn check(line: &[&str], arguments: &[(&str, ArgumentValue)]) {
            let expected: Vec<_> = arguments
                .iter()
                .map(|(key, given)| Argument {
                    key: (*key).to_owned(),
                    given: given.clone(),
                })
                .collect();
            assert_eq!(words(line), Ok(expected));
        }
        let text = |text: &str| ArgumentValue::Text(text.to_owned());
        check(&[], &[]);
        check(&["a=b"], &[("a", text("b"))]);
        check(&["a="], &[("a", text(""))]);
        check(&["a=b=c"], &[("a", text("b=c"))]);
        check(&["a=b:=c"], &[("a", text("b:=c"))]);
        check(
            &["a:=1", "b=1"],
            &[("a", ArgumentValue::Json(json!(1))), ("b", text("1"))],
        );
        check(
            &["a:=[1,\"x\"]"],
            &[("a", ArgumentValue::Json(json!([1, "x"])))],
        );
        check(&["a b=c d"], &[("a b", text("c d"))]);
    }

    #[test]
    fn words_that_are_not_key_value_pairs_are_refused() {
        #[track_caller]
        fn check(line: &[&str], says: &str) {
            let error = words(line).expect_err("the words are wrong");
            assert!(error.to_string().contains(says), "{error}");
        }
        check(&["barcelona"], "expected KEY=VALUE, got `barcelona`");
        check(&["=x"], "has no name");
        check(&[":=1"], "has no name");
        check(&["a:=x"], "what follows `a:=` is not JSON");
        check(
            &["a:=[18446744073709551616]"],
            "is too large to be sent exactly",
        );
        check(&["a=1", "a=2"], "`a` is given twice");
        check(&["a=1", "a:=2"], "`a` is given twice");
    }

    #[test]
    fn texts_are_read_by_the_schema() {
        #[track_caller]
        fn check(property: Value, text: &str, value: Value) {
            let mut schema = json!({
                "properties": {"a": property},
                "$defs": {"N": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}},
            });
            // Other properties do not matter, however many and however odd they are.
            for other in 0..100 {
                schema["properties"][format!("b{other}")] = json!({"type": other});
            }
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let read = for_tool(given, &schema).expect("the text is of its type");
            assert_eq!(read["a"], value);
        }
        check(json!({"type": "string"}), "7", json!("7"));
        check(json!({"type": "integer"}), "7", json!(7));
        check(json!({"type": "integer"}), "-7", json!(-7));
        check(json!({"type": "number"}), "1.5", json!(1.5));
        check(json!({"type": "boolean"}), "true", json!(true));
        check(json!({"type": "boolean"}), "yes", json!(true));
        check(json!({"type": "boolean"}), "No", json!(false));
        check(json!({"type": ["boolean", "null"]}), "no", json!(false));
        check(json!({"type": ["boolean", "string"]}), "no", json!("no"));
        check(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "null",
            json!("null"),
        );
        check(
            json!({"type": "array", "items": {"enum": ["x", "y"], "type": "string"}}),
            "x, y",
            json!(["x", "y"]),
        );
        check(json!({"type": "array"}), "[1]", json!([1]));
        check(json!({"type": "object"}), "{\"b\":1}", json!({"b": 1}));
        check(json!({"type": ["integer", "null"]}), "7", json!(7));
        check(json!({"type": ["integer", "null"]}), "null", json!(null));
        let nullable = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
        check(nullable, "null", json!(null));
        check(json!({"type": ["string", "null"]}), "null", json!("null"));
        check(json!({"type": ["string", "integer"]}), "7", json!(7));
        check(json!({"$ref": "#/$defs/N"}), "7", json!(7));
        check(json!({"$ref": "#/$defs/Loop"}), "7", json!("7"));
        check(json!({"$ref": "#/$defs/Absent"}), "7", json!("7"));
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
    fn an_argument_is_unknown_only_if_the_schema_could_name_it() {
        #[track_caller]
        fn check(members: Value, expected: &[&str]) {
            let mut schema = json!({"properties": {"a": {}}});
            for (keyword, value) in members.as_object().into_iter().flatten() {
                schema[keyword] = value.clone();
            }
            let arguments = json!({"a": 1, "b": 2});
            let arguments = arguments.as_object().expect("they are");
            assert_eq!(unknown(arguments, &schema), expected, "{schema}");
        }
        check(json!({}), &["b"]);
        check(json!({"additionalProperties": false}), &["b"]);
        check(json!({"properties": {"b": true, "a": {}}}), &[]);
        check(json!({"properties": null}), &[]);
        for open in ["additionalProperties", "patternProperties", "allOf", "$ref"] {
            check(json!({open: {}}), &[]);
        }
    }

    #[test]
    fn texts_of_another_type_are_refused() {
        for (kind, text, says) in [
            ("integer", "x", "`a` must be a whole number"),
            ("integer", "1.5", "`a` must be a whole number"),
            // Parsing would change the number.
            (
                "integer",
                "18446744073709551616",
                "`a` is too large to be sent exactly",
            ),
            ("number", "", "`a` must be a number"),
            (
                "array",
                "x",
                "`a` is not JSON from character 1 on\n  Write it as JSON",
            ),
        ] {
            let schema = json!({"properties": {"a": {"type": kind}}});
            let word = format!("a={text}");
            let given = words(&[&word]).expect("the word is right");
            let error = for_tool(given, &schema).expect_err("the text is of another type");
            assert!(
                error.to_string().starts_with(&format!("{word}: {says}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_text_of_another_type_is_sent_as_the_error_says() {
        #[track_caller]
        fn check(text: &str, word: &str) {
            let schema = json!({"properties": {"n": {"type": "number"}}});
            let given = words(&[&format!("n={text}")]).expect("the word is right");
            let error = for_tool(given, &schema).expect_err("the text is of another type");
            let says = format!("To send it anyway, write {word}");
            assert_eq!(
                error.to_string().lines().nth(1).map(str::trim_start),
                Some(&*says)
            );
        }
        check("abc", r#"n:='"abc"'"#);
        check("it's \"a\"", r#"n:='"it\u0027s \"a\""'"#);
        check("a\u{202e}", r#"n:='"a\u202e"'"#);
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
