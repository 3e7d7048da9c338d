//! The work on calls that are held for a client.

use std::{
    collections::HashMap,
    future::Future,
    mem,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback_core::{
    future::BoxFuture,
    jsonrpc::{ErrorObject, RequestId},
    protocol::{
        ClientRequest, JsonObject, OtherRequest, ProgressParams, RawJson, ServerCapabilities,
        ServerNotification, SubscriptionFilter,
    },
};
use serde_json::json;
use tokio::{
    sync::Notify,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{
    Forward, ForwardClient, ForwardCtx, Forwarded, HoldFor, Withdrawal, WithdrawalReason,
    hold::{Arrival, CallKey, HeldCalls, Hold, Step},
    upstream::{self, Upstream},
};
use crate::error::{Error, Result};

/// The progress that each of our notifications adds to the last one.
const PROGRESS_STEP: f64 = 0.001;

/// A server whose calls are given back to the client before the client times out.
pub(super) struct HoldingUpstream {
    upstream: Arc<Upstream>,
    hold: HoldFor,
    calls: Arc<LiveCalls>,
}

pub(super) struct LiveCalls {
    began: Instant,
    state: Mutex<LiveState>,
}

#[derive(Default)]
struct LiveState {
    held: HeldCalls,
    live: HashMap<u64, Arc<LiveCall>>,
}

pub(super) struct LiveCall {
    id: u64,
    state: Mutex<CallState>,
    /// Notified when something changed here or in the list of calls.
    changed: Notify,
    /// Why its questions were withdrawn.
    withdrawal: Withdrawal,
}

#[derive(Default)]
struct CallState {
    ctx: Option<ForwardCtx>,
    /// The last progress that the client got.
    progress: f64,
    outcome: Option<Result<Forwarded>>,
    work: Option<AbortHandle>,
}

impl Default for LiveCalls {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            state: Mutex::default(),
        }
    }
}

impl LiveCalls {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// The user is being asked in a call until the guard is dropped; in all calls if the call is unknown.
    pub(super) fn asking(self: &Arc<Self>, call: Option<&Arc<LiveCall>>) -> AskingGuard {
        let mut state = self.lock();
        let calls: Vec<_> = match call {
            Some(call) => vec![Arc::clone(call)],
            None => state.live.values().cloned().collect(),
        };
        calls.iter().for_each(|call| state.held.asks(call.id));
        drop(state);
        calls.iter().for_each(|call| call.changed.notify_waiters());
        AskingGuard {
            all: Arc::clone(self),
            calls,
            since: Instant::now(),
        }
    }

    pub(super) fn end(&self) {
        let live = mem::take(&mut self.lock().live);
        for call in live.into_values() {
            call.withdrawal.set(WithdrawalReason::ClientGone);
            call.abort();
        }
    }

    /// Returns why the questions of a call were withdrawn. If the call is not known, it must be the only
    /// one; among several calls the reason stays unknown.
    pub(super) fn withdrawal(&self, call: Option<&Arc<LiveCall>>) -> Withdrawal {
        let state = self.lock();
        let mut live = state.live.values();
        let only = live.next().filter(|_| live.next().is_none());
        let call = call.or(only);
        call.map(|call| call.withdrawal.clone()).unwrap_or_default()
    }

    /// The calls that are held, and those whose work goes on.
    #[cfg(test)]
    pub(super) fn count(&self) -> [usize; 2] {
        let state = self.lock();
        [state.held.count(), state.live.len()]
    }

    fn forget(&self, call: &LiveCall) {
        let mut state = self.lock();
        let is_cancelled = state.held.forget(call.id);
        state.live.remove(&call.id);
        drop(state);
        if is_cancelled {
            call.withdrawal.set(WithdrawalReason::CallCancelled);
        }
        call.abort();
    }

    /// Waits until a call that was given back has expired, because the client did not repeat it in
    /// time.
    async fn expiry(&self, call: &LiveCall, keep: Duration) {
        loop {
            let mut changed = pin!(call.changed.notified());
            changed.as_mut().enable();
            let until = {
                let mut state = self.lock();
                let until = state.held.until(call.id, keep);
                if until.is_some_and(|until| until <= self.now()) {
                    state.held.expire(call.id);
                    call.withdrawal.set(WithdrawalReason::CallExpired);
                    state.live.remove(&call.id);
                    return;
                }
                until
            };
            self.wait(changed, until).await;
        }
    }

