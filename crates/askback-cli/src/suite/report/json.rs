//! The report as JSON.

use askback_host::text;
use serde_json::{Value, json};

use super::{Report, details, milliseconds};
use crate::suite::run::{CaseRun, Verdict};

pub(super) fn written(report: &Report<'_>) -> String {
    let counts = report.counts();
    let document = json!({
        "suite": report.name,
        "passed": counts.passed,
        "failed": counts.failed,
        "errors": counts.broken,
        "milliseconds": milliseconds(report.took),
        "cases": report.cases.iter().map(case).collect::<Value>(),
    });
    text::json(&document.to_string()) + "\n"
}

fn case(run: &CaseRun<'_>) -> Value {
    let outcome = match run.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed(_) => "failed",
        Verdict::Broken(_) => "error",
    };
    let mut case = json!({
        "name": run.planned.case_name(),
        "outcome": outcome,
        "milliseconds": milliseconds(run.took),
        "questions": run.asked,
    });
    if let Some(revision) = run.planned.revision {
        case["revision"] = revision.as_str().into();
    }
    match &run.verdict {
        Verdict::Passed => {}
        Verdict::Failed(mismatches) => {
            let pairs = mismatches.iter().map(|mismatch| {
                json!({"expected": mismatch.expected.as_str(), "came": mismatch.came.raw()})
            });
            case["mismatches"] = pairs.collect();
        }
        Verdict::Broken(_) => case["error"] = details(run).pop().into(),
    }
    case
}
