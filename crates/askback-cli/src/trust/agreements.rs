//! Servers that a user agreed to run.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use askback::keys::state_dir;
use sha2::{Digest, Sha256};

use crate::private_file;

/// A server from a found file, with the file's current content.
#[derive(Debug, Clone, Copy)]
pub struct Agreement<'a> {
    pub path: &'a Path,
    pub server: &'a str,
    pub text: &'a str,
}

/// The agreements of a user, in a file that only this user can access.
#[derive(Debug, Clone)]
pub struct Agreements(PathBuf);

/// Changes when the same text means something else, so that the user is asked again. Since 2, `${input:…}` is a variable of
/// the environment, not a question to the user.
const MEANING: &[u8] = b"2";

/// The digests of agreed files, by path and server.
type All = BTreeMap<String, BTreeMap<String, String>>;

impl Agreements {
    /// The agreements of this user. `None` if the user has no folder for them.
    pub fn of_user() -> Option<Self> {
        Some(Self(state_dir()?.join("askback").join("agreed.json")))
    }

    /// Whether the user agreed to this.
    pub fn hold(&self, agreement: &Agreement<'_>) -> io::Result<bool> {
        let all: All = private_file::load(&self.0)?;
        let of_path = all.get(&agreement.key());
        let digest = of_path.and_then(|servers| servers.get(agreement.server));
        Ok(digest == Some(&agreement.digest()))
    }

    /// Records that the user agreed to this. Removes agreements for files that have changed or no
    /// longer exist.
    pub fn remember(&self, agreement: &Agreement<'_>) -> io::Result<()> {
        private_file::change(&self.0, |all: &mut All| {
            all.retain(|path, _| Path::new(path).exists());
            let servers = all.entry(agreement.key()).or_default();
            servers.retain(|server, digest| {
                *digest
                    == Agreement {
                        server,
                        ..*agreement
                    }
                    .digest()
            });
            servers.insert(agreement.server.to_owned(), agreement.digest());
        })
    }
}

impl Agreement<'_> {
    /// The key in the file. Paths that are not valid UTF-8 may share a key, but have different
    /// digests.
    fn key(&self) -> String {
        self.path.display().to_string()
    }

    fn digest(&self) -> String {
        let path = self.path.as_os_str().as_encoded_bytes();
        let mut hash = Sha256::new();
        for part in [MEANING, path, self.server.as_bytes(), self.text.as_bytes()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        private_file::hex(&hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_agreement_is_for_one_server_of_one_file_as_it_was() {
        let temporary = tempfile::tempdir().expect("there is room");
        let folder = temporary.path();
        let path = folder.join("mcp.json");
        fs::write(&path, "").expect("the temporary folder can be written");
        let agreements = Agreements(folder.join("state/agreed.json"));
        let agreed = Agreement {
            path: &path,
            server: "a",
            text: "{}",
        };
        let others = [
            Agreement {
                server: "b",
                ..agreed
            },
            Agreement {
                text: "{} ",
                ..agreed
            },
            Agreement {
                path: folder,
                ..agreed
            },
            // Part boundaries matter.
            Agreement {
                server: "a{",
                text: "}",
                ..agreed
            },
        ];
        let holds = |agreement: &Agreement<'_>| agreements.hold(agreement).expect("it is ours");
        assert!(!holds(&agreed));
        agreements.remember(&agreed).expect("it can be written");
        assert!(holds(&agreed));
        for other in &others {
            assert!(!holds(other), "{other:?}");
        }
        // Another server of the same file; then the file changes.
        agreements.remember(&others[0]).expect("it can be written");
        assert!(holds(&agreed) && holds(&others[0]));
        agreements.remember(&others[1]).expect("it can be written");
        assert!(holds(&others[1]) && !holds(&agreed) && !holds(&others[0]));
        // Agreements for deleted files are forgotten.
        fs::remove_file(&path).expect("it was made above");
        agreements.remember(&others[2]).expect("it can be written");
        let left = fs::read_to_string(&agreements.0).expect("it was written");
        assert!(!left.contains("mcp.json"), "{left}");
    }
}
