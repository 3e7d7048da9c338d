//! The command line, shown while there is no question.

use std::collections::VecDeque;

use super::{editor::Editor, frame::Row, key::Key, question::KeyLine, screen::Size};
use crate::{
    leaf::Did,
    model::{About, Conversation, Offer},
    page::{Page, Style},
    text::{self, GUTTER, PeerText, Words, given},
    words,
};

const SEEN: usize = 8;

const NAMES: usize = 4;

/// The rows of the screen that are kept free of offers, for the scrollback and the hints.
const GLANCE_LEAVES: usize = 12;

/// Narrower screens show only the description of an offer.
const NARROW: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Home {
    editor: Editor,
    picked: Option<usize>,
    /// The text of the picked line.
    seen: Option<String>,
    /// The position in the history, counted from the newest line.
    back: Option<usize>,
    /// The line that was being written before the user went into the history.
    begun: String,
    is_searching: bool,
    /// Whether something was typed while no line was wanted.
    is_ahead: bool,
    /// Lines entered while no line was wanted, oldest first.
    entered: VecDeque<String>,
}

pub(super) enum HomeOutcome {
    Line(String),
    /// The user picked this line from a list. It may contain the server's names.
    Picked(String),
    Leave,
    /// The user pressed Ctrl-C with nothing to clear.
    Interrupt,
    /// No effect outside of the command line.
    Nothing,
}

impl Home {
    /// Keeps the same line picked when the list has changed.
    pub(super) fn follow(&mut self, talk: &Conversation) {
        if let (Some(picked), Some(seen)) = (self.picked, &self.seen) {
            let fitting = self.fitting(talk);
            if fitting.get(picked) != Some(&seen.as_str()) {
                self.picked = fitting.iter().position(|line| line == seen);
            }
        }
    }

    pub(super) fn press(&mut self, talk: &Conversation, key: &Key) -> HomeOutcome {
        self.follow(talk);
        let homed = self.pressed(talk, key);
        self.seen = self.picked_line(talk).map(str::to_owned);
        homed
    }

