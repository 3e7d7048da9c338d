//! Stores the results of sign-ins in a file that only its owner can read.

mod file;
mod lock;

use std::{fmt, io, path::PathBuf, sync::Arc};

use askback::{
    BoxFuture,
    authorization::{
        Secret,
        client::{CredentialKey, CredentialStore, KeyLock, StoredSignIn},
    },
    keys::state_dir,
};

use self::file::{All, StoredSecret};
use crate::{error::Error, private_file};

const TOKENS: &str = "tokens ";
const REGISTRATION: &str = "registration ";

/// Where credentials are to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Place {
    /// In a file that only you can read, or for this run alone where there is no folder for it
    #[default]
    Auto,
    /// In a file that only you can read
    File,
    /// Nowhere: for this run alone
    Nowhere,
}

#[derive(Clone)]
pub struct Vault {
    /// The file, which need not exist yet.
    path: PathBuf,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Vault {
    /// Opens the credential store of this user. `None` if credentials are for this run alone. `tell` is called with a
    /// sentence when the first secret is stored.
    pub fn open(
        place: Place,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<Self>, Error> {
        match (place, path()) {
            (Place::Nowhere, _) => Ok(None),
            (_, Some(path)) => Ok(Some(Self::at(path, tell))),
            (Place::File, None) => Err(Error::usage("no folder to store credentials in")
                .hint("Set HOME, or XDG_STATE_HOME.")),
            // Most servers require no sign-in.
            (Place::Auto, None) => Ok(None),
        }
    }

    fn at(path: PathBuf, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            path,
            tell: Arc::new(tell),
        }
    }

    fn read(&self) -> io::Result<All> {
        private_file::load(&self.path)
    }

    pub fn signed_in(&self) -> io::Result<Vec<StoredSignIn>> {
        let all = self.read()?.into_iter();
        let tokens = all.filter(|(key, _)| key.starts_with(TOKENS));
        // A later version may have stored a format that this version cannot read.
        let signed_in = tokens.filter_map(|(_, kept)| StoredSignIn::read(&kept.0).ok());
        Ok(signed_in.collect())
    }

    pub fn servers(&self) -> io::Result<Vec<String>> {
        let all = self.read()?;
        let servers = all.keys().filter_map(|key| key.strip_prefix(TOKENS));
        Ok(servers.map(str::to_owned).collect())
    }

    pub fn forget_registrations(&self) -> io::Result<()> {
        let all = self.read()?;
        let kept = all.keys().filter(|key| key.starts_with(REGISTRATION));
        // Tries all, even if one fails.
        let removed: Vec<_> = kept.map(|key| self.remove(key)).collect();
        removed.into_iter().collect()
    }

    fn load(&self, key: &str) -> io::Result<Option<Secret>> {
        Ok(self.read()?.remove(key).map(|kept| kept.0))
    }

    fn save(&self, key: &str, secret: &Secret) -> io::Result<()> {
        let first = private_file::change(&self.path, |all: &mut All| {
            let first = key.starts_with(TOKENS) && !all.keys().any(|key| key.starts_with(TOKENS));
            all.insert(key.to_owned(), StoredSecret(secret.clone()));
            first
        })?;
        if first {
            let path = self.path.display();
            (self.tell)(&format!(
                "Sign-ins are stored in {path}, which only you can read."
            ));
        }
        Ok(())
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        private_file::change(&self.path, |all: &mut All| _ = all.remove(key))
    }

    /// Runs work that may wait for the disk or the user, without blocking other tasks.
    fn aside<T: Send + 'static>(
        &self,
        key: &CredentialKey,
        work: impl FnOnce(&Self, &str) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<T>> {
        let (vault, key) = (self.clone(), key.to_string());
        Box::pin(async move {
            let working = tokio::task::spawn_blocking(move || work(&vault, &key));
            working.await.map_err(io::Error::other)?
        })
    }
}

impl CredentialStore for Vault {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        self.aside(key, Self::load)
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        let value = value.clone();
        self.aside(key, move |vault, key| Self::save(vault, key, &value))
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.aside(key, Self::remove)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        Box::pin(
            async move { lock::hold(&self.path.with_extension("locks"), &key.to_string()).await },
        )
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}

fn path() -> Option<PathBuf> {
    Some(state_dir()?.join("askback").join("credentials.json"))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread, time::Duration};

    use tokio::time::timeout;

    use super::*;

    fn mode(path: &Path) -> u32 {
        let metadata = fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    }

    // Shows AZ-46, AS-05, AZ25-27.
    #[test]
    fn nobody_else_reads_it() {
        let scratch = tempfile::tempdir().expect("there is room");
        let path = scratch.path().join("askback/credentials.json");
        let vault = Vault::at(path.clone(), |_| {});
        assert!(vault.read().expect("there is none yet").is_empty());
        // A leftover draft that other users can write is replaced.
        fs::create_dir_all(scratch.path().join("askback")).expect("the folder is ours");
        let draft = path.with_file_name(".credentials.json.askback-new");
        fs::write(&draft, "").expect("the folder is ours");
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o666)).expect("the file is ours");
        let secret = Secret::new("hush");
        vault.save("tokens a", &secret).expect("it can be written");
        assert_eq!(mode(&path), 0o600);
        let kept = vault.load("tokens a").expect("it is ours");
        assert_eq!(kept, Some(secret));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the file is ours");
        let error = vault.read().expect_err("others can read it").to_string();
        assert!(
            error.contains("can be read by others (mode 640): run chmod 600"),
            "{error}"
        );
        assert!(!error.contains("hush"));
        assert!(vault.remove("tokens a").is_err(), "nor is it changed");
        assert!(fs::read_to_string(&path).is_ok_and(|text| text.contains("hush")));
    }

    #[test]
    fn many_tasks_may_change_the_file_at_once() {
        let scratch = tempfile::tempdir().expect("there is room");
        let path = scratch.path().join("credentials.json");
        let vault = Vault::at(path, |_| {});
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let vault = vault.clone();
                thread::spawn(move || {
                    for entry in 0..8 {
                        let key = format!("tokens {thread} {entry}");
                        vault.save(&key, &Secret::new("hush")).expect("it is ours");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(vault.read().expect("it is ours").len(), 64);
    }

    // Two vaults with the same file behave like two processes.
    #[tokio::test]
    async fn a_key_is_locked_by_one_task_at_a_time() {
        let scratch = tempfile::tempdir().expect("there is room");
        let vault = || {
            let path = scratch.path().join("askback/credentials.json");
            Vault::at(path, |_| {})
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
        // The lock does not block reading or writing.
        let secret = Secret::new("hush");
        CredentialStore::save(&other, &key, &secret)
            .await
            .expect("the folder is ours");
        let kept = CredentialStore::load(&other, &key).await;
        let kept = kept.expect("the folder is ours");
        assert_eq!(kept, Some(secret));
        // A caller that stopped waiting does not hold the lock.
        drop(held);
        assert!(lock(&other, &key).await.is_some());
        for file in
            fs::read_dir(scratch.path().join("askback/credentials.locks")).expect("it was made")
        {
            let path = file.expect("it can be read").path();
            assert_eq!(
                (mode(&path), fs::read(&path).ok()),
                (0o600, Some(Vec::new()))
            );
        }
    }
}
