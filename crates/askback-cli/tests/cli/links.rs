//! Links, timeouts and Ctrl-C, with a small server in a shell script.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
};

use crate::{
    full::{ASKBACK, CTRL_C, CTRL_D, ENTER, Terminal},
    scratch::Scratch,
};

/// A server of 2025-11-25 whose tool `link` asks to open `$URL`, and whose tool `hang` writes to
/// stderr and never answers.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        answer "$id" '{"tools":[{"name":"link","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"hang"'*)
        echo hanging >&2 ;;
    *'"method":"tools/call"'*)
        call=$id
        printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"url","message":"Sign in.","elicitationId":"one","url":"%s"}}\n' "$URL" ;;
    *'"action"'*)
        action=$(printf '%s' "$line" | sed 's/.*"action":"\([a-z]*\)".*/\1/')
        answer "$call" '{"content":[{"type":"text","text":"told: '"$action"'"}]}' ;;
    esac
done
"#;

/// The command with that server, and a browser that logs its arguments.
fn askback(scratch: &Scratch, words: &[&str], url: &str) -> Command {
    let server = scratch.file("server.sh", SERVER);
    let browser = scratch.file(
        "browser",
        &format!(
            "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >> {}.log\n",
            scratch.path("browser").display()
        ),
    );
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
    command
        .args(words)
        .args([
            "--protocol",
            "2025-11-25",
            "--name",
            "agency",
            "--",
            "sh",
            &server,
        ])
        .env("NO_COLOR", "1")
        .env("BROWSER", browser)
        .env("URL", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts a conversation with these lines.
fn talk(scratch: &Scratch, lines: &str, url: &str) -> Child {
    let mut child = askback(scratch, &["open"], url)
        .spawn()
        .expect("the command was built");
    let mut stdin = child.stdin.take().expect("it was asked for");
    stdin
        .write_all(lines.as_bytes())
        .expect("it reads its input");
    child
}

/// The output of a conversation, and what it showed on stderr.
fn end(child: Child) -> (String, String) {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (text(output.stdout), text(output.stderr))
}

// Shows EL-06, EL-39.
#[test]
fn a_link_is_opened_after_a_yes_as_one_argument() {
    let scratch = Scratch::new("link-yes");
    let log = scratch.path("browser.log");
    // The browser runs in the background. Reading from a pipe waits for it.
    scratch.pipe("browser.log");
    let url = "https://example.com/a?b=$(touch%20x)&c=`d`|e;f";
    let child = talk(&scratch, "/call link\nyes\n", url);
    let opened = fs::read_to_string(log).expect("the browser writes");
    assert_eq!(opened, format!("1\n{url}\n"));
    let (stdout, stderr) = end(child);
    assert_eq!(stdout, "told: accept\n");
    let shown = format!("Address | {url}");
    for line in ["Site    | example.com", &shown, "Opened in your browser."] {
        assert!(stderr.contains(&format!("\n{line}\n")), "{stderr}");
    }
}

// Shows EL-06, EL-37.
#[test]
fn a_link_is_not_opened_without_a_yes() {
    for (name, lines, told) in [
        ("link-no", "/call link\nno\nnot today\n", "decline"),
        ("link-cancel", "/call link\n/cancel\n", "cancel"),
        ("link-end", "/call link\n", "cancel"),
    ] {
        let scratch = Scratch::new(name);
        let (stdout, stderr) = end(talk(&scratch, lines, "https://example.com/"));
        assert_eq!(stdout, format!("told: {told}\n"));
        assert!(!stderr.contains("Opened"), "{stderr}");
    }
}

#[test]
fn a_link_to_this_machine_is_explained_to_a_user_connected_by_ssh() {
    #[track_caller]
    fn check(connection: &str, says: &str) {
        for is_plain in [true, false] {
            let scratch = Scratch::new(&format!("link-ssh-{}-{is_plain}", connection.len()));
            let server = scratch.file("server.sh", SERVER);
            let connection = format!("SSH_CONNECTION={connection}");
            let mut words = vec![&*connection, ASKBACK, "open", "--protocol", "2025-11-25"];
            words.extend(is_plain.then_some("--plain"));
            words.extend(["--name", "agency", "--", "sh", &server]);
            let url = ("URL", "http://127.0.0.1:9/a");
            let mut terminal = Terminal::run("env", &words, 120, &[url]);
            terminal
                .until("agency> ")
                .press("/call link")
                .press(ENTER)
                .until(says);
            if is_plain {
                terminal.until_asked();
            }
            terminal.press(CTRL_C).until("told: cancel").press(CTRL_D);
            assert_eq!(terminal.exit(), Some(0));
        }
    }
    check("", "The page is on this machine.");
    check(
        "192.0.2.1 50000 192.0.2.2 22",
        "The page is on this machine, which you reached by SSH: a browser on yours looks for it there.",
    );
}

#[test]
fn a_link_of_a_call_that_is_made_again_is_asked_again() {
    let scratch = Scratch::new("link-again");
    let lines = "/call link\nyes\n/again\nno\nnot again\n";
    let (stdout, stderr) = end(talk(&scratch, lines, "https://example.com/"));
    assert!(
        stdout.starts_with("told: accept\ntold: decline\n"),
        "{stdout}"
    );
    for (line, times) in [("Site    | example.com", 2), ("Opened in your browser.", 1)] {
        assert_eq!(stderr.matches(line).count(), times, "{stderr}");
    }
}

// Shows EL-36.
#[test]
fn nobody_looks_behind_a_link_before_a_yes() {
    let scratch = Scratch::new("link-unseen");
    let site = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    site.set_nonblocking(true).expect("it is a socket");
    let url = format!("http://{}/secret", site.local_addr().expect("it is bound"));
    let (stdout, stderr) = end(talk(&scratch, "/call link\nno\n\n", &url));
    assert_eq!(stdout, "told: decline\n");
    assert!(stderr.contains(&url), "{stderr}");
    // The command has exited, so a connection of it would be waiting here.
    let visit = site.accept().map(|(_, visitor)| visitor);
    assert!(visit.is_err(), "{visit:?}");
}

// Shows EL-35.
#[test]
fn a_link_that_misleads_is_never_asked() {
    let scratch = Scratch::new("link-refused");
    let url = "https://good.com@evil.com/";
    let (stdout, stderr) = end(talk(&scratch, "/call link\n", url));
    assert_eq!(stdout, "told: decline\n");
    assert!(stderr.contains("× it names a user"), "{stderr}");
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let scratch = Scratch::new("timeout");
    let run = askback(&scratch, &["call", "hang", "--timeout", "1"], "").output();
    let output = run.expect("the command was built");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(
        stderr.contains("askback: the server did not answer within 1 s"),
        "{stderr}"
    );
}

#[test]
fn ctrl_c_stops_a_call() {
    let scratch = Scratch::new("interrupt");
    let mut child = askback(&scratch, &["call", "hang"], "")
        .spawn()
        .expect("the command was built");
    let stderr = child.stderr.take().expect("it was asked for");
    let mut lines = BufReader::new(stderr).lines();
    let hanging = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("hanging")));
    assert!(hanging.is_some(), "the server never got the call");
    interrupt(&child);
    assert_eq!(
        child.wait().ok().and_then(|status| status.code()),
        Some(130)
    );
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
}
