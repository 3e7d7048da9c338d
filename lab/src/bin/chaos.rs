//! Kills processes of a fleet while clients are asked, and says what was lost.
//!
//! ```console
//! $ cargo build -p askback-travel -p lab --bins
//! $ cargo run -p lab --bin chaos -- --calls 100 --python venv/bin/python --typescript folder/with/node_modules
//! $ cargo run -p lab --bin chaos -- --rolling
//! $ cargo run -p lab --bin chaos -- --soak 600
//! ```
//!
//! The last line says what happened, and the exit status is 1 if anything was lost, booked twice, or booked for somebody
//! else.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are for who started this"
)]

use std::{env, error::Error, path::PathBuf, process::ExitCode, time::Duration};

use lab::chaos::{self, Settings};

const USAGE: &str = "usage: chaos [--calls N] [--nodes N] [--server PROGRAM] [--folder FOLDER] [--seed N] \
    [--python PROGRAM]… [--node PROGRAM] [--typescript FOLDER]… [--rolling | --soak SECONDS]";

enum Task {
    Calls,
    Rolling,
    Soak(Duration),
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let this = env::current_exe()?;
    let mut task = Task::Calls;
    let mut settings = Settings {
        calls: 20,
        nodes: 3,
        server: this.with_file_name("travel-connect"),
        folder: env::temp_dir().join(format!("askback-chaos-{}", std::process::id())),
        pythons: Vec::new(),
        node: "node".into(),
        typescripts: Vec::new(),
        seed: 1,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--rolling" {
            task = Task::Rolling;
            continue;
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--calls" => settings.calls = value.parse()?,
            "--nodes" => settings.nodes = value.parse()?,
            "--seed" => settings.seed = value.parse()?,
            "--server" => settings.server = value.into(),
            "--folder" => settings.folder = value.into(),
            "--python" => settings.pythons.push(value.into()),
            "--node" => settings.node = value.into(),
            "--typescript" => settings.typescripts.push(PathBuf::from(value)),
            "--soak" => task = Task::Soak(Duration::from_secs(value.parse()?)),
            _ => return Err(USAGE.into()),
        }
    }
    if !settings.server.exists() {
        let why = format!(
            "{} does not exist: build it with `cargo build -p askback-travel`",
            settings.server.display()
        );
        return Err(why.into());
    }
    lab::bench::open_many_files();
    let (line, holds) = match task {
        Task::Calls => {
            let tally = chaos::run(&settings).await?;
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
    };
    println!("{line}");
    if !holds {
        eprintln!("the logs are in {}", settings.folder.display());
        return Ok(ExitCode::FAILURE);
    }
    std::fs::remove_dir_all(&settings.folder)?;
    Ok(ExitCode::SUCCESS)
}
