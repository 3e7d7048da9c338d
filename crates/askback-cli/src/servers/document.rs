//! Parses a configuration file into `mcp.json` entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use askback::internal::json::without_empty;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::input::Input;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// JSON with `mcpServers` or `servers`; comments and trailing commas are allowed.
    Plain,
    /// Like [`Plain`](Self::Plain), in a file with other settings. The file may have no servers.
    Settings,
    /// Like [`Settings`](Self::Settings), with additional servers for each project under
    /// `projects`.
    ClaudeCode,
    /// TOML with `mcp_servers`.
    Codex,
    /// JSON with `mcpServers`, in which `$VAR` is a variable, too.
    Gemini,
    /// YAML with `extensions`.
    Goose,
    /// JSON with `mcp`, in which a command is a list.
    Opencode,
    /// YAML with `mcp.servers`.
    FastAgent,
}

#[derive(Debug, Clone, Default)]
pub struct Document {
    servers: BTreeMap<String, Value>,
    /// The servers that the file defines for one project only.
    of_project: BTreeSet<String>,
    inputs: Vec<Input>,
}

/// The reason why a text is not a valid configuration. Never quotes the text, which may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// The JSON keys of server lists.
const SECTIONS: [&str; 2] = ["mcpServers", "servers"];

/// Keys that do not matter for reaching a server: descriptions, and permissions for the model of another client.
const OF_OTHERS: [&str; 20] = [
    "alwaysAllow",
    "autoApprove",
    "available_tools",
    "bundled",
    "default_tools_approval_mode",
    "description",
    "disabledTools",
    "disabled_tools",
    "display_name",
    "enabledTools",
    "enabled_tools",
    "excludeTools",
    "gallery",
    "icon",
    "includeTools",
    "name",
    "title",
    "tools",
    "trust",
    "version",
];

/// Keys that define how a server is reached.
const KNOWN: [&str; 9] = [
    "args", "command", "cwd", "disabled", "env", "headers", "oauth", "type", "url",
];

impl Document {
    /// Parses a text. `project` selects the servers of one project, if the file has servers per project.
    ///
    /// # Errors
    ///
    /// Fails if the text does not have this format. An invalid entry causes an error only when its server is used.
    pub fn read(text: &str, layout: Layout, project: Option<&Path>) -> Result<Self, Unreadable> {
        let text = text.trim_start_matches('\u{feff}');
        let whole = match layout {
            Layout::Plain
            | Layout::Settings
            | Layout::ClaudeCode
            | Layout::Gemini
            | Layout::Opencode => json(text)?,
            Layout::Codex => toml::from_str(text).map_err(|error| in_toml(&error, text))?,
            Layout::Goose | Layout::FastAgent => yaml_serde::from_str(text).map_err(|error| {
                let at = error.location();
                let at = at.map(|at| format!(" at line {} column {}", at.line(), at.column()));
                Unreadable(format!("it is not YAML{}", at.unwrap_or_default()))
            })?,
        };
        let Value::Object(whole) = whole else {
            return Err(Unreadable("it is not an object".to_owned()));
        };
        let mut servers = BTreeMap::new();
        let mut of_project = BTreeSet::new();
        match layout {
            Layout::Plain => take(&mut servers, &whole, &SECTIONS)?,
            Layout::Settings | Layout::Gemini => {
                take_any(&mut servers, &whole, &SECTIONS)?;
            }
            Layout::ClaudeCode => {
                let project = project.and_then(Path::to_str);
                let own =
                    project.and_then(|project| whole.get("projects")?.get(project)?.as_object());
                if let Some(own) = own {
                    take_any(&mut servers, own, &SECTIONS[..1])?;
                    of_project.extend(servers.keys().cloned());
                }
                take_any(&mut servers, &whole, &SECTIONS[..1])?;
            }
            Layout::Codex => {
                take_any(&mut servers, &whole, &["mcp_servers"])?;
            }
            Layout::Goose => {
                take_any(&mut servers, &whole, &["extensions"])?;
            }
            Layout::Opencode => {
                take_any(&mut servers, &whole, &["mcp"])?;
            }
            Layout::FastAgent => {
                if let Some(Value::Object(mcp)) = whole.get("mcp") {
                    take_any(&mut servers, mcp, &SECTIONS[1..])?;
                }
            }
        }
        let servers = servers.into_iter();
        let servers = servers.filter_map(|(name, server)| Some((name, layout.common(server)?)));
        Ok(Self {
            servers: servers.collect(),
            of_project,
            inputs: inputs(&whole),
        })
    }

