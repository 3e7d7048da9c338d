//! Where credentials are kept.

use std::{
    collections::HashMap,
    fmt,
    future::ready,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback_core::future::BoxFuture;
use tokio::time::timeout;

use super::AuthorizationError;
use crate::Secret;

/// Keeps what a client must not lose between two runs: tokens, and who it is to an authorization
/// server.
///
/// A record is one line of secret text that means nothing to the store. A host keeps it in the
/// system's credential store.
pub trait CredentialStore: Send + Sync + 'static {
    /// Returns the record under this key.
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>>;

    /// Keeps this under the key, in place of what was there. It must be safe when this returns: a
    /// refresh token that is lost cannot be had again.
    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>>;

    /// Keeps nothing under this key any more.
    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>>;

    /// Locks the key: waits until nobody else who uses the store has it locked, in this process or
    /// in another, and keeps it locked until the [`KeyLock`] is dropped. What a process that ended
    /// had locked is free.
    ///
    /// A refresh token may be used once, and what a person signed out of must stay so. So a client
    /// locks a key, loads, and then renews and saves, or removes; whoever comes next finds what came
    /// of it. The other methods are called with and without the lock, and do not wait for it.
    ///
    /// A client waits for no longer than
    /// [`limits.sign_in.credential_lock`](askback_core::limits::SignInLimits::credential_lock):
    /// then it drops the future, which must leave nothing locked.
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>>;
}

/// A key of a [`CredentialStore`] is locked, until this is dropped.
pub struct KeyLock {
    _held: Box<dyn Send>,
}

/// The key of a record. It is not secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CredentialKey {
    /// The tokens for the server at this URL.
    Tokens(String),
    /// The client's identity at this issuer. It is of use nowhere else (2026-07-28,
    /// basic/authorization/client-registration, Authorization Server Binding).
    Registration(String),
    /// The issuer that a client registered by hand belongs to, by the client's id. Tokens come and
    /// go; this is to stay.
    Issuer(String),
}

/// Keeps credentials for as long as the process lives.
#[derive(Default)]
pub struct MemoryCredentials {
    kept: Mutex<HashMap<CredentialKey, Secret>>,
    locks: Mutex<HashMap<CredentialKey, Arc<tokio::sync::Mutex<()>>>>,
}

impl KeyLock {
    /// A lock that is given back when `held` is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

/// Locks a key, or gives up after `most`.
pub(super) async fn locked(
    store: &dyn CredentialStore,
    key: &CredentialKey,
    most: Duration,
) -> Result<KeyLock, AuthorizationError> {
    match timeout(most, store.lock(key)).await {
        Ok(lock) => lock.map_err(not_kept),
        Err(_) => Err(AuthorizationError::Store(format!(
            "another process has had them locked for {most:?}"
        ))),
    }
}

impl MemoryCredentials {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn change<T>(&self, change: impl FnOnce(&mut HashMap<CredentialKey, Secret>) -> T) -> T {
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CredentialStore for MemoryCredentials {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        let found = self.change(|kept| kept.get(key).cloned());
        Box::pin(ready(Ok(found)))
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        self.change(|kept| kept.insert(key.clone(), value.clone()));
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.change(|kept| kept.remove(key));
        Box::pin(ready(Ok(())))
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(locks.entry(key.clone()).or_default());
        Box::pin(async { Ok(KeyLock::new(lock.lock_owned().await)) })
    }
}

impl<T: CredentialStore + ?Sized> CredentialStore for Arc<T> {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        (**self).load(key)
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        (**self).save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        (**self).remove(key)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        (**self).lock(key)
    }
}

askback_core::debug_only!(KeyLock {});

askback_core::debug_only!(MemoryCredentials {});

impl fmt::Display for CredentialKey {
    /// `tokens https://example.com/mcp`: one line, the same in every version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(server) => write!(f, "tokens {server}"),
            Self::Registration(issuer) => write!(f, "registration {issuer}"),
            Self::Issuer(client) => write!(f, "issuer {client}"),
        }
    }
}

pub(super) fn not_kept(error: std::io::Error) -> AuthorizationError {
    AuthorizationError::Store(error.to_string())
}
