//! What every store promises, and what only the SQLite store does.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use askback::store::{
    Claim, ClaimRequest, FlowId, MemoryStore, Millis, Owner, PutRequest, Store, StoreError,
    StoreFuture,
};
use askback::testing::check_store;

const FLOW: FlowId = FlowId([1; 16]);
const NOW: Millis = 1_800_000_000_000;
const LEASE: Duration = Duration::from_secs(60);
const LEASE_END: Millis = NOW + 60_000;
const EXPIRES: Millis = NOW + 86_400_000;
const VALUE: usize = 100_000;

fn wait<T>(future: StoreFuture<'_, T>) -> Result<T, StoreError> {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A claim without a principal, for a commit with a value of at most [`VALUE`] bytes.
fn request(name: &str) -> ClaimRequest<'_> {
    ClaimRequest {
        owner: None,
        flow: FLOW,
        name,
        value_bytes: VALUE,
        now: NOW,
        lease: LEASE,
        expires: EXPIRES,
    }
}

fn claim(store: &dyn Store, flow: FlowId, name: &str, now: Millis) -> Claim {
    let commit = ClaimRequest {
        flow,
        now,
        ..request(name)
    };
    wait(store.claim(commit)).unwrap()
}

fn state(id: u8, bytes: &[u8]) -> PutRequest<'_> {
    PutRequest {
        owner: None,
        id: [id; 32],
        bytes,
        now: NOW,
        expires: EXPIRES,
    }
}

fn put(store: &dyn Store, id: u8, bytes: &[u8], expires: Millis) {
    let state = PutRequest {
        expires,
        ..state(id, bytes)
    };
    wait(store.put(state)).unwrap();
}

fn finish(store: &dyn Store, name: &str, value: &[u8]) -> Result<(), StoreError> {
    wait(store.finish(FLOW, name, value))
}

fn get(store: &dyn Store, id: u8) -> Option<Vec<u8>> {
    wait(store.get([id; 32])).unwrap()
}

