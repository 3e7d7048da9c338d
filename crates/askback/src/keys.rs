//! The keys that seal a flow's state.
//!
//! The operator can configure a key ring or a key file. By default, as on a user's own machine, a key file is created
//! on first use, so that a restarted server can still open its states. If the file cannot be written, the server uses a
//! key that lasts as long as its process, and logs a warning.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use askback_core::ask::keys::{Key, KeyRing, KeyRingError};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::entropy::entropy;
use crate::private_file::{self, Creation};
use crate::store::{StoreError, file::hex};

/// The source of a server's keys.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum KeySource {
    /// This key ring.
    Ring(KeyRing),
    /// An existing file with one key per line, the active key first.
    File(PathBuf),
    /// A file in the directory for application state, created on first use.
    #[default]
    StateFile,
}

/// Loaded keys.
#[doc(hidden)]
#[derive(Debug)]
pub struct Keys {
    /// The keys.
    pub ring: KeyRing,
    /// Their origin.
    pub origin: KeyOrigin,
}

/// The origin of keys. It determines how long the keys are valid, and in which processes.
#[doc(hidden)]
#[derive(Debug)]
pub enum KeyOrigin {
    /// The operator configured the keys. Only these can be shared by the processes of a fleet.
    Configured,
    /// The keys are from the file that askback maintains for the service.
    StateFile(PathBuf),
    /// The keys are only valid in this process, for this reason, which should be logged as a warning.
    Process(KeyWarning),
}

/// Why a server's key is only valid in its process.
#[doc(hidden)]
#[derive(Debug, thiserror::Error)]
pub enum KeyWarning {
    /// The environment names no directory for application state.
    #[error("no key is kept, as there is no home directory: {PROCESS_KEY}")]
    NoStateDirectory,
    /// Claims of commits cannot be stored, so another process must not open this one's states.
    #[error("no claims are kept in {}, which cannot be used ({error}): {PROCESS_KEY}", path.display())]
    NoClaims {
        /// The folder of the claims.
        path: PathBuf,
        /// Why the folder cannot be used.
        error: StoreError,
    },
    /// The key file can neither be read nor created.
    #[error("no key is kept in {}, which cannot be used ({error}): {PROCESS_KEY}", path.display())]
    Unusable {
        /// The path of the key file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

const PROCESS_KEY: &str =
    "calls that wait for an answer end when this process does; configure a key to keep them";

/// Why keys cannot be loaded. The operator can fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key file cannot be read.
    #[error("the key file {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The path of the key file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Other users can read or write the key file.
    #[error(
        "the key file {path} is open to other users (mode {mode:03o}): run `chmod 600 {path}`, \
         and put a new key in it if somebody may have seen this one",
        path = path.display()
    )]
    Exposed {
        /// The path of the key file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The key file has invalid content.
    #[error("the key file {} holds no key ring: {error}", path.display())]
    Invalid {
        /// The path of the key file.
        path: PathBuf,
        /// The error in the keys.
        error: KeyRingError,
    },
    /// The operating system provides no random bytes for a new key.
    #[error("no new key can be made: {0}")]
    NoEntropy(io::Error),
}

impl KeySource {
    /// Loads the keys, or creates them if the source is [`StateFile`](Self::StateFile).
    ///
    /// `service` is the configured name of the service and determines the name of its state file; `state_dir` is the
    /// result of [`state_dir`]. Blocks on disk access, so do not call it in an async task.
    ///
    /// # Errors
    ///
    /// If existing keys must not be used, or a configured file cannot be read.
    #[doc(hidden)]
    pub fn load(self, service: &str, state_dir: Option<&Path>) -> Result<Keys, KeyError> {
        match self {
            Self::Ring(ring) => Ok(Keys {
                ring,
                origin: KeyOrigin::Configured,
            }),
            Self::File(path) => match File::open(&path) {
                Ok(file) => Ok(Keys {
                    ring: read_ring(file, path)?,
                    origin: KeyOrigin::Configured,
                }),
                Err(error) => Err(KeyError::Unreadable { path, error }),
            },
            Self::StateFile => match state_dir {
                Some(directory) => load_state_file(state_path(directory, service, ".key")),
                None => process_key(KeyWarning::NoStateDirectory),
            },
        }
    }
}

