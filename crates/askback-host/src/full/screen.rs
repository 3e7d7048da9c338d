//! The screen, its keys and its rows, without a terminal.

use std::time::Duration;

use askback::protocol::CreateMessageResult;

use super::{
    editor::Editor,
    form::{FormOutcome, FormView},
    frame::{Frame, Row, framed_columns, wrapped},
    heading,
    home::{Home, HomeOutcome, entered, one_row},
    key::Key,
    question,
    reading::{Reading, agrees, is_agreement},
    under_way,
};
use crate::{
    command::{self, InputLine, LineMeaning, OfField},
    leaf::Did,
    model::{Action, Cause, Conversation, Desk, Draft, EventOutcome, Front, Step},
    page::{Look, Page, Style},
    text::{self, Words},
    view::{self, Body, Reader},
    wire::MessageSelection,
    words,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

#[derive(Debug)]
pub struct Screen {
    /// The maximum number of characters of a server's text about a question.
    shown: usize,
    reader: Reader,
    /// The question on the screen and its turn.
    seen: Option<(u64, u64)>,
    form: FormView,
    /// A text outside of a form: a reason, an address, a folder, or a reply to a sampling request.
    text: Editor,
    /// The model's reply, before edits.
    replied: Option<CreateMessageResult>,
    home: Home,
    issue: Option<&'static str>,
    is_helping: bool,
    /// The last key, if it would have cancelled or left a question with text of the user.
    leaves: Option<Key>,
    /// The form as it was when its question came to the front.
    begun: Option<Draft>,
    reading: Reading,
    wanted: Option<Wanted>,
    copied: Option<String>,
    wire: Option<MessageSelection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Message,
    Link,
    Code,
}

impl Screen {
    /// Shows at most `shown` characters of a server's text about a question.
    pub fn new(shown: usize, reader: Reader) -> Self {
        Self {
            shown,
            reader,
            seen: None,
            form: FormView::default(),
            text: Editor::default(),
            replied: None,
            home: Home::default(),
            issue: None,
            is_helping: false,
            leaves: None,
            begun: None,
            reading: Reading::default(),
            wanted: None,
            copied: None,
            wire: None,
        }
    }

    /// Whether a command line has been started.
    pub fn has_begun(&self) -> bool {
        self.home.has_begun()
    }

    /// Returns the time after which the screen must be drawn again, because Tab then takes the suggestion on it.
    pub fn settles_after(&self) -> Option<Duration> {
        self.form.settles_after()
    }

    /// Takes the link to copy to the clipboard.
    pub fn take_copied(&mut self) -> Option<String> {
        self.copied.take()
    }

    /// Records the outcome of an event, and puts the scrollback's lines about it on the page.
    pub fn happened(&mut self, desk: &Desk, happened: &EventOutcome, page: &mut Page) {
        question::kept(desk, happened, self.replied.as_ref(), page);
        let is_seen = |front: &Front<'_>| Some((front.id, front.turn)) == self.seen;
        let Some(front) = desk.front().filter(is_seen) else {
            return;
        };
        let is_elsewhere = happened.cause == Cause::Elsewhere;
        match front.step {
            Step::Filling(draft) if is_elsewhere => self.form.retyped(draft),
            // The form could not be submitted.
            Step::Filling(draft) if front.issue.is_some() => self.form.stays(draft),
            step if is_elsewhere => self.take_text(step),
            _ => {}
        }
    }

    /// Puts the question's draft of the text into the editor.
    fn take_text(&mut self, step: &Step) {
        if let Some(so_far) = so_far(step).filter(|so_far| *so_far != self.text.text()) {
            self.text = Editor::new(so_far);
        }
    }

    /// Takes a line that was entered before it was wanted.
    pub fn take_entered(&mut self, prompt: &Words, page: &mut Page) -> Option<Did> {
        let line = self.home.take_entered()?;
        Some(entered(line, prompt, page))
    }

    /// Returns the action that requests suggestions for the first field of a new form.
    pub fn begun(&mut self, desk: &Desk) -> Option<Action> {
        self.look(desk);
        let front = desk.front().filter(Front::suggests)?;
        match front.step {
            Step::Filling(draft) => self.form.suggest(draft),
            _ => None,
        }
    }

    /// `prompt` is set if a line is wanted.
    pub fn press(
        &mut self,
        talk: &Conversation,
        prompt: Option<&Words>,
        key: &Key,
        page: &mut Page,
    ) -> Did {
        let desk = talk.seen();
        self.look(desk);
        self.issue = None;
        let did = match (desk.front(), prompt) {
            (Some(front), _) => {
                let mut said = self.answer(&front, key);
                if said.is_empty() {
                    said.extend(self.draft(front.step));
                }
                match self.wire.take() {
                    Some(shown) => Did::Wire(shown),
                    None if *key == Key::Ctrl('c') && said == [Action::Cancel] => Did::Interrupt,
                    None => Did::Action(said),
                }
            }
            (None, Some(prompt)) => match self.home.press(talk, key) {
                HomeOutcome::Line(line) => entered(line, prompt, page),
                HomeOutcome::Picked(line) => {
                    let columns = page.look().columns.saturating_sub(text::GUTTER.len());
                    let seen = one_row(prompt, &line, columns);
                    page.quote_at(words!("{}> ", prompt.clone()), seen);
                    Did::Line(line)
                }
                HomeOutcome::Leave => Did::End,
                HomeOutcome::Interrupt => Did::Interrupt,
                HomeOutcome::Nothing => Did::Action(Vec::new()),
            },
            (None, None) if *key == Key::Ctrl('c') && self.home.clear() => Did::Action(Vec::new()),
            (None, None) if *key == Key::Ctrl('c') => {
                // Commands that were queued behind it are dropped, too.
                while self.home.take_entered().is_some() {}
                Did::Interrupt
            }
            (None, None) => {
                // A front end that only waits for questions never takes a line.
                if talk.waits_for_server() {
                    self.home.press_ahead(talk, key);
                }
                Did::Action(Vec::new())
            }
        };
        if let (Some(wanted), Some(front)) = (self.wanted.take(), desk.front()) {
            match wanted {
                Wanted::Message => {
                    question::whole(desk, &front, page);
                    if let Step::Filling(draft) = front.step
                        && let Some(description) = self.form.description(draft)
                    {
                        page.quote(description);
                    }
                }
                Wanted::Link => crate::question::link_alone(page, &front),
                Wanted::Code => crate::question::link_code(page, &front),
            }
        }
        did
    }

    /// Resets the state for a new question or step.
    fn look(&mut self, desk: &Desk) {
        let now = desk.front().map(|front| (front.id, front.turn));
        if now == self.seen {
            return;
        }
        let is_new = now.map(|(id, _)| id) != self.seen.map(|(id, _)| id);
        self.seen = now;
        (self.is_helping, self.issue) = (false, None);
        let step = desk.front().map(|front| front.step);
        self.reading = match step {
            // The status of a link comes last, so show the end.
            Some(Step::Opened(_)) => Reading::from_end(),
            _ => Reading::default(),
        };
        if is_new {
            self.form = FormView::default();
            self.reader.reveals = false;
            self.begun = None;
            self.text = Editor::default();
            self.replied = None;
        }
        if let (None, Some(Step::Filling(draft))) = (&self.begun, step) {
            self.begun = Some(draft.clone());
        }
        if now.is_some() {
            self.home.interrupt();
        }
        match step {
            Some(Step::Replied(sampling)) if self.replied.is_none() => {
                self.replied = sampling.reply.clone();
            }
            Some(Step::Running(_)) => self.replied = None,
            _ => {}
        }
        if let Some(step) = step {
            self.take_text(step);
        }
        self.form.reload();
    }

    /// The text under edit, if it differs from the question's draft.
    fn draft(&self, step: &Step) -> Option<Action> {
        let text = self.text.text();
        let is_other = so_far(step).is_some_and(|so_far| so_far != text);
        is_other.then(|| Action::Draft(text.to_owned()))
    }

    /// Whether a cancellation would lose what the user wrote.
    fn has_written(&self, step: &Step) -> bool {
        match step {
            Step::Filling(draft) | Step::Review(draft) => {
                self.begun.as_ref().is_some_and(|begun| begun != draft)
            }
            Step::Write(_) | Step::Reread(..) => !self.text.text().is_empty(),
            _ => false,
        }
    }

    fn answer(&mut self, front: &Front<'_>, key: &Key) -> Vec<Action> {
        let leaves = self.leaves.take();
        let is_text = match front.step {
            Step::Filling(draft) => self.form.text_of(draft).is_some(),
            step => step.is_typed(),
        };
        if *key == Key::F(1) || (*key == Key::Char('?') && !is_text) {
            self.is_helping = !self.is_helping;
            return Vec::new();
        }
        if std::mem::take(&mut self.is_helping) && *key == Key::Esc {
            return Vec::new();
        }
        match key {
            Key::F(4) => {
                self.wanted = Some(Wanted::Message);
                return Vec::new();
            }
            Key::F(2) => {
                self.wire = Some(MessageSelection::Last);
                return Vec::new();
            }
            Key::F(8) => return vec![Action::Mute],
            Key::Ctrl('r') if view::hides_any(front) => {
                self.reader.reveals = !self.reader.reveals;
                return Vec::new();
            }
            Key::Ctrl('d') if !matches!(front.step, Step::Reason(_)) => {
                return vec![Action::Decline(None)];
            }
            _ => {}
        }
        if let Step::Filling(draft) = front.step {
            match self.form.press(front, draft, key) {
                FormOutcome::Action(said) => return said,
                FormOutcome::Command(command) => return self.command(front, &command),
                FormOutcome::Other => {}
            }
        } else if agrees(front.step, key) && !self.reading.is_whole() {
            self.issue = Some("Read to the end first, with ↓, Page Down or End.");
            return Vec::new();
        } else if let Some(said) = self.step(front, key) {
            return said;
        } else if !is_text && self.reading.press(key) {
            return Vec::new();
        }
        match key {
            // If the question stays, Ctrl-C leaves it and Esc cancels it.
            Key::Esc | Key::Ctrl('c')
                if self.has_written(front.step)
                    && leaves
                        .as_ref()
                        .is_none_or(|leaves| leaves != key && front.stays) =>
            {
                self.leaves = Some(key.clone());
                self.issue = Some(match (key, front.stays) {
                    (Key::Ctrl(_), true) => "Press Ctrl-C again to leave. The question stays open.",
                    (Key::Ctrl(_), false) => {
                        "Press Ctrl-C again to cancel. What you typed is then lost."
                    }
                    _ => "Press Esc again to cancel. What you typed is then lost.",
                });
            }
            Key::Esc | Key::Ctrl('c') => return vec![Action::Cancel],
            _ => {}
        }
        Vec::new()
    }

    fn step(&mut self, front: &Front<'_>, key: &Key) -> Option<Vec<Action>> {
        let one = |said| Some(vec![said]);
        // Where a text is typed, other keys may belong to it.
        let labelled = match key {
            Key::Ctrl(letter) => view::on_key(front, &format!("^{}", letter.to_ascii_uppercase())),
            Key::Enter if !front.step.is_typed() => view::on_key(front, "Enter"),
            Key::Char(c) if !front.step.is_typed() => view::on_key(front, &c.to_string()),
            _ => None,
        };
        if let Some(action) = labelled {
            return one(action);
        }
        match (front.step, key) {
            (Step::Confirm, Key::Char('y')) => one(Action::Yes),
            (Step::Secret(_) | Step::Confirm, Key::Char('n')) => one(Action::Decline(None)),
            (_, Key::Char('d')) if !front.step.is_typed() => one(Action::Decline(None)),
            (Step::Review(_) | Step::Reread(..), Key::BackTab | Key::Backspace) => {
                one(Action::Back)
            }
            (Step::Write(_), Key::Ctrl('b')) => one(Action::Back),
            (Step::Rewrite(..), Key::Ctrl('s')) => one(Action::Fill(self.text.take())),
            (Step::Rewrite(..), Key::Ctrl('b') | Key::Esc) => {
                self.text.take();
                one(Action::Back)
            }
            (Step::Sure(_), Key::Backspace) => one(Action::Back),
            (Step::Consent(link) | Step::Sure(link) | Step::Opened(link), Key::Char('c')) => {
                self.copied = Some(link.url.clone());
                self.wanted = Some(Wanted::Link);
                Some(Vec::new())
            }
            (Step::Consent(_) | Step::Sure(_) | Step::Opened(_), Key::Char('q')) => {
                self.wanted = Some(Wanted::Code);
                Some(Vec::new())
            }
            (Step::Write(_), Key::Ctrl('s')) => one(Action::Fill(self.text.text().to_owned())),
            (Step::Write(_) | Step::Rewrite(..), Key::Enter | Key::Break) => {
                self.text.insert("\n");
                Some(Vec::new())
            }
            (Step::Reason(_), Key::Enter) => one(Action::Fill(self.text.take())),
            // A second Ctrl-D declines without a reason.
            (Step::Reason(_), Key::Ctrl('d')) if self.text.text().is_empty() => {
                one(Action::Fill(String::new()))
            }
            (Step::Reason(_), Key::Esc) => {
                self.text.take();
                one(Action::Back)
            }
            (Step::Folders(Some(_)), Key::Char('y')) if self.text.text().is_empty() => {
                one(Action::Yes)
            }
            (Step::Folders(_), Key::Char('d' | 'n')) if self.text.text().is_empty() => {
                one(Action::Decline(None))
            }
            (Step::Folders(_) | Step::Returning(_), Key::Enter) => {
                let typed = self.text.text().trim().to_owned();
                if let InputLine::Command(name, rest) = command::typed(&typed) {
                    let command = format!("{name} {rest}");
                    self.text.take();
                    return Some(self.command(front, &command));
                }
                if typed.is_empty() {
                    self.issue = match front.step {
                        Step::Folders(Some(_)) => Some(
                            "Type the path of a folder, or press y for the one that is offered.",
                        ),
                        Step::Folders(None) => Some("Type the path of a folder."),
                        _ => None,
                    };
                    return Some(Vec::new());
                }
                one(match front.step {
                    Step::Returning(_) => Action::Fill(typed),
                    _ => Action::Folder(typed),
                })
            }
            (step, Key::Ctrl('c')) if step.is_typed() && !self.text.text().is_empty() => {
                self.text.take();
                Some(Vec::new())
            }
            (step, key) if step.is_typed() => self.text.press(key).then(Vec::new),
            _ => None,
        }
    }

    fn command(&mut self, front: &Front<'_>, command: &str) -> Vec<Action> {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match command::at_question(front.step, name, rest) {
            LineMeaning::Action(said) => return vec![said],
            LineMeaning::OfField(OfField::Suggest(_)) if !front.suggests() => {
                self.issue = Some(command::UNSUGGESTED);
            }
            LineMeaning::OfField(of) => {
                if let Step::Filling(_) = front.step {
                    return self.form.command(of);
                }
            }
            LineMeaning::Lines => self.issue = Some("Alt-Enter breaks a line"),
            LineMeaning::More => self.wanted = Some(Wanted::Message),
            LineMeaning::Link => self.wanted = Some(Wanted::Link),
            LineMeaning::Code => self.wanted = Some(Wanted::Code),
            LineMeaning::Wire(shown) => self.wire = Some(shown),
            LineMeaning::Help => self.is_helping = true,
            LineMeaning::Unclear(issue) => self.issue = Some(issue),
        }
        Vec::new()
    }
}

