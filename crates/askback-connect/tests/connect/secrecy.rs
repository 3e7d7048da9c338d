//! Secrets must not appear in the file, in output or in the audit.

use std::{fs, sync::Arc};

use askback_connect::vault::{
    AuditEvent, Filter, Grant, Holder, Revocation, SqliteVault, TenantKey, Vault, VaultRecord,
};
use askback_core::future::BoxFuture;
use askback_oauth::Secret;

use crate::stage::{HOUR, Provider, Stage, ada, keys, person, tokens, wanted};

const CANARY: &str = "canary";

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn a_dump_of_the_file_shows_no_secret() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    let provider = Provider::new(&stage);
    vault
        .put(&ada(), "github", "a", tokens(0).expires(1))
        .await
        .unwrap();
    vault
        .get(&wanted(&ada()), &provider.renewer())
        .await
        .unwrap();
    let key = Grant::api_key(Secret::new("canary-key"));
    vault.put(&ada(), "weather", "a", key).await.unwrap();
    vault.put(&ada(), "gitlab", "a", tokens(5)).await.unwrap();
    vault.disconnect(&ada(), "gitlab", "a").await.unwrap();
    vault.rotate(Some("acme")).await.unwrap();
    let mut searched = 0;
    for file in fs::read_dir(stage.directory.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        searched += bytes.len();
        let name = path.display();
        assert!(!holds(&bytes, CANARY.as_bytes()), "{name} shows a token");
        assert!(!holds(&bytes, &[7; 32]), "{name} shows the key");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
    assert!(searched > 10_000);
}

#[tokio::test]
async fn what_is_printed_shows_neither_secrets_nor_persons() {
    let stage = Stage::in_memory();
    let vault = stage.vault().await;
    let provider = Provider::new(&stage);
    let canary = person("acme", "canary-ada");
    vault
        .put(&canary, "github", "canary-account", tokens(0))
        .await
        .unwrap();
    let given = vault
        .get(&wanted(&canary), &provider.renewer())
        .await
        .unwrap();
    let holder = (&canary).into();
    let records = stage
        .store
        .list::<VaultRecord>(Filter::of(&holder))
        .await
        .unwrap();
    let audit = vault.audit(Some("acme"), 0, 9).await.unwrap();
    let accounts = vault.accounts(&canary).await.unwrap();
    let printed = [
        format!("{given:#?}"),
        format!("{records:#?}"),
        format!("{audit:#?}"),
        format!("{accounts:#?}"),
        format!("{vault:#?} {:#?}", tokens(1)),
        format!("{:#?}", Grant::api_key(Secret::new("canary-key"))),
        format!(
            "{:#?} {:#?}",
            keys(7),
            wanted(&canary).account("canary-account")
        ),
        format!(
            "{:#?}",
            vault.get(&wanted(&ada()), &provider.renewer()).await
        ),
    ];
    for printed in printed {
        assert!(!printed.contains(CANARY), "{printed}");
        assert!(printed.len() > 10);
    }
}

fn is_in_files(stage: &Stage, part: &[u8]) -> bool {
    let files = fs::read_dir(stage.directory.path()).unwrap();
    let mut files = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    files.any(|bytes| holds(&bytes, part))
}

/// The stored secrets of the one GitHub account, of its pending revocations, and the tenant's keys.
async fn kept(stage: &Stage) -> Vec<Vec<u8>> {
    let (store, holder) = (&stage.store, Holder::from(&ada()));
    let records = store
        .list::<VaultRecord>(Filter::of(&holder))
        .await
        .unwrap();
    let owed = store.list::<Revocation>(Filter::of(&holder)).await.unwrap();
    let keys = store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap();
    let records = records.into_iter().map(|it| it.sealed);
    let sealed = records.chain(owed.into_iter().map(|it| it.sealed));
    let mut all: Vec<_> = sealed
        .flat_map(|it| [Some(it.access), it.refresh])
        .flatten()
        .collect();
    all.extend(keys.into_iter().map(|key| key.wrapped.bytes));
    all
}

fn api_key(number: usize) -> Grant {
    Grant::api_key(Secret::new(format!("canary-key-{number}")))
}

/// An operation on an account that deletes this many stored secrets.
struct Removal {
    what: &'static str,
    granted: fn() -> Grant,
    remove: for<'a> fn(&'a Vault, &'a Arc<Provider>) -> BoxFuture<'a, ()>,
    gone: usize,
}

const REMOVALS: &[Removal] = &[
    Removal {
        what: "a key that is disconnected",
        granted: || api_key(0),
        remove: |vault, _| {
            Box::pin(async {
                vault.disconnect(&ada(), "github", "a").await.unwrap();
            })
        },
        gone: 1,
    },
    Removal {
        what: "a key that another takes the place of",
        granted: || api_key(0),
        remove: |vault, _| {
            Box::pin(async {
                vault.put(&ada(), "github", "a", api_key(1)).await.unwrap();
            })
        },
        gone: 1,
    },
    Removal {
        what: "tokens that are renewed",
        granted: || tokens(0).expires(1),
        remove: |vault, provider| {
            Box::pin(async {
                let wanted = wanted(&ada());
                vault.get(&wanted, &provider.renewer()).await.unwrap();
            })
        },
        gone: 2,
    },
    Removal {
        what: "tokens that the provider has taken back",
        granted: || tokens(0),
        remove: |vault, provider| {
            Box::pin(async {
                vault.disconnect(&ada(), "github", "a").await.unwrap();
                assert_eq!(vault.revoke_due(&**provider).await.unwrap(), 1);
            })
        },
        gone: 2,
    },
    Removal {
        what: "the tenant's key of before, and what was sealed under it",
        granted: || tokens(0),
        remove: |vault, _| {
            Box::pin(async {
                assert_eq!(vault.rotate(Some("acme")).await.unwrap(), 1);
            })
        },
        gone: 3,
    },
    Removal {
        what: "a tenant",
        granted: || tokens(0),
        remove: |vault, _| {
            Box::pin(async {
                assert!(vault.delete_tenant(Some("acme")).await.unwrap());
            })
        },
        gone: 3,
    },
];

