//! What every store promises, and what only the SQLite store does.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use askback::store::{
    Claim, ClaimRequest, MemoryStore, Millis, Owner, PutRequest, Store, StoreError, StoreFuture,
};
use askback_core::ask::FlowId;

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

/// A claim of nobody known, of a commit with a value of at most [`VALUE`] bytes.
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

/// A state of nobody known.
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

/// Runs a test with every store. What it gets opens the same store again at each call: for a
/// store that outlives its process as another process would.
fn with_every_store(test: impl Fn(&(dyn Fn() -> Arc<dyn Store> + Sync))) {
    let max_bytes = askback::Limits::default().store_bytes;
    with_every_store_of(max_bytes, |open, _| test(open));
}

/// [`with_every_store`], of stores that keep at most so many bytes of a kind. The test also gets
/// what tells how many bytes a store takes on the disk.
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

// Shows MR-11.
#[test]
fn a_claim_is_granted_once() {
    with_every_store(|open| {
        let store = open();
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Granted);
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Busy);
        assert_eq!(claim(&*open(), FLOW, "book", NOW), Claim::Busy);
        // Flows and names are apart.
        for (flow, name) in [
            (FlowId([2; 16]), "book"),
            (FLOW, "pay"),
            (FLOW, "Book"),
            (FLOW, "book "),
            (FLOW, "book\0"),
            (FLOW, ""),
        ] {
            assert_eq!(claim(&*store, flow, name, NOW), Claim::Granted, "{name:?}");
            assert_eq!(claim(&*store, flow, name, NOW), Claim::Busy, "{name:?}");
        }
    });
}

#[test]
fn of_many_claims_at_once_one_is_granted() {
    const CLAIMANTS: usize = 8;
    const NAMES: usize = 40;
    with_every_store(|open| {
        let start = Barrier::new(CLAIMANTS);
        let shared = open();
        let granted: Vec<usize> = thread::scope(|scope| {
            let claimants: Vec<_> = (0..CLAIMANTS)
                .map(|number| {
                    let (shared, start) = (shared.clone(), &start);
                    scope.spawn(move || {
                        // Half of them share one store, half open it anew.
                        let store = if number % 2 == 0 { shared } else { open() };
                        start.wait();
                        let is_granted = |name: &usize| {
                            claim(&*store, FLOW, &name.to_string(), NOW) == Claim::Granted
                        };
                        (0..NAMES).filter(is_granted).collect::<Vec<_>>()
                    })
                })
                .collect();
            claimants
                .into_iter()
                .flat_map(|claimant| claimant.join().unwrap())
                .collect()
        });
        let mut names = granted;
        names.sort();
        assert_eq!(names, (0..NAMES).collect::<Vec<_>>());
    });
}

#[test]
fn a_finished_claim_gives_its_value_for_ever() {
    with_every_store(|open| {
        let store = open();
        for value in [&b"TRV-12345678"[..], b"", &[0xff; 100_000]] {
            let name = value.len().to_string();
            assert_eq!(claim(&*store, FLOW, &name, NOW), Claim::Granted);
            finish(&*store, &name, value).unwrap();
            for now in [0, NOW, LEASE_END + 1, EXPIRES + 1, Millis::MAX] {
                assert_eq!(
                    claim(&*store, FLOW, &name, now),
                    Claim::Done(value.to_vec())
                );
                assert_eq!(
                    claim(&*open(), FLOW, &name, now),
                    Claim::Done(value.to_vec())
                );
            }
        }
    });
}

#[test]
fn a_claim_not_finished_in_time_is_abandoned() {
    with_every_store(|open| {
        let store = open();
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Granted);
        for (now, want) in [
            (NOW - 1, Claim::Busy),
            (LEASE_END - 1, Claim::Busy),
            (LEASE_END, Claim::Abandoned),
            (EXPIRES + 1, Claim::Abandoned),
            (Millis::MAX, Claim::Abandoned),
            (NOW, Claim::Busy), // to ask is not to change
        ] {
            assert_eq!(claim(&*store, FLOW, "book", now), want, "{now}");
        }
        // Late, but now it is known.
        finish(&*store, "book", b"late").unwrap();
        assert_eq!(
            claim(&*store, FLOW, "book", LEASE_END),
            Claim::Done(b"late".to_vec())
        );
    });
}

#[test]
fn only_a_claim_is_finished_and_with_one_value() {
    with_every_store(|open| {
        let store = open();
        assert!(matches!(
            finish(&*store, "book", b"1"),
            Err(StoreError::Unclaimed)
        ));
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Granted);
        finish(&*store, "book", b"1").unwrap();
        finish(&*store, "book", b"1").unwrap();
        assert!(matches!(
            finish(&*store, "book", b"2"),
            Err(StoreError::Finished)
        ));
        assert_eq!(
            claim(&*store, FLOW, "book", NOW),
            Claim::Done(b"1".to_vec())
        );
    });
}

#[test]
fn times_beyond_reason_do_no_harm() {
    with_every_store(|open| {
        let store = open();
        let first = wait(store.claim(ClaimRequest {
            now: Millis::MAX,
            lease: Duration::MAX,
            expires: Millis::MAX,
            ..request("book")
        }));
        assert_eq!(first.unwrap(), Claim::Granted);
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Busy);
        let second = wait(store.claim(ClaimRequest {
            now: 0,
            lease: Duration::ZERO,
            expires: 1,
            ..request("pay")
        }));
        assert_eq!(second.unwrap(), Claim::Granted);
        assert_eq!(claim(&*store, FLOW, "pay", 0), Claim::Abandoned);
    });
}

