//! The full screen of the real program, on an emulated terminal.

use std::{
    io::Write,
    num::NonZero,
    process::Child,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use pty_process::{
    Size,
    blocking::{Command, Pty},
};
use rustix::{
    process::{Pid, Signal, kill_process},
    termios::{self, LocalModes},
};

use crate::{pty, scratch::Scratch, signals::hangup_ends_programs};

pub(crate) const ASKBACK: &str = env!("CARGO_BIN_EXE_askback");

/// The row below a question that does not accept keys yet.
const SETTLING: &str = "One moment…";

/// The timeout of each wait in a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Start and end of a frame (a synchronized update).
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

const ROWS: NonZero<u16> = NonZero::new(24).expect("it has rows");

const ABOVE: usize = 1000;

pub(crate) const ENTER: &str = "\r";
const F2: &str = "\x1bOQ";
pub(crate) const TAB: &str = "\t";
pub(crate) const REVIEW: &str = "\x13";
pub(crate) const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";
pub(crate) const END: &str = "\x1b[F";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";

pub(crate) struct Terminal {
    child: Child,
    pty: Pty,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    rewraps: bool,
    wrote: Vec<u8>,
    /// The number of bytes in `wrote` that the screen has processed.
    shown: usize,
}

impl Terminal {
    pub(crate) fn open(words: &[&str], columns: u16) -> Self {
        Self::open_with(words, columns, &[])
    }

    pub(crate) fn open_with(words: &[&str], columns: u16, variables: &[(&str, &str)]) -> Self {
        Self::run(ASKBACK, words, columns, variables)
    }

    /// Runs another program, which may run the command.
    pub(crate) fn run(
        program: &str,
        words: &[&str],
        columns: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let command = Command::new(program)
            .args(words)
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("BROWSER", "true")
            .env("TERM", "xterm-256color")
            .envs(variables.iter().copied());
        Self::start(command, columns)
    }

    /// Runs a command in a terminal of this width. When it becomes narrower, it cuts rows, like
    /// xterm.
    pub(crate) fn start(command: Command, columns: u16) -> Self {
        Self::begin(command.env("XTERM_VERSION", "XTerm(390)"), columns, false)
    }

    /// Opens a terminal that rewraps rows when it is resized, as most terminals do.
    pub(crate) fn open_rewrapping(words: &[&str], columns: u16) -> Self {
        let command = Command::new(ASKBACK)
            .args(words)
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("TERM", "xterm-256color")
            .env_remove("XTERM_VERSION");
        Self::begin(command, columns, true)
    }

    fn begin(command: Command, columns: u16, rewraps: bool) -> Self {
        let command = command.env_remove("TMUX").env_remove("SSH_CONNECTION");
        let (child, pty, output) = pty::start(command, ROWS.get(), columns);
        Self {
            child,
            pty,
            output,
            screen: vt100::Parser::new(ROWS, wide(columns), ABOVE),
            rewraps,
            wrote: Vec::new(),
            shown: 0,
        }
    }

    /// Processes output. Like a terminal, shows a frame only when it is complete: in a part of a frame, a new question
    /// may be visible without the row that says that it does not accept keys yet.
    fn take(&mut self, bytes: Vec<u8>) {
        self.wrote.extend(bytes);
        let searched = self.shown.saturating_sub(FRAME[0].len());
        let [begin, end] = FRAME.map(|code| {
            let mut places = self.wrote[searched..].windows(code.len());
            places.rposition(|bytes| bytes == code)
        });
        let until = match begin.filter(|_| begin > end) {
            Some(begin) => self.shown.max(searched + begin),
            None => self.wrote.len(),
        };
        self.screen.process(&self.wrote[self.shown..until]);
        self.shown = until;
    }

    /// Waits until a text is visible and a question accepts keys.
    #[track_caller]
    pub(crate) fn until(&mut self, seen: &str) -> &mut Self {
        while !self.contents().contains(seen) || self.contents().contains(SETTLING) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(bytes),
                Err(_) => panic!("{seen:?} is not seen in\n{}", self.contents()),
            }
        }
        self
    }

    /// Waits until a text is no longer visible and a question accepts keys.
    #[track_caller]
    pub(crate) fn until_not(&mut self, seen: &str) -> &mut Self {
        while self.contents().contains(seen) || self.contents().contains(SETTLING) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(bytes),
                Err(_) => panic!("{seen:?} stays in\n{}", self.contents()),
            }
        }
        self
    }

    /// Waits until a question asks for a line.
    #[track_caller]
    pub(crate) fn until_asked(&mut self) -> &mut Self {
        self.until_wanted(">")
    }

    /// Waits for this prompt with an empty line.
    #[track_caller]
    pub(crate) fn until_wanted(&mut self, prompt: &str) -> &mut Self {
        while self.contents().trim_end().lines().last() != Some(prompt) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(bytes),
                Err(_) => panic!(
                    "no line is wanted behind {prompt:?} in\n{}",
                    self.contents()
                ),
            }
        }
        self
    }

    /// Whether the output so far contains these codes.
    pub(crate) fn wrote(&self, codes: &str) -> bool {
        self.times(codes) > 0
    }

    /// How many times the output so far contains these codes.
    pub(crate) fn times(&self, codes: &str) -> usize {
        String::from_utf8_lossy(&self.wrote).matches(codes).count()
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// All rows of the terminal, including the scrollback.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        let screen = self.screen.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let (_, columns) = screen.size();
        let mut rows = Vec::new();
        for back in (0..=above).rev() {
            screen.set_scrollback(back);
            let first = screen.rows(0, columns.get()).next().unwrap_or_default();
            rows.push(first.trim_end().to_owned());
        }
        let rest = screen.rows(0, columns.get()).skip(1);
        rows.extend(rest.map(|row| row.trim_end().to_owned()));
        rows
    }

    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        self.pty.write_all(keys.as_bytes()).expect("it is read");
        self
    }

    pub(crate) fn resize(&mut self, columns: u16) -> &mut Self {
        // The screen is redrawn for the new size.
        let before = self.size(columns);
        self.until_drawn(before)
    }

    /// Changes the size, and waits until the old screen is erased.
    #[track_caller]
    pub(crate) fn narrow(&mut self, columns: u16) -> &mut Self {
        let before = self.size(columns);
        while !self.wrote[before..].ends_with(b"\x1b[J\x1b8") && !self.is_drawn(before) {
            let bytes = self.output.recv_timeout(PATIENCE);
            self.take(bytes.expect("it goes"));
        }
        self
    }

    /// Changes the size, and returns the number of output bytes before the change.
    fn size(&mut self, columns: u16) -> usize {
        match self.rewraps {
            true => self.screen = rewrapped(&mut self.screen, wide(columns)),
            false => self.screen.screen_mut().set_size(ROWS, wide(columns)),
        }
        self.pty
            .resize(Size::new(ROWS.get(), columns))
            .expect("it has a size");
        self.wrote.len()
    }

    /// Calls the tool that the agency offers first.
    fn call_holiday(&mut self) {
        self.until("The arguments of").press(REVIEW);
        self.until("[Enter] Call").press(ENTER);
    }

    /// Waits until the output after this position ends with a complete frame.
    #[track_caller]
    pub(crate) fn until_drawn(&mut self, since: usize) -> &mut Self {
        while !self.is_drawn(since) {
            let bytes = self.output.recv_timeout(PATIENCE);
            self.take(bytes.expect("it is drawn again"));
        }
        self
    }

    fn is_drawn(&self, since: usize) -> bool {
        self.wrote[since..].ends_with(FRAME[1])
    }

    pub(crate) fn shows(&self, text: &str) -> bool {
        self.contents().contains(text)
    }

    #[track_caller]
    fn drain(&mut self) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on\n{}", self.contents()),
            }
        }
    }

    /// Waits until the program exits, and returns its exit code.
    #[track_caller]
    pub(crate) fn exit(mut self) -> Option<i32> {
        self.drain();
        self.child.wait().expect("it has ended").code()
    }

    /// Waits until the program exits, checks that the terminal is restored, and returns the exit
    /// code.
    #[track_caller]
    pub(crate) fn end(mut self) -> Option<i32> {
        self.ended()
    }

    /// Like [`end`](Self::end), but keeps the terminal.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.drain();
        let wrote = String::from_utf8_lossy(&self.wrote);
        let last = |code: &str| wrote.rfind(code);
        assert!(
            last("\x1b[?2004l") >= last("\x1b[?2004h"),
            "pastes stay in brackets"
        );
        assert!(
            last("\x1b[?1004l") >= last("\x1b[?1004h"),
            "the focus is told still"
        );
        assert!(
            last("\x1b[?1049l") >= last("\x1b[?1049h"),
            "the other screen stays"
        );
        assert!(
            last("\x1b[?25h") >= last("\x1b[?25l"),
            "the cursor stays hidden"
        );
        self.child.wait().expect("it has ended").code()
    }

    /// Kills the program, so that it cannot restore the terminal.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it goes on");
        self.child.wait().expect("it has ended");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("it has one"), signal).expect("it is ours");
    }

    pub(crate) fn is_raw(&self) -> bool {
        let modes = termios::tcgetattr(&self.pty).expect("it has modes");
        !modes.local_modes.contains(LocalModes::ICANON)
    }
}

