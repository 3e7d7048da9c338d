//! A server as another client writes it.

use serde_json::{Map, Value, json};

use super::{client::KnownClient, expand};

/// A server in the members of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The entry.
    pub entry: Value,
    /// The differences that a person should know of.
    pub remarks: Vec<&'static str>,
}

/// Whether the file of a client can say in which folder a server is started.
pub fn has_folder(client: KnownClient) -> bool {
    !matches!(
        client,
        KnownClient::ClaudeCode | KnownClient::ClaudeDesktop | KnownClient::Goose
    )
}

/// Writes the entry of a server, which has the members of an `mcp.json`, as a client has it; none where
/// the client has no such servers.
pub fn export(client: KnownClient, name: &str, server: &Value) -> Option<Exported> {
    let mut exported = Exported {
        entry: Value::Null,
        remarks: Vec::new(),
    };
    let mut entry = Map::new();
    let is_started = server["command"].is_string();
    if client == KnownClient::ClaudeDesktop && !is_started {
        return None;
    }
    let is_sse = server["type"] == "sse";
    let kind = match (is_started, is_sse) {
        (true, _) => "stdio",
        (false, true) => "sse",
        (false, false) => "http",
    };
    match client {
        KnownClient::ClaudeCode | KnownClient::VsCode => {
            entry.insert("type".to_owned(), kind.into());
        }
        KnownClient::Goose => {
            let kind = if kind == "http" {
                "streamable_http"
            } else {
                kind
            };
            let members = [
                ("type", kind.into()),
                ("name", name.into()),
                ("enabled", json!(true)),
            ];
            entry.extend(members.map(|(name, value)| (name.to_owned(), value)));
            if is_started {
                // Goose reads none without it.
                entry.insert("args".to_owned(), json!([]));
            }
        }
        KnownClient::ClaudeDesktop
        | KnownClient::Codex
        | KnownClient::Cursor
        | KnownClient::GeminiCli => {}
    }
    let members = match is_started {
        true => &["command", "args", "env", "cwd"][..],
        false => &["url", "headers"],
    };
    for member in members {
        let value = &server[*member];
        if value.is_null() {
            continue;
        }
        match (client, *member) {
            (KnownClient::Codex, "env") => named(&mut entry, value, "env", "env_vars"),
            (KnownClient::Goose, "env") => named(&mut entry, value, "envs", "env_keys"),
            (KnownClient::Codex, "headers") => codex_headers(&mut entry, value),
            (_, "cwd") if !has_folder(client) => {
                exported
                    .remarks
                    .push("it has no member for the folder in which a server is started");
            }
            (KnownClient::GeminiCli, "url") => {
                let name = if is_sse { "url" } else { "httpUrl" };
                entry.insert(name.to_owned(), value.clone());
            }
            (KnownClient::Goose, "command") => {
                entry.insert("cmd".to_owned(), value.clone());
            }
            (KnownClient::Goose, "url") => {
                entry.insert("uri".to_owned(), value.clone());
            }
            _ => {
                entry.insert((*member).to_owned(), value.clone());
            }
        }
    }
    let mut entry = Value::Object(entry);
    rewrite(&mut entry, client);
    let text = entry.to_string();
    let replaces = !matches!(
        client,
        KnownClient::ClaudeDesktop | KnownClient::Codex | KnownClient::Goose
    );
    if !replaces && text.contains("${") {
        exported
            .remarks
            .push("it replaces no variables: write their values");
    } else if client != KnownClient::ClaudeCode && text.contains(":-") && text.contains("${") {
        exported.remarks.push("it knows no defaults of variables");
    }
    if client != KnownClient::VsCode && text.contains("${input:") {
        exported
            .remarks
            .push("it asks for no inputs: write variables or values in their place");
    }
    if server["disabled"] == true {
        exported
            .remarks
            .push("the server is disabled here, and not in what is exported");
    }
    exported.entry = entry;
    Some(exported)
}

/// Writes the servers of a client as they stand in its file.
pub fn snippet(client: KnownClient, servers: &[(String, Value)]) -> String {
    let all: Map<_, _> = servers.iter().cloned().collect();
    let all = match client {
        KnownClient::Codex => json!({"mcp_servers": all}),
        KnownClient::Goose => json!({"extensions": all}),
        KnownClient::VsCode => json!({"servers": all}),
        _ => json!({"mcpServers": all}),
    };
    // Values of JSON can be written in each of the three, but for null in TOML, which is left out.
    let written = match client {
        KnownClient::Codex => toml::to_string_pretty(&all).ok(),
        KnownClient::Goose => yaml_serde::to_string(&all).ok(),
        _ => serde_json::to_string_pretty(&all).ok(),
    };
    written.unwrap_or_default().trim_end().to_owned()
}

/// Puts variables that have the name of the one they take their value from into a list of names.
fn named(entry: &mut Map<String, Value>, env: &Value, values: &str, names: &str) {
    let (mut fixed, mut passed) = (Map::new(), Vec::new());
    for (name, value) in env.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        match variable(text) == Some(name) {
            true => passed.push(Value::from(name.as_str())),
            false => {
                fixed.insert(name.clone(), value.clone());
            }
        }
    }
    if !fixed.is_empty() {
        entry.insert(values.to_owned(), fixed.into());
    }
    if !passed.is_empty() {
        entry.insert(names.to_owned(), passed.into());
    }
}