    fn picked_line<'a>(&self, talk: &'a Conversation) -> Option<&'a str> {
        self.fitting(talk).get(self.picked?).copied()
    }

    /// Whether the line of the last call is picked and nothing is typed.
    fn is_at_latest(&self, talk: &Conversation) -> bool {
        let picked = self.picked_line(talk);
        let is_bare = self.editor.text().is_empty() && !self.is_searching;
        is_bare && picked.is_some() && picked == talk.offers().latest()
    }

    fn pressed(&mut self, talk: &Conversation, key: &Key) -> HomeOutcome {
        match key {
            Key::Enter => return self.enter(talk),
            // A function key keeps the text.
            Key::F(1) => return HomeOutcome::Line("/help".to_owned()),
            Key::Char('?') if self.editor.text().is_empty() && !self.is_searching => {
                return HomeOutcome::Line("/help".to_owned());
            }
            Key::F(2) => return HomeOutcome::Line("/wire".to_owned()),
            Key::F(5) => return HomeOutcome::Line("/again".to_owned()),
            Key::Char('r') if self.is_at_latest(talk) => {
                return HomeOutcome::Line("/again".to_owned());
            }
            Key::Ctrl('d') if self.editor.text().is_empty() => return HomeOutcome::Leave,
            Key::Ctrl('c') if !self.is_listing() => return HomeOutcome::Interrupt,
            Key::Ctrl('c') | Key::Esc => {
                self.editor.take();
                self.picked = None;
                self.is_searching = false;
            }
            Key::Ctrl('r') if self.is_searching => self.pick_next(talk),
            Key::Ctrl('r') => (self.is_searching, self.picked) = (true, Some(0)),
            Key::Tab => self.complete(talk),
            Key::Up if self.picked.is_some() => {
                self.picked = self.picked.and_then(|picked| picked.checked_sub(1));
            }
            Key::Up => self.recall(talk, true),
            Key::Down if self.back.is_some() => self.recall(talk, false),
            Key::Down => self.pick_next(talk),
            key => {
                if self.editor.press(key) {
                    (self.picked, self.back) = (self.is_searching.then_some(0), None);
                }
            }
        }
        HomeOutcome::Nothing
    }

    fn pick_next(&mut self, talk: &Conversation) {
        let count = self.fitting(talk).len();
        let next = self.picked.map_or(0, |picked| picked.saturating_add(1));
        self.picked = Some(next).filter(|&next| next < count).or(self.picked);
    }

    /// Returns whether the line had any text.
    pub(super) fn clear(&mut self) -> bool {
        self.is_ahead = false;
        !self.editor.take().is_empty()
    }

    pub(super) fn ahead(&self, columns: usize) -> Vec<Row> {
        let row = || Row::new(columns);
        let entered = self.entered.iter();
        let entered = entered.map(|line| row().ours(Style::Dim, words!("then {}", given(line))));
        let mut rows: Vec<_> = entered.collect();
        if !self.editor.text().is_empty() {
            let line = row().ours(Style::Strong, "> ");
            let room = line.room();
            rows.push(line.written(self.editor.text(), Some(self.editor.at()), room));
        }
        rows
    }

    pub(super) fn has_begun(&self) -> bool {
        !self.editor.text().trim().is_empty()
    }

    /// Ends typing ahead when a question appears: the next Enter is for the question.
    pub(super) fn interrupt(&mut self) {
        self.is_ahead = false;
    }

    /// Handles keys while no line is wanted. Enter queues a command only if the command was typed
    /// since then: otherwise the Enter was meant for a question, not for the line typed before it.
    pub(super) fn press_ahead(&mut self, talk: &Conversation, key: &Key) {
        match key {
            Key::Enter if self.is_ahead && self.is_command() => {
                if let HomeOutcome::Line(line) = self.enter(talk) {
                    self.entered.push_back(line);
                }
            }
            key => self.is_ahead |= self.editor.press(key),
        }
    }

    /// A search result must be seen before it runs.
    fn is_command(&self) -> bool {
        self.picked.is_none() && !self.is_searching && self.editor.text().starts_with('/')
    }

    pub(super) fn take_entered(&mut self) -> Option<String> {
        self.entered.pop_front()
    }

    fn enter(&mut self, talk: &Conversation) -> HomeOutcome {
        let fitting = self.fitting(talk);
        let typed = self.editor.text().trim();
        let picked = match self.picked {
            Some(_) => self.picked_line(talk),
            None if self.is_searching => fitting.first().copied(),
            None if typed.is_empty() || typed.starts_with('/') || fitting.is_empty() => None,
            // A word without a slash is one of our commands or a search. A search result must be
            // seen before it runs.
            None => match talk.offers().ours(typed) {
                Some(ours) if !ours.goes_on => Some(ours.line.as_str()),
                Some(_) => {
                    self.complete(talk);
                    return HomeOutcome::Nothing;
                }
                None => {
                    self.picked = Some(0);
                    return HomeOutcome::Nothing;
                }
            },
        };
        let is_ours = |line| {
            let offer = talk.offers().get(line);
            offer.is_some_and(|offer| matches!(offer.about, About::Ours(_)))
        };
        let is_picked = picked.is_some_and(|line| !is_ours(line));
        let line = picked.unwrap_or_else(|| self.editor.text()).to_owned();
        let called = talk.offers().call_of(line.trim());
        let line = called.filter(|_| picked.is_none()).unwrap_or(line);
        self.editor.take();
        (self.picked, self.back, self.is_searching) = (None, None, false);
        self.is_ahead = false;
        if line.trim().is_empty() {
            return HomeOutcome::Nothing;
        }
        match is_picked {
            true => HomeOutcome::Picked(line),
            false => HomeOutcome::Line(line),
        }
    }

    fn complete(&mut self, talk: &Conversation) {
        let fitting = self.fitting(talk);
        if let Some(line) = fitting.get(self.picked.unwrap_or_default()) {
            let offer = talk.offers().get(line);
            let goes_on = offer.is_some_and(|offer| offer.goes_on);
            self.editor = Editor::new(if goes_on {
                format!("{line} ")
            } else {
                (*line).to_owned()
            });
            self.picked = None;
        }
    }

    fn recall(&mut self, talk: &Conversation, older: bool) {
        let last = talk.history().count().checked_sub(1);
        if self.back.is_none() {
            self.begun = self.editor.text().to_owned();
        }
        self.back = match (self.back, older) {
            (None, true) => last.map(|_| 0),
            (Some(back), true) => last.map(|last| back.saturating_add(1).min(last)),
            (Some(back), false) => back.checked_sub(1),
            (None, false) => None,
        };
        let line = self.back.and_then(|back| talk.history().back(back));
        self.editor = Editor::new(line.unwrap_or(&self.begun).to_owned());
    }

    fn fitting<'a>(&self, talk: &'a Conversation) -> Vec<&'a str> {
        let typed = self.editor.text();
        if self.is_searching {
            return talk.history().find(typed.trim());
        }
        let fitting = talk.offers().fitting(typed).into_iter();
        fitting.map(|offer| offer.line.as_str()).collect()
    }

    pub(super) fn rows(&self, talk: &Conversation, prompt: &Words, size: Size) -> Vec<Row> {
        let columns = size.columns;
        let sign = match self.is_searching {
            true => " history> ",
            false => "> ",
        };
        let line = Row::new(columns)
            .ours(Style::Strong, prompt.clone())
            .ours(Style::Strong, sign);
        let room = line.room();
        let line = line.written(self.editor.text(), Some(self.editor.at()), room);
        let mut rows = vec![line];
        if !self.is_listing() {
            let glance = self.glance(talk, size);
            if !glance.is_empty() {
                rows.extend(glance);
                rows.push(Row::new(columns));
            }
            for part in text::wrapped(talk.head().as_str(), room_of(columns)) {
                rows.push(Row::new(columns).ours(Style::Dim, given(part)));
            }
            rows.extend(hints(columns));
            return rows;
        }
        let fitting = self.fitting(talk);
        let is_exact = fitting.len() == 1 && fitting[0].trim() == self.editor.text().trim();
        if !is_exact && !self.editor.text().contains(' ') {
            let first = self
                .picked
                .unwrap_or_default()
                .saturating_sub(SEEN.saturating_sub(1));
            let seen = || fitting.iter().enumerate().skip(first).take(SEEN);
            let name = name_ends(seen().map(|(_, line)| *line), columns);
            for (index, line) in seen() {
                let offer = talk.offers().get(line).filter(|_| !self.is_searching);
                let is_picked = Some(index) == self.picked;
                rows.push(offered(line, offer, is_picked, (name, columns)));
            }
            if let (Some(picked), false) = (self.picked, self.is_searching) {
                let offer = fitting.get(picked).and_then(|line| talk.offers().get(line));
                rows.extend(offer.into_iter().flat_map(|offer| details(offer, columns)));
                if self.is_at_latest(talk) {
                    let row = Row::new(columns).to(NAMES);
                    rows.push(row.ours(Style::Dim, "r repeats it, with the same answers"));
                }
            }
            let more = fitting.len().saturating_sub(first.saturating_add(SEEN));
            if fitting.is_empty() {
                let words = "  Nothing fits. Enter tries it as it is, Esc clears it.";
                rows.push(Row::new(columns).ours(Style::Dim, words));
            } else if more > 0 {
                let words = words!("  ▼ {} more", more);
                rows.push(Row::new(columns).ours(Style::Dim, words));
            }
        }
        rows
    }

    /// The first offers of the server, before the user has typed anything.
    fn glance(&self, talk: &Conversation, size: Size) -> Vec<Row> {
        let Size { columns, rows } = size;
        let offers = talk.offers().fitting("").into_iter();
        let offers = offers.filter(|offer| matches!(offer.about, About::Peer(_)));
        let offers: Vec<_> = offers.collect();
        let count = SEEN.min(rows.saturating_sub(GLANCE_LEAVES));
        let name = name_ends(
            offers.iter().take(count).map(|it| it.line.as_str()),
            columns,
        );
        let seen = offers.iter().take(count);
        let seen = seen.map(|offer| offered(&offer.line, Some(offer), false, (name, columns)));
        let mut seen: Vec<_> = seen.collect();
        let more = offers.len().saturating_sub(count);
        if more > 0 && count > 0 {
            seen.push(Row::new(columns).ours(Style::Dim, words!("  ▼ {} more", more)));
        }
        seen
    }

    fn is_listing(&self) -> bool {
        !self.editor.text().is_empty() || self.picked.is_some() || self.is_searching
    }
}

