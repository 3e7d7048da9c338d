//! Kills processes of a fleet while users are being asked, and reports what was lost.
//!
//! ```console
//! $ cargo run -p lab --bin chaos -- --calls 20
//! $ cargo run -p lab --bin chaos -- --calls 20 --client askback --client Python
//! $ cargo run -p lab --bin chaos -- --calls 60 --client askback --journal postgres --bus nats --balancer haproxy --kill-engine
//! $ cargo run -p lab --bin chaos -- --rolling
//! $ cargo run -p lab --bin chaos -- --soak 600
//! $ cargo run -p lab --bin chaos -- --cost --calls 10000 --nodes 2 --journal postgres --balancer haproxy
//! ```
//!
//! `--calls` is the number per client. The last line has the totals, and the exit status is 1 if anything was lost, was
//! booked twice, or reached another user. `calls.log` in the folder has a line per call. `--kill-engine` kills PostgreSQL
//! and the bus again and again, `--cut-engine` stops them for 3 or 13 seconds, `--cut-network` cuts one process off from them
//! for as long (as root on Linux), and `--calm` kills no process of the fleet, so a call that ends before its first question
//! counts as lost. `--cost` measures what calls cost the processes and PostgreSQL, with `--at-once` calls for each process; with `--instructions`,
//! valgrind counts what the processes execute. This program also runs as these processes, with
//! `--serve ADDRESS FOLDER JOURNAL BUS`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are for who started this"
)]

use std::{env, error::Error, path::Path, process::ExitCode, time::Duration};

use lab::chaos::{self, BusKind, JournalKind, Settings};

const USAGE: &str = "usage: chaos [--calls N] [--at-once N] [--nodes N] [--client WORD]… [--seed N] [--folder FOLDER] \
    [--journal sqlite|postgres|none] [--bus none|sqlite|postgres|nats|redis] [--balancer own|haproxy|nginx] [--kill-engine] \
    [--cut-engine] [--cut-network] [--calm] [--rolling | --soak SECONDS | --cost [--stateless] [--instructions]]";

enum Task {
    Calls,
    Rolling,
    Soak(Duration),
    Cost,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    let words: Vec<_> = env::args().skip(1).collect();
    if let [first, address, folder, journal, bus] = &*words
        && first == "--serve"
    {
        chaos::serve(address, Path::new(folder), journal, bus).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut task = Task::Calls;
    let folder = env::temp_dir().join(format!("askback-chaos-{}", std::process::id()));
    let mut settings = Settings::new(env::current_exe()?, folder);
    let mut bus: Option<BusKind> = None;
    let mut is_temporary = true;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rolling" => task = Task::Rolling,
            "--cost" => task = Task::Cost,
            "--kill-engine" => settings.trouble.kill = true,
            "--cut-engine" => settings.trouble.cut = true,
            "--cut-network" => settings.trouble.network = true,
            "--calm" => settings.is_calm = true,
            "--stateless" => settings.is_stateless = true,
            "--instructions" => settings.counts_instructions = true,
            _ => {}
        }
        if matches!(
            &*word,
            "--rolling"
                | "--cost"
                | "--kill-engine"
                | "--cut-engine"
                | "--cut-network"
                | "--calm"
                | "--stateless"
                | "--instructions"
        ) {
            continue;
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--calls" => settings.calls = value.parse()?,
            "--at-once" => settings.at_once = value.parse()?,
            "--nodes" => settings.nodes = value.parse()?,
            "--client" => settings.clients.push(value),
            "--journal" => settings.journal = value.parse()?,
            "--bus" => bus = Some(value.parse()?),
            "--balancer" => settings.balancer = value.parse()?,
            "--seed" => settings.seed = value.parse()?,
            "--folder" => (settings.folder, is_temporary) = (value.into(), false),
            "--soak" => task = Task::Soak(Duration::from_secs(value.parse()?)),
            _ => return Err(USAGE.into()),
        }
    }
    settings.bus = bus.unwrap_or(settings.journal.own_bus());
    if !settings.bus.fits(settings.journal) {
        return Err(format!("a bus over {} needs the same journal", settings.bus).into());
    }
    if settings.journal == JournalKind::None && settings.nodes != 1 && !settings.is_stateless {
        return Err(
            "processes without a journal have no sessions in common: add --nodes 1, or --stateless"
                .into(),
        );
    }
    lab::bench::open_many_files();
    let (line, holds) = match task {
        Task::Calls => {
            let tally = chaos::run(&settings).await?;
            let tally = tally.ok_or("an engine or the balancer is not installed")?;
            (tally.to_string(), tally.holds())
        }
        Task::Rolling => {
            let load = chaos::roll(&settings).await?;
            (load.to_string(), load.holds())
        }
        Task::Soak(span) => {
            let load = chaos::soak(&settings, span).await?;
            (load.to_string(), load.holds())
        }
        Task::Cost => {
            let cost = chaos::measure(&settings).await?;
            (cost.to_string(), cost.holds())
        }
    };
    println!("{line}");
    if !holds {
        eprintln!("the logs are in {}", settings.folder.display());
        return Ok(ExitCode::FAILURE);
    }
    if is_temporary {
        std::fs::remove_dir_all(&settings.folder)?;
    }
    Ok(ExitCode::SUCCESS)
}
