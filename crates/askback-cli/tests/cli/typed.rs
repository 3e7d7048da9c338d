//! Keys pressed at a bad moment: Ctrl-C during a call, and a yes before there is a question.

use std::fs;

use crate::{
    full::{CTRL_C, CTRL_D, ENTER, ESC, Terminal},
    scratch::Scratch,
};

/// Ctrl-U, which clears the line.
const CLEAR: &str = "\x15";

/// A server of 2025-11-25. Its tool `hang` writes to stderr and never answers. Its tool `link` writes to stderr, waits
/// for the pipe `go`, and asks to open a link. Its tool `nag` asks to open a link, four times in all.
const SERVER: &str = r#"
cd "$(dirname "$0")"
times=1
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        answer "$id" '{"tools":[{"name":"link","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"nag","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"hang"'*)
        echo hanging >&2 ;;
    *'"name":"nag"'* | *'"id":"nag'*)
        [ "$times" -le 4 ] || continue
        printf '{"jsonrpc":"2.0","id":"nag%s","method":"elicitation/create","params":{"mode":"url","message":"Sign in %s.","elicitationId":"one","url":"https://example.com/"}}\n' "$times" "$times"
        times=$((times + 1)) ;;
    *'"method":"tools/call"'*)
        call=$id
        echo waiting >&2
        read -r _ < go
        printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"url","message":"Sign in.","elicitationId":"one","url":"https://example.com/"}}\n' ;;
    *'"action"'*)
        action=$(printf '%s' "$line" | sed 's/.*"action":"\([a-z]*\)".*/\1/')
        answer "$call" '{"content":[{"type":"text","text":"told: '"$action"'"}]}' ;;
    *'"notifications/cancelled"'*)
        echo cancelled >> cancelled ;;
    esac
done
"#;

/// A conversation with that server in a terminal.
struct Talk {
    is_plain: bool,
    terminal: Terminal,
    scratch: Scratch,
}

impl Talk {
    /// Begins in line mode, or on the full screen.
    fn begin(name: &str, is_plain: bool) -> Self {
        let scratch = Scratch::new(&format!("typed-{name}-{is_plain}"));
        let server = scratch.file("server.sh", SERVER);
        scratch.pipe("go");
        let browser = scratch.file("browser", "#!/bin/sh\necho opened > \"$0.log\"\n");
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&browser, runs).expect("it is ours");
        let mut words = vec!["open", "--protocol", "2025-11-25", "--name", "zoo"];
        words.extend(is_plain.then_some("--plain"));
        words.extend(["--", "sh", &server]);
        let mut terminal = Terminal::open_with(&words, 80, &[("BROWSER", &browser)]);
        terminal.until("zoo> ");
        Self {
            is_plain,
            terminal,
            scratch,
        }
    }

    /// Calls a tool, and waits until the server sends this text.
    fn call(&mut self, tool: &str, says: &str) -> &mut Terminal {
        self.terminal.press(&format!("/call {tool}")).press(ENTER);
        self.terminal.until(says)
    }

    fn ask(&mut self) -> &mut Terminal {
        fs::write(self.scratch.path("go"), "\n").expect("it is ours");
        self.terminal.until("| https://example.com/");
        match self.is_plain {
            true => self.terminal.until_asked(),
            false => &mut self.terminal,
        }
    }

    /// Exits, and returns whether a link was opened.
    fn end(mut self) -> bool {
        if !self.is_plain {
            // Text typed before the question may still be in the line.
            self.terminal.press(CLEAR);
        }
        self.terminal.press(CTRL_D);
        assert_eq!(self.terminal.exit(), Some(0));
        self.scratch.path("browser.log").exists()
    }
}

/// Opens a conversation with this script on the full screen.
fn open(server: &str) -> Terminal {
    let words = [
        "open",
        "--protocol",
        "2025-11-25",
        "--name",
        "zoo",
        "--",
        "sh",
        server,
    ];
    Terminal::open(&words, 80)
}