/// The column at which the descriptions of these lines begin.
fn name_ends<'a>(lines: impl Iterator<Item = &'a str>, columns: usize) -> usize {
    let widest = lines.map(text::columns).max();
    // The gutter comes before the name, and two blanks after it.
    let name = widest.unwrap_or_default().saturating_add(NAMES);
    let most = match columns < NARROW {
        true => columns.saturating_mul(3) / 5,
        false => columns.saturating_mul(2) / 5,
    };
    name.saturating_add(3).min(most)
}

/// The row of a matching line. The name ends at the column `name`.
fn offered(
    line: &str,
    offer: Option<&Offer>,
    is_picked: bool,
    (name, columns): (usize, usize),
) -> Row {
    let style = if is_picked {
        Style::Focus
    } else {
        Style::Plain
    };
    let row = Row::new(columns).ours(style, if is_picked { "› " } else { "  " });
    let Some(offer) = offer else {
        // The line may contain a server's text.
        let row = row.to(NAMES.saturating_sub(GUTTER.len()));
        return row.peer(style, &PeerText::from(line), columns);
    };
    let about = match &offer.about {
        About::Ours(about) => {
            let row = row.to(NAMES).ours(style, given(line)).to(name);
            return row.ours(Style::Dim, "  ").ours(Style::Dim, *about);
        }
        About::Peer(about) => about,
    };
    let row = row
        .peer(style, &PeerText::from(line), name.saturating_sub(3))
        .to(name);
    let is_narrow = columns < NARROW;
    let tail = match is_narrow {
        true => String::new(),
        false => text::fitted(&ended(offer), row.room() / 2),
    };
    let ends = text::columns(&tail);
    let said = [offer.arguments.raw(), about.raw()];
    let said = said.into_iter().skip(usize::from(is_narrow));
    let said: Vec<_> = said.filter(|text| !text.is_empty()).collect();
    let room = row.room().saturating_sub(ends).saturating_sub(1);
    let row = row.peer(Style::Dim, &PeerText::from(said.join(" · ")), room);
    row.to(room_of(columns).saturating_sub(ends))
        .ours(Style::Dim, given(tail))
}

