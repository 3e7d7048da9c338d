//! A server file that was found in a folder: nothing in it runs unless the user owns the file and has agreed to it.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::Path,
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::{
    full::{ENTER, Terminal},
    scratch::{Scratch, is_in_wrapped},
};

/// Two programs that are not servers, but record that they were started.
const FILE: &str = r#"{"mcpServers": {
    "one": {"command": "sh", "args": ["-c", "touch \"$SEEN\""]},
    "two": {"command": "sh", "args": ["-c", "touch \"$SEEN\"", "two"]}
}}"#;

/// A folder with a server file, and a folder within it.
struct Place {
    scratch: Scratch,
}

impl Place {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("trust-{name}"));
        fs::create_dir_all(scratch.path("project/below")).expect("the folder is ours");
        scratch.file("project/mcp.json", FILE);
        Self { scratch }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        // The canonical path, as the command sees it, even if the target folder is a symbolic link.
        let root = fs::canonicalize(self.scratch.path(".")).expect("it is there");
        root.join(name)
    }

    /// Runs the command in the inner folder, without a terminal. Returns the exit code, stderr, and whether a server
    /// was started.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, bool) {
        let seen = self.path("seen");
        let output = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["list", "--all"])
            .args(words)
            .current_dir(self.path("project/below"))
            .env("SEEN", &seen)
            .env("XDG_STATE_HOME", self.path("state"))
            .output()
            .expect("the command was built");
        let stderr = String::from_utf8(output.stderr).expect("it writes text");
        (output.status.code(), stderr, fs::remove_file(seen).is_ok())
    }

    #[track_caller]
    fn refuses(&self, words: &[&str], says: &[&str]) {
        let (exit, stderr, started) = self.run(words);
        assert_eq!((exit, started), (Some(2), false), "{stderr}");
        for says in says {
            let is_in = is_in_wrapped(says, &stderr);
            assert!(is_in, "{says} is not in\n{stderr}");
        }
    }

    #[track_caller]
    fn starts(&self, words: &[&str]) {
        let (exit, stderr, started) = self.run(words);
        // The program is not a server.
        assert_eq!((exit, started), (Some(4), true), "{stderr}");
    }

    fn agree(&self, server: &str) {
        let path = self.path("project/mcp.json");
        let text = fs::read_to_string(&path).expect("it is there");
        agree(&self.path("state"), &path, server, &text);
    }
}

