//! Faults of the entries of lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::run::Run;

/// A server with these lists.
const LISTS: &str = r#"
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"l","version":"1"}}' ;;
    *'"tools/list"'*) answer "{\"tools\":$1}" ;;
    *'"prompts/list"'*) answer "{\"prompts\":$2}" ;;
    *'"resources/list"'*) answer "{\"resources\":$3}" ;;
    *'"resources/templates/list"'*) answer "{\"resourceTemplates\":$4}" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    esac
done
"#;

/// Checks the places of the findings about these tools, prompts, resources and templates.
#[track_caller]
fn finds(name: &str, lists: [Value; 4], expected: &[(&str, &str)]) {
    finds_in("2025-11-25", name, lists, expected);
}

/// Like [`finds`], for a server of another revision.
#[track_caller]
fn finds_in(revision: &str, name: &str, lists: [Value; 4], expected: &[(&str, &str)]) {
    let run = Run::new(&format!("check-entries-{name}"), &["check", "--quick"]);
    let lists = lists.map(|list| list.to_string());
    let lists = lists.each_ref().map(String::as_str);
    let server = LISTS.replace("2025-11-25", revision);
    let run = run.and(&["--json", "--", "sh", "-c", &server, "sh"]);
    let report = run.and(&lists).run().json();
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    for finding in report["findings"].as_array().expect("a list") {
        let places = finding["places"].as_array().expect("a list").iter();
        let places = places.filter_map(Value::as_str);
        found.insert(finding["id"].as_str().expect("an id"), places.collect());
    }
    let mut places = BTreeMap::<_, BTreeSet<_>>::new();
    for (id, place) in expected {
        places.entry(*id).or_default().insert(*place);
    }
    assert_eq!(found, places, "{report:#}");
}

fn tool(name: &str, member: &str, value: Value) -> Value {
    let mut tool = json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
    tool[member] = value;
    tool
}

#[test]
fn entries_with_other_members_than_the_schema_has_are_found() {
    let tools = json!([
        tool("right", "x", json!(1)),
        tool("hint", "annotations", json!({"readOnlyHint": "yes"})),
        tool("title", "title", Value::Null),
        {"inputSchema": {"type": "object", "properties": {}}},
        "book",
    ]);
    let prompts = json!([{"name": "p", "arguments": [{"name": "a", "required": "yes"}]}]);
    let right = json!({"uri": "a://b", "name": "b", "size": 1});
    let resources = json!([right, {"uri": "b", "name": "c", "size": "1"}]);
    let templates = json!([{"uriTemplate": "a://{b}"}]);
    let expected = [
        ("TO-10", ""),
        ("RE-08", "b"),
        (
            "entry-shape",
            "hint: `annotations.readOnlyHint` is no boolean",
        ),
        ("entry-shape", "title: `title` is no string"),
        ("entry-shape", "tool 4: `name` is missing"),
        ("entry-shape", "tool 5: it is not an object"),
        ("entry-shape", "p: argument a: `required` is no boolean"),
        ("entry-shape", "c: `size` is no number"),
        ("entry-shape", "a://{b}: `name` is missing"),
    ];
    finds("shape", [tools, prompts, resources, templates], &expected);
}

#[test]
fn names_that_clients_refuse_are_found() {
    let (fits, long) = ("a".repeat(64), "b".repeat(65));
    let refused = ["a.b", long.as_str(), "a b", "a/b", "ä", ""];
    let names = [&[fits.as_str(), "twice", "twice"][..], &refused].concat();
    let tools = names.iter().map(|name| tool(name, "x", Value::Null));
    let tools: Value = tools.collect();
    let lists = || [tools.clone(), json!([]), json!([]), json!([])];
    let by_models = refused.map(|name| ("tool-name", name));
    let by_protocol = [
        ("TO-12", ""),
        ("TO-14", "a b"),
        ("TO-14", "a/b"),
        ("TO-14", "ä"),
        ("TO-16", "twice"),
    ];
    let expected = [&by_models[..], &by_protocol].concat();
    finds("names", lists(), &expected);
    // Older revisions only say that a name is unique.
    let expected = [&by_models[..], &[("tool-unique", "twice")]].concat();
    finds_in("2025-06-18", "older-names", lists(), &expected);
}

