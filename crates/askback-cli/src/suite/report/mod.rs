//! Reports the results of a suite to users and programs.

mod json;
mod junit;
mod lines;

use std::time::Duration;

use crate::suite::run::{CaseRun, Verdict};

pub use lines::{case, summary};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The XML of JUnit.
    Junit,
    /// An object with all cases.
    Json,
}

#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub name: &'a str,
    pub cases: &'a [CaseRun<'a>],
    pub took: Duration,
}

impl Report<'_> {
    /// With a line end.
    pub fn written(&self, format: Format) -> String {
        match format {
            Format::Junit => junit::written(self),
            Format::Json => json::written(self),
        }
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for case in self.cases {
            let count = match case.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Failed(_) => &mut counts.failed,
                Verdict::Broken(_) => &mut counts.broken,
            };
            *count = count.saturating_add(1);
        }
        counts
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub broken: usize,
}

/// The mismatches of a case, or why its connection broke, as lines of plain text.
fn details(case: &CaseRun<'_>) -> Vec<String> {
    match &case.verdict {
        Verdict::Passed => Vec::new(),
        Verdict::Failed(mismatches) => mismatches
            .iter()
            .map(|mismatch| {
                let came = mismatch.came.raw();
                format!("expected {}\ncame {came}", mismatch.expected)
            })
            .collect(),
        Verdict::Broken(error) => {
            let quoted = error.quoted.as_ref();
            let quoted = quoted.map(|quoted| format!("\n{}", quoted.raw()));
            let mut text = format!("{}{}", error.message, quoted.unwrap_or_default());
            for hint in &error.hints {
                text = format!("{text}\n{hint}");
            }
            vec![text]
        }
    }
}

fn shown(case: &CaseRun<'_>) -> String {
    case.shown.iter().map(ToString::to_string).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
