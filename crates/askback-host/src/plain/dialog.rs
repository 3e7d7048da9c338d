//! A conversation at the terminal, without the terminal: lines in, text and effects out.

use super::{
    input::{Heard, OfField, heard},
    screen,
};
use crate::{
    command::{self, Typed},
    model::{Asker, Desk, Effect, Event, Notice, Said, Step},
    page::{LookSource, Page, Style},
    text::Words,
};

/// The end of a text of several lines.
const END: &str = ".";

/// The desk of one server, as a conversation in lines.
#[derive(Debug)]
pub struct Dialog {
    desk: Desk,
    asker: Asker,
    page: Page,
    /// The most characters that are put on the page at once of what a server says of a question.
    shown: usize,
    /// The question that the person was shown, its turn, and its field.
    seen: Option<(u64, u64, usize)>,
    /// The field of a form that is asked.
    at: usize,
    /// Whether the review comes after that field, for it was opened again from there.
    reopened: bool,
    /// Whether the prompt is due again, though nothing has changed.
    again: bool,
    /// Whether the question before went away by itself.
    overtaken: bool,
    /// The lines of a text of several, while it is being written.
    lines: Option<Vec<String>>,
}

impl Dialog {
    /// A conversation with nothing said. At most `shown` characters of what a server says of a
    /// question are shown at once.
    pub fn new(desk: Desk, asker: Asker, look: impl Into<LookSource>, shown: usize) -> Self {
        Self {
            desk,
            asker,
            page: Page::new(look),
            shown,
            seen: None,
            at: 0,
            reopened: false,
            again: false,
            overtaken: false,
            lines: None,
        }
    }

    /// The desk.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The desk, to be changed from outside a question.
    pub fn desk_mut(&mut self) -> &mut Desk {
        &mut self.desk
    }

    /// Returns the asker.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns the asker, to be filled in when the server has sent its name.
    pub fn asker_mut(&mut self) -> &mut Asker {
        &mut self.asker
    }

    /// The page, for what is said outside questions.
    pub fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Whether the person is being asked something.
    pub fn is_asking(&self) -> bool {
        self.desk.front().is_some()
    }

    /// Whether the question in front is one the person has not been shown.
    pub fn is_new(&self) -> bool {
        let front = self.desk.front();
        front.is_some_and(|front| self.seen.is_none_or(|(id, ..)| id != front.id))
    }

    /// Whether the person may still be answering another, which went away by itself; said once.
    pub fn take_overtaken(&mut self) -> bool {
        std::mem::take(&mut self.overtaken)
    }

    /// Says that what was typed was not taken for an answer to the question in front.
    pub fn ask_again(&mut self) {
        let words =
            "This is another question than the one before: please read it, and answer again.";
        self.page.note(Style::Warning, words);
        self.again = true;
    }

    /// Takes in what happened, and puts on the page what became of it. What is asked now is put
    /// there by [`Dialog::show`], once all that has happened is taken in.
    pub fn take(&mut self, event: Event) -> Vec<Effect> {
        self.again |= matches!(event, Event::Said(_) | Event::Folder(_));
        let front = self.desk.front();
        let asked = front.map(|front| (front.id, front.question.ask.is_ours()));
        let by_itself = matches!(event, Event::Withdrawn(_) | Event::Settled(_));
        let effects = self.desk.update(event);
        let now = self.desk.front().map(|front| front.id);
        let was_asked = asked.map(|(id, _)| id);
        self.overtaken |= by_itself && was_asked.is_some() && now != was_asked;
        for effect in &effects {
            match effect {
                Effect::Tell(notice) => screen::notice(&mut self.page, &self.asker, notice),
                // What the person was not asked, or is told already, needs no more words.
                Effect::Answer(id, reply)
                    if !explained(&effects)
                        && (asked == Some((*id, false)) || reply.is_refusal()) =>
                {
                    screen::answered(&mut self.page, &self.asker, reply);
                }
                // A folder is looked at first; what comes of it decides what is shown.
                Effect::CheckFolder(_) => self.again = false,
                Effect::Answer(..) | Effect::Open(_) => {}
            }
        }
        effects
    }

