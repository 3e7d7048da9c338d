//! Properties of all forms and answers.

use askback_core::{
    ask::{AskError, Question, QuestionDigest},
    canonical::digest_of,
    forms::{
        BooleanField, ChoiceField, ChoicesField, Content, Dialect, Field, FieldKind, FormSchema,
        NumberField, Opt, SharedForm, TextField, TextFormat, lower,
    },
    limits::{FormLimits, Limits},
    protocol::ElicitParams,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Number, Value, json};

const PLAIN: Dialect = Dialect {
    enum_names: true,
    multi_choice: false,
    numbers: true,
    text_defaults: true,
    pattern: false,
    empty_end: true,
};

/// Valid and invalid texts for each format.
const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "é",
    "👩‍👩‍👧",
    "A1",
    "b-2",
    "2026-06-15",
    "2026-02-29",
    "2024-02-29",
    "2026-06-15T09:30:00Z",
    "2026-06-15T09:30:00",
    "2026-06-15T24:00:00Z",
    "2026-06-15T09:30:00+01:00",
    "ada@example.com",
    "ada@",
    "@example.com",
    "a b@c",
    "https://example.com/a?b#c",
    "urn:a:b",
    "/a",
    "a b:c",
];

const PATTERNS: &[&str] = &[
    "^a", "b$", "^[a-z]+$", r"^\d{4}", r"\w", "^.{2,4}$", "é", "^$",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(TEXTS).prop_map(String::from), 1 => "\\PC{0,8}"]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-20..20_i64).prop_map(Number::from),
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        // Eighths are exact in binary and have few decimals.
        (-160..160_i32).prop_map(|eighths| Number::from_f64(f64::from(eighths) / 8.0).unwrap()),
    ]
}

fn bounds() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    (option::of(0..4_u64), option::of(0..4_u64))
}

fn options() -> impl Strategy<Value = Vec<Opt>> {
    let values = proptest::collection::btree_set("[a-c.,é-]{1,3}", 1..5);
    (values, any::<bool>()).prop_map(|(values, titled)| {
        let title = |value: &String| titled.then(|| format!("Option {value}"));
        let options = values.into_iter().map(|value| Opt {
            title: title(&value),
            value,
        });
        options.collect()
    })
}

fn kind() -> impl Strategy<Value = FieldKind> {
    let formats = select(TextFormat::ALL);
    let pattern = option::weighted(0.3, select(PATTERNS).prop_map(String::from));
    let text = (
        bounds(),
        pattern,
        option::weighted(0.4, formats),
        option::of(text()),
    );
    let number = (
        any::<bool>(),
        option::of(number()),
        option::of(number()),
        option::of(number()),
    );
    prop_oneof![
        text.prop_map(|((min_length, max_length), pattern, format, default)| {
            FieldKind::Text(TextField {
                min_length,
                max_length,
                pattern,
                format,
                default,
            })
        }),
        number.prop_map(|(integer, minimum, maximum, default)| {
            // Bounds of a whole-number field are read as whole numbers.
            let given = |bound: Option<Number>| bound.filter(|n| !integer || !n.is_f64());
            FieldKind::Number(NumberField {
                integer,
                minimum: given(minimum),
                maximum: given(maximum),
                default: given(default),
            })
        }),
        option::of(any::<bool>()).prop_map(|default| FieldKind::Boolean(BooleanField { default })),
        (options(), any::<bool>(), option::of(0..4_usize)).prop_map(|(options, names, default)| {
            FieldKind::Choice(ChoiceField {
                enum_names: names && options[0].title.is_some(),
                default: default.and_then(|at| Some(options.get(at)?.value.clone())),
                options,
            })
        }),
        (options(), bounds(), option::of(any::<u8>())).prop_map(
            |(options, (min_items, max_items), default)| {
                let default = default.map(|mask| subset(&options, mask));
                FieldKind::Choices(ChoicesField {
                    options,
                    min_items,
                    max_items,
                    default,
                })
            }
        ),
    ]
}

/// The options whose bit is set.
fn subset(options: &[Opt], mask: u8) -> Vec<String> {
    let chosen = options
        .iter()
        .enumerate()
        .filter(|(at, _)| mask >> at & 1 == 1);
    chosen.map(|(_, option)| option.value.clone()).collect()
}

fn field() -> impl Strategy<Value = Field> {
    let words = || option::weighted(0.3, "\\PC{0,12}");
    (words(), words(), any::<bool>(), kind()).prop_map(|(title, description, required, kind)| {
        Field {
            name: String::new(),
            title,
            description,
            required,
            kind,
            not_secret: false,
        }
    })
}

