//! The contract of this crate's journals.

use std::sync::Arc;

use askback::{
    journal::{Bus, Journal},
    store::SqliteStore,
    testing::{check_bus, check_journal},
};

use crate::fleet::memory::MemoryBus;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_in_memory_keeps_the_contract() {
    let checked = check_journal(async |max_bytes| {
        let store = SqliteStore::open_with(":memory:", max_bytes).expect("it opens");
        let journal: Arc<dyn Journal> = Arc::new(store);
        async move || Arc::clone(&journal)
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bus_of_the_tests_keeps_the_contract() {
    let checked = check_bus(async || {
        let bus = Arc::new(MemoryBus::default());
        async move || Arc::clone(&bus) as Arc<dyn Bus>
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_is_a_bus() {
    let folder = tempfile::tempdir().expect("a folder");
    let next = std::sync::Mutex::new(0);
    let checked = check_bus(async || {
        let mut next = next.lock().unwrap();
        *next += 1;
        let file = folder.path().join(format!("{next}.db"));
        async move || Arc::new(SqliteStore::open(&file).expect("it opens")) as Arc<dyn Bus>
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = 0;
    let next = std::sync::Mutex::new(&mut files);
    let checked = check_journal(async |max_bytes| {
        let mut next = next.lock().unwrap();
        **next += 1;
        let file = folder.path().join(format!("{next}.db"));
        async move || {
            let store = SqliteStore::open_with(&file, max_bytes).expect("it opens");
            Arc::new(store) as Arc<dyn Journal>
        }
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}
