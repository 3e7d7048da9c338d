//! The lines that the person types.

use std::{
    collections::VecDeque,
    io::{self, BufRead, IsTerminal},
    mem,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    thread,
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
    signals::{self, Interrupts},
};

/// The most lines read before they are wanted.
const AHEAD: usize = 1024;

/// The most lines of one paste.
const PASTE: usize = 10_000;

/// The longest pause between two lines of one paste. Nobody types a line in that time, and a key that is held comes
/// again later.
#[cfg(unix)]
const PASTED: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// The lines of the standard input, and Ctrl-C.
#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<ReadOutcome>,
    /// Lines of a paste that are to be taken one by one.
    pasted: VecDeque<String>,
    interrupts: mpsc::Receiver<()>,
    _held: Interrupts,
    /// The beginning of the next line, which the terminal does not hold any more.
    begun: String,
    /// Whether the last key was Ctrl-D.
    was_ended: bool,
    /// Held while a line is read.
    reading: Arc<Mutex<()>>,
    /// Whether a person types, not a file.
    typed: bool,
}

/// The outcome of one reading.
#[derive(Debug, PartialEq, Eq)]
enum ReadOutcome {
    /// An input.
    Whole(Input),
    /// The beginning of a line, behind which a person pressed Ctrl-D.
    Part(String),
}

/// The most bytes of a line that a terminal of Linux passes on.
const PASSED: usize = 4095;

impl Lines {
    /// The standard input, read by a thread of its own: it waits for the next line while a
    /// question is withdrawn and another shown. Called within the runtime, once.
    pub(super) fn stdin() -> Self {
        let typed = io::stdin().is_terminal();
        let (sender, lines) = mpsc::channel(AHEAD);
        let reading = Arc::default();
        let held = Arc::clone(&reading);
        thread::spawn(move || read(&sender, &held, typed));
        let (pressed, interrupts) = mpsc::channel(1);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // Nobody took the last one: whatever goes on does not listen.
                if pressed.try_send(()).is_err() {
                    signals::end(130);
                }
            }
        });
        Self {
            lines,
            pasted: VecDeque::new(),
            interrupts,
            _held: Interrupts::hold(),
            begun: String::new(),
            was_ended: false,
            reading,
            typed,
        }
    }

    /// Returns the next input: Ctrl-C, or a line if those are wanted now. Lines that were pasted together are one,
    /// with line breaks.
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
                // As in a shell, Ctrl-D does not leave a line that was begun; here a second one does.
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

    /// Takes up what a person has begun to type, where something is to be shown below it. What they have entered comes
    /// before that.
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

    /// The beginning of the next line, as far as it was taken up.
    pub(super) fn begun(&self) -> &str {
        &self.begun
    }

    /// Has the lines of a paste taken one by one: gives the first, and the others are the next inputs.
    pub(super) fn one_by_one(&mut self, paste: &str) -> String {
        let mut lines = paste.split('\n').map(str::to_owned);
        let first = lines.next().unwrap_or_default();
        self.pasted.extend(lines);
        first
    }

    /// Forgets what a person typed before being asked, and returns whether there was any of that: it cannot have been
    /// the answer, and neither can a line that was begun, which the terminal still holds. The lines of a file were
    /// written in knowledge of the questions, and stay.
    pub(super) fn forget(&mut self) -> bool {
        if !self.typed {
            return false;
        }
        let reading = self.reading.try_lock();
        let mut was_any = match &reading {
            Ok(_) => !take_begun().is_empty(),
            // A line is on its way.
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

    /// Whether the terminal may have cut a line: it passes on so much of one, and drops the rest. Whether a paste is
    /// longer than what is taken of one, too.
    pub(super) fn was_cut(&self, line: &str) -> bool {
        let is_cut = |line: &str| line.len() >= PASSED;
        self.typed && (line.split('\n').any(is_cut) || line.split('\n').count() > PASTE)
    }

    /// Whether a line has a key in it that a terminal which edits lines does not know: Esc, or an arrow.
    pub(super) fn has_key(&self, line: &str) -> bool {
        self.typed && line.contains('\u{1b}')
    }

    /// Has what a person types be seen, or not.
    pub(super) fn hide(&mut self, hides: bool) {
        match self.typed && hides {
            true => unseen::hide(),
            false => unseen::show(),
        }
    }

    /// Whether a person types, so that what is typed is on the screen already.
    pub(super) fn typed(&self) -> bool {
        self.typed
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        unseen::leave();
    }
}

/// Forgets what was typed before a question that no front end asks, and says so on its page, as a front end would: a yes
/// that was typed before is no answer.
pub fn forget_early(page: &mut Page) {
    if io::stdin().is_terminal() && !take_begun().is_empty() {
        page.note(Style::Warning, EARLY);
    }
    flush();
}

/// Has the terminal forget what was typed and not read yet. One that cannot be told to has nothing that was begun.
fn flush() {
    #[cfg(unix)]
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Takes from the terminal what was typed. It gives a line that was begun only while it does not edit lines, in which
/// nobody else may read.
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

/// How long a line of a terminal is waited for.
#[derive(Clone, Copy)]
enum Patience {
    None,
    /// As long as the next line of a paste takes.
    Paste,
    Endless,
}

/// Whether the terminal has a line to be read. One that cannot be asked says so as it is read.
fn is_line_there(patience: Patience) -> bool {
    #[cfg(unix)]
    {
        let (stdin, now) = (io::stdin(), Timespec::default());
        let patience = match patience {
            Patience::None => Some(&now),
            Patience::Paste => Some(&PASTED),
            Patience::Endless => None,
        };
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], patience).map_or(true, |there| there > 0)
    }
    #[cfg(not(unix))]
    !matches!(patience, Patience::Paste)
}

/// Reads lines. Those of a terminal are read once they are there, so that `reading` is held for no longer than that.
fn read(sender: &mpsc::Sender<ReadOutcome>, reading: &Mutex<()>, typed: bool) {
    let mut stdin = io::stdin().lock();
    loop {
        let _reading = match typed {
            true => {
                is_line_there(Patience::Endless);
                let reading = reading.lock();
                let reading = reading.unwrap_or_else(PoisonError::into_inner);
                // It may have been forgotten.
                if !is_line_there(Patience::None) {
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
            while is_line_there(Patience::Paste) {
                match line(&mut stdin, typed) {
                    // Of one that is not taken no more is kept than what tells that it is too long.
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
            // A file that has ended has ended for good; at a terminal Ctrl-D ends one answer.
            let last = read == ReadOutcome::Whole(Input::End) && !typed;
            if sender.blocking_send(read).is_err() || last {
                return;
            }
        }
    }
}

/// The next line of the input, or its end. A terminal gives each line at once, and a part of one where that has ended by
/// Ctrl-D.
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
                _held: Interrupts::hold(),
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
