//! Measuring askback beside a bare handler and rmcp.
//!
//! What runs is described in `docs/performance.md`, which the program `bench` writes.

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

/// How thoroughly is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How often each thing is measured; the medians are reported.
    pub rounds: usize,
    /// For how long each time.
    pub span: Duration,
    /// How many sessions and streams are kept open.
    pub open: &'static [usize],
    /// Whether clean builds are timed.
    pub builds: bool,
    /// Whether what is measured was built before.
    pub built: bool,
}

/// The measured party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// A bare handler, or a plain loop.
    Floor,
    /// rmcp with its default settings.
    Rmcp,
    /// rmcp with `TCP_NODELAY`, which it leaves to its user.
    RmcpNoDelay,
    /// rmcp, told to answer with JSON.
    RmcpJson,
    /// askback while nothing changes.
    AskbackAlone,
    /// askback with its default settings.
    Askback,
    /// askback as a process of a fleet.
    AskbackFleet,
}

/// One measurement of one thing.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The measurements.
    pub what: String,
    /// Of whom.
    pub peer: Peer,
    /// By what it is measured.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
}

impl Peer {
    /// How a table names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "bare",
            Self::Rmcp => "rmcp",
            Self::RmcpNoDelay => "rmcp, nodelay",
            Self::RmcpJson => "rmcp, JSON",
            Self::AskbackAlone => "askback, alone",
            Self::Askback => "askback",
            Self::AskbackFleet => "askback, fleet",
        }
    }
}

/// A part of what is measured.
type Part<'a> = (&'a str, &'a dyn Fn() -> io::Result<Vec<Sample>>);

/// Measures everything, or the parts of these names: `http`, `stdio`, `client`, `fanout`,
/// `instructions`, `memory`, `build`. What is done is told on standard error, and so is a part that failed.
///
/// # Errors
///
/// Where a program cannot be built.
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
