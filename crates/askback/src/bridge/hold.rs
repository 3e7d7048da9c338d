//! Calls that are given back to a client before it gives up. They go on at the server, and the client gets the result when
//! it makes the same call again.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    mem,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use askback_core::{
    future::BoxFuture,
    jsonrpc::RequestId,
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
    upstream::{self, Upstream},
};
use crate::{error::Result, mutex::Mutex, server::forward::arguments_digest};

/// The time between two progress notifications that say that the user is being asked.
const PROGRESS_PAUSE: Duration = Duration::from_secs(15);

/// The progress that each of our notifications adds to the last one.
const PROGRESS_STEP: f64 = 0.001;

/// A question that is answered sooner, such as by an answers file, is not why a call takes long.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// The maximum number of held calls of one client.
const HELD_CALLS: usize = 256;

/// How calls that wait for the user are held: see [`Bridge::hold`](super::Bridge::hold).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// How long a call waits before it is given back to the client. Must be less than the client's
    /// timeout.
    pub after: Duration,
    /// How long a call that was given back continues, if the client does not repeat it.
    pub keep: Duration,
    /// A sentence that says where the user answers.
    pub place: String,
}

/// Two calls with the same key are the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallKey {
    method: String,
    target: Option<String>,
    arguments: [u8; 32],
}

impl CallKey {
    pub(super) fn of(request: &OtherRequest) -> Result<Self> {
        Ok(Self {
            method: request.method().to_owned(),
            target: request.target().map(ToOwned::to_owned),
            arguments: arguments_digest(request)?,
        })
    }
}

/// A server whose calls are given back to the client before the client times out.
pub(super) struct HoldingUpstream {
    upstream: Arc<Upstream>,
    hold: HoldFor,
    calls: Arc<HeldCalls>,
}

/// The held calls of a client. The lock of a call may be taken while this one is held.
#[derive(Default)]
pub(super) struct HeldCalls(Mutex<CallList>);

#[derive(Default)]
struct CallList {
    last: u64,
    /// The oldest first.
    held: BTreeMap<u64, Arc<HeldCall>>,
    /// Calls that were given back and not repeated in time: the next one may repeat an effect.
    expired: VecDeque<CallKey>,
}

pub(super) struct HeldCall {
    id: u64,
    key: CallKey,
    state: Mutex<CallState>,
    changed: Notify,
    /// Why its questions were withdrawn.
    withdrawal: Withdrawal,
}

#[derive(Default)]
struct CallState {
    /// The request that waits for the call; `None` after the call was given back.
    ctx: Option<ForwardCtx>,
    /// When the call was given back. `None` while a request waits for it.
    given_back: Option<Instant>,
    /// The last progress that the client got.
    progress: f64,
    /// The questions that the user has not answered yet.
    questions: usize,
    /// Whether a question was open for so long that the client may give up before the server is done.
    has_waited: bool,
    outcome: Option<Result<Forwarded>>,
    work: Option<AbortHandle>,
}

/// How a request relates to the calls that are held.
enum Arrival {
    First(Arc<HeldCall>),
    /// A repeat of a call that was given back at this time.
    Again(Arc<HeldCall>, Instant),
    /// A repeat of a call that has expired. The call after it is a new one.
    Expired,
    /// A call that is not held, because too many calls are.
    Surplus,
}

impl HeldCalls {
    /// Finds the call of a request, or adds one. A later round is never matched with a call that was given back.
    fn arrive(&self, key: CallKey, is_later_round: bool, ctx: &ForwardCtx) -> Arrival {
        let mut calls = self.0.lock();
        if !is_later_round {
            if let Some(at) = calls.expired.iter().position(|expired| *expired == key) {
                calls.expired.remove(at);
                return Arrival::Expired;
            }
            for call in calls.held.values().filter(|call| call.key == key) {
                let mut state = call.state.lock();
                if let Some(given_back) = state.given_back.take() {
                    state.ctx = Some(ctx.clone());
                    drop(state);
                    call.changed.notify_waiters();
                    return Arrival::Again(Arc::clone(call), given_back);
                }
            }
        }
        if calls.held.len() >= HELD_CALLS {
            return Arrival::Surplus;
        }
        calls.last += 1;
        let call = Arc::new(HeldCall {
            id: calls.last,
            key,
            state: Mutex::new(CallState {
                ctx: Some(ctx.clone()),
                ..CallState::default()
            }),
            changed: Notify::new(),
            withdrawal: Withdrawal::default(),
        });
        calls.held.insert(call.id, Arc::clone(&call));
        Arrival::First(call)
    }

