//! `askback wrap --in CLIENT NAME` with files of each client, and `askback wrap --doctor`.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
};

use crate::{role::known_clients, run::ASKBACK, scratch::Scratch};

/// A client's file before and after a server in it is wrapped.
struct Row {
    client: &'static str,
    server: &'static str,
    /// The path below the test folder. In texts, `PROJECT` is the project folder and `ASKBACK` the command.
    path: &'static str,
    before: &'static str,
    after: &'static str,
}

const ROWS: [Row; 17] = [
    Row {
        client: "claude-code",
        server: "travel",
        path: "project/.mcp.json",
        before: r#"{
  "mcpServers": {
    "travel": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "travel"],
      "env": {"OPENAI_API_KEY": "hush", "A": "1"}
    }
  }
}
"#,
        after: r#"{
  "mcpServers": {
    "travel": {
      "type": "stdio",
      "command": "ASKBACK",
      "args": ["wrap", "--name", "travel", "--env", "OPENAI_API_KEY", "--", "npx", "-y", "travel"],
      "env": {"OPENAI_API_KEY": "hush", "A": "1"}
    }
  }
}
"#,
    },
    Row {
        client: "claude",
        server: "far",
        path: "user/.claude.json",
        before: r#"{"numStartups": 7, "mcpServers": {"far": {"command": "of the user"}}, "projects": {"PROJECT": {"mcpServers": {"far": {"type": "http", "url": "https://far.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X": "1"}}}}}}"#,
        after: r#"{"numStartups": 7, "mcpServers": {"far": {"command": "of the user"}}, "projects": {"PROJECT": {"mcpServers": {"far": {
          "type": "stdio",
          "args": ["wrap", "--name", "far", "--url", "https://far.test/mcp", "--header-env", "ASKBACK_HEADER_1", "--header-env", "ASKBACK_HEADER_2"],
          "command": "ASKBACK",
          "env": {
            "ASKBACK_HEADER_1": "Authorization: Bearer ${TOKEN}",
            "ASKBACK_HEADER_2": "X: 1"
          }
        }}}}}"#,
    },
    Row {
        client: "claude-desktop",
        server: "travel",
        path: "settings/Claude/claude_desktop_config.json",
        before: r#"{"mcpServers": {"travel": {"command": "npx"}}}"#,
        after: r#"{"mcpServers": {"travel": {
      "command": "ASKBACK",
      "args": ["wrap", "--name", "travel", "--", "npx"]
    }}}"#,
    },
    Row {
        client: "cline",
        server: "travel",
        path: "user/.cline/data/settings/cline_mcp_settings.json",
        before: r#"{
  "mcpServers": {
    "travel": {
      "type": "streamableHttp",
      "url": "https://far.test/mcp",
      "disabled": false,
      "timeout": 60
    }
  }
}"#,
        after: r#"{
  "mcpServers": {
    "travel": {
      "type": "stdio",
      "disabled": false,
      "timeout": 3600,
      "args": ["wrap", "--name", "travel", "--hold", "1500", "--url", "https://far.test/mcp"],
      "command": "ASKBACK"
    }
  }
}"#,
    },
    Row {
        client: "codex",
        server: "travel",
        path: "user/.codex/config.toml",
        before: r#"model = "x" # mine

# travel
[mcp_servers.travel]
command = "npx" # runs
args = [
  "-y", # yes
  "travel",
]
env_vars = ["OPENAI_API_KEY", "HOME"]
tool_timeout_sec = 60

[mcp_servers.travel.env]
A = "1"

[other]
x = 1
"#,
        after: r#"model = "x" # mine

# travel
[mcp_servers.travel]
command = "ASKBACK" # runs
args = ["wrap", "--name", "travel", "--hold", "1500", "--env", "OPENAI_API_KEY", "--", "npx", "-y", "travel"]
env_vars = ["OPENAI_API_KEY", "HOME"]
tool_timeout_sec = 3600

[mcp_servers.travel.env]
A = "1"

[other]
x = 1
"#,
    },
    Row {
        client: "codex",
        server: "far away",
        path: "project/.codex/config.toml",
        before: r#"mcp_servers."far away" = { url = "https://far.test/mcp", bearer_token_env_var = "TOKEN", env_http_headers = { X = "Y" }, http_headers = { Z = "1" }, tool_timeout_sec = 7200 } # far
"#,
        after: r#"mcp_servers."far away" = { tool_timeout_sec = 7200 , args = ["wrap", "--name", "far away", "--hold", "1500", "--url", "https://far.test/mcp", "--header-env", "ASKBACK_HEADER_1", "--header", "Authorization: Bearer ${TOKEN}", "--header", "X: ${Y}"], command = "ASKBACK", env = { ASKBACK_HEADER_1 = "Z: 1" }, env_vars = ["TOKEN", "Y"] } # far
"#,
    },
    Row {
        client: "copilot",
        server: "travel",
        path: "user/.copilot/mcp-config.json",
        before: r#"{"mcpServers": {"travel": {"type": "local", "command": "npx", "args": [], "tools": ["*"]}}}
"#,
        after: r#"{"mcpServers": {"travel": {
      "type": "local",
      "command": "ASKBACK",
      "args": ["wrap", "--name", "travel", "--hold", "1500", "--", "npx"],
      "tools": ["*"],
      "timeout": 3600000
    }}}
