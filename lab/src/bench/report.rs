//! Writes the measurements as a page.

use std::{collections::BTreeMap, fmt::Write as _, fs, process::Command};

use super::{Peer, Sample};

/// A table: the measurements of one unit whose names begin the same way.
struct Table {
    title: &'static str,
    prefix: &'static str,
    unit: &'static str,
}

const TABLES: &[Table] = &[
    Table {
        title: "Calls over HTTP, per second",
        prefix: "tools/call",
        unit: "per second",
    },
    Table {
        title: "Instructions of the server for a call, and for a whole question",
        prefix: "",
        unit: "instructions",
    },
    Table {
        title: "The same of a process of a fleet, with its calls in an SQLite file",
        prefix: "",
        unit: "instructions, fleet",
    },
    Table {
        title: "Processor time of the server for a call, in microseconds",
        prefix: "",
        unit: "processor, µs",
    },
    Table {
        title: "Half of the calls take at most, in microseconds",
        prefix: "tools/call",
        unit: "p50, µs",
    },
    Table {
        title: "99 of 100 calls take at most, in microseconds",
        prefix: "tools/call",
        unit: "p99, µs",
    },
    Table {
        title: "Questions asked and answered over HTTP, per second",
        prefix: "elicitation",
        unit: "per second",
    },
    Table {
        title: "Calls over the standard streams, per second",
        prefix: "stdio",
        unit: "per second",
    },
    Table {
        title: "Calls of a client, per second",
        prefix: "client",
        unit: "per second",
    },
    Table {
        title: "A change inside its handler, in microseconds; alone there are no sessions",
        prefix: "change",
        unit: "change, µs",
    },
    Table {
        title: "Calls in 3 seconds next to listeners of 100 changes a second; alone, nothing changes",
        prefix: "next to",
        unit: "calls",
    },
    Table {
        title: "Memory kept open, in KiB each, and what of it is left behind",
        prefix: "",
        unit: "KiB",
    },
    Table {
        title: "From the start of a first server to its answer to `initialize`, in milliseconds",
        prefix: "cold start",
        unit: "ms",
    },
    Table {
        title: "A clean build: of a first server on the standard streams, and of the command in release mode, in seconds",
        prefix: "clean build",
        unit: "s",
    },
    Table {
        title: "Crates in them",
        prefix: "crates",
        unit: "crates",
    },
    Table {
        title: "Size of the command, in MiB",
        prefix: "size",
        unit: "MiB",
    },
];

const HEAD: &str = "| what | who | median | ratio |\n|---|---|---:|---:|\n";

const BEGINNING: &str = "\
# Performance

Written by `cargo run --release -p lab --bin bench`, which measures again. The numbers are medians of
several rounds on one machine; only the ratios hold for other machines. A ratio compares with a bare
axum handler that reads the same body into a small struct (over the standard streams: with a plain
loop), or else with rmcp 3.11.0. Both libraries have their default settings, except as a row says.
Server and load have a core each. The clients of both libraries call askback's server.
FastMCP 4.2.3, the Python SDK 2.3.0
and the TypeScript SDK 2.4.0 answer calls with JSON, on one and on 16 connections.

`cargo bench -p lab --bench parts` times the parts of a call, without any of this.
";

#[allow(
    clippy::print_stderr,
    reason = "a run takes long, and its result is on standard output"
)]
pub(super) fn tell(what: &str) {
    eprintln!("{what}");
}

/// Writes the page: a table for each kind of measurement, with medians and ratios. Keeps from
/// the old page the text around its tables, and the tables that were not measured.
#[must_use]
pub fn write(samples: &[Sample], old: &str) -> String {
    let old: BTreeMap<&str, &str> = old
        .split("\n## ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .collect();
    let mut page = BEGINNING.to_owned();
    let _ = writeln!(page, "\nThis machine: {}.", machine());
    for table in TABLES {
        let chosen = samples
            .iter()
            .filter(|sample| sample.unit == table.unit && sample.what.starts_with(table.prefix));
        let mut cells: Vec<(&str, BTreeMap<Peer, Vec<f64>>)> = Vec::new();
        for sample in chosen {
            let at = cells.iter().position(|(what, _)| *what == sample.what);
            let at = at.unwrap_or_else(|| {
                cells.push((&sample.what, BTreeMap::new()));
                cells.len() - 1
            });
            let values = cells[at].1.entry(sample.peer).or_default();
            values.push(sample.value);
        }
        let old = old.get(table.title).copied().unwrap_or("\n");
        let (before, rest) = old.split_once(HEAD).unwrap_or((old, ""));
        let is_row = |line: &&str| line.starts_with('|');
        let end = rest.split_inclusive('\n').take_while(is_row).map(str::len);
        let (kept, after) = rest.split_at(end.sum());
        let measured = rows(cells);
        let rows = if measured.is_empty() { kept } else { &measured };
        if !rows.is_empty() {
            let _ = write!(page, "\n## {}\n{before}{HEAD}{rows}{after}", table.title);
        }
    }
    page
}

fn rows(cells: Vec<(&str, BTreeMap<Peer, Vec<f64>>)>) -> String {
    let mut text = String::new();
    for (what, peers) in cells {
        let mut reference = None;
        for (peer, mut values) in peers {
            let median = median(&mut values);
            let base = *reference.get_or_insert(median);
            let name = peer.name();
            let _ = writeln!(
                text,
                "| {what} | {name} | {} | {:.2} |",
                number(median),
                median / base
            );
        }
    }
    text
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

fn number(value: f64) -> String {
    if value.abs() < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let described = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = described
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let rustc = rustc.unwrap_or_else(|_| "an unknown compiler".into());
    format!("{model}, {cores} cores in use by this program, {rustc}")
}
