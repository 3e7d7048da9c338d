//! The report as JSON.

use askback_host::text;
use serde::Serialize;

use super::{Report, details};
use crate::suite::{
    observe::ObservedQuestion,
    run::{CaseRun, Verdict},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    suite: &'a str,
    passed: usize,
    failed: usize,
    errors: usize,
    milliseconds: u128,
    cases: Vec<Case<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Case<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'static str>,
    outcome: &'static str,
    milliseconds: u128,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mismatches: Vec<Pair<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    questions: &'a [ObservedQuestion],
}

#[derive(Serialize)]
struct Pair<'a> {
    expected: &'a str,
    came: &'a str,
}

pub(super) fn written(report: &Report<'_>) -> String {
    let counts = report.counts();
    let document = Document {
        suite: report.name,
        passed: counts.passed,
        failed: counts.failed,
        errors: counts.broken,
        milliseconds: report.took.as_millis(),
        cases: report.cases.iter().map(case).collect(),
    };
    // The document holds only strings, numbers and lists.
    let json = serde_json::to_string(&document).unwrap_or_default();
    text::json(&json) + "\n"
}

fn case<'a>(run: &'a CaseRun<'_>) -> Case<'a> {
    let mismatches = match &run.verdict {
        Verdict::Failed(mismatches) => &mismatches[..],
        _ => &[],
    };
    let pairs = mismatches.iter().map(|mismatch| Pair {
        expected: mismatch.expected.as_str(),
        came: mismatch.came.raw(),
    });
    Case {
        name: &run.planned.case.name,
        revision: run.planned.revision.map(|revision| revision.as_str()),
        outcome: match run.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Broken(_) => "error",
        },
        milliseconds: run.took.as_millis(),
        mismatches: pairs.collect(),
        error: match run.verdict {
            Verdict::Broken(_) => details(run).pop(),
            _ => None,
        },
        questions: &run.asked,
    }
}
