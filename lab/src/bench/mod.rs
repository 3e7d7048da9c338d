//! Benchmarks of askback, a bare handler and rmcp.
//!
//! `docs/performance.md`, which the program `bench` writes, describes what is measured.

mod build;
mod calling;
mod client;
mod fanout;
mod http;
mod instructions;
mod memory;
mod process;
mod report;
mod requests;
mod stdio;

use std::{io, path::Path, time::Duration};

pub use process::open_many_files;
pub use report::write;

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The number of repetitions. The medians are reported.
    pub rounds: usize,
    /// The duration of each measurement.
    pub span: Duration,
    /// The numbers of open sessions and streams.
    pub open: &'static [usize],
    /// Whether to measure clean builds.
    pub builds: bool,
    /// Whether the programs are already built.
    pub built: bool,
}

/// The measured implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// A bare handler, or a plain loop.
    Floor,
    /// rmcp with its default settings.
    Rmcp,
    /// rmcp with `TCP_NODELAY`, which it does not set by default.
    RmcpNoDelay,
    /// rmcp, set to answer with JSON.
    RmcpJson,
    /// FastMCP, set to answer with JSON.
    FastMcp,
    /// The Python SDK, set to answer with JSON.
    Python,
    /// The TypeScript SDK, which answers with JSON by default.
    TypeScript,
    /// askback while nothing changes.
    AskbackAlone,
    /// askback with its default settings.
    Askback,
    /// askback as a process of a fleet.
    AskbackFleet,
}

/// One measurement.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The name of the measurement.
    pub what: String,
    /// The measured implementation.
    pub peer: Peer,
    /// The unit of the value.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
}

impl Peer {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "bare",
            Self::Rmcp => "rmcp",
            Self::RmcpNoDelay => "rmcp, nodelay",
            Self::RmcpJson => "rmcp, JSON",
            Self::FastMcp => "FastMCP",
            Self::Python => "Python SDK",
            Self::TypeScript => "TypeScript SDK",
            Self::AskbackAlone => "askback, alone",
            Self::Askback => "askback",
            Self::AskbackFleet => "askback, fleet",
        }
    }
}

type Part<'a> = (&'a str, &'a dyn Fn() -> io::Result<Vec<Sample>>);

/// Runs all benchmarks, or the parts with these names: `http`, `stdio`, `client`, `fanout`, `instructions`, `memory`,
/// `build`. Progress and failures are printed to stderr.
///
/// # Errors
///
/// If a program cannot be built.
pub fn run(root: &Path, effort: Effort, only: &[String]) -> io::Result<Vec<Sample>> {
    let programs = process::Programs::build(root, effort.built)?;
    let parts: [Part<'_>; 7] = [
        ("http", &|| http::measure(&programs, effort)),
        ("stdio", &|| stdio::measure(&programs, effort)),
        ("client", &|| calling::measure(&programs, effort)),
        ("fanout", &|| fanout::measure(&programs, effort)),
        ("instructions", &|| instructions::measure(&programs)),
        ("memory", &|| memory::measure(&programs, effort)),
        ("build", &|| build::measure(root)),
    ];
    let mut samples = Vec::new();
    for (name, measure) in parts {
        let wanted = only.iter().any(|only| only == name);
        if wanted || (only.is_empty() && (effort.builds || name != "build")) {
            match measure() {
                Ok(measured) => samples.extend(measured),
                Err(error) => report::tell(&format!("{name} failed: {error}")),
            }
        }
    }
    Ok(samples)
}