    /// The user is being asked in a call until the guard is dropped; in all calls if the call is unknown.
    pub(super) fn asking(&self, call: Option<&Arc<HeldCall>>) -> AskingGuard {
        let calls: Vec<_> = match call {
            Some(call) => vec![Arc::clone(call)],
            None => self.0.lock().held.values().cloned().collect(),
        };
        for call in &calls {
            call.state.lock().questions += 1;
            call.changed.notify_waiters();
        }
        let since = Instant::now();
        AskingGuard { calls, since }
    }

    pub(super) fn end(&self) {
        let held = mem::take(&mut self.0.lock().held);
        for call in held.into_values() {
            let is_given_back = call.state.lock().given_back.is_some();
            call.withdrawal.set(match is_given_back {
                true => WithdrawalReason::ClientGone,
                false => WithdrawalReason::CallCancelled,
            });
            call.abort();
        }
    }

    /// Returns why the questions of a call were withdrawn. If the call is not known, any of them may have asked.
    pub(super) fn withdrawal(&self, call: Option<&Arc<HeldCall>>) -> Withdrawal {
        match call {
            Some(call) => call.withdrawal.clone(),
            None => {
                let calls = self.0.lock();
                Withdrawal::of_one_of(calls.held.values().map(|call| call.withdrawal.clone()))
            }
        }
    }

    /// Waits until a call that was given back has expired, because the client did not repeat it in
    /// time.
    async fn expiry(&self, call: &HeldCall, keep: Duration) {
        loop {
            let mut changed = pin!(call.changed.notified());
            changed.as_mut().enable();
            let end = {
                let mut calls = self.0.lock();
                let given_back = call.state.lock().given_back;
                let end = given_back.and_then(|at| at.checked_add(keep));
                if end.is_some_and(|end| end <= Instant::now()) {
                    call.withdrawal.set(WithdrawalReason::CallExpired);
                    calls.held.remove(&call.id);
                    if calls.expired.len() >= HELD_CALLS {
                        calls.expired.pop_front();
                    }
                    calls.expired.push_back(call.key.clone());
                    return;
                }
                end
            };
            wait(changed, end).await;
        }
    }
}

pub(super) async fn wait(changed: impl Future<Output = ()>, end: Option<Instant>) {
    match end {
        None => changed.await,
        Some(end) => tokio::select! {
            () = changed => {}
            () = sleep_until(end) => {}
        },
    }
}

pub(super) struct AskingGuard {
    calls: Vec<Arc<HeldCall>>,
    since: Instant,
}

impl Drop for AskingGuard {
    fn drop(&mut self) {
        for call in &self.calls {
            let mut state = call.state.lock();
            state.questions -= 1;
            state.has_waited |= self.since.elapsed() >= SHORTEST_WAIT;
            drop(state);
            call.changed.notify_waiters();
        }
    }
}

impl HeldCall {
    /// The request that waits for the call; `None` after the call was given back.
    pub(super) fn ctx(&self) -> Option<ForwardCtx> {
        self.state.lock().ctx.clone()
    }

    /// Raises the server's progress above the last value that the client got.
    pub(super) fn advance(&self, progress: f64) -> f64 {
        let mut state = self.state.lock();
        state.progress = progress.max(state.progress + PROGRESS_STEP);
        state.progress
    }

    /// Tells the client that the user is being asked.
    fn tell(&self, ctx: &ForwardCtx, place: &str) {
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
        let work = self.state.lock().work.take();
        if let Some(work) = work {
            work.abort();
        }
    }
}

