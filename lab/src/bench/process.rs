use std::{
    fs, io,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use super::{Peer, report::tell};
use crate::install;

/// The core for the servers. The load comes from the other core.
const SERVERS: usize = 0;
const LOAD: usize = 1;

/// How long a server may take to become idle.
pub(super) const REST: Duration = Duration::from_millis(1500);

/// The lists of packages that the interop suite installs.
const PYTHON: &str = include_str!("../../interop/python/requirements-2.txt");
const NPM: &str = include_str!("../../interop/typescript/package.json");
const NPM_LOCK: &str = include_str!("../../interop/typescript/package-lock.json");
const TYPESCRIPT: &str = include_str!("../../peers/sdk.mjs");

/// The servers choose their ports.
const ANY_ADDRESS: &str = "127.0.0.1:0";

pub(super) struct Programs {
    askback: PathBuf,
    askback_client: PathBuf,
    fanout: PathBuf,
    floor: PathBuf,
    rmcp: PathBuf,
    rmcp_client: PathBuf,
    /// The command of the server of each SDK that is installed.
    sdks: Vec<(Peer, Vec<PathBuf>)>,
}

/// A running program, killed on drop.
pub(super) struct Running {
    child: Child,
    address: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    /// The program's proportional share of the memory (PSS), in KiB.
    pub(super) kib: f64,
}

impl Programs {
    /// Builds the programs as a user builds the library, unless they are already built.
    pub(super) fn build(root: &Path, built: bool) -> io::Result<Self> {
        let peers = root.join("lab/peers");
        if !built {
            let plain = ["build", "--profile", "plain", "--locked"];
            cargo(root, &[&plain[..], &["-p", "askback-bench"]].concat())?;
            cargo(&peers, &["build", "--release", "--locked"])?;
        }
        let ours = target(root)?.join("plain");
        let theirs = target(&peers)?.join("release");
        open_many_files();
        run_on(LOAD);
        Ok(Self {
            askback: ours.join("bench-server"),
            askback_client: ours.join("bench-client"),
            fanout: ours.join("bench-fanout"),
            floor: theirs.join("floor"),
            rmcp: theirs.join("rmcp"),
            rmcp_client: theirs.join("rmcp-client"),
            sdks: sdks(&peers),
        })
    }

    /// The installed SDKs.
    pub(super) fn sdks(&self) -> impl Iterator<Item = Peer> {
        self.sdks.iter().map(|(peer, _)| *peer)
    }

    pub(super) fn http(&self, peer: Peer) -> io::Result<Running> {
        self.listening(self.command(peer), peer)
    }

    pub(super) fn counted_http(&self, peer: Peer) -> io::Result<Running> {
        self.listening(self.counting(peer), peer)
    }

    pub(super) fn fanout(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.fanout);
        command.arg(ANY_ADDRESS);
        addressed(command)
    }

    pub(super) fn stdio(&self, peer: Peer) -> io::Result<(Running, ChildStdin, ChildStdout)> {
        piped(self.command(peer))
    }

    pub(super) fn counted_stdio(
        &self,
        peer: Peer,
    ) -> io::Result<(Running, ChildStdin, ChildStdout)> {
        piped(self.counting(peer))
    }

    pub(super) fn http_client(&self, peer: Peer, load: [&str; 2], url: &str) -> Command {
        let mut command = Command::new(self.client(peer));
        command.args(load).args(["--http", url]);
        command
    }

    /// Returns a client that starts askback's server, and calls it over stdio.
    pub(super) fn stdio_client(&self, peer: Peer, load: [&str; 2]) -> Command {
        let mut command = Command::new(self.client(peer));
        command.args(load).arg("--stdio");
        // Without this, the server would inherit the core of the client that starts it.
        command.args(["taskset", "-c", &SERVERS.to_string()]);
        command.arg(&self.askback).arg("--stdio");
        command
    }

    fn client(&self, peer: Peer) -> &Path {
        match peer {
            Peer::Askback | Peer::AskbackAlone | Peer::AskbackFleet => &self.askback_client,
            _ => &self.rmcp_client,
        }
    }

    fn program(&self, peer: Peer) -> &Path {
        match peer {
            Peer::Floor => &self.floor,
            Peer::Askback | Peer::AskbackAlone | Peer::AskbackFleet => &self.askback,
            _ => &self.rmcp,
        }
    }

    fn counting(&self, peer: Peer) -> Command {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(self.program(peer)).stderr(Stdio::piped());
        command
    }

    fn command(&self, peer: Peer) -> Command {
        match self.sdks.iter().find(|(sdk, _)| *sdk == peer) {
            Some((_, words)) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
            None => Command::new(self.program(peer)),
        }
    }

    fn listening(&self, mut command: Command, peer: Peer) -> io::Result<Running> {
        if !self.sdks().any(|sdk| sdk == peer) {
            command.args(["--addr", ANY_ADDRESS]);
        }
        match peer {
            Peer::RmcpNoDelay => {
                command.arg("--nodelay");
            }
            Peer::RmcpJson => {
                command.args(["--nodelay", "--json"]);
            }
            Peer::AskbackFleet => {
                let file = self.askback.with_extension("db");
                // Otherwise the server would remove the calls of earlier servers while its own are measured.
                for part in ["db", "db-shm", "db-wal"] {
                    let _ = fs::remove_file(file.with_extension(part));
                }
                command.arg("--fleet").arg(file);
            }
            _ => {}
        }
        addressed(command)
    }
}

