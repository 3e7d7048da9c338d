//! The travel agency as a program.
//!
//! - `cargo run -p askback-travel`: over stdio, for the only user of this machine, with their account at an airline.
//!   All data is in memory; `examples/repositories` stores it in a file.
//! - `cargo run -p askback-travel -- --http 127.0.0.1:8000 --fleet FILE.db`: a process of a fleet over HTTP. All
//!   processes with the same file continue each other's calls. Their key is in `FILE.key`, which the first process
//!   creates. Instead of a file, `--fleet postgres://USER:PASSWORD@HOST/DATABASE` uses PostgreSQL, and the key is
//!   `travel.key` in the current folder. `--bus nats://HOST:PORT` or `--bus redis://HOST:PORT` reports changes to the
//!   processes; by default the database does.
//! - `cargo run -p askback-travel -- --status DATABASE`: prints what is waiting in a fleet's journal.
//!
//! `RUST_LOG` chooses what is logged to stderr, such as `RUST_LOG=info,askback=debug`.

use std::{
    env,
    error::Error,
    fs, io,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use askback::{
    Fleet,
    http::stop_signal,
    journal::{Bus, Journal, JournalStatus, Millis},
    keys::{Key, KeyRing, KeySource},
    store::{SqliteStore, Store},
};
use askback_connect::vault::{LocalKeys, SqliteVault, Vault, VaultSettings};
use askback_fleet::{NatsBus, PostgresBus, PostgresSettings, PostgresStore, RedisBus, Secret};
use askback_travel::{Accounts, Bookings, Itineraries, Result};
use tokio::net::TcpListener;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str =
    "write nothing, or --http ADDRESS --fleet DATABASE [--bus ADDRESS], or --status DATABASE";

async fn run() -> Result<()> {
    log_to_stderr()?;
    let words: Vec<_> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => on_this_machine().await,
        ["--http", address, "--fleet", database] => in_a_fleet(address, database, None).await,
        ["--http", address, "--fleet", database, "--bus", bus] => {
            in_a_fleet(address, database, Some(bus)).await
        }
        ["--status", database] => print_status(database).await,
        ["--help"] => {
            writeln!(io::stdout(), "{USAGE}")?;
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

/// Logs to stderr what `RUST_LOG` names, or `INFO` and above. The client gets a short message. The operator reads the cause
/// here.
fn log_to_stderr() -> Result<()> {
    let wanted = env::var("RUST_LOG").unwrap_or_default();
    let wanted: Targets = if wanted.is_empty() { "info" } else { &wanted }
        .parse()
        .map_err(|error| format!("RUST_LOG: expected words such as info,askback=debug: {error}"))?;
    let log = tracing_subscriber::fmt().with_ansi(false);
    let log = log.with_max_level(LevelFilter::TRACE);
    log.with_writer(io::stderr).finish().with(wanted).init();
    Ok(())
}

async fn on_this_machine() -> Result<()> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    let keys = LocalKeys::new(KeyRing::new(Key::new(&key)));
    let store = Arc::new(SqliteVault::in_memory()?);
    let vault = Vault::open(store, Arc::new(keys), VaultSettings::default()).await?;
    let accounts = Accounts::on_this_machine(vault).await?;
    let agency = askback_travel::builder(Bookings::default(), Itineraries::SharedFolders);
    Ok(accounts.offered_by(agency).run_stdio().await?)
}

const SERVICE: &str = "travel";

async fn in_a_fleet(address: &str, database: &str, bus: Option<&str>) -> Result<()> {
    let bus = match bus {
        Some(address) => Some(connect_bus(address).await?),
        None => None,
    };
    if is_postgres(database) {
        let settings = PostgresSettings::new(Secret::new(database));
        let store = Arc::new(PostgresStore::connect(settings.clone()).await?);
        let bus = match bus {
            Some(bus) => bus,
            None => Arc::new(PostgresBus::connect(settings).await?),
        };
        return serve(address, Path::new("travel.db"), store, bus).await;
    }
    let store = Arc::new(SqliteStore::open(database)?);
    let bus = bus.unwrap_or_else(|| Arc::clone(&store) as Arc<dyn Bus>);
    serve(address, Path::new(database), store, bus).await
}

fn is_postgres(database: &str) -> bool {
    database.starts_with("postgres://") || database.starts_with("postgresql://")
}

async fn print_status(database: &str) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = u64::try_from(now.as_millis())?;
    let status = if is_postgres(database) {
        let settings = PostgresSettings::new(Secret::new(database));
        PostgresStore::connect(settings).await?.status(now).await?
    } else if Path::new(database).exists() {
        SqliteStore::open(database)?.status(now).await?
    } else {
        return Err(format!("{database}: no such file; give the file of the fleet").into());
    };
    Ok(writeln!(io::stdout(), "{}", status_text(&status, now))?)
}

fn status_text(status: &JournalStatus, now: Millis) -> String {
    let count = |count: u64, thing: &str| match count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    };
    let next = match status.next_wake {
        Some(wake) => {
            let seconds = wake.saturating_sub(now) / 1000;
            format!("; the first gives up or goes on in {seconds} s")
        }
        None => String::new(),
    };
    let lag = match status.overdue_calls {
        0 => String::new(),
        _ => format!(
            "; the first for {} s: are processes running?",
            status.lag.as_secs()
        ),
    };
    format!(
        "waiting: {}, with {}{next}\nrunning: {}, at {}\noverdue: {}{lag}\nsize:    {} KiB",
        count(status.waiting_calls, "call"),
        count(status.open_questions, "open question"),
        count(status.running_calls, "call"),
        match status.busy_processes {
            1 => "1 process".to_owned(),
            busy => format!("{busy} processes"),
        },
        count(status.overdue_calls, "call"),
        status.bytes.div_ceil(1024),
    )
}

