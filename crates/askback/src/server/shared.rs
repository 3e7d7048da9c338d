//! What all requests of a server share.

use std::{
    future::Future,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use askback_core::{
    ask::{FlowId, Millis, Principal, keys::KeyRing},
    engine::server::{Changed, Profile},
    limits::Limits,
    protocol::{CacheScope, PaginatedParams, RawJson, Signature},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    budget::Budget,
    changes::{Audience, Changes},
    page::Pages,
    prompt::Prompt,
    registry::Registry,
    resource::Resources,
    roots,
    tasks::Board,
    tool::Tool,
};
use crate::{
    clock::Clock,
    entropy::entropy,
    error::{Error, Recorded, Result},
    handler::States,
    keys::{KeyError, KeyOrigin, KeySource, state_dir},
    millis,
    store::{Claim, ClaimRequest, Owner, PutRequest, Store},
};

/// How long the first wait for a commit that somebody else has begun is, and the longest.
const COMMIT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// How often the store is rid of what has expired: once in so many commits and states.
const WRITES_TO_PURGE: u32 = 256;

/// What all requests of a server share.
pub(crate) struct Shared {
    pub(super) profile: Arc<Profile>,
    /// What stands under each result.
    pub(super) signature: Signature,
    pub(super) tools: Registry<Tool>,
    pub(super) prompts: Registry<Prompt>,
    pub(super) resources: Resources,
    pub(crate) states: States,
    pub(super) pages: Pages,
    pub(super) cache: Cache,
    pub(super) service: String,
    pub(super) keys: Keys,
    pub(super) store: Arc<dyn Store>,
    pub(super) spills: bool,
    /// How many commits and states the store was given.
    pub(super) writes: AtomicU32,
    pub(super) clock: Arc<dyn Clock>,
    /// Where every flow's random values come from, in tests.
    pub(super) seed: Option<[u8; 32]>,
    pub(super) checks_replay: bool,
    /// What is done when a client says that its roots changed.
    pub(super) roots_changed: Option<roots::Handler>,
    pub(super) changes: Changes,
    pub(super) tasks: Board,
    /// The room for all that is kept for clients.
    pub(super) kept: Budget,
}

/// What clients are told about keeping what they read (2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    pub(super) ttl: Duration,
    pub(super) scope: CacheScope,
}

/// The keys of the seal, read when they are first needed: a server that never asks makes none.
pub(super) struct Keys {
    source: std::sync::Mutex<Option<KeySource>>,
    directory: Option<PathBuf>,
    ring: OnceLock<Result<KeyRing, KeyError>>,
}

impl Keys {
    pub(super) fn new(source: KeySource) -> Self {
        Self {
            source: std::sync::Mutex::new(Some(source)),
            directory: state_dir(),
            ring: OnceLock::new(),
        }
    }

    fn ring(&self, service: &str) -> Result<&KeyRing> {
        let ring = self.ring.get_or_init(|| {
            let source = self.source.lock().ok().and_then(|mut source| source.take());
            let keys = source
                .unwrap_or_default()
                .load(service, self.directory.as_deref())?;
            if let KeyOrigin::Process(warning) = &keys.origin {
                tracing::warn!("{warning}");
            }
            Ok(keys.ring)
        });
        ring.as_ref().map_err(Error::no_keys)
    }
}

impl Shared {
    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.profile.limits
    }

    /// Whether clients are sent log lines.
    pub(crate) fn logs(&self) -> bool {
        self.profile.capabilities.logging.is_some()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether large states go to the store.
    pub(crate) fn spills(&self) -> bool {
        self.spills
    }

    /// The name under which the processes of this service know each other's states.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn keys(&self) -> Result<&KeyRing> {
        self.keys.ring(&self.service)
    }

    pub(crate) fn checks_replay(&self) -> bool {
        self.checks_replay
    }

    pub(crate) fn changed(&self, changed: &Changed, to: Audience<'_>) {
        self.changes.tell(changed, to);
    }

    /// One page of a list, as its cursor says.
    pub(super) fn page<'a, T>(
        &self,
        items: &'a [T],
        name: impl Fn(&T) -> &str,
        params: &PaginatedParams,
    ) -> Result<(&'a [T], Option<String>)> {
        self.pages.page(items, name, params.cursor.as_deref())
    }

    /// Now and then, removes from the store what no state leads to any more.
    async fn purge_store(&self) {
        let due = self
            .writes
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(WRITES_TO_PURGE);
        if due && let Err(error) = self.store.purge(self.clock.now()).await {
            tracing::warn!(%error, "what has expired could not be removed from the store");
        }
    }

    /// Keeps the state of a call that is too large for its client, and says under which name.
    pub(super) async fn keep_state(
        &self,
        principal: Option<&Principal>,
        bytes: &[u8],
        now: Millis,
    ) -> Result<[u8; 32]> {
        self.purge_store().await;
        let id = entropy()?;
        let state = PutRequest {
            owner: principal.map(Owner::of),
            id,
            bytes,
            now,
            expires: now.saturating_add(millis(self.limits().round_ttl)),
        };
        self.store.put(state).await?;
        Ok(id)
    }

    /// The state that is kept under a name, if it still is.
    pub(super) async fn kept_state(&self, id: [u8; 32]) -> Result<Option<Vec<u8>>> {
        Ok(self.store.get(id).await?)
    }

    /// Does something at most once in a flow.
    pub(crate) async fn commit<T, F, Fut>(
        &self,
        principal: Option<&Principal>,
        flow: FlowId,
        name: &str,
        effect: F,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        self.purge_store().await;
        let owner = principal.map(Owner::of);
        let (mut pause, longest) = COMMIT_WAIT;
        loop {
            let now = self.clock.now();
            let claim = self.store.claim(ClaimRequest {
                owner,
                flow,
                name,
                value_bytes: self.limits().commit_bytes,
                now,
                lease: self.limits().run,
                // A claim outlives every state that leads to it.
                expires: now.saturating_add(2 * millis(self.limits().flow_ttl)),
            });
            match claim.await? {
                Claim::Granted => {
                    let value = Recorded::from(effect().await).to_json()?;
                    let value = self.within_bounds(name, value)?;
                    let kept = self
                        .store
                        .finish(flow, name, value.as_str().as_bytes())
                        .await;
                    if let Err(error) = kept {
                        // It has happened all the same. Who claims it later is told that its
                        // outcome is unknown.
                        tracing::error!(name, %error, "the value of a commit could not be kept");
                    }
                    return value.decode::<Recorded<T>>()?.into();
                }
                Claim::Done(value) => {
                    return serde_json::from_slice::<Recorded<T>>(&value)?.into();
                }
                Claim::Busy => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                Claim::Abandoned => {
                    return Err(Error::new(format!(
                        "`{name}` was begun and never finished: its outcome is unknown; check \
                         before you try again"
                    )));
                }
            }
        }
    }

    /// The value of a commit as it is kept. The effect has happened, and must not happen again
    /// because its value is too large: then that is what everybody is told, the first one too, so
    /// that its author sees it at once.
    fn within_bounds(&self, name: &str, value: RawJson) -> Result<RawJson> {
        let (bytes, most) = (value.as_str().len(), self.limits().commit_bytes);
        if bytes <= most {
            return Ok(value);
        }
        tracing::error!(
            name,
            bytes,
            most,
            "the value of a commit is too large to be kept: return less, or raise \
             `Limits::commit_bytes`"
        );
        let why = format!(
            "`{name}` was done and is not done again, but its result is larger than the {most} \
             bytes that are kept of one"
        );
        Recorded::<()>::from(Err(Error::new(why))).to_json()
    }
}
