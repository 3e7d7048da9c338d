//! Paths in the entry of a server that is written into another file.

use std::path::Path;

use serde_json::Value;

/// Writes paths that mean something in the folder of a file so that they mean the same here.
pub fn anchor(server: &mut Value, folder: &Path, here: &Path) {
    if folder == here {
        return;
    }
    let of_file = |path: &str| {
        let is_plain = !path.starts_with("${") && Path::new(path).is_relative();
        is_plain.then(|| folder.join(path).display().to_string())
    };
    for member in ["command", "cwd"] {
        let Some(Value::String(path)) = server.get_mut(member) else {
            continue;
        };
        // A bare name is looked for in PATH.
        if (member == "cwd" || path.contains(std::path::is_separator))
            && let Some(whole) = of_file(path)
        {
            *path = whole;
        }
    }
}

/// Names the folder in which a server is started whose words are paths in it: as its `cwd`, or else in the paths.
pub fn settle(server: &mut Value, folder: &Path, can_say: bool) {
    let is_there = |word: &str| {
        let is_path = !word.is_empty() && !word.starts_with('-') && Path::new(word).is_relative();
        is_path && folder.join(word).exists()
    };
    let is_named = |command: &str| {
        command.contains(std::path::is_separator)
            && !command.starts_with("${")
            && Path::new(command).is_relative()
    };
    if !server["cwd"].is_null() {
        return;
    }
    let mut args = server["args"].as_array().into_iter().flatten();
    let has_path = server["command"].as_str().is_some_and(is_named)
        || args.any(|arg| arg.as_str().is_some_and(is_there));
    if has_path && can_say {
        server["cwd"] = folder.display().to_string().into();
    } else if has_path && let Some(args) = server["args"].as_array_mut() {
        // A bare word may be the name of a command, too, as `run` and `src` are.
        let is_path = |word: &&str| word.contains(std::path::is_separator) || word.contains('.');
        for arg in args {
            if let Some(word) = arg.as_str().filter(is_path).filter(|word| is_there(word)) {
                *arg = folder.join(word).display().to_string().into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_is_started_where_its_paths_lead_somewhere() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let there = folder.display().to_string();
        let check = |server: Value, by_folder: Value, by_paths: Value| {
            for (can_say, expected) in [(true, by_folder), (false, by_paths)] {
                let mut settled = server.clone();
                settle(&mut settled, folder, can_say);
                assert_eq!(settled, expected, "{can_say}");
            }
        };
        let whole = folder.join("src/main.rs").display().to_string();
        check(
            json!({"command": "node", "args": ["--x", "src/main.rs", "no/such"]}),
            json!({"command": "node", "args": ["--x", "src/main.rs", "no/such"], "cwd": there}),
            json!({"command": "node", "args": ["--x", whole, "no/such"]}),
        );
        let word = json!({"command": "cargo", "args": ["run", "src"]});
        let in_folder = json!({"command": "cargo", "args": ["run", "src"], "cwd": there});
        check(word.clone(), in_folder, word);
        let manifest = folder.join("Cargo.toml").display().to_string();
        check(
            json!({"command": "run", "args": ["src", "Cargo.toml"]}),
            json!({"command": "run", "args": ["src", "Cargo.toml"], "cwd": there}),
            json!({"command": "run", "args": ["src", manifest]}),
        );
        let bin = json!({"command": "bin/it", "args": []});
        let in_folder = json!({"command": "bin/it", "args": [], "cwd": there});
        check(bin.clone(), in_folder, bin);
        for server in [
            json!({"command": "npx", "args": ["-y", "x"]}),
            json!({"command": "/bin/it", "args": ["/src/main.rs", ""]}),
            json!({"command": "bin/it", "args": ["src"], "cwd": "sub"}),
            json!({"command": "${BIN}/it"}),
            json!({"url": "https://a.test/"}),
        ] {
            check(server.clone(), server.clone(), server);
        }
    }
}
