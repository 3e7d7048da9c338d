//! The terminal itself: the dialog joined to the lines of a person and to the client.

use std::{
    collections::{HashMap, VecDeque},
    path::Path,
};

use askback::client::Event;
use askback_core::limits::Limits;
use tokio::{sync::oneshot, time::Instant};

use super::{
    Dialog,
    lines::{Input, Lines},
    remarks::{Remark, Remarks},
};
use crate::{
    Interrupted, folder,
    model::{Effect, Event as Happens, Question, Reply, Said},
    page::{Style, out},
    relay::{Arrival, Arrivals},
    text::{Given, Words, given},
};

/// The most remarks of a server kept while the person answers a question; older ones are dropped.
const HELD: usize = 100;

/// The number of the questions we ask ourselves. The relay's count up from nought.
const OURS: u64 = u64::MAX;

/// A terminal with a person at it.
#[derive(Debug)]
pub struct Terminal {
    dialog: Dialog,
    lines: Lines,
    arrivals: Arrivals,
    /// Where the replies to open questions go.
    replies: HashMap<u64, oneshot::Sender<Reply>>,
    /// The server's remarks while the person was busy.
    held: VecDeque<Remark>,
    /// The server's remarks so far.
    remarks: Remarks,
    /// From when the time of remarks is counted.
    began: Instant,
    /// The reply to our own question.
    ours: Option<Reply>,
}

impl Terminal {
    /// A terminal, from within the runtime.
    pub fn new(dialog: Dialog, arrivals: Arrivals, limits: &Limits) -> Self {
        Self {
            dialog,
            lines: Lines::stdin(),
            arrivals,
            replies: HashMap::new(),
            held: VecDeque::new(),
            remarks: Remarks::new(limits),
            began: Instant::now(),
            ours: None,
        }
    }

    /// The dialog.
    pub fn dialog(&mut self) -> &mut Dialog {
        &mut self.dialog
    }

    /// Tells of changed lists from now on.
    pub fn tell_of_lists(&mut self) {
        self.remarks.lists = true;
    }

    /// Whether a person types, and not a file.
    pub fn typed(&self) -> bool {
        self.lines.typed()
    }

