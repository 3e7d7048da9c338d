//! Several servers in one conversation.

use std::fs;

use serde_json::json;

use crate::{
    again::{OTHERS, SERVER, TOOLS},
    full::{CTRL_D, ENTER, Terminal},
    run::{ASKBACK, Ran, Run},
    scratch::{Scratch, is_in_wrapped},
};

/// Creates a file with four servers. `a` and `b` have their own folders and count their starts; one cannot be started,
/// and one is disabled.
fn place(scratch: &Scratch) -> String {
    for name in ["a", "b"] {
        fs::create_dir_all(scratch.path(name)).expect("it is ours");
        scratch.file(&format!("{name}/tools.json"), &TOOLS.replace('\n', ""));
        scratch.file(&format!("{name}/others.json"), &OTHERS.replace('\n', ""));
        scratch.file(&format!("{name}/count"), "0");
        scratch.file(&format!("{name}/server.sh"), SERVER);
    }
    let servers = json!({"mcpServers": {
        "a": {"command": "sh", "args": ["a/server.sh"]},
        "b": {"command": "sh", "args": ["b/server.sh"]},
        "gone": {"command": "./no-such-program"},
        "off": {"command": "sh", "args": ["-c", "touch off"], "disabled": true},
    }});
    scratch.file("mcp.json", &servers.to_string())
}

fn run(name: &str, words: &[&str], lines: &str) -> Ran {
    let run = Run::new(name, &["open", "--protocol", "2025-11-25"]);
    let file = place(&run.scratch);
    let run = run.and(&["--config", &file]).and(words);
    run.input(lines).run()
}

#[test]
fn each_server_has_calls_answers_and_starts_of_its_own() {
    let lines = [
        "/call reserve",
        "12A",
        "", // of `a`
        "/server b",
        "/call reserve",
        "7C",
        "",
        "/restart b",
        "/again",
        "/server a",
        "/again",
        "/restart b",
        "/again",
        "/servers",
        "",
    ];
    let ran = run("several", &["--all"], &lines.join("\n")).expect(0);
    let ran = ran
        .says("  b: connected, 2025-11-25\n")
        .says("> a: connected, 2025-11-25\n")
        .says("  gone: the server cannot be reached:\n")
        .says("a · answered as before | Which seat?\n")
        .says("b · answered as before | Which seat?\n");
    assert!(!ran.scratch.path("off").exists());
    let results: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(
        results,
        [
            "start 1, seat 12A",
            "start 1, seat 7C",
            "start 2, seat 7C",
            "  What differs from the result before:",
            "    | /content/0/text",
            "  - | start 1, seat 7C",
            "  + | start 2, seat 7C",
            "start 1, seat 12A",
            "  The result is the same as before.",
            "start 1, seat 12A",
            "  The result is the same as before.",
        ]
    );
}