"#,
    },
    Row {
        client: "cursor",
        server: "travel",
        path: "project/.cursor/mcp.json",
        before: "{\r\n  \"mcpServers\": {\r\n    \"travel\": {\r\n      \"url\": \"https://far.test/mcp\"\r\n    }\r\n  }\r\n}\r\n",
        after: "{\r\n  \"mcpServers\": {\r\n    \"travel\": {\r\n      \"args\": [\"wrap\", \"--name\", \"travel\", \"--url\", \"https://far.test/mcp\"],\r\n      \"command\": \"ASKBACK\"\r\n    }\r\n  }\r\n}\r\n",
    },
    Row {
        client: "fast-agent",
        server: "travel",
        path: "project/fastagent.config.yaml",
        before: r#"default_model: x
mcp:
  servers:
    # mine
    travel:
      command: "npx"
      args: ["-y", "travel"]
"#,
        after: r#"default_model: x
mcp:
  servers:
    # mine
    travel:
      command: "ASKBACK"
      args: ["wrap","--name","travel","--","npx","-y","travel"]
"#,
    },
    Row {
        client: "gemini",
        server: "travel",
        path: "user/.gemini/settings.json",
        before: "\u{feff}{\"theme\": \"x\", /* mine */ \"mcpServers\": {\"travel\": {\"httpUrl\": \"https://far.test/mcp\", \"headers\": {\"A\": \"$KEY\"}, \"trust\": true}}}",
        after: "\u{feff}{\"theme\": \"x\", /* mine */ \"mcpServers\": {\"travel\": {\n      \"trust\": true,\n      \"args\": [\"wrap\", \"--name\", \"travel\", \"--hold\", \"1500\", \"--url\", \"https://far.test/mcp\", \"--header-env\", \"ASKBACK_HEADER_1\"],\n      \"command\": \"ASKBACK\",\n      \"env\": {\n        \"ASKBACK_HEADER_1\": \"A: $KEY\"\n      },\n      \"timeout\": 3600000\n    }}}",
    },
    Row {
        client: "goose",
        server: "travel",
        path: "settings/goose/config.yaml",
        before: r#"# mine
GOOSE_MODEL: x # a comment
extensions:
  developer: {type: builtin, enabled: true}
  travel:
    # this one
    type: stdio
    enabled: true
    cmd: npx  # runs
    args:
      - -y
      - 'my server'
    timeout: 300
tail: 1
"#,
        after: r#"# mine
GOOSE_MODEL: x # a comment
extensions:
  developer: {type: builtin, enabled: true}
  travel:
    # this one
    type: stdio
    enabled: true
    cmd: "ASKBACK"  # runs
    args: ["wrap","--name","travel","--","npx","-y","my server"]
    timeout: 300
tail: 1
"#,
    },
    Row {
        client: "goose",
        server: "far",
        path: "settings/goose/config.yaml",
        before: r#"extensions:
  far: {type: streamable_http, uri: 'https://far.test/mcp', enabled: true, headers: {X: '1'}}
"#,
        after: r#"extensions:
  far: {type: "stdio", enabled: true, args: ["wrap","--name","far","--url","https://far.test/mcp","--header-env","ASKBACK_HEADER_1"], cmd: "ASKBACK", envs: {"ASKBACK_HEADER_1":"X: 1"}}
"#,
    },
    Row {
        client: "opencode",
        server: "travel",
        path: "settings/opencode/opencode.jsonc",
        before: r#"{
  // mine
  "mcp": {
    "travel": {"type": "local", "command": ["npx", "-y", "travel"], "enabled": true}, // t
  },
}
"#,
        after: r#"{
  // mine
  "mcp": {
    "travel": {
      "type": "local",
      "command": ["ASKBACK", "wrap", "--name", "travel", "--hold", "1500", "--", "npx", "-y", "travel"],
      "enabled": true,
      "timeout": 3600000
    }, // t
  },
}
"#,
    },
    Row {
        client: "opencode",
        server: "far",
        path: "project/opencode.json",
        before: r#"{
  "mcp": {
    "far": {
      "type": "remote", // r
      "url": "https://far.test/mcp",
      "headers": {"A": "Bearer {env:KEY}"},
    },
  },
}
"#,
        after: r#"{
  "mcp": {
    "far": {
      "type": "local", // r
      "command": ["ASKBACK", "wrap", "--name", "far", "--hold", "1500", "--url", "https://far.test/mcp", "--header-env", "ASKBACK_HEADER_1"],
      "environment": {
        "ASKBACK_HEADER_1": "A: Bearer {env:KEY}",
      },
      "timeout": 3600000,
    },
  },
}
"#,
    },
    Row {
        client: "qwen",
        server: "travel",
        path: "project/.qwen/settings.json",
        before: r#"{"mcpServers": {"travel": {"command": "npx", "args": ["travel"], "timeout": 7200000}}}"#,
        after: r#"{"mcpServers": {"travel": {"command": "ASKBACK", "args": ["wrap", "--name", "travel", "--hold", "1500", "--", "npx", "travel"], "timeout": 7200000}}}"#,
    },
    Row {
        client: "vscode",
        server: "travel",
        path: "project/.vscode/mcp.json",
        before: r#"{
  // mine
  "inputs": [{"id": "key"}],
  "servers": {
    "travel": {"type": "stdio", "command": "npx", "env": {"KEY": "${input:key}"}},
  },
}
"#,
        after: r#"{
  // mine
  "inputs": [{"id": "key"}],
  "servers": {
    "travel": {
      "type": "stdio",
      "command": "ASKBACK",
      "env": {"KEY": "${input:key}"},
      "args": ["wrap", "--name", "travel", "--", "npx"]
    },
  },
}
"#,
    },
    Row {
        client: "vscode",
        server: "far",
        path: "settings/Code/User/mcp.json",
        before: r#"{"servers": {"far": {"type": "http", "url": "https://far.test/mcp", "headers": {"A": "${input:key}"}}}}"#,
        after: r#"{"servers": {"far": {
      "type": "stdio",
      "args": ["wrap", "--name", "far", "--url", "https://far.test/mcp", "--header-env", "ASKBACK_HEADER_1"],
      "command": "ASKBACK",
      "env": {
        "ASKBACK_HEADER_1": "A: ${input:key}"
      }
    }}}"#,
    },
];

