//! The rules about entries of lists: their shape, the names of tools, and their schemas.

use std::collections::BTreeSet;

use askback::protocol::Schema;
use askback_core::{
    http::params::{BadReason, HeaderAnnotations},
    quote::clipped,
};
use serde_json::Value;
use url::Url;

use crate::{ledger::Ledger, rules::*};

/// The lists of a server, as they came.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) tools: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
}

/// The members of an entry by their types. `!` marks those that must be there.
type Members = [(&'static str, &'static str)];

const TOOL: &Members = &[
    ("string", "name! title description annotations.title"),
    (
        "boolean",
        "annotations.readOnlyHint annotations.destructiveHint",
    ),
    (
        "boolean",
        "annotations.idempotentHint annotations.openWorldHint",
    ),
    ("array", "icons"),
    (
        "object",
        "inputSchema! outputSchema annotations execution _meta",
    ),
];

const PROMPT: &Members = &[
    ("string", "name! title description"),
    ("array", "arguments icons"),
    ("object", "_meta"),
];

const ARGUMENT: &Members = &[
    ("string", "name! title description"),
    ("boolean", "required"),
];

const RESOURCE: &Members = &[
    ("string", "uri! name! title description mimeType"),
    ("number", "size annotations.priority"),
    ("array", "annotations.audience icons"),
    ("object", "annotations _meta"),
];

const TEMPLATE: &Members = &[
    ("string", "uriTemplate! name! title description mimeType"),
    ("array", "annotations.audience icons"),
    ("number", "size annotations.priority"),
    ("object", "annotations _meta"),
];

/// The rules about schemas.
const OF_SCHEMAS: [Rule; 9] = [
    INPUT_SCHEMA,
    SCHEMA_PROPERTIES,
    SCHEMA_CHOICE,
    SCHEMA_REQUIRED,
    SCHEMA_TYPE,
    SCHEMA_ITEMS,
    SCHEMA_REFERENCE,
    SCHEMA_RECURSIVE,
    OUTPUT_SCHEMA,
];

/// The longest name of a tool that the APIs of models take.
const MODEL_NAME_LEN: usize = 64;

/// The longest name of an entry in a place, in bytes.
const NAME_BYTES: usize = 128;

/// The most places at which a rule about shapes is broken.
const MAX_PLACES: usize = 1_000;

/// The most work for one schema.
const SCHEMA_WORK: usize = 64_000;

/// The work for a part, in addition to the bytes of its place.
const PART_WORK: usize = 16;

/// The most schemas around a part.
const MAX_SCHEMA_DEPTH: usize = 128;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The keywords with lists of schemas of the same value.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

impl Lists {
    /// Judges all entries.
    pub(crate) fn judge(&self, ledger: &mut Ledger) {
        self.shapes(ledger);
        self.names(ledger);
        self.headers(ledger);
        self.schemas(ledger);
        if !self.resources.is_empty() {
            let uris = self.resources.iter().filter_map(|it| it["uri"].as_str());
            let bad = uris.filter(|uri| Url::parse(uri).is_err());
            ledger.judge_places(RESOURCE_URI, bad.map(str::to_owned).collect());
        }
    }

    fn shapes(&self, ledger: &mut Ledger) {
        let mut places = Vec::new();
        for (kind, entries, members) in [
            ("tool", &self.tools, TOOL),
            ("prompt", &self.prompts, PROMPT),
            ("resource", &self.resources, RESOURCE),
            ("template", &self.templates, TEMPLATE),
        ] {
            for (entry, number) in entries.iter().zip(1_usize..) {
                let place = match name(entry) {
                    name if name.is_empty() => format!("{kind} {number}"),
                    name => name,
                };
                faults(entry, members, &place, &mut places);
                let arguments = entry["arguments"].as_array().into_iter().flatten();
                for argument in arguments.take(MAX_PLACES) {
                    let place = format!("{place}: argument {}", name(argument));
                    faults(argument, ARGUMENT, &place, &mut places);
                }
            }
        }
        ledger.judge_places(ENTRY_SHAPE, places);
    }

