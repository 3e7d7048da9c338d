//! A conversation at the terminal, without the terminal: lines in, text and what was said out.

use super::input::heard;
use crate::{
    command::{self, InputLine, LineMeaning, OfField},
    model::{
        self, Action, Cause, Desk, Effect, EventOutcome, Front, Notice, Reply, Step, Suggestions,
        Why, having, options,
    },
    page::{LookSource, Page, Style},
    question,
    text::Words,
    view::{self, Body, Reader, View},
    wire::MessageSelection,
};

/// The end of a text of several lines.
const END: &str = ".";

/// The words about lines that were typed too early.
pub(super) const EARLY: &str =
    "What you typed came before you can have read this; it was not taken.";

/// How the rest of a message is seen.
const REST: &str = "; /more shows the whole";

/// The questions on a desk, as a conversation in lines.
#[derive(Debug)]
pub struct Dialog {
    page: Page,
    /// The most characters that are put on the page at once of what a server says of a question.
    shown: usize,
    reader: Reader,
    /// The question that the person was shown, its turn, and its field.
    seen: Option<(u64, u64, usize)>,
    /// The field of a form that is asked.
    at: usize,
    /// Whether the review comes after that field, for it was opened again from there.
    reopened: bool,
    /// Whether the person is through with the form, which is yet to be judged.
    submitted: bool,
    /// Whether the prompt is due again, though nothing has changed.
    again: bool,
    /// The lines of a text of several, while it is being written.
    lines: Option<Vec<String>>,
    /// The suggestions that were shown last.
    suggested: Option<Suggestions>,
    /// The messages that the person wants to see.
    wire: Option<MessageSelection>,
}

impl Dialog {
    /// A conversation with nothing said. At most `shown` characters of what a server says of a
    /// question are shown at once.
    pub fn new(look: impl Into<LookSource>, shown: usize) -> Self {
        Self {
            page: Page::new(look),
            shown,
            reader: Reader::default(),
            seen: None,
            at: 0,
            reopened: false,
            submitted: false,
            again: false,
            lines: None,
            suggested: None,
            wire: None,
        }
    }

    /// Takes note of whether the person is at another machine, from which they reached this one.
    #[must_use]
    pub fn from_elsewhere(mut self, is_elsewhere: bool) -> Self {
        self.reader.is_elsewhere = is_elsewhere;
        self
    }

    /// The page, for what is said outside questions.
    pub fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Whether what was typed before cannot be meant for what is about to be shown: another
    /// question, or a step at which a line sends, opens or allows something. A paste of many lines
    /// ends there.
    pub fn is_new(&self, desk: &Desk) -> bool {
        let Some(front) = desk.front() else {
            return false;
        };
        match self.seen {
            Some((id, turn, _)) if id == front.id => !is_text(&front.step) && turn != front.turn,
            _ => true,
        }
    }

    /// Whether a line sends, opens or allows something at the step that is about to be shown, which is another than before.
    pub fn begins_to_send(&self, desk: &Desk) -> bool {
        self.is_new(desk) && desk.front().is_some_and(|front| !is_text(&front.step))
    }

    /// Whether the field that is asked seems to be for a secret.
    pub fn asks_for_secret(&self, desk: &Desk) -> bool {
        let Some(front) = desk.front() else {
            return false;
        };
        let Step::Filling(draft) = front.step else {
            return false;
        };
        let field = draft.fields().get(self.at);
        field.is_some_and(|field| view::is_secret(&front.question.ask, field))
    }

    /// Asks once more for what is wanted, behind what others wrote on the terminal.
    pub fn resume(&mut self) {
        self.page.afresh();
        self.again = true;
    }

    /// Says that what was typed was not taken for an answer to the question in front.
    pub fn was_early(&mut self) {
        self.page.note(Style::Warning, EARLY);
    }

    /// Says that a line came cut from the terminal, and was not taken. A question takes longer texts in another way.
    pub fn ask_for_less(&mut self, is_asking: bool) {
        let words = "The terminal passes on at most 4095 bytes of a line, and a paste has at most 10,000 lines: nothing of it was taken.";
        self.page.item("× ", Style::Warning, words);
        if is_asking {
            self.page.note(Style::Dim, "/lines takes several lines.");
        }
        self.again = true;
    }

    /// Says that a line has a key in it that does nothing where lines are typed, and was not taken.
    pub fn ask_without_keys(&mut self) {
        let words = "Keys such as Esc and the arrows do nothing here: nothing of the line was taken. /help lists what does.";
        self.page.item("× ", Style::Warning, words);
        self.again = true;
    }

