//! The seal's keys and the store of claims. They are chosen together: if a key outlived the claims,
//! a process could open an old state without knowing what was committed.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use askback_core::ask::keys::KeyRing;

#[cfg(feature = "http-server")]
use crate::store::StoreError;
use crate::{
    error::{Error, Result},
    keys::{
        self, KeyError, KeyOrigin, KeySource, KeyWarning, Keys as LoadedKeys, claims_folder,
        state_dir,
    },
    mutex::Mutex,
    store::{FileStore, MemoryStore, Store},
};

/// The seal's keys and the store of claims. They are chosen on first use, so that a server that
/// never asks makes no files.
pub(super) struct Keys {
    service: String,
    source: Mutex<Option<KeySource>>,
    /// Whether an operator configured the keys, so that they outlive this process.
    is_configured: bool,
    given: Option<Arc<dyn Store>>,
    store_bytes: usize,
    directory: Option<PathBuf>,
    serves_others: AtomicBool,
    chosen: OnceLock<KeyChoice>,
}

struct KeyChoice {
    ring: Result<KeyRing, KeyError>,
    store: Arc<dyn Store>,
}

impl Keys {
    pub(super) fn new(
        service: String,
        source: KeySource,
        given: Option<Arc<dyn Store>>,
        store_bytes: usize,
    ) -> Self {
        Self {
            service,
            is_configured: !matches!(source, KeySource::StateFile),
            source: Mutex::new(Some(source)),
            given,
            store_bytes,
            directory: state_dir(),
            serves_others: AtomicBool::new(false),
            chosen: OnceLock::new(),
        }
    }

    /// Warns if the keys outlive the process or the machine, and the claims may not.
    pub(super) fn warn(&self) {
        match &self.given {
            _ if !self.is_configured => {}
            None => tracing::warn!(
                service = self.service,
                "keys are configured and no store: a commit happens at most once on this machine, and once \
                 on each other one with these keys; give the server a store that all its processes share, \
                 with `ServerBuilder::store`"
            ),
            Some(store) if !store.outlives_process() => tracing::warn!(
                service = self.service,
                "keys are configured and a store in memory: a commit can happen again after a restart, or \
                 in another process with these keys; give the server a store that lasts, with \
                 `ServerBuilder::store`"
            ),
            Some(_) => {}
        }
    }

    /// Describes the store of claims for an operator. It may not exist yet.
    #[cfg(feature = "http-server")]
    pub(super) fn describe_store(&self) -> String {
        match (&self.given, &self.directory) {
            (Some(store), _) if store.outlives_process() => "the store it was given".to_owned(),
            (None, Some(directory)) => {
                format!(
                    "files in {}",
                    claims_folder(directory, &self.service).display()
                )
            }
            (Some(_), _) | (None, None) => "memory: it ends with the process".to_owned(),
        }
    }

    /// Reads from the store that the server was given. A default store is not checked: it is created on first use.
    #[cfg(feature = "http-server")]
    pub(super) async fn check_store(&self) -> Result<(), StoreError> {
        match &self.given {
            Some(store) => store.get([0; 32]).await.map(drop),
            None => Ok(()),
        }
    }

    /// Notes that a client outside this process is served. It may come back after the process has
    /// ended.
    pub(super) fn serve_others(&self) {
        self.serves_others.store(true, Ordering::Relaxed);
    }

    pub(super) fn ring(&self) -> Result<&KeyRing> {
        self.chosen().ring.as_ref().map_err(Error::no_keys)
    }

    fn chosen(&self) -> &KeyChoice {
        self.chosen.get_or_init(|| {
            let mut source = self.source.lock();
            let source = source.take().unwrap_or_default();
            match &self.given {
                Some(store) => KeyChoice {
                    ring: if self.is_configured || store.outlives_process() {
                        self.load(source)
                    } else {
                        keys::process_ring()
                    },
                    store: Arc::clone(store),
                },
                None => self.choose(source),
            }
        })
    }

    fn choose(&self, source: KeySource) -> KeyChoice {
        let files = match self.serves_others.load(Ordering::Relaxed) {
            true => Some(self.open_files()),
            false => None,
        };
        let memory = || Arc::new(MemoryStore::new(self.store_bytes));
        let (ring, store): (_, Arc<dyn Store>) = match files {
            None => (self.load(source), memory()),
            Some(Ok(files)) => (self.load(source), Arc::new(files)),
            Some(Err(warning)) if self.is_configured => {
                tracing::warn!(
                    "{warning}: a commit can happen again after a restart; give the server a store"
                );
                (self.load(source), memory())
            }
            Some(Err(warning)) => {
                tracing::warn!("{warning}");
                (keys::process_ring(), memory())
            }
        };
        KeyChoice { ring, store }
    }

    fn open_files(&self) -> Result<FileStore, KeyWarning> {
        let directory = self.directory.as_deref();
        let directory = directory.ok_or(KeyWarning::NoStateDirectory)?;
        let path = claims_folder(directory, &self.service);
        FileStore::open_with(&path, self.store_bytes)
            .map_err(|error| KeyWarning::NoClaims { path, error })
    }

    fn load(&self, source: KeySource) -> Result<KeyRing, KeyError> {
        if !self.is_configured && !self.serves_others.load(Ordering::Relaxed) {
            return keys::process_ring();
        }
        let LoadedKeys { ring, origin } = source.load(&self.service, self.directory.as_deref())?;
        if let KeyOrigin::Process(warning) = origin {
            tracing::warn!("{warning}");
        }
        Ok(ring)
    }
}

pub(super) struct DefaultStore(pub(super) Arc<Keys>);

impl Deref for DefaultStore {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.0.chosen().store
    }
}
