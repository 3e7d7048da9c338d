//! The contract of stores, over those of this crate.

use std::sync::Arc;

use askback_connect::{
    testing::check_vault,
    vault::{MemoryVault, SqliteVault, VaultStore},
};

#[tokio::test(flavor = "multi_thread")]
async fn records_in_memory_keep_the_contract() {
    let checked = check_vault(async || {
        let store: Arc<dyn VaultStore> = Arc::new(MemoryVault::new());
        async move || Arc::clone(&store)
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_sqlite_keep_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    let checked = check_vault(async || {
        made.set(made.get() + 1);
        let path = directory.path().join(format!("{}.db", made.get()));
        async move || {
            let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::open(&path).unwrap());
            store
        }
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[cfg(all(unix, feature = "postgres"))]
#[tokio::test(flavor = "multi_thread")]
async fn records_in_postgresql_keep_the_contract() {
    use crate::place::Place;
    if Place::new().await.is_none() {
        return;
    }
    let checked = check_vault(async || {
        let place = Place::new().await.expect("there was one before");
        async move || place.store().await
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}