    /// Waits for `work`, and puts the questions that arrive meanwhile to the person.
    ///
    /// # Errors
    ///
    /// If the person interrupts the work; it is dropped then.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let mut work = std::pin::pin!(work);
        loop {
            self.flush();
            let asking = self.dialog.is_asking();
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                input = self.lines.next(asking) => match input {
                    Input::Interrupt if !asking => {
                        return Err(Interrupted);
                    }
                    input => self.input(input),
                },
                done = &mut work => {
                    self.catch_up();
                    return Ok(done);
                }
            }
        }
    }

    /// Asks for a line behind `prompt`. What the server says and asks meanwhile comes first.
    pub async fn read(&mut self, prompt: &Words) -> Input {
        let mut shown = false;
        loop {
            self.flush();
            let asking = self.dialog.is_asking();
            if !asking && !shown {
                self.sum_up();
                self.flush();
                self.dialog.page().prompt(prompt.clone());
                self.flush();
            }
            shown = !asking;
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => {
                    let is_remark = is_remark(&arrival);
                    if shown && !is_remark {
                        self.dialog.page().blank();
                    }
                    self.arrive(arrival);
                    // What is not shown leaves the prompt where it is.
                    if is_remark && self.held.is_empty() {
                        continue;
                    }
                    if shown && is_remark {
                        self.dialog.page().blank();
                    }
                    shown = false;
                }
                input = self.lines.next(true) => {
                    if asking {
                        self.input(input);
                        continue;
                    }
                    self.echo(&input);
                    self.flush();
                    return input;
                }
            }
        }
    }

    /// Lets the person fill in a form of our own; none if that was cancelled.
    pub async fn fill(&mut self, question: Question) -> Option<Reply> {
        self.happen(Happens::Asked(OURS, question));
        while self.ours.is_none() {
            self.flush();
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                input = self.lines.next(true) => self.input(input),
            }
        }
        self.flush();
        self.ours.take().filter(|reply| !reply.is_refusal())
    }

    /// Writes what is on the page.
    pub fn flush(&mut self) {
        if !self.dialog.is_asking() {
            let name = self.name();
            for remark in std::mem::take(&mut self.held) {
                Remarks::put(self.dialog.page(), &name, remark);
            }
        }
        if self.dialog.is_new() {
            match self.dialog.take_overtaken() {
                true => self.lines.forget_overtaken(),
                false => self.lines.forget(),
            }
        }
        self.dialog.show();
        out::tell(self.dialog.page());
    }

    /// The name that the person gave the server.
    fn name(&self) -> Given {
        given(&self.dialog.asker().name).short()
    }

    /// Tells how much was left out of what the server said, once in a while.
    fn sum_up(&mut self) {
        self.held.extend(self.remarks.sum_up());
    }

    /// Tells how much was left out of what the server said, at the end.
    pub fn end(&mut self) {
        self.held.extend(self.remarks.all_left_out());
        self.flush();
    }

    /// Takes in what has arrived already.
    fn catch_up(&mut self) {
        while let Ok(arrival) = self.arrivals.try_recv() {
            self.arrive(arrival);
        }
        self.sum_up();
        self.flush();
    }

    fn arrive(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Asked {
                id,
                claims,
                question,
                reply,
            } => {
                if claims.is_some() {
                    self.dialog.asker_mut().claims = claims;
                }
                self.replies.insert(id, reply);
                self.happen(Happens::Asked(id, *question));
            }
            Arrival::Withdrawn(id) => {
                self.replies.remove(&id);
                self.happen(Happens::Withdrawn(id));
            }
            Arrival::Settled(id) => {
                self.replies.remove(&id);
                self.happen(Happens::Settled(id));
            }
            Arrival::Heard(Event::UrlCompleted { elicitation_id }) => {
                self.happen(Happens::LinkDone(elicitation_id));
            }
            Arrival::Told(words) => {
                self.dialog.page().say(Style::Plain, words);
            }
            Arrival::Heard(event) => {
                for remark in self.remarks.hear(event, self.began.elapsed()) {
                    if self.held.len() >= HELD {
                        self.held.pop_front();
                        self.remarks.leave_out();
                    }
                    self.held.push_back(remark);
                }
            }
        }
    }

    fn input(&mut self, input: Input) {
        self.echo(&input);
        match input {
            Input::Line(_) if self.lines.was_early() => self.dialog.ask_again(),
            Input::Line(line) => {
                let effects = self.dialog.hear(&line);
                self.carry_out(effects);
            }
            Input::End => self.happen(Happens::EndOfInput),
            Input::Interrupt => self.happen(Happens::Said(Said::Cancel)),
        }
    }

    fn happen(&mut self, event: Happens) {
        let effects = self.dialog.take(event);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Answer(OURS, reply) => self.ours = Some(reply),
                Effect::Answer(id, reply) => {
                    if let Some(waiting) = self.replies.remove(&id) {
                        // Withdrawn at the same moment: nobody waits for it.
                        let _ = waiting.send(reply);
                    }
                }
                Effect::Open(url) => self.open(&url),
                Effect::CheckFolder(path) => {
                    let found = folder::root(Path::new(&path));
                    self.happen(Happens::Folder(found));
                }
                Effect::Tell(_) => {}
            }
        }
    }

    fn open(&mut self, url: &str) {
        let page = self.dialog.page();
        match webbrowser::open(url) {
            Ok(()) => page.say(Style::Plain, "Opened in your browser."),
            Err(error) => {
                page.item("× ", Style::Warning, "no browser could be opened:");
                // The link may stand in it.
                page.quote_at("  ", error.to_string());
                page.say(
                    Style::Plain,
                    "Open the link above yourself; /link shows it alone, to be copied.",
                );
            }
        }
    }

    /// Puts on the page what a terminal would show of the input by itself; where it has done so, the
    /// page goes on at the left edge.
    fn echo(&mut self, input: &Input) {
        match input {
            Input::Line(line) if !self.lines.typed() => {
                self.dialog.page().say(Style::Plain, given(line));
            }
            Input::Line(_) => self.dialog.page().afresh(),
            Input::End | Input::Interrupt => self.dialog.page().blank(),
        }
    }
}

/// Whether something that arrived is a remark, which is held until it can be shown.
fn is_remark(arrival: &Arrival) -> bool {
    matches!(arrival, Arrival::Heard(event) if !matches!(event, Event::UrlCompleted { .. }))
}
