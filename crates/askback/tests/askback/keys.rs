//! Where keys come from, and what a server does if it cannot save one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;

use askback::{
    Server,
    keys::{KeyError, KeyOrigin, KeySource, KeyWarning, Keys},
    store::{FileStore, MemoryStore, Store},
};
use askback_core::ask::keys::{Key, KeyId, KeyRing, KeyRingError};

use crate::log::Log;

/// The log of building a server with these keys and this store.
fn logged(source: Option<KeySource>, store: Option<Arc<dyn Store>>) -> String {
    let log = Log::default();
    let _listening = log.listen();
    let mut server = Server::new("travel", "1");
    if let Some(source) = source {
        server = server.keys(source);
    }
    if let Some(store) = store {
        server = server.store(store);
    }
    server.build().unwrap();
    log.text()
}

#[test]
fn a_key_that_outlives_the_claims_is_warned_of_at_build() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileStore::open(folder.path().join("claims")).unwrap();
    let (memory, files): (Arc<dyn Store>, Arc<dyn Store>) =
        (Arc::new(MemoryStore::default()), Arc::new(files));
    let ring = || KeySource::Ring(KeyRing::new(Key::new(&[1; 32])));
    let file = || KeySource::File(folder.path().join("keys"));
    let in_memory = "keys are configured and a store in memory: a commit can happen again";
    let no_store =
        "keys are configured and no store: a commit happens at most once on this machine";
    for (source, store, want) in [
        (Some(ring()), Some(&memory), Some(in_memory)),
        (Some(file()), Some(&memory), Some(in_memory)),
        (Some(ring()), None, Some(no_store)),
        (Some(ring()), Some(&files), None),
        (None, Some(&memory), None),
        (None, Some(&files), None),
        (None, None, None),
    ] {
        let text = logged(source, store.map(Arc::clone));
        match want {
            Some(want) => assert!(text.contains(want), "{text}"),
            None => assert_eq!(text, ""),
        }
    }
}

const HEX: &str = "0101010101010101010101010101010101010101010101010101010101010101";

fn id(number: u8) -> KeyId {
    Key::new(&[number; 32]).id()
}

fn load(state_dir: &Path) -> Keys {
    KeySource::StateFile
        .load("travel", Some(state_dir))
        .unwrap()
}

fn write(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::write(path, text).unwrap();
    set_mode(path, mode);
    path.to_owned()
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_given_ring_is_taken_as_it_is() {
    let ring = KeyRing::new(Key::new(&[1; 32]));
    let keys = KeySource::Ring(ring).load("travel", None).unwrap();
    assert_eq!(keys.ring.active().id(), id(1));
    assert!(matches!(keys.origin, KeyOrigin::Configured));
}

#[test]
fn a_configured_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let other = HEX.replace('1', "2");
    let path = write(
        &directory.path().join("keys"),
        &format!("{HEX}\n{other}\n"),
        0o400,
    );
    let keys = KeySource::File(path).load("travel", None).unwrap();
    assert_eq!(keys.ring.active().id(), id(1));
    assert!(keys.ring.find(id(2)).is_some());
    assert!(matches!(keys.origin, KeyOrigin::Configured));
}

#[test]
fn a_configured_file_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let error = KeySource::File(path.clone())
        .load("travel", Some(directory.path()))
        .unwrap_err();
    assert!(matches!(error, KeyError::Unreadable { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn what_is_no_ring_is_refused_without_repeating_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    for (text, want) in [
        (String::new(), KeyRingError::Empty),
        (format!("# old\n{HEX}0"), KeyRingError::NotAKey { line: 2 }),
        (format!("{HEX}\n{HEX}"), KeyRingError::Repeated { line: 2 }),
    ] {
        write(&path, &text, 0o600);
        let error = KeySource::File(path.clone())
            .load("travel", None)
            .unwrap_err();
        assert!(!format!("{error} {error:?}").contains("0101"), "{error:?}");
        assert!(matches!(error, KeyError::Invalid { error, .. } if error == want));
    }
    let endless = "#".repeat(1 << 20);
    let path = write(&path, &format!("{endless}\n{HEX}"), 0o600);
    assert!(KeySource::File(path).load("travel", None).is_err());
}

// Shows EL-18.
#[cfg(unix)]
#[test]
fn a_file_open_to_others_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = load_path(directory.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777] {
        write(&path, HEX, mode);
        for source in [KeySource::File(path.clone()), KeySource::StateFile] {
            let error = source.load("travel", Some(directory.path())).unwrap_err();
            let fix = format!("chmod 600 {}", path.display());
            assert!(error.to_string().contains(&fix), "{error}");
            assert!(matches!(error, KeyError::Exposed { mode: found, .. } if found == mode));
        }
    }
    for mode in [0o600, 0o400, 0o700] {
        write(&path, HEX, mode);
        assert_eq!(load(directory.path()).ring.active().id(), id(1));
    }
}

#[test]
fn the_state_file_is_made_once_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("not/yet/there");
    let first = load(&state);
    let path = load_path(&state);
    assert!(matches!(&first.origin, KeyOrigin::StateFile(found) if *found == path));
    assert_eq!(load(&state).ring.active().id(), first.ring.active().id());

    let names: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["travel.key"]);
    #[cfg(unix)]
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("# The secret key with which travel seals"),
        "it says whose it is"
    );

    let other = KeySource::StateFile.load("hotel", Some(&state)).unwrap();
    assert_ne!(other.ring.active().id(), first.ring.active().id());
}

#[test]
fn servers_that_start_at_once_agree_on_one_key() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let start = Barrier::new(8);
        let ids: Vec<_> = thread::scope(|scope| {
            let servers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let keys = load(directory.path());
                        assert!(matches!(keys.origin, KeyOrigin::StateFile(_)));
                        keys.ring.active().id()
                    })
                })
                .collect();
            servers
                .into_iter()
                .map(|server| server.join().unwrap())
                .collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}

#[test]
fn a_server_that_can_keep_no_key_makes_one_and_says_so() {
    let keys = KeySource::StateFile.load("travel", None).unwrap();
    assert!(matches!(
        keys.origin,
        KeyOrigin::Process(KeyWarning::NoStateDirectory)
    ));
    let again = KeySource::StateFile.load("travel", None).unwrap();
    assert_ne!(keys.ring.active().id(), again.ring.active().id());

    // A file is at the directory's path, so that not even root can write below it.
    let directory = tempfile::tempdir().unwrap();
    let file = write(&directory.path().join("file"), "", 0o600);
    let keys = load(&file);
    let KeyOrigin::Process(warning) = keys.origin else {
        panic!("{:?}", keys.origin);
    };
    let words = warning.to_string();
    assert!(
        words.contains("travel.key") && words.contains("configure a key"),
        "{words}"
    );
}

fn load_path(state: &Path) -> PathBuf {
    state.join("askback").join("travel.key")
}
