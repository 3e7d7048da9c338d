//! Compares askback with a bare handler and rmcp, and writes `docs/performance.md`.
//!
//! `cargo run --release -p lab --bin bench` needs a quiet machine and some time. With `--quick` it takes minutes, and
//! only prints the results. With `--built` it measures the programs built earlier. Names of parts (`http`, `stdio`,
//! `client`, `fanout`, `instructions`, `memory`, `build`) select these parts; the page keeps the tables of the others.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::{env, fs, io, path::Path, time::Duration};

use lab::bench::{Effort, run, write};

fn main() -> io::Result<()> {
    let (flags, only): (Vec<String>, Vec<String>) = env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let (quick, built) = (has("--quick"), has("--built"));
    if flags.len() != usize::from(quick) + usize::from(built) {
        return Err(io::Error::other("usage: bench [--quick] [--built] [PART…]"));
    }
    let effort = if quick {
        Effort {
            rounds: 1,
            span: Duration::from_millis(700),
            open: &[1_000],
            builds: false,
            built,
        }
    } else {
        Effort {
            rounds: 3,
            span: Duration::from_secs(1),
            open: &[1_000, 10_000],
            builds: true,
            built,
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let samples = run(&root, effort, &only)?;
    if quick {
        println!("{}", write(&samples, ""));
        return Ok(());
    }
    let page = root.join("docs/performance.md");
    let text = write(&samples, &fs::read_to_string(&page)?);
    fs::write(page, text)
}
