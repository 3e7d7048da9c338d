//! A call in progress, shown while there is no question.

use std::time::Duration;

use super::{
    frame::{Row, wrapped},
    heading::call_label,
};
use crate::{
    model::{Call, Desk, Far, UnderWay},
    page::Style,
    text::{self, Words, given},
    view, words,
};

const BAR: usize = 24;

/// The width of the progress bar on a screen narrower than [`NARROW`].
const SHORT_BAR: usize = 10;

const NARROW: usize = 60;

pub(super) fn rows(
    desk: &Desk,
    call: &UnderWay,
    worked: Duration,
    has_begun: bool,
    columns: usize,
) -> Vec<Row> {
    let mut rows = vec![head(desk, &call.call, worked, columns)];
    rows.extend(call.far.iter().map(|far| far_row(far, columns)));
    if call.questions > 0 {
        let asked = words!("Questions in it: {}.", call.questions);
        rows.push(Row::new(columns).ours(Style::Plain, asked));
    }
    let patience = desk.patience().as_secs();
    let stops = match has_begun {
        true => "Ctrl-C clears the line, and then stops it.",
        false => "Ctrl-C stops it.",
    };
    let foot = words!(
        "{} It stops by itself after {} s of silence.",
        stops,
        patience
    );
    rows.extend(wrapped(Row::new(columns), Style::Dim, foot));
    rows
}

fn head(desk: &Desk, call: &Call, worked: Duration, columns: usize) -> Row {
    let name = given(&desk.asker().name).short();
    let call = view::call(call);
    let took = words!("{} s", worked.as_secs());
    let ends = text::columns(took.as_str()).saturating_add(2);
    let row = Row::new(columns)
        .ours(Style::Strong, words!("{} works", name))
        .ours(Style::Strong, call_label(&call));
    let room = row.room().saturating_sub(ends);
    row.joined(|row| {
        let row = row.peer(Style::Plain, &call.name, room);
        row.ours(Style::Dim, words!("  {}", took))
    })
}

/// The progress: a bar if the total is known, the numbers, and the server's message.
fn far_row(far: &Far, columns: usize) -> Row {
    let row = Row::new(columns);
    let row = match far.total {
        Some(total) => row
            .ours(Style::Plain, bar(far.progress, total, columns))
            .ours(Style::Plain, words!("{} of {}", far.progress, total)),
        None => row.ours(Style::Plain, words!("{}", far.progress)),
    };
    match &far.message {
        Some(message) => {
            let row = row.ours(Style::Plain, " ");
            let room = row.room();
            row.peer(Style::Plain, message, room)
        }
        None => row,
    }
}

/// A progress bar; empty if the numbers make no sense.
fn bar(progress: f64, total: f64, columns: usize) -> Words {
    let part = progress / total;
    if progress < 0.0 || !(0.0..=1.0).contains(&part) {
        return Words::default();
    }
    let whole = match columns < NARROW {
        true => SHORT_BAR,
        false => BAR,
    };
    let full = (0..whole)
        .filter(|at| part * scale(whole) > scale(*at))
        .count();
    let rest = whole.saturating_sub(full);
    words!("[{}{}] ", given("#".repeat(full)), given("-".repeat(rest)))
}

fn scale(columns: usize) -> f64 {
    u16::try_from(columns).unwrap_or(u16::MAX).into()
}
