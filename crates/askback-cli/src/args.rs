//! The arguments of a tool or prompt, as they stand on the command line: `key=value` and
//! `key:=json`.

mod unfit;

use std::collections::{BTreeMap, BTreeSet};

use askback_core::forms::{BooleanField, Field, read_json};
use askback_host::{
    text::{self, Words, given},
    words,
};
use serde_json::{Map, Value};

pub use self::unfit::{Unfit, Wanted, unfit};
use crate::{error::Error, misplaced};

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub key: String,
    pub given: Given,
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// `key=value`: a text, to be read as its type wants.
    Text(String),
    /// `key:=json`.
    Json(Value),
}

/// The place where arguments are written, which says how one is sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A command line, of which a shell takes the quotes.
    Shell,
    Line,
    /// An answer to a form, to which no value of another type is sent.
    Form,
}

/// Reads the words of a command line.
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
pub fn for_tool(
    arguments: Vec<Argument>,
    schema: &Value,
    place: Place,
) -> Result<Map<String, Value>, Error> {
    arguments
        .into_iter()
        .map(|Argument { key, given }| {
            let value = match given {
                Given::Json(value) => value,
                Given::Text(text) => {
                    let types = declared_types(schema, &schema["properties"][&key]);
                    read_as(&key, text, &types, place)?
                }
            };
            Ok((key, value))
        })
        .collect()
}

/// The arguments of which a tool's input schema says nothing, where it could: a schema that takes others
/// expressly, or is put together of several, may know any.
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

