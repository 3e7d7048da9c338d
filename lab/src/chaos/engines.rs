//! The engines of a run: a private PostgreSQL, and a private bus.

use std::{
    fmt, io,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{task::spawn_blocking, time::sleep};

use super::{
    cluster::{Cluster, PASSWORD},
    engine::Engine,
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
            JournalKind::Sqlite => None,
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

/// Makes the engines fail once. `turn` chooses how. Returns when they run again.
pub(super) async fn fail_once(
    engines: &SharedEngines,
    trouble: EngineTrouble,
    turn: usize,
) -> io::Result<()> {
    let kills = match (trouble.kill, trouble.cut) {
        (true, true) => turn.is_multiple_of(2),
        (kill, _) => kill,
    };
    if kills {
        apply(engines, |engines| engines.stop()).await?;
        sleep(DEAD).await;
        return apply(engines, Engines::start_again).await;
    }
    apply(engines, |engines| engines.signal("-STOP")).await?;
    sleep(CUTS[turn / 2 % CUTS.len()]).await;
    apply(engines, |engines| engines.signal("-CONT")).await
}