/// Forms that can be written and read, but may make no sense.
fn form() -> impl Strategy<Value = FormSchema> {
    let names = proptest::collection::hash_set("[a-c.é-]{1,4}", 0..6);
    let annotations = vec(("[x-z$]{1,3}", any::<bool>().prop_map(Value::from)), 0..2);
    (names, vec(field(), 6), annotations).prop_map(|(names, fields, annotations)| FormSchema {
        fields: names
            .into_iter()
            .zip(fields)
            .map(|(name, field)| Field { name, ..field })
            .collect(),
        annotations: annotations.into_iter().collect(),
    })
}

/// Forms that make sense: faulty parts are removed.
fn sound_form() -> impl Strategy<Value = FormSchema> {
    form().prop_map(|mut form| {
        form.fields.retain(|field| {
            let alone = FormSchema {
                fields: vec![field.clone()],
                ..FormSchema::default()
            };
            alone.lint(&FormLimits::default()).is_ok()
        });
        form
    })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        number().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

/// Values that usually answer a field.
fn answer(kind: &FieldKind) -> BoxedStrategy<Value> {
    let fitting = match kind {
        FieldKind::Text(_) => text().prop_map(Value::from).boxed(),
        FieldKind::Number(_) => number().prop_map(Value::from).boxed(),
        FieldKind::Boolean(_) => any::<bool>().prop_map(Value::from).boxed(),
        FieldKind::Choice(choice) => {
            let values: Vec<_> = choice
                .options
                .iter()
                .map(|option| option.value.clone())
                .collect();
            select(values).prop_map(Value::from).boxed()
        }
        FieldKind::Choices(choices) => {
            let options = choices.options.clone();
            any::<u8>()
                .prop_map(move |mask| subset(&options, mask).into())
                .boxed()
        }
        _ => unreachable!("there is no other kind"),
    };
    prop_oneof![6 => fitting, 1 => scalar()].boxed()
}

fn form_and_answer(
    form: impl Strategy<Value = FormSchema>,
) -> impl Strategy<Value = (FormSchema, Content)> {
    form.prop_flat_map(|form| {
        let answers: Vec<_> = form
            .fields
            .iter()
            .map(|field| option::weighted(0.8, answer(&field.kind)))
            .collect();
        let names: Vec<_> = form.fields.iter().map(|field| field.name.clone()).collect();
        let content = answers.prop_map(move |answers| {
            let given = names.iter().cloned().zip(answers);
            given
                .filter_map(|(name, value)| Some((name, value?)))
                .collect::<Content>()
        });
        (Just(form), content)
    })
}

/// Removes the fields with faulty answers.
fn without_faults(mut form: FormSchema, mut content: Content) -> (FormSchema, Content) {
    if let Err(issues) = form.check(&content, &FormLimits::default()) {
        let faulty = |name: &String| issues.0.iter().any(|issue| issue.path == *name);
        form.fields.retain(|field| !faulty(&field.name));
        content.retain(|name, _| !faulty(name));
    }
    (form, content)
}

/// The answer to the lowered form that means this answer.
fn flatten(form: &FormSchema, lowered: &FormSchema, content: &Content) -> Content {
    let mut asked = lowered.fields.iter();
    let mut flat = Content::new();
    for field in &form.fields {
        let given = content.get(&field.name);
        let FieldKind::Choices(choices) = &field.kind else {
            let name = asked.next().unwrap().name.clone();
            flat.extend(given.map(|value| (name, value.clone())));
            continue;
        };
        for option in &choices.options {
            let name = asked.next().unwrap().name.clone();
            if let Some(Value::Array(chosen)) = given {
                flat.insert(name, chosen.contains(&option.value.as_str().into()).into());
            }
        }
    }
    flat
}

/// The digest of the question with this form and message.
fn digest(form: &SharedForm, message: &str) -> Result<QuestionDigest, AskError> {
    let asked = ElicitParams::form(message, form.clone());
    Question::new(asked.into(), &Limits::default()).map(|question| question.digest)
}

fn schema_like() -> impl Strategy<Value = Value> {
    let words = || {
        select(vec![
            "type",
            "properties",
            "required",
            "string",
            "number",
            "integer",
            "boolean",
            "array",
            "object",
            "enum",
            "enumNames",
            "oneOf",
            "anyOf",
            "const",
            "title",
            "items",
            "default",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "pattern",
            "format",
            "email",
            "date-time",
            "$ref",
            "f",
            "(",
            "^a",
        ])
    };
    let leaf = prop_oneof![words().prop_map(Value::from), scalar(), Just(Value::Null),];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((words().prop_map(String::from), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A schema with a valid frame, so that its fields are parsed.
fn framed_schema() -> impl Strategy<Value = Value> {
    let kinds = select(vec!["string", "number", "integer", "boolean", "array"]);
    let field = (kinds, schema_like()).prop_map(|(kind, field)| match field {
        Value::Object(mut field) => {
            field.insert("type".into(), kind.into());
            Value::Object(field)
        }
        other => other,
    });
    vec(("[a-c]", field), 0..3).prop_map(|fields| {
        let properties: Map<_, _> = fields.into_iter().collect();
        json!({"type": "object", "properties": properties})
    })
}

proptest! {
    #[test]
    fn a_form_is_read_as_it_was_written(form in form()) {
        let read = FormSchema::parse(form.to_json().as_bytes(), &FormLimits::default());
        prop_assert_eq!(read, Ok(form));
    }

    #[test]
    fn an_answer_survives_the_plain_dialect((form, content) in form_and_answer(sound_form())) {
        let (form, content) = without_faults(form, content);
        let lowered = lower(&form, &PLAIN);
        prop_assert_eq!(lowered.schema.lint(&FormLimits::default()), Ok(()));
        let flat = flatten(&form, &lowered.schema, &content);
        prop_assert_eq!(lowered.schema.check(&flat, &FormLimits::default()), Ok(()));
        prop_assert_eq!(lowered.lift(flat), content);
    }

    #[test]
    fn the_check_agrees_with_json_schema((form, content) in form_and_answer(form())) {
        let mut schema = serde_json::to_value(&form).unwrap();
        schema["additionalProperties"] = false.into();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        let issues = form.check(&content, &FormLimits::default());
        let valid = validator.is_valid(&Value::Object(content));
        prop_assert_eq!(issues.is_ok(), valid, "{:?} by {}", issues, schema);
    }

    #[test]
    fn an_answer_by_default_is_an_answer(form in sound_form()) {
        let content = form.with_defaults(Content::new());
        let issues = form.check(&content, &FormLimits::default()).err().unwrap_or_default();
        for issue in issues.0 {
            prop_assert_eq!(issue.message, "must be given");
        }
    }

    #[test]
    fn what_is_shown_is_read_back((form, content) in form_and_answer(sound_form())) {
        for field in &form.fields {
            let Some(value) = content.get(&field.name) else { continue };
            if field.check(value, &FormLimits::default()).is_err() {
                continue;
            }
            // Commas in options can make the text ambiguous.
            let open = match &field.kind {
                FieldKind::Choices(choices) => choices.options.iter().any(|option| option.value.contains(',')),
                _ => false,
            };
            if !open {
                let read = field.parse(&field.show(value));
                // Numbers are compared by value.
                let same = |read: &Value| match (read, value) {
                    (Value::Number(read), Value::Number(value)) if value.is_f64() => {
                        read.as_f64() == value.as_f64()
                    }
                    (read, value) => read == value,
                };
                prop_assert!(read.as_ref().is_ok_and(same), "{read:?} of {value:?}");
            }
        }
    }

    #[test]
    fn a_form_that_is_written_beforehand_is_the_same(form in form(), other in form()) {
        let limits = FormLimits::default();
        let (mut written, plain) = (SharedForm::written(form.clone()), SharedForm::from(form.clone()));
        for shared in [&written, &plain] {
            prop_assert_eq!(serde_json::to_string(shared).unwrap(), form.to_json());
            prop_assert_eq!(shared.lint(&limits), form.lint(&limits));
        }
        written.make_mut().clone_from(&other);
        prop_assert_eq!(serde_json::to_string(&written).unwrap(), other.to_json());
    }

    #[test]
    fn the_digest_of_a_question_is_that_of_its_form_and_message(form in sound_form(), other in sound_form()) {
        let written = SharedForm::written(form.clone());
        let asked = digest(&written, "Which?");
        prop_assert_eq!(&asked, &digest(&form.clone().into(), "Which?"));
        let mut changed = written.clone();
        changed.make_mut().clone_from(&other);
        prop_assert_eq!(digest(&changed, "Which?"), digest(&other.clone().into(), "Which?"));
        if let (Ok(asked), Ok(again)) = (asked, digest(&written, "Which one?")) {
            prop_assert_ne!(asked, again);
            let is_same = digest_of(&form) == digest_of(&other);
            let of_other = digest(&changed, "Which?");
            prop_assert!(is_same || of_other != Ok(asked));
        }
    }

    #[test]
    fn nothing_panics(schema in prop_oneof![schema_like(), framed_schema()], answer in schema_like(), typed in text()) {
        let limits = Limits::default();
        let Ok(form) = FormSchema::parse(schema.to_string().as_bytes(), &limits.forms) else {
            return Ok(());
        };
        let _ = form.lint(&limits.forms);
        let lowered = lower(&form, &PLAIN);
        for field in &form.fields {
            field.hint();
            field.looks_secret();
            field.show(&answer);
            let _ = field.parse(&typed);
            let _ = field.check(&answer, &limits.forms);
        }
        if let Value::Object(content) = answer {
            let _ = form.check(&content, &limits.forms);
            form.with_defaults(lowered.lift(content));
        }
    }
}
