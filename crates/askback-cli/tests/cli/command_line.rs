//! Errors on the command line, before a server is started.

use std::{
    fs,
    net::TcpListener,
    process::{Command, Output},
};

use crate::scratch::Scratch;

fn askback(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
    let output = command.args(args).env("NO_COLOR", "1").output();
    output.expect("the command was built")
}

#[track_caller]
fn check(args: &[&str], exit: i32, says: &str) {
    let output = askback(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{stderr}");
    assert!(stderr.contains(says), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn what_makes_no_sense_is_refused() {
    check(&["frobnicate"], 2, "`askback help` lists the commands");
    check(&["call"], 2, "<TOOL>");
    check(&["call", "book"], 2, "no server is named\n  Name a URL");
    check(
        &["call", "book", "here", "--", "true"],
        2,
        "expected KEY=VALUE, got `here`\n  Write key=value",
    );
    check(&["call", "book", "127.0.0.1:9/mcp"], 4, "cannot be reached");
    check(
        &["call", "book", "server.py"],
        2,
        "book is not a server\n  A server is a URL",
    );
    check(
        &["list", "tools", "server.py"],
        2,
        "found no file server.py, and no server with this name",
    );
    check(
        &["call", "https://127.0.0.1:9/mcp", "a=1"],
        2,
        "the command does not say what to do there",
    );
    check(&["lst"], 2, "Did you mean list?");
    check(
        &["lst", "server.py"],
        2,
        "the command `list` is near: askback list server.py",
    );
    check(&["python3", "server.py"], 2, "askback -- python3 server.py");
    check(
        &["--trace", "list", "server.py"],
        2,
        "options follow the command: askback list",
    );
    check(&["open", "./server"], 2, "found no file ./server");
    check(&["doctor", "zoo"], 2, "such as -- zoo.");
    check(
        &["watch", "tools", "--url", "http://127.0.0.1:9"],
        2,
        "`tools` is not the URI of a resource",
    );
    check(
        &["servers", "sign-out", "zoo"],
        2,
        "`zoo` is not the address of a server",
    );
    check(
        &["list", "--all", "zoo", "--url", "http://a.example"],
        2,
        "zoo is not a kind of list",
    );
    check(
        &["list", "tool", "--", "true"],
        2,
        "tool is not a kind of list",
    );
    check(
        &["open", "--url", "localhost:4000/mcp"],
        2,
        "Write http://localhost:4000/mcp",
    );
    check(
        &["call", "book", "a=1", "a=2", "--", "true"],
        2,
        "`a` is given twice",
    );
    check(&["call", "book", "a:=x", "--", "true"], 2, "is not JSON");
    check(
        &["call", "book", "--protocol", "2023-01-01", "--", "true"],
        2,
        "the revisions are 2024-11-05",
    );
    check(
        &["call", "book", "--timeout", "0", "--", "true"],
        2,
        "--timeout",
    );
    let most = "18446744073709551615";
    check(
        &["call", "book", "--timeout", most, "--", "true"],
        2,
        "expected seconds such as 4, 4s or 2m, from 1 to 31536000",
    );
    check(
        &["call", "book", "--answers", "/not/there.yaml", "--", "true"],
        2,
        "`askback help answers` shows such a file.",
    );
    check(
        &["test", "/not/there.yaml"],
        2,
        "`askback help suite` shows such a file.",
    );
    check(
        &["list", "--config", "/not/there.json", "a"],
        2,
        "--config takes a file such as mcp.json",
    );
    check(
        &["call", "book", "--roots", "/not/there", "--", "true"],
        2,
        "--roots: /not/there: No such file",
    );
    check(
        &["call", "book", "--server", "a", "--", "true"],
        2,
        "cannot be used with",
    );
    check(
        &["call", "book", "--config", "a.json", "--", "true"],
        2,
        "cannot be used with",
    );
    check(
        &["list", "--all", "--url", "example.com/mcp"],
        2,
        "is not a URL",
    );
    check(&["serve", "hotels"], 2, "unrecognized subcommand");
    check(&["serve", "travel", "--page-size", "0"], 2, "--page-size");
    let token = ["serve", "travel", "--development-token", "alice=a"];
    check(&token, 2, "--http");
    let served = ["serve", "travel", "--http", "127.0.0.1:0"];
    let serve = |more: &[&'static str], wanted: &str| {
        check(&[&served[..], more].concat(), 2, wanted);
    };
    serve(
        &["--development-token", "alice=two words"],
        "written in letters",
    );
    serve(
        &["--development-token", "a=x", "--development-token", "b=x"],
        "the same",
    );
    serve(&["--development-scopes", "a"], "--development-token");
    serve(&["--development-token", "a"], "NAME=TOKEN");
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let taken = taken.local_addr().map(|at| (at.to_string(), taken));
    let (address, _taken) = taken.expect("it is bound");
    let served = ["serve", "travel", "--http", &address];
    check(&served, 4, &format!("cannot listen at {address}"));
    check(&served, 4, "choose another port");
}

#[test]
fn a_word_that_is_refused_is_shown_without_what_acts() {
    let escaped = "--a<U+000A>b<U+001B>[31m";
    let word = "--a\nb\u{1b}[31m";
    let unknown = format!("error: unexpected argument '{escaped}' found\n");
    check(&["call", "t", word], 2, &unknown);
    check(&["call", "t", word], 2, &format!("use '-- {escaped}'\n"));
    let invalid = format!("invalid value '{escaped}' for '--protocol");
    check(&["call", "t", &format!("--protocol={word}")], 2, &invalid);
}

#[test]
fn an_answers_file_is_refused_with_its_line() {
    let scratch = Scratch::new("answers");
    let file = scratch.file("a.yaml", "answers:\n  - when: {tol: x}\n    cancel: true\n");
    let args = ["call", "book", "--answers", &file, "--", "true"];
    check(
        &args,
        2,
        "a.yaml: answers[0].when: `tol` is not known here: did you mean `tool`?",
    );
}

#[test]
fn a_server_is_looked_for_in_the_folders_above() {
    let scratch = Scratch::new("upward");
    scratch.file(
        "mcp.json",
        r#"{"mcpServers": {"gone": {"command": "/not/there/server"}}}"#,
    );
    let below = scratch.path("a/b");
    fs::create_dir_all(&below).expect("the scratch folder can be written");
    let run = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
        let output = command
            .args(["list", "--all", "--server", name])
            .current_dir(&below)
            .output();
        output.expect("the command was built")
    };
    let output = run("other");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("mcp.json: no server is called `other`; the servers are:\n  | gone"),
        "{stderr}"
    );
}

#[test]
fn help_names_every_command() {
    let output = askback(&["--help"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    let commands = [
        "list", "call", "get", "watch", "answer", "check", "test", "new", "servers", "serve",
        "help",
    ];
    for command in commands {
        assert!(stdout.contains(&format!("\n  {command} ")), "{stdout}");
    }
    // The other options and the formats are help topics.
    for (topic, says) in [
        ("call", "--answers"),
        ("sign-in", "--client-id"),
        ("models", "--model-url"),
        ("answers", "accept:"),
        ("exit-codes", "interrupted"),
    ] {
        let output = askback(&["help", topic]);
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(help.contains(says), "{topic}: {help}");
    }
    assert_eq!(askback(&["help", "nothing"]).status.code(), Some(2));
    for command in commands.into_iter().chain(["serve travel"]) {
        let mut args: Vec<_> = command.split(' ').collect();
        args.push("--help");
        assert_eq!(askback(&args).status.code(), Some(0));
    }
}

#[cfg(unix)]
#[test]
fn a_server_is_named_by_a_word() {
    use std::os::unix::fs::PermissionsExt;

    use crate::run::{ASKBACK, Run};

    let check = |words: &[&str], exit: i32, says: &str| {
        let run = Run::new(
            &format!("named-{}", words.join("-").replace('/', "")),
            words,
        );
        let script = format!("#!/bin/sh\nexec {ASKBACK} serve travel\n");
        let program = run.scratch.file("agency", &script);
        let python = format!("import os\nos.execv('{ASKBACK}', ['askback', 'serve', 'travel'])\n");
        run.scratch.file("agency.py", &python);
        let entry = format!(
            r#"{{"mcpServers": {{"zoo": {{"command": "{ASKBACK}", "args": ["serve", "travel"]}}}}}}"#
        );
        run.scratch.file("servers.json", &entry);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&program, executable).expect("it is ours");
        let ran = run.run().expect(exit);
        match exit {
            0 => ran.prints(says),
            _ => ran.says(says),
        };
    };
    check(&["list", "./agency", "tools"], 0, "book_holiday");
    check(&["list", "./agency.py"], 0, "book_holiday");
    check(
        &["list", "zoo", "--config", "servers.json"],
        0,
        "book_holiday",
    );
    check(&["list", "--timeout", "20s", "./agency"], 0, "book_holiday");
    check(&["list", "--all", "./agency"], 0, "Travel agency");
    check(&["doctor", "./agency"], 0, "protocol");
    check(
        &["get", "./agency", "travel://destinations"],
        0,
        "Barcelona",
    );
    // The server was asked for its tools.
    check(&["call", "./agency", "book"], 2, "there is no tool `book`");
    // Another user may own the folder, so a bare word never starts a program in it.
    check(&["list", "agency"], 2, "write ./agency");
}
