//! The cost of the parts of a call: `cargo bench -p lab --bench parts`. Names after ` -- ` select parts.
//!
//! Each part is measured many times, and the best time is shown, because everything else is noise. If `valgrind` is
//! installed, instructions are counted, too: they hardly differ between runs, even on a busy machine.
//!
//! `cargo bench -p lab --bench parts -- --check` compares the instructions with `instructions.txt`, and fails if a part
//! costs more; with `ASKBACK_BLESS=1` it updates the file.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

mod far;
mod kept;
mod parts;
mod reading;

use std::{
    env,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use parts::PARTS;

const SPAN: Duration = Duration::from_millis(200);

/// How many runs to count, after as many for warm-up.
const COUNTED: u64 = 200;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments == [far::STDIO] {
        far::answer_lines().expect("a client");
        return ExitCode::SUCCESS;
    }
    if let [flag, name, times] = &arguments[..]
        && flag == "--run"
    {
        let part = PARTS.iter().find(|(part, _)| part == name);
        let (_, make) = part.expect("the name of a part");
        repeat(&mut *make(), times.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|argument| argument == "--check") {
        return match kept::check() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    // Cargo adds its own flags.
    let names = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'));
    let names: Vec<&str> = names.map(String::as_str).collect();
    for (name, make) in PARTS {
        if !names.is_empty() && !names.contains(name) {
            continue;
        }
        let nanoseconds = time(&mut *make());
        let instructions = count(name).map_or_else(String::new, |n| format!("{n:>9} instructions"));
        println!("{name:<28} {nanoseconds:>8.0} ns {instructions}");
    }
    ExitCode::SUCCESS
}

fn repeat(part: &mut dyn FnMut(), times: u64) {
    for _ in 0..times {
        part();
    }
}

/// Returns the shortest time of one run, in nanoseconds.
fn time(part: &mut dyn FnMut()) -> f64 {
    const BATCH: u32 = 64;
    let begun = Instant::now();
    let mut best = Duration::MAX;
    while begun.elapsed() < SPAN {
        let batch = Instant::now();
        repeat(part, BATCH.into());
        best = best.min(batch.elapsed());
    }
    best.as_secs_f64() * 1e9 / f64::from(BATCH)
}

/// Returns the instructions of one run, if valgrind is installed.
fn count(name: &str) -> Option<u64> {
    let (few, many) = (run(name, COUNTED)?, run(name, 2 * COUNTED)?);
    Some(many.saturating_sub(few) / COUNTED)
}

fn run(name: &str, times: u64) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(env::current_exe().ok()?);
    command.args(["--run", name, &times.to_string()]);
    let told = String::from_utf8(command.output().ok()?.stderr).ok()?;
    let (_, counted) = told.split_once("Collected : ")?;
    counted.split_whitespace().next()?.parse().ok()
}