struct Machine(Scratch);

impl Machine {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("wrap-in-{name}"));
        fs::create_dir_all(scratch.path("project")).expect("the folder is ours");
        fs::create_dir_all(scratch.path("bin")).expect("the folder is ours");
        Self(scratch)
    }

    fn path(&self, path: &str) -> PathBuf {
        let root = fs::canonicalize(self.0.path(".")).expect("it is there");
        root.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is ours");
        fs::write(path, text).expect("it is ours");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("it is there")
    }

    /// A text of a row, with the paths of this test.
    fn text(&self, text: &str) -> String {
        let project = self.path("project").display().to_string();
        text.replace("PROJECT", &project)
            .replace("ASKBACK\"", &format!("{ASKBACK}\""))
    }

    /// Runs the command. Returns its output without the path of the test folder.
    #[track_caller]
    fn run(&self, words: &[&str], exit: i32) -> String {
        let output = Command::new(ASKBACK)
            .arg("wrap")
            .args(words)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("user"))
            .env("XDG_CONFIG_HOME", self.path("settings"))
            .output()
            .expect("the command was built");
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        let said = text(output.stdout) + &text(output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{said}");
        let root = self.path("").display().to_string();
        said.replace(root.trim_end_matches('/'), "ROOT")
            .replace(ASKBACK, "ASKBACK")
    }

    #[track_caller]
    fn says(&self, words: &[&str], exit: i32, says: &[&str]) {
        let said = self.run(words, exit);
        for line in says {
            assert!(said.contains(line), "{line} is not in\n{said}");
        }
    }

    fn files(&self, path: &str) -> usize {
        let folder = self.path(path);
        let folder = folder.parent().expect("it is in a folder");
        fs::read_dir(folder).expect("it is there").count()
    }
}

