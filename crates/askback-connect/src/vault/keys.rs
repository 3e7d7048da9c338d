//! The tenants' data keys, wrapped by the operator's key-encryption key.

use std::{
    collections::HashMap,
    io::ErrorKind,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use askback::keys::{KeyError, KeySource};
use askback_core::{
    ask::{
        Millis,
        keys::{Key, KeyId, KeyRing},
    },
    clock::Clock,
    future::BoxFuture,
};
use tokio::sync::Mutex as AsyncMutex;
use zeroize::Zeroizing;

use super::error::{VaultError, entropy};
use super::handle::TRIES;
use super::seal::{Place, key_of, open, seal};
use super::sql::{Change, Filter};
use super::store::{TenantKey, VaultStore, WrappedKey};

/// Wraps the tenants' data keys with a key-encryption key: [`LocalKeys`], or a key management service.
pub trait KeyWrapper: Send + Sync + 'static {
    /// Returns the name of the active key.
    fn active(&self) -> String;

    /// Encrypts a tenant's data key with the active key. It must open only for the same tenant and id.
    fn wrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<WrappedKey, VaultError>>;

    /// Decrypts the output of [`KeyWrapper::wrap`] with the key that its `kek_id` names.
    fn unwrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        wrapped: &'a WrappedKey,
    ) -> BoxFuture<'a, Result<Zeroizing<[u8; 32]>, VaultError>>;
}

/// Key-encryption keys in this process: the active one, and old ones that still unwrap.
#[derive(Debug)]
pub struct LocalKeys {
    ring: RwLock<Arc<KeyRing>>,
    /// Where the operator adds a key, for messages.
    origin: String,
}

impl LocalKeys {
    /// Uses the keys of a ring, for example one parsed from an environment variable, in the format of the key file.
    #[must_use]
    pub fn new(ring: KeyRing) -> Self {
        Self::of(ring, "the key ring of this process".to_owned())
    }

    fn of(ring: KeyRing, origin: String) -> Self {
        Self {
            ring: RwLock::new(Arc::new(ring)),
            origin,
        }
    }

    /// Reads a key file: one key per line, the active one first, in 64 hexadecimal digits or base64. The file must be
    /// readable by its owner only (0600).
    ///
    /// # Errors
    ///
    /// [`VaultError::Keys`] if the file has no key, or other users can read it.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, VaultError> {
        let path = path.as_ref();
        let keys = KeySource::File(path.to_owned()).load("", None);
        let keys = keys.map_err(|error| match &error {
            KeyError::Unreadable { error: why, .. } if why.kind() == ErrorKind::NotFound => {
                let path = path.display();
                VaultError::keys(format!(
                    "found no file {path}: for a new vault, make one with \
                     `(umask 077; openssl rand -hex 32 > {path})`; for one in use, put its key file back"
                ))
            }
            _ => VaultError::keys(error),
        })?;
        let origin = format!("the file {}", path.display());
        Ok(Self::of(keys.ring, origin))
    }

    /// Replaces the ring while the vault is in use. Then call [`Vault::rewrap`](super::Vault::rewrap) to wrap the
    /// tenants' keys with the new active key. Until it returns, the ring must contain the old key too.
    pub fn replace(&self, ring: KeyRing) {
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn missing(&self, id: &str) -> VaultError {
        let (origin, active) = (&self.origin, self.ring().active().id());
        VaultError::keys(format!(
            "what the vault holds was sealed under the key {id}, which is not in {origin} (its active key is {active}): \
             add the key that was there before, on a line below the active one. Without it, accounts can only be \
             connected again, in a new vault"
        ))
    }
}

impl KeyWrapper for LocalKeys {
    fn active(&self) -> String {
        self.ring().active().id().to_string()
    }

    fn wrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<WrappedKey, VaultError>> {
        let ring = self.ring();
        let sealed = seal(ring.active(), Place::TenantKey(tenant, id), key);
        let wrapped = sealed.map(|bytes| WrappedKey {
            kek_id: ring.active().id().to_string(),
            bytes,
        });
        Box::pin(async { wrapped })
    }

    fn unwrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        wrapped: &'a WrappedKey,
    ) -> BoxFuture<'a, Result<Zeroizing<[u8; 32]>, VaultError>> {
        let opened = (|| {
            let ring = self.ring();
            let kek = key_of(&wrapped.bytes).and_then(|id| ring.find(id));
            let kek = kek.ok_or_else(|| self.missing(&wrapped.kek_id))?;
            let opened = open(kek, Place::TenantKey(tenant, id), &wrapped.bytes)?;
            let mut key = Zeroizing::new([0; 32]);
            if opened.len() != key.len() {
                return Err(VaultError::NotAuthentic);
            }
            key.copy_from_slice(&opened);
            Ok(key)
        })();
        Box::pin(async { opened })
    }
}

pub(super) struct KeyCache {
    store: Arc<dyn VaultStore>,
    pub(super) wrapper: Arc<dyn KeyWrapper>,
    clock: Arc<dyn Clock>,
    tenants: Mutex<HashMap<Option<String>, Arc<DataKeys>>>,
    /// Locked by the task that looks for an unknown key.
    looking: AsyncMutex<()>,
}

pub(super) struct DataKeys {
    keys: Vec<Arc<Key>>,
    loaded: Millis,
}

