//! Schemas of arguments with which clients have trouble.

mod pattern;
mod references;

use std::collections::BTreeSet;

use askback_core::{forms::FormSchema, limits::FormLimits};
use serde_json::{Map, Value, json};

use self::references::{Parts, Target};

/// A fault of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// It is not of an object.
    NoObject,
    /// Its root is a choice of schemas.
    Choice,
    /// It refers to a schema elsewhere.
    Elsewhere,
    /// It refers to a schema that is not there.
    Nowhere,
    /// It refers to a schema around it.
    Recursive,
    /// Its type is none of JSON Schema.
    Type,
    /// Its pattern is no regular expression.
    Pattern,
    /// Its default does not fit it.
    Default,
    /// A value is a text or an object.
    Mixed,
    /// A list does not say what is in it.
    Items,
    /// An argument has no description.
    Undescribed,
    /// An argument is required that it does not have.
    Absent,
    /// An object does not say what is in it, so that it is no field of a form.
    Members,
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The most work for one argument.
const WORK: usize = 64_000;

/// The work for a part, beside the bytes of its place.
const PART: usize = 64;

/// The keywords whose schemas are of the same value, all of which it fits.
const SAME: [&str; 1] = ["allOf"];

/// The keywords whose schemas are of the same value, one of which it fits.
const ONE: [&str; 2] = ["anyOf", "oneOf"];

/// The keywords with a schema that adds to what others say.
const BESIDE: [&str; 7] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];

impl Fault {
    /// Returns the name of the fault, and its consequence.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NoObject => (
                "schemas that are not of an object",
                "Clients refuse the tool, or the whole list; write \"type\": \"object\".",
            ),
            Self::Choice => (
                "schemas with `anyOf`, `oneOf` or `allOf` at their root",
                "APIs of models refuse them; choose by an argument instead.",
            ),
            Self::Elsewhere => (
                "schemas that refer to others on the network",
                "Clients do not fetch them; put them into `$defs`.",
            ),
            Self::Nowhere => (
                "references that lead nowhere",
                "Clients refuse the tool; put what `$ref` names into `$defs`.",
            ),
            Self::Recursive => (
                "schemas that contain themselves",
                "A form shows the first levels, and a person writes the others as JSON; many clients show none.",
            ),
            Self::Type => (
                "types that are none of JSON Schema",
                "Use string, number, integer, boolean, array, object or null.",
            ),
            Self::Pattern => (
                "patterns that are no regular expressions",
                "Clients refuse the tool, or check nothing; mend the pattern.",
            ),
            Self::Default => (
                "defaults that do not fit their own schema",
                "A form leaves them out, and a call without the argument may fail.",
            ),
            Self::Mixed => (
                "choices between a text and an object",
                "A person has to write them as JSON, and a model has to guess; use an argument for each.",
            ),
            Self::Items => (
                "lists that do not say what is in them",
                "APIs of models refuse them; add `items`.",
            ),
            Self::Undescribed => (
                "arguments without a description",
                "A model has their names alone to go by.",
            ),
            Self::Absent => (
                "required arguments that are not among the properties",
                "Nobody can know what to put there.",
            ),
            Self::Members => (
                "objects that do not say what is in them",
                "A person has to write them as JSON, and a model has to guess; add `properties`.",
            ),
        }
    }
}

/// The faults of an input schema, each with the place that has it, such as `person.pets[].name`.
pub(super) fn faults(schema: &Value) -> Vec<(Fault, String)> {
    if schema["type"] != "object" {
        return vec![(Fault::NoObject, String::new())];
    }
    let mut found = Found::default();
    if SAME
        .iter()
        .chain(&ONE)
        .any(|word| schema.get(word).is_some())
    {
        found.add(Fault::Choice, "");
    }
    let parts = Parts::of(schema);
    for (name, property) in members(schema, "properties") {
        let argument = Part {
            place: name.clone(),
            schema: property,
            within: vec![schema],
            is_beside: false,
        };
        let description = argument.said(&parts).get("description");
        let description = description.and_then(Value::as_str).unwrap_or_default();
        found.argument(&parts, argument);
        if description.trim().is_empty() {
            found.add(Fault::Undescribed, name);
        }
    }
    found.absent(schema, "");
    found.all
}

/// A part of an input schema: the schema of an argument, or of something in it.
struct Part<'a> {
    place: String,
    schema: &'a Value,
    /// The schemas around it.
    within: Vec<&'a Value>,
    /// Whether it only adds to what others say of the same value.
    is_beside: bool,
}