// Shows MR-11.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_in_memory_keeps_the_contract() {
    let checked = check_store(async |max_bytes| {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(max_bytes));
        async move || Arc::clone(&store)
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

struct Faulty {
    store: MemoryStore,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    GrantsAgain,
    LooksThenClaims,
    TrimsNames,
    ForgetsValues,
    NeverAbandons,
    FinishesTwice,
    KeepsLongValues,
    ReplacesStates,
    PurgesAll,
    KnowsNoOwners,
}

impl Store for Faulty {
    fn claim<'a>(&'a self, mut commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(async move {
            match self.fault {
                Fault::TrimsNames => commit.name = commit.name.trim(),
                Fault::NeverAbandons => commit.now = commit.now.min(NOW),
                Fault::KnowsNoOwners => commit.owner = None,
                Fault::KeepsLongValues => commit.value_bytes += 1,
                _ => {}
            }
            let claim = self.store.claim(commit).await?;
            Ok(match (self.fault, claim) {
                (Fault::GrantsAgain, Claim::Busy) => Claim::Granted,
                (Fault::ForgetsValues, Claim::Done(_)) => Claim::Done(Vec::new()),
                (Fault::LooksThenClaims, claim) => {
                    // Another caller runs in between.
                    tokio::task::yield_now().await;
                    match claim {
                        Claim::Busy if commit.name.parse::<u8>().is_ok() => Claim::Granted,
                        claim => claim,
                    }
                }
                (_, claim) => claim,
            })
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            match self.store.finish(flow, name, value).await {
                Err(StoreError::Finished) if self.fault == Fault::FinishesTwice => Ok(()),
                finished => finished,
            }
        })
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        let owner = state.owner.filter(|_| self.fault != Fault::KnowsNoOwners);
        self.store.put(PutRequest { owner, ..state })
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let kept = self.store.get(id).await?;
            let other = |bytes: Vec<u8>| bytes.into_iter().map(|byte| byte ^ 1).collect();
            Ok(match self.fault {
                Fault::ReplacesStates => kept.map(other),
                _ => kept,
            })
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        let all = self.fault == Fault::PurgesAll;
        self.store.purge(if all { Millis::MAX } else { now })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_breaks_the_contract_is_told_which_rule() {
    for (fault, rule) in [
        (Fault::GrantsAgain, "a claim is granted once"),
        (Fault::TrimsNames, "a claim is granted once"),
        (
            Fault::LooksThenClaims,
            "of many claims at the same time one is granted",
        ),
        (
            Fault::ForgetsValues,
            "a finished claim gives its value from then on",
        ),
        (
            Fault::NeverAbandons,
            "a claim that is not finished within its lease is abandoned",
        ),
        (
            Fault::FinishesTwice,
            "only a claim is finished, and with one value",
        ),
        (
            Fault::KeepsLongValues,
            "a value is no longer than its claim said",
        ),
        (
            Fault::ReplacesStates,
            "a state is kept as it was first put, until the later expiry",
        ),
        (
            Fault::PurgesAll,
            "purge removes what has expired and nothing else",
        ),
        (
            Fault::KnowsNoOwners,
            "an owner of claims leaves room for others",
        ),
        (
            Fault::KnowsNoOwners,
            "the oldest states of an owner give way to newer ones of theirs",
        ),
    ] {
        let checked = check_store(async |max_bytes| {
            let store = MemoryStore::new(max_bytes);
            let store: Arc<dyn Store> = Arc::new(Faulty { store, fault });
            async move || Arc::clone(&store)
        });
        let broken = checked.await.expect_err("it is broken");
        assert!(
            broken.rules().any(|broken| broken == rule),
            "{fault:?}\n{broken}"
        );
        let said = broken.to_string();
        assert!(said.contains(&format!("broken: {rule} (")), "{said}");
    }
}

/// Runs a test with every store. The function opens the same store again at each call; for a
/// persistent store, as another process would.
fn with_every_store(test: impl Fn(&(dyn Fn() -> Arc<dyn Store> + Sync))) {
    let max_bytes = askback::Limits::default().asking.store_bytes;
    with_every_store_of(max_bytes, |open, _| test(open));
}

/// Like [`with_every_store`], with stores that are limited to this many bytes of a kind. The test
/// also gets a function that returns a store's size on disk.
fn with_every_store_of(
    max_bytes: usize,
    test: impl Fn(&(dyn Fn() -> Arc<dyn Store> + Sync), &dyn Fn() -> u64),
) {
    let memory = Arc::new(MemoryStore::new(max_bytes));
    test(&|| memory.clone(), &|| 0);

    #[cfg(feature = "sqlite")]
    {
        use askback::store::SqliteStore;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        test(
            &|| Arc::new(SqliteStore::open_with(&path, max_bytes).unwrap()),
            &|| {
                let entries = std::fs::read_dir(directory.path()).unwrap();
                let sizes = entries.map(|entry| entry.unwrap().metadata().unwrap().len());
                sizes.sum()
            },
        );
    }
}

fn owner(number: u8) -> Option<Owner> {
    Some(Owner([number; 16]))
}

/// Fifty owners take as much as they can from a store of at most `MOST` bytes.
const HOSTILE: u8 = 50;
const MOST: usize = 16 << 20;

#[test]
fn no_owner_takes_the_room_for_the_claims_of_others() {
    with_every_store_of(MOST, |open, on_disk| {
        let store = open();
        let commit = |number, name: &str| {
            let commit = ClaimRequest {
                owner: owner(number),
                value_bytes: 64 << 10,
                ..request(name)
            };
            let claim = wait(store.claim(commit));
            if let Ok(claim) = &claim {
                assert_eq!(*claim, Claim::Granted);
                finish(&*store, name, &[1; 64 << 10]).unwrap();
            }
            claim
        };
        for number in 1..=HOSTILE {
            let mut taken = 0;
            let refused = loop {
                match commit(number, &format!("{number}-{taken}")) {
                    Ok(_) => taken += 1,
                    Err(refused) => break refused,
                }
            };
            assert!(matches!(refused, StoreError::ShareFull), "{refused}");
            assert!((1..20).contains(&taken), "{number} takes {taken}");
        }
        assert!(commit(0, "book").is_ok());
        assert!(on_disk() <= 2 * MOST as u64, "{}", on_disk());
    });
}

#[test]
fn a_small_store_has_room_for_a_known_owner() {
    with_every_store_of(200_000, |open, _| {
        let store = open();
        for name in ["a", "b", "c", "d"] {
            let commit = ClaimRequest {
                owner: owner(1),
                ..request(name)
            };
            assert_eq!(wait(store.claim(commit)).unwrap(), Claim::Granted);
            finish(&*store, name, b"TRV-12345678").unwrap();
        }
    });
}

#[test]
fn no_owner_takes_the_room_for_the_states_of_others() {
    with_every_store_of(MOST, |open, on_disk| {
        let store = open();
        let mut number = 0_u32;
        let mut put = |owner, expires| {
            number += 1;
            let mut id = [0; 32];
            id[..4].copy_from_slice(&number.to_be_bytes());
            let state = PutRequest {
                owner,
                id,
                expires,
                ..state(0, &[1; 200_000])
            };
            wait(store.put(state)).unwrap();
            id
        };
        let kept = |id| wait(store.get(id)).unwrap().is_some();
        let first = put(owner(0), NOW + 1);
        // One owner may use an eighth of the store. Its oldest items are evicted.
        let theirs: Vec<_> = (0..12).map(|turn| put(owner(1), EXPIRES + turn)).collect();
        let of_one = theirs.iter().filter(|id| kept(**id)).count();
        assert_eq!(of_one, MOST / 8 / 200_256);
        assert!(kept(theirs[11]) && !kept(theirs[0]));
        for turn in 0..2 {
            for number in 1..=HOSTILE {
                put(owner(number), EXPIRES + turn);
            }
        }
        // Requests without a principal count as one owner, with another share.
        let unknown: Vec<_> = (0..60).map(|turn| put(None, EXPIRES + turn)).collect();
        assert!(kept(unknown[59]) && !kept(unknown[0]));
        assert!(kept(first));
        let second = put(owner(0), EXPIRES);
        assert!(kept(first) && kept(second));
        assert!(on_disk() <= 2 * MOST as u64, "{}", on_disk());
    });
}

#[test]
fn a_state_larger_than_the_room_is_refused() {
    with_every_store_of(10_000, |open, _| {
        let store = open();
        put(&*store, 1, b"kept", EXPIRES);
        let refused = wait(store.put(state(2, &[1; 10_000])));
        let full = matches!(refused, Err(StoreError::Full { max_bytes: 10_000 }));
        assert!(full, "{refused:?}");
        let refused = wait(store.put(PutRequest {
            owner: owner(1),
            ..state(2, &[1; 1250])
        }));
        let full = matches!(refused, Err(StoreError::Full { max_bytes: 1250 }));
        assert!(full, "{refused:?}");
        assert_eq!(get(&*store, 1), Some(b"kept".to_vec()));
    });
}

#[test]
fn what_has_expired_goes_when_something_is_put() {
    with_every_store(|open| {
        let store = open();
        put(&*store, 1, b"old", NOW + 1);
        wait(store.put(PutRequest {
            now: NOW + 1,
            ..state(2, b"new")
        }))
        .unwrap();
        assert_eq!((get(&*store, 1), get(&*store, 2).is_some()), (None, true));
    });
}

#[test]
fn an_owner_is_a_principal_whichever_client_acts_for_them() {
    let alice = askback::Principal {
        tenant: Some("acme".into()),
        issuer: Some("https://issuer.example".into()),
        subject: "alice".into(),
        client_id: Some("app".into()),
    };
    let changed = |change: fn(&mut askback::Principal)| {
        let mut other = alice.clone();
        change(&mut other);
        Owner::of(&other)
    };
    assert_eq!(changed(|other| other.client_id = None), Owner::of(&alice));
    let others = [
        changed(|other| other.tenant = None),
        changed(|other| other.issuer = None),
        changed(|other| other.tenant = Some("acm".into())),
        changed(|other| other.subject = "ealice".into()),
        changed(|other| {
            other.issuer = other.tenant.take();
        }),
        Owner::of(&alice),
    ];
    let apart: std::collections::HashSet<_> = others.into_iter().collect();
    assert_eq!(apart.len(), others.len());
    assert_eq!(format!("{:?}", Owner::of(&alice)), "Owner(..)");
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Output};

    use askback::store::SqliteStore;
    use askback::store::rusqlite::{Connection, TransactionBehavior};

    use super::*;

    /// The file that a child process works on. Without this variable, the tests that are meant for
    /// a child process do nothing.
    const CHILD_PATH: &str = "ASKBACK_TEST_STORE";

    // Shows MR-11.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_store_in_a_file_keeps_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        let made = std::cell::Cell::new(0);
        let checked = check_store(async |max_bytes| {
            made.set(made.get() + 1);
            let path = directory.path().join(format!("{}.db", made.get()));
            async move || {
                let store = SqliteStore::open_with(&path, max_bytes).unwrap();
                Arc::new(store) as Arc<dyn Store>
            }
        });
        checked.await.unwrap_or_else(|broken| panic!("{broken}"));
    }

    #[test]
    fn a_store_can_be_shared_between_threads() {
        fn assert_shareable<T: Send + Sync + 'static>() {}
        assert_shareable::<SqliteStore>();
        assert_shareable::<Arc<dyn Store>>();
    }

    #[test]
    fn many_may_open_a_new_store_at_once() {
        for _ in 0..10 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            let start = Barrier::new(8);
            thread::scope(|scope| {
                for number in 0..8u8 {
                    let (path, start) = (&path, &start);
                    scope.spawn(move || {
                        start.wait();
                        let store = SqliteStore::open(path).unwrap();
                        put(&store, number, &[number], EXPIRES);
                    });
                }
            });
            let store = SqliteStore::open(&path).unwrap();
            assert!((0..8).all(|number| get(&store, number) == Some(vec![number])));
        }
    }

    #[test]
    fn a_file_of_another_version_is_refused() {
        for (part, version, remedy) in [
            ("store", 9, "update the program"),
            ("store", -1, "move the file away"),
            ("journal", 9, "update the program"),
            ("journal", -1, "move the file away"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            drop(SqliteStore::open(&path).unwrap());
            let connection = Connection::open(&path).unwrap();
            let set = "UPDATE askback_schemas SET version = ?1 WHERE name = ?2";
            assert_eq!(connection.execute(set, (version, part)).unwrap(), 1);
            drop(connection);
            let refused = SqliteStore::open(&path).unwrap_err().to_string();
            let told = format!("the tables of the {part} have version {version},");
            assert!(
                refused.contains(&told) && refused.contains(remedy),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_started_operation_completes_though_its_caller_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(claim(&store, FLOW, "book", NOW), Claim::Granted);
        let mut finishing = store.finish(FLOW, "book", b"value");
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = finishing.as_mut().poll(&mut context);
        drop(finishing);
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(
            claim(&store, FLOW, "book", NOW),
            Claim::Done(b"value".to_vec())
        );
    }

    // Shows EL-18.
    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(claim(&store, FLOW, "book", NOW), Claim::Granted);
        let mut files = 0;
        for entry in fs::read_dir(directory.path()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", entry.path());
            files += 1;
        }
        assert_eq!(files, 3, "the database, its log and the index of that");
        drop(store);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = SqliteStore::open(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn what_cannot_be_a_store_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing/store.db");
        assert!(SqliteStore::open(missing).is_err());
        let no_database = directory.path().join("text");
        fs::write(&no_database, "not a database, ".repeat(100)).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&no_database, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let error = SqliteStore::open(no_database).unwrap_err();
        assert!(error.to_string().contains("not a database"), "{error}");
    }

    fn bookings(connection: &Connection) -> u32 {
        connection
            .query_row("SELECT count(*) FROM bookings", [], |row| row.get(0))
            .unwrap()
    }

    /// Books in the author's own database and transaction. Returns the claim's outcome.
    fn book(connection: &mut Connection, committed: bool) -> Claim {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        let claim = SqliteStore::claim_in(&transaction, &request("book"), MOST).unwrap();
        if claim == Claim::Granted {
            transaction
                .execute("INSERT INTO bookings VALUES ('TRV-1')", [])
                .unwrap();
            SqliteStore::finish_in(&transaction, FLOW, "book", b"TRV-1").unwrap();
        }
        if committed {
            transaction.commit().unwrap();
        }
        claim
    }

    #[test]
    fn claim_and_effect_are_committed_together() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("author.db");
        let mut connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE TABLE bookings (reference TEXT)")
            .unwrap();
        SqliteStore::create_tables(&connection).unwrap();
        SqliteStore::create_tables(&connection).unwrap();

        assert_eq!(book(&mut connection, false), Claim::Granted);
        assert_eq!(bookings(&connection), 0);
        assert_eq!(book(&mut connection, true), Claim::Granted);
        assert_eq!(bookings(&connection), 1);
        for _ in 0..3 {
            assert_eq!(book(&mut connection, true), Claim::Done(b"TRV-1".to_vec()));
        }
        let mut other = Connection::open(&path).unwrap();
        assert_eq!(book(&mut other, true), Claim::Done(b"TRV-1".to_vec()));
        assert_eq!(bookings(&connection), 1);

        let transaction = connection.transaction().unwrap();
        let finish = |name| SqliteStore::finish_in(&transaction, FLOW, name, b"other");
        assert!(matches!(finish("book"), Err(StoreError::Finished)));
        assert!(matches!(finish("pay"), Err(StoreError::Unclaimed)));
    }

    fn run_child(test: &str, path: &Path) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD_PATH, path)
            .output()
            .unwrap()
    }

    fn child_store() -> Option<SqliteStore> {
        let path = std::env::var_os(CHILD_PATH)?;
        Some(SqliteStore::open(path).unwrap())
    }

    #[test]
    fn each_claim_is_granted_to_one_of_many_processes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let outputs = thread::scope(|scope| {
            let children = [(); 4]
                .map(|()| scope.spawn(|| run_child("store::sqlite::child_claims_all", &path)));
            children.map(|child| child.join().unwrap())
        });
        let mut granted = Vec::new();
        for output in &outputs {
            assert!(output.status.success(), "{output:?}");
            let said = String::from_utf8_lossy(&output.stdout);
            granted.extend(
                said.lines()
                    .filter_map(|line| line.strip_prefix("granted "))
                    .map(|name| name.parse::<usize>().unwrap()),
            );
        }
        granted.sort();
        assert_eq!(granted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the parent reads it")]
    fn child_claims_all() {
        let Some(store) = child_store() else { return };
        // The harness has begun a line.
        println!();
        for name in 0..50 {
            if claim(&store, FLOW, &name.to_string(), NOW) == Claim::Granted {
                println!("granted {name}");
            }
        }
    }

    #[test]
    fn the_claim_of_a_process_that_dies_is_abandoned() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let output = run_child("store::sqlite::child_claims_and_dies", &path);
        assert!(!output.status.success());
        let store = SqliteStore::open(&path).unwrap();
        for (now, want) in [(NOW, Claim::Busy), (LEASE_END, Claim::Abandoned)] {
            assert_eq!(claim(&store, FLOW, "book", now), want);
        }
        assert_eq!(
            claim(&store, FLOW, "pay", NOW),
            Claim::Done(b"paid".to_vec())
        );
    }

    #[test]
    fn child_claims_and_dies() {
        let Some(store) = child_store() else { return };
        assert_eq!(claim(&store, FLOW, "pay", NOW), Claim::Granted);
        finish(&store, "pay", b"paid").unwrap();
        assert_eq!(claim(&store, FLOW, "book", NOW), Claim::Granted);
        std::process::abort();
    }
}
