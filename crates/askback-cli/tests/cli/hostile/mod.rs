//! A hostile server and the real program, on a terminal of any size: no control character of the server reaches the
//! terminal, and every row with the server's text has the gutter.

mod server;
mod site;
mod strings;

use std::{
    io::Write,
    num::NonZero,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use askback::Revision;
use askback_host::text;
use pty_process::{Size, blocking::Pty};
use rustix::termios::{self, LocalModes, OptionalActions};

use self::{
    server::{FLOOD, Server, Way},
    site::Site,
    strings::is_marked,
};
use crate::{pty, scratch::Scratch};

const ASKBACK: &str = env!("CARGO_BIN_EXE_askback");

/// The style codes of the program. It uses no others.
const CODES: [&str; 12] = [
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[35m",
    "\x1b[36m",
    "\x1b[1;7m",
    "\x1b[1;32m",
    "\x1b[1;35m",
    "\x1b[1;36m",
];

/// The user's answers to any question.
const ANSWERS: [&str; 12] = [
    "/more",
    "/link",
    "",
    "yes",
    "1",
    "?",
    "yes",
    "ada@example.com",
    "2026-06-15",
    LINES,
    "/decline",
    "no",
];

/// The answer that begins a text of several lines.
const LINES: &str = "/lines";

/// The timeout of each wait in a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A user with the program in a terminal.
pub(crate) struct Seat {
    child: Child,
    pty: Pty,
    output: Receiver<Vec<u8>>,
    /// The output since the last look.
    fresh: Vec<u8>,
    /// The incomplete last row at that time.
    begun: Vec<u8>,
    width: u16,
    /// The command prompt where the user entered a line, until the program has read the line.
    at: Option<String>,
    /// All rows so far.
    pub(crate) rows: Vec<String>,
}

impl Seat {
    pub(crate) fn take(
        scratch: &Scratch,
        words: &[&str],
        server: &[String],
        width: u16,
        styled: bool,
    ) -> Self {
        let command = pty_process::blocking::Command::new(ASKBACK)
            .args(words)
            .args(["--plain", "--name", "bank", "--timeout", "30", "--"])
            .args(server)
            .env("XDG_STATE_HOME", scratch.path("state"));
        Self::run(command, width, styled)
    }

    /// Like [`take`](Self::take), with a server at any address.
    fn at(scratch: &Scratch, words: &[&str], width: u16, styled: bool) -> Self {
        let command = pty_process::blocking::Command::new(ASKBACK)
            .args(words)
            .args(["--plain", "--name", "bank", "--timeout", "5"])
            .env("XDG_STATE_HOME", scratch.path("state"));
        Self::run(command, width, styled)
    }

    /// Runs a command that reports on a server.
    fn report(scratch: &Scratch, words: &[&str], server: &[String], width: u16) -> Vec<String> {
        let command = pty_process::blocking::Command::new(ASKBACK)
            .args(words)
            .args(["--credentials", "nowhere", "--timeout", "10"])
            .args(server)
            .env("XDG_STATE_HOME", scratch.path("state"));
        Self::run(command, width, true).talk(&[], &[])
    }

    fn run(command: pty_process::blocking::Command, width: u16, styled: bool) -> Self {
        let command = command
            .env("TERM", "xterm")
            .env("NO_COLOR", if styled { "" } else { "1" })
            .env("BROWSER", "true");
        let (child, pty, output) = pty::start(command, 100, width);
        Self {
            child,
            pty,
            output,
            fresh: Vec::new(),
            begun: Vec::new(),
            width,
            at: None,
            rows: Vec::new(),
        }
    }

    /// Reads until the program asks for a line, or ends. Returns the text before the `>` of the prompt.
    ///
    /// When a server sends a message, the program prints the command prompt again. That is not the next prompt: before
    /// the next prompt, the program reads the line and returns to the left edge.
    pub(crate) fn prompt(&mut self) -> Option<String> {
        loop {
            let shown = plain(&String::from_utf8_lossy(&self.fresh));
            let last = shown.rsplit('\n').next().unwrap_or_default();
            if let Some(to) = last.strip_suffix("> ") {
                let to = to.rsplit('\r').next().unwrap_or_default().to_owned();
                let is_taken = || shown.replace("\r\n", "\n").contains('\r');
                let is_again = self.at.as_ref() == Some(&to) && !is_taken();
                // A server's row is not a prompt, even if its text was read up to a `> `.
                if !to.trim_start().starts_with('|') && !is_again {
                    self.look();
                    self.at = (!to.is_empty()).then(|| to.clone());
                    return Some(to);
                }
            }
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.fresh.extend(bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    self.look();
                    return None;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let rows = self.rows.join("\n");
                    panic!("nothing happens any more after\n{rows}\n{shown}")
                }
            }
        }
    }

    /// Adds the new output to the rows, as the terminal shows them.
    fn look(&mut self) {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.append(&mut self.fresh);
        self.rows.extend(looked(&bytes, self.width));
        let begun = bytes.rsplit(|byte| *byte == b'\n').next();
        self.begun = begun.unwrap_or_default().to_vec();
    }

    pub(crate) fn write(&mut self, line: &str) {
        // The program may have exited.
        let _ = self.pty.write_all(format!("{line}\n").as_bytes());
    }

    /// The exit code of the program. Waits until it exits.
    pub(crate) fn exit(&mut self) -> Option<i32> {
        let status = self.child.wait().expect("it is a child of this process");
        status.code()
    }

    fn resize(&mut self, width: u16) {
        self.width = width;
        let resized = self.pty.resize(Size::new(100, width));
        resized.expect("it has a size");
    }

    /// The text before the `>` of an answer's prompt, without spaces.
    fn hint(&self) -> String {
        let last = self.rows[self.rows.len().saturating_sub(20)..].concat();
        let last = last.replace([' ', '\u{a0}'], "");
        let hint = last.trim_end_matches('>').rsplit('>').next();
        hint.unwrap_or_default().to_owned()
    }

    /// Enters these commands, and the same answers to all questions. Before each line, the terminal changes to the next
    /// width of `widths`.
    fn talk(mut self, commands: &[String], widths: &[u16]) -> Vec<String> {
        // Without echo, the cursor stays after the prompt, as with lines that were typed ahead.
        let mut modes = termios::tcgetattr(&self.pty).expect("it has modes");
        modes.local_modes.remove(LocalModes::ECHO);
        termios::tcsetattr(&self.pty, OptionalActions::Now, &modes).expect("it takes modes");
        let mut commands = commands.iter();
        let mut answered = 0;
        let mut lines = 0;
        while let Some(to) = self.prompt() {
            if let Some(&width) = widths.get(lines % widths.len().max(1)) {
                self.resize(width);
            }
            lines += 1;
            if !to.is_empty() {
                answered = 0;
                let command = commands.next();
                self.write(command.map_or("/quit", String::as_str));
                continue;
            }
            let answer = ANSWERS.get(answered).copied().unwrap_or("/cancel");
            answered += 1;
            let hint = self.hint();
            // Lines are only sent ahead if all of them belong to the same text.
            match answer {
                "/cancel" => self.write(answer),
                _ if hint.ends_with("onlyadotendsit·/decline·/cancel") => {
                    self.write("Take the 08:10.\n.");
                }
                LINES if !hint.contains("changesthatfield") => self.write("/lines\nsome text\n."),
                _ => self.write(answer),
            }
        }
        assert_eq!(commands.next(), None, "{}", self.rows.join("\n"));
        let _ = self.child.wait();
        self.rows
    }
}

fn plain(text: &str) -> String {
    CODES
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(code, ""))
}

