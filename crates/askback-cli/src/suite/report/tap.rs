//! The report in the Test Anything Protocol, version 14.

use std::fmt::Write as _;

use askback_host::text;

use super::{Report, details, seconds};
use crate::suite::run::Verdict;

pub(super) fn written(report: &Report<'_>) -> String {
    let mut tap = format!("TAP version 14\n1..{}\n", report.cases.len());
    for (number, case) in (1_usize..).zip(report.cases) {
        let name = described(&case.planned.name());
        let (ok, directive) = match case.verdict {
            Verdict::Passed => ("ok", ""),
            Verdict::LeftOut => ("ok", " # SKIP after a case that failed"),
            Verdict::Failed(_) | Verdict::Broken(_) => ("not ok", ""),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(tap, "{ok} {number} - {name}{directive}");
        if case.verdict == Verdict::LeftOut {
            continue;
        }
        let _ = writeln!(tap, "  ---\n  duration_ms: {}", case.took.as_millis());
        let details = details(case);
        if !details.is_empty() {
            let _ = writeln!(tap, "  details:");
            for detail in details {
                // A text of JSON is one of YAML.
                let detail = serde_json::to_string(&detail).unwrap_or_default();
                let _ = writeln!(tap, "    - {}", text::json(&detail));
            }
        }
        let _ = writeln!(tap, "  ...");
    }
    let _ = writeln!(tap, "# {} s", seconds(report.took));
    tap
}

/// A name on one line, in which nothing begins a directive.
fn described(name: &str) -> String {
    text::line(name).replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_directive() {
        for (name, expected) in [
            ("books a holiday", "books a holiday"),
            ("the # SKIP of it", "the \\# SKIP of it"),
            ("a\\#b", "a\\\\\\#b"),
            ("a\nnot ok 2", "a<U+000A>not ok 2"),
        ] {
            assert_eq!(described(name), expected);
        }
    }
}