fn details(offer: &Offer, columns: usize) -> Vec<Row> {
    let row = || Row::new(columns).to(NAMES);
    let mut rows = Vec::new();
    if !offer.arguments.raw().is_empty() {
        let label = row().ours(Style::Dim, "takes ");
        rows.push(label.peer(Style::Dim, &offer.arguments, columns));
    }
    let ended = ended(offer);
    if !ended.is_empty() {
        rows.push(row().ours(Style::Dim, given(ended)));
    }
    rows
}

fn ended(offer: &Offer) -> String {
    let last = offer
        .last
        .as_ref()
        .map(|last| words!("last: {}", last.clone()));
    let said = [last.as_ref(), Some(&offer.hints)].into_iter().flatten();
    let said = said.map(Words::as_str).filter(|words| !words.is_empty());
    said.collect::<Vec<_>>().join(" · ")
}

fn room_of(columns: usize) -> usize {
    Row::new(columns).room()
}

fn hints(columns: usize) -> Vec<Row> {
    const HINTS: [(&str, &str); 8] = [
        ("Type", "to filter"),
        ("↓", "list"),
        ("Enter", "call"),
        ("/", "commands"),
        ("Ctrl-R", "history"),
        ("F1", "help"),
        ("F2", "wire"),
        ("Ctrl-D", "leave"),
    ];
    let mut line = KeyLine::new(columns);
    for (key, does) in HINTS {
        line.put(&[(Style::Key, key.into()), (Style::Dim, words!(" {}", does))]);
    }
    line.rows()
}

pub(super) fn entered(line: String, prompt: &Words, page: &mut Page) -> Did {
    let seen = one_row(prompt, &line, page.look().columns);
    page.say(Style::Strong, words!("{}> {}", prompt.clone(), given(seen)));
    Did::Line(line)
}

