//! The file in which credentials are kept.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, thread, time::Duration};

use askback::authorization::{
    Secret,
    client::{CredentialKey, CredentialStore, KeyLock},
};
use askback_cli::credentials::{Kept, Place, Records, Vault};
use tokio::time::timeout;

use crate::scratch::Scratch;

fn mode(path: &std::path::Path) -> u32 {
    let metadata = fs::metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o777
}

// Shows AZ-46, AS-05, AZ25-27.
#[test]
fn nobody_else_reads_it() {
    let scratch = Scratch::new("credentials-mode");
    let path = scratch.path("askback/credentials.json");
    let records = Records::at(path.clone());
    assert!(records.read().expect("there is none yet").is_empty());
    // A folder that somebody else has put there is not written into.
    fs::create_dir_all(scratch.path("askback")).expect("the folder is ours");
    let draft = path.with_file_name(".credentials.json.askback-new");
    fs::write(&draft, "").expect("the folder is ours");
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o666)).expect("the file is ours");
    let secret = || Kept::Here(Secret::new("hush"));
    records
        .change(|all| all.insert("tokens a".to_owned(), secret()))
        .expect("it can be written");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(records.read().expect("it is ours")["tokens a"], secret());

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the file is ours");
    let error = records.read().expect_err("others can read it").to_string();
    assert!(
        error.contains("can be read by others (mode 640): run chmod 600"),
        "{error}"
    );
    assert!(!error.contains("hush"));
    let changed = records.change(|all| all.clear());
    assert!(changed.is_err(), "nor is it changed");
    assert!(fs::read_to_string(&path).is_ok_and(|text| text.contains("hush")));
}

#[test]
fn many_may_change_it_at_once() {
    let scratch = Scratch::new("credentials-many");
    let path = scratch.path("credentials.json");
    let records = Arc::new(Records::at(path));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let records = Arc::clone(&records);
            thread::spawn(move || {
                for entry in 0..8 {
                    let key = format!("tokens {thread} {entry}");
                    let changed = records.change(|all| all.insert(key, Kept::InKeyring));
                    assert!(changed.is_ok_and(|before| before.is_none()));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(records.read().expect("it is ours").len(), 64);
}

// Two vaults on one file are as strange to each other as two processes.
#[tokio::test]
async fn one_at_a_time_has_a_key_locked() {
    let scratch = Scratch::new("credentials-locked");
    let vault = || {
        let records = Records::at(scratch.path("askback/credentials.json"));
        Vault::of(Place::File, records, |_| {})
    };
    async fn lock(vault: &Vault, key: &CredentialKey) -> Option<KeyLock> {
        let locked = timeout(Duration::from_millis(50), vault.lock(key)).await;
        locked
            .ok()
            .map(|locked| locked.expect("the folder is ours"))
    }
    let (one, other) = (vault(), vault());
    let key = CredentialKey::Tokens("https://example.com/mcp".to_owned());
    let held = lock(&one, &key).await;
    assert!(held.is_some());
    assert!(lock(&other, &key).await.is_none());
    assert!(lock(&one, &key).await.is_none());
    for free in [
        CredentialKey::Tokens("https://example.com/other".to_owned()),
        CredentialKey::Issuer("https://example.com/mcp".to_owned()),
    ] {
        assert!(lock(&other, &free).await.is_some(), "{free}");
    }
    // It hinders neither reading nor writing.
    let secret = Secret::new("hush");
    other.save(&key, &secret).await.expect("the folder is ours");
    let kept = other.load(&key).await.expect("the folder is ours");
    assert_eq!(kept, Some(secret));
    // A caller that gave up waiting holds nothing.
    drop(held);
    assert!(lock(&other, &key).await.is_some());
    for file in fs::read_dir(scratch.path("askback/credentials.locks")).expect("it was made") {
        let path = file.expect("it can be read").path();
        assert_eq!(
            (mode(&path), fs::read(&path).ok()),
            (0o600, Some(Vec::new()))
        );
    }
}
