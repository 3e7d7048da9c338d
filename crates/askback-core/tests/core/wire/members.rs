//! No message contains a member that its revision's schema lacks, whatever revision its author or
//! peer had in mind.
//!
//! The members of the schemas are in `members/`, one file per revision: each definition with its
//! members and the type of each. `true` is any type, `"=x"` is the string x, any other string is
//! the name of a definition, a list is one of several types, and an object has these members (`*`
//! is any other one). For a list in a message, the type is the type of its elements.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use askback_core::{
    forms::FormSchema,
    revision::{self, Revision},
};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Case, Kind,
    cases::{try_write_back, value},
    read,
};

/// The prefix of keys in a `_meta` that the specification reserves.
const RESERVED: &str = "io.modelcontextprotocol/";

/// The member that our client adds to a refusal, even to an answer without a `_meta`.
const REASON: &str = "dev.askback/reason";

/// The checked messages, by kind, method and revision.
type Checked = BTreeSet<(String, String, &'static str)>;

struct Schema {
    definitions: Map<String, Value>,
    /// The definitions by method.
    by_method: BTreeMap<String, String>,
}

#[test]
fn no_member_goes_out_that_the_revision_does_not_have() {
    let mut wrong = BTreeSet::new();
    let mut checked = Checked::new();
    let cases = ["cases", "lowered", "seeds"].map(read::<Case>);
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    let full = full(&cases);
    for revision in Revision::ALL {
        let schema = Schema::of(revision);
        for case in cases.iter().chain(&full) {
            if !exists(case, revision) {
                continue;
            }
            // This revision has no such message.
            if is_undrawn(case) {
                continue;
            }
            let Ok(written) = try_write_back(case, revision, case.message.get()) else {
                continue;
            };
            let (part, shape) = match (case.kind, value(&written)) {
                (Kind::Result | Kind::Answer | Kind::InputResponse, mut written) => {
                    let result = match case.kind {
                        Kind::InputResponse => written,
                        _ => written["result"].take(),
                    };
                    let shape = result_shape(case, revision, &result);
                    (result, shape)
                }
                (_, mut written) => {
                    let shape = schema.by_method[&case.method().unwrap()].clone();
                    if let Some(object) = written.as_object_mut() {
                        object.remove("jsonrpc");
                        object.remove("id");
                    }
                    (written, shape)
                }
            };
            if part.is_null() {
                // The revision cannot express this result: it became an error.
                continue;
            }
            checked.insert(name(case, revision));
            let found = schema.wrong(&part, &json!(shape), &shape);
            let found = found
                .into_iter()
                .filter(|path| !is_taken_all_the_same(path, revision));
            wrong.extend(found.map(|path| format!("{revision} {path}")));
        }
    }
    assert_eq!(wrong, BTreeSet::new(), "members without a schema");
    for case in &cases {
        for revision in case.revisions().filter(|known| exists(case, *known)) {
            let name = name(case, revision);
            assert!(checked.contains(&name), "{name:?} was not checked");
        }
    }
}

fn name(case: &Case, revision: Revision) -> (String, String, &'static str) {
    let kind = format!("{:?}", case.kind);
    (kind, case.method().unwrap_or_default(), revision.as_str())
}

/// The schema of 2025-06-18 has defaults only for booleans, and forbids no others. Codex, which
/// uses it, selects the first option of a choice without a default.
fn is_taken_all_the_same(path: &str, revision: Revision) -> bool {
    let of_a_field = path.contains(".requestedSchema.properties.") && path.ends_with(".default");
    revision == Revision::V2025_06_18 && of_a_field
}

/// Whether a case has a form that cannot be drawn: it is read but never asked.
fn is_undrawn(case: &Case) -> bool {
    let message = case.value();
    let schema = message.pointer("/params/requestedSchema");
    let form = schema.and_then(|schema| serde_json::from_value::<FormSchema>(schema.clone()).ok());
    form.is_some_and(|form| form.undrawn().is_some())
}

/// Whether a revision has the message of a case.
fn exists(case: &Case, revision: Revision) -> bool {
    let kind = match case.kind {
        Kind::ClientRequest | Kind::Result => revision::Kind::ClientRequest,
        Kind::ServerRequest | Kind::Answer => revision::Kind::ServerRequest,
        Kind::InputRequest | Kind::InputResponse => revision::Kind::InputRequest,
        Kind::ClientNotification => revision::Kind::ClientNotification,
        Kind::ServerNotification => revision::Kind::ServerNotification,
        Kind::Error | Kind::Batch => return false,
    };
    // The caller must prevent links in a revision without links.
    let is_link = case.value().pointer("/params/mode") == Some(&json!("url"));
    case.method()
        .is_some_and(|method| revision.has(kind, &method))
        && (!is_link || revision.facts().elicitation_url)
}

/// For each kind and method, one message with the members of all cases.
fn full(cases: &[Case]) -> Vec<Case> {
    let mut merged: BTreeMap<(String, String), (Kind, Value)> = BTreeMap::new();
    for case in cases {
        let Some(method) = case.method() else {
            continue;
        };
        let key = (format!("{:?}", case.kind), method);
        match merged.get_mut(&key) {
            Some((_, message)) => merge(message, case.value()),
            None => {
                merged.insert(key, (case.kind, case.value()));
            }
        }
    }
    let case = |((_, method), (kind, message)): ((String, String), (Kind, Value))| Case {
        kind,
        method: Some(method),
        since: None,
        until: None,
        message: RawValue::from_string(message.to_string()).unwrap(),
        written: BTreeMap::new(),
    };
    merged.into_iter().map(case).collect()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    Some(held) => merge(held, value),
                    None => {
                        into.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(into), Value::Array(from)) => into.extend(from),
        _ => {}
    }
}