/// The schema of a value, and those that it refers to.
#[derive(Default)]
struct Said<'a> {
    all: Vec<&'a Value>,
    /// The fault of the last reference.
    fault: Option<Fault>,
    /// Whether the last reference was not followed.
    is_open: bool,
}

impl<'a> Part<'a> {
    fn said(&self, parts: &Parts<'a>) -> Said<'a> {
        let mut said = Said {
            all: vec![self.schema],
            ..Said::default()
        };
        let mut last = self.schema;
        while let Some(reference) = last["$ref"].as_str() {
            let is_in = |all: &[&Value], schema| all.iter().any(|one| std::ptr::eq(*one, schema));
            said.fault = match parts.target(reference) {
                Target::Here(schema) if is_in(&said.all, schema) => Some(Fault::Nowhere),
                Target::Here(schema) if is_in(&self.within, schema) => Some(Fault::Recursive),
                Target::Here(schema) => {
                    said.all.push(schema);
                    last = schema;
                    continue;
                }
                Target::Elsewhere => Some(Fault::Elsewhere),
                Target::Nowhere => Some(Fault::Nowhere),
                Target::Unknown => None,
            };
            said.is_open = true;
            break;
        }
        said
    }

    /// A part of this one.
    fn part(&self, said: &Said<'a>, place: String, schema: &'a Value, is_beside: bool) -> Self {
        Self {
            place,
            schema,
            within: self.within.iter().chain(&said.all).copied().collect(),
            is_beside: self.is_beside || is_beside,
        }
    }

    /// The parts of this one, as far as there is work left.
    fn parts(&self, said: &Said<'a>, left: &mut usize) -> Vec<Self> {
        let place = &self.place;
        let mut parts = Vec::new();
        let mut put = |place: String, schema, is_beside| {
            if let Some(rest) = left.checked_sub(PART.saturating_add(place.len())) {
                *left = rest;
                parts.push(self.part(said, place, schema, is_beside));
            }
        };
        // Those of an object choose among the members beside them.
        let is_shaped = said.is("object") || said.get("properties").is_some();
        for schema in &said.all {
            for (name, member) in members(schema, "properties") {
                put(format!("{place}.{name}"), member, false);
            }
            for (_, member) in members(schema, "patternProperties") {
                put(format!("{place}.*"), member, true);
            }
            for (word, step, is_beside) in [
                ("additionalProperties", ".*", false),
                ("items", "[]", false),
            ]
            .into_iter()
            .chain(BESIDE.map(|word| (word, "", true)))
            {
                if let Some(part) = schema.get(word).filter(|part| part.is_object()) {
                    put(format!("{place}{step}"), part, is_beside);
                }
            }
            for part in list(schema, "prefixItems").chain(list(schema, "items")) {
                put(format!("{place}[]"), part, false);
            }
            for part in ONE.iter().flat_map(|word| list(schema, word)) {
                put(place.clone(), part, is_shaped);
            }
            for part in SAME.iter().flat_map(|word| list(schema, word)) {
                put(place.clone(), part, true);
            }
        }
        parts
    }
}

impl<'a> Said<'a> {
    fn get(&self, word: &str) -> Option<&'a Value> {
        self.all.iter().find_map(|schema| schema.get(word))
    }

    fn types(&self) -> impl Iterator<Item = &'a Value> {
        let types = match self.get("type") {
            Some(Value::Array(types)) => types.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        types.iter()
    }

    fn is(&self, name: &str) -> bool {
        self.types().any(|kind| kind == name)
    }

    /// Whether it says nothing of what may be in an object.
    fn has_unknown_members(&self) -> bool {
        let is_empty = |properties: &Map<String, Value>| properties.is_empty();
        let properties = self.get("properties").and_then(Value::as_object);
        let others = self.get("additionalProperties");
        // One that refers elsewhere or chooses may say it there.
        let is_said_there =
            self.is_open || SAME.iter().chain(&ONE).any(|word| self.get(word).is_some());
        self.is("object")
            && properties.is_none_or(is_empty)
            && !is_said_there
            // One that is empty says so.
            && !others.is_some_and(|others| others.is_object() || others == false)
    }