/// The rows that a terminal of this width shows for this output.
#[track_caller]
fn looked(bytes: &[u8], width: u16) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("it writes text");
    for c in plain(&text).chars() {
        let is_fine = matches!(c, '\n' | '\r' | '\u{200d}' | '\u{fe0f}') || !text::acts_or_hides(c);
        assert!(is_fine, "{c:?} reached the terminal in\n{text:?}");
    }
    let many = text.chars().count() / usize::from(width) + text.lines().count() * 2 + 2;
    let many = u16::try_from(many).ok().and_then(NonZero::new);
    let (many, columns) = many
        .zip(NonZero::new(width))
        .expect("the terminal has a size");
    let mut parser = vt100::Parser::new(many, columns, 0);
    parser.process(text.as_bytes());
    let screen = parser.screen();
    let rows = screen.rows(0, width).map(|row| row.trim_end().to_owned());
    let rows: Vec<_> = rows.collect();
    let end = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
    // A link that the user copies is printed without a gutter, up to the next empty line.
    let mut is_link = false;
    for (index, row) in rows[..=end].iter().enumerate() {
        is_link = match is_link {
            true => !row.is_empty(),
            false => row.ends_with("line:") && !row.contains('|'),
        };
        let is_plain = is_link && row.chars().all(|c| c.is_ascii_graphic());
        assert!(
            !is_marked(row) || has_gutter(row) || is_plain,
            "{width} columns: row {index}, {row:?}, shows the server's words without the gutter in\n{}",
            rows[..=end].join("\n")
        );
    }
    rows[..=end].to_vec()
}

