//! Adds servers to a file and leaves the rest of the file unchanged.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use super::document::{Unreadable, strict};
use crate::private_file;

/// Adds servers to the `mcpServers` of a JSON file, or to its `servers` if only that exists. Comments are kept.
pub fn add_to_json(text: &str, servers: &[(String, Value)]) -> Result<String, Unreadable> {
    let blank = text.trim().is_empty();
    let text = if blank { "{}\n" } else { text };
    let root =
        CstRootNode::parse(text, &strict()).map_err(|error| Unreadable(error.to_string()))?;
    let whole = root.object_value();
    let whole = whole.ok_or_else(|| Unreadable("it is not an object".to_owned()))?;
    let section = match whole.get("mcpServers").is_none() && whole.get("servers").is_some() {
        true => "servers",
        false => "mcpServers",
    };
    let listed = whole.object_value_or_create(section);
    let listed = listed.ok_or_else(|| Unreadable(format!("its `{section}` is not an object")))?;
    for (name, server) in servers {
        listed.append(name, input(server));
    }
    listed.ensure_multiline();
    Ok(root.to_string())
}

pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(name, value)| (name.clone(), input(value)))
                    .collect(),
            )
        }
    }
}

/// Makes the relative paths of an entry absolute, so that it also works in a file of another folder. Servers of its
/// file start in `folder`.
pub fn anchor(server: &mut Value, folder: &Path) {
    let is_relative = |path: &str| !path.starts_with("${") && Path::new(path).is_relative();
    let is_there = |word: &str| {
        let is_path = !word.is_empty() && !word.starts_with('-') && Path::new(word).is_relative();
        is_path && folder.join(word).exists()
    };
    let whole = |path: &str| Value::from(folder.join(path).display().to_string());
    // A bare name is searched for in PATH.
    let command = server["command"].as_str();
    let command =
        command.filter(|path| path.contains(std::path::is_separator) && is_relative(path));
    let command = command.map(whole);
    let mut args = server["args"].as_array().into_iter().flatten();
    let has_path = command.is_some() || args.any(|arg| arg.as_str().is_some_and(is_there));
    match server["cwd"].as_str() {
        Some(cwd) if is_relative(cwd) => server["cwd"] = whole(cwd),
        None if has_path => server["cwd"] = folder.display().to_string().into(),
        _ => {}
    }
    if let Some(command) = command {
        server["command"] = command;
    }
}

/// Writes a file. An existing file is replaced atomically and keeps its permissions. A new file is only readable by its
/// owner. Returns whether the file is new.
pub fn write(path: &Path, text: &str) -> io::Result<bool> {
    // A symbolic link is kept.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Never overwrite a file that was created in the meantime.
            let mut file = private_file::create_new(&path)?;
            file.write_all(text.as_bytes())?;
            return Ok(true);
        }
        Err(error) => return Err(error),
    };
    private_file::write(&path, text)?;
    fs::set_permissions(&path, before.permissions())?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn servers() -> Vec<(String, Value)> {
        let server = json!({"command": "x", "args": ["-y"], "env": {}});
        vec![("new \"one\"".to_owned(), server)]
    }

    #[test]
    fn comments_stay_where_servers_are_added() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let added = add_to_json(text, &servers()).expect("it is such a file");
            assert_eq!(added, expected);
        }
        let entry = r#""new \"one\"": {
      "args": ["-y"],
      "command": "x",
      "env": {}
    }"#;
        check(
            "",
            &format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}\n"),
        );
        // If the last member is followed by a comma, so is the new one.
        let entry = entry.replace("{}", "{},");
        check(
            "{\n  // mine\n  \"servers\": {\n    \"a\": {\"url\": \"x\"}, // one\n  },\n  \"inputs\": [] /* none */\n}\n",
            &format!(
                "{{\n  // mine\n  \"servers\": {{\n    \"a\": {{\"url\": \"x\"}}, // one\n    {entry},\n  }},\n  \"inputs\": [] /* none */\n}}\n"
            ),
        );
        for text in ["[]", "{\"mcpServers\": 1}", "{'a': 1}"] {
            assert!(add_to_json(text, &servers()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_is_started_where_its_paths_lead_somewhere() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let there = folder.display();
        let check = |server: Value, expected: Value| {
            let mut anchored = server;
            anchor(&mut anchored, folder);
            assert_eq!(anchored, expected);
        };
        check(
            json!({"command": "node", "args": ["--x", "src/main.rs", "no/such"]}),
            json!({"command": "node", "args": ["--x", "src/main.rs", "no/such"], "cwd": there.to_string()}),
        );
        check(
            json!({"command": "bin/it", "args": []}),
            json!({"command": format!("{there}/bin/it"), "args": [], "cwd": there.to_string()}),
        );
        check(
            json!({"command": "bin/it", "args": ["src"], "cwd": "sub"}),
            json!({"command": format!("{there}/bin/it"), "args": ["src"], "cwd": format!("{there}/sub")}),
        );
        for server in [
            json!({"command": "npx", "args": ["-y", "x"]}),
            json!({"command": "/bin/it", "args": ["/src/main.rs", ""], "cwd": "${HOME}"}),
            json!({"command": "${BIN}/it"}),
            json!({"url": "https://a.test/"}),
        ] {
            check(server.clone(), server);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_there_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;

        let path = std::env::temp_dir().join(format!("askback-edit-{}", std::process::id()));
        let mode = || {
            let metadata = fs::metadata(&path).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert!(write(&path, "one").expect("it is new"));
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        assert!(!write(&path, "two").expect("it is ours"));
        assert_eq!(mode(), 0o644);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "two");
        fs::remove_file(&path).expect("it is ours");
    }
}
