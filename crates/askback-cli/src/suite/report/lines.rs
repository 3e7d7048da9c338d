//! The report for a user: one line per case, and details of failures.

use std::time::Duration;

use askback_host::{
    page::{Page, Rows, Style},
    text::{Words, given},
    words,
};

use super::{Report, milliseconds};
use crate::{
    error::Error,
    suite::{
        expect::{Came, Mismatch},
        run::{CaseRun, Verdict},
    },
};

/// How many characters of an outcome are shown.
const SHOWN: usize = 2_048;

/// Indentation of a case's questions and messages, in spaces.
const SET_IN: usize = 8;

/// Prints a case. If it failed, returns the rows of its questions, which are printed below it.
pub fn case(page: &mut Page, case: &CaseRun<'_>) -> Vec<Rows> {
    let name = given(case.planned.name());
    let took = in_words(case.took);
    match &case.verdict {
        Verdict::Passed => page.item("ok    ", Style::Success, words!("{} ({})", name, took)),
        Verdict::Failed(mismatches) => {
            page.item("FAIL  ", Style::Error, words!("{} ({})", name, took));
            for mismatch in mismatches {
                put(page, mismatch);
            }
        }
        Verdict::Broken(error) => {
            page.item("ERROR ", Style::Error, words!("{} ({})", name, took));
            broken(page, error);
        }
    }
    match case.verdict {
        Verdict::Failed(_) | Verdict::Broken(_) => {
            if !case.shown.is_empty() {
                page.note(Style::Dim, "    what was asked and said meanwhile:");
            }
            case.shown.iter().map(|rows| rows.set_in(SET_IN)).collect()
        }
        Verdict::Passed => Vec::new(),
    }
}

fn put(page: &mut Page, mismatch: &Mismatch) {
    page.item("      expected ", Style::Plain, mismatch.expected.clone());
    match &mismatch.came {
        Came::Ours(words) => page.item("      came     ", Style::Plain, words.clone()),
        Came::Peer(text) => {
            let (head, more) = text.cut(SHOWN);
            page.quote_at("      came     ", head);
            if more > 0 {
                page.note(
                    Style::Dim,
                    words!("    {} more characters are left out", more),
                );
            }
        }
    }
}

fn broken(page: &mut Page, error: &Error) {
    page.item("      ", Style::Plain, error.message.clone());
    if let Some(quoted) = &error.quoted {
        let (head, _) = quoted.cut(SHOWN);
        page.quote_at("      ", head);
    }
    for hint in &error.hints {
        page.item("      ", Style::Dim, hint.clone());
    }
}

pub fn summary(page: &mut Page, report: &Report<'_>) {
    let counts = report.counts();
    let mut parts = vec![words!("{} passed", counts.passed)];
    let more = [
        (counts.failed, "failed"),
        (counts.broken, "without a result"),
    ];
    for (count, what) in more {
        if count > 0 {
            parts.push(words!("{} {}", count, what));
        }
    }
    let style = match counts.failed.saturating_add(counts.broken) {
        0 => Style::Success,
        _ => Style::Error,
    };
    let parts = Words::join(parts, ", ");
    page.say(style, words!("{} ({})", parts, in_words(report.took)));
}

fn in_words(time: Duration) -> Words {
    match milliseconds(time) {
        ms @ 0..10_000 => words!("{} ms", ms),
        _ => words!("{} s", time.as_secs()),
    }
}