/// Whether a row has a gutter, after at most one mark of the program.
fn has_gutter(row: &str) -> bool {
    row.split_once('|').is_some_and(|(mark, rest)| {
        mark.chars()
            .all(|c| c.is_ascii_alphanumeric() || " .-+".contains(c))
            && !is_marked(mark)
            && (rest.is_empty() || rest.starts_with(' '))
    })
}

const WIDTHS: [u16; 7] = [80, 10, 24, 200, 40, 5, 120];

fn commands() -> Vec<String> {
    // The first command shows messages that arrive during it; later commands omit many of them.
    let mut commands: Vec<String> = [
        "/call v0",
        "/help",
        "/tools",
        "/prompts",
        "/resources",
        "/roots",
        "/call u0",
        "/call u0 a=1",
        "/call nobody",
        "/nobody",
        "/w0 a b",
        "/w0 a b c",
        "/w0",
        "/read travel://a",
        "/read b",
        "/read c",
        "what",
    ]
    .map(str::to_owned)
    .into();
    for number in 0..4 {
        commands.push(format!("/call t{number}"));
        commands.push(format!("/call t{number} a=1 b:=2"));
        commands.push(format!("/p{number}"));
        commands.push(format!("/p{number} x y"));
    }
    // Each call asks one question.
    commands.extend((0..12).map(|_| "/call v0".to_owned()));
    commands
}

/// Checks that hostile text was visible at all.
#[track_caller]
fn check_shown(rows: &[String]) {
    let shown = rows.iter().filter(|row| is_marked(row)).count();
    assert!(shown > 2, "{}", rows.join("\n"));
}

/// Lines that the program itself prints in every conversation.
const OURS: [&str; 9] = [
    "bank",
    "Tools",
    "Prompts",
    "Resources",
    "bank asks",
    "Sent to bank.",
    "The arguments of the call",
    "× there is no tool `nobody`",
    "  The server has these.",
];

#[track_caller]
fn converse(name: &str, revision: Revision, way: Way, width: u16, widths: &[u16]) {
    let scratch = Scratch::new(&format!("hostile-{name}"));
    let server = Server::start(&scratch, revision, way);
    let words = ["open", "--protocol", revision.as_str()];
    let seat = Seat::take(&scratch, &words, &server.command, width, width > 40);
    let rows = seat.talk(&commands(), widths);
    check_shown(&rows);
    if way == Way::Readable && width >= 80 && widths.is_empty() {
        let is_progress = |row: &String| {
            let far = row
                .split_once(" | ")
                .and_then(|(far, _)| far.split_once(" of "));
            far.is_some_and(|(far, of)| far.parse::<f64>().is_ok() && of.parse::<f64>().is_ok())
        };
        assert!(rows.iter().any(is_progress), "{}", rows.join("\n"));
        // The program's own lines are unchanged.
        for ours in OURS {
            assert!(
                rows.iter().any(|row| row == ours),
                "{ours:?} is not in\n{}",
                rows.join("\n")
            );
        }
        // Every line was read at the prompt for which it was written.
        let mut written = commands();
        written.push("/quit".to_owned());
        // Possible secrets are not stored: arguments without a name, resources, and lines that are not commands.
        written.retain(|line| {
            let has_bare = ["/w0 a", "/read "].iter().any(|it| line.starts_with(it));
            line != "what" && !has_bare && !line.ends_with(" x y")
        });
        written.dedup();
        let typed = std::fs::read_to_string(scratch.path("state/askback/history"));
        let typed = typed.expect("the program keeps the lines");
        assert_eq!(typed.lines().collect::<Vec<_>>(), written);
    }
    server.end();
}

#[test]
fn no_server_speaks_outside_its_gutter_in_a_conversation() {
    for (index, width) in WIDTHS.into_iter().enumerate() {
        let revision = [Revision::V2025_11_25, Revision::V2026_07_28][index % 2];
        let name = format!("open-{width}");
        converse(&name, revision, Way::Readable, width, &[]);
    }
}

#[test]
fn no_server_speaks_outside_its_gutter_on_a_terminal_that_changes_its_size() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let name = format!("resized-{}", revision.as_str());
        // Output that is written while the size changes is checked at the next size.
        converse(&name, revision, Way::InTime, 80, &WIDTHS);
    }
}

