//! A month in which the user picks a day.

use jiff::{Span, civil::Date};

use super::{
    frame::{Row, wrapped},
    key::Key,
};
use crate::{page::Style, words};

const WEEK: &str = "Mo Tu We Th Fr Sa Su";

/// The selected day. Its month is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Calendar(Date);

pub(super) enum CalendarOutcome {
    /// The chosen day, in the format of the field.
    Day(String),
    Moved,
    /// The calendar was closed.
    Left,
}

impl Calendar {
    /// Starts at the written day, or today if it is not a date.
    pub(super) fn at(written: &str, today: Date) -> Self {
        Self(written.trim().parse().unwrap_or(today))
    }

    pub(super) fn press(&mut self, key: &Key) -> CalendarOutcome {
        let step = match key {
            Key::Left => Span::new().days(-1),
            Key::Right => Span::new().days(1),
            Key::Up => Span::new().days(-7),
            Key::Down => Span::new().days(7),
            Key::PageUp => Span::new().months(-1),
            Key::PageDown => Span::new().months(1),
            Key::Home => Span::new().years(-1),
            Key::End => Span::new().years(1),
            Key::Enter | Key::Char(' ') => return CalendarOutcome::Day(self.0.to_string()),
            _ => return CalendarOutcome::Left,
        };
        // Saturates at the first and the last date that `jiff` supports.
        self.0 = self.0.saturating_add(step);
        CalendarOutcome::Moved
    }

    pub(super) fn rows(&self, columns: usize, from: usize) -> Vec<Row> {
        // Move left if a week would not fit.
        let from = from.min(columns.saturating_sub(WEEK.len()).saturating_sub(2));
        let row = || Row::new(columns).to(from);
        let title = words!("{}-{}", i64::from(self.0.year()), two(self.0.month()));
        let mut rows = vec![
            row().ours(Style::Strong, title),
            row().ours(Style::Dim, WEEK),
        ];
        let first = self.0.first_of_month();
        let mut column = first.weekday().to_monday_zero_offset();
        let mut week = row();
        for day in 1..=self.0.days_in_month() {
            let style = match day == self.0.day() {
                true => Style::Focus,
                false => Style::Plain,
            };
            let at = usize::try_from(column)
                .unwrap_or_default()
                .saturating_mul(3);
            let at = from.saturating_add(at);
            let mark = match day == self.0.day() {
                true => words!("{}<", two(day)),
                false => two(day),
            };
            week = week.to(at).ours(style, mark);
            column = column.saturating_add(1);
            if column == 7 {
                rows.push(std::mem::replace(&mut week, row()));
                column = 0;
            }
        }
        if column > 0 {
            rows.push(week);
        }
        let keys = "arrows · PgUp PgDn month · Home End year · Enter · Esc";
        rows.extend(wrapped(row(), Style::Dim, keys));
        rows
    }
}

fn two(number: i8) -> crate::text::Words {
    let words = words!("{}", i64::from(number));
    match number < 10 {
        true => words!("0{}", words),
        false => words,
    }
}
