//! The file in which credentials are kept.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, thread};

use askback::authorization::Secret;
use askback_cli::credentials::{Kept, Records};

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
    // What somebody else has put there is not written into.
    fs::create_dir_all(scratch.path("askback")).expect("the folder is ours");
    let draft = path.with_extension("new");
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