impl Running {
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.address.ok_or_else(|| io::Error::other("no address"))
    }

    pub(super) fn processor_time(&self) -> io::Result<Duration> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let schedule = fs::read_to_string(task?.path().join("schedstat"))?;
            let spent = schedule.split_whitespace().next().unwrap_or_default();
            nanoseconds += spent.parse::<u64>().map_err(io::Error::other)?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Stops the program, and returns its instructions if they were counted.
    pub(super) fn instructions(mut self) -> io::Result<u64> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        let mut told = String::new();
        if let Some(mut output) = self.child.stderr.take() {
            output.read_to_string(&mut told)?;
        }
        let counted = told.split_once("Collected : ").map(|(_, rest)| rest);
        let counted = counted.and_then(|rest| rest.split_whitespace().next());
        let counted = counted.and_then(|counted| counted.parse().ok());
        counted.ok_or_else(|| io::Error::other(format!("valgrind counted nothing: {told}")))
    }

    pub(super) fn memory(&self) -> io::Result<Memory> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        let kib = kib.and_then(|kib| kib.parse().ok());
        let kib = kib.ok_or_else(|| io::Error::other("no Pss in smaps_rollup"))?;
        Ok(Memory { kib })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server over HTTP, which prints its address first.
fn addressed(mut command: Command) -> io::Result<Running> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let address = line.trim().parse().map_err(io::Error::other)?;
    Ok(Running {
        child,
        address: Some(address),
    })
}

pub(super) fn piped(mut command: Command) -> io::Result<(Running, ChildStdin, ChildStdout)> {
    command.arg("--stdio");
    let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let gone = || io::Error::other("no pipe to the server");
    let input = child.stdin.take().ok_or_else(gone)?;
    let output = child.stdout.take().ok_or_else(gone)?;
    let running = Running {
        child,
        address: None,
    };
    Ok((running, input, output))
}

/// Returns the commands of the servers with other SDKs. If one cannot be installed, its servers are left out.
fn sdks(peers: &Path) -> Vec<(Peer, Vec<PathBuf>)> {
    let mut sdks = Vec::new();
    let python = install::python("interop/python-2", PYTHON);
    let python = python.map(|place| place.map(|place| place.join("bin/python")));
    match python {
        Ok(Some(python)) => {
            for (peer, word) in [(Peer::FastMcp, "fastmcp"), (Peer::Python, "python")] {
                sdks.push((
                    peer,
                    vec![python.clone(), peers.join("sdk.py"), word.into()],
                ));
            }
        }
        Ok(None) => tell("FastMCP and the Python SDK are left out: they need Python 3.10"),
        Err(error) => tell(&format!("FastMCP and the Python SDK are left out: {error}")),
    }
    let node = install::npm("interop/npm", NPM, NPM_LOCK).and_then(|place| {
        let place = place.ok_or("it needs npm")?;
        let program = install::program(&place, "bench", TYPESCRIPT)?;
        Ok(vec![place.join(install::NODE), program])
    });
    match node {
        Ok(words) => sdks.push((Peer::TypeScript, words)),
        Err(error) => tell(&format!("the TypeScript SDK is left out: {error}")),
    }
    sdks
}

pub(super) fn cargo(directory: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("cargo");
    let status = command.args(arguments).current_dir(directory).status()?;
    if status.success() {
        Ok(())
    } else {
        let what = arguments.join(" ");
        Err(io::Error::other(format!("cargo {what} failed")))
    }
}

fn target(directory: &Path) -> io::Result<PathBuf> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    let output = command.current_dir(directory).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let target = metadata["target_directory"].as_str();
    let target = target.ok_or_else(|| io::Error::other("cargo metadata names no target"))?;
    Ok(target.into())
}

/// Starts a server on the servers' core. It inherits the core from the thread that starts it, because a shell in
/// between would cost as much as the server's start.
fn spawn(command: &mut Command) -> io::Result<Child> {
    run_on(SERVERS);
    let child = command.spawn();
    run_on(LOAD);
    child
}

/// Pins this thread and its child processes to a core, if the machine has enough cores.
#[cfg(target_os = "linux")]
fn run_on(core: usize) {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    // With fewer cores, all processes share them.
    let _ = rustix::thread::sched_setaffinity(None, &cores);
}

#[cfg(not(target_os = "linux"))]
fn run_on(_: usize) {}

/// Raises the limit of open files for this process and its children, for measurements with thousands of streams.
#[cfg(target_os = "linux")]
pub fn open_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // If this fails, opening streams will report it.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Does nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn open_many_files() {}
