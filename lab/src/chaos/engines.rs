//! The engines of a run: a private PostgreSQL, and a private bus.

use std::{
    fmt, io,
    net::Ipv4Addr,
    process::Command,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
    task::spawn_blocking,
    time::sleep,
};

use super::{
    cluster::{ADMINISTRATOR, Cluster, PASSWORD},
    engine::Engine,
    network::Network,
    outage,
};

/// How long an engine stays dead.
const DEAD: Duration = Duration::from_secs(1);

/// How long an engine does not answer: once shorter and once longer than a process waits for it.
const CUTS: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(13)];

/// Defines the values of an option.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$value_doc])* $value),*
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$value),)*
                    _ => Err(format!("expected one of {:?}, got {word:?}", [$($word),*])),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$value => $word),*
                })
            }
        }
    };
}

choice! {
    /// The journal and store of the fleet.
    JournalKind {
        /// None: one process without a fleet, for comparison.
        None = "none",
        /// A file.
        Sqlite = "sqlite",
        /// A private PostgreSQL.
        Postgres = "postgres",
    }
}

choice! {
    /// The bus of the fleet.
    BusKind {
        /// None: the processes poll the journal.
        None = "none",
        /// The journal in SQLite.
        Sqlite = "sqlite",
        /// The journal in PostgreSQL.
        Postgres = "postgres",
        /// A private `nats-server`.
        Nats = "nats",
        /// A private `redis-server`.
        Redis = "redis",
    }
}

choice! {
    /// The load balancer in front of the processes, without affinity.
    BalancerKind {
        /// This program.
        Own = "own",
        /// HAProxy, as the guide configures it.
        Haproxy = "haproxy",
        /// nginx.
        Nginx = "nginx",
    }
}

impl JournalKind {
    /// Returns the bus that needs no further engine.
    #[must_use]
    pub fn own_bus(self) -> BusKind {
        match self {
            Self::None => BusKind::None,
            Self::Sqlite => BusKind::Sqlite,
            Self::Postgres => BusKind::Postgres,
        }
    }
}

impl BusKind {
    /// Whether the fleet can use this bus with the journal.
    #[must_use]
    pub fn fits(self, journal: JournalKind) -> bool {
        matches!(self, Self::None | Self::Nats | Self::Redis) || self == journal.own_bus()
    }
}

/// How the engines are made to fail during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineTrouble {
    /// Kill them (`SIGKILL`) and start them again.
    pub kill: bool,
    /// Stop them for a while (`SIGSTOP`), as if the network were cut.
    pub cut: bool,
    /// Cut the network between them and one process.
    pub network: bool,
}

enum Failure {
    Killed,
    Stopped,
    CutOff,
}

impl EngineTrouble {
    fn failures(self) -> Vec<Failure> {
        let failures = [
            (self.kill, Failure::Killed),
            (self.cut, Failure::Stopped),
            (self.network, Failure::CutOff),
        ];
        let wanted = failures.into_iter().filter(|(is_wanted, _)| *is_wanted);
        wanted.map(|(_, failure)| failure).collect()
    }
}

pub(super) struct Engines {
    postgres: Option<Cluster>,
    bus: Option<Engine>,
    /// The `--serve` arguments of the processes: the journal and the bus.
    pub(super) arguments: [String; 2],
}

impl Engines {
    /// Returns `None` with a message if a program is not installed.
    pub(super) fn start(journal: JournalKind, bus: BusKind) -> Option<Self> {
        let postgres = match journal {
            JournalKind::None | JournalKind::Sqlite => None,
            JournalKind::Postgres => Some(Cluster::alone()?),
        };
        let program = match bus {
            BusKind::None | BusKind::Sqlite | BusKind::Postgres => None,
            BusKind::Nats => Some("nats-server"),
            BusKind::Redis => Some("redis-server"),
        };
        let engine = match program {
            Some(program) => Some(Engine::start(program, &[])?),
            None => None,
        };
        let journal = match &postgres {
            None => journal.to_string(),
            Some(cluster) => {
                let host = &cluster.directory;
                // Only the owner of the database may create tables there.
                cluster.run_as_administrator("CREATE SCHEMA chaos AUTHORIZATION vault");
                format!(
                    "host={host} user=vault dbname=postgres options='-csearch_path=chaos' password={PASSWORD}"
                )
            }
        };
        let bus = match &engine {
            None => bus.to_string(),
            Some(engine) => format!("{bus}://127.0.0.1:{}", engine.port),
        };
        Some(Self {
            postgres,
            bus: engine,
            arguments: [journal, bus],
        })
    }