#[test]
fn no_error_speaks_outside_its_gutter_in_a_conversation() {
    for (width, revision) in [(80, Revision::V2025_06_18), (24, Revision::V2026_07_28)] {
        let name = format!("errors-{width}");
        converse(&name, revision, Way::Unreadable, width, &[]);
    }
}

/// Commands without a conversation.
const SINGLE: [&[&str]; 13] = [
    &["call", "v0"],
    &["call", "v0", "--json"],
    &["call", "u0"],
    &["call", "nobody"],
    &["get", "p0"],
    &["get", "w0"],
    &["list", "--all"],
    &["list", "--all", "--json"],
    &["get", "travel://a"],
    &["list"],
    &["list", "tools", "templates", "--json"],
    &["watch", "travel://a", "--lists", "--count", "4"],
    &["watch", "travel://a", "--count", "1", "--json"],
];

#[test]
fn no_server_speaks_outside_its_gutter_in_a_single_command() {
    for (index, words) in SINGLE.into_iter().enumerate() {
        for way in [Way::Readable, Way::Unreadable] {
            let width = WIDTHS[index % WIDTHS.len()];
            let scratch = Scratch::new(&format!("hostile-single-{index}-{way:?}"));
            let server = Server::start(&scratch, Revision::V2025_11_25, way);
            let seat = Seat::take(&scratch, words, &server.command, width, true);
            check_shown(&seat.talk(&[], &[]));
            server.end();
        }
    }
}

/// Commands that report on a server.
const REPORTS: [&[&str]; 4] = [
    &["doctor"],
    &["doctor", "--json"],
    &["check", "--all"],
    &["check", "--json"],
];

#[test]
fn no_server_speaks_outside_its_gutter_in_a_report() {
    let mut shown = false;
    let ways = [Way::Readable, Way::Unreadable, Way::Readable];
    for (index, (words, way)) in REPORTS.into_iter().zip(ways).enumerate() {
        let scratch = Scratch::new(&format!("hostile-report-{index}"));
        let server = Server::start(&scratch, Revision::V2025_11_25, way);
        let command = [&["--".to_owned()], &*server.command].concat();
        let width = WIDTHS[index % WIDTHS.len()];
        let rows = Seat::report(&scratch, words, &command, width);
        shown |= rows.iter().any(|row| is_marked(row));
        server.end();
    }
    assert!(shown, "nothing was shown");
}

#[test]
fn no_site_speaks_outside_its_gutter_in_a_report() {
    let mut shown = false;
    for (index, response) in site::responses().into_iter().enumerate() {
        let scratch = Scratch::new(&format!("hostile-report-site-{index}"));
        let site = Site::open(response);
        let url = ["--url".to_owned(), site.url];
        let width = WIDTHS[index % WIDTHS.len()];
        let words = REPORTS[index % REPORTS.len()];
        let rows = Seat::report(&scratch, words, &url, width);
        shown |= rows.iter().any(|row| is_marked(row));
    }
    assert!(shown, "nothing was shown");
}

#[test]
fn no_server_speaks_outside_its_gutter_where_nobody_is_asked() {
    let rules = "answers:\n  - when: {mode: url, host: example.com}\n    accept: true\n  - accept: {}\nsampling:\n  - reply: x\n";
    for (index, words) in SINGLE.into_iter().enumerate() {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let is_json = words.contains(&"--json");
            let scratch = Scratch::new(&format!("hostile-piped-{index}-{}", revision.as_str()));
            let server = Server::start(&scratch, revision, Way::Readable);
            let file = scratch.file("answers.yaml", rules);
            let answers = ["--answers", &file];
            let takes = matches!(words[0], "call" | "get") && index % 2 == 0;
            let output = Command::new(ASKBACK)
                .args(words)
                .args(if takes { &answers[..] } else { &[] })
                .args(["--name", "bank", "--timeout", "30", "--"])
                .args(&server.command)
                .stdin(Stdio::null())
                .output()
                .expect("the command was built");
            check_shown(&looked(&output.stderr.replace_ends(), 80));
            let stdout = String::from_utf8(output.stdout).expect("it writes text");
            let acts = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
            assert!(is_json || stdout.chars().all(|c| !acts(&c)), "{stdout:?}");
            server.end();
        }
    }
}

