//! The contracts of stores, journals and buses, with engines of the tests' own.

#[cfg(all(feature = "nats", feature = "redis"))]
mod buses;
#[cfg(all(feature = "nats", feature = "redis"))]
mod calls;
#[path = "../../../askback-connect/tests/connect/cluster.rs"]
mod cluster;
mod commit;
#[cfg(all(feature = "nats", feature = "redis"))]
mod engine;
#[cfg(all(feature = "nats", feature = "redis"))]
#[path = "../../../askback/tests/askback/log.rs"]
mod log;
mod outage;
mod outages;

use std::{sync::Arc, time::Duration};

use askback::{
    journal::Journal,
    store::Store,
    testing::{check_journal, check_store},
};
use askback_fleet::{PostgresSettings, PostgresStore, Secret};

use crate::cluster::{Cluster, PASSWORD};

/// Creates an empty schema and returns the settings to connect to it.
fn place(cluster: &Cluster) -> PostgresSettings {
    let (directory, schema) = (&cluster.directory, cluster.new_name());
    cluster.run_as_administrator(&format!("CREATE SCHEMA {schema} AUTHORIZATION vault"));
    let mut settings = PostgresSettings::new(Secret::new(format!(
        "host={directory} user=vault dbname=postgres options='-csearch_path={schema}' password={PASSWORD} \
         application_name={schema}"
    )));
    // A machine may be slow.
    settings.wait = Duration::from_secs(60);
    settings
}

/// The name under which PostgreSQL lists the connections.
#[cfg(all(feature = "nats", feature = "redis"))]
fn application(settings: &PostgresSettings) -> &str {
    let last = settings.database.expose().rsplit_once("application_name=");
    last.expect("it has a name").1
}

async fn connect(settings: &PostgresSettings, max_bytes: usize) -> Arc<PostgresStore> {
    let store = PostgresStore::connect_with(settings.clone(), max_bytes).await;
    Arc::new(store.expect("it connects"))
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_the_contract_of_journals() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let checked = check_journal(async |max_bytes| {
        let settings = place(&cluster);
        async move || connect(&settings, max_bytes).await as Arc<dyn Journal>
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_the_contract_of_stores() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let checked = check_store(async |max_bytes| {
        let settings = place(&cluster);
        async move || connect(&settings, max_bytes).await as Arc<dyn Store>
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}