#[test]
fn prompts_and_resources_that_are_listed_twice_are_found() {
    let prompts = ["p", "p", "a://c"].map(|name| json!({"name": name}));
    let resources = ["a://b", "a://b", "a://c"].map(|uri| json!({"uri": uri, "name": "r"}));
    let lists = || [json!([]), json!(prompts), json!(resources), json!([])];
    let expected = [("entry-unique", "p"), ("entry-unique", "a://b")];
    finds("twice", lists(), &expected);
    finds_in("2024-11-05", "older-twice", lists(), &expected);
}

#[test]
fn schemas_that_clients_refuse_are_found() {
    let node = r##"{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}"##;
    let of = |argument: &str| {
        let parts = format!(r#"{{"node":{node},"text":{{"type":"string"}}}}"#);
        format!(r#"{{"type":"object","properties":{{"a":{argument}}},"$defs":{parts}}}"#)
    };
    let bare = r#"{"type":"object","properties":{},"#;
    let (mut tools, mut expected) = (Vec::new(), Vec::new());
    for (name, schema, id, place) in [
        ("text", of(r#"{"type":"string"}"#), "", ""),
        ("part", of(r##"{"$ref":"#/$defs/text"}"##), "", ""),
        (
            "any",
            of(r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#),
            "",
            "",
        ),
        ("true", of("true"), "", ""),
        (
            "required",
            of(r#"{"properties":{},"required":["b"]}"#),
            "schema-required",
            ": a.b",
        ),
        (
            "untyped",
            of(r#"{"description":"d"}"#),
            "schema-type",
            ": a",
        ),
        (
            "int",
            of(r#"{"type":"array","items":{"type":"int"}}"#),
            "schema-type",
            ": a[]",
        ),
        (
            "items",
            of(r#"{"type":["array","null"]}"#),
            "schema-items",
            ": a",
        ),
        (
            "none",
            of(r##"{"$ref":"#/$defs/none"}"##),
            "schema-reference",
            ": a",
        ),
        (
            "file",
            of(r#"{"items":{"$ref":"other.json"}}"#),
            "schema-reference",
            ": a[]",
        ),
        (
            "node",
            of(r##"{"$ref":"#/$defs/node"}"##),
            "schema-recursive",
            ": a.next",
        ),
        ("root", of(r##"{"$ref":"#"}"##), "schema-recursive", ": a"),
        ("string", r#"{"type":"string"}"#.to_owned(), "TO-10", ""),
        (
            "empty",
            r#"{"type":"object"}"#.to_owned(),
            "schema-properties",
            "",
        ),
        (
            "choice",
            format!(r#"{bare}"oneOf":[]}}"#),
            "schema-choice",
            "",
        ),
        (
            "bare",
            format!(r#"{bare}"required":["b"]}}"#),
            "schema-required",
            ": b",
        ),
    ] {
        let schema = serde_json::from_str(&schema).expect("it is JSON");
        tools.push(tool(name, "inputSchema", schema));
        if !id.is_empty() {
            expected.push((id, format!("{name}{place}")));
        }
    }
    let output = json!({"type": "array", "items": {"$ref": "#/$defs/none"}});
    tools.push(tool("output", "outputSchema", output));
    let of_output = [
        ("schema-reference", "output: output []"),
        ("output-schema", "output"),
    ];
    let expected = expected.iter().map(|(id, place)| (*id, place.as_str()));
    let expected: Vec<_> = expected.chain(of_output).collect();
    let none = || json!([]);
    finds("schemas", [json!(tools), none(), none(), none()], &expected);
}
