//! The line dialog without the terminal: lines in; text and actions out.

use crate::{
    command::{self, InputLine, LineMeaning, OfField},
    model::{
        self, Action, Cause, Desk, Effect, EventOutcome, Front, Notice, Permission, Reply, Step,
        Suggestions, Why, having, options,
    },
    page::{Page, Style},
    question,
    text::Words,
    view::{self, Body, Reader, View},
    wire::MessageSelection,
};

const END: &str = ".";

pub(super) const EARLY: &str =
    "You typed this before you can have read the question; it was ignored.";

const REST: &str = "; /more shows the whole";

/// A conversation in lines about the questions of a desk.
#[derive(Debug)]
pub struct Dialog {
    page: Page,
    /// How many characters of a server's text about a question are shown at first.
    shown: usize,
    reader: Reader,
    /// The question that was shown last, its turn, and its field.
    seen: Option<(u64, u64, usize)>,
    at: usize,
    /// Whether the field was reopened from the review, so that the review is next.
    reopened: bool,
    /// Whether the user submitted the form, and the result is not known yet.
    submitted: bool,
    /// Whether to print the prompt again, even if nothing has changed.
    again: bool,
    lines: Option<Vec<String>>,
    suggested: Option<Suggestions>,
    wire: Option<MessageSelection>,
}