// Shows CA-18.
#[test]
fn ctrl_c_cancels_a_question_and_stops_a_call_and_the_conversation_goes_on() {
    for is_plain in [true, false] {
        let mut talk = Talk::begin("ctrl-c", is_plain);
        talk.call("hang", "| hanging")
            .press(CTRL_C)
            .until("× cancelled: the server was told to stop")
            .until("zoo> ");
        talk.call("link", "| waiting");
        talk.ask().press(CTRL_C).until("| told: cancel");
        // The server reads in order, so it has received the first call, too.
        assert!(talk.scratch.path("cancelled").exists());
        assert!(!talk.end(), "a link was opened");
    }
}

#[test]
fn ctrl_c_at_the_next_question_stops_the_call() {
    for is_plain in [true, false] {
        let mut talk = Talk::begin("nag", is_plain);
        let asked = |terminal: &mut Terminal, times: usize| {
            terminal.until(&format!("| Sign in {times}."));
            if is_plain {
                terminal.until_asked();
            }
        };
        asked(talk.call("nag", "nag"), 1);
        // A confirmation typed in between is not for the call.
        talk.terminal.press(CTRL_C);
        asked(&mut talk.terminal, 2);
        match is_plain {
            true => talk.terminal.press("/decline bye").press(ENTER),
            false => talk.terminal.press(CTRL_D).until("Why not?").press(ENTER),
        };
        asked(&mut talk.terminal, 3);
        talk.terminal.press(CTRL_C);
        asked(&mut talk.terminal, 4);
        talk.terminal
            .press(CTRL_C)
            .until("× cancelled: the server was told to stop")
            .until("zoo> ");
        assert!(!talk.end(), "a link was opened");
    }
}

#[test]
fn ctrl_c_at_a_question_does_not_count_towards_leaving() {
    let asks = r#"( read -r _ < go; printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"url","message":"Now.","elicitationId":"one","url":"https://example.com/"}}\n' ) &
times=1"#;
    let scratch = Scratch::new("typed-leaving");
    let server = scratch.file("server.sh", &SERVER.replace("times=1", asks));
    scratch.pipe("go");
    let mut terminal = open(&server);
    terminal.until("Type to filter").press(CTRL_C);
    terminal.until("Ctrl-C again leaves");
    fs::write(scratch.path("go"), "\n").expect("it is ours");
    terminal.until("| Now.").until("[o] Open").press(CTRL_C);
    terminal
        .until("you cancelled the link")
        .until("Type to filter");
    terminal
        .press("x")
        .until("> x")
        .press(CTRL_C)
        .until_not("> x");
    terminal.press(CTRL_C);
    // The message is printed again.
    terminal
        .press("y")
        .until("> y")
        .press(CTRL_C)
        .until_not("> y");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn an_enter_that_bounces_sends_no_form() {
    let server = SERVER.replace(r#""mode":"url","#, "").replace(
        r#""url":"https://example.com/""#,
        r#""requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}"#,
    );
    let scratch = Scratch::new("typed-bounce");
    let server = scratch.file("server.sh", &server);
    let mut terminal = open(&server);
    terminal.until("zoo> ").press("/call nag").press(ENTER);
    terminal
        .until("| Sign in 1.")
        .press("x\r\r")
        .until("[Enter] Send");
    assert!(!terminal.shows("Sign in 2."), "it was sent");
    terminal.press(ENTER).until("| Sign in 2.").press(ESC);
    terminal.until("| Sign in 3.").press(CTRL_C);
    terminal.until("| Sign in 4.").press(CTRL_C).until("zoo> ");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn an_agreement_that_was_typed_before_the_question_does_not_count() {
    for is_plain in [true, false] {
        // A complete line, and an incomplete one.
        for typed in ["yes\r", "y"] {
            let mut talk = Talk::begin(&format!("ahead-{}", typed.len()), is_plain);
            talk.call("link", "| waiting").press(typed);
            if is_plain {
                // The terminal echoes a line when the line arrives.
                talk.terminal.until(&format!("\n{}", typed.trim_end()));
            }
            let terminal = talk.ask();
            // One space, though some terminals draw the character before it two columns wide.
            assert!(
                is_plain || terminal.shows(" · call | link"),
                "{:?}",
                terminal.rows()
            );
            match is_plain {
                true => terminal
                    .press("\r")
                    .until("type yes, /decline or /cancel")
                    .press("/cancel\r"),
                false => terminal.press(ESC),
            };
            terminal.until("| told: cancel");
            assert!(!talk.end(), "a link was opened");
        }
    }
}
