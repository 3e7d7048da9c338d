//! The terminal front end: the dialog, and the lines that the user types.

use std::{
    collections::VecDeque,
    task::{Context, Poll},
};

use askback::witness::Renderer;
#[cfg(unix)]
use rustix::process::Signal;
#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind, signal};

use super::{Dialog, lines::Lines};
use crate::{
    browser,
    command::{self, InputLine},
    host::Input,
    leaf::{Did, Leaf, LinkOpening},
    model::{Conversation, Desk, EventOutcome, Step},
    page::{Page, Style, out},
    remarks::{Remark, Remarks},
    settling::Settling,
    text::{Words, given, hidden},
    view::Reader,
};

/// The maximum number of server remarks kept while the user answers a question. The oldest are
/// dropped.
const HELD: usize = 100;

const CUT: &str = "The terminal passes on at most 4095 bytes of a line, and a paste has at most 10,000 lines: all of it was ignored.";

const HAS_KEYS: &str = "Keys such as Esc and the arrows do nothing here. The line was ignored. /help lists the commands.";

/// A terminal or a file of lines. It shows one question after another.
#[derive(Debug)]
pub struct Plain {
    dialog: Dialog,
    lines: Lines,
    /// Sent when a shell resumes the stopped program.
    #[cfg(unix)]
    resumed: Option<unix::Signal>,
    /// Remarks that arrived while the user was busy, with the name of each server.
    held: VecDeque<(Words, Remark)>,
    is_prompting: bool,
    /// Whether the prompt is the last thing on the screen.
    is_prompted: bool,
    settling: Settling,
    /// Whether a line was rejected because the question was too new.
    was_early: bool,
    is_secret: bool,
    is_hiding: bool,
}

impl Plain {
    /// Opens the terminal. Must be called within the runtime. At first it shows up to `shown`
    /// characters of a server's text about a question.
    pub fn new(shown: usize) -> Self {
        Self {
            dialog: Dialog::new(out::stderr_page(), shown, Reader::here()),
            lines: Lines::stdin(),
            #[cfg(unix)]
            resumed: signal(SignalKind::from_raw(Signal::CONT.as_raw())).ok(),
            held: VecDeque::new(),
            is_prompting: false,
            is_prompted: false,
            settling: Settling::default(),
            was_early: false,
            is_secret: false,
            is_hiding: false,
        }
    }

    /// Whether a line cannot be meant for what is on the screen.
    fn takes_none(&self, desk: &Desk) -> bool {
        match desk.front() {
            Some(_) => self.settling.goes_on() || self.settling.is_unseen(desk),
            None => self.settling.is_for_what_is_gone(),
        }
    }

    fn leave_prompt(&mut self) {
        if std::mem::take(&mut self.is_prompted) {
            self.lines.take_up();
            self.dialog.page().blank();
        }
    }

    /// Writes to the page what a terminal echoes by itself. If the terminal has done so, the page
    /// continues at the left edge.
    fn echo(&mut self, input: &Input) {
        self.is_prompted = false;
        match input {
            Input::Line(line) if !self.lines.typed() => {
                let is_command = matches!(command::typed(line), InputLine::Command(..));
                let words = match self.is_secret && !is_command {
                    true => given(hidden(line)),
                    false => given(line),
                };
                self.dialog.page().say(Style::Plain, words);
            }
            Input::Line(_) => self.dialog.page().afresh(),
            Input::End | Input::Interrupt => self.dialog.page().blank(),
        }
    }
}

