//! Compiled tool schemas, which check arguments and structured results.
//!
//! The dialects 2020-12 (the default) and draft-07 are supported (2026-07-28, basic, JSON Schema Usage). Nothing is
//! fetched: references must stay within the schema. `format` is an annotation for models and is not checked, as in
//! 2020-12.
//!
//! A server that sends a schema also sends the values to check, so both can be hostile. The cost of a check is computed
//! from the schema and the value's size before the check begins.

mod misfit;
#[cfg(all(feature = "schemars", feature = "server"))]
mod of_type;
mod shape;
mod unique;

use askback_core::{limits::Limits, protocol::Schema, quote::QuotedName};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};

pub(crate) use self::misfit::Misfit;
#[cfg(all(feature = "schemars", feature = "server"))]
pub(crate) use self::of_type::{generator, of_arguments, of_result};
use self::{
    shape::{Extent, Shape},
    unique::UniqueItems,
};

pub(crate) struct CompiledSchema {
    validator: Validator,
    shape: Shape,
    /// [`limits.forms.schema_steps`](crate::limits::FormLimits::schema_steps).
    steps: usize,
    /// [`limits.forms.pattern_text_bytes`](crate::limits::FormLimits::pattern_text_bytes).
    text_bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("it is longer than the {0} bytes that are read of a schema")]
    TooLong(usize),
    #[error("it is nested deeper than {0} levels, its references followed")]
    TooDeep(usize),
    #[error("it is too large to be checked once its references are followed")]
    TooLarge,
    #[error("its dialect is {}, and 2020-12 and draft-07 are interpreted", QuotedName(.0))]
    Dialect(String),
    #[error("it refers to {}, which is not in it and is not fetched", QuotedName(.0))]
    Reference(String),
    /// A part has its own `$id`, which changes the meaning of references in it.
    #[error("a part of it has an `$id` of its own, {}", QuotedName(.0))]
    Identified(String),
    #[error("it is not valid: {0}")]
    Invalid(String),
}

/// The supported `$schema` values, without the `#` at the end.
const DIALECTS: [(&str, Draft); 2] = [
    (
        "https://json-schema.org/draft/2020-12/schema",
        Draft::Draft202012,
    ),
    ("http://json-schema.org/draft-07/schema", Draft::Draft7),
];

/// The step limit for a check that also locates the misfit. Locating it keeps intermediate results in memory.
const STEPS_TO_LOCATE: usize = 1 << 16;

/// This many patterns of a schema may each take
/// [`limits.forms.pattern_program_bytes`](crate::limits::FormLimits::pattern_program_bytes). More patterns share that
/// total.
const PATTERNS: usize = 8;

impl CompiledSchema {
    pub(crate) fn new(schema: &Schema, limits: &Limits) -> Result<Self, SchemaError> {
        let text = schema.as_str();
        if text.len() > limits.forms.schema_bytes {
            return Err(SchemaError::TooLong(limits.forms.schema_bytes));
        }
        let schema: Value = serde_json::from_str(text)
            .map_err(|error| SchemaError::Invalid(askback_core::json::explain(&error)))?;
        let draft = dialect(&schema)?;
        let most_bytes = limits.forms.pattern_program_bytes;
        let measure = |pattern: &str| measure(pattern, draft, most_bytes);
        let shape = Shape::of(&schema, &limits.forms, &measure)?;
        if shape.size.values > limits.forms.schema_steps {
            return Err(SchemaError::TooLarge);
        }
        // The patterns of a schema share a fixed total.
        let program_bytes = match shape.patterns {
            0..=PATTERNS => most_bytes,
            many => most_bytes * PATTERNS / many,
        };
        let validator = validator(&schema, draft, program_bytes)
            .map_err(|error| SchemaError::Invalid(Misfit::of(&error).to_string()))?;
        Ok(Self {
            validator,
            shape,
            steps: limits.forms.schema_steps,
            text_bytes: limits.forms.pattern_text_bytes,
        })
    }

