use std::{
    collections::HashMap,
    ffi::OsString,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::sleep,
};

use super::{
    network::Network,
    server::{DATABASE, HANDLED, HINTS},
};

/// The time limit for a process to start serving.
const START: Duration = Duration::from_secs(30);

pub(super) struct Nodes {
    program: PathBuf,
    folder: PathBuf,
    /// The journal and the bus.
    arguments: [String; 2],
    network: Option<Network>,
    counts_instructions: bool,
    pub(super) addresses: Vec<SocketAddr>,
    children: Mutex<Vec<Option<Child>>>,
    pub(super) deaths: AtomicU64,
}

impl Nodes {
    pub(super) async fn start(
        program: &Path,
        folder: &Path,
        arguments: [String; 2],
        network: Option<Network>,
        count: usize,
        counts_instructions: bool,
    ) -> io::Result<Self> {
        let mut addresses = Vec::new();
        // The ports stay reserved until all are known.
        let mut reserved = Vec::new();
        for _ in 0..count {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            addresses.push(listener.local_addr()?);
            reserved.push(listener);
        }
        drop(reserved);
        if let Some(network) = &network {
            addresses = network.addresses();
        }
        let nodes = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            arguments,
            network,
            counts_instructions,
            addresses,
            children: Mutex::new((0..count).map(|_| None).collect()),
            deaths: AtomicU64::new(0),
        };
        for at in 0..count {
            nodes.run(at)?;
        }
        nodes.are_up().await?;
        Ok(nodes)
    }

    pub(super) fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("nodes.log")
    }

    /// Returns the files with bookings: one from the agency, one from the other tools.
    pub(super) fn bookings(&self) -> [PathBuf; 2] {
        ["bookings.jsonl", "effects.jsonl"].map(|name| self.folder.join(name))
    }

    /// Returns how many hints the processes have published.
    pub(super) fn hints(&self) -> u64 {
        fs::metadata(self.folder.join(HINTS)).map_or(0, |file| file.len())
    }

    /// Returns how many requests the processes have handled, and the names of those that were handled more than once.
    pub(super) fn handled(&self) -> (u64, Vec<String>) {
        let text = fs::read_to_string(self.folder.join(HANDLED)).unwrap_or_default();
        let mut times = HashMap::<_, u64>::new();
        for name in text.lines() {
            *times.entry(name).or_default() += 1;
        }
        let again = times.iter().filter(|(_, times)| **times > 1);
        let again = again.map(|(name, _)| (*name).to_owned()).collect();
        (times.len() as u64, again)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    fn children(&self) -> MutexGuard<'_, Vec<Option<Child>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, at: usize) -> io::Result<()> {
        let mut log = std::fs::OpenOptions::new();
        let log = log.append(true).create(true).open(self.log())?;
        let address = self.addresses[at].to_string();
        let mut words = vec![self.program.clone().into_os_string()];
        if self.counts_instructions {
            let mut file = OsString::from("--callgrind-out-file=");
            file.push(self.profile(at));
            words.splice(0..0, ["valgrind".into(), "--tool=callgrind".into(), file]);
        }
        let mut command = match &self.network {
            None => Command::new(words.remove(0)),
            Some(network) => network.enter(at),
        };
        let child = command
            .args(words)
            .args(["--serve", &address])
            .arg(&self.folder)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        self.children()[at] = Some(child);
        Ok(())
    }

    pub(super) async fn are_up(&self) -> io::Result<()> {
        let begun = Instant::now();
        for address in &self.addresses {
            while TcpStream::connect(address).await.is_err() {
                if begun.elapsed() > START {
                    let log = self.log();
                    let why = format!("a process does not serve: see {}", log.display());
                    return Err(io::Error::other(why));
                }
                sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(())
    }

    /// Kills these processes at the same time, and starts them again.
    pub(super) async fn kill(&self, which: &[usize]) -> io::Result<()> {
        let mut dying = Vec::new();
        for at in which {
            // If there is no process, another call is already killing it.
            let child = self.children()[*at].take();
            if let Some(mut child) = child {
                child.start_kill()?;
                dying.push((*at, child));
            }
        }
        self.deaths.fetch_add(dying.len() as u64, Ordering::Relaxed);
        for (at, mut child) in dying {
            child.wait().await?;
            self.run(at)?;
        }
        Ok(())
    }

    /// Stops a process as an operator would, starts it again, and waits until it serves. Returns how long stopping
    /// took.
    pub(super) async fn restart(&self, at: usize) -> io::Result<Duration> {
        let child = self.children()[at].take();
        let begun = Instant::now();
        if let Some(mut child) = child {
            let pid = child.id().unwrap_or_default().to_string();
            Command::new("kill").args(["-TERM", &pid]).status().await?;
            child.wait().await?;
        }
        let took = begun.elapsed();
        self.run(at)?;
        self.are_up().await?;
        Ok(took)
    }

    fn pids(&self) -> Vec<u32> {
        let children = self.children();
        children.iter().flatten().filter_map(Child::id).collect()
    }

    /// Returns the processor time that the running processes have used together, in hundredths of a second.
    pub(super) fn processor_time(&self) -> io::Result<u64> {
        let mut ticks = 0;
        for pid in self.pids() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
            // The name before it may contain anything.
            let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
            let fields = fields.split(' ').skip(11).take(2);
            ticks += fields.filter_map(|it| it.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(ticks)
    }

    /// The profile of a process whose instructions are counted. A number is appended for each part.
    fn profile(&self, at: usize) -> PathBuf {
        self.folder.join(format!("callgrind.{at}"))
    }

    /// Returns how many instructions the running processes have executed together since the last time; `None` if they are
    /// not counted.
    pub(super) async fn take_instructions(&self) -> io::Result<Option<u64>> {
        if !self.counts_instructions {
            return Ok(None);
        }
        let mut instructions = 0;
        for (at, pid) in self.pids().into_iter().enumerate() {
            // Writes the next part of the profile, and sets its counts to zero.
            let mut dump = Command::new("vgdb");
            dump.arg(format!("--pid={pid}")).arg("dump");
            dump.stdout(Stdio::null()).stderr(Stdio::null());
            dump.status().await?;
            let profile = self.profile(at);
            let parts = (1..).map(|part| profile.with_extension(format!("{at}.{part}")));
            let Some(last) = parts.take_while(|part| part.exists()).last() else {
                let why = format!("valgrind counted nothing: see {}", self.log().display());
                return Err(io::Error::other(why));
            };
            let text = fs::read_to_string(last)?;
            let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
            let total = total.and_then(|total| total.trim().parse::<u64>().ok());
            instructions += total.ok_or_else(|| io::Error::other("a profile has no total"))?;
        }
        Ok(Some(instructions))
    }

    /// Returns how often threads of the running processes have gone to sleep.
    pub(super) fn sleeps(&self) -> io::Result<u64> {
        let mut sleeps = 0;
        for pid in self.pids() {
            for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
                let status = fs::read_to_string(thread?.path().join("status"))?;
                let line = status
                    .lines()
                    .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
                sleeps += line
                    .and_then(|count| count.trim().parse::<u64>().ok())
                    .unwrap_or(0);
            }
        }
        Ok(sleeps)
    }

    pub(super) fn memory(&self) -> Vec<u64> {
        let pids = self.pids().into_iter();
        pids.map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let status = status.unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib = line.and_then(|line| line.split_whitespace().next());
            kib.and_then(|kib| kib.parse().ok()).unwrap_or_default()
        })
        .collect()
    }
}
