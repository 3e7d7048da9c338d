//! Parses a configuration file into `mcp.json` entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

use super::{
    entry::EntryShape,
    entry_text::{Format, at},
};

#[derive(Debug, Clone, Default)]
pub struct Document {
    servers: BTreeMap<String, Value>,
    /// The servers that the file defines for one project only.
    of_project: BTreeSet<String>,
}

/// The reason why a text is not a valid configuration. Never quotes the text, which may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

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
    /// Parses the text of a file. `shape` is the format of a client's entries; `None` is an `mcp.json`, which must have
    /// servers. `project` selects the servers of one project, if the file has servers per project.
    ///
    /// # Errors
    ///
    /// Fails if the text does not have this format. An invalid entry causes an error only when its server is used.
    pub fn read(
        text: &str,
        path: &Path,
        shape: Option<&EntryShape>,
        project: Option<&Path>,
    ) -> Result<Self, Unreadable> {
        let whole = Format::of(path).read(text)?;
        if !whole.is_object() {
            return Err(Unreadable("it is not an object".to_owned()));
        }
        let plain = EntryShape::default();
        let of_entries = shape.unwrap_or(&plain);
        let mut read = Self::default();
        let mut has_section = shape.is_some();
        for section in of_entries.sections(project.unwrap_or(Path::new(""))) {
            let listed = match at(&whole, &section) {
                None | Some(Value::Null) => continue,
                Some(Value::Object(listed)) => listed,
                Some(_) => {
                    let section = section.join(".");
                    return Err(Unreadable(format!("its `{section}` is not an object")));
                }
            };
            has_section = true;
            let is_of_project = section.first().is_some_and(|it| it == "projects");
            for (name, entry) in listed {
                // The first definition of a name counts.
                if !read.servers.contains_key(name)
                    && let Some(server) = of_entries.common(entry)
                {
                    read.servers.insert(name.clone(), server);
                    read.of_project.extend(is_of_project.then(|| name.clone()));
                }
            }
        }
        match has_section {
            true => Ok(read),
            false => Err(Unreadable(
                "it has no `mcpServers` and no `servers`".to_owned(),
            )),
        }
    }

    /// Whether the file defines this server only for the selected project.
    pub fn is_of_project(&self, name: &str) -> bool {
        self.of_project.contains(name)
    }

    /// In alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    pub fn server(&self, name: &str) -> Option<&Value> {
        self.servers.get(name)
    }

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::known_clients::KnownClient;

    /// Reads a file of this client, or without a client an `mcp.json`.
    fn read(client: &str, text: &str) -> Result<Document, Unreadable> {
        let client = KnownClient::named(client);
        let path = client.map_or("mcp.json", |client| client.files[0].path());
        let shape = client.map(|client| &client.entry);
        Document::read(text, Path::new(path), shape, Some(Path::new("/project")))
    }

    /// Checks that a text contains these servers.
    #[track_caller]
    fn check(client: &str, text: &str, expected: Value) {
        let document = read(client, text).expect("it is read");
        assert_eq!(document.to_value(), expected);
    }

    #[track_caller]
    fn refuse(client: &str, text: &str, says: &str) {
        let Unreadable(why) = read(client, text).expect_err("it is none");
        assert!(why.contains(says), "{why}");
        assert!(!why.contains("secret"), "{why}");
    }

    #[test]
    fn json_has_one_of_two_members() {
        let servers = json!({"a": {"command": "x"}});
        check(
            "",
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
            servers.clone(),
        );
        check(
            "",
            r#"{"servers": {"a": {"command": "x"}}}"#,
            servers.clone(),
        );
        check(
            "",
            r#"{"servers": {"a": {"command": "y"}, "b": 1}, "mcpServers": {"a": {"command": "x"}}}"#,
            json!({"a": {"command": "x"}, "b": 1}),
        );
        let commented = "\u{feff}{ // x\n/* y */ \"servers\": {\"a\": {\"command\": \"x\",},},\n}";
        check("", commented, servers);
        check(
            "",
            r#"{"mcpServers": {"a": {"serverUrl": "u"}, "b": {"httpUrl": "u"}, "c": {"enabled": false}}}"#,
            json!({"a": {"url": "u"}, "b": {"url": "u"}, "c": {"disabled": true}}),
        );
        refuse("", "", "it has no `mcpServers`");
        refuse("", "[]", "it is not an object");
        refuse("", "{}", "it has no `mcpServers` and no `servers`");
        refuse(
            "",
            r#"{"servers": "secret"}"#,
            "its `servers` is not an object",
        );
        refuse("", "{'secret': {}}", "line 1 column");
        refuse("", "{secret: {}}", "line 1 column");
        refuse("", &"[".repeat(100_000), "nesting depth");
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
            "claude-code",
            text,
            json!({"a": {"command": "local"}, "b": {"command": "user"}}),
        );
        check("claude-code", r#"{"numStartups": 1}"#, json!({}));
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
        check("codex", text, expected);
        check("codex", "", json!({}));
        refuse("codex", "a = 1\n'secret", "this is not TOML, at line 2");
        refuse(
            "codex",
            &format!("a = {}", "[".repeat(100_000)),
            "this is not TOML",
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
        check("gemini-cli", text, expected);
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
";
        let expected = json!({
            "a": {
                "type": "stdio", "name": "a", "command": "x", "args": ["-y"],
                "env": {"A": "1"}, "timeout": 300, "disabled": false,
            },
            "b": {
                "type": "streamable_http", "url": "https://b.test/mcp", "headers": {"X": "1"},
                "disabled": true,
            },
        });
        check("goose", text, expected);
        refuse("goose", "a: [secret", "this is not YAML, at line");
        refuse("goose", "- secret", "it is not an object");
    }

    #[test]
    fn opencode_and_fast_agent_have_members_of_their_own() {
        let text = r#"{"mcp": { // mine
            "a": {"type": "local", "command": ["npx", "-y", "a"], "environment": {"A": "1"}, "enabled": false},
            "b": {"type": "remote", "url": "https://b.test/mcp", "headers": {"A": "Bearer {env:KEY}"}},
            "c": {"type": "local", "command": []},
        }}"#;
        let expected = json!({
            "a": {"type": "stdio", "command": "npx", "args": ["-y", "a"], "env": {"A": "1"}, "disabled": true},
            "b": {"type": "http", "url": "https://b.test/mcp", "headers": {"A": "Bearer ${KEY}"}},
            "c": {"type": "stdio", "command": []},
        });
        check("opencode", text, expected);
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
        check("fast-agent", text, expected);
        check("fast-agent", "default_model: x", json!({}));
    }
}
