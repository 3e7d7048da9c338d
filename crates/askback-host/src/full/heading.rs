//! The heading of a question: who asks, in which call, and why.

use super::{
    frame::{Frame, Row},
    question::{REST, is_read},
};
use crate::{
    page::{Look, Page, Style},
    question,
    text::{self, PeerText, Words, given},
    view::{CallView, Kind, View},
    words,
};

const ORIGIN: usize = 4;

/// The heading of a question. The server's text takes at most `rows` rows.
pub(super) fn head(view: &View, look: Look, shown: usize, rows: usize) -> Frame {
    let columns = look.columns;
    let mut frame = Frame::default();
    for row in title(view, columns) {
        frame.push(row);
    }
    let mut page = Page::new(look);
    if view.kind != Kind::Arguments {
        question::origin(&mut page, &view.asker);
    }
    // A server may be started by a whole script; F4 shows it in full.
    let origin = page.take();
    frame.put(&origin.first(ORIGIN));
    if !is_read(view) {
        question::why(&mut page, view, shown, REST);
    }
    let why = page.take();
    let count = why.count();
    let rows = rows.max(3);
    let kept = rows.saturating_sub(1);
    let left_out = count.saturating_sub(kept);
    let more = |where_from| {
        let words = words!("  {} {}{}", left_out, where_from, REST);
        Row::new(columns).ours(Style::Dim, words)
    };
    match view.kind {
        _ if count <= rows => frame.put(&why),
        // The last message is the new one.
        Kind::Sampling => {
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

/// The rows with the title, the position among several questions, and the call. The last two get a
/// second row if they do not fit; the name of the call may be cut in its middle.
fn title(view: &View, columns: usize) -> Vec<Row> {
    let row = || Row::new(columns);
    let title = match text::columns(view.title.words.as_str()) <= row().room() {
        true => &view.title.words,
        false => &view.title.short,
    };
    let title = text::fitted_around(title.as_str(), row().room());
    let first = row().ours(Style::Asker, given(title));
    let queue = view.queue.as_ref();
    let of = queue.map(|queue| &queue.words);
    let beside = |row, of, cuts| behind(row, of, view.call.as_ref(), cuts);
    if let Some(row) = beside(first.clone(), of, false) {
        return vec![row];
    }
    let in_short = queue.map(|queue| &queue.short);
    let below = beside(row(), of, false).or_else(|| beside(row(), in_short, true));
    std::iter::once(first).chain(below).collect()
}

/// Appends the position and the call. Returns `None` if they do not fit and may not be cut.
fn behind(mut row: Row, of: Option<&Words>, call: Option<&CallView>, cuts: bool) -> Option<Row> {
    if let Some(of) = of {
        let words = match row.is_empty() {
            true => of.clone(),
            false => words!(" · {}", *of),
        };
        if text::columns(words.as_str()) > row.room() && !cuts {
            return None;
        }
        row = row.joined(|row| row.ours(Style::Strong, words));
    }
    if let Some(call) = call {
        let label = match row.is_empty() {
            true if call.short.is_empty() => Words::default(),
            true => words!("{} ", call.short),
            false => call_label(call),
        };
        let name = text::line(call.name.raw());
        let taken = text::columns(label.as_str()).saturating_add(text::GUTTER.len());
        if text::columns(&name).saturating_add(taken) > row.room() && !cuts {
            return None;
        }
        row = row.joined(|row| {
            let row = row.ours(Style::Plain, label);
            let room = row.room();
            let name = text::fitted_around(&name, room.saturating_sub(text::GUTTER.len()));
            row.peer(Style::Plain, &PeerText::from(name), room)
        });
    }
    Some(row)
}

/// The words before the name of a call, after other words.
pub(super) fn call_label(call: &CallView) -> Words {
    match call.short.is_empty() {
        true => " ".into(),
        false => words!(" · {} ", call.short),
    }
}