/// The question's draft of the text, if this step has one.
fn so_far(step: &Step) -> Option<&str> {
    match step {
        Step::Write(sampling) => Some(&sampling.so_far),
        Step::Rewrite(_, _, text) => Some(text),
        _ => None,
    }
}

impl Screen {
    /// Draws the screen. `prompt` is set if a line is wanted; otherwise `waiting` says what the
    /// user waits for. A settling question shows a notice instead of its keys.
    pub fn frame(
        &mut self,
        talk: &Conversation,
        prompt: Option<&Words>,
        waiting: Option<&Words>,
        size: Size,
        styled: bool,
        is_settling: bool,
    ) -> Frame {
        let desk = talk.seen();
        self.look(desk);
        self.form.pass(desk.front().as_ref(), talk.now());
        let mut frame = Frame::default();
        let columns = size.columns;
        match (desk.front(), prompt) {
            (Some(front), _) => {
                let inner = Size {
                    columns: framed_columns(columns),
                    ..size
                };
                let look = Look {
                    columns: inner.columns,
                    styled,
                };
                self.question(desk, &front, inner, look, is_settling, &mut frame);
                frame.enclose(columns);
            }
            (None, Some(prompt)) => {
                self.home.follow(talk);
                for row in self.home.rows(talk, prompt, size) {
                    frame.push(row);
                }
                if is_settling {
                    frame.push(moment(columns));
                }
            }
            (None, None) => {
                let rows = match talk.under_way() {
                    Some((call, worked)) if call.far.is_some() || waiting.is_some() => {
                        under_way::rows(desk, call, worked, self.home.has_begun(), columns)
                    }
                    _ => waiting.map_or_else(Vec::new, |waiting| {
                        let words = words!("{} Ctrl-C stops it.", waiting.clone());
                        wrapped(Row::new(columns), Style::Dim, words)
                    }),
                };
                for row in rows.into_iter().chain(self.home.ahead(columns)) {
                    frame.push(row);
                }
            }
        }
        // One row stays for the scrollback.
        frame.fit(size.rows.saturating_sub(1).max(1));
        frame
    }

