//! Runs the official conformance suite against `conformance-server` and `conformance-client`.
//!
//! A failed check fails the test, and so does a warning; there is no list of expected failures. Without npm, nothing is
//! run. Arguments select runs by title: `cargo test -p lab --test conformance -- client sse-retry` runs those that
//! contain any of the words.

mod judge;
mod plan;
mod program;
mod suite;
mod table;

use std::{
    collections::{BTreeMap, VecDeque},
    error::Error,
    io::Write as _,
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use self::{
    judge::{Skipped, Verdict},
    plan::Run,
    suite::Suite,
};

/// The error if the suite cannot be run. A failed check is not an error.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("the conformance suite cannot be run: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs what the words select. Returns false if anything failed.
fn run(words: &[String]) -> Result<bool> {
    let Some(suite) = Suite::install()? else {
        say("the conformance suite is left out: it needs npm, which is not there");
        return Ok(true);
    };
    let mut runs = plan::runs(&suite)?;
    // Other options are for the usual test harness.
    if words.iter().any(|word| word == "--list") {
        runs.iter().for_each(|run| say(&run.title));
        return Ok(true);
    }
    let blessed = words.iter().any(|word| word == "--bless");
    let words: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let all = words.is_empty();
    runs.retain(|run| all || words.iter().any(|word| run.title.contains(*word)));
    if runs.is_empty() {
        return Ok(true);
    }

    let began = Instant::now();
    let verdicts = run_all(&suite, &runs)?;
    let skipped: Vec<&Skipped> = verdicts
        .iter()
        .flat_map(|verdict| &verdict.skipped)
        .collect();
    say_skipped(&skipped);
    let failed = verdicts.iter().filter(|verdict| !verdict.passed()).count();
    let checks: usize = verdicts.iter().map(|verdict| verdict.checks).sum();
    let took = seconds(began.elapsed());
    let ended = match failed {
        0 => "all passed".to_owned(),
        failed => format!("{failed} FAILED"),
    };
    say(&format!(
        "{} runs, {checks} checks, {ended} ({took})",
        runs.len()
    ));
    Ok(failed == 0 && (!all || document(&table::of(&runs, &verdicts), blessed)?))
}

/// Whether the document has these results. With `blessed`, writes them.
fn document(table: &str, blessed: bool) -> Result<bool> {
    if blessed {
        table::write(table)?;
    }
    let written = table::is_written(table)?;
    if !written {
        say(&format!(
            "docs/conformance.md has other results; `-- --bless` writes these:\n{table}"
        ));
    }
    Ok(written)
}

/// Runs everything, several at a time, each with its own server. Prints each result.
fn run_all(suite: &Suite, runs: &[Run]) -> Result<Vec<Verdict>> {
    let open: Mutex<VecDeque<(usize, &Run)>> = Mutex::new(runs.iter().enumerate().collect());
    let verdicts = Mutex::new(BTreeMap::new());
    // A run mostly waits.
    let workers = 2 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let Some((place, run)) = lock(&open).pop_front() else {
                    return Ok(());
                };
                let began = Instant::now();
                let verdict = program::run(suite, run)?;
                say_verdict(run, &verdict, began.elapsed());
                lock(&verdicts).insert(place, verdict);
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| match worker.join() {
                Ok(ended) => ended,
                Err(_) => Err("a worker panicked".into()),
            })
    })?;
    Ok(std::mem::take(&mut *lock(&verdicts))
        .into_values()
        .collect())
}

/// The results are never half-changed, even if a worker panicked.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn say_verdict(run: &Run, verdict: &Verdict, took: Duration) {
    let mark = if verdict.passed() { "ok    " } else { "FAILED" };
    let Verdict {
        scenarios, checks, ..
    } = verdict;
    let title = &run.title;
    let mut text = format!(
        "{mark} {title:<66} {scenarios:>3} scenarios {checks:>4} checks {:>7}",
        seconds(took)
    );
    for wrong in &verdict.wrong {
        text.push_str("\n         ");
        text.push_str(wrong);
    }
    say(&text);
}

fn say_skipped(skipped: &[&Skipped]) {
    let mut times: BTreeMap<&Skipped, usize> = BTreeMap::new();
    for check in skipped {
        *times.entry(check).or_default() += 1;
    }
    for (
        Skipped {
            scenario,
            check,
            why,
        },
        times,
    ) in times
    {
        say(&format!(
            "skipped by the suite, {times}x: {scenario}: {check}: {why}"
        ));
    }
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