#[test]
fn a_command_acts_on_the_current_server() {
    #[track_caller]
    fn lists(lines: &str) {
        let ran = run("several-tools", &["--all"], lines).expect(0);
        let names = ran.stdout.lines().filter(|line| {
            let name = line.strip_prefix("  | ").unwrap_or(line);
            !line.starts_with("      ") && !name.is_empty()
        });
        let expected = ["Tools", "  | reserve", "  | change", "  | leave"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }
    lists("/tools\n");
    lists("/server b\n/tools\n");
    run("several-own", &["--all"], "/call ring\n")
        .expect(2)
        .says("no tool `ring`");
    run("several-named", &["--all"], "/call b/reserve\n")
        .expect(2)
        .says("no tool `b/reserve`")
        .says("/server b switches to that server.");
    run("several-read", &["--all"], "/read b/notes\n")
        .expect(4)
        .says("/server b switches to that server.");
    // The last call was one of another server.
    let lines = "/call reserve\n12A\n\n/server b\n/again\n";
    run("several-last", &["--all"], lines)
        .expect(2)
        .says("there is no call to make again");
}

#[test]
fn messages_are_headed_by_their_server() {
    let lines = "/server b\n/call change\n/wire\n/wire 1\n";
    let ran = run("several-headed", &["--all"], lines);
    let list = "Messages of b\n   1    ";
    let one = "Messages of b\nMessage 1, sent at ";
    assert!(ran.stdout.contains(list), "{}", ran.stdout);
    assert!(ran.stdout.contains(one), "{}", ran.stdout);
    let ran = run("one-headed", &["--server", "a"], "/wire\n/wire 1\n").expect(0);
    assert!(!ran.stdout.contains("Messages of"), "{}", ran.stdout);
}

#[test]
fn a_server_that_cannot_be_reached_is_told_of_and_tried_again() {
    let lines = "/server gone\n";
    run(
        "several-gone",
        &["--server", "gone", "--server", "b"],
        lines,
    )
    .expect(4)
    .says("> b: connected")
    .says("gone is not there\n  /restart gone tries again.\n");
    run("several-again", &["--all"], "/restart gone\n")
        .expect(4)
        .says("a> /restart gone\naskback: the server cannot be reached:\n");
    run("several-none", &["--server", "b"], "/server x\n")
        .expect(2)
        .says("no server is called `x`\n  /servers lists them.");
}

#[test]
fn every_server_is_reported_if_none_can_be_reached() {
    let run = Run::new("several-nowhere", &["open", "--all"]);
    let servers = json!({"mcpServers": {"x": {"command": "./no"}, "y": {"command": "./none"}}});
    let file = run.scratch.file("mcp.json", &servers.to_string());
    let ran = run.and(&["--config", &file]).run().expect(4);
    ran.says("× y: the server cannot be reached:\n")
        .says("askback: x: the server cannot be reached:\n");
}

#[test]
fn what_is_done_with_one_server_takes_no_more() {
    #[track_caller]
    fn check(words: &[&str], says: &str) {
        let run = Run::new("several-one", words);
        let file = place(&run.scratch);
        run.and(&["--config", &file]).run().expect(2).says(says);
    }
    let two = ["--server", "a", "--server", "b"];
    check(
        &[&["list", "--all"], &two[..]].concat(),
        "several servers are named, and this command takes one",
    );
    check(
        &[&["open", "--watch"], &two[..]].concat(),
        "--record and --watch are for one server",
    );
    check(
        &[&["open", "--trace=t"], &two[..]].concat(),
        "--trace=FILE is for one server",
    );
    check(
        &[&["open", "--name", "x"], &two[..]].concat(),
        "--name is for one server",
    );
    // Reported before a server starts.
    let revisions = ["open", "--as", "2025-06-18", "--protocol", "2025-11-25"];
    check(
        &[&revisions, &two[..]].concat(),
        "askback: --protocol 2025-11-25 and the revision 2025-06-18 of the client do not go together\n",
    );
}

#[test]
fn the_servers_of_a_found_file_are_agreed_to_before_one_starts() {
    let scratch = Scratch::new("several-found");
    place(&scratch);
    let folder = scratch.path(".").display().to_string();
    let state = scratch.path("state").display().to_string();
    let line = format!("cd '{folder}' && exec '{ASKBACK}' open --protocol 2025-11-25");
    // Wide enough that no path is wrapped.
    let mut terminal = Terminal::run("sh", &["-c", &line], 250, &[("XDG_STATE_HOME", &state)]);
    for name in ["a", "b", "gone"] {
        terminal.until(&format!("server:\n| {name}\n"));
        terminal.until("yes or no");
        for server in ["a", "b"] {
            let count = fs::read_to_string(scratch.path(&format!("{server}/count")));
            assert_eq!(count.expect("it was written"), "0", "{name}");
        }
        terminal.press(if name == "gone" { "no\r" } else { "yes\r" });
    }
    // A line that is typed while another one runs is not sent automatically.
    let mut say = |awaited: &str, line: &str| {
        terminal.until(awaited).until("Type to filter");
        terminal.press(line).press(ENTER);
    };
    say("a> ", "/server b");
    say("You talk to b.", "/call leave");
    say("b exited (code 7)", "/servers");
    say("b: ended; the next", "/tools");
    say("| change", "/servers");
    say("> b: connected", "/server a");
    terminal.until("You talk to a.").until("Type to filter");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
}

#[test]
fn a_server_that_cannot_be_used_is_told_of_with_the_reason() {
    let run = Run::new("unused", &["open", "--protocol", "2025-11-25", "--all"]);
    place(&run.scratch);
    let file = json!({"mcpServers": {
        "a": {"command": "sh", "args": ["a/server.sh"]},
        "b": {"command": "sh", "args": ["b/server.sh"]},
        "unset": {"command": "sh", "args": ["${NOT_SET_HERE}"]},
        "away": {"command": "sh", "args": ["x"], "cwd": "no/such"},
    }});
    let file = run.scratch.file("mcp.json", &file.to_string());
    let ran = run.and(&["--config", &file]).input("/servers\n").run();
    let ran = ran.expect(0).says("> a: connected").says("× unset: ");
    ran.says("| NOT_SET_HERE").says("  away: the folder");
}

#[test]
fn a_server_with_invisible_characters_in_its_name_is_not_used() {
    let run = Run::new("unseen", &["open", "--protocol", "2025-11-25", "--all"]);
    place(&run.scratch);
    let server = json!({"command": "sh", "args": ["a/server.sh"]});
    let file = json!({"mcpServers": {"a": server, "a\u{200b}": server, "a ": server, " ": server}});
    let file = run.scratch.file("mcp.json", &file.to_string());
    let run = run.and(&["--config", &file]).input("/servers\n");
    let ran = run.run().expect(0);
    let (told, _) = ran
        .stderr
        .rsplit_once("> a: connected")
        .expect("it is listed");
    for words in [
        "` `: FILE: ` ` cannot be used, as its name has only spaces\n",
        "a : FILE: `a ` cannot be used, as its name begins or ends with a space\n",
        "a<U+200B>: FILE: `a<U+200B>` cannot be used, as its name has an invisible character, <U+200B>\n",
    ] {
        let words = words.replace("FILE", &file);
        assert!(is_in_wrapped(&format!("× {words}"), told), "{told}");
    }
    assert!(told.contains("\n  Give it another name in the file."));
    let words = ["list", "--all", "--server", "a ", "--config", &file];
    Run::new("unseen-named", &words)
        .run()
        .expect(2)
        .says("as its name begins or ends with a space");
}

#[test]
fn servers_whose_names_look_alike_are_refused() {
    let run = Run::new("alike", &["open", "--protocol", "2025-11-25", "--all"]);
    place(&run.scratch);
    let file = json!({"mcpServers": {
        "air": {"command": "sh", "args": ["a/server.sh"]},
        "\u{430}ir": {"command": "sh", "args": ["b/server.sh"]},
    }});
    let file = run.scratch.file("mcp.json", &file.to_string());
    let run = run.and(&["--config", &file]);
    run.run()
        .expect(2)
        .says("the names air and \u{430}ir of two servers look the same")
        .says("Give one of them another name in the file.");
}
