use std::{
    collections::VecDeque,
    io::{self, BufRead, IsTerminal},
    mem,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};

#[cfg(unix)]
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
    termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr},
};
use tokio::sync::mpsc;

use super::{dialog::EARLY, unseen};
use crate::{
    host::Input,
    page::{Page, Style},
    signals::{self, Held},
};

/// How many lines are read ahead.
const AHEAD: usize = 1024;

/// The maximum number of lines in one paste.
const PASTE: usize = 10_000;

/// The longest pause between two lines of one paste. Typing a line takes longer, and so does a held
/// key before it repeats.
const PASTED: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<ReadOutcome>,
    /// Lines of a paste that are returned one by one.
    pasted: VecDeque<String>,
    interrupts: mpsc::Receiver<()>,
    _held: Held,
    /// The start of the next line, already taken from the terminal.
    begun: String,
    was_ended: bool,
    reading: Arc<Mutex<()>>,
    /// Whether the input is a terminal, not a file.
    typed: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum ReadOutcome {
    Whole(Input),
    /// The start of a line, ended with Ctrl-D.
    Part(String),
}

/// The maximum line length of a Linux terminal, in bytes.
const PASSED: usize = 4095;

impl Lines {
    /// Reads standard input on a separate thread, so that a question can be withdrawn and another
    /// one shown while the thread waits. Must be called within the runtime, once.
    pub(super) fn stdin() -> Self {
        let typed = io::stdin().is_terminal();
        let (sender, lines) = mpsc::channel(AHEAD);
        let reading = Arc::default();
        let held = Arc::clone(&reading);
        thread::spawn(move || read(&sender, &held, typed));
        let (pressed, interrupts) = mpsc::channel(1);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // The previous Ctrl-C was not read, so the program is not listening.
                if pressed.try_send(()).is_err() {
                    signals::end(130);
                }
            }
        });
        Self {
            lines,
            pasted: VecDeque::new(),
            interrupts,
            _held: Held::interrupts(),
            begun: String::new(),
            was_ended: false,
            reading,
            typed,
        }
    }

    /// Returns the next input: Ctrl-C, or a line if `lines` is set. Pasted lines are returned
    /// together, with line breaks.
    pub(super) fn poll_next(&mut self, lines: bool, context: &mut Context<'_>) -> Poll<Input> {
        if let Poll::Ready(Some(())) = self.interrupts.poll_recv(context) {
            self.begun.clear();
            self.was_ended = false;
            return Poll::Ready(Input::Interrupt);
        }
        if !lines {
            return Poll::Pending;
        }
        if let Some(line) = self.pasted.pop_front() {
            return Poll::Ready(Input::Line(line));
        }
        loop {
            let read = ready!(self.lines.poll_recv(context));
            match read.unwrap_or(ReadOutcome::Whole(Input::End)) {
                ReadOutcome::Part(part) => self.begun += &part,
                // As in a shell, Ctrl-D does not discard an unfinished line. Here a second one ends
                // the input.
                ReadOutcome::Whole(Input::End) if !self.begun.is_empty() && !self.was_ended => {
                    self.was_ended = true;
                }
                ReadOutcome::Whole(input) => {
                    self.was_ended = false;
                    let begun = mem::take(&mut self.begun);
                    return Poll::Ready(match input {
                        Input::Line(line) => Input::Line(begun + &line),
                        input => input,
                    });
                }
            }
        }
    }

    /// Saves a partly typed line before other text is printed below it. Complete lines are queued
    /// and read first.
    pub(super) fn take_up(&mut self) {
        let reading = self.reading.try_lock();
        if !self.typed || reading.is_err() || !self.lines.is_empty() {
            return;
        }
        self.begun.push_str(&String::from_utf8_lossy(&take_begun()));
        while let Some((line, rest)) = self.begun.split_once('\n') {
            self.pasted.push_back(line.to_owned());
            self.begun = rest.to_owned();
        }
    }

    /// Returns the part of the next line that was taken from the terminal.
    pub(super) fn begun(&self) -> &str {
        &self.begun
    }

    /// Returns the first line of a paste. The other lines are the next inputs.
    pub(super) fn one_by_one(&mut self, paste: &str) -> String {
        let mut lines = paste.split('\n').map(str::to_owned);
        let first = lines.next().unwrap_or_default();
        self.pasted.extend(lines);
        first
    }

    /// Discards what the user typed before the question appeared, including an unfinished line, and
    /// returns whether there was anything: it cannot be an answer. Lines of a file are kept,
    /// because they were written for the questions.
    pub(super) fn forget(&mut self) -> bool {
        if !self.typed {
            return false;
        }
        let reading = self.reading.try_lock();
        let mut was_any = match &reading {
            Ok(_) => !take_begun().is_empty(),
            // The thread is reading a line.
            Err(_) => true,
        };
        flush();
        was_any |= !mem::take(&mut self.begun).is_empty();
        while self.pasted.pop_front().is_some() || self.lines.try_recv().is_ok() {
            was_any = true;
        }
        self.was_ended = false;
        was_any
    }

    /// Whether the terminal may have cut this line, or the paste has too many lines.
    pub(super) fn was_cut(&self, line: &str) -> bool {
        let is_cut = |line: &str| line.len() >= PASSED;
        self.typed && (line.split('\n').any(is_cut) || line.split('\n').count() > PASTE)
    }

    /// Whether the line has an escape character, as the Esc and arrow keys send.
    pub(super) fn has_key(&self, line: &str) -> bool {
        self.typed && line.contains('\u{1b}')
    }

    pub(super) fn hide(&mut self, hides: bool) {
        match self.typed && hides {
            true => unseen::hide(),
            false => unseen::show(),
        }
    }

    pub(super) fn typed(&self) -> bool {
        self.typed
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        unseen::leave();
    }
}

