//! The store that keeps claims in files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use askback::{
    store::{Claim, ClaimRequest, FileStore, FlowId, Millis, Store, StoreError},
    testing::check_store,
};

const FLOW: FlowId = FlowId([1; 16]);
const NOW: Millis = 1_800_000_000_000;
const LEASE_END: Millis = NOW + 60_000;
const EXPIRES: Millis = NOW + 86_400_000;

fn request(name: &str, now: Millis) -> ClaimRequest<'_> {
    ClaimRequest {
        owner: None,
        flow: FLOW,
        name,
        value_bytes: 1000,
        now,
        lease: Duration::from_secs(60),
        expires: EXPIRES,
    }
}

fn open(folder: &Path) -> FileStore {
    FileStore::open(folder).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The claim files, without the process locks.
fn claim_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = files(folder);
    files.retain(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'));
    files
}

// Shows MR-11.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_of_files_keeps_the_contract() {
    let checked = check_store(async |max_bytes| {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join("claims");
        let store: Arc<dyn Store> = Arc::new(FileStore::open_with(claims, max_bytes).unwrap());
        async move || {
            let _ = &folder;
            Arc::clone(&store)
        }
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_claims_and_not_the_states() {
    let checked = check_store(async |max_bytes| {
        let folder = tempfile::tempdir().unwrap();
        async move || {
            let claims = folder.path().join("claims");
            let store: Arc<dyn Store> = Arc::new(FileStore::open_with(claims, max_bytes).unwrap());
            store
        }
    });
    let broken = checked.await.unwrap_err();
    let rules: Vec<_> = broken.rules().collect();
    assert_eq!(
        rules,
        ["a state is kept as it was first put, until the later expiry"],
        "{broken}"
    );
}

#[tokio::test]
async fn a_claim_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    let first = open(&claims);
    for name in ["paid", "begun"] {
        assert_eq!(
            first.claim(request(name, NOW)).await.unwrap(),
            Claim::Granted
        );
    }
    first.finish(FLOW, "paid", b"TRV-1").await.unwrap();
    drop(first);
    let second = open(&claims);
    for (name, now, want) in [
        ("paid", NOW, Claim::Done(b"TRV-1".to_vec())),
        ("paid", LEASE_END, Claim::Done(b"TRV-1".to_vec())),
        ("begun", NOW, Claim::Abandoned),
        ("begun", LEASE_END, Claim::Abandoned),
        ("new", NOW, Claim::Granted),
    ] {
        assert_eq!(
            second.claim(request(name, now)).await.unwrap(),
            want,
            "{name} at {now}"
        );
    }
    // The claims of an earlier process are removed as well.
    assert_eq!(second.purge(EXPIRES - 1).await.unwrap(), 0);
    assert_eq!(claim_files(&claims).len(), 3);
    assert_eq!(second.purge(EXPIRES).await.unwrap(), 3);
    assert_eq!(claim_files(&claims), [] as [PathBuf; 0]);
    drop(second);
    assert_eq!(files(&claims), [] as [PathBuf; 0]);
}

/// How another process finds a claim's process and its lock.
#[derive(Debug, Clone, Copy)]
enum Process {
    Runs,
    Ended,
    /// The lock file exists, as after a kill.
    Killed,
    /// The process could not lock its file, so its claim does not name it.
    HasNoLock,
}

#[tokio::test]
async fn a_claim_is_abandoned_when_its_process_ends_or_else_at_the_end_of_its_lease() {
    for (process, want) in [
        (Process::Runs, Claim::Busy),
        (Process::Ended, Claim::Abandoned),
        (Process::Killed, Claim::Abandoned),
        (Process::HasNoLock, Claim::Busy),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join("claims");
        let first = open(&claims);
        let lock = files(&claims).remove(0);
        first.claim(request("pay", NOW)).await.unwrap();
        let claim = claim_files(&claims).remove(0);
        let first = Some(first).filter(|_| matches!(process, Process::Runs));
        match process {
            Process::Runs | Process::Ended => {}
            Process::Killed => fs::write(&lock, "").unwrap(),
            Process::HasNoLock => {
                let content = fs::read_to_string(&claim).unwrap();
                let (header, value) = content.split_once('\n').unwrap();
                let mut header: serde_json::Value = serde_json::from_str(header).unwrap();
                header["process"].take();
                fs::write(&claim, format!("{header}\n{value}")).unwrap();
            }
        }
        for second in [open(&claims), open(&claims)] {
            for _ in 0..2 {
                let found = second.claim(request("pay", NOW)).await.unwrap();
                assert_eq!(found, want, "{process:?}");
            }
            second.purge(NOW).await.unwrap();
            let found = second.claim(request("pay", NOW)).await.unwrap();
            assert_eq!(found, want, "{process:?}, after a purge");
            let found = second.claim(request("pay", LEASE_END)).await.unwrap();
            assert_eq!(found, Claim::Abandoned, "{process:?}");
        }
        assert_eq!(lock.exists(), first.is_some(), "{process:?}");
    }
}

#[tokio::test]
async fn a_damaged_claim_is_never_granted_again() {
    let damages: [fn(&Path); 6] = [
        |path| fs::write(path, b"").unwrap(),
        |path| fs::write(path, b"\n").unwrap(),
        |path| fs::write(path, [0xff; 200]).unwrap(),
        |path| {
            let content = fs::read(path).unwrap();
            fs::write(path, &content[..content.len() / 2]).unwrap();
        },
        |path| {
            let content = fs::read(path).unwrap();
            fs::write(path, &content[..content.len() - 1]).unwrap();
        },
        |path| {
            let mut content = fs::read(path).unwrap();
            content.push(b'x');
            fs::write(path, content).unwrap();
        },
    ];
    for (at, damage) in damages.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join("claims");
        let store = open(&claims);
        store.claim(request("pay", NOW)).await.unwrap();
        store.finish(FLOW, "pay", b"TRV-1").await.unwrap();
        damage(&claim_files(&claims)[0]);
        for store in [&store, &open(&claims)] {
            let claim = store.claim(request("pay", NOW)).await.unwrap();
            assert_eq!(claim, Claim::Abandoned, "damage {at}");
            let finished = store.finish(FLOW, "pay", b"TRV-2").await;
            assert!(
                matches!(finished, Err(StoreError::Failed(_))),
                "damage {at}"
            );
            store.purge(EXPIRES - 1).await.unwrap();
            let claim = store.claim(request("pay", NOW)).await.unwrap();
            assert_eq!(claim, Claim::Abandoned, "damage {at}, after a purge");
        }
    }
}

#[tokio::test]
async fn the_claims_of_another_process_take_room() {
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    let open = || FileStore::open_with(&claims, 5000).unwrap();
    let (first, second) = (open(), open());
    for name in ["a", "b", "c"] {
        first.claim(request(name, NOW)).await.unwrap();
    }
    let full = second.claim(request("d", NOW)).await;
    assert!(
        matches!(full, Err(StoreError::Full { max_bytes: 5000 })),
        "{full:?}"
    );
    // A stored value frees the space it does not need. The other process sees that when it looks
    // again.
    first.finish(FLOW, "a", b"a").await.unwrap();
    second.purge(NOW).await.unwrap();
    assert_eq!(
        second.claim(request("d", NOW)).await.unwrap(),
        Claim::Granted
    );
    let full = first.claim(request("e", NOW)).await;
    assert!(full.is_ok(), "{full:?}");
    first.purge(NOW).await.unwrap();
    let full = first.claim(request("f", NOW)).await;
    assert!(matches!(full, Err(StoreError::Full { .. })), "{full:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn claims_are_for_their_owner_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("state/claims");
    let store = open(&claims);
    store.claim(request("pay", NOW)).await.unwrap();
    assert_eq!(mode(&claims), 0o700);
    assert_eq!(
        files(&claims)
            .iter()
            .map(|path| mode(path))
            .collect::<Vec<_>>(),
        [0o600, 0o600]
    );
    store.finish(FLOW, "pay", b"TRV-1").await.unwrap();
    assert_eq!(
        files(&claims)
            .iter()
            .map(|path| mode(path))
            .collect::<Vec<_>>(),
        [0o600, 0o600]
    );

    for bits in [0o750, 0o707, 0o770] {
        fs::set_permissions(&claims, fs::Permissions::from_mode(bits)).unwrap();
        let error = FileStore::open(&claims).unwrap_err().to_string();
        let advice = format!("(mode {bits:o}): run `chmod 700 {}`", claims.display());
        assert!(error.contains(&advice), "{error}");
    }
    // Neither a file nor a dangling symlink is a folder.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(FileStore::open(&file).is_err());
    let link = folder.path().join("link");
    symlink(folder.path().join("nowhere"), &link).unwrap();
    assert!(FileStore::open(&link).is_err());
}

#[tokio::test]
async fn the_drafts_of_a_dead_process_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    let store = open(&claims);
    let (id, process, suffix) = ("0a".repeat(32), "0b".repeat(16), "0c".repeat(8));
    let drafts = [
        format!(".{id}.{suffix}"),
        format!("..process-{process}.{suffix}"),
    ];
    let others = [
        "note.txt".to_owned(),
        ".gitignore".to_owned(),
        ".nfs0000000000000001".to_owned(),
        ".0101.00000000".to_owned(),
        format!(".{id}"),
        format!(".{id}.{suffix}0"),
        format!(".{}.{suffix}", id.to_uppercase()),
        format!(".process-{process}.{suffix}"),
        format!("process-{process}"),
    ];
    for name in drafts.iter().chain(&others) {
        fs::write(claims.join(name), "half").unwrap();
    }
    store.purge(NOW).await.unwrap();
    for name in &drafts {
        assert!(claims.join(name).exists(), "{name} may be being written");
    }
    for path in files(&claims) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    store.purge(NOW).await.unwrap();
    for name in &drafts {
        assert!(!claims.join(name).exists(), "{name} is left");
    }
    for name in &others {
        assert!(claims.join(name).exists(), "{name} is gone");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_entry_that_is_no_claim_stops_no_other_commit() {
    use std::{os::unix::fs::symlink, process::Command};
    let odd: [fn(&Path); 4] = [
        |path| fs::create_dir(path).unwrap(),
        |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| symlink("nowhere", path).unwrap(),
        |path| symlink("/dev/zero", path).unwrap(),
    ];
    for (at, make) in odd.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join("claims");
        let store = open(&claims);
        store.claim(request("pay", NOW)).await.unwrap();
        let path = claim_files(&claims).remove(0);
        fs::remove_file(&path).unwrap();
        make(&path);
        for store in [&store, &open(&claims)] {
            let checked = async {
                for name in ["pay", "other", "pay"] {
                    let claim = store.claim(request(name, NOW)).await.unwrap();
                    assert_eq!(
                        claim == Claim::Abandoned,
                        name == "pay",
                        "{name}, entry {at}"
                    );
                }
                assert_eq!(store.purge(NOW).await.unwrap(), 0, "entry {at}");
                let finished = store.finish(FLOW, "pay", b"TRV-1").await;
                assert!(matches!(finished, Err(StoreError::Failed(_))), "entry {at}");
            };
            let ended = tokio::time::timeout(Duration::from_secs(30), checked).await;
            ended.unwrap_or_else(|_| panic!("entry {at} hangs"));
        }
        assert!(path.symlink_metadata().is_ok(), "entry {at} is gone");
    }
}

#[tokio::test]
async fn a_failed_scan_forgets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (claims, away) = (folder.path().join("claims"), folder.path().join("away"));
    let store = FileStore::open_with(&claims, 5000).unwrap();
    for name in ["a", "b", "c"] {
        store.claim(request(name, NOW)).await.unwrap();
    }
    fs::rename(&claims, &away).unwrap();
    store.purge(NOW).await.unwrap_err();
    // The failed purge kept the shelf. A new scan would fail, because the folder is missing.
    let full = store.claim(request("d", NOW)).await;
    assert!(matches!(full, Err(StoreError::Full { .. })), "{full:?}");
    fs::rename(&away, &claims).unwrap();
    assert_eq!(store.purge(EXPIRES).await.unwrap(), 3);
}

#[cfg(unix)]
#[test]
fn the_folder_is_a_directory_of_the_user_that_runs_the_process() {
    use askback::keys::{KeyError, KeySource};
    use std::os::unix::fs::{chown, symlink};
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    open(&claims);
    let link = folder.path().join("link");
    symlink(&claims, &link).unwrap();
    for link in [&link, &link.join(""), &link.join(".")] {
        let error = FileStore::open(link).unwrap_err().to_string();
        assert!(error.contains("got a symbolic link"), "{error}");
    }

    let load = || KeySource::StateFile.load("travel", Some(folder.path()));
    load().unwrap();
    load().unwrap();
    let key = folder.path().join("askback/travel.key");
    assert_eq!(files(key.parent().unwrap()), std::slice::from_ref(&key));
    // Only root can change a file's owner, and only root can use another user's private files.
    if chown(&claims, Some(12_345), None).is_err() {
        return;
    }
    let error = FileStore::open(&claims).unwrap_err().to_string();
    assert!(error.contains("belongs to user 12345"), "{error}");
    assert_eq!(files(&claims), [] as [PathBuf; 0]);
    chown(&key, Some(12_345), None).unwrap();
    let error = load().unwrap_err();
    assert!(matches!(error, KeyError::Unreadable { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("belongs to user 12345"), "{error}");
}

#[tokio::test]
async fn a_clock_that_jumps_removes_no_claim() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("claims"));
    store.claim(request("pay", NOW)).await.unwrap();
    store.finish(FLOW, "pay", b"TRV-1").await.unwrap();
    let days = |days: u64| NOW + days * 86_400_000;
    // A later purge or claim at the same time does not change it, nor does the clock going back.
    for now in [days(30), days(30), NOW, days(3)] {
        assert_eq!(store.purge(now).await.unwrap(), 0, "at {now}");
        store.claim(request("other", now)).await.unwrap();
        let claim = store.claim(request("pay", now)).await.unwrap();
        assert_eq!(claim, Claim::Done(b"TRV-1".to_vec()), "at {now}");
    }
}
