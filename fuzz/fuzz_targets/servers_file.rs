//! A file of servers: an invalid entry affects only itself. If strict serde can read an entry, the
//! result is the same. An error never contains a value.
//!
//! The first byte chooses the client whose file it is; the rest is the file.

#![no_main]
#![allow(dead_code, reason = "the command uses more of its reader")]

#[path = "../../crates/askback-cli/src/servers/document.rs"]
mod document;
#[path = "../../crates/askback-cli/src/servers/entry.rs"]
mod entry;
#[path = "../../crates/askback-cli/src/servers/entry_text.rs"]
mod entry_text;

mod edit {
    use jsonc_parser::cst::CstInputValue;
    use serde_json::Value;

    /// No file is edited here.
    pub fn input(_: &Value) -> CstInputValue {
        CstInputValue::Null
    }
}

mod environment {
    /// No entry is wrapped here.
    pub fn is_model_key(_: &str) -> bool {
        false
    }
}

mod input {
    /// An input, of which only the name is used here.
    #[derive(Debug, Clone, serde::Deserialize)]
    pub struct Input {
        pub id: String,
    }
}

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use askback::client::{ServerEntry, ServersFile};
use document::{Document, Unreadable};
use entry::EntryShape;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::{Value, json};

/// If this is in a value, it must not be in an error.
const SECRET: &str = "s3cr3t";

/// The clients that have files.
static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    let clients = include_str!("../../crates/askback-cli/src/known_clients.json");
    let clients: Vec<Client> = serde_json::from_str(clients).expect("the command reads it");
    let has_file = |client: &Client| !client.files.is_empty();
    clients.into_iter().filter(has_file).collect()
});

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Client {
    #[serde(default)]
    entry: EntryShape,
    #[serde(default)]
    files: Vec<ClientFile>,
}

#[derive(Deserialize)]
struct ClientFile {
    path: &'static str,
}

fuzz_target!(|data: &[u8]| {
    let Some((client, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    // The last one is an `mcp.json`.
    let client = CLIENTS.get(usize::from(*client) % (CLIENTS.len() + 1));
    let path = client.map_or("mcp.json", |client| client.files[0].path);
    let (path, shape) = (Path::new(path), client.map(|client| &client.entry));
    let document = match Document::read(text, path, shape, Some(Path::new("/project"))) {
        Ok(document) => document,
        Err(Unreadable(why)) => {
            assert!(!why.contains(SECRET), "{why}");
            return;
        }
    };
    let servers = document.to_value();
    let all = file(&servers);
    assert!(document.names().eq(all.names()));
    for name in document.names() {
        let entry = document.server(name).expect("it has a name");
        let among_others = server(&all, name, entry);
        let alone = server(&file(&json!({name: entry})), name, entry);
        assert_eq!(among_others, alone);
        as_strict(entry, &among_others);
    }
});

fn file(servers: &Value) -> ServersFile {
    let text = json!({"mcpServers": servers}).to_string();
    ServersFile::parse(&text, "").expect("an object of servers")
}

fn server(file: &ServersFile, name: &str, entry: &Value) -> Result<ServerEntry, String> {
    file.server(name).map_err(|error| {
        let why = error.to_string();
        let named = names_secret(entry) || name.contains(SECRET);
        assert!(named || !why.contains(SECRET), "{why}");
        why
    })
}

/// An entry that strict serde reads is read, with the same values.
fn as_strict(entry: &Value, read: &Result<ServerEntry, String>) {
    // Serde reads lists as structs, too.
    let Some(Strict {
        command: Some(program),
        args,
        env,
    }) = entry
        .is_object()
        .then(|| serde_json::from_value(entry.clone()).ok())
        .flatten()
    else {
        return;
    };
    match read {
        Ok(ServerEntry::Command(command)) => {
            assert_eq!(command.program, program);
            assert_eq!(command.args, args);
            assert_eq!(command.env, env);
        }
        Ok(other) => panic!("{other:?}"),
        // Other members may be wrong.
        Err(_) => assert!(
            ["url", "cwd", "headers"]
                .iter()
                .any(|name| !entry[name].is_null())
        ),
    }
}

/// Whether the marker is in the name of a member, which may be in an error.
fn names_secret(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(SECRET) || names_secret(value)),
        Value::Array(values) => values.iter().any(names_secret),
        _ => false,
    }
}

#[derive(Deserialize)]
struct Strict {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}