/// Records that the user agreed to a server of a file, as the command does.
pub(crate) fn agree(state: &Path, path: &Path, server: &str, text: &str) {
    let mut digest = Sha256::new();
    for part in [
        b"2",
        path.as_os_str().as_encoded_bytes(),
        server.as_bytes(),
        text.as_bytes(),
    ] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let kept = state.join("askback/agreed.json");
    let before = fs::read(&kept).unwrap_or_else(|_| b"{}".to_vec());
    let mut all: serde_json::Value = serde_json::from_slice(&before).expect("it is JSON");
    all[path.display().to_string()][server] = digest.into();
    fs::create_dir_all(state.join("askback")).expect("the folder is ours");
    fs::write(&kept, all.to_string()).expect("the folder is ours");
    set_mode(&kept, 0o600);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

// Shows BP-43, BP-46, BP-47.
#[test]
fn what_was_found_is_agreed_to_once() {
    let place = Place::new("agreed");
    let file = place.path("project/mcp.json");
    let shown = file.display().to_string();
    let one = ["--server", "one"];
    let unagreed = [
        &*format!("{shown} was found, not named, and you have not agreed to its entry for one"),
        &*format!("--config {shown}"),
    ];
    place.refuses(&one, &unagreed);
    place.agree("one");
    place.starts(&one);
    place.starts(&one);
    let state = fs::metadata(place.path("state/askback/agreed.json")).expect("it was written");
    assert_eq!(state.mode() & 0o777, 0o600);
    // The user agreed neither to the other server nor to the new content of the file.
    place.refuses(&["--server", "two"], &["you have not agreed"]);
    fs::write(&file, FILE.replace("touch", "true; touch")).expect("it is ours");
    place.refuses(&one, &["you have not agreed"]);
    fs::write(&file, FILE).expect("it is ours");
    place.starts(&one);
    // A file that the user names is trusted.
    place.starts(&["--server", "two", "--config", &shown]);
    // An agreement that other users could have written does not count.
    set_mode(&place.path("state/askback/agreed.json"), 0o622);
    place.refuses(&one, &["agreed.json can be read by others"]);
}

/// Relative programs and folders are resolved from the folder of the file, not from the working directory.
#[test]
fn what_was_agreed_to_is_no_other_program_in_the_next_folder() {
    let place = Place::new("beside");
    let json = r#"{"mcpServers": {"one": {"command": "./run.sh"}, "two": {"command": "sh", "args": ["./run.sh"]}}}"#;
    fs::write(place.path("project/mcp.json"), json).expect("it is ours");
    let write = |name: &str, does: &str| {
        let path = place.path(name);
        fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("it is ours");
        set_mode(&path, 0o700);
    };
    write("project/run.sh", "touch \"$SEEN\"");
    write("project/below/run.sh", "exit 0");
    for server in ["one", "two"] {
        place.agree(server);
        place.starts(&["--server", server]);
        place.starts(&["--server", server, "--config", "../mcp.json"]);
    }
}

#[test]
fn text_from_a_file_is_behind_the_gutter() {
    #[track_caller]
    fn check(name: &str, json: &str) {
        let place = Place::new(name);
        fs::write(place.path("project/mcp.json"), json).expect("it is ours");
        let (exit, stderr, started) = place.run(&["--server", "one"]);
        assert_eq!((exit, started), (Some(2), false), "{stderr}");
        let theirs: Vec<_> = stderr
            .lines()
            .filter(|line| line.contains("evil"))
            .collect();
        assert!(!theirs.is_empty(), "{stderr}");
        for line in theirs {
            assert!(line.trim_start().starts_with("| "), "{line:?} in\n{stderr}");
        }
    }
    check("names", r#"{"mcpServers": {"evil says yes": {}}}"#);
    check(
        "type",
        r#"{"mcpServers": {"one": {"env": {"evil says yes": []}}}}"#,
    );
    check(
        "url",
        r#"{"mcpServers": {"one": {"url": "evil://says/yes"}}}"#,
    );
    check(
        "header",
        r#"{"mcpServers": {"one": {"url": "https://a.test", "headers": {"evil says": "x"}}}}"#,
    );
    check(
        "value",
        r#"{"mcpServers": {"one": {"url": "https://a.test", "headers": {"evil": "\n"}}}}"#,
    );
}

#[test]
fn what_a_named_file_starts_stands_behind_the_gutter() {
    let place = Place::new("line");
    let json =
        r#"{"mcpServers": {"one": {"command": "sh", "args": ["-c", "touch \"$SEEN\"", "evil"]}}}"#;
    fs::write(place.path("project/mcp.json"), json).expect("it is ours");
    let file = place.path("project/mcp.json").display().to_string();
    let (_, stderr, started) = place.run(&["--server", "one", "--config", &file]);
    assert!(started, "{stderr}");
    let evil = stderr.lines().find(|line| line.contains("evil"));
    let evil = evil.expect("what it starts is told");
    assert!(evil.trim_start().starts_with("| "), "{stderr}");
}

#[test]
fn what_others_may_have_written_is_not_run() {
    #[track_caller]
    fn check(name: &str, change: impl FnOnce(&Place), says: &str) {
        let place = Place::new(name);
        place.agree("one");
        place.starts(&["--server", "one"]);
        change(&place);
        place.refuses(
            &["--server", "one"],
            &[says, "Look at what it starts", "--config"],
        );
        // A user who names the file trusts it.
        let file = place.path("project/mcp.json").display().to_string();
        place.starts(&["--server", "one", "--config", &file]);
    }
    check(
        "open-file",
        |place| set_mode(&place.path("project/mcp.json"), 0o666),
        "mcp.json can be changed by others (mode 666)",
    );
    check(
        "open-folder",
        |place| set_mode(&place.path("project"), 0o777),
        "project can be changed by others (mode 777), so that",
    );
    check(
        "open-above",
        |place| set_mode(&place.path("."), 0o757),
        "can be changed by others (mode 757), so that",
    );
    // A symbolic link into another user's folder.
    let behind_link = |place: &Place| {
        let (file, open) = (place.path("project/mcp.json"), place.path("open"));
        fs::create_dir(&open).expect("the folder is ours");
        fs::rename(&file, open.join("mcp.json")).expect("the folder is ours");
        symlink(open.join("mcp.json"), &file).expect("the folder is ours");
        set_mode(&open, 0o777);
    };
    check(
        "behind-link",
        behind_link,
        "open can be changed by others (mode 777), so that",
    );
}

#[test]
fn a_file_of_another_user_is_not_run() {
    let place = Place::new("owner");
    let file = place.path("project/mcp.json");
    let me = fs::metadata(&file).expect("it is there").uid();
    if me == 0 {
        chown(&file, Some(1), None).expect("root may give it away");
    } else {
        // A file of root is not the user's own either.
        fs::remove_file(&file).expect("it is ours");
        symlink("/etc/passwd", &file).expect("the folder is ours");
    }
    place.refuses(
        &["--server", "one"],
        &["mcp.json belongs to another user (uid", "--config"],
    );
}

#[test]
fn a_file_without_end_is_not_read_whole() {
    let place = Place::new("large");
    let file = place.path("project/mcp.json");
    let shown = file.display().to_string();
    let large = format!("{}{FILE}", " ".repeat(1 << 20));
    fs::write(&file, large).expect("it is ours");
    let says = [&*format!("{shown} cannot be read: it is larger than 1 MiB")];
    place.refuses(&["--server", "one"], &says);
    place.refuses(&["--server", "one", "--config", &shown], &says);
    let room = (1 << 20) - FILE.len();
    fs::write(&file, format!("{}{FILE}", " ".repeat(room))).expect("it is ours");
    place.starts(&["--server", "one", "--config", &shown]);
}

#[test]
fn what_a_person_agreed_to_just_now_is_not_said_again() {
    let place = Place::new("once");
    let talk = |says: &str, asks: bool| {
        let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["list", "--all", "--plain", "--server", "one"])
            .current_dir(place.path("project"))
            .env("SEEN", place.path("seen"))
            .env("XDG_STATE_HOME", place.path("state"));
        let mut terminal = Terminal::start(command, 200);
        if asks {
            terminal.until("yes or no").press("yes").press(ENTER);
        }
        // The program is not a server.
        assert_eq!(terminal.ended(), Some(4));
        let rows = terminal.rows().join("\n");
        assert_eq!(rows.matches("touch").count(), 1, "{rows}");
        assert!(rows.contains(says), "{rows}");
    };
    talk("mcp.json was found here", true);
    talk("mcp.json says to use for one:", false);
}

#[test]
fn a_yes_that_was_typed_before_the_question_is_said_not_to_count() {
    let place = Place::new("early");
    place.scratch.pipe("go");
    let script = "echo begin; read -r go < \"$GO\"; exec \"$PROGRAM\" list --server one";
    let command = pty_process::blocking::Command::new("sh")
        .args(["-c", script])
        .current_dir(place.path("project"))
        .env("GO", place.path("go"))
        .env("PROGRAM", env!("CARGO_BIN_EXE_askback"))
        .env("SEEN", place.path("seen"))
        .env("XDG_STATE_HOME", place.path("state"))
        .env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command, 200);
    terminal
        .until("begin")
        .press("yes")
        .press(ENTER)
        .until("yes");
    fs::write(place.path("go"), "go\n").expect("it is ours");
    terminal.until("You typed this before you can have read the question; it was ignored.");
    terminal.until("yes or no").press("no").press(ENTER);
    assert_eq!(terminal.ended(), Some(2));
    assert!(!place.path("seen").exists());
}