fn wide(columns: u16) -> NonZero<u16> {
    NonZero::new(columns).expect("it has columns")
}

/// A terminal of this width with the same text. Its lines are wrapped again.
fn rewrapped(before: &mut vt100::Parser, columns: NonZero<u16>) -> vt100::Parser {
    let screen = before.screen_mut();
    let (_, old) = screen.size();
    let (row, column) = screen.cursor_position();
    screen.set_scrollback(usize::MAX);
    let above = screen.scrollback();
    let cursor = above + usize::from(row);
    let mut after = vt100::Parser::new(ROWS, columns, ABOVE);
    // The rows that were written, and the row of the cursor.
    let (mut written, mut at, mut line) = (0, 0, String::new());
    for index in 0..=cursor {
        screen.set_scrollback(above.saturating_sub(index));
        let shown = u16::try_from(index.saturating_sub(above)).expect("it is on the screen");
        let mut rows = screen.rows(0, old.get()).skip(usize::from(shown));
        let begins = line.chars().count();
        line += &rows.next().unwrap_or_default();
        if index == cursor {
            at = written + (begins + usize::from(column)) / usize::from(columns.get());
        }
        if !screen.row_wrapped(shown) || index == cursor {
            let rows = line.chars().count().div_ceil(usize::from(columns.get()));
            written += rows.max(1);
            let end = if index == cursor { "" } else { "\r\n" };
            after.process(format!("{}{end}", std::mem::take(&mut line)).as_bytes());
        }
    }
    let up = written.saturating_sub(1).saturating_sub(at);
    let column = (column % columns.get()).saturating_add(1);
    if up > 0 {
        after.process(format!("\x1b[{up}A").as_bytes());
    }
    after.process(format!("\x1b[{column}G").as_bytes());
    after
}

