use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    Result,
    judge::{self, Verdict},
    plan::{Run, Side},
    suite::Suite,
};

const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");
const CLIENT: &str = env!("CARGO_BIN_EXE_conformance-client");

/// Where results are kept to investigate a failure.
const RESULTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/conformance");

/// The suite's timeout for a client, in milliseconds. Its default of 30 seconds is too short for a busy machine.
const PATIENCE: &str = "180000";

struct Server {
    child: Child,
    url: String,
}

pub(crate) fn run(suite: &Suite, run: &Run) -> Result<Verdict> {
    let results = results(&run.title)?;
    let mut command = suite.command();
    command.arg(run.side.name());
    let server = match run.side {
        Side::Server => {
            let server = Server::start(&results)?;
            command.args(["--url", &server.url]);
            Some(server)
        }
        // The suite passes it to a shell.
        Side::Client => {
            command.args(["--command", &format!("'{CLIENT}'"), "--timeout", PATIENCE]);
            None
        }
        Side::FindingClient => {
            let client = format!("'{CLIENT}' --find");
            command.args(["--command", &client, "--timeout", PATIENCE]);
            None
        }
    };
    command.args(&run.arguments).arg("-o").arg(&results);
    let log = results.join("suite.txt");
    let said = File::create(&log)?;
    let status = command
        .stdin(Stdio::null())
        .stderr(said.try_clone()?)
        .stdout(said)
        .status()?;
    drop(server);
    let mut verdict = judge::read(&results, run)?;
    if !status.success() {
        let why = format!("the suite ended with {status}: see {}", log.display());
        verdict.wrong.push(why);
    }
    Ok(verdict)
}

impl Server {
    fn start(results: &Path) -> Result<Self> {
        let log = File::create(results.join("server.txt"))?;
        let mut child = Command::new(SERVER)
            .args(["--addr", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut url)?;
        }
        let url = url.trim().to_owned();
        let server = Self { child, url };
        if server.url.is_empty() {
            return Err("the server ended before it said where it is".into());
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn results(title: &str) -> Result<PathBuf> {
    let name = title.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    let directory = Path::new(RESULTS).join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}