impl Dialog {
    /// At first it shows up to `shown` characters of a server's text about a question.
    pub fn new(page: Page, shown: usize, reader: Reader) -> Self {
        Self {
            page,
            shown,
            reader,
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

    pub fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Whether earlier typing cannot be meant for what is shown next: another question, or a step
    /// at which a line sends, opens or allows something. A multi-line paste ends there.
    pub fn is_new(&self, desk: &Desk) -> bool {
        let Some(front) = desk.front() else {
            return false;
        };
        match self.seen {
            Some((id, turn, _)) if id == front.id => !is_text(front.step) && turn != front.turn,
            _ => true,
        }
    }

    /// Whether the next step is new, and a line at it sends, opens or allows something.
    pub fn begins_to_send(&self, desk: &Desk) -> bool {
        self.is_new(desk) && desk.front().is_some_and(|front| !is_text(front.step))
    }

    /// Whether the current field seems to ask for a secret.
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

    /// Prints the prompt again after other programs wrote to the terminal.
    pub fn resume(&mut self) {
        self.page.afresh();
        self.again = true;
    }

    /// Says that a line was typed too early to be an answer to the question in front.
    pub fn was_early(&mut self) {
        self.page.note(Style::Warning, EARLY);
    }

    /// Rejects a line, and asks again.
    pub(super) fn object(&mut self, issue: impl Into<Words>) -> Vec<Action> {
        question::issue(&mut self.page, issue.into());
        self.again = true;
        Vec::new()
    }

    /// Writes the outcome of an event to the page. After all events, [`Dialog::show`] writes the
    /// question in front.
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
        // A form that cannot be sent continues at its first invalid field.
        let submitted = std::mem::take(&mut self.submitted);
        if let (true, Some(Step::Filling(draft))) = (submitted, front.map(|front| front.step)) {
            self.at = draft.wrong().unwrap_or(self.at);
        }
        for effect in effects {
            match effect {
                Effect::Tell(notice) => question::notice(&mut self.page, desk.asker(), notice),
                // Print nothing if the user was not asked or already knows.
                Effect::Answer(id, reply)
                    if !explained(effects)
                        && (*before == Some((*id, false)) || reply.is_refusal()) =>
                {
                    question::answered(&mut self.page, desk.asker(), reply, *is_link);
                }
                Effect::CheckFolder(_) | Effect::Suggest(_) => self.again = false,
                Effect::Answer(..) | Effect::Open(_) | Effect::Run(_) | Effect::Remember(_) => {}
            }
        }
    }

    /// Takes the messages that the user asked to see.
    pub fn take_wire(&mut self) -> Option<MessageSelection> {
        self.wire.take()
    }

    /// Parses a line of the user at the current step.
    pub fn hear(&mut self, desk: &Desk, line: &str) -> Vec<Action> {
        let Some(front) = desk.front() else {
            return Vec::new();
        };
        if let Some((first, rest)) = line.split_once('\n') {
            let is_text = matches!(front.step, Step::Write(_) | Step::Rewrite(..));
            if is_text || self.lines.is_some() {
                return self.hear_paste(desk, &front, line);
            }
            if matches!(heard(front.step, first), LineMeaning::Lines) {
                return self.hear_paste(desk, &front, rest);
            }
        }
        if let (true, InputLine::Text(text)) = (self.lines.is_some(), command::typed(line)) {
            return self.hear_more(desk, &front, &text);
        }
        match heard(front.step, line) {
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

    fn hear_field(&mut self, desk: &Desk, front: &Front<'_>, of: OfField) -> Vec<Action> {
        let field = self.at;
        let (Step::Filling(draft) | Step::Review(draft)) = front.step else {
            return Vec::new();
        };
        let mut said = Vec::new();
        let count = draft.fields().len();
        match of {
            OfField::Is(text) => match draft.read(field, &text) {
                Ok(_) => said.push(Action::Write { field, text }),
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

    /// Appends pasted lines to multi-line text, without the final dot.
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

    /// Writes new suggestions to the page. Returns whether there are any.
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

    /// Writes what is new about the question in front. There is no prompt while the question is too
    /// new to be answered.
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

fn is_text(step: &Step) -> bool {
    matches!(
        step,
        Step::Filling(_) | Step::Write(_) | Step::Rewrite(..) | Step::Reason(_)
    )
}

/// Whether another message already explains the outcome of the question.
fn explained(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Open(_)
                | Effect::Answer(_, Reply::Cancelled(Why::Flood | Why::Muted))
                | Effect::Tell(Notice::LinkRefused { .. })
        )
    })
}

/// Parses a line at a step of a question. A slash and a word make a command; the meaning of other
/// text depends on the step.
fn heard(step: &Step, line: &str) -> LineMeaning {
    match command::typed(line) {
        InputLine::Command(name, rest) => command::at_question(step, name, rest),
        InputLine::Text(text) => plain(step, &text),
    }
}

fn plain(step: &Step, line: &str) -> LineMeaning {
    let word = line.trim();
    let any = |words: [&str; 2]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let (yes, no) = (any(["y", "yes"]), any(["n", "no"]));
    LineMeaning::Action(match step {
        Step::Filling(_) if word.is_empty() => return LineMeaning::OfField(OfField::Keep),
        Step::Filling(_) => return LineMeaning::OfField(OfField::Is(line.to_owned())),
        Step::Reason(_) => Action::Fill(line.to_owned()),
        Step::Review(_) | Step::Reread(..) if word.is_empty() => Action::Send,
        Step::Opened(_) if word.is_empty() => Action::Done,
        Step::Review(draft) => {
            let number = word
                .parse()
                .ok()
                .and_then(|number: usize| number.checked_sub(1))
                .filter(|&index| index < draft.fields().len());
            let named = || {
                draft.fields().iter().position(|field| {
                    field.name == word || field.label().eq_ignore_ascii_case(word)
                })
            };
            return match number.or_else(named) {
                Some(index) => LineMeaning::OfField(OfField::Reopen(index)),
                None => LineMeaning::Unclear("Enter sends; the number of a field opens it again"),
            };
        }
        Step::Reread(..) => return LineMeaning::Unclear("Enter sends; /edit writes it anew"),
        Step::Opened(_) => return LineMeaning::Unclear("press Enter when you are done there"),
        Step::Returning(_) if word.is_empty() => {
            return LineMeaning::Unclear("paste the address the browser ended at, or type /cancel");
        }
        Step::Returning(_) => Action::Fill(word.to_owned()),
        Step::Write(_) | Step::Rewrite(..) => return LineMeaning::Lines,
        Step::Request(_) if word.is_empty() => Action::Run(Permission::Ask),
        Step::Request(_) => {
            return LineMeaning::Unclear("Enter runs it; /help lists what else can be done");
        }
        Step::Replied(_) if word.is_empty() => Action::Send,
        Step::Replied(_) => {
            return LineMeaning::Unclear("Enter sends; /help lists what else can be done");
        }
        Step::Running(_) => return LineMeaning::Unclear("the model is asked; /back stops that"),
        _ if yes => Action::Yes,
        _ if no => Action::Decline(None),
        Step::Folders(_) if !word.is_empty() => Action::Folder(word.to_owned()),
        Step::Folders(_) => return LineMeaning::Unclear("type yes, or the path of a folder"),
        Step::Secret(_) | Step::Confirm | Step::Consent(_) | Step::Sure(_) => {
            return LineMeaning::Unclear("type yes, /decline or /cancel");
        }
    })
}
