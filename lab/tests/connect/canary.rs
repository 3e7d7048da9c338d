//! Secrets that are known, and the search for them where none of them may be.

use std::{fs, path::Path};

use lab::browser::Person;

use crate::{
    Result,
    scene::{KEY, SECRETS, Scene},
};

/// All that may be seen nowhere but at those whose it is.
pub(crate) struct Canary {
    secrets: Vec<Vec<u8>>,
}

impl Canary {
    /// The secrets of the clients, the key of the vault, the tokens of the airline so far, and the codes that a person
    /// brought to the pages.
    pub(crate) async fn of(scene: &Scene, person: &Person) -> Result<Self> {
        let mut canary = Self {
            secrets: vec![KEY.to_vec()],
        };
        SECRETS.iter().for_each(|it| canary.add(it));
        let tokens = scene.had.tokens();
        assert!(!tokens.is_empty());
        tokens.iter().for_each(|it| canary.add(it.expose()));
        let requests = person.requests().await?;
        let codes = requests.iter().filter_map(|it| it.url.split_once("code="));
        let codes: Vec<_> = codes
            .filter_map(|(_, rest)| rest.split('&').next())
            .collect();
        assert!(codes.len() >= 2, "{codes:?}");
        codes.into_iter().for_each(|it| canary.add(it));
        Ok(canary)
    }

    pub(crate) fn add(&mut self, secret: &str) {
        self.secrets.push(secret.as_bytes().to_vec());
    }

    /// Fails where bytes hold a secret.
    pub(crate) fn hold_none(&self, place: &str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "{place} is empty");
        for secret in &self.secrets {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret);
            let secret = String::from_utf8_lossy(secret);
            assert!(!is_there, "{place} holds {secret}");
        }
    }

    /// Fails where a file in a folder, or below it, holds a secret. Returns how many files there are.
    pub(crate) fn hold_none_below(&self, folder: &Path) -> Result<usize> {
        let mut files = 0;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                files += self.hold_none_below(&path)?;
                continue;
            }
            files += 1;
            let bytes = fs::read(&path)?;
            // A lock is a file without content.
            if !bytes.is_empty() {
                self.hold_none(&path.display().to_string(), &bytes);
            }
        }
        Ok(files)
    }
}
