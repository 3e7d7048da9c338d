//! The report of a diagnosis, for a person and for a program.

use std::time::Duration;

use askback_host::{
    page::{Page, Style},
    text::{PeerText, Words},
    words,
};
use serde::Serialize;

use super::{Diagnosis, State, Step, Warning};

/// The most places of a warning that are shown to a person.
const PLACES: usize = 8;

/// How wide the names of steps are.
const NAMES: usize = 14;

/// The report as JSON.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    steps: Vec<StepReport<'a>>,
    warnings: Vec<WarningReport<'a>>,
}

#[derive(Debug, Serialize)]
struct StepReport<'a> {
    step: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    says: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    quoted: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct WarningReport<'a> {
    says: &'a str,
    places: Vec<&'a str>,
    advice: &'a str,
}

impl Diagnosis {
    /// Returns the report for a program.
    pub fn report(&self) -> Report<'_> {
        Report {
            steps: self.steps.iter().map(StepReport::of).collect(),
            warnings: self.warnings.iter().map(WarningReport::of).collect(),
        }
    }

    /// Puts the report on a page.
    pub fn put(&self, page: &mut Page) {
        for step in &self.steps {
            put_step(page, step);
        }
        if !self.warnings.is_empty() {
            page.blank();
            page.say(Style::Strong, "Warnings");
        }
        for warning in &self.warnings {
            put_warning(page, warning);
        }
    }
}

impl<'a> StepReport<'a> {
    fn of(step: &'a Step) -> Self {
        Self {
            step: step.name,
            state: match step.state {
                State::Ok => "ok",
                State::Failed => "failed",
                State::NotTried => "not tried",
            },
            took: step.took.map(|took| magnitude(took).as_str().to_owned()),
            says: step.says.as_str().trim_end_matches(':'),
            quoted: step.quoted.as_ref().map(PeerText::raw),
            advice: step.advice.as_ref().map(Words::as_str),
        }
    }
}

impl<'a> WarningReport<'a> {
    fn of(warning: &'a Warning) -> Self {
        Self {
            says: warning.says.as_str(),
            places: warning.places.iter().map(PeerText::raw).collect(),
            advice: warning.advice.as_str(),
        }
    }
}

fn put_step(page: &mut Page, step: &Step) {
    let (mark, state, style) = match step.state {
        State::Ok => ("✓ ", "ok", Style::Plain),
        State::Failed => ("× ", "failed", Style::Warning),
        State::NotTried => ("- ", "not tried", Style::Dim),
    };
    let name = words!("{}", step.name).padded(NAMES);
    let state = match step.took {
        Some(took) => words!("{} ({})", state, magnitude(took)),
        None => Words::from(state),
    };
    let line = match step.says.is_empty() {
        true => words!("{} {}", name, state),
        false => words!("{} {}, {}", name, state, step.says.clone()),
    };
    page.item(mark, style, line);
    if let Some(quoted) = &step.quoted {
        page.quote_json("    ", quoted.clone());
    }
    if let Some(advice) = &step.advice {
        page.item("    ", Style::Strong, advice.clone());
    }
}

fn put_warning(page: &mut Page, warning: &Warning) {
    page.item("! ", Style::Warning, warning.says.clone());
    for place in warning.places.iter().take(PLACES) {
        page.quote_line("    ", place.clone());
    }
    let more = warning.places.len().saturating_sub(PLACES);
    if more > 0 {
        page.item("    ", Style::Dim, words!("and {} more", more));
    }
    page.item("    ", Style::Plain, warning.advice.clone());
}

/// How long something took: an order of magnitude, and whole seconds where a server is slow.
fn magnitude(took: Duration) -> Words {
    let short = match took.as_millis() {
        0..3 => "1 ms",
        3..30 => "10 ms",
        30..300 => "0.1 s",
        300..3_000 => "1 s",
        _ => return words!("{} s", took.as_secs()),
    };
    short.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_an_order_of_magnitude_unless_a_server_is_slow() {
        for (millis, expected) in [
            (0, "1 ms"),
            (7, "10 ms"),
            (29, "10 ms"),
            (30, "0.1 s"),
            (1_200, "1 s"),
            (3_000, "3 s"),
            (7_900, "7 s"),
            (90_000, "90 s"),
        ] {
            let took = Duration::from_millis(millis);
            assert_eq!(magnitude(took).as_str(), expected);
        }
    }
}