#[test]
fn states_are_kept_as_they_were_first_put() {
    with_every_store(|open| {
        let store = open();
        assert_eq!(get(&*store, 1), None);
        let large = vec![7; 100_000];
        put(&*store, 1, &large, EXPIRES);
        put(&*store, 2, b"", EXPIRES);
        put(&*store, 1, b"other", EXPIRES);
        assert_eq!(get(&*store, 1), Some(large.clone()));
        assert_eq!(get(&*open(), 1), Some(large));
        assert_eq!(get(&*store, 2), Some(vec![]));
        assert_eq!(get(&*store, 3), None);
    });
}

#[test]
fn purge_removes_what_has_expired_and_nothing_else() {
    with_every_store(|open| {
        let store = open();
        let until = |name, expires| {
            let commit = ClaimRequest {
                expires,
                ..request(name)
            };
            wait(store.claim(commit)).unwrap()
        };
        until("soon", NOW + 10);
        until("done", NOW + 10);
        until("later", NOW + 11);
        finish(&*store, "done", b"value").unwrap();
        put(&*store, 1, b"soon", NOW + 10);
        put(&*store, 2, b"later", NOW + 11);
        // Putting again can lengthen the time of a state and not shorten it.
        put(&*store, 3, b"longer", NOW + 5);
        put(&*store, 3, b"longer", NOW + 20);
        put(&*store, 3, b"longer", NOW + 1);

        assert_eq!(wait(store.purge(NOW + 9)).unwrap(), 0);
        assert_eq!(
            claim(&*store, FLOW, "done", NOW),
            Claim::Done(b"value".to_vec())
        );
        assert_eq!(wait(store.purge(NOW + 10)).unwrap(), 3);
        assert_eq!(wait(store.purge(NOW + 10)).unwrap(), 0);
        assert_eq!(claim(&*store, FLOW, "later", NOW), Claim::Busy);
        assert_eq!((get(&*store, 1), get(&*store, 2).is_some()), (None, true));
        assert!(get(&*store, 3).is_some());
        assert!(matches!(
            finish(&*store, "soon", b""),
            Err(StoreError::Unclaimed)
        ));

        assert_eq!(wait(store.purge(NOW + 11)).unwrap(), 2);
        assert_eq!(wait(store.purge(NOW + 20)).unwrap(), 1);
        assert_eq!(get(&*store, 3), None);
    });
}

#[test]
fn a_full_store_refuses_claims_and_forgets_none() {
    with_every_store_of(20_000, |open, _| {
        let store = open();
        let small = |name: &str, now| {
            let commit = ClaimRequest {
                value_bytes: 5000,
                now,
                expires: NOW + 10,
                ..request(name)
            };
            wait(store.claim(commit))
        };
        for name in ["a", "b", "c"] {
            assert_eq!(small(name, NOW).unwrap(), Claim::Granted);
        }
        let refused = small("d", NOW);
        let full =
            |refused: &Result<_, _>| matches!(refused, Err(StoreError::Full { max_bytes: 20_000 }));
        assert!(full(&refused), "{refused:?}");
        // Known claims are answered, there is room for their values, and states have their own.
        assert_eq!(small("a", NOW).unwrap(), Claim::Busy);
        put(&*store, 1, &[1; 15_000], NOW + 10);
        for name in ["a", "b"] {
            finish(&*store, name, &[1; 5000]).unwrap();
            assert_eq!(small(name, NOW).unwrap(), Claim::Done(vec![1; 5000]));
        }
        // What a value does not take of the room set aside for it is free again.
        assert!(full(&small("d", NOW)));
        finish(&*store, "c", b"c").unwrap();
        assert_eq!(small("d", NOW).unwrap(), Claim::Granted);
        assert_eq!(small("d", NOW).unwrap(), Claim::Busy);

        // What has expired makes room by itself.
        assert_eq!(small("e", NOW + 10).unwrap(), Claim::Granted);
        assert_eq!(wait(store.purge(NOW + 10)).unwrap(), 2, "e and the state");
        assert_eq!(get(&*store, 1), None);
    });
}

#[test]
fn a_value_is_no_longer_than_its_claim_said() {
    with_every_store(|open| {
        let store = open();
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Granted);
        let refused = finish(&*store, "book", &[1; VALUE + 1]);
        let too_long = matches!(refused, Err(StoreError::TooLong { max_bytes: VALUE }));
        assert!(too_long, "{refused:?}");
        assert_eq!(claim(&*store, FLOW, "book", NOW), Claim::Busy);
        finish(&*store, "book", &[1; VALUE]).unwrap();
    });
}

fn owner(number: u8) -> Option<Owner> {
    Some(Owner([number; 16]))
}

/// Fifty owners who take what they can, and how many bytes a store may take.
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
        // One alone takes an eighth, and keeps the latest.
        let theirs: Vec<_> = (0..12).map(|turn| put(owner(1), EXPIRES + turn)).collect();
        let of_one = theirs.iter().filter(|id| kept(**id)).count();
        assert_eq!(of_one, MOST / 8 / 200_256);
        assert!(kept(theirs[11]) && !kept(theirs[0]));
        for turn in 0..2 {
            for number in 1..=HOSTILE {
                put(owner(number), EXPIRES + turn);
            }
        }
        // Nobody known is an owner like any other, but for the share.
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

    /// Tells the test binary, started anew by a test, which file to work on. Without it the tests
    /// that are meant for such a process have nothing to do.
    const CHILD_PATH: &str = "ASKBACK_TEST_STORE";

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
    fn what_was_begun_is_done_though_nobody_waits() {
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

    /// Books in an author's own database and transaction; the outcome of the claim.
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
    fn of_many_processes_one_is_granted_each_claim() {
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
