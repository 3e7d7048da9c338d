//! Runs other implementations of the protocol against askback: each as a client of the travel agency, and each as a
//! server that the command calls.
//!
//! A failure fails the test. Features that a peer lacks are listed in `gaps.rs` with a reason, and the list is checked,
//! too. Without npm or Python, their peers are skipped. Arguments select runs by title: `cargo test -p lab --test
//! interop -- python-2 "client http"` runs those that contain any of the words.

mod as_client;
mod as_server;
mod gaps;
mod install;
mod job;
mod library;
mod packages;
mod place;
mod plan;
mod processes;
mod program;
mod table;
mod wrapped;

use std::{
    collections::BTreeMap,
    error::Error,
    io::Write as _,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::Semaphore, task::JoinSet};

use self::{
    gaps::GAPS,
    install::Installed,
    packages::Tried,
    place::Place,
    plan::{Outcome, Run, Scenario, Side},
};

/// The error if a test cannot run. A failed scenario is not an error.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

type Outcomes = BTreeMap<Scenario, Outcome>;

/// The word that selects the reference servers.
const PACKAGES: &str = "packages";

/// Each run has a client and a server.
const AT_ONCE: usize = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("the interop suite cannot be run: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the selected tests. Returns false if anything failed.
async fn run(words: &[String]) -> Result<bool> {
    let mut runs = Run::all();
    // Other options are for the usual test harness.
    if words.iter().any(|word| word == "--list") {
        runs.iter().for_each(|run| say(&run.to_string()));
        return Ok(true);
    }
    let blessed = words.iter().any(|word| word == "--bless");
    let words: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let all = words.is_empty();
    runs.retain(|run| all || words.iter().any(|word| run.to_string().contains(*word)));
    let packages = all || words.iter().any(|word| *word == PACKAGES);
    if runs.is_empty() && !packages {
        return Ok(true);
    }
    let installed = Arc::new(Installed::install()?);
    for left_out in &installed.left_out {
        say(&format!("left out: {left_out}"));
    }

    let began = Instant::now();
    let tried = match packages {
        true => try_packages(&installed).await?,
        false => BTreeMap::new(),
    };
    let results = run_all(runs, &installed).await?;
    let outcomes = || results.values().flat_map(BTreeMap::values);
    let failed = outcomes()
        .filter(|outcome| matches!(outcome, Outcome::Failed(_)))
        .count();
    let passed = outcomes()
        .filter(|outcome| **outcome == Outcome::Passed)
        .count();
    let ended = match failed {
        0 => "none failed".to_owned(),
        failed => format!("{failed} FAILED"),
    };
    let took = seconds(began.elapsed());
    say(&format!(
        "{} runs, {passed} scenarios passed, {ended} ({took})",
        results.len()
    ));
    let complete = all && installed.left_out.is_empty();
    Ok(failed == 0 && (!complete || document(&table::of(&results, &tried), blessed)?))
}

/// Whether the document has these results. With `blessed`, writes them.
fn document(tables: &str, blessed: bool) -> Result<bool> {
    if blessed {
        table::write(tables)?;
    }
    let written = table::is_written(tables)?;
    if !written {
        say(&format!(
            "docs/interop.md has other results; `-- --bless` writes these:\n{tables}"
        ));
    }
    Ok(written)
}

/// Runs everything, several at a time. Prints each result.
async fn run_all(runs: Vec<Run>, installed: &Arc<Installed>) -> Result<BTreeMap<Run, Outcomes>> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut under_way = JoinSet::new();
    for run in runs {
        let server = match run.side {
            Side::Wrapped(Some(server)) => installed.program(server, Side::Server),
            _ => installed.program(run.peer, run.side),
        };
        if server.is_none() || installed.program(run.peer, run.side).is_none() {
            continue;
        }
        let (room, installed) = (Arc::clone(&room), Arc::clone(installed));
        under_way.spawn(async move {
            let _room = room.acquire_owned().await?;
            let began = Instant::now();
            let outcomes = attempt(&run, &installed).await;
            say_outcomes(&run, &outcomes, began.elapsed());
            Ok::<_, Box<dyn Error + Send + Sync>>((run, outcomes))
        });
    }
    let mut results = BTreeMap::new();
    while let Some(ended) = under_way.join_next().await {
        let (run, outcomes) = ended??;
        results.insert(run, outcomes);
    }
    Ok(results)
}

async fn try_packages(installed: &Installed) -> Result<BTreeMap<&'static str, Tried>> {
    let place = Place::named(PACKAGES)?;
    let mut all = BTreeMap::new();
    for package in packages::all(&place) {
        let began = Instant::now();
        let Some(tried) = package.run(installed, &place).await? else {
            continue;
        };
        let mark = if tried.failed.is_empty() {
            "ok    "
        } else {
            "FAILED"
        };
        let (name, passed) = (package.name, tried.passed.len());
        let mut text = format!(
            "{mark} {name:<40} {passed:>2} passed {:>7}",
            seconds(began.elapsed())
        );
        for why in &tried.failed {
            text.push_str(&format!("\n         {why}"));
        }
        say(&text);
        all.insert(name, tried);
    }
    Ok(all)
}

async fn attempt(run: &Run, installed: &Installed) -> Outcomes {
    let outcomes = match run.gap(GAPS, None) {
        Some(why) => Ok(all_are(run, &Outcome::Cannot(why))),
        None => try_all(run, installed).await,
    };
    let mut outcomes =
        outcomes.unwrap_or_else(|error| all_are(run, &Outcome::Failed(error.to_string())));
    for (scenario, outcome) in &mut outcomes {
        let gap = run.gap(GAPS, Some(*scenario));
        match (&outcome, gap) {
            (Outcome::Failed(_), Some(why)) => *outcome = Outcome::Cannot(why),
            (Outcome::Passed, Some(_)) => {
                let why = "it works, though gaps.rs says that it does not";
                *outcome = Outcome::Failed(why.to_owned());
            }
            _ => {}
        }
    }
    outcomes
}

async fn try_all(run: &Run, installed: &Installed) -> Result<Outcomes> {
    let Some(program) = installed.program(run.peer, run.side) else {
        return Ok(Outcomes::new());
    };
    let place = Place::of(run)?;
    match run.side {
        Side::Client => as_client::run(run, &program, &place).await,
        Side::Server => as_server::run(run, &program, &place).await,
        Side::Wrapped(server) => {
            let server = server.and_then(|peer| installed.program(peer, Side::Server));
            wrapped::run(run, &program, server, &place).await
        }
    }
}

fn all_are(run: &Run, outcome: &Outcome) -> Outcomes {
    let scenarios = run.side.scenarios().iter();
    scenarios
        .map(|scenario| (*scenario, outcome.clone()))
        .collect()
}

fn say_outcomes(run: &Run, outcomes: &Outcomes, took: Duration) {
    let count = |wanted: fn(&Outcome) -> bool| outcomes.values().filter(|it| wanted(it)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let mark = if failed == 0 { "ok    " } else { "FAILED" };
    let passed = count(|outcome| *outcome == Outcome::Passed);
    let mut text = format!("{mark} {run:<40} {passed:>2} passed {:>7}", seconds(took));
    for (scenario, outcome) in outcomes {
        if let Outcome::Failed(why) = outcome {
            text.push_str(&format!("\n         {}: {why}", scenario.title()));
        }
    }
    say(&text);
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
