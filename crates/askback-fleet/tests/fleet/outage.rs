//! Statements of the administrator of a private PostgreSQL cluster, and its failures. They read `/proc`.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::cluster::{ADMINISTRATOR, Cluster, as_user};

/// The time limit for PostgreSQL to start again.
const START: Duration = Duration::from_secs(60);

impl Cluster {
    /// Runs a statement as the administrator.
    pub(crate) fn run_as_administrator(&self, statement: &str) {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--quiet", "--no-psqlrc", "--username", "postgres", "--host"]);
        psql.arg(&self.directory).env("PGPASSWORD", ADMINISTRATOR);
        let run = psql.args(["--output=/dev/null", "--command", statement, "postgres"]);
        assert!(run.status().expect("psql starts").success());
    }

    /// Kills all of its processes.
    pub(crate) fn kill(&self) {
        self.signal("-KILL");
    }

    /// Sends a signal to all of its processes.
    pub(crate) fn signal(&self, signal: &str) {
        let file = Path::new(&self.directory).join("data/postmaster.pid");
        let file = fs::read_to_string(file).unwrap_or_default();
        if let Some(postmaster) = file.lines().next().and_then(|pid| pid.parse().ok()) {
            send(signal, postmaster);
        }
    }

    /// Starts the engine again after it was killed, and waits until it accepts connections.
    pub(crate) fn start_again(&self) {
        let begun = Instant::now();
        loop {
            let mut start = as_user();
            start.arg(self.programs.join("pg_ctl"));
            // `restart` uses the options of the first start.
            start.args([
                "restart", "--silent", "--wait", "--pgdata", "data", "--log", "log",
            ]);
            start.current_dir(&self.directory).stdin(Stdio::null());
            let started = start.stdout(Stdio::null()).stderr(Stdio::null()).status();
            if started.expect("pg_ctl starts").success() {
                return;
            }
            // Its killed processes may not have ended yet.
            assert!(begun.elapsed() < START, "PostgreSQL does not start again");
        }
    }
}

/// Sends a signal to a process and its children.
pub(crate) fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.arg(signal).arg(process.to_string());
    kill.args(children(process).iter().map(u32::to_string));
    // A child may have ended meanwhile.
    let _ = kill.stderr(Stdio::null()).status();
}

pub(crate) fn children(process: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before it may contain anything.
        let after_name = stat.rsplit_once(") ")?.1;
        after_name.split(' ').nth(1)?.parse::<u32>().ok()
    };
    pids.filter(|pid| parent(pid) == Some(process)).collect()
}