#[test]
fn each_client_with_files_has_a_row() {
    for client in known_clients() {
        let files = client["files"].as_array().into_iter().flatten();
        let mut paths = files.filter_map(|file| file["path"].as_str()).peekable();
        let has_files = paths.peek().is_some();
        let has_row = paths.any(|path| ROWS.iter().any(|row| row.path.ends_with(path)));
        assert_eq!(has_row, has_files, "{}", client["name"]);
    }
}

#[test]
fn an_entry_of_each_client_is_wrapped_once_and_put_back() {
    for row in &ROWS {
        let machine = Machine::new("rows");
        let (client, server, path) = (row.client, row.server, row.path);
        let [before, after] = [row.before, row.after].map(|text| machine.text(text));
        machine.write(path, &before);
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(machine.path(path), mode).expect("it is ours");
        let files = machine.files(path);
        let said = machine.run(&["--in", client, server], 0);
        assert!(!said.contains("hush"), "{said}");
        let wrapped = machine.read(path);
        assert_eq!(wrapped, after, "{client} {server}");
        machine.says(&["--in", client, server], 0, &["nothing was changed"]);
        assert_eq!(machine.read(path), wrapped);
        machine.says(&["--in", client, server, "--undo"], 0, &["Start "]);
        assert_eq!(machine.read(path), before, "{client} {server}");
        let mode = fs::metadata(machine.path(path))
            .expect("it is there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o640);
        assert_eq!(machine.files(path), files);
        // With another change in the file.
        machine.run(&["--in", client, server], 0);
        let comment = match path.contains(".json") {
            true => "\n// later\n",
            false => "\n# later\n",
        };
        machine.write(path, &(wrapped + comment));
        machine.run(&["--in", client, server, "--undo"], 0);
        assert_eq!(machine.read(path), before + comment, "{client} {server}");
        machine.says(
            &["--in", client, "--undo", server],
            0,
            &["nothing was changed"],
        );
    }
}

/// Later changes of the user are kept. A symbolic link stays a link.
#[test]
fn only_the_entry_is_put_back() {
    const FAR: &str =
        r#"{"type": "http", "url": "https://far.test/mcp", "headers": {"B": "1", "A": "2"}}"#;
    let machine = Machine::new("only");
    let text = |travel: &str, theme: &str| {
        format!("{{\n  // {theme}\n  \"mcpServers\": {{\"travel\": {travel}, \"b\": {FAR}}}\n}}\n")
    };
    let entry = r#"{"args": ["a"] /* kept */, "command": "npx"}"#;
    machine.write("dotfiles/mcp.json", &text(entry, "dark"));
    fs::create_dir(machine.path("project/.cursor")).expect("it is ours");
    let link = machine.path("project/.cursor/mcp.json");
    symlink(machine.path("dotfiles/mcp.json"), &link).expect("it is ours");
    for name in ["travel", "b"] {
        machine.says(
            &["--in", "cursor", name],
            0,
            &["ROOT/dotfiles/mcp.json.before-wrap."],
        );
    }
    let wrapped = machine.read("dotfiles/mcp.json");
    let light = wrapped.replace("dark", "light");
    machine.write("dotfiles/mcp.json", &light);
    for name in ["travel", "b"] {
        machine.says(
            &["--in", "cursor", "--undo", name],
            0,
            &["Start Cursor again."],
        );
    }
    let restored = machine.read("dotfiles/mcp.json");
    assert_eq!(restored, text(entry, "light"));
    assert!(link.is_symlink());
    // Without a backup, the original entry is unknown.
    machine.write("dotfiles/mcp.json", &wrapped);
    let words = ["--in", "cursor", "--undo", "travel"];
    machine.says(&words, 2, &["mcp.json.before-wrap.travel cannot be read"]);
    assert_eq!(machine.read("dotfiles/mcp.json"), wrapped);
}

#[test]
fn options_of_the_command_are_in_the_entry() {
    let machine = Machine::new("options");
    let file = "user/.codex/config.toml";
    machine.write(file, "[mcp_servers.\"a b\"]\ncommand = \"x\"\n");
    let words = [
        "--in",
        "codex",
        "a b",
        "--ask=here",
        "--hold=60",
        "--show=none",
        "--answers=rules.yaml",
    ];
    let undo = "askback wrap --in codex --undo 'a b'";
    machine.says(&words, 0, &["config.toml.before-wrap.a%20b", undo]);
    let rules = machine.path("project/rules.yaml").display().to_string();
    let args = format!(
        "[\"wrap\", \"--name\", \"a b\", \"--answers\", \"{rules}\", \"--ask=here\", \"--hold\", \"60\", \"--show=none\", \"--\", \"x\"]"
    );
    assert!(machine.read(file).contains(&args));
}

#[test]
fn what_a_question_does_is_what_was_chosen() {
    let machine = Machine::new("shown");
    let file = "project/.cursor/mcp.json";
    let entry = r#"{"mcpServers": {"travel": {"command": "x"}}}"#;
    let policy = "settings/askback/wrap.toml";
    for (show, shows) in [
        ("browser", "A question opens a page in your browser"),
        ("notice", "A notice on the desktop says"),
        ("none", "Questions wait until `askback answer`"),
    ] {
        machine.write(file, entry);
        machine.write(policy, "");
        let option = format!("--show={show}");
        machine.says(&["--in", "cursor", "travel", &option], 0, &[shows]);
        machine.write(file, entry);
        machine.write(policy, &format!("[server.travel]\nshow = '{show}'\n"));
        machine.says(&["--in", "cursor", "travel"], 0, &[shows]);
    }
}

#[test]
fn what_to_do_next_names_the_server() {
    let machine = Machine::new("next");
    let file = "user/.codex/config.toml";
    machine.write(file, "[mcp_servers.far]\nurl = \"https://far.test/mcp\"\n");
    let missing = "Codex has no server called `fra`. It has:";
    machine.says(&["--in", "codex", "fra"], 2, &[missing]);
    let sign_in = "sign in once: askback list --url https://far.test/mcp";
    machine.says(&["--in", "codex", "far"], 0, &[sign_in]);
    machine.write(
        "user/.claude.json",
        r#"{"mcpServers": {"key": {"url": "https://far.test/mcp?api_key=hunter2"}}}"#,
    );
    let said = machine.run(&["--in", "claude-code", "key"], 0);
    assert!(said.contains("askback list --url URL"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_file_that_cannot_be_changed_is_left_alone() {
    for (client, path, text, says) in [
        (
            "codex",
            "user/.codex/config.toml",
            "a = 1\n[mcp_servers.travel\n",
            "config.toml: this is not TOML, at line 2 column ",
        ),
        (
            "claude",
            "project/.mcp.json",
            "{\n  'hush': 1\n}",
            ", at line 2 column 3\n",
        ),
        (
            "goose",
            "settings/goose/config.yaml",
            "a: 1\nb: [hush\n",
            "config.yaml: this is not YAML, at line 3 column 1",
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            r#"{"mcpServers": {"travel": {"url": 1}}}"#,
            "neither a command nor a URL",
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            r#"{"mcpServers": {"travel": {"command": "x", "args": "hush"}}}"#,
            "`command` of `travel` has a value",
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            r#"{"mcpServers": {"travel": {"command": "x"}, "travel": {"command": "y"}}}"#,
            "cannot be edited",
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            r#"{"mcpServers": {"b": {}, "a": {}}}"#,
            "| a, b",
        ),
        (
            "goose",
            "settings/goose/config.yaml",
            "extensions: &e\n  travel: &t {cmd: x}\nother:\n  same: *t\n",
            "cannot be edited",
        ),
    ] {
        let machine = Machine::new("left");
        machine.write(path, text);
        let files = machine.files(path);
        let said = machine.run(&["--in", client, "travel"], 2);
        assert!(
            said.contains(says) && !said.contains("hush"),
            "{says} is not in\n{said}"
        );
        assert_eq!(machine.read(path), text);
        assert_eq!(machine.files(path), files);
    }
    let machine = Machine::new("none");
    machine.says(
        &["--in", "cursor", "a"],
        2,
        &["Cursor has no file of servers here"],
    );
    machine.says(
        &["--in", "cursor"],
        2,
        &["no server of Cursor is named", "--doctor --in cursor"],
    );
    machine.says(&["travel"], 2, &["no client is named", "-- travel"]);
    let url = "https://far.test/mcp";
    machine.says(&[url], 2, &["no client is named", ": --url https://far"]);
    let hints = [": -- my-server", ": --url https", ": --in CLIENT NAME"];
    machine.says(&[], 2, &[&["no server is named"][..], &hints].concat());
    let words = ["--url", "http://127.0.0.1:9/mcp", "--header-env", "NOT_SET"];
    machine.says(&words, 2, &["which is not set", "NOT_SET"]);
}

#[test]
fn the_doctor_says_what_is_wrong() {
    let machine = Machine::new("doctor");
    machine.says(&["--doctor"], 0, &["Not found here: Claude Code, "]);
    machine.write("bin/codex", "");
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(machine.path("bin/codex"), may_run).expect("it is ours");
    machine.write("user/.cursor/mcp.json", "{,}");
    machine.write(
        "user/.codex/config.toml",
        r#"
            [mcp_servers.plain]
            command = "x"
            [mcp_servers.odd]
            [mcp_servers.good]
            command = "x"
            [mcp_servers.short]
            command = "ASKBACK"
            args = ["wrap", "--hold", "600", "--", "x"]
            tool_timeout_sec = 60
            [mcp_servers.twice]
            command = "ASKBACK"
            args = ["wrap", "--", "/gone/askback", "wrap", "--", "x"]
            enabled = false
            [mcp_servers.patient]
            command = "ASKBACK"
            args = ["wrap", "--name", "slow", "--", "x", "--hold", "1"]
            tool_timeout_sec = 400
            [mcp_servers.listed]
            command = "ASKBACK"
            args = ["wrap", "--policy", "ROOT/other.toml", "--", "x"]
            [mcp_servers.broken]
            command = "ASKBACK"
            args = ["wrap", "--policy=ROOT/broken.toml", "--", "x"]
            [mcp_servers.gone]
            command = "/gone/askback"
            args = ["wrap", "--", "x"]
        "#
        .replace("ASKBACK", ASKBACK)
        .replace(
            "ROOT",
            machine.path("").display().to_string().trim_end_matches('/'),
        )
        .as_str(),
    );
    machine.write("settings/askback/wrap.toml", "[server.slow]\nhold = 600\n");
    machine.write("other.toml", "[defaults]\nhold = 100\n");
    machine.write("broken.toml", "[defaults]\nholds = 100\n");
    machine.run(&["--in", "codex", "good"], 0);
    let said = machine.run(&["--doctor"], 1);
    let expected = "\
Codex: ROOT/bin/codex
  By itself it shows forms without numbers and lists, links, but not http links.
  It waits for a call 300 s, unless its file says otherwise.
  ROOT/user/.codex/config.toml
    | broken: through askback, which gives a call back after 270 s
      ! it does not start, because ROOT/broken.toml is not a policy:
        | line 2: unknown field `holds`, expected one of `answers`, `ask`,
        | `hold`, `show`
    | gone: through askback, which gives a call back after 270 s
      ! there is no program /gone/askback, so it cannot be started: wrap it again
    | good: through askback, which gives a call back after 1500 s
    | listed: through askback, which gives a call back after 100 s
    | odd: has neither a command nor a URL
    | patient: through askback, which gives a call back after 600 s
      ! Codex gives up after 400 s, before the call is given back: set a longer timeout, or a shorter --hold
    | plain: not through askback
    | short: through askback, which gives a call back after 600 s
      ! Codex gives up after 60 s, before the call is given back: set a longer timeout, or a shorter --hold
    | twice: through askback, which gives a call back after 270 s
      ! askback wrap is in its command more than once
      ! it is disabled, so Codex does not start it

Cursor: there is no `cursor` in PATH
  It was not tried which questions it shows by itself.
  It was not tried how long it waits for a call.
  ! ROOT/user/.cursor/mcp.json: this is not JSON: Unexpected token in object, at line 1 column 2

Not found here: Claude Code, Claude Desktop, Cline, Copilot CLI, fast-agent,
Gemini CLI, Goose, opencode, Qwen Code, VS Code
";
    assert_eq!(said.trim(), expected.trim());
    let said = machine.run(&["--doctor", "--in", "goose"], 0);
    assert!(
        said.starts_with("Goose: there is no `goose` in PATH"),
        "{said}"
    );
}
