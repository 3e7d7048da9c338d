//! Servers of other clients: find and open them.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use crate::{
    full::{ENTER, Terminal},
    scratch::Scratch,
    trust::agree,
};

/// The configuration files of clients, with their paths below the test folder.
const FILES: &[(&str, &str)] = &[
    (
        "project/.mcp.json",
        r#"{"mcpServers": {"shared": {"type": "stdio", "command": "./shared", "env": {"A": "${A:-b}"}}}}"#,
    ),
    (
        "user/.claude.json",
        r#"{
            "numStartups": 7,
            "mcpServers": {"notes": {"type": "http", "url": "https://notes.test/mcp?key=hush", "headers": {"Authorization": "Bearer hush"}}},
            "projects": {"PROJECT": {"mcpServers": {"local": {"command": "sh", "args": ["-c", "printf %s \"$TOKEN\" > given"], "env": {"TOKEN": "hush"}}}}}
        }"#,
    ),
    (
        "settings/Claude/claude_desktop_config.json",
        r#"{"globalShortcut": "", "mcpServers": {"files": {"command": "npx", "args": ["-y", "files", "/tmp"]}}}"#,
    ),
    (
        "user/.codex/config.toml",
        "model = \"x\" # mine\n[mcp_servers.docs]\nurl = \"https://docs.test/mcp\"\nbearer_token_env_var = \"DOCS\"\nenabled = false\n",
    ),
    (
        "user/.cursor/mcp.json",
        r#"{"mcpServers": {"files": {"command": "other"}}}"#,
    ),
    (
        "user/.gemini/settings.json",
        r#"{"theme": "x", /* mine */ "mcpServers": {"old": {"url": "https://old.test/sse"}}}"#,
    ),
    (
        "settings/goose/config.yaml",
        "extensions:\n  developer: {type: builtin, enabled: true}\n  memory: {type: stdio, cmd: npx, args: [memory], env_keys: [MEMORY], enabled: true}\n",
    ),
    (
        "project/.vscode/mcp.json",
        "{\n  // mine\n  \"inputs\": [{\"id\": \"git-key\", \"password\": true}],\n  \"servers\": {\n    \"git\": {\"type\": \"stdio\", \"command\": \"git\", \"env\": {\"KEY\": \"${input:git-key}\"}},\n  },\n}\n",
    ),
    ("settings/Code/User/mcp.json", "nonsense"),
];

struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("clients-{name}"));
        let place = Self(scratch);
        fs::create_dir_all(place.path("project/below")).expect("the folder is ours");
        place
    }

    fn with_files(name: &str) -> Self {
        let place = Self::new(name);
        for (path, text) in FILES {
            let project = place.path("project").display().to_string();
            place.write(path, &text.replace("PROJECT", &project));
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is ours");
        fs::write(path, text).expect("it is ours");
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = fs::canonicalize(self.0.path(".")).expect("it is there");
        root.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it is there")
    }

    fn output(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(words)
            .current_dir(self.path("project"))
            .env("HOME", self.path("user"))
            .env("XDG_CONFIG_HOME", self.path("settings"))
            .env("XDG_STATE_HOME", self.path("state"))
            .output()
            .expect("the command was built")
    }

    /// Runs the command. Returns its output without the path of the test folder.
    #[track_caller]
    fn run(&self, words: &[&str], exit: i32) -> String {
        let output = self.output(words);
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        let said = text(output.stdout) + &text(output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{said}");
        let root = self.path("").display().to_string();
        said.replace(root.trim_end_matches('/'), "ROOT")
    }

    /// Like `run`, and checks that the output has these lines.
    #[track_caller]
    fn says(&self, words: &[&str], exit: i32, says: &[&str]) -> String {
        let said = self.run(words, exit);
        for line in says {
            assert!(said.contains(line), "{line} is not in\n{said}");
        }
        said
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_servers_of_all_clients_are_listed() {
    let place = Place::with_files("listed");
    place.write(
        "project/mcp.json",
        r#"{"mcpServers": {"own": {"command": "x"}, "odd": {}}}"#,
    );
    let (shared, relative) = FILES[0];
    place.write(shared, &relative.replace("./shared", "shared"));
    let expected = "\
askback: ROOT/project/mcp.json
  | odd: cannot be used: server `odd` has no `command` and no `url`
  | own: x

claude-code: ROOT/project/.mcp.json
  | shared: shared

claude-code: ROOT/user/.claude.json
  | local: sh -c 'printf %s \"$TOKEN\" > given'
  | notes: https://notes.test/mcp

claude-desktop: ROOT/settings/Claude/claude_desktop_config.json
  | files: npx -y files /tmp

codex: ROOT/user/.codex/config.toml
  | docs: https://docs.test/mcp (disabled)

cursor: ROOT/user/.cursor/mcp.json
  | files: other

gemini-cli: ROOT/user/.gemini/settings.json
  | old: https://old.test/sse

goose: ROOT/settings/goose/config.yaml
  | memory: npx memory

vscode: ROOT/project/.vscode/mcp.json
  | git: git

vscode: ROOT/settings/Code/User/mcp.json
  ! | this is not JSON: Unexpected word, at line 1 column 1
";
    assert_eq!(place.run(&["servers"], 0).trim(), expected.trim());
    // The path of the test folder may be too long for a line.
    place.write(shared, relative);
    let json = place.run(&["servers", "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let rows = json["servers"].as_array().expect("it is a list");
    assert_eq!(rows.len(), 11);
    assert_eq!(rows[2]["client"], "claude-code");
    assert_eq!(rows[2]["reach"], "ROOT/project/./shared");
    assert!(!json.to_string().contains("hush"));
    let nowhere = Place::new("nowhere");
    nowhere.says(&["servers", "--json"], 0, &[r#"{"servers":[]}"#]);
}

#[test]
fn a_server_of_another_client_is_opened_once_it_is_agreed_to() {
    let place = Place::with_files("from");
    let words = ["list", "--all", "--server", "local", "--from", "claude"];
    let unagreed = "ROOT/user/.claude.json was found, not named, and you have not agreed to its entry for local";
    let said = place.says(&words, 2, &[unagreed, "Read the entry"]);
    assert!(!said.contains("hush"), "{said}");
    let text = r#"{"local":{"args":["-c","printf %s \"$TOKEN\" > given"],"command":"sh","env":{"TOKEN":"hush"}},"notes":{"headers":{"Authorization":"Bearer hush"},"type":"http","url":"https://notes.test/mcp?key=hush"}}"#;
    let path = place.path("user/.claude.json");
    agree(&place.path("state"), &path, "local", text);
    place.run(&words, 4);
    // In the project folder, because the client defines this server only for that project.
    assert_eq!(place.read("project/given"), "hush");
    // The rest of the file changes frequently, but its servers do not.
    let changed = place
        .read("user/.claude.json")
        .replace("numStartups\": 7", "numStartups\": 8");
    place.write("user/.claude.json", &changed);
    place.run(&words, 4);
    place.write("user/.claude.json", &changed.replace("hush", "other"));
    place.says(&words, 2, &[unagreed]);

    // A file that the user names is trusted.
    let config = path.display().to_string();
    place.run(
        &["list", "--all", "--server", "local", "--config", &config],
        4,
    );

    let unknown = "claude-code has no server called `files`";
    let words = ["list", "--all", "--server", "files", "--from", "claude"];
    place.says(&words, 2, &[unknown, "| shared, local, notes"]);
    let words = ["list", "--all", "--server", "x", "--from", "vscode"];
    place.says(
        &words,
        2,
        &["ROOT/settings/Code/User/mcp.json: it is not a file of servers"],
    );
}

#[test]
fn a_yes_to_a_server_of_another_client_is_kept() {
    let place = Place::with_files("yes");
    let words = [
        "list", "--all", "--plain", "--server", "local", "--from", "claude",
    ];
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_askback"))
        .args(words)
        .current_dir(place.path("project"))
        .env("HOME", place.path("user"))
        .env("XDG_CONFIG_HOME", place.path("settings"))
        .env("XDG_STATE_HOME", place.path("state"));
    let mut terminal = Terminal::start(command, 200);
    terminal.until("yes or no").press("yes").press(ENTER);
    // The program is not a server.
    assert_eq!(terminal.ended(), Some(4));
    let rows = terminal.rows().join("\n");
    assert_eq!(rows.matches("printf").count(), 1, "{rows}");
    let variable = "with the variable TOKEN set to hush";
    assert!(rows.contains(variable), "{rows}");
    assert_eq!(place.read("project/given"), "hush");
    fs::remove_file(place.path("project/given")).expect("it is ours");
    place.says(&words, 4, &["claude.json says to use"]);
    assert_eq!(place.read("project/given"), "hush");
}

#[test]
#[cfg(target_os = "linux")]
fn secrets_of_any_place_are_not_listed() {
    let place = Place::new("anywhere");
    place.write(
        "user/.cursor/mcp.json",
        r#"{"mcpServers": {
            "args": {
                "command": "docker",
                "args": [
                    "run", "--header", "Authorization: Bearer hush1", "-e", "TOKEN=hush2", "x: bearer hush3",
                    "postgresql://u:hush4@db/x", "sh", "-c", "TOKEN=hush5 run", "api_key=hush6", "-H", "X-Api-Key: hush7"
                ],
                "env": {"DSN": "hush8", "LANG": "C"}
            },
            "far": {
                "url": "https://u:hush9@far.test/mcp",
                "headers": {"X-Mine": "hush10", "Accept": "text/plain"},
                "oauth": {"clientId": "me", "clientSecret": "hush11"}
            }
        }}"#,
    );
    for words in [&["servers"][..], &["servers", "--json"]] {
        let said = place.says(words, 0, &["docker run --header", "TOKEN=***"]);
        assert!(!said.contains("hush"), "{said}");
    }
}