    /// Puts the outcome of an event on the page. [`Dialog::show`] puts the question in front there, once all events
    /// are taken in.
    pub fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        let EventOutcome {
            before,
            is_link,
            cause,
            effects,
            ..
        } = happened;
        self.again |= matches!(cause, Cause::Person | Cause::Machine);
        let front = desk.front();
        // A form that cannot be sent goes on at the first wrong field.
        let submitted = std::mem::take(&mut self.submitted);
        if let (true, Some(Step::Filling(draft))) = (submitted, front.map(|front| front.step)) {
            self.at = draft.wrong().unwrap_or(self.at);
        }
        for effect in effects {
            match effect {
                Effect::Tell(notice) => question::notice(&mut self.page, desk.asker(), notice),
                // A question that the person was not asked, or was told about, needs no more words.
                Effect::Answer(id, reply)
                    if !explained(effects)
                        && (*before == Some((*id, false)) || reply.is_refusal()) =>
                {
                    question::answered(&mut self.page, desk.asker(), reply, *is_link);
                }
                // Its result decides what is shown.
                Effect::CheckFolder(_) | Effect::Suggest { .. } => self.again = false,
                Effect::Answer(..) | Effect::Open(_) | Effect::Run(_) | Effect::Remember(_) => {}
            }
        }
    }

    /// Takes the messages that the person wants to see, if they do.
    pub fn take_wire(&mut self) -> Option<MessageSelection> {
        self.wire.take()
    }

    /// Takes in a line that the person wrote: what they say with it.
    pub fn hear(&mut self, desk: &Desk, line: &str) -> Vec<Action> {
        let Some(front) = desk.front() else {
            return Vec::new();
        };
        if let Some((first, rest)) = line.split_once('\n') {
            let is_text = matches!(front.step, Step::Write(_) | Step::Rewrite(..));
            if is_text || self.lines.is_some() {
                return self.hear_paste(desk, &front, line);
            }
            if matches!(heard(&front.step, first), LineMeaning::Lines) {
                return self.hear_paste(desk, &front, rest);
            }
        }
        if let (true, InputLine::Text(text)) = (self.lines.is_some(), command::typed(line)) {
            return self.hear_more(desk, &front, &text);
        }
        match heard(&front.step, line) {
            LineMeaning::Action(said) => {
                self.lines = None;
                return vec![said];
            }
            LineMeaning::OfField(OfField::Suggest(_)) if !front.suggests() => {
                return self.object(command::UNSUGGESTED);
            }
            LineMeaning::OfField(of) => return self.hear_field(desk, &front, of),
            LineMeaning::Lines if matches!(front.step, Step::Write(_) | Step::Rewrite(..)) => {
                return self.hear_more(desk, &front, line);
            }
            LineMeaning::Lines => {
                self.lines = Some(Vec::new());
                self.page
                    .say(Style::Dim, "A line with only a dot ends the text.");
                return Vec::new();
            }
            LineMeaning::More => {
                let view = self.view(desk, &front);
                question::why(&mut self.page, &view, usize::MAX, REST);
            }
            LineMeaning::Link => question::link_alone(&mut self.page, &front),
            LineMeaning::Code => question::link_code(&mut self.page, &front),
            LineMeaning::Wire(shown) => self.wire = Some(shown),
            LineMeaning::Help => {
                let view = self.view(desk, &front);
                question::help(&mut self.page, &view);
            }
            LineMeaning::Unclear(words) => return self.object(words),
        }
        self.again = true;
        Vec::new()
    }

    /// Says why what was typed changes nothing.
    fn object(&mut self, issue: impl Into<Words>) -> Vec<Action> {
        question::issue(&mut self.page, issue.into());
        self.again = true;
        Vec::new()
    }

    /// Takes in what the person said about a field of the form.
    fn hear_field(&mut self, desk: &Desk, front: &Front<'_>, of: OfField) -> Vec<Action> {
        let field = self.at;
        let (Step::Filling(draft) | Step::Review(draft)) = front.step else {
            return Vec::new();
        };
        let mut said = Vec::new();
        let mut count = draft.fields().len();
        match of {
            OfField::Is(text) => match draft.read(field, &text) {
                Ok(_) => {
                    // A list has room for one item more then.
                    count = draft.with(field, text.clone()).fields().len();
                    said.push(Action::Write { field, text });
                }
                Err(issue) => {
                    if let Body::Form(form) = self.view(desk, front).body {
                        let found = having(options(&draft.fields()[field]), text.trim());
                        question::options_with(&mut self.page, &form.fields[field], found);
                    }
                    return self.object(issue);
                }
            },
            OfField::Keep => {
                if let Some(issue) = draft.issue(field) {
                    return self.object(issue);
                }
            }
            OfField::Clear if draft.fields()[field].required => {
                return self.object(model::missing(&draft.fields()[field]));
            }
            OfField::Clear => said.push(Action::Clear(field)),
            OfField::Fold => {
                self.at = draft.first_of(field);
                // The same field is asked in another way.
                (self.seen, self.again) =
                    (self.seen.map(|(id, turn, _)| (id, turn, usize::MAX)), true);
                return vec![Action::Fold(field)];
            }
            OfField::Suggest(text) => return vec![Action::Suggest { field, text }],
            OfField::Before if self.reopened => {}
            OfField::Last => {
                self.submitted = true;
                return vec![Action::Submit];
            }
            OfField::Before => match field.checked_sub(1) {
                Some(before) => {
                    self.at = before;
                    return said;
                }
                None => return self.object("this is the first field"),
            },
            OfField::Reopen(field) => {
                (self.at, self.reopened) = (field, true);
                return vec![Action::Back];
            }
        }
        let next = field.saturating_add(1);
        if self.reopened || next >= count {
            self.submitted = true;
            said.push(Action::Submit);
        } else {
            self.at = next;
        }
        said
    }

    /// Takes in lines that were pasted where a text of several is written. The dot that ends it is not among them.
    fn hear_paste(&mut self, desk: &Desk, front: &Front<'_>, lines: &str) -> Vec<Action> {
        let (lines, is_ended) = match lines.strip_suffix("\n.") {
            Some(lines) => (lines, true),
            None => (lines, false),
        };
        let text = self.lines.get_or_insert_default();
        text.extend(lines.split('\n').map(str::to_owned));
        match is_ended {
            true => self.hear_more(desk, front, END),
            false => Vec::new(),
        }
    }

    fn hear_more(&mut self, desk: &Desk, front: &Front<'_>, line: &str) -> Vec<Action> {
        let lines = self.lines.get_or_insert_default();
        if line.trim_end() != END {
            lines.push(line.to_owned());
            return Vec::new();
        }
        let text = self.lines.take().unwrap_or_default().join("\n");
        match front.step {
            Step::Filling(_) => self.hear_field(desk, front, OfField::Is(text)),
            _ => vec![Action::Fill(text)],
        }
    }

    /// Puts on the page what is suggested, if that is new; says whether it is.
    fn suggest(&mut self, front: &Front<'_>, view: &View) -> bool {
        if front.suggested == self.suggested.as_ref() {
            return false;
        }
        self.suggested = front.suggested.cloned();
        if let Body::Form(form) | Body::Review(form) = &view.body
            && let Some(suggested) = &form.suggested
        {
            question::suggestions(&mut self.page, suggested);
        }
        true
    }

    fn view(&self, desk: &Desk, front: &Front<'_>) -> View {
        view::view(desk.asker(), front, self.reader)
    }

    /// Puts on the page what is new about the question in front. One that is settling has no prompt yet.
    pub fn show(&mut self, desk: &Desk, is_settling: bool) {
        let again = std::mem::take(&mut self.again);
        let Some(front) = desk.front() else {
            self.seen = None;
            self.lines = None;
            self.suggested = None;
            return;
        };
        let view = self.view(desk, &front);
        let again = self.suggest(&front, &view) || again;
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
            if let Body::Link(link) = &view.body
                && let Some(words) = &link.unfinished
            {
                question::unfinished(&mut self.page, link, words);
            } else {
                question::head(&mut self.page, &view);
                question::why(&mut self.page, &view, self.shown, REST);
            }
        }
        if before != Some(now) {
            question::step(&mut self.page, &view, self.at);
        }
        if is_settling {
            self.again = true;
            return;
        }
        question::ask(&mut self.page, &view, self.at);
    }
}

/// Whether a text is written at a step.
fn is_text(step: &Step<'_>) -> bool {
    matches!(
        step,
        Step::Filling(_) | Step::Write(_) | Step::Rewrite(..) | Step::Reason
    )
}

/// Whether something else says already what became of the question: that too many wait, or that no more are wanted, is
/// said once.
fn explained(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Open(_)
                | Effect::Answer(_, Reply::Cancelled(Why::Flood | Why::Muted | Why::Stopped))
                | Effect::Tell(Notice::LinkRefused { .. })
        )
    })
}
