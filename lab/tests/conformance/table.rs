use std::{collections::BTreeMap, fs};

use crate::{Result, judge::Verdict, plan::Run};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/conformance.md");

/// The heading of the section that contains only the table.
const HEADING: &str = "\n## Results\n";

/// Formats the passes as a table with a line per group of runs.
pub(crate) fn of(runs: &[Run], verdicts: &[Verdict]) -> String {
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (run, verdict) in runs.iter().zip(verdicts) {
        let (scenarios, checks) = groups.entry(&run.group).or_default();
        *scenarios += verdict.scenarios;
        *checks += verdict.checks;
    }
    let mut table = "| what | scenarios | checks passed |\n|---|---|---|\n".to_owned();
    for (group, (scenarios, checks)) in groups {
        table.push_str(&format!("| {group} | {scenarios} | {checks} |\n"));
    }
    table
}

pub(crate) fn is_written(table: &str) -> Result<bool> {
    let text = fs::read_to_string(DOCUMENT)?;
    Ok(text == with(&text, table)?)
}

pub(crate) fn write(table: &str) -> Result<()> {
    let text = fs::read_to_string(DOCUMENT)?;
    Ok(fs::write(DOCUMENT, with(&text, table)?)?)
}

fn with(text: &str, table: &str) -> Result<String> {
    let Some((before, _)) = text.split_once(HEADING) else {
        return Err(format!("{DOCUMENT} has no heading for the results").into());
    };
    Ok(format!("{before}{HEADING}\n{table}"))
}