/// Returns the user's directory for application state, if the environment has one.
///
/// It is `$XDG_STATE_HOME` or `~/.local/state`; on macOS `~/Library/Application Support`; on Windows `%LOCALAPPDATA%`.
/// Nothing else in this module reads the environment.
#[doc(hidden)]
pub fn state_dir() -> Option<PathBuf> {
    state_dir_on(Platform::CURRENT, |name| std::env::var_os(name))
}

#[derive(Clone, Copy)]
enum Platform {
    Xdg,
    MacOs,
    Windows,
}

impl Platform {
    const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Xdg
    };
}

fn state_dir_on(
    platform: Platform,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    // Relative paths are ignored, as the XDG base directory specification requires, because they depend on the working
    // directory.
    let directory = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    match platform {
        Platform::Xdg => directory("XDG_STATE_HOME")
            .or_else(|| directory("HOME").map(|home| home.join(".local/state"))),
        Platform::MacOs => directory("HOME").map(|home| home.join("Library/Application Support")),
        Platform::Windows => directory("LOCALAPPDATA"),
    }
}

pub(crate) fn claims_folder(directory: &Path, service: &str) -> PathBuf {
    state_path(directory, service, ".claims")
}

fn state_path(directory: &Path, service: &str, extension: &str) -> PathBuf {
    let mut name = file_stem(service);
    name.push_str(extension);
    directory.join("askback").join(name)
}

/// Returns a file name for a service that is valid on every system.
///
/// If the name has to be changed for that, a digest of the original is added, so that two services never share a file.
fn file_stem(service: &str) -> String {
    const LONGEST: usize = 64;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let stem: String = service
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if is_plain(c) { c } else { '-' })
        .take(LONGEST)
        .collect();
    let is_fit = stem == service
        && stem.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !is_device(&stem);
    if is_fit {
        return stem;
    }
    let digest = Sha256::digest(service);
    format!("service-{stem}-{}", hex(&digest[..4]))
}

/// Whether Windows treats a lower-case name as a device, whatever follows the first dot.
fn is_device(stem: &str) -> bool {
    let name = stem.split('.').next().unwrap_or_default();
    let numbered = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    matches!(name, "con" | "prn" | "aux" | "nul") || numbered.is_some_and(|rest| rest.len() == 1)
}

