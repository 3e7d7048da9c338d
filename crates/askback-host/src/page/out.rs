//! The one place where something is written to the standard output and the standard error.
#![expect(
    clippy::disallowed_methods,
    reason = "everything else writes through here, where only rows of a page are taken"
)]

use std::io::{self, IsTerminal, Write};

use serde_json::value::RawValue;
use terminal_size::{Height, Width};

use super::{Look, LookSource, Page, Rows};
use crate::text::{self, PeerText};

/// Why a result could not be written to the standard output.
#[derive(Debug)]
pub struct Unwritten(pub io::Error);

/// The standard error, for those that write to it page by page. In a CI job, it takes whole lines at a time.
pub fn stderr() -> Box<dyn Write + Send> {
    match text::is_ci_job() {
        true => Box::new(CiLog(io::stderr())),
        false => Box::new(io::stderr()),
    }
}

/// The log of a CI job, in which no text becomes a command to the service.
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

/// A page for the standard error.
pub fn stderr_page() -> Page {
    Page::new(LookSource::Read(Look::of_stderr))
}

/// A page for the standard output.
pub fn stdout_page() -> Page {
    Page::new(LookSource::Read(Look::of_stdout))
}

/// Writes a page to the standard error.
pub fn tell(page: &mut Page) {
    tell_rows(&page.take());
}

/// Writes rows to the standard error.
pub fn tell_rows(rows: &Rows) {
    // A terminal that cannot be written to has nobody before it.
    let _ = rows.write_to(&mut stderr());
}

/// Writes rows to the standard output.
///
/// # Errors
///
/// If they cannot be written, but for a reader that has read enough.
pub fn print(rows: &Rows) -> Result<(), Unwritten> {
    let stdout = io::stdout().lock();
    let mut stdout: Box<dyn Write> = match text::is_ci_job() {
        true => Box::new(CiLog(stdout)),
        false => Box::new(stdout),
    };
    match rows.write_to(&mut *stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Unwritten),
    }
}

/// Text of a peer for the standard output, which holds nothing else: behind the gutter on a
/// terminal, and without it for a program.
pub fn of_text(text: PeerText) -> Rows {
    if !is_seen() {
        return Rows::for_program(&text);
    }
    let mut page = stdout_page();
    page.quote(text);
    page.take()
}

/// JSON for the standard output: behind the gutter on a terminal, and without it for a program.
/// What acts or hides is escaped for both, which JSON reads as the same.
pub fn of_json(json: &RawValue) -> Rows {
    if !is_seen() {
        return Rows::json(json);
    }
    let mut page = stdout_page();
    page.quote(PeerText::json(json));
    page.take()
}

/// Writes text of a peer to the standard output, as [`of_text`] has it.
///
/// # Errors
///
/// If it cannot be written.
pub fn print_text(text: PeerText) -> Result<(), Unwritten> {
    print(&of_text(text))
}

/// Writes JSON to the standard output, as [`of_json`] has it.
///
/// # Errors
///
/// If it cannot be written.
pub fn print_json(json: &RawValue) -> Result<(), Unwritten> {
    print(&of_json(json))
}

/// Whether a person sees the standard output.
pub fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person can be asked: the standard input and the standard error are a terminal.
pub fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Has the standard error be the terminal, for a conversation at it, even if it leads elsewhere.
pub fn speak_at_terminal() {
    #[cfg(unix)]
    if io::stdin().is_terminal() && !io::stderr().is_terminal() {
        let terminal = std::fs::File::options().write(true).open("/dev/tty");
        // Without one, the conversation goes where the standard error leads.
        let _ = terminal.map(rustix::stdio::dup2_stderr);
    }
}

impl Look {
    /// How the standard error shows text.
    pub fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    /// How the standard output shows text.
    pub fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    /// Whether the terminal says that it can do no more than take lines.
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

/// The rows of the terminal; where none is, or it does not say, those that most have.
pub fn height() -> usize {
    match terminal_size::terminal_size() {
        None | Some((_, Height(0))) => 24,
        Some((_, Height(rows))) => rows.into(),
    }
}

/// The columns of the terminal; where none is, or it does not say, those that most have.
fn columns() -> usize {
    match terminal_size::terminal_size() {
        None | Some((Width(0), _)) => 80,
        Some((Width(columns), _)) => columns.into(),
    }
}
