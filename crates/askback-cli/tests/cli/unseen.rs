//! A secret that is typed in line mode: the terminal does not echo it, and echoes again afterwards.

use std::fs;

use pty_process::blocking::Command;

use crate::{
    full::{ASKBACK, CTRL_C, CTRL_D, ENTER, Terminal},
    scratch::Scratch,
};

const CTRL_Z: &str = "\x1a";

/// A server of 2025-11-25 whose tool `login` asks for a password and an age. The word `end` in the pipe `go` makes it
/// kill the program that started it; `withdraw` makes it withdraw its question and answer the call.
const SERVER: &str = r#"
cd "$(dirname "$0")"
(
    read -r word < go
    case $word in
    end) kill -TERM $PPID ;;
    withdraw)
        printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}\n'
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"never mind"}]}}\n' "$(cat call)" ;;
    esac
) &
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"login","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"method":"tools/call"'*)
        call=$id
        printf '%s' "$id" > call
        printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"Sign in.","requestedSchema":{"type":"object","properties":{"password":{"type":"string","title":"Password","minLength":6},"age":{"type":"integer","title":"Age"}}}}}\n' ;;
    *'"action"'*)
        case $line in
        *'"password":"hunter2"'*) text='it is right' ;;
        *) text='it is wrong' ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$call" "$text" ;;
    esac
done
"#;

/// The command in a shell script.
const RUN: &str = "\"$PROGRAM\" open --plain --protocol 2025-11-25 --name zoo -- sh \"$SERVER\"";

/// The end of the script, which prints whether the terminal echoes.
const ECHO: &str = "stty -a | grep -o -- '-\\?echo\\b'";

/// A terminal that shows the password question. After the command exits, a shell prints whether the terminal echoes.
fn asked(scratch: &Scratch) -> Terminal {
    asked_in(
        scratch,
        &format!("trap : INT; {RUN}; echo ended with $?; {ECHO}"),
    )
}

/// Like [`asked`], with another script that runs the command.
fn asked_in(scratch: &Scratch, script: &str) -> Terminal {
    let server = scratch.file("server.sh", SERVER);
    scratch.pipe("go");
    let command = Command::new("sh")
        .args(["-c", script])
        .env("PROGRAM", ASKBACK)
        .env("SERVER", server)
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command, 80);
    terminal
        .until("zoo> ")
        .press("/call login")
        .press(ENTER)
        .until("yes lets you fill it in anyway")
        .until_asked()
        .press("yes")
        .press(ENTER)
        .until("not shown as you type")
        .until_asked();
    terminal
}

#[test]
fn a_secret_is_not_shown_as_it_is_typed_in_lines() {
    let scratch = Scratch::new("unseen");
    let mut terminal = asked(&scratch);
    terminal.press("hunter").press(ENTER);
    // Values that are not secret are echoed. The review shows one character for each character of the secret.
    terminal
        .until("| Age")
        .until_asked()
        .press("36")
        .press(ENTER);
    terminal.until("| Password: ••••••\n").until("| Age: 36");
    terminal.until_asked().press("1").press(ENTER);
    terminal.until("now | ••••••\n").until_asked();
    terminal.press("hunter2").press(ENTER);
    terminal.until("| Password: •••••••\n").until_asked();
    terminal.press(ENTER).until("| it is right");
    assert!(!terminal.wrote("hunter"));
    assert!(terminal.wrote("36"));
    terminal
        .until_wanted("zoo>")
        .press(CTRL_D)
        .until("ended with 0");
    terminal.until("\necho");
}

#[test]
fn the_terminal_shows_what_is_typed_again_however_it_ends() {
    let scratch = Scratch::new("unseen-cancelled");
    let mut terminal = asked(&scratch);
    terminal.press("hun").press(CTRL_C).until("it is wrong");
    terminal.until_wanted("zoo>").press("/help");
    terminal.until("zoo> /help").press(ENTER);
    terminal
        .until("leave, like Ctrl-D")
        .until_wanted("zoo>")
        .press(CTRL_D);
    terminal.until("ended with 0").until("\necho");
    assert!(!terminal.wrote("hun"));

    // A partly typed secret does not reach the shell.
    let scratch = Scratch::new("unseen-killed");
    let script = format!("{RUN}; echo ended with $?; {ECHO}; read -r rest; echo \"read: $rest.\"");
    let mut terminal = asked_in(&scratch, &script);
    // When the program replies to the line, the terminal already has the text typed after it.
    terminal.press("h\rhun").until("needs 5 more");
    fs::write(scratch.path("go"), "end\n").expect("it is ours");
    terminal.until("ended with 143").until("\necho");
    terminal.press("on").press(ENTER).until("read: on.");
}

#[test]
fn a_secret_is_not_shown_whose_question_goes_away() {
    let scratch = Scratch::new("unseen-withdrawn");
    let mut terminal = asked(&scratch);
    terminal.press("hun");
    fs::write(scratch.path("go"), "withdraw\n").expect("it is ours");
    terminal.until("withdrew its question").press("ter2");
    terminal.until_wanted("zoo>").press("/help");
    terminal.until("zoo> /help");
    assert!(!terminal.wrote("ter2"));
}

#[test]
fn the_terminal_shows_what_is_typed_while_the_program_is_stopped() {
    let scratch = Scratch::new("unseen-stopped");
    let script = format!("set -m; {RUN}; {ECHO}; read -r _; fg; {ECHO}");
    let mut terminal = asked_in(&scratch, &script);
    terminal.press("hun").press(CTRL_Z).until("> echo");
    terminal.press("visible").until("visible").press(ENTER);
    // The command asks again, without echo.
    terminal.until("SERVER}").until_asked();
    terminal.press("hunter2").press(ENTER);
    terminal.until("| Age");
    assert!(!terminal.wrote("hun"));
    terminal
        .until_asked()
        .press(CTRL_C)
        .until_wanted("zoo>")
        .press(CTRL_D);
    terminal.until("zoo> \necho");
}
