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
        ("begun", NOW, Claim::Busy),
        ("begun", LEASE_END, Claim::Abandoned),
        ("new", NOW, Claim::Granted),
    ] {
        assert_eq!(
            second.claim(request(name, now)).await.unwrap(),
            want,
            "{name} at {now}"
        );
    }
    // What an earlier process has left is removed as well.
    assert_eq!(second.purge(EXPIRES - 1).await.unwrap(), 0);
    assert_eq!(files(&claims).len(), 3);
    assert_eq!(second.purge(EXPIRES).await.unwrap(), 3);
    assert_eq!(files(&claims), [] as [PathBuf; 0]);
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
        damage(&files(&claims)[0]);
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
    // A value gives back what it does not need. The other process sees that when it looks again.
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
        [0o600]
    );
    store.finish(FLOW, "pay", b"TRV-1").await.unwrap();
    assert_eq!(
        files(&claims)
            .iter()
            .map(|path| mode(path))
            .collect::<Vec<_>>(),
        [0o600]
    );

    for bits in [0o750, 0o707, 0o770] {
        fs::set_permissions(&claims, fs::Permissions::from_mode(bits)).unwrap();
        let error = FileStore::open(&claims).unwrap_err().to_string();
        let advice = format!("(mode {bits:o}): run `chmod 700 {}`", claims.display());
        assert!(error.contains(&advice), "{error}");
    }
    // Neither a file nor a link that leads nowhere is a folder.
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
    let draft = claims.join(".0101.00000000");
    fs::write(&draft, "half").unwrap();
    let own = claims.join("note.txt");
    fs::write(&own, "what somebody has put here").unwrap();
    store.purge(0).await.unwrap();
    assert!(
        draft.exists(),
        "a draft that is being written is left alone"
    );
    for path in [&draft, &own] {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    store.purge(NOW).await.unwrap();
    assert!(!draft.exists() && own.exists());
}