fn codex_headers(entry: &mut Map<String, Value>, headers: &Value) {
    let (mut fixed, mut of_variables) = (Map::new(), Map::new());
    for (name, value) in headers.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        let bearer = text.strip_prefix("Bearer ").and_then(variable);
        if let Some(variable) = bearer.filter(|_| name.eq_ignore_ascii_case("authorization")) {
            entry.insert("bearer_token_env_var".to_owned(), variable.into());
        } else if let Some(variable) = variable(text) {
            of_variables.insert(name.clone(), variable.into());
        } else {
            fixed.insert(name.clone(), value.clone());
        }
    }
    for (member, headers) in [("http_headers", fixed), ("env_http_headers", of_variables)] {
        if !headers.is_empty() {
            entry.insert(member.to_owned(), headers.into());
        }
    }
}

/// The variable of a text that is nothing else.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_name).then_some(name)
}

/// Writes variables as a client has them.
fn rewrite(value: &mut Value, client: KnownClient) {
    match value {
        Value::String(text) => match client {
            KnownClient::Cursor | KnownClient::VsCode => *text = expand::with_prefix(text),
            _ => *text = text.replace("${env:", "${"),
        },
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite(value, client)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| rewrite(value, client)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::{Document, Layout};

    #[track_caller]
    fn check(client: KnownClient, server: Value, expected: Value, remarks: &[&str]) {
        let exported = export(client, "it", &server).expect("it has such servers");
        assert_eq!(exported.entry, expected);
        assert_eq!(exported.remarks, remarks);
        // The client's file is read again as the same server.
        let layout = match client {
            KnownClient::Codex => Layout::Codex,
            KnownClient::Goose => Layout::Goose,
            KnownClient::GeminiCli => Layout::Gemini,
            _ => Layout::Plain,
        };
        let text = snippet(client, &[("it".to_owned(), exported.entry)]);
        let document = Document::read(&text, layout, None).expect("it is such a file");
        let again = document.server("it").expect("it is there");
        for member in ["command", "args", "url"] {
            if !server[member].is_null() && !text.contains("${") {
                assert_eq!(again[member], server[member], "{text}");
            }
        }
    }

    fn started() -> Value {
        json!({
            "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN}", "LANG": "C"}, "cwd": "/tmp",
        })
    }

    fn running() -> Value {
        json!({
            "url": "https://a.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X": "1", "Y": "${env:Y}"},
        })
    }

    const FOLDER: &str = "it has no member for the folder in which a server is started";
    const LITERAL: &str = "it replaces no variables: write their values";

    #[test]
    fn each_client_has_members_of_its_own() {
        let env = json!({"TOKEN": "${TOKEN}", "LANG": "C"});
        let of_editor = json!({"TOKEN": "${env:TOKEN}", "LANG": "C"});
        let headers = json!({"Authorization": "Bearer ${TOKEN}", "X": "1", "Y": "${Y}"});
        let of_editor_headers =
            json!({"Authorization": "Bearer ${env:TOKEN}", "X": "1", "Y": "${env:Y}"});
        check(
            KnownClient::ClaudeCode,
            started(),
            json!({"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": env}),
            &[FOLDER],
        );
        check(
            KnownClient::ClaudeCode,
            running(),
            json!({"type": "http", "url": "https://a.test/mcp", "headers": headers}),
            &[],
        );
        check(
            KnownClient::ClaudeDesktop,
            started(),
            json!({"command": "npx", "args": ["-y", "x"], "env": env}),
            &[FOLDER, LITERAL],
        );
        assert_eq!(export(KnownClient::ClaudeDesktop, "it", &running()), None);
        check(
            KnownClient::Codex,
            started(),
            json!({
                "command": "npx", "args": ["-y", "x"], "env": {"LANG": "C"}, "env_vars": ["TOKEN"],
                "cwd": "/tmp",
            }),
            &[],
        );
        check(
            KnownClient::Codex,
            running(),
            json!({
                "url": "https://a.test/mcp", "bearer_token_env_var": "TOKEN",
                "http_headers": {"X": "1"}, "env_http_headers": {"Y": "Y"},
            }),
            &[],
        );
        check(
            KnownClient::Cursor,
            started(),
            json!({"command": "npx", "args": ["-y", "x"], "env": of_editor, "cwd": "/tmp"}),
            &[],
        );
        check(
            KnownClient::GeminiCli,
            running(),
            json!({"httpUrl": "https://a.test/mcp", "headers": headers}),
            &[],
        );
        check(
            KnownClient::GeminiCli,
            json!({"type": "sse", "url": "https://a.test/sse"}),
            json!({"url": "https://a.test/sse"}),
            &[],
        );
        check(
            KnownClient::Goose,
            started(),
            json!({
                "type": "stdio", "name": "it", "enabled": true, "cmd": "npx",
                "args": ["-y", "x"], "envs": {"LANG": "C"}, "env_keys": ["TOKEN"],
            }),
            &[FOLDER],
        );
        check(
            KnownClient::Goose,
            json!({"url": "https://${HOST:-a.test}/mcp", "disabled": true}),
            json!({
                "type": "streamable_http", "name": "it", "enabled": true,
                "uri": "https://${HOST:-a.test}/mcp",
            }),
            &[
                LITERAL,
                "the server is disabled here, and not in what is exported",
            ],
        );
        check(
            KnownClient::VsCode,
            running(),
            json!({"type": "http", "url": "https://a.test/mcp", "headers": of_editor_headers}),
            &[],
        );
        check(
            KnownClient::VsCode,
            json!({"command": "${X:-npx}"}),
            json!({"type": "stdio", "command": "${env:X:-npx}"}),
            &["it knows no defaults of variables"],
        );
    }
}
