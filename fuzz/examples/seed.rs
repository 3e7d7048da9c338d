//! Fills `corpus/` with seeds: the messages and forms from askback-core's tests, and a few texts
//! for each other target. Run it in this directory before the first `cargo fuzz run`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use askback_core::{
    forms::{Content, FormSchema},
    limits::FormLimits,
    revision::Revision,
};
use serde_json::Value;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = here.join("../crates/askback-core/tests/core/wire/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(cases)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();

    let mut seeds = Seeds(here.join("corpus"));
    for (number, case) in files.iter().flat_map(read).enumerate() {
        let message = &case["message"];
        for revision in 0..Revision::ALL.len() {
            for kind in kinds(&case) {
                let mut seed = vec![revision as u8, kind];
                seed.extend(message.to_string().bytes());
                seeds.write("message", &format!("{number}-{revision}-{kind}"), &seed)?;
            }
        }
        seeds.write(
            "reading",
            &number.to_string(),
            message.to_string().as_bytes(),
        )?;
        let form = &message["params"]["requestedSchema"];
        if form.is_object() {
            seeds.form(number, &form.to_string())?;
        }
    }
    for (target, texts) in TEXTS {
        for (number, text) in texts.iter().enumerate() {
            seeds.write(target, &format!("text-{number}"), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Seeds for targets that do not read messages.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "reading",
        &[
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":5,"inputSchema":{}},{"name":"b"},7],"nextCursor":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"name":"a","uri":"a:b","size":1.0},{"uri":"b:c"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"name":"a","uriTemplate":"a:{b}","icons":[{"src":"a:b"},5]}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"a","arguments":[{"name":"b","required":"yes"},{}]}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"a \ud83d"}},{"role":"x"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"AA=="},{"type":"resource_link","uri":"a:b","name":"c"}],"isError":"true"}}"#,
            r#"{"result":{"completion":{"values":["a",5],"total":1e3}},"id":1.0,"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":NaN}"#,
        ],
    ),
    (
        "ci_commands",
        &[
            "::error::a\n ::set-env name=a::b\n",
            "a ##[group]b\n##vso[task.complete]\r##teamcity[a]",
        ],
    ),
    (
        "documents",
        &[
            r#"{"id":"","uri":null,"expires_in":"3600","names":"a b","scope":["a",5],"bound":"true"}"#,
            r#"{"id":"a","uri":"b","expires_in":3600.5,"names":["a"],"scope":"","bound":false}"#,
            r#"{"id":"s3cr3t","expires_in":[5],"bound":"s3cr3t"}"#,
            r#"{"resource":"https://a.example/mcp","authorization_servers":["https://b.example"],"scopes_supported":"a b"}"#,
            r#"{"issuer":"https://b.example","token_endpoint":"","code_challenge_methods_supported":["S256"]}"#,
        ],
    ),
    (
        "servers_file",
        &[
            r#"{"mcpServers":{"a":{"command":"x","args":["s3cr3t",5],"env":{"A":1,"B":null}},"b":7}}"#,
            r#" {"servers":{"a":{"type":"http","url":"https://a.example","headers":{"X":"s3cr3t"}}},"inputs":[{"id":"a"},5],}"#,
            "\u{2}{\"projects\":{\"/project\":{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}}}",
            "\u{3}[mcp_servers.a]\ncommand = \"x\"\nargs = [\"-y\", 5]\nenv = { A = \"s3cr3t\" }\n",
            "\u{4}{\"mcpServers\":{\"a\":{\"httpUrl\":\"https://a.example\",\"env\":{\"A\":\"$B\"}}}}",
            "\u{5}extensions:\n  a: {type: stdio, cmd: x, args: [s3cr3t], env_keys: [A], enabled: true}\n  b: 7\n",
        ],
    ),
    (
        "uri_template",
        &[
            "x://a/{b}/c{?d,e*}{&f:3}\nhttps://a.example/ä",
            "x:{+a}{#b}{/c,d}{;e,f}{.g}\na/b?c%20",
        ],
    ),
    (
        "repeated",
        &[
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[\n{\"name\":\"a\"},\n{}]}}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}\n,{\"type\":\"x\",\"content\":[{}]}\n]}",
            "{\"content\":\n[{\"content\":\n",
            "{\"issuer\":\"a\",\"scopes_supported\":[\n\"a\",\n\"\"]}",
            "{\"type\":\"object\",\"properties\":{\n\"a\":{\"type\":\"string\"},\n\"b\":{}}}",
            "x://a\n/{b}\n{?c}",
            "{\"a\":\"\n\\ud83d\n\"}",
            "\n##[a\n",
            "\ndata: a\n\nid: b",
        ],
    ),
];

struct Seeds(PathBuf);

impl Seeds {
    fn form(&mut self, number: usize, form: &str) -> io::Result<()> {
        self.write("form_schema", &number.to_string(), form.as_bytes())?;
        let Ok(schema) = FormSchema::parse(form.as_bytes(), &FormLimits::default()) else {
            return Ok(());
        };
        let mut answer = schema.with_defaults(Content::new());
        for field in &schema.fields {
            answer.entry(field.name.clone()).or_insert(Value::from("2"));
        }
        let typed = "2\nyes\na\n".repeat(schema.fields.len());
        let seed = format!("{form}\n{typed}");
        self.write("json_schema_form", &number.to_string(), seed.as_bytes())?;
        let answer = Value::Object(answer);
        let seed = format!("{form}\n{answer}");
        self.write("form_answer", &number.to_string(), seed.as_bytes())?;
        self.write("tool_schema", &number.to_string(), seed.as_bytes())?;
        let rules = format!(
            "answers:\n- accept: {answer}\n- {{when: {{mode: url, host: example.com}}, accept: true}}"
        );
        let seed = format!("{form}\nhttps://example.com/a\n{rules}");
        self.write("answers_file", &number.to_string(), seed.as_bytes())
    }

    fn write(&mut self, target: &str, name: &str, seed: &[u8]) -> io::Result<()> {
        let directory = self.0.join(target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("seed-{name}")), seed)
    }
}

fn read(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"))
}

/// The result types to try: all of them, because the test case names a method and the target needs
/// a number.
fn kinds(case: &Value) -> std::ops::Range<u8> {
    if case["message"].get("result").is_some() {
        0..17
    } else {
        0..1
    }
}