/// A request that waits for a call. One that is dropped before its end was cancelled by the client, and the call with it.
struct WaitingRequest<'a> {
    calls: &'a HeldCalls,
    call: Arc<HeldCall>,
    has_ended: bool,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let held = self.calls.0.lock().held.remove(&self.call.id);
        if held.is_some() {
            self.call.withdrawal.set(WithdrawalReason::CallCancelled);
        }
        self.call.abort();
    }
}

impl HoldingUpstream {
    pub(super) fn new(upstream: Upstream, hold: HoldFor, calls: Arc<HeldCalls>) -> Self {
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
        let arrived = Instant::now();
        let is_later_round = upstream::is_later_round(&request);
        let (call, given_back) = match self.calls.arrive(key, is_later_round, &ctx) {
            Arrival::First(call) => {
                self.begin(&call, request.clone(), ctx.clone(), hold.keep);
                (call, None)
            }
            Arrival::Again(call, given_back) => (call, Some(given_back)),
            Arrival::Expired => {
                let why =
                    "The call was given up: no answer came in time, or the server took too long.";
                return self.upstream.expired(&request, why);
            }
            Arrival::Surplus => return self.upstream.answer(request.into(), ctx, None).await,
        };
        let mut waiting = WaitingRequest {
            calls: &self.calls,
            call: Arc::clone(&call),
            has_ended: false,
        };
        let mut told = arrived;
        loop {
            let mut changed = pin!(call.changed.notified());
            changed.as_mut().enable();
            let now = Instant::now();
            let next = {
                let mut state = call.state.lock();
                if let Some(outcome) = state.outcome.take() {
                    drop(state);
                    // It was not cancelled. Dropping `waiting` ends its work.
                    self.calls.0.lock().held.remove(&call.id);
                    let since = given_back.map(|at| arrived.duration_since(at));
                    return outcome.map(|done| with_origin(done, since));
                }
                let is_asking = state.questions > 0;
                let end = arrived.checked_add(hold.after);
                let end = end.filter(|_| is_asking || state.has_waited);
                if end.is_some_and(|end| end <= now) {
                    state.given_back = Some(now);
                    state.ctx = None;
                    break;
                }
                let progress = is_asking.then(|| told + PROGRESS_PAUSE);
                end.into_iter().chain(progress).min()
            };
            if next.is_some_and(|next| next <= now) {
                told = now;
                call.tell(&ctx, &hold.place);
            } else {
                wait(changed, next).await;
            }
        }
        waiting.has_ended = true;
        call.changed.notify_waiters();
        let words = format!(
            "The call is still running, and may wait for a person's answer. {} Call `{}` again with exactly the same \
             arguments within {} minutes to get its result. Do not ask the user yourself.",
            hold.place,
            request.target().unwrap_or_default(),
            hold.keep.as_secs() / 60
        );
        upstream::call_error(&request, words)
    }

    fn begin(&self, call: &Arc<HeldCall>, request: OtherRequest, ctx: ForwardCtx, keep: Duration) {
        let (upstream, calls) = (Arc::clone(&self.upstream), Arc::clone(&self.calls));
        let of_work = Arc::clone(call);
        let work = tokio::spawn(async move {
            let answering = upstream.answer(request.into(), ctx, Some(&of_work));
            let outcome = tokio::select! {
                outcome = answering => outcome,
                () = calls.expiry(&of_work, keep) => return,
            };
            of_work.state.lock().outcome = Some(outcome);
            of_work.changed.notify_waiters();
            calls.expiry(&of_work, keep).await;
        });
        call.state.lock().work = Some(work.abort_handle());
    }
}

/// Adds to a tool's result that it belongs to an earlier call, if it was given back: the model may have meant another
/// one.
fn with_origin(done: Forwarded, given_back: Option<Duration>) -> Forwarded {
    let (Forwarded::Result { result, revision }, Some(given_back)) = (&done, given_back) else {
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
    match with_words {
        Some(result) => Forwarded::Result {
            result,
            revision: *revision,
        },
        None => done,
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
