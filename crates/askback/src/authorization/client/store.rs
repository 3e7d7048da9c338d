//! Where credentials are kept.

use std::{
    collections::HashMap,
    fmt,
    future::{Future, ready},
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use crate::authorization::Secret;

/// Keeps what a client must not lose between two runs: tokens, and who it is to an authorization
/// server.
///
/// What is kept is one line of text, which is secret and means nothing to the store. A host keeps
/// it where the system keeps such things.
pub trait CredentialStore: Send + Sync + 'static {
    /// What is kept under this key.
    fn load<'a>(&'a self, key: &'a Key) -> Keeping<'a, Option<Secret>>;

    /// Keeps this under the key, in place of what was there. It must be safe when this returns: a
    /// refresh token that is lost cannot be had again.
    fn save<'a>(&'a self, key: &'a Key, value: &'a Secret) -> Keeping<'a, ()>;

    /// Keeps nothing under this key any more.
    fn remove<'a>(&'a self, key: &'a Key) -> Keeping<'a, ()>;
}

/// What a store gives, once it does.
pub type Keeping<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// What something is kept under. It is not secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Key {
    /// The tokens for the server at this URL.
    Tokens(String),
    /// Who the client is to this issuer. It is of use nowhere else
    /// (2026-07-28, basic/authorization/client-registration, Authorization Server Binding).
    Registration(String),
    /// The issuer that a client registered by hand belongs to, by the client's id. Tokens come and
    /// go; this is to stay.
    Issuer(String),
}

/// Keeps credentials for as long as the process lives.
#[derive(Default)]
pub struct MemoryStore(Mutex<HashMap<Key, Secret>>);

impl MemoryStore {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn change<T>(&self, change: impl FnOnce(&mut HashMap<Key, Secret>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CredentialStore for MemoryStore {
    fn load<'a>(&'a self, key: &'a Key) -> Keeping<'a, Option<Secret>> {
        let found = self.change(|kept| kept.get(key).cloned());
        Box::pin(ready(Ok(found)))
    }

    fn save<'a>(&'a self, key: &'a Key, value: &'a Secret) -> Keeping<'a, ()> {
        self.change(|kept| kept.insert(key.clone(), value.clone()));
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, key: &'a Key) -> Keeping<'a, ()> {
        self.change(|kept| kept.remove(key));
        Box::pin(ready(Ok(())))
    }
}

impl<T: CredentialStore + ?Sized> CredentialStore for Arc<T> {
    fn load<'a>(&'a self, key: &'a Key) -> Keeping<'a, Option<Secret>> {
        (**self).load(key)
    }

    fn save<'a>(&'a self, key: &'a Key, value: &'a Secret) -> Keeping<'a, ()> {
        (**self).save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a Key) -> Keeping<'a, ()> {
        (**self).remove(key)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl fmt::Display for Key {
    /// `tokens https://example.com/mcp`: one line, the same in every version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(server) => write!(f, "tokens {server}"),
            Self::Registration(issuer) => write!(f, "registration {issuer}"),
            Self::Issuer(client) => write!(f, "issuer {client}"),
        }
    }
}