    fn names(&self, ledger: &mut Ledger) {
        if self.tools.is_empty() {
            return;
        }
        let mut judge = |rule, is_kept: &mut dyn FnMut(&str) -> bool| {
            let names = self.tools.iter().filter_map(|tool| tool["name"].as_str());
            let broken = names.filter(|name| !is_kept(name));
            ledger.judge_places(rule, broken.map(str::to_owned).collect());
        };
        let mut known = BTreeSet::new();
        judge(TOOL_LENGTH, &mut |name| {
            (1..=128).contains(&name.chars().count())
        });
        judge(TOOL_CHARACTERS, &mut |name| is_plain(name, "_-."));
        judge(TOOL_UNIQUE, &mut |name| known.insert(name.to_owned()));
        judge(TOOL_NAME, &mut |name| {
            // A name that is too long or has other characters breaks a requirement already.
            let is_other = name.is_empty() || name.len() > 128 || !is_plain(name, "_-.");
            is_other || is_plain(name, "_-") && name.len() <= MODEL_NAME_LEN
        });
    }

    /// The arguments that are mirrored into headers.
    fn headers(&self, ledger: &mut Ledger) {
        let mirrored = self.tools.iter().filter_map(|tool| {
            let text = tool["inputSchema"].to_string();
            let schema = text.contains("x-mcp-header").then_some(text)?;
            let schema = serde_json::from_str::<Schema>(&schema).ok()?;
            Some((tool, HeaderAnnotations::of(&schema).err()))
        });
        let mirrored: Vec<_> = mirrored.collect();
        if mirrored.is_empty() {
            return;
        }
        for (rule, reason) in [
            (HEADER_NAME, BadReason::Name),
            (HEADER_UNIQUE, BadReason::Repeated),
            (HEADER_TYPE, BadReason::Type),
            (HEADER_PLACE, BadReason::Place),
        ] {
            let broken = mirrored.iter().filter_map(|(tool, bad)| {
                let bad = bad.as_ref().filter(|bad| bad.reason == reason)?;
                Some(format!("{}: {bad}", name(tool)))
            });
            ledger.judge_places(rule, broken.collect());
        }
    }

    fn schemas(&self, ledger: &mut Ledger) {
        if self.tools.is_empty() {
            return;
        }
        let mut faults = Vec::new();
        for tool in &self.tools {
            let name = name(tool);
            let of_tool = schema_faults(tool).into_iter();
            faults.extend(of_tool.map(|(rule, place)| match place.is_empty() {
                true => (rule, name.clone()),
                false => (rule, format!("{name}: {place}")),
            }));
        }
        for rule in OF_SCHEMAS {
            let places = faults.iter().filter(|(broken, _)| *broken == rule);
            let places: BTreeSet<_> = places.map(|(_, place)| place.clone()).collect();
            ledger.judge_places(rule, places.into_iter().collect());
        }
    }
}

/// Adds the members of an entry that are missing or have another type.
fn faults(entry: &Value, members: &Members, place: &str, places: &mut Vec<String>) {
    let mut fault = |what: String| {
        if places.len() < MAX_PLACES {
            places.push(format!("{place}: {what}"));
        }
    };
    if !entry.is_object() {
        return fault("it is no object".to_owned());
    }
    for (kind, paths) in members {
        for path in paths.split_whitespace() {
            let (path, is_required) = match path.strip_suffix('!') {
                Some(path) => (path, true),
                None => (path, false),
            };
            let mut steps = path.split('.');
            match steps.try_fold(entry, |within, step| within.get(step)) {
                None if is_required => fault(format!("`{path}` is missing")),
                Some(value) if type_of(value) != *kind => fault(format!("`{path}` is no {kind}")),
                _ => {}
            }
        }
    }
}

/// The type of a value, as JSON Schema calls it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The name of an entry; empty if it has none.
fn name(entry: &Value) -> String {
    let mut names = ["name", "uri", "uriTemplate"].into_iter();
    let name = names.find_map(|member| entry[member].as_str());
    clipped(name.unwrap_or_default(), NAME_BYTES)
}

fn is_plain(name: &str, signs: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    name.chars().all(is_plain)
}