#[test]
fn a_flood_is_cut_while_the_person_is_at_the_prompt() {
    let scratch = Scratch::new("hostile-flood");
    let server = Server::start(&scratch, Revision::V2025_11_25, Way::Flooding);
    let seat = Seat::take(&scratch, &["open"], &server.command, 80, false);
    let commands = ["/tools", "/help", "/prompts", "/roots"].map(str::to_owned);
    let rows = seat.talk(&commands, &[]);
    server.end();
    let begin = |with: &str| rows.iter().filter(|row| row.starts_with(with)).count();
    // The limit for one time window. A slow machine needs several windows.
    let most = FLOOD / 4;
    assert!((1..most).contains(&begin("error |")), "{}", rows.join("\n"));
    assert!(begin("bank>") < most, "{}", rows.join("\n"));
    assert!(begin("  bank said more at once than is shown; lines left out: ") > 0);
}

/// A server that withdraws its question while the user types, and asks another one.
const SWAPPING: &str = r#"
say() { printf '%s\n' "$1"; }
ask() {
    say '{"jsonrpc":"2.0","id":"'$1'","method":"elicitation/create","params":{"message":"'"$2"'","requestedSchema":{"type":"object","properties":{}}}}'
}
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}}' ;;
    *tools/call*)
        call=$id
        ask first 'May I show you the weather?'
        read -r _ < "$1"
        say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"first"}}'
        ask second 'May I wire 10000 EUR?' ;;
    *'"second"'*)
        case "$line" in *accept*) said=accepted ;; *) said=refused ;; esac
        say '{"jsonrpc":"2.0","id":'$call',"result":{"content":[{"type":"text","text":"'$said'"}]}}' ;;
    esac
done
"#;

#[test]
fn what_is_typed_for_one_question_does_not_answer_the_next() {
    let scratch = Scratch::new("hostile-swap");
    let gate = scratch.path("gate");
    let made = Command::new("mkfifo").arg(&gate).status();
    assert!(made.expect("there is mkfifo").success());
    let server = ["sh", "-c", SWAPPING, "sh", &gate.display().to_string()];
    let server = server.map(str::to_owned);
    let words = ["call", "pay", "--protocol", "2025-06-18"];
    let mut seat = Seat::take(&scratch, &words, &server, 80, false);
    assert_eq!(seat.prompt().as_deref(), Some(""));
    // A partly typed line is visible when the server asks the other question.
    let _ = seat.pty.write_all(b"yes");
    while !String::from_utf8_lossy(&seat.fresh).ends_with("yes") {
        let echoed = seat.output.recv_timeout(PATIENCE);
        seat.fresh.extend(echoed.expect("the terminal shows it"));
    }
    std::fs::write(&gate, "on\n").expect("the server waits");
    while !String::from_utf8_lossy(&seat.fresh).contains("10000 EUR") {
        let asked = seat.output.recv_timeout(PATIENCE);
        seat.fresh.extend(asked.expect("the question is shown"));
    }
    // Typed as soon as the question is visible, before a user could read it.
    let _ = seat.pty.write_all(b"yes\n");
    assert_eq!(seat.prompt().as_deref(), Some(""), "it is asked still");
    let shown = seat.rows.join("\n");
    assert!(shown.contains("wire 10000 EUR"), "{shown}");
    assert!(shown.contains("You typed this before you can"), "{shown}");
    seat.write("/decline not that");
    assert_eq!(seat.prompt(), None);
    assert!(seat.rows.iter().any(|row| row == "| refused"));
    let _ = seat.child.wait();
}

#[test]
fn no_site_speaks_outside_its_gutter() {
    let (mut asked, mut shown) = (false, false);
    for (index, response) in site::responses().into_iter().enumerate() {
        let width = WIDTHS[index % WIDTHS.len()];
        let scratch = Scratch::new(&format!("hostile-site-{index}"));
        let site = Site::open(response);
        let words = [
            "list",
            "--all",
            "--credentials",
            "nowhere",
            "--url",
            &site.url,
        ];
        let seat = Seat::at(&scratch, &words, width, true);
        let rows = seat.talk(&[], &[]);
        asked |= rows.iter().any(|row| row == "bank wants you to sign in");
        shown |= rows.iter().any(|row| is_marked(row));
    }
    assert!(
        asked && shown,
        "it came to no sign-in, or nothing was shown"
    );
}

/// Line ends as a terminal receives them.
trait ReplaceEnds {
    fn replace_ends(&self) -> Vec<u8>;
}

impl ReplaceEnds for Vec<u8> {
    fn replace_ends(&self) -> Vec<u8> {
        String::from_utf8_lossy(self)
            .replace('\n', "\r\n")
            .into_bytes()
    }
}
