//! Server files, in the formats of MCP clients.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    full::{ENTER, Terminal},
    scratch::Scratch,
};

/// A folder with a server file. The program that it starts only records its input, and is not a
/// server.
struct Place(Scratch);

impl Place {
    fn new(name: &str, text: &str) -> Self {
        let scratch = Scratch::new(&format!("servers-{name}"));
        scratch.file("mcp.json", text);
        Self(scratch)
    }

    /// The file that the program writes.
    fn given(&self) -> PathBuf {
        self.0.path("given")
    }

    fn file(&self) -> String {
        self.0.path("mcp.json").display().to_string()
    }

    /// Runs the command with the file, named or found. Returns the exit code and the output.
    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(words)
            .current_dir(self.0.path("."))
            .env("XDG_STATE_HOME", self.0.path("state"))
            .env("TOP_SECRET", "hush")
            .env("MY_KEY", "hush")
            .output()
            .expect("the command was built");
        let stderr = String::from_utf8(output.stderr).expect("it writes text");
        (output.status.code(), stderr)
    }
}

/// A file with a server whose program writes the variable KEY into a file.
const FILE: &str = r#"{
    // As VS Code writes it.
    "inputs": [{"id": "my-key", "type": "promptString", "description": "The key", "password": true}],
    "servers": {
        "variable": {"type": "stdio", "command": "sh", "args": ["-c", "printf %s \"$KEY\" > given"], "env": {"KEY": "${env:TOP_SECRET}"}},
        "input": {"command": "sh", "args": ["-c", "printf %s \"$KEY\" > given"], "env": {"KEY": "${input:my-key}"}},
        "argument": {"command": "${SHELL_OF_MINE:-sh}", "args": ["-c", "printf %s ${TOP_SECRET} > given"]},
        "unset": {"command": "sh", "args": ["${NOT_SET}"]},
        "header": {"url": "http://127.0.0.1:9/${TOP_SECRET}", "headers": {"X": "${TOP_SECRET}"}},
    },
}"#;

#[test]
fn values_of_variables_are_given_and_not_shown() {
    let place = Place::new("variables", FILE);
    let config = ["--config", &place.file()];
    for server in ["variable", "argument", "input"] {
        let (exit, stderr) =
            place.run(&[&["list", "--all", "--server", server], &config[..]].concat());
        assert_eq!(exit, Some(4), "{stderr}");
        let given = fs::read_to_string(place.given()).expect("it ran");
        assert_eq!(given, "hush", "{server}");
        fs::remove_file(place.given()).expect("it is ours");
        assert!(!stderr.contains("hush"), "{stderr}");
    }
    let (exit, stderr) =
        place.run(&[&["list", "--all", "--server", "unset"], &config[..]].concat());
    assert_eq!(exit, Some(2), "{stderr}");
    for says in [
        "mcp.json: the file takes a value from this variable",
        "| NOT_SET",
        "Set it where",
    ] {
        assert!(stderr.contains(says), "{says} is not in\n{stderr}");
    }
}

#[test]
fn the_folder_of_a_project_is_the_same_by_any_path() {
    let text = r#"{"mcpServers": {"s": {"command": "sh", "args": ["-c", "echo '${workspaceFolder} ${workspaceFolderBasename}' > given"]}}}"#;
    let place = Place::new("folder", text);
    fs::create_dir(place.0.path("sub")).expect("there is room");
    let folder = PathBuf::from(place.file());
    let folder = folder.parent().expect("it is in a folder");
    let folder = folder.canonicalize().expect("it is there");
    let name = folder.file_name().expect("it has a name").to_string_lossy();
    let expected = format!("{} {name}\n", folder.display());
    let whole = folder.join("mcp.json").display().to_string();
    for path in ["mcp.json", "./mcp.json", "sub/../mcp.json", &whole] {
        let (exit, stderr) = place.run(&["list", "--all", "--server", "s", "--config", path]);
        assert_eq!(exit, Some(4), "{stderr}");
        let given = fs::read_to_string(place.given()).expect("it ran");
        assert_eq!(given, expected, "{path}");
    }
}

#[test]
fn the_servers_of_a_file_are_listed_if_the_command_names_none() {
    let place = Place::new("unnamed", FILE);
    let (exit, stderr) = place.run(&["open"]);
    assert_eq!(exit, Some(2), "{stderr}");
    let names = "mcp.json has these:\n  | argument, header, input, unset, variable\n";
    assert!(stderr.contains(names), "{stderr}");
}

#[test]
fn what_is_agreed_to_is_the_text_of_the_file() {
    #[track_caller]
    fn check(server: &str, says: &[&str]) {
        let place = Place::new(&format!("agreed-{server}"), FILE);
        let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["list", "--all", "--plain", "--server", server])
            .current_dir(place.0.path("."))
            .env("XDG_STATE_HOME", place.0.path("state"))
            .env("TOP_SECRET", "hush")
            .env("MY_KEY", "hush");
        let mut terminal = Terminal::start(command, 200);
        terminal.until("yes or no").press("no").press(ENTER);
        assert_eq!(terminal.ended(), Some(2));
        assert!(!place.given().exists());
        let rows = terminal.rows().join("\n");
        assert!(!rows.contains("hush"), "{rows}");
        for says in says {
            assert!(rows.contains(says), "{says} is not in\n{rows}");
        }
    }
    check(
        "variable",
        &[
            "| with the variable KEY set to ${env:TOP_SECRET}",
            "| and give it your variables: TOP_SECRET",
        ],
    );
    check(
        "argument",
        &[
            "${TOP_SECRET} > given",
            "your variables: SHELL_OF_MINE, TOP_SECRET",
        ],
    );
    check("input", &["| and give it your variables: MY_KEY"]);
    check(
        "header",
        &[
            "| connect to http://127.0.0.1:9/${TOP_SECRET}",
            "your variables: TOP_SECRET",
        ],
    );
}