/// The rules that the schemas of a tool break, each with the place, such as `person.pets[].name`.
fn schema_faults(tool: &Value) -> Vec<(Rule, String)> {
    let mut faults = Vec::new();
    let input = &tool["inputSchema"];
    if input["type"] == "object" {
        if !input["properties"].is_object() {
            faults.push((SCHEMA_PROPERTIES, String::new()));
        }
        if CHOICES.iter().any(|word| input.get(word).is_some()) {
            faults.push((SCHEMA_CHOICE, String::new()));
        }
    } else {
        faults.push((INPUT_SCHEMA, String::new()));
    }
    Walk::new(input, &mut faults).part(input, "", false);
    let output = &tool["outputSchema"];
    if output.is_object() {
        if output["type"] != "object" {
            faults.push((OUTPUT_SCHEMA, String::new()));
        }
        let mut of_output = Vec::new();
        Walk::new(output, &mut of_output).part(output, "", false);
        // A model does not see it.
        of_output.retain(|(rule, _)| [SCHEMA_REFERENCE, SCHEMA_RECURSIVE].contains(rule));
        let of_output = of_output.into_iter();
        faults.extend(of_output.map(|(rule, place)| (rule, format!("output {place}"))));
    }
    faults
}

/// A walk through a schema.
struct Walk<'a> {
    root: &'a Value,
    /// The references that led to the current part.
    followed: Vec<&'a str>,
    /// How many schemas are around the current part.
    depth: usize,
    left: usize,
    /// Whether parts of the schema have addresses, which are not looked up.
    has_ids: bool,
    faults: &'a mut Vec<(Rule, String)>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Value, faults: &'a mut Vec<(Rule, String)>) -> Self {
        Self {
            root,
            followed: Vec::new(),
            depth: 0,
            left: SCHEMA_WORK,
            has_ids: root.to_string().contains("\"$id\""),
            faults,
        }
    }

    /// Looks at a part, and at all that is in it. A value needs a type unless the part only adds to what others say.
    fn part(&mut self, part: &'a Value, place: &str, needs_type: bool) {
        let work = PART_WORK.saturating_add(place.len());
        let is_looked_at = part.is_object() && self.depth < MAX_SCHEMA_DEPTH;
        let Some(left) = self.left.checked_sub(work).filter(|_| is_looked_at) else {
            return;
        };
        self.left = left;
        self.depth = self.depth.saturating_add(1);
        let types = match &part["type"] {
            Value::Array(types) => types.as_slice(),
            Value::Null => &[],
            one => std::slice::from_ref(one),
        };
        let is_known = |kind: &Value| TYPES.iter().any(|known| kind == known);
        let says_type = |word| part.get(word).is_some();
        let has_type = !types.is_empty()
            || ["$ref", "enum", "const", "properties", "items", "not"]
                .into_iter()
                .chain(CHOICES)
                .any(says_type);
        if needs_type && !has_type || !types.iter().all(is_known) {
            self.fault(SCHEMA_TYPE, place);
        }
        let is_list = types.iter().any(|kind| kind == "array");
        if is_list && !says_type("items") && !says_type("prefixItems") && !says_type("$ref") {
            self.fault(SCHEMA_ITEMS, place);
        }
        if let Some(members) = part["properties"].as_object() {
            let required = part["required"].as_array().into_iter().flatten();
            for name in required.filter_map(Value::as_str) {
                if !members.contains_key(name) {
                    self.fault(SCHEMA_REQUIRED, &step(place, name));
                }
            }
            for (name, member) in members {
                self.part(member, &step(place, name), true);
            }
        } else if place.is_empty() && part["required"].as_array().is_some_and(|it| !it.is_empty()) {
            self.fault(SCHEMA_REQUIRED, place);
        }
        for item in [&part["items"], &part["additionalProperties"]] {
            self.part(item, &format!("{place}[]"), false);
        }
        for word in CHOICES.into_iter().chain(["prefixItems"]) {
            for choice in part[word].as_array().into_iter().flatten() {
                self.part(choice, place, false);
            }
        }
        if let Some(reference) = part["$ref"].as_str() {
            self.follow(reference, place);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn follow(&mut self, reference: &'a str, place: &str) {
        // Looking for it takes as long as it is.
        let Some(left) = self.left.checked_sub(reference.len()) else {
            return;
        };
        self.left = left;
        if self.followed.contains(&reference) || reference == "#" {
            return self.fault(SCHEMA_RECURSIVE, place);
        }
        let target = match reference.strip_prefix('#') {
            // An address or an anchor may stand anywhere.
            None | Some("") => self.has_ids.then_some(&Value::Null),
            Some(path) if path.starts_with('/') && !path.contains('%') => self.root.pointer(path),
            Some(_) => Some(&Value::Null),
        };
        match target {
            None => self.fault(SCHEMA_REFERENCE, place),
            Some(target) => {
                self.followed.push(reference);
                self.part(target, place, false);
                self.followed.pop();
            }
        }
    }

    fn fault(&mut self, rule: Rule, place: &str) {
        self.faults.push((rule, place.to_owned()));
    }
}

fn step(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The ids of the rules that these lists break, with the first place.
    fn broken(lists: &Lists) -> Vec<(&'static str, String)> {
        let mut ledger = Ledger::new(false);
        lists.judge(&mut ledger);
        let findings = ledger.findings().into_iter();
        findings
            .map(|finding| (finding.row.id, finding.places[0].clone()))
            .collect()
    }

    #[track_caller]
    fn check(lists: &Lists, expected: &[(&'static str, &str)]) {
        let expected = expected
            .iter()
            .map(|(id, place)| (*id, (*place).to_owned()));
        let mut found = broken(lists);
        found.sort_unstable();
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    fn tools(tools: Value) -> Lists {
        Lists {
            tools: tools.as_array().cloned().unwrap_or_default(),
            ..Lists::default()
        }
    }

    fn tool() -> Value {
        json!({"name": "book", "inputSchema": {"type": "object", "properties": {}}})
    }

    #[test]
    fn what_is_kept_and_looked_at_is_bounded() {
        let arguments = vec![json!(1); 2 * MAX_PLACES];
        let lists = Lists {
            prompts: vec![json!({"name": "p".repeat(1 << 20), "arguments": arguments})],
            ..Lists::default()
        };
        let mut ledger = Ledger::new(false);
        lists.shapes(&mut ledger);
        let findings = ledger.findings();
        let places = &findings[0].places;
        assert!(places.len() <= MAX_PLACES, "{}", places.len());
        assert!(places.iter().all(|place| place.len() < 2 * NAME_BYTES));
        // Each reference costs as much as it is long.
        let long = "/a".repeat(SCHEMA_WORK);
        let schema = json!({"type": "object", "properties": {"a": {"$ref": format!("#{long}")}}});
        check(
            &tools(json!([{"name": "book", "inputSchema": schema}])),
            &[],
        );
    }

    #[track_caller]
    fn is(schema: &str, expected: &[(&'static str, &str)]) {
        let schema: Value = serde_json::from_str(schema).expect("it is JSON");
        check(
            &tools(json!([{"name": "t", "inputSchema": schema}])),
            expected,
        );
    }

    /// A schema with one argument, and parts to refer to.
    fn of(argument: &str) -> String {
        let node = r##"{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}"##;
        let parts = format!(r#"{{"node":{node},"text":{{"type":"string"}}}}"#);
        format!(r#"{{"type":"object","properties":{{"a":{argument}}},"$defs":{parts}}}"#)
    }

    #[test]
    fn entries_with_other_members_than_the_schema_has_are_found() {
        let with = |member: &str, value: Value| {
            let mut tool = tool();
            tool[member] = value;
            tools(json!([tool]))
        };
        check(&tools(json!([tool()])), &[]);
        check(&with("x", json!(1)), &[]);
        let hint = json!({"readOnlyHint": "yes"});
        let place = "book: `annotations.readOnlyHint` is no boolean";
        check(&with("annotations", hint), &[("entry-shape", place)]);
        let place = "book: `title` is no string";
        check(&with("title", Value::Null), &[("entry-shape", place)]);
        let nameless = json!([{"inputSchema": {"type": "object", "properties": {}}}]);
        let place = "tool 1: `name` is missing";
        check(&tools(nameless), &[("entry-shape", place)]);
        let place = ("entry-shape", "tool 1: it is no object");
        check(&tools(json!(["book"])), &[("TO-10", ""), place]);
        let lists = Lists {
            prompts: vec![json!({"name": "p", "arguments": [{"name": "a", "required": "yes"}]})],
            ..Lists::default()
        };
        let place = "p: argument a: `required` is no boolean";
        check(&lists, &[("entry-shape", place)]);
        let lists = Lists {
            resources: vec![
                json!({"uri": "a://b", "name": "b", "size": 1}),
                json!({"uri": "b", "name": "c", "size": "1"}),
            ],
            ..Lists::default()
        };
        let place = ("entry-shape", "c: `size` is no number");
        check(&lists, &[("RE-08", "b"), place]);
        let lists = Lists {
            templates: vec![json!({"uriTemplate": "a://{b}"})],
            ..Lists::default()
        };
        check(&lists, &[("entry-shape", "a://{b}: `name` is missing")]);
    }

    #[test]
    fn names_that_clients_refuse_are_found() {
        let named = |name: &str| {
            let mut tool = tool();
            tool["name"] = name.into();
            tools(json!([tool]))
        };
        check(&named(&"a".repeat(64)), &[]);
        check(&named("a.b"), &[("tool-name", "a.b")]);
        let long = "a".repeat(65);
        check(&named(&long), &[("tool-name", &long)]);
        check(&named("a b"), &[("TO-14", "a b")]);
        check(&tools(json!([tool(), tool()])), &[("TO-16", "book")]);
    }

    #[test]
    fn schemas_that_clients_refuse_are_found() {
        for (argument, id, place) in [
            (r#"{"type":"string"}"#, "", ""),
            (r##"{"$ref":"#/$defs/text"}"##, "", ""),
            (r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, "", ""),
            ("true", "", ""),
            (
                r#"{"type":"object","properties":{},"required":["b"]}"#,
                "schema-required",
                "a.b",
            ),
            (r#"{"description":"d"}"#, "schema-type", "a"),
            (
                r#"{"type":"array","items":{"type":"int"}}"#,
                "schema-type",
                "a[]",
            ),
            (r#"{"type":["array","null"]}"#, "schema-items", "a"),
            (r##"{"$ref":"#/$defs/none"}"##, "schema-reference", "a"),
            (
                r#"{"items":{"$ref":"other.json"}}"#,
                "schema-reference",
                "a[]",
            ),
            (r##"{"$ref":"#/$defs/node"}"##, "schema-recursive", "a.next"),
            (r##"{"$ref":"#"}"##, "schema-recursive", "a"),
        ] {
            let place = format!("t: {place}");
            let expected = [(id, place.as_str())];
            is(&of(argument), if id.is_empty() { &[] } else { &expected });
        }
        is(r#"{"type":"string"}"#, &[("TO-10", "t")]);
        is(r#"{"type":"object"}"#, &[("schema-properties", "t")]);
        let chooses = r#"{"type":"object","properties":{},"oneOf":[]}"#;
        is(chooses, &[("schema-choice", "t")]);
        let required = r#"{"type":"object","properties":{},"required":["b"]}"#;
        is(required, &[("schema-required", "t: b")]);
        let mut tool = tool();
        tool["outputSchema"] = json!({"type": "array", "items": {"$ref": "#/$defs/none"}});
        let place = ("schema-reference", "book: output []");
        check(&tools(json!([tool])), &[("output-schema", "book"), place]);
    }

    #[test]
    fn a_schema_that_grows_by_its_references_is_looked_at_in_part() {
        let mut schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/0"}}});
        for at in 0..64 {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            schema["$defs"][at.to_string()] =
                json!({"type": "object", "properties": {"a": next, "b": next}});
        }
        schema["$defs"]["64"] = json!({"type": "string"});
        is(&schema.to_string(), &[]);
    }
}