/// The maximum number of tenants whose unwrapped keys are cached. At the limit, the cache is cleared.
const CACHED_TENANTS: usize = 1024;

/// How long unwrapped keys are cached. After that, new keys of other processes are noticed.
pub(super) const CACHED_FOR: Millis = 300_000;

/// The minimum time between two searches for an unknown key, because anyone can send its name.
const LOOKED_FOR: Millis = 1000;

impl DataKeys {
    pub(super) fn newest(&self) -> Option<KeyId> {
        self.keys.first().map(|key| key.id())
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&Arc<Key>> {
        self.keys.iter().find(|key| key.id() == id)
    }
}

impl KeyCache {
    pub(super) fn new(
        store: Arc<dyn VaultStore>,
        wrapper: Arc<dyn KeyWrapper>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            wrapper,
            clock,
            tenants: Mutex::default(),
            looking: AsyncMutex::default(),
        }
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, HashMap<Option<String>, Arc<DataKeys>>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn forget(&self, tenant: Option<&str>) {
        self.cached().remove(&tenant.map(str::to_owned));
    }

    /// Returns the keys of a tenant. Unwraps them again if the cache is too old.
    pub(super) async fn all(&self, tenant: Option<&str>) -> Result<Arc<DataKeys>, VaultError> {
        let known = self.cached().get(&tenant.map(str::to_owned)).cloned();
        let now = self.clock.now();
        match known.filter(|keys| now < keys.loaded.saturating_add(CACHED_FOR)) {
            Some(known) => Ok(known),
            None => self.load(tenant).await,
        }
    }

    /// Returns the key that seals for a tenant. Creates a key if the tenant has no key yet.
    pub(super) async fn newest(&self, tenant: Option<&str>) -> Result<Arc<Key>, VaultError> {
        for _ in 0..TRIES {
            if let Some(newest) = self.all(tenant).await?.keys.first() {
                return Ok(Arc::clone(newest));
            }
            self.add(tenant, None, self.clock.now()).await?;
            self.forget(tenant);
        }
        Err(VaultError::Conflict)
    }

    /// Returns a key of a tenant, reloading its keys if necessary. `None` if the key was deleted.
    pub(super) async fn find(
        &self,
        tenant: Option<&str>,
        id: KeyId,
    ) -> Result<Option<Arc<Key>>, VaultError> {
        if let Some(key) = self.all(tenant).await?.find(id) {
            return Ok(Some(Arc::clone(key)));
        }
        self.forget(tenant);
        Ok(self.all(tenant).await?.find(id).cloned())
    }

    /// Returns the keys of a tenant for an untrusted value that names a key. If the key is unknown, another process may
    /// have created it. Such reloads are limited in rate, and made by one caller at a time.
    pub(super) async fn all_for(
        &self,
        tenant: Option<&str>,
        id: KeyId,
    ) -> Result<Arc<DataKeys>, VaultError> {
        let now = self.clock.now();
        let is_enough = |keys: &DataKeys| {
            keys.find(id).is_some() || now < keys.loaded.saturating_add(LOOKED_FOR)
        };
        let known = self.all(tenant).await?;
        if is_enough(&known) {
            return Ok(known);
        }
        let _turn = self.looking.lock().await;
        let known = self.all(tenant).await?;
        match is_enough(&known) {
            true => Ok(known),
            false => self.load(tenant).await,
        }
    }

    async fn load(&self, tenant: Option<&str>) -> Result<Arc<DataKeys>, VaultError> {
        let loaded = self.clock.now();
        let mut before = None;
        let keys = loop {
            let kept = self.store.list::<TenantKey>(Filter::tenant(tenant)).await?;
            match self.unwrapped(tenant, &kept).await {
                Ok(keys) => break keys,
                Err(error) if before.as_ref() == Some(&kept) => return Err(error),
                // Another process may have rewrapped them and removed the old key.
                Err(_) => before = Some(kept),
            }
        };
        let keys = Arc::new(DataKeys { keys, loaded });
        let mut cached = self.cached();
        if cached.len() >= CACHED_TENANTS {
            cached.clear();
        }
        cached.insert(tenant.map(str::to_owned), Arc::clone(&keys));
        Ok(keys)
    }

    async fn unwrapped(
        &self,
        tenant: Option<&str>,
        kept: &[TenantKey],
    ) -> Result<Vec<Arc<Key>>, VaultError> {
        let mut keys = Vec::with_capacity(kept.len());
        for kept in kept {
            let secret = self.wrapper.unwrap(tenant, kept.id, &kept.wrapped).await?;
            let key = Key::new(&secret);
            if key.id() != kept.id {
                return Err(VaultError::NotAuthentic);
            }
            keys.push(Arc::new(key));
        }
        Ok(keys)
    }

    /// Creates a data key for a tenant, if `newest` is still its newest one. Returns whether it was.
    pub(super) async fn add(
        &self,
        tenant: Option<&str>,
        newest: Option<KeyId>,
        made: Millis,
    ) -> Result<bool, VaultError> {
        let secret = Zeroizing::new(entropy::<32>()?);
        let id = Key::new(&secret).id();
        let key = TenantKey {
            tenant: tenant.map(str::to_owned),
            id,
            wrapped: self.wrapper.wrap(tenant, id, &secret).await?,
            made,
        };
        let added = self.store.write(Change::add_key(&key, newest)).await?;
        Ok(added.is_kept())
    }
}
