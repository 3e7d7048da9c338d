//! The part of a server that a call needs.

use std::{
    future::Future,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use askback_core::{
    ask::{Identity, Millis, Principal},
    limits::Limits,
    protocol::RawJson,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use super::{
    Incoming, States,
    commits::{Effect, RunningCommits, ended},
    incoming::Target,
};
use crate::{
    clock::{Clock, millis},
    entropy::entropy,
    error::{CommitPlace, Error, Result, StepResult, read_commit},
    flow::{Cell, Course},
    store::{Claim, ClaimRequest, Owner, PutRequest, Store},
};

/// The first and the longest pause of a wait for a commit that another attempt has begun.
const COMMIT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// How often the store is rid of what has expired: once in so many commits and states.
const WRITES_TO_PURGE: u32 = 256;

enum Attempt<T> {
    Over(Result<T>),
    Busy,
}

/// The part of a server that all its calls share.
pub(crate) struct Backing {
    pub(crate) limits: Arc<Limits>,
    pub(crate) states: States,
    pub(crate) clock: Arc<dyn Clock>,
    /// Whether clients are sent log lines.
    pub(crate) logs: bool,
    pub(super) commits: RunningCommits,
    store: Arc<dyn Store>,
    /// How many commits and states the store was given.
    writes: AtomicU32,
}

impl Backing {
    pub(crate) fn new(
        limits: Arc<Limits>,
        states: States,
        clock: Arc<dyn Clock>,
        logs: bool,
        commits: RunningCommits,
        store: Arc<dyn Store>,
    ) -> Self {
        Self {
            limits,
            states,
            clock,
            logs,
            commits,
            store,
            writes: AtomicU32::new(0),
        }
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

    /// Keeps the state of a call that is too large for its client, for as long as it can be answered,
    /// and says under which name.
    pub(crate) async fn keep_state(
        &self,
        principal: Option<&Principal>,
        bytes: &[u8],
        now: Millis,
        ttl: Duration,
    ) -> Result<[u8; 32]> {
        self.purge_store().await;
        let id = entropy()?;
        let state = PutRequest {
            owner: principal.map(Owner::of),
            id,
            bytes,
            now,
            expires: now.saturating_add(millis(ttl)),
        };
        self.store.put(state).await?;
        Ok(id)
    }

    /// The state that is kept under a name, if it still is.
    pub(crate) async fn kept_state(&self, id: [u8; 32]) -> Result<Option<Vec<u8>>> {
        Ok(self.store.get(id).await?)
    }

    /// The claim of a commit. It outlives every state that leads to it: they open until the flow is as old as
    /// [`flow_ttl`](askback_core::limits::AskingLimits::flow_ttl), and it may have begun by a clock ahead of this one.
    pub(super) fn claim_request<'a>(
        &self,
        principal: Option<&Principal>,
        flow: &Identity,
        (name, lease): (&'a str, Duration),
    ) -> ClaimRequest<'a> {
        let (limits, now) = (&self.limits.asking, self.clock.now());
        ClaimRequest {
            owner: principal.map(Owner::of),
            flow: flow.flow,
            name,
            value_bytes: limits.commit_bytes,
            now,
            lease,
            expires: now
                .max(flow.started)
                .saturating_add(2 * millis(limits.flow_ttl)),
        }
    }

    /// Does something at most once in a flow, in a task of its own. Without a flow, no state has left the server that
    /// could lead here again.
    pub(crate) async fn commit<T, F, Fut>(
        self: Arc<Self>,
        (cell, course): (Arc<Cell>, Course),
        incoming: Arc<Incoming>,
        (name, limit): (String, Duration),
        effect: F,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        let slot = self.commits.take_slot(self.limits.asking.commits);
        let slot = slot.ok_or_else(|| {
            Error::new("the server is busy, and this attempt did nothing: try again later")
        })?;
        let end = Instant::now() + limit;
        let effect = ended(end, async { effect().await });
        let flow = cell.flow().resumed().cloned();
        let Some(flow) = flow else {
            let commit = Box::pin(async move {
                match effect.await {
                    Effect::Done(value) => value,
                    Effect::Panicked(panic) => resume_unwind(panic),
                    Effect::TookTooLong => Err(Error::step_took_too_long(&name, limit)),
                }
            });
            return slot.start((cell, course), commit).await?;
        };
        let attempt = {
            let (backing, incoming) = (Arc::clone(&self), Arc::clone(&incoming));
            let (flow, name) = (flow.clone(), name.clone());
            Box::pin(async move {
                let claim = backing.claim_request(incoming.principal(), &flow, (&name, limit));
                backing.attempt(&incoming.target, claim, effect).await
            })
        };
        match slot.start((cell, course), attempt).await?? {
            Attempt::Over(value) => value,
            Attempt::Busy => {
                let claim = self.claim_request(incoming.principal(), &flow, (&name, limit));
                self.value_of_another(claim, end).await
            }
        }
    }

    /// Claims a commit, and does it if that is granted.
    async fn attempt<T: Serialize + DeserializeOwned>(
        &self,
        of: &Target,
        claim: ClaimRequest<'_>,
        effect: impl Future<Output = Effect<T>>,
    ) -> Result<Attempt<T>> {
        self.purge_store().await;
        let (flow, name) = (claim.flow, claim.name);
        let claimed = self.store.claim(claim).await;
        match claimed.map_err(|why| Error::commit_not_claimed(name, why))? {
            Claim::Granted => {}
            Claim::Done(value) => {
                return Ok(Attempt::Over(read_commit(name, &value, CommitPlace::Store)));
            }
            Claim::Busy => return Ok(Attempt::Busy),
            Claim::Abandoned => return Err(Error::commit_not_finished(name)),
        }
        let (value, panic) = match effect.await {
            Effect::Done(value) => (value, None),
            Effect::Panicked(panic) => (Err(Error::commit_not_finished(name)), Some(panic)),
            Effect::TookTooLong => (Err(Error::step_took_too_long(name, claim.lease)), None),
        };
        let value = StepResult::from(value).to_json()?;
        let value = self.within_bounds(of, name, value)?;
        let kept = self.store.finish(flow, name, value.as_str().as_bytes());
        if let Err(error) = kept.await {
            // It has happened all the same. Who claims it later is told that its
            // outcome is unknown.
            tracing::error!(target = ?of, name, %error, "the value of a commit could not be kept");
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        Ok(Attempt::Over(value.decode::<StepResult<T>>()?.into()))
    }

    /// Waits for the value of a commit that another attempt has begun. It takes no slot, and ends with its call.
    async fn value_of_another<T: Serialize + DeserializeOwned>(
        &self,
        mut claim: ClaimRequest<'_>,
        end: Instant,
    ) -> Result<T> {
        let (mut pause, longest) = COMMIT_WAIT;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
            claim.now = self.clock.now();
            match self.store.claim(claim).await? {
                Claim::Done(value) => return read_commit(claim.name, &value, CommitPlace::Store),
                Claim::Busy if Instant::now() <= end + longest => {}
                // The lease is over, or the claim was removed from the store: what came of it is unknown.
                Claim::Busy | Claim::Abandoned | Claim::Granted => {
                    return Err(Error::commit_not_finished(claim.name));
                }
            }
        }
    }

    /// The value of a commit as it is kept. The effect has happened, and must not happen again
    /// because its value is too large: then that is what everybody is told, the first one too, so
    /// that its author sees it at once.
    fn within_bounds(&self, of: &Target, name: &str, value: RawJson) -> Result<RawJson> {
        let (bytes, most) = (value.as_str().len(), self.limits.asking.commit_bytes);
        if bytes <= most {
            return Ok(value);
        }
        tracing::error!(
            target = ?of,
            name,
            bytes,
            most,
            "the value of a commit is too large to be kept: return less, or raise \
             `limits.asking.commit_bytes`"
        );
        let why = format!(
            "`{name}` was done and is not done again, but its result is larger than the {most} \
             bytes that are kept of one"
        );
        StepResult::<()>::from(Err(Error::new(why))).to_json()
    }
}