    /// Whether its default is none of its values, as far as a form tells.
    fn has_bad_default(&self) -> bool {
        // Null is none at all, as several generators of schemas write it.
        let Some(default) = self.get("default").filter(|default| !default.is_null()) else {
            return false;
        };
        let listed = self.get("enum").and_then(Value::as_array);
        if listed.is_some_and(|listed| !listed.contains(default)) {
            return true;
        }
        let mut whole = Map::new();
        for (word, value) in self.all.iter().filter_map(|one| one.as_object()).flatten() {
            if !["$ref", "properties"].contains(&word.as_str()) {
                whole.entry(word.clone()).or_insert_with(|| value.clone());
            }
        }
        let form = json!({"type": "object", "properties": {"it": whole}}).to_string();
        let limits = FormLimits::default();
        let form = FormSchema::parse_arguments(form.as_bytes(), &limits);
        form.is_ok_and(|form| {
            let mut fields = form.fields.iter();
            fields.any(|field| field.check(default, &limits).is_err())
        })
    }
}

/// The faults that were found.
#[derive(Default)]
struct Found {
    all: Vec<(Fault, String)>,
    known: BTreeSet<(Fault, String)>,
}

impl Found {
    fn add(&mut self, fault: Fault, place: &str) {
        let found = (fault, place.to_owned());
        if self.known.insert(found.clone()) {
            self.all.push(found);
        }
    }

    /// Adds those of an argument, and of what is in it.
    fn argument<'a>(&mut self, parts: &Parts<'a>, argument: Part<'a>) {
        let mut left = WORK;
        let mut open = vec![argument];
        while let Some(part) = open.pop() {
            let said = part.said(parts);
            self.part(parts, &part, &said);
            // In the order in which they stand.
            open.extend(part.parts(&said, &mut left).into_iter().rev());
        }
    }

    fn part<'a>(&mut self, parts: &Parts<'a>, part: &Part<'a>, said: &Said<'a>) {
        let place = &part.place;
        let own = part.schema;
        if let Some(fault) = said.fault {
            self.add(fault, place);
        }
        if said
            .types()
            .any(|kind| !TYPES.iter().any(|name| kind == name))
        {
            self.add(Fault::Type, place);
        }
        if own["pattern"].as_str().is_some_and(pattern::is_broken) {
            self.add(Fault::Pattern, place);
        }
        if said.has_bad_default() {
            self.add(Fault::Default, place);
        }
        if part.is_beside {
            return;
        }
        let choices = ONE.iter().filter_map(|word| said.get(word)?.as_array());
        let choices = choices
            .flatten()
            .map(|choice| part.part(said, String::new(), choice, false).said(parts));
        let choices: Vec<_> = choices.collect();
        let can_be = |name| choices.iter().any(|choice| choice.is(name));
        let is_mixed = said.is("string") && said.is("object");
        if is_mixed || can_be("string") && can_be("object") {
            self.add(Fault::Mixed, place);
        }
        if said.is("array") && said.get("items").is_none() && !said.is_open {
            self.add(Fault::Items, place);
        }
        if said.has_unknown_members() {
            self.add(Fault::Members, place);
        }
        if let Some(schema) = said
            .all
            .iter()
            .find(|schema| schema["properties"].is_object())
        {
            self.absent(schema, place);
        }
    }

    /// Adds the members that an object requires and does not have.
    fn absent(&mut self, schema: &Value, place: &str) {
        let properties = schema["properties"].as_object();
        for name in list(schema, "required") {
            let name = name.as_str().unwrap_or_default();
            if !properties.is_some_and(|properties| properties.contains_key(name)) {
                let step = if place.is_empty() { "" } else { "." };
                self.add(Fault::Absent, &format!("{place}{step}{name}"));
            }
        }
    }
}

fn members<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[word].as_object().into_iter().flatten()
}