/// Discards what was typed before a question that no front end shows, and says so on the question's
/// page. An early yes is not an answer.
pub fn forget_early(page: &mut Page) {
    if io::stdin().is_terminal() && !take_begun().is_empty() {
        page.note(Style::Warning, EARLY);
    }
    flush();
}

/// Discards unread terminal input. If that fails, the input is not a terminal.
fn flush() {
    #[cfg(unix)]
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Takes unread input from the terminal. An unfinished line is only available outside canonical
/// mode, and no other thread may read meanwhile.
fn take_begun() -> Vec<u8> {
    let mut begun = Vec::new();
    #[cfg(unix)]
    if let Ok(before) = tcgetattr(io::stdin()) {
        let mut passing = before.clone();
        passing.local_modes.remove(LocalModes::ICANON);
        if tcsetattr(io::stdin(), OptionalActions::Now, &passing).is_ok() {
            let held = ioctl_fionread(io::stdin()).unwrap_or_default();
            begun.resize(usize::try_from(held).unwrap_or_default(), 0);
            let taken = match begun.is_empty() {
                true => 0,
                false => rustix::io::read(io::stdin(), &mut begun).unwrap_or_default(),
            };
            begun.truncate(taken);
        }
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    begun
}

/// Whether the terminal has input within this time. Returns true if this cannot be checked; reading
/// then reports the error.
fn is_line_there(within: Option<Duration>) -> bool {
    #[cfg(unix)]
    {
        let stdin = io::stdin();
        let within = within.and_then(|within| Timespec::try_from(within).ok());
        let there = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], within.as_ref());
        there.map_or(true, |there| there > 0)
    }
    #[cfg(not(unix))]
    {
        within != Some(PASTED)
    }
}

/// Reads lines. At a terminal, it waits until a line is there, so that `reading` is locked only
/// briefly.
fn read(sender: &mpsc::Sender<ReadOutcome>, reading: &Mutex<()>, typed: bool) {
    let mut stdin = io::stdin().lock();
    loop {
        let _reading = match typed {
            true => {
                is_line_there(None);
                let reading = reading.lock();
                let reading = reading.unwrap_or_else(PoisonError::into_inner);
                // The line may have been discarded meanwhile.
                if !is_line_there(Some(Duration::ZERO)) {
                    continue;
                }
                Some(reading)
            }
            false => None,
        };
        let mut read = line(&mut stdin, typed);
        let mut after = None;
        if let (ReadOutcome::Whole(Input::Line(pasted)), true) = (&mut read, typed) {
            let mut lines = 1_usize;
            while is_line_there(Some(PASTED)) {
                match line(&mut stdin, typed) {
                    // A paste that is too long is rejected. Only enough of it is kept to detect
                    // that.
                    ReadOutcome::Whole(Input::Line(_)) if lines > PASTE => {}
                    ReadOutcome::Whole(Input::Line(next)) => pasted.extend(["\n", &next]),
                    end => {
                        after = Some(end);
                        break;
                    }
                }
                lines = lines.saturating_add(1);
            }
        }
        for read in [Some(read), after].into_iter().flatten() {
            // A file ends once. At a terminal, Ctrl-D ends one answer.
            let last = read == ReadOutcome::Whole(Input::End) && !typed;
            if sender.blocking_send(read).is_err() || last {
                return;
            }
        }
    }
}

/// Reads the next line, or the end. At a terminal, Ctrl-D may end a part of a line.
fn line(stdin: &mut impl BufRead, typed: bool) -> ReadOutcome {
    let mut line = Vec::new();
    let read = match typed {
        true => stdin.fill_buf().map(|read| {
            let end = read.iter().position(|byte| *byte == b'\n');
            let read = &read[..end.map_or(read.len(), |end| end.saturating_add(1))];
            line.extend(read);
            read.len()
        }),
        false => stdin.read_until(b'\n', &mut line),
    };
    if typed {
        stdin.consume(line.len());
    }
    match read {
        Ok(0) | Err(_) => ReadOutcome::Whole(Input::End),
        Ok(_) => {
            let line = String::from_utf8_lossy(&line);
            match line.strip_suffix('\n') {
                None if typed => ReadOutcome::Part(line.into_owned()),
                whole => {
                    let line = whole.unwrap_or(&line);
                    let line = line.strip_suffix('\r').unwrap_or(line);
                    ReadOutcome::Whole(Input::Line(line.to_owned()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_the_terminal_cut_is_found() {
        fn lines(typed: bool) -> Lines {
            Lines {
                lines: mpsc::channel(AHEAD).1,
                pasted: VecDeque::new(),
                interrupts: mpsc::channel(1).1,
                _held: Held::interrupts(),
                begun: String::new(),
                was_ended: false,
                reading: Arc::default(),
                typed,
            }
        }
        #[track_caller]
        fn check(typed: bool, length: usize, cut: bool) {
            assert_eq!(lines(typed).was_cut(&"x".repeat(length)), cut);
        }
        #[track_caller]
        fn check_paste(count: usize, cut: bool) {
            assert_eq!(lines(true).was_cut(&vec![""; count].join("\n")), cut);
        }
        check(true, 4094, false);
        check(true, 4095, true);
        check(false, 6000, false);
        check_paste(PASTE, false);
        check_paste(PASTE + 1, true);
    }
}