    async fn wait(&self, changed: impl Future<Output = ()>, until: Option<Duration>) {
        match until.and_then(|until| self.began.checked_add(until)) {
            None => changed.await,
            Some(until) => tokio::select! {
                () = changed => {}
                () = sleep_until(until) => {}
            },
        }
    }

    /// A panic while the lock was held cannot have left the lists half-changed.
    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct AskingGuard {
    all: Arc<LiveCalls>,
    calls: Vec<Arc<LiveCall>>,
    since: Instant,
}

impl Drop for AskingGuard {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        for call in &self.calls {
            state.held.answers(call.id, self.since.elapsed());
        }
        drop(state);
        for call in &self.calls {
            call.changed.notify_waiters();
        }
    }
}

impl LiveCall {
    /// The request that waits for the call; `None` after the call was given back.
    pub(super) fn ctx(&self) -> Option<ForwardCtx> {
        self.lock().ctx.clone()
    }

    /// Raises the server's progress above the last value that the client got.
    pub(super) fn advance(&self, progress: f64) -> f64 {
        let mut state = self.lock();
        state.progress = progress.max(state.progress + PROGRESS_STEP);
        state.progress
    }

    /// Tells the client that the user is being asked.
    fn tell(&self, place: &str) {
        let Some(ctx) = self.ctx() else { return };
        let Some(progress_token) = ctx.progress_token().cloned() else {
            return;
        };
        ctx.notify(ServerNotification::Progress(ProgressParams {
            progress_token,
            progress: self.advance(0.0),
            total: None,
            message: Some(format!("Waiting for a person to answer. {place}")),
            meta: None,
        }));
    }

    fn abort(&self) {
        let work = self.lock().work.take();
        if let Some(work) = work {
            work.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for a call. One that is dropped before its end was cancelled by the client, and the call with it.
struct WaitingRequest<'a> {
    calls: &'a LiveCalls,
    call: Arc<LiveCall>,
    has_ended: bool,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.calls.forget(&self.call);
        }
    }
}

impl HoldingUpstream {
    pub(super) fn new(upstream: Upstream, hold: HoldFor, calls: Arc<LiveCalls>) -> Self {
        Self {
            upstream: Arc::new(upstream),
            hold,
            calls,
        }
    }

    async fn answer(&self, request: OtherRequest, ctx: ForwardCtx) -> Result<Forwarded> {
        let client = ctx.client_info().cloned().unwrap_or_default();
        let hold = (self.hold)(&client, ctx.progress_token().is_some());
        let key = CallKey::of(&request)?;
        let is_later_round = upstream::is_later_round(&request);
        if !is_later_round && self.calls.lock().held.take_expired(&key) {
            let why = "The call was given up: no answer came in time, or the server took too long.";
            return self.upstream.expired(&request, why);
        }
        let Some((call, given_back)) = self.call(&request, &ctx, key, is_later_round, &hold) else {
            return self.upstream.answer(request.into(), ctx, None).await;
        };
        let mut waiting = WaitingRequest {
            calls: &self.calls,
            call: Arc::clone(&call),
            has_ended: false,
        };
        loop {
            let mut changed = pin!(call.changed.notified());
            changed.as_mut().enable();
            let step = {
                let mut state = self.calls.lock();
                let step = state.held.step(call.id, self.calls.now());
                if step == Step::GiveBack {
                    // Holds the lock of the list, so that a repeat of the call is not cut off.
                    call.lock().ctx = None;
                }
                step
            };
            match step {
                Step::Deliver => {
                    // Dropping `waiting` forgets the call.
                    let outcome = call.lock().outcome.take();
                    let outcome = outcome.unwrap_or_else(|| {
                        Err(Error::protocol(ErrorObject::internal(
                            "the call was given up",
                        )))
                    });
                    return match given_back {
                        None => outcome,
                        Some(since) => outcome.map(|done| with_origin(done, since)),
                    };
                }
                Step::GiveBack => {
                    waiting.has_ended = true;
                    call.changed.notify_waiters();
                    return self.given_back(&request, &hold);
                }
                Step::Progress => call.tell(&hold.place),
                Step::Wait(until) => self.calls.wait(changed, until).await,
            }
        }
    }

