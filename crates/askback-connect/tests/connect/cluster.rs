//! A private PostgreSQL cluster, in its own folder and on a socket there, which runs while any test uses it. A shell
//! stops and deletes it, even if the tests are killed.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(crate) const PASSWORD: &str = "canary-password";
pub(crate) const ADMINISTRATOR: &str = "administrator";
/// If set, the tests must not be skipped.
const NEEDED: &str = "ASKBACK_NEEDS_POSTGRES";

pub(crate) struct Cluster {
    pub(crate) directory: String,
    pub(crate) programs: PathBuf,
    shell: Child,
    places: AtomicUsize,
}

impl Cluster {
    /// Joins the cluster of other tests, or starts one. Returns `None` with a message if PostgreSQL is not installed.
    pub(crate) fn join() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = running.upgrade() {
            return Some(cluster);
        }
        let cluster = Arc::new(Self::alone()?);
        *running = Arc::downgrade(&cluster);
        Some(cluster)
    }

    /// Starts a cluster that no other test uses. Returns `None` with a message if PostgreSQL is not installed.
    pub(crate) fn alone() -> Option<Self> {
        let Some(programs) = programs() else {
            let absent = "PostgreSQL is left out: it is not installed here";
            assert!(env::var_os(NEEDED).is_none(), "{absent}");
            // Not `eprintln!`, which the test harness captures.
            let _ = writeln!(std::io::stderr(), "{absent}");
            return None;
        };
        Some(Self::start(programs))
    }

    pub(crate) fn new_name(&self) -> String {
        format!("s{}", self.places.fetch_add(1, Ordering::SeqCst))
    }

    fn start(programs: PathBuf) -> Self {
        let mut command = as_user();
        command
            .args(["sh", "-c", include_str!("cluster.sh"), "sh"])
            .arg(&programs);
        command.envs([("PGPASSWORD", ADMINISTRATOR), ("VAULT", PASSWORD)]);
        command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut shell = command.spawn().expect("a shell starts");
        let mut said = String::new();
        let output = shell.stdout.take().expect("it is piped");
        let read = BufReader::new(output).read_line(&mut said);
        read.expect("it says where it is");
        let directory = said.trim().to_owned();
        assert!(
            directory.starts_with("/tmp/"),
            "PostgreSQL does not start: {said}"
        );
        Self {
            directory,
            programs,
            shell,
            places: AtomicUsize::new(0),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|it| it.path().join("bin")).collect();
    versions.sort();
    places.extend(versions.into_iter().rev());
    let is_there = |place: &PathBuf| {
        ["initdb", "pg_ctl", "pg_dump", "psql"]
            .iter()
            .all(|it| place.join(it).exists())
    };
    places.into_iter().find(is_there)
}

/// A command that runs a program as a user other than root, because PostgreSQL refuses root.
pub(crate) fn as_user() -> Command {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|id| id.stdout == b"0\n");
    let mut command = Command::new(if is_root { "setpriv" } else { "env" });
    if is_root {
        command.args([
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--init-groups",
        ]);
    }
    command
}
