//! A PostgreSQL of the tests' own: a private cluster in a folder of its own, on a socket there, for as long as any test
//! is in it. A shell ends and removes it, even where the tests are killed.

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

/// The password of the users `vault` and `server`.
pub(crate) const PASSWORD: &str = "canary-password";
/// The password of the administrator `postgres`.
pub(crate) const ADMINISTRATOR: &str = "administrator";
/// Set where the tests must not be left out.
const NEEDED: &str = "ASKBACK_NEEDS_POSTGRES";

pub(crate) struct Cluster {
    pub(crate) directory: String,
    /// The directory of PostgreSQL's programs.
    pub(crate) programs: PathBuf,
    shell: Child,
    places: AtomicUsize,
}

impl Cluster {
    /// The one that other tests are in, or a new one; nothing where PostgreSQL is not installed, which is told.
    pub(crate) fn join() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = running.upgrade() {
            return Some(cluster);
        }
        let Some(programs) = programs() else {
            let absent = "PostgreSQL is left out: it is not installed here";
            assert!(env::var_os(NEEDED).is_none(), "{absent}");
            // The harness would keep this to itself.
            let _ = writeln!(std::io::stderr(), "{absent}");
            return None;
        };
        let cluster = Arc::new(Self::start(programs));
        *running = Arc::downgrade(&cluster);
        Some(cluster)
    }

    /// A name for a schema, which no other has.
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

/// The directory of PostgreSQL's programs: in the path, or where Debian has the newest of them.
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

/// What runs a program as somebody who is not root, as whom PostgreSQL does not start.
fn as_user() -> Command {
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