/// The definition of a result.
fn result_shape(case: &Case, revision: Revision, result: &Value) -> String {
    let method = case.method().unwrap();
    let shape = match (&*method, result["resultType"].as_str()) {
        (_, Some("input_required")) => "InputRequiredResult",
        (_, Some("task")) | ("tasks/get", Some(_)) => "DetailedTask",
        (_, None) if result["task"].is_object() => "CreateTaskResult",
        ("initialize", _) => "InitializeResult",
        ("server/discover", _) => "DiscoverResult",
        ("tools/list", _) => "ListToolsResult",
        ("tools/call", _) => "CallToolResult",
        ("prompts/list", _) => "ListPromptsResult",
        ("prompts/get", _) => "GetPromptResult",
        ("resources/list", _) => "ListResourcesResult",
        ("resources/templates/list", _) => "ListResourceTemplatesResult",
        ("resources/read", _) => "ReadResourceResult",
        ("skills/list", _) => "ListSkillsResult",
        ("skills/get", _) => "GetSkillResult",
        ("resources/directory/read", _) => "ReadResourceDirectoryResult",
        ("subscriptions/listen", _) => "SubscriptionsListenResult",
        ("completion/complete", _) => "CompleteResult",
        ("elicitation/create", _) => "ElicitResult",
        ("sampling/createMessage", _) => "CreateMessageResult",
        ("roots/list", _) => "ListRootsResult",
        ("tasks/list", _) => "ListTasksResult",
        ("tasks/get" | "tasks/cancel", None) if revision.facts().tasks => "GetTaskResult",
        ("tasks/result", _) if case.kind == Kind::Result => "CallToolResult",
        ("tasks/result", _) => "ElicitResult",
        _ => "EmptyResult",
    };
    shape.to_owned()
}

impl Schema {
    fn of(revision: Revision) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/core/wire/members")
            .join(format!("{revision}.json"));
        let text = fs::read_to_string(&file).unwrap();
        let definitions: Map<String, Value> = serde_json::from_str(&text).unwrap();
        let method = |(name, definition): (&String, &Value)| {
            let method = definition.get("method")?.as_str()?.strip_prefix('=')?;
            Some((method.to_owned(), name.clone()))
        };
        Self {
            by_method: definitions.iter().filter_map(method).collect(),
            definitions,
        }
    }

    /// The paths of members that the shape does not have.
    fn wrong(&self, value: &Value, shape: &Value, path: &str) -> Vec<String> {
        match (value, shape) {
            (Value::Array(values), _) => values
                .iter()
                .flat_map(|value| self.wrong(value, shape, path))
                .collect(),
            (_, Value::String(text)) => match text.strip_prefix('=') {
                Some(_) => Vec::new(),
                None => self.wrong(value, self.definition(text), path),
            },
            (_, Value::Array(shapes)) => {
                let fits = shapes.iter().filter(|shape| self.fits(value, shape));
                let found = fits.map(|shape| self.wrong(value, shape, path));
                found
                    .min_by_key(Vec::len)
                    .unwrap_or_else(|| vec![format!("{path}: {value} is none of these")])
            }
            (Value::Object(members), Value::Object(known)) => members
                .iter()
                .flat_map(|(name, value)| self.wrong_member(name, value, known, path))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn wrong_member(
        &self,
        name: &str,
        value: &Value,
        known: &Map<String, Value>,
        path: &str,
    ) -> Vec<String> {
        let path = format!("{path}.{name}");
        let only_reason = name == "_meta"
            && value
                .as_object()
                .is_some_and(|meta| meta.keys().eq([REASON]));
        match known.get(name).or_else(|| known.get("*")) {
            Some(shape) if name == "_meta" => self.wrong_meta(value, shape, &path),
            Some(shape) => self.wrong(value, shape, &path),
            None if only_reason => Vec::new(),
            None => vec![path],
        }
    }

    /// A `_meta` may have any keys that the specification does not reserve.
    fn wrong_meta(&self, meta: &Value, shape: &Value, path: &str) -> Vec<String> {
        let shape = match shape {
            Value::String(name) => self.definition(name),
            shape => shape,
        };
        let Some(meta) = meta.as_object() else {
            return vec![path.to_owned()];
        };
        let reserved = meta.iter().filter(|(key, _)| key.starts_with(RESERVED));
        reserved
            .flat_map(|(key, value)| match shape.get(key) {
                Some(shape) => self.wrong(value, shape, &format!("{path}.{key}")),
                None => vec![format!("{path}.{key}")],
            })
            .collect()
    }

    /// Whether the members that distinguish shapes match this one.
    fn fits(&self, value: &Value, shape: &Value) -> bool {
        match shape {
            Value::String(text) => match text.strip_prefix('=') {
                Some(text) => value.as_str() == Some(text),
                None => self.fits(value, self.definition(text)),
            },
            Value::Array(shapes) => shapes.iter().any(|shape| self.fits(value, shape)),
            Value::Object(known) => known.iter().all(|(name, shape)| {
                let is_text = shape.as_str().is_some_and(|text| text.starts_with('='));
                !is_text || value.get(name).is_none_or(|value| self.fits(value, shape))
            }),
            _ => true,
        }
    }

    fn definition(&self, name: &str) -> &Value {
        let definition = self.definitions.get(name);
        definition.unwrap_or_else(|| panic!("there is no definition {name}"))
    }
}