fn list<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> {
    schema[word].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_fault_is_found_where_it_is() {
        #[track_caller]
        fn check(schema: Value, expected: &[(Fault, &str)]) {
            let found = faults(&schema);
            let found: Vec<_> = found
                .iter()
                .map(|(fault, place)| (*fault, place.as_str()))
                .collect();
            assert_eq!(found, expected, "{schema}");
        }
        let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
        check(json!({"type": "object"}), &[]);
        check(of(json!({"type": "string", "description": "d"})), &[]);
        check(json!(null), &[(Fault::NoObject, "")]);
        check(json!({"type": "string"}), &[(Fault::NoObject, "")]);
        check(
            json!({"type": "object", "oneOf": []}),
            &[(Fault::Choice, "")],
        );
        check(of(json!({"type": "string"})), &[(Fault::Undescribed, "a")]);
        check(
            of(json!({"type": "array", "description": "d"})),
            &[(Fault::Items, "a")],
        );
        check(
            of(json!({"description": "d", "anyOf": [{"$ref": "https://a.example/b"}]})),
            &[(Fault::Elsewhere, "a")],
        );
        check(
            of(json!({"description": "d", "$ref": "#/$defs/b"})),
            &[(Fault::Nowhere, "a")],
        );
        check(
            of(json!({"description": "d", "type": "object"})),
            &[(Fault::Members, "a")],
        );
        let list = |items: Value| of(json!({"description": "d", "type": "array", "items": items}));
        check(list(json!({"type": "object"})), &[(Fault::Members, "a[]")]);
        // What says what is in it, at whatever depth, is a form.
        let edit = json!({"type": "object", "properties": {"old": {"type": "string"}}});
        for items in [
            json!({"type": "string"}),
            json!({"type": "array", "items": {"type": "string"}}),
            edit.clone(),
            json!({"type": "array", "items": edit.clone()}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "$ref": "https://a.example/b#/c%20d", "$id": "https://a.example/b"}),
        ] {
            check(list(items), &[]);
        }
        let whole = |property: Value, defs: Value| json!({"type": "object", "properties": {"a": property}, "$defs": defs});
        let any = json!({"type": "object", "additionalProperties": true});
        for (property, defs, is_found) in [
            (json!({"type": ["object", "null"]}), json!({}), true),
            (json!({"anyOf": [any, {"type": "null"}]}), json!({}), true),
            (json!({"oneOf": [edit, any]}), json!({}), true),
            (json!({"anyOf": [edit, {"type": "null"}]}), json!({}), false),
            (
                json!({"allOf": [{"type": "object"}, edit]}),
                json!({}),
                false,
            ),
            (
                json!({"properties": {}, "anyOf": [{"type": "object"}]}),
                json!({}),
                false,
            ),
            (json!({"$ref": "#/$defs/b"}), json!({"b": any}), true),
            (json!({"$ref": "#/$defs/b"}), json!({"b": edit}), false),
        ] {
            let mut property = property;
            property["description"] = "d".into();
            let fault = is_found.then_some((Fault::Members, "a"));
            check(whole(property, defs), fault.as_slice());
        }
        let deep = json!({"type": "object", "properties": {"b": {"type": "object"}}});
        check(list(deep), &[(Fault::Members, "a[].b")]);
        check(
            json!({"type": "object", "required": ["b"]}),
            &[(Fault::Absent, "b")],
        );
    }

    #[test]
    fn each_fault_within_an_argument_is_told_with_its_whole_place() {
        use Fault::{Absent, Default, Elsewhere, Items, Mixed, Nowhere, Pattern, Recursive, Type};

        #[track_caller]
        fn check(property: Value, expected: &[(Fault, &str)]) {
            let text = json!({"type": "string"});
            let node = json!({
                "type": "object",
                "properties": {"name": text, "next": {"$ref": "#/$defs/node"}},
            });
            let mut property = property;
            property["description"] = "d".into();
            let schema = json!({
                "type": "object",
                "properties": {"a": property},
                "$defs": {
                    "text": text,
                    "node": node,
                    "loop": {"$ref": "#/$defs/loop"},
                    "object": {"type": "object", "properties": {"b": text}},
                    "named": {"$anchor": "name", "type": "string"},
                },
            });
            let found = faults(&schema);
            let found: Vec<_> = found
                .iter()
                .map(|(fault, place)| (*fault, place.as_str()))
                .collect();
            assert_eq!(found, expected, "{property}");
        }
        let to = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
        let of = |member: Value| json!({"type": "object", "properties": {"b": member}});
        let list = |items: Value| json!({"type": "array", "items": items});
        for (property, expected) in [
            (to("none"), &[(Nowhere, "a")][..]),
            (to("loop"), &[(Nowhere, "a")]),
            (json!({"$ref": "other.json"}), &[(Nowhere, "a")]),
            (json!({"$ref": "#nobody"}), &[(Nowhere, "a")]),
            (json!({"$ref": "#name"}), &[]),
            (json!({"$ref": "#/$defs/a%20b"}), &[]),
            (of(list(to("none"))), &[(Nowhere, "a.b[]")]),
            (
                of(json!({"$ref": "https://a.example"})),
                &[(Elsewhere, "a.b")],
            ),
            (to("node"), &[(Recursive, "a.next")]),
            (of(json!({"$ref": "#"})), &[(Recursive, "a.b")]),
            (of(json!({"$ref": "#/properties/a"})), &[(Recursive, "a.b")]),
            // Twice is no circle.
            (
                json!({"type": "object", "properties": {"b": to("object"), "c": to("object")}}),
                &[],
            ),
            (of(json!({"type": "int"})), &[(Type, "a.b")]),
            (json!({"type": ["string", "none"]}), &[(Type, "a")]),
            (
                json!({"anyOf": [{"type": "str"}, {"type": "null"}]}),
                &[(Type, "a")],
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "any"}}),
                &[(Type, "a.*")],
            ),
            (
                json!({"type": "object", "properties": {"b": to("text")}, "patternProperties": {"^c": {"type": "any"}}}),
                &[(Type, "a.*")],
            ),
            (
                json!({"type": "array", "prefixItems": [to("text"), {"type": "any"}], "items": false}),
                &[(Type, "a[]")],
            ),
            (list(json!([to("text"), {"type": "any"}])), &[(Type, "a[]")]),
            // A member may have the name of a keyword.
            (
                json!({"type": "object", "properties": {"type": to("text"), "pattern": to("text"), "$ref": to("text")}}),
                &[],
            ),
            (
                of(json!({"type": "string", "pattern": "[a-"})),
                &[(Pattern, "a.b")],
            ),
            (json!({"type": "string", "pattern": "^(?!a)"}), &[]),
            (
                of(json!({"type": "integer", "default": "1"})),
                &[(Default, "a.b")],
            ),
            (
                json!({"type": "integer", "default": 1.5}),
                &[(Default, "a")],
            ),
            (
                json!({"type": "integer", "minimum": 2, "default": 1}),
                &[(Default, "a")],
            ),
            (
                json!({"type": "string", "enum": ["x"], "default": "y"}),
                &[(Default, "a")],
            ),
            (
                json!({"enum": [1, 2], "type": "integer", "default": 3}),
                &[(Default, "a")],
            ),
            (
                json!({"$ref": "#/$defs/text", "default": 1}),
                &[(Default, "a")],
            ),
            (
                json!({"type": "object", "properties": {"b": to("text")}, "default": []}),
                &[(Default, "a")],
            ),
            (json!({"type": "string", "default": null}), &[]),
            (json!({"type": ["string", "integer"], "default": 1}), &[]),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1}),
                &[],
            ),
            (
                json!({"type": "array", "items": to("object"), "default": [{"b": "c"}]}),
                &[],
            ),
            (json!({"type": "number", "default": 1}), &[]),
            (
                json!({"anyOf": [to("text"), to("object")]}),
                &[(Mixed, "a")],
            ),
            (
                json!({"type": ["object", "string"], "properties": {"b": to("text")}}),
                &[(Mixed, "a")],
            ),
            (json!({"anyOf": [to("text"), {"type": "integer"}]}), &[]),
            (json!({"oneOf": [to("object"), {"type": "null"}]}), &[]),
            (of(json!({"type": "array"})), &[(Items, "a.b")]),
            (
                json!({"type": "object", "properties": {"b": to("text")}, "required": ["c"]}),
                &[(Absent, "a.c")],
            ),
            (
                json!({"type": "object", "properties": {"b": to("text"), "c": to("text")},
                    "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}),
                &[],
            ),
        ] {
            check(property, expected);
        }
        // What adds to what others say need not say what is in an object.
        for word in SAME.into_iter().chain(BESIDE) {
            let beside = |schema: Value| match word {
                "allOf" => json!({"allOf": [schema]}),
                word => json!({ word: schema }),
            };
            let adds = |schema: Value| {
                let mut whole = beside(schema);
                whole["type"] = "object".into();
                whole["properties"] = json!({"b": to("text")});
                whole
            };
            check(adds(json!({"type": "any"})), &[(Type, "a")]);
            check(adds(json!({"type": "object"})), &[]);
        }
    }

    #[test]
    fn an_argument_is_looked_at_as_far_as_its_parts_and_places_go() {
        #[track_caller]
        fn check(digits: usize, looked_at: usize) {
            let members = (0..1_000).map(|at| (format!("{at:0digits$}"), json!({"type": "any"})));
            let members: Map<_, _> = members.collect();
            let property = json!({"description": "d", "type": "object", "properties": members});
            let schema = json!({"type": "object", "properties": {"a": property}});
            assert_eq!(faults(&schema).len(), looked_at);
        }
        check(4, 914);
        check(62, 500);
        check(638, 90);
    }

    #[test]
    fn a_schema_that_grows_by_its_references_is_looked_at_in_part() {
        let mut defs = Map::new();
        for at in 0..64 {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            let both = json!({"type": "object", "properties": {"a": next, "b": next}});
            defs.insert(at.to_string(), both);
        }
        defs.insert("64".into(), json!({"type": "string"}));
        let property = json!({"description": "d", "$ref": "#/$defs/0"});
        let schema = json!({"type": "object", "properties": {"a": property}, "$defs": defs});
        assert_eq!(faults(&schema), []);
    }
}
