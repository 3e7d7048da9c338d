//! Schemas of arguments with which clients have trouble.

use serde_json::Value;

/// A fault of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not of an object.
    NoObject,
    /// Its root is a choice of schemas.
    Choice,
    /// It refers to a schema elsewhere.
    Elsewhere,
    /// A list does not say what is in it.
    Items,
    /// An argument has no description.
    Undescribed,
    /// An argument is required that it does not have.
    Absent,
    /// An object does not say what is in it, so that it is no field of a form.
    Members,
}

/// The most parts of one schema that are looked at.
const PARTS: usize = 1_000;

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

/// The faults of an input schema, each with the argument that has it.
pub(super) fn faults(schema: &Value) -> Vec<(Fault, String)> {
    let mut faults = Vec::new();
    let root = |fault| (fault, String::new());
    if schema["type"] != "object" {
        return vec![root(Fault::NoObject)];
    }
    if ["anyOf", "oneOf", "allOf"]
        .iter()
        .any(|member| schema.get(member).is_some())
    {
        faults.push(root(Fault::Choice));
    }
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        if has_elsewhere(property) {
            faults.push((Fault::Elsewhere, name.clone()));
        }
        if property["type"] == "array" && property.get("items").is_none() {
            faults.push((Fault::Items, name.clone()));
        }
        let description = property["description"].as_str().unwrap_or_default();
        if description.trim().is_empty() {
            faults.push((Fault::Undescribed, name.clone()));
        }
        if has_unknown_members(schema, property) {
            faults.push((Fault::Members, name.clone()));
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !properties.is_some_and(|properties| properties.contains_key(name)) {
            faults.push((Fault::Absent, name.to_owned()));
        }
    }
    faults
}

/// Whether a value of a schema is an object, or has one in it, that may hold anything. Objects and lists that say what is
/// in them are rows of a form.
fn has_unknown_members(root: &Value, schema: &Value) -> bool {
    let mut left = PARTS;
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        let Some(rest) = left.checked_sub(1) else {
            return false;
        };
        left = rest;
        let is_of = |name: &str| {
            let kind = &part["type"];
            kind == name
                || kind
                    .as_array()
                    .is_some_and(|all| all.iter().any(|one| one == name))
        };
        let choices = ["anyOf", "oneOf", "allOf"].map(|word| part[word].as_array());
        let reference = part["$ref"].as_str();
        let is_said_there = reference.is_some() || choices.iter().any(Option::is_some);
        let within = reference.and_then(|reference| reference.strip_prefix('#'));
        open.extend(within.and_then(|pointer| root.pointer(pointer)));
        if is_of("array") {
            open.push(&part["items"]);
        }
        if !is_of("object") {
            let [any, one, _] = choices;
            // With members beside them they choose among those.
            let choices = [any, one]
                .into_iter()
                .filter(|_| part.get("properties").is_none());
            open.extend(choices.flatten().flatten());
            continue;
        }
        match part["properties"].as_object() {
            Some(properties) if !properties.is_empty() => open.extend(properties.values()),
            _ if part["additionalProperties"].is_object() => {
                open.push(&part["additionalProperties"]);
            }
            // One that refers elsewhere or chooses may say it there.
            _ if is_said_there => {}
            // One that is empty says so.
            _ if part["additionalProperties"] == false => {}
            _ => return true,
        }
    }
    false
}

/// Whether a schema, or one within it, is somewhere on the network.
fn has_elsewhere(schema: &Value) -> bool {
    let mut left = PARTS;
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        let Some(rest) = left.checked_sub(1) else {
            return false;
        };
        left = rest;
        let reference = part["$ref"].as_str().unwrap_or_default();
        if reference.contains("://") {
            return true;
        }
        match part {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(members) => open.extend(members),
            _ => {}
        }
    }
    false
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
        check(of(json!({"description": "d", "$ref": "#/$defs/b"})), &[]);
        check(
            of(json!({"description": "d", "type": "object"})),
            &[(Fault::Members, "a")],
        );
        let list = |items: Value| of(json!({"description": "d", "type": "array", "items": items}));
        check(list(json!({"type": "object"})), &[(Fault::Members, "a")]);
        // What says what is in it, at whatever depth, is a form.
        let edit = json!({"type": "object", "properties": {"old": {"type": "string"}}});
        for items in [
            json!({"type": "string"}),
            json!({"type": "array", "items": {"type": "string"}}),
            edit.clone(),
            json!({"type": "array", "items": edit.clone()}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "$ref": "#/$defs/edit"}),
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
            (
                json!({"$ref": "#/$defs/b"}),
                json!({"b": {"$ref": "#/$defs/b"}}),
                false,
            ),
        ] {
            let mut property = property;
            property["description"] = "d".into();
            let fault = is_found.then_some((Fault::Members, "a"));
            check(whole(property, defs), fault.as_slice());
        }
        let deep = json!({"type": "object", "properties": {"b": {"type": "object"}}});
        check(list(deep), &[(Fault::Members, "a")]);
        check(
            json!({"type": "object", "required": ["b"]}),
            &[(Fault::Absent, "b")],
        );
    }
}