    /// Returns the `--serve` arguments of processes that reach the host only at this address, where connections are passed
    /// on to the engines.
    pub(super) async fn at(&self, host: Ipv4Addr) -> io::Result<[String; 2]> {
        let [mut journal, mut bus] = self.arguments.clone();
        if let Some(cluster) = &self.postgres {
            let socket = format!("{}/.s.PGSQL.5432", cluster.directory);
            let connect = move || UnixStream::connect(socket.clone());
            let port = pass_on(host, connect).await?;
            let address = format!("host={host} port={port} sslmode=disable");
            journal = journal.replacen(&format!("host={}", cluster.directory), &address, 1);
        }
        if let Some(engine) = &self.bus {
            let address = ("127.0.0.1", engine.port);
            let port = pass_on(host, move || TcpStream::connect(address)).await?;
            bus = bus.replacen(
                &format!("127.0.0.1:{}", engine.port),
                &format!("{host}:{port}"),
                1,
            );
        }
        Ok([journal, bus])
    }

    /// Makes PostgreSQL count its statements. It is started again for that.
    pub(super) fn count_statements(&self) {
        if let Some(cluster) = &self.postgres {
            let library = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'";
            cluster.run_as_administrator(library);
            cluster.start_again();
            cluster.run_as_administrator("CREATE EXTENSION pg_stat_statements");
        }
    }

    /// Returns the answer of PostgreSQL to the administrator, a line per row; empty without PostgreSQL.
    pub(super) fn ask(&self, query: &str) -> io::Result<String> {
        let Some(cluster) = &self.postgres else {
            return Ok(String::new());
        };
        let mut psql = Command::new(cluster.programs.join("psql"));
        psql.args(["-XqtA", "-F", " ", "-U", "postgres", "-c", query, "-h"]);
        psql.args([&cluster.directory, "postgres"]);
        let answer = psql.env("PGPASSWORD", ADMINISTRATOR).output()?;
        let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        match answer.status.success() {
            true => Ok(text),
            false => Err(io::Error::other(
                String::from_utf8_lossy(&answer.stderr).into_owned(),
            )),
        }
    }

    fn stop(&self) {
        if let Some(cluster) = &self.postgres {
            cluster.kill();
        }
        if let Some(engine) = &self.bus {
            outage::children(engine.shell.id())
                .into_iter()
                .for_each(|pid| outage::send("-KILL", pid));
        }
    }

    fn start_again(&mut self) {
        if let Some(cluster) = &self.postgres {
            cluster.start_again();
        }
        if let Some(engine) = &mut self.bus {
            engine.restart();
        }
    }

    fn signal(&self, signal: &str) {
        if let Some(cluster) = &self.postgres {
            cluster.signal(signal);
        }
        if let Some(engine) = &self.bus {
            for pid in outage::children(engine.shell.id()) {
                outage::send(signal, pid);
            }
        }
    }
}

pub(super) type SharedEngines = Arc<Mutex<Engines>>;

/// Runs a blocking action on the engines in a thread for blocking work.
async fn apply(
    engines: &SharedEngines,
    action: impl FnOnce(&mut Engines) + Send + 'static,
) -> io::Result<()> {
    let engines = Arc::clone(engines);
    let applied = spawn_blocking(move || {
        action(&mut engines.lock().unwrap_or_else(PoisonError::into_inner));
    });
    Ok(applied.await?)
}

/// Makes the engines fail once, or cuts them off from this process. `turn` chooses what. Returns when they work again.
pub(super) async fn fail_once(
    engines: &SharedEngines,
    network: Option<&Network>,
    process: usize,
    trouble: EngineTrouble,
    turn: usize,
) -> io::Result<()> {
    let failures = trouble.failures();
    let cut = CUTS[turn / failures.len() % CUTS.len()];
    match (&failures[turn % failures.len()], network) {
        (Failure::Killed, _) => {
            apply(engines, |engines| engines.stop()).await?;
            sleep(DEAD).await;
            apply(engines, Engines::start_again).await
        }
        (Failure::CutOff, Some(network)) => {
            network.cut(process)?;
            sleep(cut).await;
            network.heal(process)
        }
        (Failure::Stopped | Failure::CutOff, _) => {
            apply(engines, |engines| engines.signal("-STOP")).await?;
            sleep(cut).await;
            apply(engines, |engines| engines.signal("-CONT")).await
        }
    }
}

/// Passes on connections to a new port of this address, and returns the port.
async fn pass_on<S, C>(host: Ipv4Addr, connect: impl Fn() -> C + Send + 'static) -> io::Result<u16>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    C: Future<Output = io::Result<S>> + Send,
{
    let listener = TcpListener::bind((host, 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            // If the engine is dead, the client notices that its connection is closed.
            if let Ok(mut engine) = connect().await {
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut engine).await });
            }
        }
    });
    Ok(port)
}