pub(super) fn one_row(prompt: &Words, line: &str, columns: usize) -> String {
    let before = text::columns(prompt.as_str()).saturating_add(3);
    text::fitted(&text::line(line), columns.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use askback::limits::Limits;

    use super::*;
    use crate::model::{Asker, Change, Desk, Origin, Server};

    fn talk(offers: Vec<Offer>, history: &[&str]) -> Conversation {
        let asker = Asker {
            name: "travel".to_owned(),
            reached: Origin::Typed("travel".to_owned()),
            claims: None,
        };
        let desk = Desk::new(asker, None, None, Limits::default());
        let mut talk = Conversation::new(Server::new(desk));
        talk.update(Change::Offered(offers));
        let history = history.iter().map(|&line| line.to_owned());
        talk.update(Change::Entered(history.collect()));
        talk
    }

    #[test]
    fn enter_runs_what_is_written_and_shows_what_is_looked_for() {
        #[track_caller]
        fn check(typed: &str, line: Option<&str>, left: &str, is_picked: bool) {
            let offer = |line: &str, goes_on, about| Offer {
                line: line.to_owned(),
                goes_on,
                arguments: "".into(),
                hints: Words::default(),
                about,
                last: None,
                others: Vec::new(),
            };
            let offers = vec![
                offer("/call tools", true, About::Peer("Show tools".into())),
                offer("/call ask_sampling", true, About::Peer("Ask".into())),
                offer("/tools", false, About::Ours("list the tools")),
                offer("/sampling", true, About::Ours("choose")),
            ];
            let (talk, mut home) = (talk(offers, &[]), Home::default());
            for character in typed.chars() {
                home.press(&talk, &Key::Char(character));
            }
            let entered = match home.press(&talk, &Key::Enter) {
                HomeOutcome::Line(line) | HomeOutcome::Picked(line) => Some(line),
                _ => None,
            };
            let found = (entered.as_deref(), home.editor.text(), home.picked);
            let picked = is_picked.then_some(0);
            assert_eq!(found, (line, left, picked), "{typed}");
        }
        check("/call tools", Some("/call tools"), "", false);
        // A built-in command wins over a server's offer with the same name.
        check("tools", Some("/tools"), "", false);
        check("sampling", None, "/sampling ", false);
        check("samp", None, "samp", true);
        check("show", None, "show", true);
        // Lines that match nothing run anyway, and are reported as unknown.
        check("hello", Some("hello"), "", false);
        check("tools a=1", Some("/call tools a=1"), "", false);
        check("tool a=1", Some("tool a=1"), "", false);
        check("", None, "", false);
        check("  ", None, "", false);
        // The command that calls a tool is not part of its name.
        check("call", Some("call"), "", false);
    }

    #[test]
    fn ctrl_r_continues_to_older_matches() {
        #[track_caller]
        fn check(keys: &[Key], line: &str) {
            let talk = talk(Vec::new(), &["/call a x=1", "/tools", "/call a x=2"]);
            let mut home = Home::default();
            for key in keys {
                home.press(&talk, key);
            }
            let entered = match home.press(&talk, &Key::Enter) {
                HomeOutcome::Line(line) | HomeOutcome::Picked(line) => line,
                _ => String::new(),
            };
            assert_eq!(entered, line, "{keys:?}");
        }
        let search = Key::Ctrl('r');
        check(std::slice::from_ref(&search), "/call a x=2");
        check(&[search.clone(), search.clone()], "/tools");
        check(
            &[search.clone(), Key::Char('a'), search.clone()],
            "/call a x=1",
        );
        check(
            &[search.clone(), search.clone(), Key::Char('x')],
            "/call a x=2",
        );
        let many = [
            search.clone(),
            search.clone(),
            search.clone(),
            search.clone(),
        ];
        check(&many, "/call a x=1");
        check(&[search, Key::Char('?')], "?");
    }

    #[test]
    fn an_enter_after_a_question_does_not_submit_the_earlier_line() {
        let (talk, mut home) = (talk(Vec::new(), &[]), Home::default());
        for character in "/call delete".chars() {
            home.press_ahead(&talk, &Key::Char(character));
        }
        assert!(home.has_begun());
        home.interrupt();
        home.press_ahead(&talk, &Key::Enter);
        assert_eq!(home.take_entered(), None);
        home.press_ahead(&talk, &Key::Char('d'));
        home.press_ahead(&talk, &Key::Enter);
        assert_eq!(home.take_entered().as_deref(), Some("/call deleted"));
        assert!(!home.has_begun());
    }

    #[test]
    fn lines_that_are_entered_early_wait_for_the_prompt() {
        #[track_caller]
        fn check(begun: &str, ahead: &str, entered: &[&str], left: &str) {
            let (talk, mut home) = (talk(Vec::new(), &[]), Home::default());
            for character in begun.chars() {
                home.press(&talk, &Key::Char(character));
            }
            for character in ahead.chars() {
                let key = match character {
                    '\n' => Key::Enter,
                    character => Key::Char(character),
                };
                home.press_ahead(&talk, &key);
            }
            for &line in entered {
                assert_eq!(home.take_entered().as_deref(), Some(line), "{ahead:?}");
            }
            assert_eq!((home.take_entered(), home.editor.text()), (None, left));
        }
        check("", "/quit\n", &["/quit"], "");
        check("/qu", "it\n/tools\n/c", &["/quit", "/tools"], "/c");
        check("", "\n", &[], "");
        // The Enter was meant for a question that is gone.
        check("/call delete", "\n", &[], "/call delete");
        check("", "/quit\n\n", &["/quit"], "");
        // A search result must be seen before it runs.
        check("", "quit\n\n", &[], "quit");
        // An answer that was typed too early is not a command.
        check("", "yes\n", &[], "yes");
        check("", "y\n/quit\n", &[], "y/quit");
    }
}
