//! Rules for entries of lists: their shape, the names of tools, and their schemas.

use std::collections::{BTreeMap, BTreeSet};

use askback::{
    internal::{
        http::params::{BadAnnotation, BadReason, HeaderAnnotations},
        quote::clipped,
    },
    protocol::Schema,
};
use serde_json::Value;
use url::Url;

use crate::{ledger::Ledger, rules::*};

/// List entries, by the member that contains the list.
#[derive(Debug, Default)]
pub(crate) struct Lists(pub(crate) BTreeMap<&'static str, Vec<Value>>);

pub(crate) const MEMBERS: [&str; 4] = ["tools", "prompts", "resources", "resourceTemplates"];

/// The list, the kind of its entries, and their members by type. `!` marks required members.
const SHAPES: [(&str, &str, &str); 4] = [
    (
        "tools",
        "tool",
        "string name! title description annotations.title; array icons; object inputSchema! outputSchema annotations \
         execution _meta; boolean annotations.readOnlyHint annotations.destructiveHint annotations.idempotentHint \
         annotations.openWorldHint",
    ),
    (
        "prompts",
        "prompt",
        "string name! title description; array arguments icons; object _meta",
    ),
    (
        "resources",
        "resource",
        "string uri! name! title description mimeType; number size annotations.priority; \
         array annotations.audience icons; object annotations _meta",
    ),
    (
        "resourceTemplates",
        "template",
        "string uriTemplate! name! title description mimeType; number size annotations.priority; \
         array annotations.audience icons; object annotations _meta",
    ),
];

const ARGUMENT: &str = "string name! title description; boolean required";

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

/// The maximum length of a tool's name in the APIs of models.
const MODEL_NAME_LEN: usize = 64;

/// The maximum length of an entry's name in a finding, in bytes.
pub(crate) const NAME_BYTES: usize = 128;

const MAX_PLACES: usize = 1_000;

const SCHEMA_WORK: usize = 64_000;

/// The cost of a part, on top of the length of its place.
const PART_WORK: usize = 16;

const MAX_SCHEMA_DEPTH: usize = 128;

const TYPES: &str = "array boolean integer null number object string";

/// Keywords that define the type of a value without `type`.
const SAYING_TYPE: &str = "$ref enum const properties items not anyOf oneOf allOf";

/// Keywords with lists of schemas for the same value.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

impl Lists {
    pub(crate) fn of(&self, member: &str) -> &[Value] {
        self.0.get(member).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn add(&mut self, page: &Value, most: usize) {
        for member in MEMBERS {
            let entries = self.0.entry(member).or_default();
            let room = most.saturating_sub(entries.len());
            let more = page[member].as_array().into_iter().flatten();
            entries.extend(more.take(room).cloned());
        }
    }

    pub(crate) fn judge(&self, ledger: &mut Ledger) {
        self.shapes(ledger);
        if !self.of("tools").is_empty() {
            self.names(ledger);
            self.headers(ledger);
            self.schemas(ledger);
        }
        if !self.of("resources").is_empty() {
            let uris = self.of("resources").iter();
            let uris = uris.filter_map(|it| it["uri"].as_str());
            let bad = uris.filter(|uri| Url::parse(uri).is_err());
            ledger.judge_places(RESOURCE_URI, bad.map(str::to_owned).collect());
        }
        if !self.of("prompts").is_empty() || !self.of("resources").is_empty() {
            self.repeated(ledger);
        }
    }

    fn shapes(&self, ledger: &mut Ledger) {
        let mut places = Vec::new();
        for (member, kind, shape) in SHAPES {
            for (entry, number) in self.of(member).iter().zip(1_usize..) {
                let mut place = name(entry);
                if place.is_empty() {
                    place = format!("{kind} {number}");
                }
                faults(entry, shape, &place, &mut places);
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
        let mut judge = |rule, is_kept: &mut dyn FnMut(&str) -> bool| {
            let names = self.of("tools").iter();
            let names = names.filter_map(|tool| tool["name"].as_str());
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
            (1..=MODEL_NAME_LEN).contains(&name.len()) && is_plain(name, "_-")
        });
    }

    /// Each revision says that the name of a prompt and the URI of a resource are unique.
    fn repeated(&self, ledger: &mut Ledger) {
        let (mut known, mut places) = (BTreeSet::new(), Vec::new());
        for (member, key) in [("prompts", "name"), ("resources", "uri")] {
            for id in self.of(member).iter().filter_map(|it| it[key].as_str()) {
                if !known.insert((member, id)) {
                    places.push(clipped(id, NAME_BYTES));
                }
            }
        }
        ledger.judge_places(ENTRY_UNIQUE, places);
    }

    fn headers(&self, ledger: &mut Ledger) {
        let tools = self.of("tools").iter();
        let all: Vec<_> = tools.filter_map(|it| Some((it, mirrored(it)?))).collect();
        for (rule, reason) in [
            (HEADER_NAME, BadReason::Name),
            (HEADER_UNIQUE, BadReason::Repeated),
            (HEADER_TYPE, BadReason::Type),
            (HEADER_PLACE, BadReason::Place),
        ] {
            let broken = all.iter().filter_map(|(tool, annotations)| {
                let bad = annotations.as_ref().err()?;
                (bad.reason == reason).then(|| format!("{}: {bad}", name(tool)))
            });
            if !all.is_empty() {
                ledger.judge_places(rule, broken.collect());
            }
        }
    }

    fn schemas(&self, ledger: &mut Ledger) {
        let mut faults = Vec::new();
        for tool in self.of("tools") {
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

/// Reads which arguments of a tool are mirrored into headers.
pub(crate) fn mirrored(tool: &Value) -> Option<Result<HeaderAnnotations, BadAnnotation>> {
    let schema = tool["inputSchema"].to_string();
    let schema = schema.contains("x-mcp-header").then_some(schema)?;
    let schema = serde_json::from_str::<Schema>(&schema).ok()?;
    Some(HeaderAnnotations::of(&schema))
}

/// Reports missing members and members with the wrong type.
fn faults(entry: &Value, shape: &str, place: &str, places: &mut Vec<String>) {
    let mut fault = |what: String| {
        if places.len() < MAX_PLACES {
            places.push(format!("{place}: {what}"));
        }
    };
    if !entry.is_object() {
        return fault("it is not an object".to_owned());
    }
    let groups = shape.split("; ").filter_map(|group| group.split_once(' '));
    for (kind, names) in groups {
        for marked in names.split(' ') {
            let name = marked.trim_end_matches('!');
            let mut steps = name.split('.');
            let found = steps.try_fold(entry, |within, step| within.get(step));
            let is_right = |value: &Value| match kind {
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "array" => value.is_array(),
                _ => value.is_object(),
            };
            match found {
                None if name != marked => fault(format!("`{name}` is missing")),
                Some(value) if !is_right(value) => fault(format!("`{name}` is no {kind}")),
                _ => {}
            }
        }
    }
}

pub(crate) fn name(entry: &Value) -> String {
    let mut names = ["name", "uri", "uriTemplate"].into_iter();
    let name = names.find_map(|member| entry[member].as_str());
    clipped(name.unwrap_or_default(), NAME_BYTES)
}

fn is_plain(name: &str, signs: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    name.chars().all(is_plain)
}

/// Returns the rules that a tool's schemas break, with the place, such as `person.pets[].name`.
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
    faults.extend(Walk::faults(input));
    let output = &tool["outputSchema"];
    if output.is_object() {
        if output["type"] != "object" {
            faults.push((OUTPUT_SCHEMA, String::new()));
        }
        // A model does not see the output schema, so only its references matter.
        let of_output = Walk::faults(output).into_iter();
        let of_output =
            of_output.filter(|(rule, _)| [SCHEMA_REFERENCE, SCHEMA_RECURSIVE].contains(rule));
        faults.extend(of_output.map(|(rule, place)| (rule, format!("output {place}"))));
    }
    faults
}

struct Walk<'a> {
    root: &'a Value,
    /// The references that led to the current part.
    followed: Vec<&'a str>,
    depth: usize,
    left: usize,
    /// Whether parts of the schema have ids, which are not resolved.
    has_ids: bool,
    faults: Vec<(Rule, String)>,
}

impl<'a> Walk<'a> {
    fn faults(root: &'a Value) -> Vec<(Rule, String)> {
        let mut walk = Self {
            root,
            followed: Vec::new(),
            depth: 0,
            left: SCHEMA_WORK,
            has_ids: root.to_string().contains("\"$id\""),
            faults: Vec::new(),
        };
        walk.part(root, "", false);
        walk.faults
    }

    /// Checks a part and everything in it. A value needs a type, unless the part only refines
    /// another schema.
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
        let is_known = |kind: &Value| TYPES.split(' ').any(|known| kind == known);
        let says = |words: &str| words.split(' ').any(|word| part.get(word).is_some());
        let has_type = !types.is_empty() || says(SAYING_TYPE);
        if needs_type && !has_type || !types.iter().all(is_known) {
            self.fault(SCHEMA_TYPE, place);
        }
        let is_list = types.iter().any(|kind| kind == "array");
        if is_list && !says("items prefixItems $ref") {
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
        // The cost of resolving a reference is its length.
        let Some(left) = self.left.checked_sub(reference.len()) else {
            return;
        };
        self.left = left;
        if self.followed.contains(&reference) || reference == "#" {
            return self.fault(SCHEMA_RECURSIVE, place);
        }
        let target = match reference.strip_prefix('#') {
            // The target may be an id or an anchor anywhere.
            None | Some("") => self.has_ids.then_some(&Value::Null),
            Some(path) if path.starts_with('/') && !path.contains('%') => self.root.pointer(path),
            Some(_) => Some(&Value::Null),
        };
        let Some(target) = target else {
            return self.fault(SCHEMA_REFERENCE, place);
        };
        self.followed.push(reference);
        self.part(target, place, false);
        self.followed.pop();
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

    #[test]
    fn what_is_kept_and_looked_at_is_bounded() {
        let arguments = vec![json!(1); 2 * MAX_PLACES];
        let prompt = json!({"name": "p".repeat(1 << 20), "arguments": arguments});
        let mut ledger = Ledger::new(false);
        Lists([("prompts", vec![prompt])].into()).shapes(&mut ledger);
        let findings = ledger.findings();
        let places = &findings[0].places;
        assert!(places.len() <= MAX_PLACES, "{}", places.len());
        assert!(places.iter().all(|place| place.len() < 2 * NAME_BYTES));
        let mut read = Lists::default();
        (0..3).for_each(|_| read.add(&json!({"tools": [1, 2, 3, 4]}), 10));
        assert_eq!(read.of("tools").len(), 10);
        let long = json!({"$ref": format!("#{}", "/a".repeat(SCHEMA_WORK))});
        assert_eq!(Walk::faults(&long), []);
        // A schema that grows by its references is checked partially.
        let mut schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/0"}}});
        for at in 0..64 {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            schema["$defs"][at.to_string()] =
                json!({"type": "object", "properties": {"a": next, "b": next}});
        }
        schema["$defs"]["64"] = json!({"type": "string"});
        assert_eq!(Walk::faults(&schema), []);
    }
}
