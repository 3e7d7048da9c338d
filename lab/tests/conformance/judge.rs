use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    Result,
    plan::{Run, Side},
};

/// The maximum length of the suite's messages in the output. The results have the rest.
const LONGEST: usize = 200;

#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) scenarios: usize,
    pub(crate) checks: usize,
    pub(crate) wrong: Vec<String>,
    pub(crate) skipped: Vec<Skipped>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    pub(crate) scenario: String,
    pub(crate) check: String,
    pub(crate) why: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    name: String,
    status: Status,
    error_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

/// The suite has this scenario, and skips its only check.
const SKIPS_ALL: &str = "tasks-status-notifications";

impl Status {
    /// Whether the suite checked something, rather than skipped it or told something.
    fn is_judgement(&self) -> bool {
        match self {
            Self::Success | Self::Failure | Self::Warning => true,
            Self::Skipped | Self::Info => false,
        }
    }
}

impl Verdict {
    pub(crate) fn passed(&self) -> bool {
        self.wrong.is_empty()
    }

    fn add(&mut self, scenario: &str, checks: Vec<Check>) {
        self.scenarios += 1;
        let skips_all = scenario == SKIPS_ALL && !checks.is_empty();
        if !skips_all && checks.iter().all(|check| !check.status.is_judgement()) {
            self.wrong.push(format!("{scenario}: nothing was checked"));
        }
        for Check {
            id,
            name,
            status,
            error_message,
        } in checks
        {
            let mut why = error_message.unwrap_or_default();
            why.truncate(why.floor_char_boundary(LONGEST));
            match status {
                Status::Success => self.checks += 1,
                Status::Info => {}
                Status::Skipped => self.skipped.push(Skipped {
                    scenario: scenario.to_owned(),
                    check: if id == name {
                        id
                    } else {
                        format!("{id} ({name})")
                    },
                    why,
                }),
                Status::Failure | Status::Warning => {
                    self.wrong
                        .push(format!("{scenario}: {status:?}: {id} ({name}): {why}"));
                }
            }
        }
    }
}

/// Reads the results of a run: a directory for each scenario, named after the scenario and the time.
pub(crate) fn read(results: &Path, run: &Run) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let mut seen = Vec::new();
    for (name, directory) in directories(results)? {
        let scenario = scenario(&name, run.side);
        match fs::read_to_string(directory.join("checks.json")) {
            Ok(checks) => verdict.add(scenario, serde_json::from_str(&checks)?),
            Err(_) => verdict
                .wrong
                .push(format!("{scenario}: it ended without a result")),
        }
        seen.push(scenario.to_owned());
    }
    let missing = run
        .scenarios
        .iter()
        .filter(|scenario| !seen.contains(scenario));
    let missing = missing.map(|scenario| format!("{scenario}: it was not run"));
    verdict.wrong.extend(missing);
    if seen.is_empty() {
        verdict.wrong.push("no scenario was run".to_owned());
    }
    Ok(verdict)
}

/// The scenarios' directories by name. A name with a slash, such as `auth/dpop`, has a nested
/// directory.
fn directories(results: &Path) -> Result<Vec<(String, PathBuf)>> {
    let inside = |path: &Path| -> Result<Vec<(String, PathBuf)>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let name = entry.file_name().to_string_lossy().into_owned();
                entries.push((name, entry.path()));
            }
        }
        entries.sort();
        Ok(entries)
    };
    let mut directories = Vec::new();
    for (name, path) in inside(results)? {
        let within = inside(&path)?;
        if within.is_empty() {
            directories.push((name, path));
            continue;
        }
        let named = within
            .into_iter()
            .map(|(inner, path)| (format!("{name}/{inner}"), path));
        directories.extend(named);
    }
    Ok(directories)
}

/// The scenario of a directory: `server-tools-list-2026-09-01T10-00-00-000Z`.
fn scenario(directory: &str, side: Side) -> &str {
    let name = match side {
        Side::Server => directory.strip_prefix("server-").unwrap_or(directory),
        Side::Client | Side::FindingClient => directory,
    };
    let time = "-2026-09-01T10-00-00-000Z".len();
    match name.split_at_checked(name.len().saturating_sub(time)) {
        Some((scenario, _)) if !scenario.is_empty() => scenario,
        _ => name,
    }
}
