//! Numbers that should only change on purpose. The accepted numbers are in a file, with the version of the compiler.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path, process::Command};

/// The tolerance in percent. The cost of maps varies with random keys and addresses, and paths in a binary differ in
/// length.
const TOLERANCE: u64 = 2;

/// Compares numbers with the accepted ones, or accepts them if `ASKBACK_BLESS` is set.
///
/// # Errors
///
/// The numbers that differ by more than 2 %, or why the comparison is not possible.
pub fn check(file: &Path, found: &BTreeMap<&str, u64>) -> Result<(), String> {
    let broken = |error| format!("{}: {error}", file.display());
    let compiler = compiler()?;
    if env::var_os("ASKBACK_BLESS").is_some() {
        return fs::write(file, write(&compiler, found)).map_err(broken);
    }
    let accepted = fs::read_to_string(file).map_err(broken)?;
    for line in accepted.lines().skip(1) {
        let (name, before) = line.split_once(' ').unwrap_or_default();
        if let Some(now) = found.get(name) {
            tell(name, before, *now);
        }
    }
    let wrong = compare(&accepted, &compiler, found)?;
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nAccept what is on purpose with ASKBACK_BLESS=1.",
        wrong.join("\n")
    ))
}

#[expect(clippy::print_stdout, reason = "it is what programs call this for")]
fn tell(name: &str, before: &str, now: u64) {
    println!("{name:<28} {before:>9} before {now:>9} now");
}

fn write(compiler: &str, found: &BTreeMap<&str, u64>) -> String {
    found
        .iter()
        .fold(format!("{compiler}\n"), |mut text, (name, number)| {
            let _ = writeln!(text, "{name} {number}");
            text
        })
}

fn compare(
    accepted: &str,
    compiler: &str,
    found: &BTreeMap<&str, u64>,
) -> Result<Vec<String>, String> {
    let (of, accepted) = accepted.split_once('\n').unwrap_or_default();
    if of != compiler {
        return Err(format!(
            "the accepted numbers are those of {of}, and this is {compiler}: other compilers make others \
             of the same code. Accept those of the commit before, and compare then."
        ));
    }
    let accepted: BTreeMap<&str, u64> = accepted
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, number)| Some((name, number.parse().ok()?)))
        .collect();
    let differs = |(name, &now): (&&str, &u64)| match accepted.get(name) {
        None => Some(format!("{name} is not in the list: it is {now}")),
        Some(&before) if now.abs_diff(before) * 100 > before * TOLERANCE => {
            let how = if now > before { "more" } else { "less" };
            Some(format!("{name} is {how}: {before} before, {now} now"))
        }
        Some(_) => None,
    };
    Ok(found.iter().filter_map(differs).collect())
}

fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{compare, write};

    #[test]
    fn what_differs_by_more_than_two_percent_is_told() {
        let accepted = write(
            "rustc 1",
            &BTreeMap::from([("a", 1000), ("b", 1000), ("c", 1000)]),
        );
        let compared = |found: &[(&'static str, u64)]| {
            compare(&accepted, "rustc 1", &found.iter().copied().collect())
                .expect("the same compiler")
        };
        assert!(compared(&[("a", 980), ("b", 1000), ("c", 1020)]).is_empty());
        assert_eq!(
            compared(&[("a", 979), ("b", 1021), ("d", 1)]),
            [
                "a is less: 1000 before, 979 now",
                "b is more: 1000 before, 1021 now",
                "d is not in the list: it is 1",
            ]
        );
        assert!(compare(&accepted, "rustc 2", &BTreeMap::new()).is_err());
    }
}