    /// Whether the file defines this server only for the selected project.
    pub fn is_of_project(&self, name: &str) -> bool {
        self.of_project.contains(name)
    }

    /// Returns the names of the servers, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns the `mcp.json` entry of a server.
    pub fn server(&self, name: &str) -> Option<&Value> {
        self.servers.get(name)
    }

    /// Returns the input with an id.
    pub fn input(&self, id: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| input.id == id)
    }

    /// Returns all entries as an object.
    pub fn to_value(&self) -> Value {
        let servers = self.servers.iter();
        Value::Object(
            servers
                .map(|(name, said)| (name.clone(), said.clone()))
                .collect(),
        )
    }
}

/// Returns the keys of an entry that askback ignores, and that may matter.
pub fn unused(server: &Value) -> Vec<&str> {
    let members = server.as_object().into_iter().flat_map(Map::keys);
    let names = members.map(String::as_str);
    names
        .filter(|name| !KNOWN.contains(name) && !OF_OTHERS.contains(name))
        .collect()
}

/// Parses JSON with comments and trailing commas, and no other extensions.
fn json(text: &str) -> Result<Value, Unreadable> {
    let read = parse_to_ast(text, &CollectOptions::default(), &strict())
        .map_err(|error| Unreadable(error.to_string()))?;
    let value = read.value.map(Value::from);
    value.ok_or_else(|| Unreadable("it is empty".to_owned()))
}

/// The JSON extensions that are allowed.
pub(super) fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Converts a TOML error, without the line of the file that it quotes.
fn in_toml(error: &toml::de::Error, text: &str) -> Unreadable {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count().saturating_add(1));
    Unreadable(match line {
        Some(line) => format!("it is not TOML at line {line}"),
        None => "it is not TOML".to_owned(),
    })
}

/// Adds the servers of all these sections. The first definition of a name counts. Fails if no section exists.
fn take(
    servers: &mut BTreeMap<String, Value>,
    members: &Map<String, Value>,
    sections: &[&str],
) -> Result<(), Unreadable> {
    match take_any(servers, members, sections)? {
        true => Ok(()),
        false => Err(Unreadable(
            "it has no `mcpServers` and no `servers`".to_owned(),
        )),
    }
}

/// Like [`take`], but returns whether any section exists instead of failing.
fn take_any(
    servers: &mut BTreeMap<String, Value>,
    members: &Map<String, Value>,
    sections: &[&str],
) -> Result<bool, Unreadable> {
    let mut found = false;
    for section in sections {
        match members.get(*section) {
            None | Some(Value::Null) => {}
            Some(Value::Object(listed)) => {
                found = true;
                for (name, server) in listed {
                    let entry = servers.entry(name.clone());
                    entry.or_insert_with(|| server.clone());
                }
            }
            Some(_) => return Err(Unreadable(format!("its `{section}` is not an object"))),
        }
    }
    Ok(found)
}

/// The inputs of a file, in VS Code's format. An unreadable input is an error only for the servers that refer to it.
fn inputs(whole: &Map<String, Value>) -> Vec<Input> {
    let inputs = whole.get("inputs").and_then(Value::as_array);
    let read = inputs.into_iter().flatten();
    read.filter_map(|input| serde_json::from_value(without_empty(input.clone())).ok())
        .collect()
}