fn load_state_file(path: PathBuf) -> Result<Keys, KeyError> {
    match File::open(&path) {
        Ok(file) => kept(file, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_state_file(path),
        Err(error) => process_key(KeyWarning::Unusable { path, error }),
    }
}

fn make_state_file(path: PathBuf) -> Result<Keys, KeyError> {
    let (key, secret) = new_key()?;
    let text = file_text(&path, &secret);
    let created = path
        .parent()
        .map_or(Ok(()), private_file::create_folder)
        .and_then(|()| {
            private_file::create(&path, |draft| {
                private_file::write_durably(draft, text.as_bytes())
            })
        });
    match created {
        Ok(Creation::Created) => Ok(Keys {
            ring: KeyRing::new(key),
            origin: KeyOrigin::StateFile(path),
        }),
        // Another process created it first, and its key is used.
        Ok(Creation::Existed) => match File::open(&path) {
            Ok(file) => kept(file, path),
            Err(error) => process_key(KeyWarning::Unusable { path, error }),
        },
        Err(error) => process_key(KeyWarning::Unusable { path, error }),
    }
}

fn kept(file: File, path: PathBuf) -> Result<Keys, KeyError> {
    if let Err(error) = check_owner(&file, &path) {
        return Err(KeyError::Unreadable { path, error });
    }
    Ok(Keys {
        ring: read_ring(file, path.clone())?,
        origin: KeyOrigin::StateFile(path),
    })
}

/// Checks that the state file belongs to the user of this process, because any other owner knows the key.
fn check_owner(file: &File, path: &Path) -> io::Result<()> {
    // In a read-only folder the check is impossible, but only root can read another user's private file.
    let Ok(draft) = private_file::create_draft(path) else {
        return Ok(());
    };
    let checked = file
        .metadata()
        .and_then(|metadata| private_file::check_owner(path, &metadata, &draft));
    let _ = fs::remove_file(&draft);
    checked
}

pub(crate) fn process_ring() -> Result<KeyRing, KeyError> {
    let (key, _) = new_key()?;
    Ok(KeyRing::new(key))
}

fn process_key(warning: KeyWarning) -> Result<Keys, KeyError> {
    Ok(Keys {
        ring: process_ring()?,
        origin: KeyOrigin::Process(warning),
    })
}

fn read_ring(file: File, path: PathBuf) -> Result<KeyRing, KeyError> {
    /// The maximum size of a key file: enough for hundreds of keys.
    const LONGEST: u64 = 64 << 10;
    let mut text = Zeroizing::new(String::new());
    let read = file
        .metadata()
        .map(|metadata| private_file::exposure(&metadata))
        .and_then(|exposure| {
            file.take(LONGEST)
                .read_to_string(&mut text)
                .map(|_| exposure)
        });
    match read {
        Err(error) => Err(KeyError::Unreadable { path, error }),
        Ok(Some(mode)) => Err(KeyError::Exposed { path, mode }),
        Ok(None) => text
            .parse()
            .map_err(|error| KeyError::Invalid { path, error }),
    }
}

fn new_key() -> Result<(Key, Zeroizing<[u8; 32]>), KeyError> {
    let secret = Zeroizing::new(entropy::<32>().map_err(KeyError::NoEntropy)?);
    Ok((Key::new(&secret), secret))
}

fn file_text(path: &Path, secret: &[u8; 32]) -> Zeroizing<String> {
    let service = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut text = Zeroizing::new(String::with_capacity(512));
    text.push_str("# The secret key with which ");
    text.push_str(&service);
    text.push_str(
        " seals what others must not read, on this machine or in the hands of clients.\n\
         # Keep it: what was sealed opens with this key alone. Show it to nobody.\n",
    );
    for byte in secret {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_directory_is_the_platforms() {
        #[track_caller]
        fn check(platform: Platform, variables: &[(&str, &str)], want: Option<&str>) {
            let found = state_dir_on(platform, |name| {
                let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
                Some(value.into())
            });
            assert_eq!(found.as_deref(), want.map(Path::new));
        }
        use Platform::{MacOs, Windows, Xdg};
        let home = ("HOME", "/home/ada");
        check(Xdg, &[home], Some("/home/ada/.local/state"));
        check(Xdg, &[home, ("XDG_STATE_HOME", "/state")], Some("/state"));
        check(
            Xdg,
            &[home, ("XDG_STATE_HOME", "")],
            Some("/home/ada/.local/state"),
        );
        check(
            Xdg,
            &[home, ("XDG_STATE_HOME", "state")],
            Some("/home/ada/.local/state"),
        );
        check(Xdg, &[("HOME", "ada")], None);
        check(Xdg, &[], None);
        check(
            MacOs,
            &[home, ("XDG_STATE_HOME", "/state")],
            Some("/home/ada/Library/Application Support"),
        );
        check(MacOs, &[], None);
        let local = if cfg!(windows) {
            r"C:\Users\ada\Local"
        } else {
            "/ada/local"
        };
        check(Windows, &[home, ("LOCALAPPDATA", local)], Some(local));
        check(Windows, &[home], None);
    }

    #[test]
    fn a_service_has_a_file_of_its_own() {
        for plain in ["travel", "travel-2.eu_west", "0", "console", "comet"] {
            assert_eq!(file_stem(plain), plain);
        }
        let long = "x".repeat(65);
        let others = [
            "",
            ".",
            "..",
            ".travel",
            "-rf",
            "../travel",
            "a/b",
            "a\\b",
            "a-b ",
            "Travel",
            "r\u{e9}sum\u{e9}",
            "a\0b",
            "con",
            "nul.tar",
            "com1",
            "service-x\n",
            &long,
        ];
        let stems: std::collections::HashSet<_> = others.map(file_stem).into();
        assert_eq!(stems.len(), others.len());
        for stem in &stems {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            assert!(
                stem.starts_with("service-") && stem.chars().all(is_plain),
                "{stem}"
            );
            assert!(stem.len() <= 81, "{stem}");
        }
        assert_eq!(file_stem("a/b"), "service-a-b-c14cddc0");
    }
}
