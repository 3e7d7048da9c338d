//! The only place that writes to stdout and stderr.
#![expect(
    clippy::disallowed_methods,
    reason = "everything else writes through here, where only rows of a page are taken"
)]

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::value::RawValue;
use terminal_size::{Height, Width};
use tokio::time::interval;

use super::{Look, Page, Rows};
use crate::text::{self, PeerText, Words};

#[derive(Debug)]
pub struct Unwritten(pub io::Error);

/// Returns stderr. In a CI job, each write must consist of whole lines.
pub fn stderr() -> Box<dyn Write + Send> {
    match text::is_ci_job() {
        true => Box::new(CiLog(io::stderr())),
        false => Box::new(io::stderr()),
    }
}

/// A writer for the log of a CI job. Text in it never acts as a command to the CI service.
struct CiLog<W>(W);

impl<W: Write> Write for CiLog<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let inert = text::without_ci_commands(&text);
        self.0.write_all(inert.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

pub fn stderr_page() -> Page {
    Page::reading(Look::of_stderr)
}

pub fn stdout_page() -> Page {
    Page::reading(Look::of_stdout)
}

pub fn tell(page: &mut Page) {
    tell_rows(&page.take());
}

pub fn tell_rows(rows: &Rows) {
    // If writing fails, no user sees the terminal.
    let _ = rows.write_to(&mut stderr());
}

/// Writes rows to stdout. A closed pipe is not an error.
pub fn print(rows: &Rows) -> Result<(), Unwritten> {
    match write(rows) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Unwritten),
    }
}

/// Writes rows to stdout. A closed pipe is an error.
pub fn write(rows: &Rows) -> io::Result<()> {
    let stdout = io::stdout().lock();
    let mut stdout: Box<dyn Write> = match text::is_ci_job() {
        true => Box::new(CiLog(stdout)),
        false => Box::new(stdout),
    };
    rows.write_to(&mut *stdout)?;
    stdout.flush()
}

/// Completes when stdout is a pipe and no program reads it anymore.
pub async fn closed() -> Unwritten {
    let mut ticks = interval(Duration::from_secs(1));
    while !is_closed() {
        ticks.tick().await;
    }
    Unwritten(io::ErrorKind::BrokenPipe.into())
}

#[cfg(unix)]
fn is_closed() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let is_known = poll(&mut polled, Some(&Timespec::default())).is_ok();
    is_known
        && polled
            .iter()
            .any(|it| it.revents().contains(PollFlags::ERR))
}

#[cfg(not(unix))]
fn is_closed() -> bool {
    false
}

/// Shows the progress of a long run on stderr if it is a terminal, in place of the last call's words.
pub fn progress(words: &Words) {
    if io::stderr().is_terminal() && !Look::is_dumb() {
        // If writing fails, no user sees the terminal.
        let _ = write!(stderr(), "\r\x1b[K{words}");
    }
}

/// A peer's text as the only output on stdout: behind the gutter only on a terminal.
pub fn of_text(text: PeerText) -> Rows {
    if !is_seen() {
        return Rows::for_program(&text);
    }
    let mut page = stdout_page();
    page.quote(text);
    page.take()
}

/// JSON for stdout: behind the gutter on a terminal, without it for a program. Control and
/// invisible characters are JSON escapes in both cases.
pub fn of_json(json: &RawValue) -> Rows {
    if !is_seen() {
        return Rows::json(json);
    }
    let mut page = stdout_page();
    page.quote(PeerText::json(json));
    page.take()
}

/// Writes a peer's text to stdout, see [`of_text`].
pub fn print_text(text: PeerText) -> Result<(), Unwritten> {
    print(&of_text(text))
}

/// Writes JSON to stdout, see [`of_json`].
pub fn print_json(json: &RawValue) -> Result<(), Unwritten> {
    print(&of_json(json))
}

/// Whether stdout is a terminal.
pub fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether a user can be asked: stdin and stderr are a terminal.
pub fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Redirects stderr to the terminal if stdin is a terminal but stderr is not.
pub fn speak_at_terminal() {
    #[cfg(unix)]
    if io::stdin().is_terminal() && !io::stderr().is_terminal() {
        let terminal = std::fs::File::options().write(true).open("/dev/tty");
        // If there is no terminal, stderr stays as it is.
        let _ = terminal.map(rustix::stdio::dup2_stderr);
    }
}

impl Look {
    pub fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    pub fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    /// Whether the terminal can only print lines (`TERM=dumb`).
    pub fn is_dumb() -> bool {
        std::env::var_os("TERM").is_none_or(|term| term == "dumb")
    }

    fn of(stream: &impl IsTerminal) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            columns: columns(),
            styled: stream.is_terminal() && !is_set("NO_COLOR") && !Self::is_dumb(),
        }
    }
}

/// The number of rows of the terminal, or 24 if unknown.
pub fn height() -> usize {
    match terminal_size::terminal_size() {
        None | Some((_, Height(0))) => 24,
        Some((_, Height(rows))) => rows.into(),
    }
}

fn columns() -> usize {
    match terminal_size::terminal_size() {
        None | Some((Width(0), _)) => 80,
        Some((Width(columns), _)) => columns.into(),
    }
}
