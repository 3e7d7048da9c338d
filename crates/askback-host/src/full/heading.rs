//! The head of a question on the screen: who asks, in which call, and why.

use super::{
    frame::{Frame, Row},
    question::{REST, is_read},
};
use crate::{
    model::{Ask, Call, Desk, Front, Question},
    page::{Look, Page, Style},
    question,
    text::{self, LocalText, PeerText, Words, given},
    words,
};

/// The most rows on where a server comes from.
const ORIGIN: usize = 4;

/// The head of a question: who asks, in which call, and why, in at most so many rows of the
/// server's.
pub(super) fn head(desk: &Desk, front: &Front<'_>, look: Look, shown: usize, rows: usize) -> Frame {
    let columns = look.columns;
    let mut frame = Frame::default();
    for row in title(desk, front, columns) {
        frame.push(row);
    }
    let mut page = Page::new(look);
    if !front.question.ask.is_ours() || !matches!(front.question.ask, Ask::Arguments { .. }) {
        question::origin(&mut page, desk.asker());
    }
    // What started a server may be a whole script; F4 shows it.
    let origin = page.take();
    match origin.to_string().lines().count() > ORIGIN {
        true => frame.put(&origin.first(ORIGIN)),
        false => frame.put(&origin),
    }
    if !is_read(&front.step) {
        question::why(&mut page, front.question, shown, REST);
    }
    let why = page.take();
    let count = why.to_string().lines().count();
    let rows = rows.max(3);
    let kept = rows.saturating_sub(1);
    let left_out = count.saturating_sub(kept);
    let more = |where_from| {
        let words = words!("  {} {}{}", left_out, where_from, REST);
        Row::new(columns).ours(Style::Dim, words)
    };
    match front.question.ask {
        _ if count <= rows => frame.put(&why),
        // What is new stands at its end.
        Ask::Sample(_) => {
            frame.push(more("rows before"));
            frame.put(&why.skip(left_out));
        }
        _ => {
            frame.put(&why.first(kept));
            frame.push(more("more rows"));
        }
    }
    frame
}

/// The rows that say who asks, which question of how many that is, and in which call. What does not fit beside who asks
/// stands below, and what does not fit there is cut in its middle.
fn title(desk: &Desk, front: &Front<'_>, columns: usize) -> Vec<Row> {
    let name = || given(&desk.asker().name).short();
    let row = || Row::new(columns);
    let whole = wants(front.question, name());
    let wants = match text::columns(whole.as_str()) <= row().room() {
        true => whole,
        false => wants_in_short(front.question, name()),
    };
    let wants = text::fitted_around(wants.as_str(), row().room());
    let first = row().ours(Style::Strong, given(wants));
    let several = |of| (front.total > 1).then_some(of);
    let of = several(words!("question {} of {}", front.position, front.total));
    let (label, called) = call(front.question);
    let called = called.map(|called| (label, text::line(called.raw())));
    let beside = |row, of: &Option<Words>, cuts| behind(row, of.as_ref(), called.as_ref(), cuts);
    if let Some(row) = beside(first.clone(), &of, false) {
        return vec![row];
    }
    let in_short = several(words!("{} of {}", front.position, front.total));
    let below = beside(row(), &of, false).or_else(|| beside(row(), &in_short, true));
    std::iter::once(first).chain(below).collect()
}

/// A row with the place of a question among several, and what is called. Where not all of it fits, there is none, unless
/// it may be cut.
fn behind(
    mut row: Row,
    of: Option<&Words>,
    called: Option<&(Words, String)>,
    cuts: bool,
) -> Option<Row> {
    if let Some(of) = of {
        let words = match row.is_empty() {
            true => of.clone(),
            false => words!(" · {}", of.clone()),
        };
        if text::columns(words.as_str()) > row.room() && !cuts {
            return None;
        }
        row = row.joined(|row| row.ours(Style::Strong, words));
    }
    if let Some((label, name)) = called {
        let label = match row.is_empty() {
            true => label.as_str().trim_start_matches([' ', '·']),
            false => label.as_str(),
        };
        let taken = text::columns(label).saturating_add(text::GUTTER.len());
        if text::columns(name).saturating_add(taken) > row.room() && !cuts {
            return None;
        }
        row = row.joined(|row| {
            let row = row.ours(Style::Plain, given(label));
            let room = row.room();
            let name = text::fitted_around(name, room.saturating_sub(text::GUTTER.len()));
            row.peer(Style::Plain, &PeerText::from(name), room)
        });
    }
    Some(row)
}

fn wants(question: &Question, name: LocalText) -> Words {
    match &question.ask {
        Ask::Arguments { .. } if !question.edits_request() => "The arguments of".into(),
        _ => question::wants(question, name),
    }
}

/// The same where there is little room.
fn wants_in_short(question: &Question, name: LocalText) -> Words {
    match &question.ask {
        Ask::Sample(_) => words!("{} asks for a model's text", name),
        Ask::Roots => words!("{} asks for folders", name),
        Ask::Retry { .. } => words!("{} was lost", name),
        _ => wants(question, name),
    }
}

/// The name of what is called, and the words of ours before it.
fn call(question: &Question) -> (Words, Option<PeerText>) {
    let is_ours = matches!(question.ask, Ask::Arguments { .. });
    match &question.call {
        Some(Call::Tool(name)) if is_ours => (" ".into(), Some(name.into())),
        Some(call) => {
            let (words, name) = called(call);
            (words, Some(name))
        }
        None => (Words::default(), None),
    }
}

/// The words of ours before the name of what a call calls, and that name.
pub(super) fn called(call: &Call) -> (Words, PeerText) {
    match call {
        Call::Tool(name) => (" · call ".into(), name.into()),
        Call::Task { number, tool } => (words!(" · task {} ", *number), tool.into()),
        Call::Prompt(name) => (" · prompt ".into(), name.into()),
        Call::Resource(uri) => (" · resource ".into(), uri.into()),
    }
}
