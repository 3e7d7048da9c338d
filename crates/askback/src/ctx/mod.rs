//! The context of a handler, for questions to the client.

mod asking;
mod backing;
mod changes;
mod commits;
mod incoming;
mod notice;
mod parameters;
mod peer;
mod question;
#[cfg(feature = "sqlite")]
mod transaction;
mod transaction_commit;

use std::{borrow::Cow, future::Future, pin::Pin, sync::Arc, task::Poll, time::Duration};

pub use askback_core::ask::AskError;
use askback_core::{
    ask::{FlowId, Identity, Millis, Principal},
    engine::server::Change,
    limits::Limits,
    protocol::{
        ClientCapabilities, Implementation, JsonObject, LoggingLevel, LoggingMessageParams,
        ProgressParams, RawJson, ServerNotification, TraceContext,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

#[cfg(feature = "bridge")]
pub(crate) use self::incoming::missing_for;
#[cfg(feature = "witness")]
pub use self::question::WitnessedElicit;
pub use self::question::{
    Ask, Confirm, Elicit, ElicitUrl, LinkCompletion, ListRoots, Questions, Sample,
};
pub(crate) use self::{
    backing::Backing,
    changes::{Audience, CallServer, Changes, Interest, Observer, ObserverGuard},
    commits::RunningCommits,
    incoming::{ReadFlag, RequestMeta, responses_bytes},
    notice::elicitation_id,
    parameters::{StateType, States},
    peer::{AskingPeer, CallPeer, FlowPause, Peer},
    question::by_action,
};
#[cfg(feature = "http-server")]
pub(crate) use self::{changes::bytes_of, peer::ParkingPeer};
pub use self::{
    incoming::Incoming,
    notice::CompletionNotice,
    parameters::{Arguments, Parameters},
    transaction_commit::TransactionCommit,
};
#[cfg(debug_assertions)]
use crate::clock::Clock;
use crate::{
    error::{Error, Result},
    flow::{BoxFuture, Cell, NamePolicy, Scope, Timer, course_of_step},
    store::file::hex,
};
pub use crate::{
    flow::Step,
    roots::{RemoteRoots, Roots},
};

/// The context of a handler: it asks questions to the user, the model and the client of a call, and makes effects
/// happen only once although the handler may run several times.
///
/// # The one thing to know
///
/// In 2026-07-28 a handler that asks is **run again from the top** when the answer arrives, in whichever process
/// receives the retry. Answers are recorded, so the code looks and behaves as if it had simply waited, but everything
/// else between two questions may happen again. Code that must not run twice belongs in [`Ctx::run`] (recorded, not
/// repeated on a retry) or [`Ctx::commit`] (at most once, even if a retry is sent twice). A step before the first
/// question is repeated if the first response is lost, because nothing has been recorded yet.
///
/// ```
/// use askback::{Ctx, Form, Result};
///
/// #[derive(Form)]
/// struct Seat {
///     /// Which seat would you like?
///     window: bool,
/// }
///
/// async fn reserve(ctx: Ctx) -> Result<String> {
///     let price = ctx.run("price", || async { Ok(120) }).await?;
///     let seat: Seat = ctx.elicit(format!("A seat for {price}?")).await?.accepted()?;
///     let number = ctx.commit("reserve", move || async move {
///         Ok(if seat.window { "12A" } else { "12C" }.to_owned())
///     });
///     Ok(format!("Seat {} is yours.", number.await?))
/// }
/// ```
#[derive(Clone)]
pub struct Ctx(Arc<Call>);

pub(crate) struct Call {
    pub(crate) cell: Arc<Cell>,
    pub(crate) incoming: Arc<Incoming>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) server: Arc<dyn CallServer>,
    pub(crate) backing: Arc<Backing>,
    pub(crate) parameters: Arc<Parameters>,
}

/// The progress of a call: see [`Ctx::progress`].
#[derive(Debug, Clone, PartialEq)]
#[must_use = "pass it to `Ctx::progress`"]
pub struct Progress {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Progress {
    /// Progress without a known total. The numbers must grow.
    pub fn at(done: impl Into<f64>) -> Self {
        Self {
            done: done.into(),
            total: None,
            message: None,
        }
    }

    /// Progress out of a total.
    pub fn of(done: impl Into<f64>, total: impl Into<f64>) -> Self {
        Self {
            total: Some(total.into()),
            ..Self::at(done)
        }
    }

    /// Sets the message for the user.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

/// The error of [`Ctx::timeout`] if the time has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time is over")]
pub struct Elapsed;

impl Ctx {
    pub(crate) fn new(call: Call) -> Self {
        Self(Arc::new(call))
    }

    /// Runs an effect and records its result, so that it is not repeated when the handler is run again after a
    /// question.
    ///
    /// The closure may borrow from the handler: `async || Ok(path.len())`. Its result is recorded, whether `Ok` or
    /// `Err`. It must not ask questions. Its time limit is [`limits.asking.run`](crate::limits::AskingLimits::run)
    /// unless set with [`Step::limit`]. A question of a concurrent branch waits for it. Before the first question
    /// nothing is recorded yet, so the effect may be repeated.
    ///
    /// # Errors
    ///
    /// The closure's error, or an error if the step takes too long or was started outside the handler.
    pub fn run<'a, T, F, Fut>(&self, name: impl Into<Cow<'static, str>>, effect: F) -> Step<'a, T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut + Send + 'a,
        Fut: Future<Output = Result<T>> + Send + 'a,
    {
        let start = move |name: &str, limit: Duration| -> BoxFuture<'a, Result<T>> {
            let name = name.to_owned();
            Box::pin(async move {
                // The closure is called when the step is first polled, inside the step's own scope.
                let effect = async { effect().await };
                let ended = tokio::time::timeout(limit, effect).await;
                ended.unwrap_or_else(|_| Err(Error::step_took_too_long(&name, limit)))
            })
        };
        Step::new(
            &self.0.cell,
            name.into(),
            NamePolicy::Ordinal,
            Box::new(start),
        )
    }

    /// Runs an effect at most once per flow, even if the retry is sent twice, reaches two processes, or starts from an
    /// older round: the first attempt claims the commit in the server's [store](crate::store), and all others get the
    /// same result.
    ///
    /// The default store guarantees this on one machine, across restarts and crashes. Servers on several machines need
    /// a shared store ([`ServerBuilder::store`](crate::ServerBuilder::store)). A commit before the first question acts
    /// like a [run](Ctx::run), because there is no flow yet to return to.
    ///
    /// The closure owns what it uses: write `async move || ..`, and clone what you need afterwards. A commit runs in
    /// its own task, and finishes even if the client goes away or cancels the call. A retry waits for it and gets its
    /// value.
    ///
    /// The name is claimed, so it must be unique in the call. The value is stored for two days: return a reference, not
    /// a document.
    ///
    /// # Errors
    ///
    /// As for [`Ctx::run`]. In addition:
    ///
    /// - If the process ended during the effect, every later attempt gets an error that the outcome is unknown.
    /// - A name that was already used, also in a transaction, is refused.
    /// - A value larger than [`limits.asking.commit_bytes`](crate::limits::AskingLimits::commit_bytes) is not stored.
    ///   The effect has happened and is not repeated; every attempt gets an error that its value was too large.
    /// - If the store has no room, or [`limits.asking.commits`](crate::limits::AskingLimits::commits) are running, the
    ///   effect does not run.
    pub fn commit<T, F, Fut>(
        &self,
        name: impl Into<Cow<'static, str>>,
        effect: F,
    ) -> Step<'static, T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        let (backing, cell) = (Arc::clone(&self.0.backing), Arc::clone(&self.0.cell));
        let incoming = Arc::clone(&self.0.incoming);
        let start = move |name: &str, limit: Duration| -> BoxFuture<'static, Result<T>> {
            let place = (cell, course_of_step(name));
            Box::pin(backing.commit(place, incoming, (name.to_owned(), limit), effect))
        };
        Step::new(
            &self.0.cell,
            name.into(),
            NamePolicy::Unique,
            Box::new(start),
        )
    }

    /// Returns the id of this flow: the same in every execution of it, and different from all other flows. Claims in a
    /// [store](crate::store) use it.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, as for [`Ctx::random`].
    #[must_use]
    pub fn flow_id(&self) -> FlowId {
        self.identity().flow
    }

    /// Returns an idempotency key for other services: the same in every execution of this flow, and different for each
    /// flow and name.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, as for [`Ctx::random`].
    #[must_use]
    pub fn idempotency_key(&self, name: &str) -> String {
        let digest = Sha256::new()
            .chain_update(self.identity().flow.0)
            .chain_update(name)
            .finalize();
        hex(&digest[..16])
    }

    /// Runs a future concurrently with the handler. It is polled and dropped with the handler. Unlike a task of the
    /// runtime, it may ask questions.
    pub fn spawn<T, Fut>(&self, future: Fut) -> impl Future<Output = T> + Send + use<T, Fut>
    where
        T: Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.0.cell.spawn(Box::pin(async move {
            // If this fails, the handle was dropped.
            let _ = sender.send(future.await);
        }));
        async move {
            match receiver.await {
                Ok(value) => value,
                // The child is only dropped together with the handler that waits here.
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Sleeps. Unlike the runtime's timers, it may race with a question, because its end is recorded.
    pub fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + use<> {
        Timer::new(&self.0.cell, "sleep", span)
    }

    /// Limits the time of a future, such as a question. If a retry comes later than that, the timeout wins over its
    /// answers.
    ///
    /// # Errors
    ///
    /// [`Elapsed`] if the time has passed first.
    pub async fn timeout<Fut: Future>(
        &self,
        span: Duration,
        future: Fut,
    ) -> Result<Fut::Output, Elapsed> {
        let mut timer = Timer::new(&self.0.cell, "timeout", span);
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| {
            // Polled even if the future is ready, so that the timer always counts.
            let over = Pin::new(&mut timer).poll(cx);
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Ok(output)),
                Poll::Pending => over.map(|()| Err(Elapsed)),
            }
        })
        .await
    }

    /// Returns the time of the flow in milliseconds since the Unix epoch: the time of the last answer or step, so that
    /// a replay sees the same value.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.0.cell.flow().now()
    }

    /// Returns a random number that is the same on each replay.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, because nothing would be secure.
    #[must_use]
    pub fn random(&self) -> u64 {
        u64::from_le_bytes(self.random_bytes())
    }

    /// Returns up to 32 random bytes that are the same on each replay.
    ///
    /// # Panics
    ///
    /// As for [`Ctx::random`].
    #[must_use]
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        const { assert!(N <= 32, "at most 32 bytes at a time") };
        let course = Scope::course(&self.0.cell);
        let seed = self.identity().seed;
        let draw = self.0.cell.flow().next_draw(course);
        let digest = Sha256::new()
            .chain_update(seed)
            .chain_update(course.to_le_bytes())
            .chain_update(draw.to_le_bytes())
            .finalize();
        std::array::from_fn(|at| digest[at])
    }

    /// Whether the handler is being dropped because its questions were sent, and will run again when the answers
    /// arrive. Drop guards check it to undo nothing in this case.
    #[must_use]
    pub fn is_suspending(&self) -> bool {
        self.0.cell.is_suspending()
    }

    /// Makes this call a task: the client gets a handle instead of a result, and the call continues without the request
    /// (the extension `io.modelcontextprotocol/tasks`, SEP-2663).
    ///
    /// From here on the handler is not run again. The client finds open and later questions in the task. The
    /// [progress](Ctx::progress) becomes the status message of the task.
    ///
    /// If the call is already a task or the client does not support tasks, this does nothing.
    ///
    /// # Errors
    ///
    /// If the tool was not declared with [`Tool::may_become_task`](crate::Tool::may_become_task), or this is not called
    /// in the handler's own future.
    pub async fn become_task(&self) -> Result<()> {
        let cell = &self.0.cell;
        std::future::poll_fn(|cx| {
            if !Scope::may_ask(cell) {
                return Poll::Ready(Err(AskError::Misplaced.into()));
            }
            cell.poll_task(cx.waker()).map_err(Error::from)
        })
        .await
    }

    /// Whether this call is a task, so that the client does not wait for its response.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0.cell.is_task()
    }

    /// Whether the client supports forms.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.incoming().takes_forms()
    }

    /// Whether the client supports links.
    #[must_use]
    pub fn can_elicit_url(&self) -> bool {
        self.incoming().takes_links()
    }

    /// Whether the client has a model to ask.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.incoming().capabilities().samples()
    }

    /// Whether the client can list the folders in which the server may work.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        self.incoming().capabilities().roots()
    }

    /// Returns the client's name and version as it claims them: use them for display and logs only.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.incoming().client_info()
    }

    /// Returns the server's limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.backing.limits
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.incoming().capabilities()
    }

    /// Returns the settings of an extension that the client declares, which may be empty; `None` if the client or its
    /// revision does not have the extension (2026-07-28, basic/versioning, Extension Negotiation). In that case, work
    /// without the extension or refuse the call with [`Ctx::require_extension`].
    #[must_use]
    pub fn extension(&self, name: &str) -> Option<&JsonObject> {
        let incoming = self.incoming();
        let known = incoming.facts().extensions;
        known.then(|| incoming.capabilities().extension(name))?
    }

    /// Requires an extension of the client, and returns its settings as [`Ctx::extension`] does.
    ///
    /// # Errors
    ///
    /// If the client does not have the extension: in 2026-07-28 the error -32021 with the required extension, before
    /// that an error message.
    pub fn require_extension(&self, name: &str) -> Result<&JsonObject> {
        let settings = self.extension(name);
        settings.ok_or_else(|| Error::extension_required(name))
    }

    /// Returns the client's value in `_meta` for a custom key such as `com.example/tenant`. It is not verified, and
    /// each round of a call may have another one.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.incoming().meta().get(key)
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    #[cfg(debug_assertions)]
    pub(crate) fn clock(&self) -> &dyn Clock {
        &**self.0.cell.clock()
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.backing.states
    }

    /// Returns a clone of a server state, for extensions of the context. Handlers should take a [`State`](crate::State)
    /// parameter instead, because a missing state is then found when the server is built.
    ///
    /// # Errors
    ///
    /// If [`ServerBuilder::state`](crate::ServerBuilder::state) was not called with this type.
    pub fn state<T: Clone + Send + Sync + 'static>(&self) -> Result<T> {
        self.states().require()
    }

    /// Returns the request.
    #[must_use]
    pub fn incoming(&self) -> &Incoming {
        &self.0.incoming
    }

    /// Reports progress to the client, if it asked for reports. Values that do not grow, and values from a replay, are
    /// not sent.
    ///
    /// For a task, the message becomes the task's status; without a message, the numbers do.
    ///
    /// While a question waits for its answer, a client of a handshake revision gets a report every
    /// [`limits.asking.progress_interval`](crate::limits::AskingLimits::progress_interval), with values that grow by
    /// less than a thousandth.
    ///
    /// ```
    /// use askback::{Ctx, ctx::Progress};
    ///
    /// # async fn import(ctx: Ctx) {
    /// ctx.progress(Progress::of(2, 7).message("reading the second file"));
    /// // If the total is unknown:
    /// ctx.progress(Progress::at(3).message("three rows"));
    /// # }
    /// ```
    pub fn progress(&self, progress: Progress) {
        let Progress {
            done: progress,
            total,
            message,
        } = progress;
        let message = message.as_deref();
        let token = self.incoming().progress_token();
        if token.is_none() && !self.is_task() {
            return;
        }
        let is_live = self.0.cell.flow().is_live();
        let to_send = self.0.cell.progress().report(progress, total, is_live);
        let Some(to_send) = to_send else { return };
        if self.is_task() {
            return self.0.peer.stands(standing(progress, total, message));
        }
        let Some(token) = token else { return };
        self.0
            .peer
            .notify(ServerNotification::Progress(ProgressParams {
                progress_token: token.clone(),
                progress: to_send,
                total,
                message: message.map(str::to_owned),
                meta: None,
            }));
    }

    /// Sends a log message to the client, if the client wants this level and the server enabled
    /// [`ServerBuilder::logging`](crate::ServerBuilder::logging).
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        if !self.0.backing.logs || !self.0.peer.wants_log(level) || !self.0.cell.flow().is_live() {
            return;
        }
        let data = match RawJson::new(&data) {
            Ok(data) => data,
            Err(error) => {
                tracing::warn!(%error, "a log line cannot be written as JSON");
                return;
            }
        };
        let params = LoggingMessageParams {
            level,
            logger: None,
            data,
            meta: None,
        };
        self.0.peer.notify(ServerNotification::Message(params));
    }

    /// Returns the principal that the server's authentication identified. It never comes from the client's own claims.
    /// A state sealed for one principal cannot be opened for another.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.incoming().principal()
    }

    /// Returns the request's trace context and baggage, if the client sent them. They are not verified.
    #[must_use]
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.incoming().origin.trace.as_deref()
    }

    /// Closes the connection of the response, so that it is not held open during long work. The client reconnects for
    /// the rest (2025-11-25, basic/transports, Sending Messages to the Server). Does nothing with other transports and
    /// revisions.
    pub fn close_stream(&self) {
        self.0.peer.close_stream();
    }

    /// Notifies subscribed clients of all principals that something the server offers has changed. A replay does not
    /// repeat it.
    pub fn changed(&self, changed: Change) {
        self.tell_changed(&changed, Audience::All);
    }

    /// Notifies only the clients of the caller's [principal](Ctx::principal). Unauthenticated callers count as one
    /// principal, so on a local server without a sign-in, all clients are notified.
    pub fn changed_for_caller(&self, changed: Change) {
        self.tell_changed(&changed, Audience::only(self.principal()));
    }

    fn tell_changed(&self, changed: &Change, to: Audience) {
        if self.0.cell.flow().is_live() {
            self.0.server.changed(changed, to);
        }
    }

    pub(crate) fn call_server(&self) -> &Arc<dyn CallServer> {
        &self.0.server
    }

    fn identity(&self) -> Identity {
        let identity = self.0.cell.identity();
        identity.expect("the operating system has random bytes to give")
    }
}

fn standing(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    match (message, total) {
        (Some(message), _) => message.to_owned(),
        (None, Some(total)) => format!("{progress} of {total}"),
        (None, None) => progress.to_string(),
    }
}
