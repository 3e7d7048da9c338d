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
    store::{self, Claim, ClaimRequest, Owner, PutRequest, Store, StoreError},
};

/// The first and the longest pause while waiting for a commit of another attempt.
const COMMIT_WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// Purge the store once per this many writes.
const WRITES_TO_PURGE: u32 = 256;

enum Attempt<T> {
    Over(Result<T>),
    Busy,
}

pub(crate) struct Backing {
    pub(crate) limits: Arc<Limits>,
    pub(crate) states: States,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) logs: bool,
    pub(crate) commits: RunningCommits,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) writes: AtomicU32,
}

impl Backing {
    async fn purge_store(&self) {
        let due = self
            .writes
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(WRITES_TO_PURGE);
        if due && let Err(error) = self.store.purge(self.clock.now()).await {
            tracing::warn!(%error, "what has expired could not be removed from the store");
        }
    }

    /// Stores a state that is too large to send to the client, for as long as the call can be
    /// answered. Returns its id.
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

    pub(crate) async fn kept_state(&self, id: [u8; 32]) -> Result<Option<Vec<u8>>> {
        Ok(self.store.get(id).await?)
    }

    /// Builds the claim of a commit. It must outlive every state that leads to it: states open until the flow is as old
    /// as [`flow_ttl`](askback_core::limits::AskingLimits::flow_ttl), and another process's clock may be ahead of this
    /// one.
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

    /// Runs an effect at most once per flow, in its own task. If no flow has started yet, no client has a state that
    /// could repeat it, so no claim is needed.
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

    async fn attempt<T: Serialize + DeserializeOwned>(
        &self,
        of: &Target,
        claim: ClaimRequest<'_>,
        effect: impl Future<Output = Effect<T>>,
    ) -> Result<Attempt<T>> {
        self.purge_store().await;
        let (flow, name) = (claim.flow, claim.name);
        let claimed = self.claim(claim).await;
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
            // The effect has happened. Later attempts get the error that its outcome is unknown.
            tracing::error!(target = ?of, name, %error, "the value of a commit could not be kept");
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        Ok(Attempt::Over(value.decode::<StepResult<T>>()?.into()))
    }

    /// Claims a commit now. If the store cannot be reached, the call waits for it: nothing has happened yet. If a claim
    /// was granted and its answer was lost, the next one is busy.
    async fn claim(&self, claim: ClaimRequest<'_>) -> Result<Claim, StoreError> {
        let request = || {
            let now = self.clock.now();
            self.store.claim(ClaimRequest { now, ..claim })
        };
        store::when_reachable(self.limits.wire.request, request).await
    }

    /// Waits for the value of a commit of another attempt. Takes no slot, and ends with its call.
    async fn value_of_another<T: Serialize + DeserializeOwned>(
        &self,
        claim: ClaimRequest<'_>,
        end: Instant,
    ) -> Result<T> {
        let (mut pause, longest) = COMMIT_WAIT;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
            match self.claim(claim).await? {
                Claim::Done(value) => return read_commit(claim.name, &value, CommitPlace::Store),
                Claim::Busy if Instant::now() <= end + longest => {}
                // The lease ended or the claim was purged, so the outcome is unknown.
                Claim::Busy | Claim::Abandoned | Claim::Granted => {
                    return Err(Error::commit_not_finished(claim.name));
                }
            }
        }
    }

    /// Returns the value of a commit as it is stored. If the value is too large, it is replaced by an error for all
    /// attempts, because the effect must not happen again. The first attempt gets the error, too, so that the author
    /// notices it.
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