impl Leaf for Plain {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        let desk = talk.seen();
        #[cfg(unix)]
        if self.lines.typed()
            && let Some(resumed) = &mut self.resumed
            && resumed.poll_recv(context).is_ready()
        {
            // The shell has written below the prompt, and the terminal has dropped the unfinished
            // line.
            self.is_prompted = false;
            self.dialog.resume();
            return Poll::Ready(Did::Action(Vec::new()));
        }
        while self.settling.poll_over(context).is_ready() {
            if self.lines.forget() {
                // A user who is typing has not read the question yet.
                self.was_early = true;
                self.settling.begin();
                continue;
            }
            if std::mem::take(&mut self.was_early) {
                self.dialog.was_early();
            }
            return Poll::Ready(Did::Action(Vec::new()));
        }
        let is_asking = desk.front().is_some();
        let wanted = match desk.front().map(|front| front.step) {
            // A file does not know how long a model takes.
            Some(Step::Running(_)) => self.lines.typed(),
            Some(_) => true,
            None => self.is_prompting,
        };
        let Poll::Ready(input) = self.lines.poll_next(wanted, context) else {
            return Poll::Pending;
        };
        // If nothing asked for input, the input did not answer anything.
        if is_asking || self.is_prompting {
            self.echo(&input);
        }
        Poll::Ready(match input {
            Input::Line(_) if self.lines.typed() && self.takes_none(desk) => {
                self.settling.pressed();
                self.was_early = true;
                Did::Action(Vec::new())
            }
            Input::Line(line) if self.lines.was_cut(&line) => {
                let said = self.dialog.object(CUT);
                if is_asking {
                    let words = "/lines takes several lines.";
                    self.dialog.page().note(Style::Dim, words);
                }
                Did::Action(said)
            }
            Input::Line(line) if self.lines.has_key(&line) => {
                Did::Action(self.dialog.object(HAS_KEYS))
            }
            Input::Line(line) if is_asking => {
                let said = self.dialog.hear(desk, &line);
                self.dialog.take_wire().map_or(Did::Action(said), Did::Wire)
            }
            Input::Line(line) => {
                out::tell(self.dialog.page());
                Did::Line(self.lines.one_by_one(&line))
            }
            Input::End => Did::End,
            Input::Interrupt => Did::Interrupt,
        })
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.leave_prompt();
        self.settling.happened(desk, happened.cause);
        self.dialog.happened(desk, happened);
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        if desk.front().is_none() {
            self.leave_prompt();
        }
        let name = given(&desk.asker().name).short();
        self.held.push_back((name, remark));
        match self.held.len() > HELD {
            true => self.held.pop_front().map(|(_, remark)| remark),
            false => None,
        }
    }

    fn open(&mut self, url: &str) -> LinkOpening {
        let page = self.dialog.page();
        match browser::open(url) {
            Ok(()) => {
                page.say(Style::Plain, "Opened in your browser.");
                LinkOpening::Started
            }
            Err(error) => {
                error.put(page);
                page.say(Style::Plain, "/link shows the link alone, to be copied.");
                LinkOpening::Failed
            }
        }
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        let desk = talk.seen();
        self.is_prompting = prompt.is_some();
        if desk.front().is_none() {
            for (name, remark) in std::mem::take(&mut self.held) {
                Remarks::put(self.dialog.page(), &name, remark);
            }
        }
        let is_new = self.dialog.is_new(desk);
        let begins_to_send = self.dialog.begins_to_send(desk);
        let was_early = (is_new || self.settling.is_for_what_is_gone()) && self.lines.forget();
        if self.lines.typed() {
            self.settling.show(desk, false);
            if begins_to_send {
                // A paste may arrive in parts, and the next part would send.
                self.settling.begin();
            }
        }
        match self.settling.goes_on() {
            true => self.was_early |= was_early,
            false if was_early => self.dialog.was_early(),
            false => {}
        }
        self.dialog.show(desk, self.settling.goes_on());
        self.is_secret = self.dialog.asks_for_secret(desk);
        // Text typed while the secret's field closes may be part of the secret.
        self.is_hiding = self.is_secret || self.is_hiding && self.settling.goes_on();
        self.lines.hide(self.is_hiding);
        let is_prompted = self.is_prompted || self.settling.goes_on();
        if let (Some(prompt), None, false) = (prompt, desk.front(), is_prompted) {
            let begun = self.lines.begun();
            if !begun.is_empty() {
                let words = "Ctrl-C drops what you have begun to type.";
                self.dialog.page().note(Style::Dim, words);
            }
            // Printed separately, so that the text above is wrapped first.
            out::tell(self.dialog.page());
            self.dialog.page().prompt(prompt.clone());
            self.dialog.page().begun(given(begun));
            self.is_prompted = true;
        }
        out::tell(self.dialog.page());
    }

    fn page(&mut self) -> &mut Page {
        self.leave_prompt();
        self.dialog.page()
    }

    fn renderer(&self) -> Renderer {
        Renderer::Lines
    }

    fn is_person(&self) -> bool {
        self.lines.typed()
    }
}