    fn question(
        &mut self,
        desk: &Desk,
        front: &Front<'_>,
        size: Size,
        look: Look,
        is_settling: bool,
        frame: &mut Frame,
    ) {
        let columns = size.columns;
        let view = view::view(desk.asker(), front, self.reader);
        let head = heading::head(&view, look, self.shown, size.rows / 3);
        let (body, focused) = match (&view.body, front.step) {
            (Body::Form(form), Step::Filling(draft)) => {
                let (rows, focused) = self.form.rows(form, draft, columns);
                (rows, Some(focused))
            }
            (Body::Review(form), _) => (question::review(&view, form, look, self.shown), None),
            _ => {
                let rows = question::body(&view, &self.text, look, self.shown);
                let typed_at = rows.iter().position(Row::is_typed_in);
                (rows, typed_at)
            }
        };
        let mut foot = Vec::new();
        let issue = self.issue.map(Words::from).or(view.issue.clone());
        if let Some(issue) = issue {
            foot.extend(question::issue(&issue, columns));
        }
        let keys = |agrees| question::keys(&view, self.is_helping, agrees, columns);
        let room = |keys: &[Row]| {
            let below = foot.len().saturating_add(keys.len());
            size.rows.saturating_sub(1).saturating_sub(below)
        };
        let is_read = is_agreement(front.step);
        let (offered, unread) = (keys(true), keys(false));
        let height = head.height().saturating_add(body.len());
        // The rows stay where they are when the keys change.
        let is_cut = height > room(&offered);
        let room = match is_read && is_cut && unread.len() > offered.len() {
            true => room(&unread),
            false => room(&offered),
        };
        *frame = head;
        let spare = room.saturating_sub(height);
        if spare > 0 && frame.height() > 1 && !body.is_empty() {
            frame.push(Row::new(columns));
        }
        self.reading.put(frame, body, focused, room, columns);
        if spare > 1 {
            frame.push(Row::new(columns));
        }
        let keys = match is_settling {
            true => vec![moment(columns).ours(Style::Dim, "  Esc cancel")],
            false if is_read && !self.reading.is_whole() => unread,
            false => offered,
        };
        let below = size.rows.saturating_sub(1).saturating_sub(room);
        let taken = foot.len().saturating_add(keys.len());
        let left = below.saturating_sub(taken);
        foot.extend((0..left).map(|_| Row::new(columns)));
        for row in foot.into_iter().chain(keys) {
            frame.push(row);
        }
    }
}

fn moment(columns: usize) -> Row {
    Row::new(columns).ours(Style::Dim, "One moment…")
}