#[tokio::test]
async fn deleted_secrets_are_gone_from_the_file() {
    for removal in REMOVALS {
        let stage = Stage::in_sqlite();
        let (vault, provider, what) = (stage.vault().await, Provider::new(&stage), removal.what);
        let granted = (removal.granted)();
        vault.put(&ada(), "github", "a", granted).await.unwrap();
        let before = kept(&stage).await;
        let is_there = |part: &&Vec<u8>| is_in_files(&stage, part);
        assert!(before.iter().all(|it| is_there(&it)), "{what}");
        (removal.remove)(&vault, &provider).await;
        let after = kept(&stage).await;
        let gone = before.iter().filter(|it| !after.contains(it));
        assert_eq!(gone.clone().count(), removal.gone, "{what}");
        assert_eq!(gone.filter(is_there).count(), 0, "{what}");
    }
}

#[tokio::test]
async fn secrets_deleted_during_a_read_are_overwritten_after_it() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    vault.put(&ada(), "github", "a", api_key(0)).await.unwrap();
    let before = kept(&stage).await.remove(0);
    let mut backup = rusqlite::Connection::open(stage.directory.path().join("vault.db")).unwrap();
    let reading = backup.transaction().unwrap();
    let count = "SELECT count(*) FROM askback_vault_records";
    let records: i64 = reading.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(records, 1);
    vault.disconnect(&ada(), "github", "a").await.unwrap();
    assert!(is_in_files(&stage, &before));
    reading.commit().unwrap();
    vault.put(&ada(), "weather", "a", api_key(1)).await.unwrap();
    assert!(!is_in_files(&stage, &before));
}

#[tokio::test]
async fn lines_of_the_audit_that_are_purged_are_gone_from_the_file() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    let somebody = person("acme", "somebody-who-asks-to-be-forgotten");
    let name = somebody.subject.as_bytes();
    vault
        .put(&somebody, "github", "a", api_key(0))
        .await
        .unwrap();
    vault.disconnect(&somebody, "github", "a").await.unwrap();
    assert!(is_in_files(&stage, name));
    let lines = vault.audit(Some("acme"), 0, 9).await.unwrap();
    assert_eq!(lines[0].record.event, AuditEvent::Granted);
    stage.clock.turn(HOUR);
    let purged = vault.purge_audit(lines[0].record.at + 1).await.unwrap();
    assert_eq!(purged, 2);
    assert!(!is_in_files(&stage, name));
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.db");
    drop(SqliteVault::open(&path).unwrap());
    assert!(SqliteVault::open(&path).is_ok());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = SqliteVault::open(&path).unwrap_err().to_string();
            let is_told = refused.contains("chmod 600") && refused.contains(&format!("{mode:o}"));
            assert!(is_told, "{refused}");
        }
    }
}

#[test]
fn an_error_of_the_database_names_its_file() {
    let directory = tempfile::tempdir().unwrap();
    #[track_caller]
    fn check(path: &std::path::Path, hint: &str) {
        let refused = SqliteVault::open(path).unwrap_err().to_string();
        let path = path.display().to_string();
        assert!(
            refused.contains(&path) && refused.contains(hint),
            "{refused}"
        );
    }
    let path = directory.path().join("vault.db");
    drop(SqliteVault::open(&path).unwrap());
    std::fs::write(&path, [7; 4096]).unwrap();
    check(&path, "It is damaged, or no database");
    check(&path.join("below"), "The folder of the file must be there");
    check(
        &directory.path().join("none/vault.db"),
        "The folder of the file must be there",
    );
    check(directory.path(), "");
}

#[tokio::test]
async fn an_error_of_a_database_in_use_names_its_file() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    let path = stage.directory.path().join("vault.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let drop_all = "DROP TABLE askback_vault_records;";
    connection.execute_batch(drop_all).unwrap();
    let refused = vault.accounts(&ada()).await.unwrap_err().to_string();
    assert!(refused.contains(&path.display().to_string()), "{refused}");
}

#[test]
fn a_file_of_another_version_is_refused() {
    for (version, remedy) in [
        (-1, "move them away"),
        (10, "move them away"),
        (12, "update the program"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vault.db");
        drop(SqliteVault::open(&path).unwrap());
        let connection = rusqlite::Connection::open(&path).unwrap();
        let made: i64 = connection
            .query_row("SELECT version FROM askback_schemas", [], |row| row.get(0))
            .unwrap();
        assert_eq!(made, 11);
        let set = "UPDATE askback_schemas SET version = ?1";
        connection.execute(set, [version]).unwrap();
        drop(connection);
        let refused = SqliteVault::open(&path).unwrap_err().to_string();
        let told = [&format!("have version {version},"), remedy];
        assert!(told.iter().all(|it| refused.contains(*it)), "{refused}");
    }
}

#[test]
fn a_vault_in_memory_makes_no_file() {
    for open in [
        || SqliteVault::in_memory(),
        || SqliteVault::open(":memory:"),
    ] {
        drop(open().unwrap());
        assert!(!std::path::Path::new(":memory:").exists());
    }
}

#[test]
fn many_open_a_new_file_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.db");
    let open = || drop(SqliteVault::open(&path).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(open);
        }
    });
}