/// Whether a word has the shape of an argument with a name.
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
        let error = Error::usage(words!("`{}` is no argument", given(word)));
        return Err(match misplaced::address(word) {
            Some(url) => error.hint(words!("For a server write --url {}", given(url))),
            None => error.hint("Write key=value, or key:=json for numbers, lists and the like."),
        });
    };
    let (key, given) = match key.strip_suffix(':') {
        None => (key, Given::Text(value.to_owned())),
        Some(key) => {
            let json = read_json(value).map_err(|error| {
                Error::usage(words!("what follows `{}:=` {}", given(key), given(error))).hint(
                    words!("For a plain text write {}={}", given(key), given(value)),
                )
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

/// The most parts of a schema that are looked at for one argument; a property with more of them
/// declares nothing.
const PARTS: usize = 1_000;

/// A type that a schema may declare, in the order in which an error names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
    String,
}

impl Type {
    /// The type of that name; none where JSON Schema has none.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            "null" => Self::Null,
            "string" => Self::String,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether a text that is this JSON, if it is any, is of the type. That every text is a string
    /// is not asked here.
    fn takes(self, json: Option<&Value>) -> bool {
        match (self, json) {
            (Self::Integer, Some(Value::Number(number))) => {
                // From 2^53 on, another number may have been written than was read.
                let is_exact = |n: f64| n.fract() == 0.0 && n.abs() < 9_007_199_254_740_992.0;
                !number.is_f64() || number.as_f64().is_some_and(is_exact)
            }
            (Self::Number, Some(Value::Number(_)))
            | (Self::Boolean, Some(Value::Bool(_)))
            | (Self::Null, Some(Value::Null))
            | (Self::Array, Some(Value::Array(_)))
            | (Self::Object, Some(Value::Object(_))) => true,
            _ => false,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Integer => "a whole number, such as 7",
            Self::Number => "a number, such as 1.5",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "an object",
            Self::Null => "null",
            Self::String => "a text",
        }
    }
}

/// The types a property may have; none where it does not say, or says it in too many parts.
///
/// The schema is the server's. So each reference is followed once, and everything that is looked at
/// is counted: what a few lines of references come to when they are written out has no bound.
fn declared_types(root: &Value, property: &Value) -> BTreeSet<Type> {
    types_within(PARTS, root, property).unwrap_or_default()
}

fn types_within(mut left: usize, root: &Value, property: &Value) -> Option<BTreeSet<Type>> {
    let mut types = BTreeSet::new();
    let mut followed = BTreeSet::new();
    let mut schemas = vec![property];
    let mut count = || {
        left = left.checked_sub(1)?;
        Some(())
    };
    while let Some(schema) = schemas.pop() {
        match &schema["type"] {
            Value::String(name) => {
                types.extend(Type::named(name));
                continue;
            }
            Value::Array(names) => {
                for name in names {
                    count()?;
                    types.extend(name.as_str().and_then(Type::named));
                }
                continue;
            }
            _ => {}
        }
        let reference = schema["$ref"].as_str();
        if let Some(pointer) = reference.and_then(|to| to.strip_prefix('#')) {
            if followed.insert(pointer) {
                count()?;
                schemas.extend(root.pointer(pointer));
            }
            continue;
        }
        for union in ["anyOf", "oneOf", "allOf"] {
            for member in schema[union].as_array().into_iter().flatten() {
                count()?;
                schemas.push(member);
            }
        }
        let fixed = schema["enum"].as_array().into_iter().flatten();
        for value in fixed.chain(schema.get("const")) {
            count()?;
            types.insert(Type::of(value));
        }
    }
    Some(types)
}

/// Reads a text as one of its types. A string takes everything, so it comes last but for the words of a yes or no.
fn read_as(key: &str, text: String, types: &BTreeSet<Type>, place: Place) -> Result<Value, Error> {
    let json = serde_json::from_str::<Value>(&text).ok();
    if types.iter().any(|one| one.takes(json.as_ref())) {
        return Ok(json.unwrap_or_default());
    }
    if types.is_empty() || types.contains(&Type::String) {
        return Ok(Value::String(text));
    }
    if types.contains(&Type::Boolean)
        && let Ok(value) = Field::new(key, BooleanField::default()).parse(&text)
    {
        return Ok(value);
    }
    let in_words = types.iter().map(|one| Words::from(one.in_words()));
    let mut error = Error::usage(words!(
        "{}={}: `{}` is {}",
        given(key),
        given(&text),
        given(key),
        Words::join(in_words, ", or ")
    ));
    if types.contains(&Type::Array) || types.contains(&Type::Object) {
        error = error.hint(words!(
            "Write it as JSON, such as {}:='[\"one\", \"two\"]'.",
            given(key)
        ));
    }
    let json = text::json(&Value::from(text).to_string());
    Err(match place {
        Place::Shell => {
            // It would end the quotes.
            let json = json.replace('\'', "\\u0027");
            error.hint(words!(
                "{}:='{}' sends it all the same.",
                given(key),
                given(json)
            ))
        }
        Place::Line => error.hint(words!(
            "{}:={} sends it all the same.",
            given(key),
            given(json)
        )),
        Place::Form => error,
    })
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
            let schema = json!({
                "properties": {"a": property},
                "$defs": {"N": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}},
            });
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let read = for_tool(given, &schema, Place::Line).expect("the text is of its type");
            assert_eq!(read["a"], value);
        }
        check(json!({"type": "string"}), "7", json!("7"));
        check(json!({"type": "string"}), "true", json!("true"));
        check(json!({"type": "integer"}), "7", json!(7));
        check(json!({"type": "integer"}), "-7", json!(-7));
        check(json!({"type": "number"}), "1.5", json!(1.5));
        check(json!({"type": "boolean"}), "true", json!(true));
        check(json!({"type": "boolean"}), "yes", json!(true));
        check(json!({"type": "boolean"}), "No", json!(false));
        check(json!({"type": ["boolean", "null"]}), "no", json!(false));
        check(json!({"type": ["boolean", "string"]}), "no", json!("no"));
        check(
            json!({"type": ["boolean", "string"]}),
            "false",
            json!(false),
        );
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
    fn a_schema_that_branches_into_itself_is_read_once() {
        #[track_caller]
        fn check(members: Vec<Value>, text: &str, value: Value) {
            let schema = json!({
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"anyOf": members}},
            });
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let read = for_tool(given, &schema, Place::Line).expect("the text is of its type");
            assert_eq!(read["a"], value);
        }
        let again = |times| vec![json!({"$ref": "#/$defs/A"}); times];
        let many = |times, leaf: Value| [again(times), vec![leaf]].concat();
        check(many(80, json!({"type": "integer"})), "7", json!(7));
        check(
            many(8, json!({"type": vec!["integer"; 200]})),
            "7",
            json!(7),
        );
        // Too much to look at declares nothing.
        check(many(2_000, json!({"type": "integer"})), "7", json!("7"));
        check(
            vec![json!({"type": vec!["integer"; 2_000]})],
            "7",
            json!("7"),
        );
        check(vec![json!({"enum": vec![1; 2_000]})], "7", json!("7"));
    }

    #[test]
    fn json_is_taken_as_it_is_and_no_schema_means_strings() {
        let given = words(&["a:=\"7\"", "b=7"]).expect("the words are right");
        let read = for_tool(
            given,
            &json!({"properties": {"a": {"type": "integer"}}}),
            Place::Line,
        );
        assert_eq!(
            Value::from(read.expect("nothing to refuse")),
            json!({"a": "7", "b": "7"})
        );
    }

    #[test]
    fn an_argument_is_unknown_where_the_schema_could_know_it() {
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
        #[track_caller]
        fn check(property: Value, text: &str, says: &str) {
            let schema = json!({"properties": {"a": property}});
            let given = words(&[&format!("a={text}")]).expect("the word is right");
            let error =
                for_tool(given, &schema, Place::Line).expect_err("the text is of another type");
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
        // It would be read as another number.
        check(
            json!({"type": "integer"}),
            "18446744073709551616",
            "a=18446744073709551616: `a` is a whole number",
        );
        check(json!({"type": "number"}), "", "a=: `a` is a number");
        check(
            json!({"type": "boolean"}),
            "yes, please",
            "a=yes, please: `a` is true or false",
        );
        check(
            json!({"type": "array"}),
            "x",
            "a=x: `a` is a list\n  Write it as JSON",
        );
    }

    #[test]
    fn a_text_of_another_type_is_sent_as_the_error_says() {
        #[track_caller]
        fn check(place: Place, text: &str, says: Option<&str>) {
            let schema = json!({"properties": {"n": {"type": "number"}}});
            let given = words(&[&format!("n={text}")]).expect("the word is right");
            let error = for_tool(given, &schema, place).expect_err("the text is of another type");
            let hint = error.to_string();
            let hint = hint.lines().nth(1).map(str::trim_start);
            assert_eq!(hint, says);
        }
        let sends = |word| format!("{word} sends it all the same.");
        check(Place::Shell, "abc", Some(&sends(r#"n:='"abc"'"#)));
        check(
            Place::Shell,
            "it's \"a\"",
            Some(&sends(r#"n:='"it\u0027s \"a\""'"#)),
        );
        check(Place::Line, "it's", Some(&sends(r#"n:="it's""#)));
        check(Place::Line, "a\u{202e}", Some(&sends(r#"n:="a\u202e""#)));
        check(Place::Form, "abc", None);
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