    /// Returns the call of a request, and how long ago it was given back if it was. `None` if there are too many calls.
    fn call(
        &self,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        key: CallKey,
        is_later_round: bool,
        hold: &Hold,
    ) -> Option<(Arc<LiveCall>, Option<Duration>)> {
        let now = self.calls.now();
        let mut state = self.calls.lock();
        let (id, given_back) = match state.held.arrive(key, is_later_round, hold.after, now) {
            Arrival::First(id) => (id, None),
            Arrival::Again(id, since) => (id, Some(now.saturating_sub(since))),
            Arrival::Surplus => return None,
        };
        let call = state.live.entry(id).or_insert_with(|| {
            Arc::new(LiveCall {
                id,
                state: Mutex::default(),
                changed: Notify::new(),
                withdrawal: Withdrawal::default(),
            })
        });
        let call = Arc::clone(call);
        call.lock().ctx = Some(ctx.clone());
        drop(state);
        match given_back {
            None => self.begin(&call, request.clone(), ctx.clone(), hold.keep),
            Some(_) => call.changed.notify_waiters(),
        }
        Some((call, given_back))
    }

    fn begin(&self, call: &Arc<LiveCall>, request: OtherRequest, ctx: ForwardCtx, keep: Duration) {
        let (upstream, calls) = (Arc::clone(&self.upstream), Arc::clone(&self.calls));
        let of_work = Arc::clone(call);
        let work = tokio::spawn(async move {
            let answering = upstream.answer(request.into(), ctx, Some(&of_work));
            let outcome = tokio::select! {
                outcome = answering => outcome,
                () = calls.expiry(&of_work, keep) => return,
            };
            of_work.lock().outcome = Some(outcome);
            calls.lock().held.ends(of_work.id);
            of_work.changed.notify_waiters();
            calls.expiry(&of_work, keep).await;
        });
        call.lock().work = Some(work.abort_handle());
    }

    fn given_back(&self, request: &OtherRequest, hold: &Hold) -> Result<Forwarded> {
        let name = request.target().unwrap_or_default();
        let words = format!(
            "The call is still running, and may wait for a person's answer. {} Call `{name}` again with exactly the same \
             arguments within {} minutes to get its result. Do not ask the user yourself.",
            hold.place,
            hold.keep.as_secs() / 60
        );
        upstream::call_error(request, words)
    }
}

/// Adds to a tool's result that it belongs to an earlier call: the model may have meant another
/// one.
fn with_origin(done: Forwarded, given_back: Duration) -> Forwarded {
    let Forwarded::Result { result, revision } = done else {
        return done;
    };
    let words = format!(
        "This is the result of your earlier call with the same arguments, which was returned {} s ago. To repeat it, call \
         again.",
        given_back.as_secs()
    );
    let with_words = result.decode::<JsonObject>().ok().and_then(|mut members| {
        let content = members.get_mut("content")?.as_array_mut()?;
        content.push(json!({"type": "text", "text": words}));
        RawJson::new(&members).ok()
    });
    Forwarded::Result {
        result: with_words.unwrap_or(result),
        revision,
    }
}

impl Forward for HoldingUpstream {
    fn capabilities(&self) -> ServerCapabilities {
        self.upstream.capabilities()
    }

    fn request(&self, request: ClientRequest, ctx: ForwardCtx) -> BoxFuture<'_, Result<Forwarded>> {
        match request {
            ClientRequest::Other(request) if upstream::target(&request).is_some() => {
                Box::pin(self.answer(*request, ctx))
            }
            request => self.upstream.request(request, ctx),
        }
    }

    fn connected(&self, client: ForwardClient) {
        self.upstream.connected(client);
    }

    fn watches(&self, subscription: &RequestId, filter: Option<&SubscriptionFilter>) {
        self.upstream.watches(subscription, filter);
    }
}
