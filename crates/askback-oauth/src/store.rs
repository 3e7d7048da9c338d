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

/// Stores a client's tokens and registrations between two runs.
///
/// A record is one line of secret text, opaque to the store. Hosts should use the system's
/// credential store.
pub trait CredentialStore: Send + Sync + 'static {
    /// Returns the record under this key.
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>>;

    /// Stores a record, replacing any other. It must be durable when this returns, because a lost
    /// refresh token cannot be recovered.
    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>>;

    /// Deletes the record under this key.
    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>>;

    /// Locks a key against all users of the store, in this process and in others, until the
    /// [`KeyLock`] is dropped. When a process ends, its locks are released.
    ///
    /// A refresh token may be used only once, and a sign-out must last. So a client takes the lock,
    /// loads, and then renews and saves, or removes. The other methods are called with and without
    /// the lock, and do not wait for it.
    ///
    /// A client waits at most
    /// [`limits.sign_in.credential_lock`](askback_core::limits::SignInLimits::credential_lock).
    /// Then it drops the future, which must leave the key unlocked.
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>>;
}

/// Keeps a key of a [`CredentialStore`] locked until it is dropped.
pub struct KeyLock {
    _held: Box<dyn Send>,
}

/// The key of a record. It is not secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CredentialKey {
    /// The tokens for the server at this URL.
    Tokens(String),
    /// The client's registration with this issuer. It is valid nowhere else (2026-07-28,
    /// basic/authorization/client-registration, Authorization Server Binding).
    Registration(String),
    /// The issuer that a hand-registered client belongs to, by client id. Must outlive the tokens.
    Issuer(String),
}

/// Stores credentials in memory.
#[derive(Default)]
pub struct MemoryCredentials {
    kept: Mutex<HashMap<CredentialKey, Secret>>,
    locks: Mutex<HashMap<CredentialKey, Arc<tokio::sync::Mutex<()>>>>,
}

impl KeyLock {
    /// Creates a lock that is released when `held` is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

/// Locks a key, or fails after `most`.
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
    /// Creates an empty store.
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
    /// For example `tokens https://example.com/mcp`: one line, stable across versions.
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