impl Layout {
    /// Converts an entry to the keys of `mcp.json`. `None` if the entry is a part of the client and not a server.
    fn common(self, server: Value) -> Option<Value> {
        let Value::Object(mut server) = server else {
            return Some(server);
        };
        match self {
            Self::Plain | Self::Settings | Self::ClaudeCode => {}
            Self::Gemini => {
                rename(&mut server, &[("url", "sseUrl")]);
                change_texts(&mut server, braced);
                if !server.contains_key("httpUrl") {
                    rename(&mut server, &[("sseUrl", "url")]);
                }
                server.remove("sseUrl");
            }
            Self::Codex => codex(&mut server),
            Self::Goose => goose(&mut server)?,
            Self::Opencode => opencode(&mut server),
            Self::FastAgent => rename(&mut server, &[("transport", "type")]),
        }
        rename(&mut server, &[("httpUrl", "url"), ("serverUrl", "url")]);
        if let Some(Value::Bool(enabled)) = server.remove("enabled") {
            server.entry("disabled").or_insert(json!(!enabled));
        }
        Some(Value::Object(server))
    }
}

/// Renames keys. An existing key is not replaced.
fn rename(server: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        if !server.contains_key(*to)
            && let Some(value) = server.remove(*from)
        {
            server.insert((*to).to_owned(), value);
        }
    }
}

/// Adds a value to the object under a key. An existing value is not replaced.
fn add(server: &mut Map<String, Value>, member: &str, name: String, value: Value) {
    let object = server.entry(member).or_insert_with(|| json!({}));
    if let Value::Object(object) = object {
        object.entry(name).or_insert(value);
    }
}

fn codex(server: &mut Map<String, Value>) {
    rename(server, &[("http_headers", "headers")]);
    if let Some(Value::String(variable)) = server.remove("bearer_token_env_var") {
        let value = json!(format!("Bearer ${{{variable}}}"));
        add(server, "headers", "Authorization".to_owned(), value);
    }
    if let Some(Value::Object(variables)) = server.remove("env_http_headers") {
        for (header, variable) in variables {
            let variable = variable.as_str().unwrap_or_default();
            add(server, "headers", header, json!(format!("${{{variable}}}")));
        }
    }
    // A server inherits the whole environment here, so a list of variables is not needed.
    server.remove("env_vars");
}

fn goose(server: &mut Map<String, Value>) -> Option<()> {
    // In older files, the keys of a server are nested in `config`.
    if let Some(Value::Object(config)) = server.remove("config") {
        server.extend(config);
    }
    match server.get("type").and_then(Value::as_str) {
        Some("stdio" | "sse" | "streamable_http") => {}
        Some(_) => return None,
        None => {}
    }
    rename(
        server,
        &[("cmd", "command"), ("uri", "url"), ("envs", "env")],
    );
    // Goose reads these values from the system's keyring. Here they are environment variables.
    if let Some(Value::Array(keys)) = server.remove("env_keys") {
        for key in keys.iter().filter_map(Value::as_str) {
            add(server, "env", key.to_owned(), json!(format!("${{{key}}}")));
        }
    }
    Some(())
}

fn opencode(server: &mut Map<String, Value>) {
    // Redundant: the command or the URL implies it.
    server.remove("type");
    rename(server, &[("environment", "env")]);
    change_texts(server, |text| text.replace("{env:", "${"));
    if let Some(Value::Array(words)) = server.get_mut("command")
        && !words.is_empty()
    {
        let program = words.remove(0);
        let args = server.insert("command".to_owned(), program);
        server.insert("args".to_owned(), args.unwrap_or_default());
    }
}