async fn connect_bus(address: &str) -> Result<Arc<dyn Bus>> {
    let secret = Secret::new(address);
    if address.starts_with("redis://") || address.starts_with("rediss://") {
        return Ok(Arc::new(RedisBus::connect(&secret, SERVICE).await?));
    }
    if address.starts_with("nats://") || address.starts_with("tls://") {
        return Ok(Arc::new(NatsBus::connect(&secret, SERVICE).await?));
    }
    Err("--bus: expected an address that begins with nats://, tls://, redis:// or rediss://".into())
}

/// Serves with the key and the bookings in the folder of a file.
async fn serve<S: Store + Journal + 'static>(
    address: &str,
    file: &Path,
    store: Arc<S>,
    bus: Arc<dyn Bus>,
) -> Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let bookings = Bookings::in_directory(folder)
        .map_err(Into::into)
        .map_err(at("the bookings", folder))?;
    let server = askback_travel::builder(bookings, Itineraries::SharedFolders)
        .service(SERVICE)
        .keys(KeySource::File(
            key_file(file).map_err(at("the key", file))?,
        ))
        .store(Arc::clone(&store))
        .fleet(Fleet::new(store).bus(bus))
        .build()?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| format!("cannot listen at {address}: {error}"))?;
    let endpoint = server.http().health_routes();
    Ok(endpoint.serve_until(listener, stop_signal()).await?)
}

/// Returns an error that names a file or folder.
fn at(what: &str, path: &Path) -> impl FnOnce(Box<dyn Error + Send + Sync>) -> String {
    let place = format!("cannot use {what} at {}", path.display());
    move |error| format!("{place}: {error}")
}

/// Returns the file with the key of all processes, which the first process creates.
fn key_file(database: &Path) -> Result<std::path::PathBuf> {
    let file = database.with_extension("key");
    if !file.exists() {
        let mut key = [0_u8; 32];
        getrandom::fill(&mut key)?;
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let draft = file.with_extension(format!("key.{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        let mut written = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        writeln!(written, "{digits}")?;
        // If another process created it first, its key is used.
        match fs::hard_link(&draft, &file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => fs::remove_file(&draft)?,
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_status_is_told_in_words() {
        let mut status = JournalStatus::default();
        (status.waiting_calls, status.open_questions) = (2, 1);
        (status.running_calls, status.busy_processes) = (3, 1);
        (status.next_wake, status.bytes) = (Some(65_000), 1025);
        let quiet = "waiting: 2 calls, with 1 open question; the first gives up or goes on in 60 s\n\
                     running: 3 calls, at 1 process\noverdue: 0 calls\nsize:    2 KiB";
        assert_eq!(status_text(&status, 5_000), quiet);
        (status.overdue_calls, status.lag) = (1, Duration::from_secs(9));
        let late = status_text(&status, 5_000);
        let says = "overdue: 1 call; the first for 9 s: are processes running?";
        assert!(late.contains(says), "{late}");
    }
}