    /// Checks a value, given as JSON text.
    ///
    /// # Errors
    ///
    /// Where the value does not fit, and what is expected there. The error has member names but no other data of the
    /// value.
    pub(crate) fn check(&self, text: &str) -> Result<(), Misfit> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Misfit::unreadable(&error))?;
        let can_check = |extent| {
            let (steps, text_bytes) = (self.steps, self.text_bytes);
            self.shape.can_check(extent, steps, text_bytes)
        };
        let is_small = !self.shape.recursive && can_check(Extent::within(text.len()));
        if !is_small && !can_check(Extent::of(&value)) {
            return Err(Misfit::too_large());
        }
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        // With a recursive schema, locating the misfit could take unlimited time.
        let most = text.len().saturating_mul(self.shape.size.values);
        if self.shape.recursive || most > STEPS_TO_LOCATE {
            return Err(Misfit::somewhere());
        }
        match self.validator.validate(&value) {
            Ok(()) => Ok(()),
            Err(error) => Err(Misfit::of(&error)),
        }
    }
}

askback_core::debug_only!(CompiledSchema { shape });

fn validator(
    schema: &Value,
    draft: Draft,
    program_bytes: usize,
) -> Result<Validator, ValidationError<'_>> {
    let patterns = PatternOptions::regex()
        .size_limit(program_bytes)
        .dfa_size_limit(program_bytes);
    jsonschema::options()
        .offline()
        .with_draft(draft)
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .with_keyword("uniqueItems", |_, value, _| {
            let required = value == &Value::Bool(true);
            Ok(Box::new(UniqueItems { required }))
        })
        .build(schema)
}

/// Returns the compiled size of a pattern, as the smallest of a few limits that it fits.
fn measure(pattern: &str, draft: Draft, most: usize) -> usize {
    let schema = json!({"pattern": pattern});
    let fits = |bytes: &usize| validator(&schema, draft, *bytes).is_ok();
    let bounds = [256, 64, 16, 4].map(|part| most / part);
    bounds.into_iter().find(fits).unwrap_or(most)
}

fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(named) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let named = named.as_str().unwrap_or_default();
    let uri = named.strip_suffix('#').unwrap_or(named);
    let known = DIALECTS.iter().find(|(known, _)| *known == uri);
    known
        .map(|(_, draft)| *draft)
        .ok_or_else(|| SchemaError::Dialect(named.to_owned()))
}

#[cfg(test)]
mod tests {
    use askback_core::{limits::Limits, protocol::Schema};
    use serde_json::{Value, json};

    use super::{CompiledSchema, SchemaError};

    fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
        CompiledSchema::new(&Schema::new(schema).unwrap(), &Limits::default())
    }

    fn misfit(schema: &Value, value: &Value) -> Option<String> {
        let schema = compile(schema).unwrap();
        schema
            .check(&value.to_string())
            .err()
            .map(|why| why.to_string())
    }

    #[test]
    fn a_value_that_does_not_fit_is_told_where_and_what_is_expected() {
        let nested = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "maxItems": 3},
                "seat": {"enum": ["window", "aisle"]},
                "note": {"anyOf": [{"$ref": "#/$defs/note"}, {"type": "null"}]},
                "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
                "nights": {"type": "integer", "minimum": 1},
            },
            "required": ["items"],
            "additionalProperties": false,
            "$defs": {
                "item": {
                    "type": "object",
                    "properties": {"amount": {"type": "number"}},
                    "required": ["amount"],
                },
                "note": {
                    "type": "object",
                    "properties": {"text": {"type": ["string", "null"]}},
                },
            },
        });
        for (value, expected) in [
            (json!({"items": [{"amount": 1}, {"amount": 2.5}]}), None),
            (json!({"items": [], "note": null}), None),
            (json!({"items": [], "nights": 3.0}), None),
            (json!({}), Some("`items` is missing")),
            (json!([]), Some("expected an object")),
            (
                json!({"items": [{"amount": 1}, {"amount": "many"}]}),
                Some("items[1].amount: expected a number"),
            ),
            (
                json!({"items": [{}]}),
                Some("items[0]: `amount` is missing"),
            ),
            (
                json!({"items": [], "note": {"text": 1}}),
                Some("note.text: expected a string or null"),
            ),
            (
                json!({"items": [], "note": 1}),
                Some("note: fits none of the alternatives"),
            ),
            (
                json!({"items": [], "seat": "lap"}),
                Some(r#"seat: must be one of "window", "aisle""#),
            ),
            (
                json!({"items": [], "extra": 1}),
                Some("`extra` is not known"),
            ),
            (
                json!({"items": [], "nights": 0}),
                Some("nights: it is less than the minimum of 1"),
            ),
            (
                json!({"items": [], "code": "abc"}),
                Some(r#"code: it does not match "^[A-Z]{3}$""#),
            ),
        ] {
            assert_eq!(misfit(&nested, &value).as_deref(), expected, "{value}");
        }
    }

    /// A tokio worker has a stack of 2 MiB, and a check is not the first frame on it.
    #[test]
    fn the_deepest_check_takes_half_of_a_worker_threads_stack() {
        const STACK: usize = 1 << 20;
        let deepest = |keyword: &'static str, levels: usize| {
            let mut inner = json!({"$ref": "#"});
            for _ in 0..levels {
                inner = json!({keyword: [inner]});
            }
            json!({"properties": {"a": inner}})
        };
        let nested = |depth: usize| {
            let mut value = json!({"a": 1});
            for _ in 1..depth {
                value = json!({"a": value});
            }
            value
        };
        let check = move || {
            ["allOf", "anyOf", "oneOf"].map(|keyword| {
                let schema = compile(&deepest(keyword, 14)).unwrap();
                let fits = |depth: &usize| schema.check(&nested(*depth).to_string()).is_ok();
                (1..127).filter(fits).count()
            })
        };
        let thread = std::thread::Builder::new().stack_size(STACK);
        let checked = thread.spawn(check).unwrap().join().unwrap();
        // The deepest schema that is accepted has a depth in this range.
        assert!(
            checked.iter().all(|checked| (60..126).contains(checked)),
            "{checked:?}"
        );
    }

    #[test]
    fn the_place_of_a_misfit_is_short_and_in_one_line() {
        let number = json!({"additionalProperties": {"additionalProperties": {"type": "number"}}});
        let long = "x".repeat(1000);
        for (outer, inner, expected) in [
            ("$a-1", "b_2", "$a-1.b_2: expected a number".to_owned()),
            ("a.b", "c d", r#""a.b"."c d": expected a number"#.to_owned()),
            (
                "a\u{1b}[2J\n",
                "é",
                r#""a\u{1b}[2J\n"."é": expected a number"#.to_owned(),
            ),
            (
                &long,
                "end",
                format!("…{}.end: expected a number", "x".repeat(252)),
            ),
        ] {
            let found = misfit(&number, &json!({outer: {inner: "no number"}}));
            assert_eq!(found, Some(expected));
        }
        let odd = misfit(&number, &json!({"a": {"\u{1b}".repeat(1000): "no number"}}));
        assert!(odd.is_some_and(|odd| odd.len() < 400));
    }

    #[test]
    fn the_words_of_a_misfit_are_short_and_in_one_line_whatever_a_schema_holds() {
        let odd = "\u{1b}]0;owned\u{7}\n2026-11-22 INFO approved \u{202e}";
        for (schema, value) in [
            (json!({"pattern": odd}), json!("x")),
            (json!({"const": odd}), json!("x")),
            (json!({"const": "y".repeat(200_000)}), json!("x")),
            (json!({"enum": [odd, "x".repeat(100_000)]}), json!("x")),
            (json!({"not": {"const": odd}}), json!(odd)),
            (json!({"required": [odd]}), json!({})),
            (json!({"additionalProperties": false}), json!({odd: 1})),
            (
                json!({"additionalProperties": false}),
                json!({"\u{1b}".repeat(1000): 1}),
            ),
            (json!({"propertyNames": {"maxLength": 1}}), json!({odd: 1})),
            (json!({"dependentRequired": {"a": [odd]}}), json!({"a": 1})),
        ] {
            let why = misfit(&schema, &value).unwrap();
            let plain = |char: char| char != '\u{202e}' && !char.is_control();
            assert!(why.len() < 1024 && why.chars().all(plain), "{why:?}");
        }
        let digits = misfit(&json!({"pattern": r"^\d+$"}), &json!("x"));
        assert_eq!(digits.as_deref(), Some(r#"it does not match "^\d+$""#));
    }

    #[test]
    fn items_that_are_equal_are_found() {
        let unique = json!({"uniqueItems": true});
        for (items, fits) in [
            (json!([1, 2, "1", [1], {"a": 1}, null, true]), true),
            (json!([1, 1.0]), false),
            (json!([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]), false),
            (json!({"a": 1}), true),
        ] {
            let expected = (!fits).then_some("it holds the same item twice");
            assert_eq!(misfit(&unique, &items).as_deref(), expected, "{items}");
        }
        assert_eq!(misfit(&json!({"uniqueItems": false}), &json!([1, 1])), None);
    }

    // Shows BA-28, BA-29, BA-30, BA-70.
    #[test]
    fn a_schema_is_read_by_the_dialect_it_names() {
        // `prefixItems` is new in 2020-12, in which `items` applies to the rest. In draft-07, an array in `items` means
        // the same.
        let newest = json!({"prefixItems": [{"type": "string"}]});
        let tuple = json!({"items": [{"type": "string"}]});
        let in_dialect = |schema: &Value, dialect: &str| {
            let mut schema = schema.clone();
            schema["$schema"] = dialect.into();
            schema
        };
        let (newest_uri, draft_07) = (super::DIALECTS[0].0, super::DIALECTS[1].0);
        for (schema, fits) in [
            (newest.clone(), false),
            (in_dialect(&newest, newest_uri), false),
            (in_dialect(&newest, draft_07), true),
            (in_dialect(&tuple, draft_07), false),
            (in_dialect(&tuple, &format!("{draft_07}#")), false),
        ] {
            let found = misfit(&schema, &json!([1]));
            assert_eq!(found.is_none(), fits, "{schema}: {found:?}");
        }
        for dialect in [
            "http://json-schema.org/draft-04/schema#",
            "https://json-schema.org/draft/2019-09/schema",
            "https://example.com/mine",
            "",
        ] {
            let refused = compile(&json!({"$schema": dialect})).err();
            assert_eq!(refused, Some(SchemaError::Dialect(dialect.to_owned())));
        }
        let words = SchemaError::Dialect("https://example.com/mine".to_owned()).to_string();
        let expected =
            "its dialect is `https://example.com/mine`, and 2020-12 and draft-07 are interpreted";
        assert_eq!(words, expected);
    }

    // Shows BA-33, BA-35, TO-42.
    #[test]
    fn a_schema_refers_to_what_stands_in_it() {
        for reference in [
            "https://example.com/schema.json",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
            "other.json",
            "#/$defs/missing",
            "#missing",
        ] {
            for keyword in ["$ref", "$dynamicRef"] {
                let schema = json!({"properties": {"a": {keyword: reference}}});
                let refused = compile(&schema).err();
                let expected = SchemaError::Reference(reference.to_owned());
                assert_eq!(refused, Some(expected), "{schema}");
            }
        }
        let part = json!({"$defs": {"a": {"$id": "https://example.com/a"}}});
        let refused = compile(&part).err();
        assert!(matches!(refused, Some(SchemaError::Identified(_))));
        for schema in [
            json!({"$id": "https://example.com/a", "$ref": "#/$defs/a~1b", "$defs": {"a/b": {}}}),
            json!({"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}),
            json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}),
            json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}),
            json!({"const": {"$ref": "https://example.com", "$id": "a"}}),
        ] {
            assert!(compile(&schema).is_ok(), "{schema}");
        }
    }

    // Shows BA-32.
    #[test]
    fn a_schema_that_breaks_the_rules_of_its_dialect_is_refused() {
        for (schema, why) in [
            (
                json!({"type": "thing"}),
                "it is not valid: type: fits none of the alternatives",
            ),
            (
                json!({"properties": {"a": {"minimum": "1"}}}),
                "it is not valid: properties.a.minimum: expected a number",
            ),
            (
                json!({"properties": {"a": {"pattern": "(?=a)b"}}}),
                "it is not valid: properties.a.pattern: it is not a \"regex\"",
            ),
        ] {
            let refused = compile(&schema).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some(why), "{schema}");
        }
    }

    /// Each of `levels` parts refers to the next one twice.
    fn doubling(levels: usize, keyword: &str) -> Value {
        let mut parts = serde_json::Map::new();
        for at in 0..levels {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            parts.insert(at.to_string(), json!({keyword: [next, next]}));
        }
        parts.insert(levels.to_string(), json!({"type": "string"}));
        json!({"$defs": parts, "$ref": "#/$defs/0"})
    }

    // Shows BA-36.
    #[test]
    fn a_schema_cannot_make_a_check_take_long() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            assert_eq!(
                compile(&doubling(25, keyword)).err(),
                Some(SchemaError::TooDeep(64)),
                "{keyword}"
            );
            let mut limits = Limits::default();
            limits.forms.schema_depth = 1000;
            let schema = Schema::new(&doubling(40, keyword)).unwrap();
            let refused = CompiledSchema::new(&schema, &limits).err();
            assert_eq!(refused, Some(SchemaError::TooLarge), "{keyword}");
        }
        let mut deep = json!({});
        for _ in 0..40 {
            deep = json!({"items": {"not": deep}});
        }
        assert_eq!(compile(&deep).err(), Some(SchemaError::TooDeep(64)));
        let long = json!({"description": "x".repeat(Limits::default().forms.schema_bytes)});
        assert!(matches!(compile(&long), Err(SchemaError::TooLong(_))));
        let twice = json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}});
        assert!(compile(&twice).is_err());

        // The cost of a recursive schema grows with the depth of the value: 3 to the power of 100 steps would never
        // end.
        let mut value = json!(1);
        for _ in 0..100 {
            value = json!({"a": value});
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let again = json!({"properties": {"a": {"$ref": "#"}}});
            let schema = json!({"type": "object", keyword: [again, again, again]});
            let expected = "something in it is not what the schema says";
            assert_eq!(
                misfit(&schema, &value).as_deref(),
                Some(expected),
                "{keyword}"
            );
        }
        assert_eq!(
            misfit(&json!({"$ref": "#"}), &json!(1)),
            None,
            "a reference to itself says nothing"
        );
    }

    #[test]
    fn a_part_is_followed_once_however_references_to_it_are_written() {
        let nested = |references: [&str; 3]| {
            let parts = references.map(|reference| json!({"$ref": reference}));
            json!({
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$anchor": "here", "properties": {"a": {"anyOf": parts}}}},
            })
        };
        let same = compile(&nested(["#/$defs/a"; 3])).unwrap().shape;
        let written_otherwise = nested(["#/%24defs/a", "#/$defs/%61", "#here"]);
        assert_eq!(compile(&written_otherwise).unwrap().shape, same);
    }

    #[test]
    fn schemas_with_repeated_evaluation_are_refused() {
        // Each level checks the one below again to find out what it evaluated.
        for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
            let mut nested = json!({});
            for _ in 0..25 {
                nested = json!({"if": nested, "then": true, keyword: {"type": "number"}});
            }
            assert_eq!(
                compile(&nested).err(),
                Some(SchemaError::TooLarge),
                "{keyword}"
            );
            let again = json!({"anyOf": [{"$ref": "#"}], keyword: false});
            assert_eq!(
                compile(&again).err(),
                Some(SchemaError::TooLarge),
                "{keyword}"
            );
        }
        let closed = json!({"properties": {"a": {}}, "unevaluatedProperties": false});
        assert_eq!(misfit(&closed, &json!({"a": 1})), None);
        assert!(misfit(&closed, &json!({"b": 1})).is_some());
    }

    #[test]
    fn a_part_in_another_dialect_is_refused() {
        for (dialect, part) in [
            (
                "https://json-schema.org/draft/2019-09/schema",
                json!({"$recursiveRef": "#"}),
            ),
            (
                "http://json-schema.org/draft-04/schema#",
                json!({"id": "http://example.com/a"}),
            ),
        ] {
            let mut part = part;
            part["$schema"] = dialect.into();
            let schema = json!({"properties": {"a": {"anyOf": [part]}}});
            let refused = Some(SchemaError::Dialect(dialect.to_owned()));
            assert_eq!(compile(&schema).err(), refused, "{schema}");
        }
        let named = json!({"properties": {"$schema": {"type": "string"}}});
        assert!(compile(&named).is_ok());
    }

    #[test]
    fn patterns_are_given_no_long_text_and_take_little_room_together() {
        let limits = Limits::default();
        let pattern = json!({"properties": {"a": {"pattern": "^x*$"}}});
        let fits = json!({"a": "x".repeat(limits.forms.pattern_text_bytes)});
        assert_eq!(misfit(&pattern, &fits), None);
        let long = json!({"a": "x".repeat(limits.forms.pattern_text_bytes + 1)});
        assert!(misfit(&pattern, &long).is_some());
        let named = json!({"patternProperties": {"^x*$": {}}});
        let long = json!({"x".repeat(limits.forms.pattern_text_bytes + 1): 1});
        assert!(misfit(&named, &long).is_some());

        let large = |index: usize| json!({"pattern": format!(r"\p{{L}}a{index}")});
        let many: Vec<_> = (0..1000).map(large).collect();
        assert!(matches!(
            compile(&json!({"allOf": many})),
            Err(SchemaError::Invalid(_))
        ));
        let one: Vec<_> = (0..1).map(large).collect();
        assert!(compile(&json!({"allOf": one})).is_ok());
    }

    #[test]
    fn a_long_text_that_many_parts_read_is_refused() {
        let part = json!({"minLength": 1});
        let mut schema = doubling(15, "allOf");
        schema["$defs"]["15"] = part;
        let long = json!("x".repeat(4 << 20));
        let refused = misfit(&schema, &long);
        assert!(
            refused.is_some_and(|why| why.contains("too large")),
            "a long text is read once"
        );
    }

    fn is_checked(schema: &Value, value: &str, steps: usize) -> bool {
        let mut limits = Limits::default();
        limits.forms.schema_steps = steps;
        let schema = CompiledSchema::new(&Schema::new(schema).unwrap(), &limits).unwrap();
        let misfit = schema.check(value).err().map(|why| why.to_string());
        misfit.is_none_or(|why| !why.contains("too large"))
    }

    #[test]
    fn slow_checks_count_as_many_steps() {
        const STEPS: usize = 64 << 10;
        let letters = |count: usize| json!(vec!["ab".repeat(4); count]).to_string();
        let numbers = |number: &str| format!("[{}]", [number; 100].join(","));
        let large = "[ab][ab]{3000}[0-9]";
        let twice = json!({"items": {"$ref": "#/$defs/a"}, "contains": {"$ref": "#/$defs/a"},
            "$defs": {"a": {"pattern": "^[ab]{100}$"}}});
        for (schema, value, expected) in [
            // A larger pattern program makes matching slower.
            (json!({"items": {"pattern": large}}), letters(1), true),
            (json!({"items": {"pattern": large}}), letters(4), false),
            (json!({"items": {"pattern": "^x*$"}}), letters(100), true),
            (json!({"patternProperties": {large: {}}}), letters(1), true),
            (json!({"patternProperties": {large: {}}}), letters(4), false),
            // A pattern counts once per reference to it.
            (twice["$defs"]["a"].clone(), letters(16), true),
            (twice, letters(16), false),
            // Fractions grow with the exponents of the operands.
            (json!({"items": {"multipleOf": 0.1}}), numbers("1.5"), true),
            (
                json!({"items": {"multipleOf": 0.1}}),
                numbers("1e300"),
                false,
            ),
            (
                json!({"items": {"multipleOf": 0.1}}),
                numbers("1e-300"),
                false,
            ),
            (
                json!({"items": {"multipleOf": 1e-8}}),
                numbers("1e-8"),
                true,
            ),
            (
                json!({"items": {"multipleOf": 1e-300}}),
                numbers("1.5"),
                false,
            ),
            (json!({"items": {"minimum": 0.1}}), numbers("1e300"), true),
        ] {
            let checked = is_checked(&schema, &value, STEPS);
            assert_eq!(checked, expected, "{schema} {value}");
        }
    }

    #[test]
    fn a_value_that_is_too_large_for_its_schema_is_refused() {
        let mut limits = Limits::default();
        limits.forms.schema_steps = 1000;
        let schema = Schema::new(&json!({"items": {"type": "integer"}})).unwrap();
        let schema = CompiledSchema::new(&schema, &limits).unwrap();
        let numbers = |count: usize| Value::from(vec![1; count]).to_string();
        assert!(schema.check(&numbers(100)).is_ok());
        let refused = schema.check(&numbers(1000)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it is too large to be checked by the schema"
        );
    }
}