fn change_texts(members: &mut Map<String, Value>, change: fn(&str) -> String) {
    fn change_in(value: &mut Value, change: fn(&str) -> String) {
        match value {
            Value::String(text) => *text = change(text),
            Value::Array(values) => values.iter_mut().for_each(|it| change_in(it, change)),
            Value::Object(members) => change_texts(members, change),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    members
        .values_mut()
        .for_each(|value| change_in(value, change));
}

/// Writes `$VAR` as `${VAR}`.
fn braced(text: &str) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('$');
        let begins = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        match begins {
            true => out.extend(["{", name, "}", rest]),
            false => out.push_str(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a text contains these servers.
    #[track_caller]
    fn check(layout: Layout, text: &str, expected: Value) {
        let document =
            Document::read(text, layout, Some(Path::new("/project"))).expect("it is read");
        assert_eq!(document.to_value(), expected);
    }

    #[track_caller]
    fn refuse(layout: Layout, text: &str, says: &str) {
        let Unreadable(why) = Document::read(text, layout, None).expect_err("it is none");
        assert!(why.contains(says), "{why}");
        assert!(!why.contains("secret"), "{why}");
    }

    #[test]
    fn json_has_one_of_two_members() {
        let servers = json!({"a": {"command": "x"}});
        check(
            Layout::Plain,
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
            servers.clone(),
        );
        check(
            Layout::Plain,
            r#"{"servers": {"a": {"command": "x"}}}"#,
            servers.clone(),
        );
        check(
            Layout::Plain,
            r#"{"servers": {"a": {"command": "y"}, "b": 1}, "mcpServers": {"a": {"command": "x"}}}"#,
            json!({"a": {"command": "x"}, "b": 1}),
        );
        let commented = "\u{feff}{ // x\n/* y */ \"servers\": {\"a\": {\"command\": \"x\",},},\n}";
        check(Layout::Plain, commented, servers);
        check(
            Layout::Plain,
            r#"{"mcpServers": {"a": {"serverUrl": "u"}, "b": {"httpUrl": "u"}, "c": {"enabled": false}}}"#,
            json!({"a": {"url": "u"}, "b": {"url": "u"}, "c": {"disabled": true}}),
        );
        refuse(Layout::Plain, "", "it is empty");
        refuse(Layout::Plain, "[]", "it is not an object");
        refuse(
            Layout::Plain,
            "{}",
            "it has no `mcpServers` and no `servers`",
        );
        refuse(
            Layout::Plain,
            r#"{"servers": "secret"}"#,
            "its `servers` is not an object",
        );
        refuse(Layout::Plain, "{'secret': {}}", "line 1 column");
        refuse(Layout::Plain, "{secret: {}}", "line 1 column");
        refuse(Layout::Plain, &"[".repeat(100_000), "nesting depth");
    }

    #[test]
    fn an_unreadable_input_does_not_affect_other_inputs() {
        let text = r#"{"servers": {"a": {"command": "x"}}, "inputs": [{"secret": 1}, 7, {"id": "b", "type": "promptString", "default": null}]}"#;
        let document = Document::read(text, Layout::Plain, None).expect("it is read");
        assert_eq!(document.names().collect::<Vec<_>>(), ["a"]);
        assert!(document.input("b").is_some());
    }

    #[test]
    fn settings_need_no_servers() {
        check(Layout::Settings, r#"{"theme": "x"}"#, json!({}));
        check(Layout::Gemini, r#"{"theme": "x"}"#, json!({}));
        check(Layout::Goose, "GOOSE_MODEL: x", json!({}));
        refuse(
            Layout::Settings,
            r#"{"mcpServers": []}"#,
            "its `mcpServers` is not an object",
        );
    }

    #[test]
    fn a_project_has_servers_of_its_own() {
        let text = r#"{
            "mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}},
            "projects": {
                "/project": {"mcpServers": {"a": {"command": "local"}}, "history": []},
                "/else": {"mcpServers": {"c": {"command": "other"}}}
            }
        }"#;
        check(
            Layout::ClaudeCode,
            text,
            json!({"a": {"command": "local"}, "b": {"command": "user"}}),
        );
        check(Layout::ClaudeCode, r#"{"numStartups": 1}"#, json!({}));
    }

    #[test]
    fn codex_writes_toml() {
        let text = r#"
            model = "x" # a comment
            [mcp_servers.a]
            command = "x"
            args = ["-y"]
            env = { A = "1" }
            env_vars = ["B"]
            enabled = false
            startup_timeout_sec = 20
            [mcp_servers."b c"]
            url = "https://b.test/mcp"
            bearer_token_env_var = "TOKEN"
            http_headers = { X = "1" }
            env_http_headers = { Y = "VALUE" }
        "#;
        let headers = json!({"Authorization": "Bearer ${TOKEN}", "X": "1", "Y": "${VALUE}"});
        let expected = json!({
            "a": {"command": "x", "args": ["-y"], "env": {"A": "1"}, "disabled": true, "startup_timeout_sec": 20},
            "b c": {"url": "https://b.test/mcp", "headers": headers},
        });
        check(Layout::Codex, text, expected);
        check(Layout::Codex, "", json!({}));
        refuse(Layout::Codex, "a = 1\n'secret", "it is not TOML at line 2");
        refuse(
            Layout::Codex,
            &format!("a = {}", "[".repeat(100_000)),
            "it is not TOML",
        );
    }

    #[test]
    fn gemini_names_variables_with_a_dollar_alone() {
        let text = r#"{"mcpServers": {
            "a": {"command": "x", "env": {"A": "$TOKEN", "B": "${B}-$1-$", "C": "a$B/c"}},
            "b": {"httpUrl": "https://b.test", "url": "https://old.test"},
            "c": {"url": "https://c.test/sse"}
        }}"#;
        let expected = json!({
            "a": {"command": "x", "env": {"A": "${TOKEN}", "B": "${B}-$1-$", "C": "a${B}/c"}},
            "b": {"url": "https://b.test"},
            "c": {"url": "https://c.test/sse"},
        });
        check(Layout::Gemini, text, expected);
    }

    #[test]
    fn goose_calls_servers_extensions() {
        let text = "
GOOSE_MODEL: x # a comment
extensions:
  developer: {type: builtin, name: developer, enabled: true}
  a:
    type: stdio
    name: a
    enabled: true
    cmd: x
    args: ['-y']
    envs: {A: '1'}
    env_keys: [TOKEN]
    timeout: 300
  b: {type: streamable_http, uri: 'https://b.test/mcp', enabled: false, headers: {X: '1'}}
  c:
    enabled: true
    config: {type: stdio, cmd: y}
";
        let expected = json!({
            "a": {
                "type": "stdio", "name": "a", "command": "x", "args": ["-y"],
                "env": {"A": "1", "TOKEN": "${TOKEN}"}, "timeout": 300, "disabled": false,
            },
            "b": {
                "type": "streamable_http", "url": "https://b.test/mcp", "headers": {"X": "1"},
                "disabled": true,
            },
            "c": {"type": "stdio", "command": "y", "disabled": false},
        });
        check(Layout::Goose, text, expected);
        refuse(Layout::Goose, "a: [secret", "it is not YAML at line");
        refuse(Layout::Goose, "- secret", "it is not an object");
    }

    #[test]
    fn opencode_and_fast_agent_have_members_of_their_own() {
        let text = r#"{"mcp": { // mine
            "a": {"type": "local", "command": ["npx", "-y", "a"], "environment": {"A": "1"}, "enabled": false},
            "b": {"type": "remote", "url": "https://b.test/mcp", "headers": {"A": "Bearer {env:KEY}"}},
            "c": {"type": "local", "command": []},
        }}"#;
        let expected = json!({
            "a": {"command": "npx", "args": ["-y", "a"], "env": {"A": "1"}, "disabled": true},
            "b": {"url": "https://b.test/mcp", "headers": {"A": "Bearer ${KEY}"}},
            "c": {"command": []},
        });
        check(Layout::Opencode, text, expected);
        let text = "
default_model: x
mcp:
  servers:
    a: {command: npx, args: ['-y']}
    b: {transport: http, url: 'https://b.test/mcp'}
";
        let expected = json!({
            "a": {"command": "npx", "args": ["-y"]},
            "b": {"type": "http", "url": "https://b.test/mcp"},
        });
        check(Layout::FastAgent, text, expected);
        check(Layout::FastAgent, "default_model: x", json!({}));
    }
}
