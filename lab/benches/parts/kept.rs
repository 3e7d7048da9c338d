//! The instructions of the parts as they were last accepted, in `instructions.txt`.

use std::{collections::BTreeMap, fmt::Write as _, fs, process::Command};

use crate::{count, parts::PARTS};

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/parts/instructions.txt"
);

/// By how much a part may differ, in percent: maps with random keys and addresses cost now more, now
/// less.
const TOLERANCE: u64 = 2;

/// Compares the instructions of each part with the accepted ones, or accepts them.
pub(crate) fn check(bless: bool) -> Result<(), String> {
    let compiler = compiler()?;
    let mut counted = BTreeMap::new();
    for (name, _) in PARTS {
        let instructions = count(name).ok_or("`valgrind` counts the instructions: install it")?;
        counted.insert(*name, instructions);
    }
    if bless {
        let text =
            counted
                .iter()
                .fold(format!("{compiler}\n"), |mut text, (name, instructions)| {
                    let _ = writeln!(text, "{name} {instructions}");
                    text
                });
        return fs::write(FILE, text).map_err(|error| format!("{FILE}: {error}"));
    }
    let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
    let (of, accepted) = text.split_once('\n').unwrap_or_default();
    if of != compiler {
        return Err(format!(
            "the accepted instructions are those of {of}, and this is {compiler}: other compilers \
             make others of the same code. Accept those of the commit before, and compare then."
        ));
    }
    let accepted: BTreeMap<&str, u64> = accepted
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, instructions)| Some((name, instructions.parse().ok()?)))
        .collect();
    let mut wrong = Vec::new();
    for (name, now) in counted {
        let Some(&before) = accepted.get(name) else {
            wrong.push(format!("{name} is not in the list: it takes {now}"));
            continue;
        };
        println!("{name:<28} {before:>9} before {now:>9} now");
        if now.abs_diff(before) * 100 > before * TOLERANCE {
            let how = if now > before { "more" } else { "less" };
            wrong.push(format!("{name} takes {how}: {before} before, {now} now"));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nAccept what is on purpose with ASKBACK_BLESS=1.",
        wrong.join("\n")
    ))
}

fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
