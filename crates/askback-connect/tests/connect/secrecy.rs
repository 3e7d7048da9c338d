//! That no secret is where it should not be: in the file, in what is printed, in the audit.

use std::fs;

use askback_connect::vault::{Granted, GrantedKind, SqliteVault};
use askback_oauth::Secret;

use crate::stage::{Provider, Stage, ada, keys, person, tokens, wanted};

const CANARY: &str = "canary";

/// Whether bytes hold others.
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
    let key = Granted::api_key(Secret::new("canary-key"));
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
    let records = stage.store.records(&holder, None).await.unwrap();
    let audit = vault.audit(Some("acme"), 0, 9).await.unwrap();
    let accounts = vault.accounts(&canary).await.unwrap();
    let printed = [
        format!("{given:#?}"),
        format!("{records:#?}"),
        format!("{audit:#?}"),
        format!("{accounts:#?}"),
        format!("{vault:#?} {:#?} {:#?}", tokens(1), tokens(1).kind),
        format!("{:#?}", GrantedKind::ApiKey(Secret::new("canary-key"))),
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

#[tokio::test]
async fn the_key_of_a_deleted_tenant_is_gone_from_the_file() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let keys = stage.store.tenant_keys(Some("acme")).await.unwrap();
    let is_there = || {
        let files = fs::read_dir(stage.directory.path()).unwrap();
        let mut files = files.map(|file| fs::read(file.unwrap().path()).unwrap());
        files.any(|bytes| holds(&bytes, &keys[0].wrapped.bytes))
    };
    assert!(is_there());
    vault.delete_tenant(Some("acme")).await.unwrap();
    assert!(!is_there());
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
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = SqliteVault::open(&path).unwrap_err().to_string();
        assert!(
            refused.contains("chmod 600") && refused.contains("644"),
            "{refused}"
        );
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
fn a_file_of_a_newer_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.db");
    drop(SqliteVault::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let refused = SqliteVault::open(&path).unwrap_err().to_string();
    assert!(refused.contains("version 99"), "{refused}");
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