// Shows TO-40.
#[test]
fn a_holiday_is_booked_with_few_keys_and_leaves_few_rows() {
    let mut terminal = Terminal::open(&[], 80);
    terminal.call_holiday();
    terminal.until("Book it").press("y").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    terminal.until("Full name").press("Ada Lovelace").press(TAB);
    terminal.press("ada@example.com").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    // Apart from the texts, this takes eight keys.
    terminal.until("travel> ");
    let rows = terminal.rows();
    let called = rows.iter().find(|row| row.starts_with("Called "));
    assert!(
        called
            .is_some_and(|row| row.contains("\"depart\":\"20")
                && row.contains("\"destination\":\"Barcelona\"")),
        "{}",
        rows.join("\n")
    );
    let began = rows.iter().position(|row| row.starts_with("Called "));
    let ended = rows.iter().position(|row| row.starts_with("travel>"));
    let (began, ended) = began.zip(ended).expect("both are there");
    assert!(ended - began <= 18, "{}", rows.join("\n"));
    let text = rows.join("\n");
    assert!(
        !text.contains("[Enter]") && !text.contains("Full name"),
        "{text}"
    );
    assert!(terminal.is_raw());
    // A program that answers questions may exit after any key, so it sends no query to the
    // terminal.
    assert!(!terminal.wrote("\x1b[c"), "the terminal is asked");
    terminal.press("/quit").press(ENTER);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_terminal_may_change_its_size_in_the_middle() {
    let mut terminal = Terminal::open(&[], 80);
    terminal.call_holiday();
    terminal.until("Book it");
    for columns in [120, 100, 60, 40, 80] {
        terminal.resize(columns).press(TAB).until("Esc cancel");
    }
    terminal
        .press(CTRL_D)
        .until("Why not?")
        .press("too dear")
        .press(ENTER);
    terminal
        .until("declined, with your reason")
        .until("travel> ")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_terminal_that_rewraps_rows_keeps_no_copy_of_a_form() {
    #[track_caller]
    fn check(first: u16, sizes: &[u16], slow: bool) {
        let mut terminal = Terminal::open_rewrapping(&[], first);
        terminal.call_holiday();
        terminal.until("Book it");
        let lines = |terminal: &mut Terminal| {
            let rows = terminal.rows().concat();
            let (above, form) = rows.split_once("travel asks").expect("it asks");
            // If the size changes again while the screen is drawn, the terminal may have moved the
            // old screen.
            let form = match (slow, form.rsplit_once("travel asks")) {
                (false, Some((_, last))) => last,
                _ => form,
            };
            (above.replace(' ', ""), form.to_owned())
        };
        let (before, _) = lines(&mut terminal);
        let since = terminal.wrote.len();
        for &columns in sizes {
            match slow {
                true => terminal.resize(columns),
                false => terminal.narrow(columns),
            };
        }
        terminal.until_drawn(since);
        let (above, form) = lines(&mut terminal);
        let rows = terminal.rows().join("\n");
        assert_eq!(above, before, "{sizes:?}\n{rows}");
        for once in ["travel asks", "Book it", "Travel i", "Esc cancel"] {
            let times = form.matches(once).count();
            assert_eq!(times, usize::from(once != "travel asks"), "{once}\n{rows}");
        }
        terminal.kill();
    }
    for slow in [true, false] {
        check(120, &[40], slow);
        check(80, &[40, 120], slow);
        let steps: Vec<_> = (1..=10).map(|step| 100 - 6 * step).collect();
        check(100, &steps, slow);
        check(40, &[41, 42, 43, 200, 90, 60, 40], slow);
    }
}

#[test]
fn a_paste_presses_no_button_and_is_not_cut() {
    let mut terminal = Terminal::open(&[], 80);
    terminal.call_holiday();
    terminal.until("Book it").press("y").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    let pasted = "x\n\n\n".repeat(25_000);
    terminal
        .until("Full name")
        .press(&format!("\x1b[200~{pasted}\x1b[201~"));
    // Line breaks are kept, and each one counts.
    terminal.until("× is longer than").until("Esc cancel");
    terminal.press(CTRL_C).until("a text, 1 to 100");
    terminal
        .press(ESC)
        .until("cancelled")
        .until("travel> ")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn values_are_suggested_as_one_types() {
    let mut terminal = Terminal::open(&["open", "--", ASKBACK, "serve", "travel"], 80);
    terminal
        .until("> ")
        .press("/plan_vacation")
        .until("/plan_vacation");
    terminal.press(ENTER).until("The arguments of");
    terminal.press("Re").until("| Reykjavik");
    terminal.press(DOWN).until("› | Reykjavik").press(ENTER);
    terminal.until("destination* Reykjavik").press(ESC);
    terminal.until("Press Esc again").press(ESC);
    terminal.until("Type to filter").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_call_is_seen_while_it_goes_on() {
    // The call sends two notifications and does not end.
    let server = server(
        r#"token=${line#*\"progressToken\":}; token=${token%%[,\}]*}
            for at in 1 2; do
              say "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":$at,\"total\":4,\"message\":\"layer $at\"}"
            done"#,
    );
    let words = ["open", "--protocol", "2025-11-25", "--name", "pit", "--"];
    let scratch = Scratch::new("slow");
    let server = scratch.file("slow.sh", &server);
    let words = [&words[..], &["sh", &server]].concat();
    let mut terminal = Terminal::open(&words, 80);
    terminal
        .until("Type to filter")
        .press("/call t")
        .press(ENTER);
    terminal.until("pit works · call | t");
    terminal.until("[############------------] 2 of 4 | layer 2");
    terminal.press("/too").until("> /too");
    terminal.press(CTRL_C).until_not("> /too");
    assert!(terminal.contents().contains("pit works"));
    terminal.press(CTRL_C).until("Type to filter");
    assert!(!terminal.contents().contains("layer"));
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

/// Calls the tool `t` of a server that is a shell script.
const CALL: [&str; 7] = [
    "call",
    "t",
    "--protocol",
    "2025-11-25",
    "--",
    "/bin/sh",
    "-c",
];

/// A server whose tool `t` runs this script.
fn server(called: &str) -> String {
    const SERVER: &str = r#"say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
        while read -r line; do
          id=${line#*\"id\":}; id=${id%%[,\}]*}
          case $line in
          *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
          *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
          *'"tools/call"'*) CALLED ;;
          esac
        done"#;
    SERVER.replace("CALLED", called)
}

#[test]
fn a_user_who_looks_elsewhere_is_notified() {
    let call = ["call", "tailor_trip", "destination=Rome"];
    let call = [&call[..], &["--", ASKBACK, "serve", "travel"]].concat();
    let mut terminal = Terminal::open(&call, 80);
    terminal.until("asks");
    assert!(!terminal.wrote("\x07"), "who is there needs no bell");
    terminal.press(ESC);
    assert_eq!(terminal.end(), Some(3));

    let mut terminal = Terminal::open(&["open", "--", ASKBACK, "serve", "travel"], 80);
    terminal
        .until("> ")
        .press("\x1b[O/call tailor_trip destination=Rome\r");
    terminal.until("travel asks");
    assert!(terminal.wrote("\x07\x1b]9;travel asks\x1b\\"));
    terminal.press(ESC).until("Type to filter").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_link_longer_than_the_screen_is_whole_where_it_is_copied() {
    let server = server(
        r#"say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":\"Go.\",\"elicitationId\":\"e\",\"url\":\"$1\"}""#,
    );
    let url = format!("https://example.com/{}/end", "a".repeat(120));
    let words = [&CALL[..], &[&server, "sh", &url]].concat();
    let mut terminal = Terminal::open(&words, 80);
    terminal
        .until("[c] Copy")
        .press("c")
        .until("up to the next empty line");
    let shown = terminal.contents().replace('\n', "");
    assert!(shown.contains(&url), "{}", terminal.contents());
    terminal.press(ESC).until("cancelled").press(CTRL_C);
    assert_eq!(terminal.end(), Some(130));

    // Without a browser, the user opens the link elsewhere.
    let none = [
        ("BROWSER", "/nowhere"),
        ("DISPLAY", ""),
        ("WAYLAND_DISPLAY", ""),
        ("PATH", "/nowhere"),
    ];
    let mut terminal = Terminal::open_with(&words, 80, &none);
    terminal
        .until("[o] Open")
        .press("o")
        .until("Open it yourself");
    let shown = terminal.contents().replace('\n', "");
    assert!(shown.contains(&url), "{}", terminal.contents());
    // The server gets no response before that.
    terminal.until("[Enter] I have opened it");
    assert!(!terminal.contents().contains("agreed"));
    terminal.press(ENTER).until("agreed to the link");
    terminal.press(CTRL_C);
    assert_eq!(terminal.end(), Some(130));
}

#[test]
fn ctrl_c_clears_a_line_then_leaves() {
    let mut terminal = Terminal::open(&["open", "--", ASKBACK, "serve", "travel"], 80);
    terminal
        .until("> ")
        .press("/call nonsense")
        .until("nonsense");
    terminal.press(CTRL_C).until("Type to filter");
    assert!(!terminal.contents().contains("nonsense"));
    terminal.press(CTRL_C).until("Ctrl-C again leaves");
    // Another command in between resets the confirmation.
    terminal
        .press("/roots")
        .until("/roots")
        .press(ENTER)
        .until("None yet");
    terminal.press(CTRL_C).press(CTRL_C);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_program_that_is_ended_leaves_the_terminal_as_it_was() {
    let ends = [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ];
    for (signal, exit) in ends {
        if signal == Signal::HUP && !hangup_ends_programs() {
            continue;
        }
        let mut terminal = Terminal::open(&["open", "--", ASKBACK, "serve", "travel"], 80);
        terminal
            .until("> ")
            .press("/call book_holiday")
            .press(ENTER);
        terminal.until("destination").until("Esc cancel");
        assert!(terminal.is_raw() && terminal.wrote("\x1b[?1004h"));
        terminal.signal(signal);
        assert_eq!(terminal.ended(), Some(exit), "{signal:?}");
        assert!(!terminal.is_raw(), "{signal:?}");
        let rows = terminal.rows().join("\n");
        assert!(!rows.contains("destination"), "{signal:?}\n{rows}");
        assert_eq!(terminal.end(), Some(exit), "{signal:?}");
    }
}

#[test]
fn f2_shows_the_messages_at_a_question_and_keeps_the_form() {
    let words = [
        "open",
        "--protocol",
        "2026-07-28",
        "--",
        ASKBACK,
        "serve",
        "travel",
    ];
    let mut terminal = Terminal::open(&words, 80);
    terminal
        .until("> ")
        .press("/call book_holiday destination=Rome depart=2026-06-15")
        .press(ENTER)
        .until("Book it");
    terminal
        .press("y")
        .press(F2)
        .until("| asks wishes, state of")
        .until("(x) yes")
        .press(ESC)
        .until("Press Esc again")
        .press(ESC)
        .until("travel> ")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn f2_shows_the_messages_and_keeps_what_is_being_written() {
    let mut terminal = Terminal::open(&["open", "--", ASKBACK, "serve", "travel"], 80);
    terminal
        .until("> ")
        .press("/call something")
        .until("something");
    terminal
        .press(F2)
        .until("→ | tools/list")
        .until("travel> /call something")
        .press(CTRL_C)
        .until("Type to filter")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}
