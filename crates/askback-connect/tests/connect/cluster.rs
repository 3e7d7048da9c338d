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
    time::Duration,
};

use askback_connect::vault::{PostgresSettings, PostgresVault, VaultStore};
use askback_oauth::Secret;
use tokio_postgres::{Client, Config, NoTls};

/// The password of the users `vault` and `server`.
pub(crate) const PASSWORD: &str = "canary-password";
/// The password of the administrator `postgres`.
const ADMINISTRATOR: &str = "administrator";
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
    fn join() -> Option<Arc<Self>> {
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

/// An empty schema in a cluster, for one vault.
pub(crate) struct Place {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) schema: String,
    pub(crate) admin: Client,
}

impl Place {
    /// Nothing where there is no PostgreSQL.
    pub(crate) async fn new() -> Option<Self> {
        let cluster = Cluster::join()?;
        let mut config = Config::new();
        config
            .host_path(&cluster.directory)
            .user("postgres")
            .dbname("postgres");
        let (admin, connection) = config.password(ADMINISTRATOR).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let schema = format!("s{}", cluster.places.fetch_add(1, Ordering::SeqCst));
        let create =
            format!("CREATE SCHEMA {schema} AUTHORIZATION vault; SET search_path = {schema}");
        admin.batch_execute(&create).await.unwrap();
        Some(Self {
            cluster,
            schema,
            admin,
        })
    }

    /// The connection string of the vault, without its password.
    pub(crate) fn database(&self) -> String {
        let (directory, schema) = (&self.cluster.directory, &self.schema);
        format!(
            "host={directory} user=vault dbname=postgres application_name={schema} options='-csearch_path={schema}'"
        )
    }

    pub(crate) fn settings(&self) -> PostgresSettings {
        settings(&format!("{} password={PASSWORD}", self.database()))
    }

    /// The store, opened once more.
    pub(crate) async fn store(&self) -> Arc<dyn VaultStore> {
        let vault = PostgresVault::connect(self.settings()).await;
        Arc::new(vault.unwrap())
    }

    /// Ends all connections of the vault, and returns how many there were.
    pub(crate) async fn cut(&self) -> usize {
        let terminate = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name = $1";
        self.admin
            .query(terminate, &[&self.schema])
            .await
            .unwrap()
            .len()
    }

    /// Waits until a statement of the vault waits for a lock of the administrator.
    pub(crate) async fn until_one_waits(&self) {
        let waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
        let waited = async {
            while self
                .admin
                .query(waits, &[&self.schema])
                .await
                .unwrap()
                .is_empty()
            {
                tokio::task::yield_now().await;
            }
        };
        let most = Duration::from_secs(60);
        tokio::time::timeout(most, waited).await.expect("one waits");
    }
}

pub(crate) fn settings(database: &str) -> PostgresSettings {
    let mut settings = PostgresSettings::new(Secret::new(database));
    // A machine may be slow.
    settings.wait = Duration::from_secs(60);
    settings
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
