//! Short runs of the chaos program (`lab/src/bin/chaos.rs`), with the clients and engines that are available.

use std::{error::Error, fs, path::Path};

use lab::chaos::{self, BusKind, EngineTrouble, JournalKind, Settings};

type Result = std::result::Result<(), Box<dyn Error + Send + Sync>>;

async fn check(name: &str, change: impl FnOnce(&mut Settings)) -> Result {
    lab::bench::open_many_files();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let mut settings = Settings::new(env!("CARGO_BIN_EXE_chaos").into(), folder);
    change(&mut settings);
    // Without an engine it is left out with a message, and fails in CI.
    if let Some(tally) = chaos::run(&settings).await? {
        assert!(tally.holds(), "{tally}; see {}", settings.folder.display());
        let has_trouble = settings.trouble != EngineTrouble::default();
        assert_eq!(tally.engine_failures() > 0, has_trouble, "{tally}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_when_processes_die() -> Result {
    check("chaos", |settings| {
        // Python 1.30 is left out: it does not report that it gives up a call, so the test would wait in vain.
        let clients = ["askback", "Python 2", "TypeScript", "rmcp"];
        settings.clients = clients.map(str::to_owned).into();
    })
    .await
}

/// Over PostgreSQL with this bus: both are killed while users are asked.
async fn check_engines(bus: BusKind) -> Result {
    check(&format!("chaos-postgres-{bus}"), |settings| {
        settings.clients = vec!["askback".to_owned()];
        settings.journal = JournalKind::Postgres;
        settings.bus = bus;
        settings.trouble = EngineTrouble {
            kill: true,
            ..EngineTrouble::default()
        };
        // A process that dies in the middle of its commit would take a minute.
        settings.is_calm = true;
        settings.calls = 6;
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_when_postgres_dies() -> Result {
    check_engines(BusKind::None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_when_postgres_and_nats_die() -> Result {
    check_engines(BusKind::Nats).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_when_postgres_and_redis_die() -> Result {
    check_engines(BusKind::Redis).await
}