    /// Takes in a line that the person wrote.
    pub fn hear(&mut self, line: &str) -> Vec<Effect> {
        let Some(front) = self.desk.front() else {
            return Vec::new();
        };
        if let (true, Typed::Text(text)) = (self.lines.is_some(), command::typed(line)) {
            return self.hear_more(&text);
        }
        match heard(&front.step, line) {
            Heard::Said(said) => {
                self.lines = None;
                return self.take(Event::Said(said));
            }
            Heard::OfField(of) => return self.hear_field(of),
            Heard::Lines if front.step == Step::Write => return self.hear_more(line),
            Heard::Lines => {
                self.lines = Some(Vec::new());
                self.page
                    .say(Style::Dim, "A line with only a dot ends the text.");
                return Vec::new();
            }
            Heard::More => screen::why(&mut self.page, front.question, usize::MAX),
            Heard::Link => screen::link_alone(&mut self.page, &front),
            Heard::Help => screen::help(&mut self.page),
            Heard::Unclear(words) => return self.object(words),
        }
        self.again = true;
        Vec::new()
    }

    /// Says why what was typed changes nothing.
    fn object(&mut self, issue: impl Into<Words>) -> Vec<Effect> {
        screen::issue(&mut self.page, issue.into());
        self.again = true;
        Vec::new()
    }

    /// Takes in what the person said about a field of the form.
    fn hear_field(&mut self, of: OfField) -> Vec<Effect> {
        let field = self.at;
        let draft = match self.desk.front().map(|front| front.step) {
            Some(Step::Filling(draft) | Step::Review(draft)) => draft,
            _ => return Vec::new(),
        };
        let said = match of {
            OfField::Is(text) => match draft.read(field, &text) {
                Ok(_) => Some(Said::Write { field, text }),
                Err(issue) => return self.object(issue),
            },
            OfField::Keep => match draft.issue(field) {
                None => None,
                Some(issue) => return self.object(issue),
            },
            OfField::Clear if draft.fields()[field].required => {
                return self.object("must be given");
            }
            OfField::Clear => Some(Said::Clear(field)),
            OfField::Before if self.reopened => None,
            OfField::Before => match field.checked_sub(1) {
                Some(before) => {
                    self.at = before;
                    return Vec::new();
                }
                None => return self.object("this is the first field"),
            },
            OfField::Reopen(field) => {
                (self.at, self.reopened) = (field, true);
                return self.take(Event::Said(Said::Back));
            }
        };
        let fields = draft.fields().len();
        if let Some(said) = said {
            self.take(Event::Said(said));
        }
        let next = field.saturating_add(1);
        if !self.reopened && next < fields {
            self.at = next;
            return Vec::new();
        }
        let effects = self.take(Event::Said(Said::Submit));
        if let Some(Step::Filling(draft)) = self.desk.front().map(|front| front.step) {
            self.at = draft.wrong().unwrap_or_default();
        }
        effects
    }

    fn hear_more(&mut self, line: &str) -> Vec<Effect> {
        let lines = self.lines.get_or_insert_default();
        if line.trim_end() != END {
            lines.push(line.to_owned());
            return Vec::new();
        }
        let text = self.lines.take().unwrap_or_default().join("\n");
        match self.desk.front().map(|front| front.step) {
            Some(Step::Filling(_)) => self.hear_field(OfField::Is(text)),
            _ => self.take(Event::Said(Said::Fill(text))),
        }
    }

    /// Puts on the page what is new about the question in front.
    pub fn show(&mut self) {
        let again = std::mem::take(&mut self.again);
        let Some(front) = self.desk.front() else {
            self.seen = None;
            self.lines = None;
            return;
        };
        if self.seen.is_none_or(|(id, ..)| id != front.id) {
            (self.at, self.reopened) = (0, false);
        }
        let now = (front.id, front.turn, self.at);
        let before = self.seen.replace(now);
        if before == Some(now) && !again {
            return;
        }
        if before.is_none_or(|(id, ..)| id != front.id) {
            self.lines = None;
            let of = (front.position, front.total);
            screen::head(&mut self.page, &self.asker, front.question, of);
            screen::why(&mut self.page, front.question, self.shown);
        }
        if before != Some(now) {
            screen::step(&mut self.page, &self.asker, &front, self.at);
        }
        if let Some(issue) = front.issue {
            screen::issue(&mut self.page, issue.clone());
        }
        screen::ask(&mut self.page, &front, self.at);
    }
}

/// Whether something else says already what became of the question.
fn explained(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Open(_)
                | Effect::Tell(Notice::Muted | Notice::Flood | Notice::LinkRefused { .. })
        )
    })
}
