//! Servers that are added to a file, which keeps the rest of what it holds.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use super::document::{Unreadable, strict};
use crate::own_files;

/// Adds servers to the `mcpServers` of a JSON file, or to its `servers` if only those are there. Comments stay.
pub fn add_to_json(text: &str, servers: &[(String, Value)]) -> Result<String, Unreadable> {
    let blank = text.trim().is_empty();
    let text = if blank { "{}\n" } else { text };
    let root =
        CstRootNode::parse(text, &strict()).map_err(|error| Unreadable(error.to_string()))?;
    let whole = root.object_value();
    let whole = whole.ok_or_else(|| Unreadable("it is no object".to_owned()))?;
    let section = match whole.get("mcpServers").is_none() && whole.get("servers").is_some() {
        true => "servers",
        false => "mcpServers",
    };
    let listed = whole.object_value_or_create(section);
    let listed = listed.ok_or_else(|| Unreadable(format!("its `{section}` is no object")))?;
    for (name, server) in servers {
        listed.append(name, input(server));
    }
    listed.ensure_multiline();
    Ok(root.to_string())
}

fn input(value: &Value) -> CstInputValue {
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

/// Writes a file in the place of the one that is there, which is kept beside it: its path, if there
/// was one. A new file is readable by its owner alone.
pub fn write(path: &Path, text: &str) -> io::Result<Option<PathBuf>> {
    // A link stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let before = match fs::metadata(&path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(before) = before else {
        // A file that came in the meantime stays.
        fill(&path, text)?;
        return Ok(None);
    };
    let kept = keep(&path)?;
    let draft = beside(&path, "new");
    let replaced = fill(&draft, text)
        .and_then(|()| fs::set_permissions(&draft, before.permissions()))
        .and_then(|()| own_files::rename(&draft, &path));
    if replaced.is_err() {
        let _ = fs::remove_file(&draft);
    }
    replaced.map(|()| Some(kept))
}

/// Writes a file that is not there yet, and that its owner alone can read.
fn fill(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = own_files::open(&options, path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The most copies of a file that are kept.
const COPIES: u32 = 100;

/// Keeps a copy of a file beside it, under a name that nothing has.
fn keep(path: &Path) -> io::Result<PathBuf> {
    let text = fs::read_to_string(path)?;
    for number in 1..=COPIES {
        let ending = match number {
            1 => "backup".to_owned(),
            number => format!("backup{number}"),
        };
        let copy = beside(path, &ending);
        match fill(&copy, &text) {
            Ok(()) => {
                fs::set_permissions(&copy, fs::metadata(path)?.permissions())?;
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are 100 backups of it already"))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
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
        // A file with commas behind the last member goes on with them.
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
    fn a_file_that_is_replaced_is_kept() {
        let folder = std::env::temp_dir().join(format!("askback-edit-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = folder.join("sub/mcp.json");
        let read = |path: &Path| fs::read_to_string(path).expect("it is there");
        assert_eq!(write(&path, "one").expect("it is new"), None);
        assert_eq!(read(&path), "one");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let first = write(&path, "two")
            .expect("it is ours")
            .expect("it was there");
        let second = write(&path, "three")
            .expect("it is ours")
            .expect("it was there");
        assert_eq!(
            (read(&first), read(&second), read(&path)),
            ("one".into(), "two".into(), "three".into())
        );
        assert_eq!(
            fs::read_dir(path.parent().expect("it has one"))
                .expect("it is ours")
                .count(),
            3
        );
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
