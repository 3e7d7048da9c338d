//! The context of a handler: the way back to the client.

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
};
#[cfg(debug_assertions)]
use crate::clock::Clock;
use crate::{
    error::{Error, Result},
    flow::{BoxFuture, Cell, NamePolicy, Scope, Timer, course_of_step},
};
pub use crate::{
    flow::Step,
    roots::{RemoteRoots, Roots},
};

/// The context of a handler: questions to the person, the model and the client behind a call, and
/// the means to do things once although the handler may run several times.
///
/// # The one thing to know
///
/// In 2026-07-28 a handler that asks is **run again from the top** when the answer arrives, on
/// whichever process the retry reaches. Answers are recorded, so the code looks and behaves as if
/// it had simply waited; but everything else between two questions may happen again. Code that must not
/// run twice belongs in [`Ctx::run`] (recorded, not repeated on a retry) or [`Ctx::commit`] (at most once,
/// even if a retry is sent twice). A step before the first question is repeated when the first
/// response is lost, since nothing has been recorded yet.
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

/// One call, as its handler sees it.
pub(crate) struct Call {
    pub(crate) cell: Arc<Cell>,
    pub(crate) incoming: Arc<Incoming>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) server: Arc<dyn CallServer>,
    pub(crate) backing: Arc<Backing>,
    /// The needs of the handler's parameters.
    pub(crate) parameters: Arc<Parameters>,
}

/// How far the work of a call has come: see [`Ctx::progress`].
#[derive(Debug, Clone, PartialEq)]
#[must_use = "pass it to `Ctx::progress`"]
pub struct Progress {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Progress {
    /// So much is done, and it is not known of how much. Numbers grow from one to the next.
    pub fn at(done: impl Into<f64>) -> Self {
        Self {
            done: done.into(),
            total: None,
            message: None,
        }
    }

    /// So much of a total is done.
    pub fn of(done: impl Into<f64>, total: impl Into<f64>) -> Self {
        Self {
            total: Some(total.into()),
            ..Self::at(done)
        }
    }

    /// Sets the words that a person reads.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

/// The error of [`Ctx::timeout`] when the time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time is over")]
pub struct Elapsed;

impl Ctx {
    pub(crate) fn new(call: Call) -> Self {
        Self(Arc::new(call))
    }

    /// Does something whose result is recorded: it is not done again when the handler is run again
    /// after a question.
    ///
    /// The closure may borrow from the handler: `async || Ok(path.len())`. Its result is recorded, whether Ok or Err. It may not ask, and may take
    /// [`limits.asking.run`](crate::limits::AskingLimits::run) unless [`Step::limit`] says otherwise; a question of a concurrent branch waits for it.
    /// Before the first question it is done at least once: there is nothing yet that remembers it.
    ///
    /// # Errors
    ///
    /// The closure's error, and a step that takes too long or was started outside the handler.
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

    /// Does something at most once in this flow, even if the retry that reaches it is sent twice,
    /// to two processes, or forked from an older round: the first claims it in the server's
    /// [store](crate::store), and every other gets the same result.
    ///
    /// A server that was given no store promises this for one machine, across restarts and crashes. Servers
    /// on several machines need a store that they share ([`ServerBuilder::store`](crate::ServerBuilder::store)).
    /// A commit before the first question is done like a [run](Ctx::run): there is no flow yet to
    /// return to.
    ///
    /// The closure owns what it uses: `async move || ..`, with clones of what is needed afterwards. A commit
    /// that has begun runs to its end in a task of its own, also if the client goes away or cancels
    /// the call. A retry waits for it and gets its value.
    ///
    /// The name is claimed, so each commit of a call needs its own name. The value is kept
    /// for two days: return a reference, not a document.
    ///
    /// # Errors
    ///
    /// As [`Ctx::run`]. If the process ended after the commit was begun and before it had its value, every
    /// later attempt gets an error that says that its outcome is unknown. A name that was used before, also in
    /// a transaction, is refused. A value that is larger than
    /// [`limits.asking.commit_bytes`](crate::limits::AskingLimits::commit_bytes) is not kept: the
    /// effect has happened and does not happen again, and every attempt is told that its value was
    /// too large. If the store has no room, or
    /// [`limits.asking.commits`](crate::limits::AskingLimits::commits) are running, nothing happens.
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

    /// Returns the name of this flow: the same for every execution of it, and no other flow's. It is
    /// what claims are kept under in a [store](crate::store).
    ///
    /// # Panics
    ///
    /// If the operating system has no random bytes to give, as [`Ctx::random`].
    #[must_use]
    pub fn flow_id(&self) -> FlowId {
        self.identity().flow
    }

    /// A text that is the same for every execution of this flow and differs between flows and
    /// names: what to send to a service that accepts an idempotency key.
    ///
    /// # Panics
    ///
    /// If the operating system has no random bytes to give, as [`Ctx::random`].
    #[must_use]
    pub fn idempotency_key(&self, name: &str) -> String {
        let digest = Sha256::new()
            .chain_update(self.identity().flow.0)
            .chain_update(name)
            .finalize();
        hex(&digest[..16])
    }

    /// Runs a future concurrently with the handler, polled with it and dropped with it. It may ask; a
    /// task of the runtime may not.
    pub fn spawn<T, Fut>(&self, future: Fut) -> impl Future<Output = T> + Send + use<T, Fut>
    where
        T: Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.0.cell.spawn(Box::pin(async move {
            // Nobody waits for a child whose handle was dropped.
            let _ = sender.send(future.await);
        }));
        async move {
            match receiver.await {
                Ok(value) => value,
                // The child is dropped only together with the handler that waits here.
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Waits. The only wait that may race a question: its end is kept while the handler is not.
    pub fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + use<> {
        Timer::new(&self.0.cell, "sleep", span)
    }

    /// Gives a future, such as a question, a limited time. On a retry that comes later, the time
    /// is over before its answers are looked at.
    ///
    /// # Errors
    ///
    /// [`Elapsed`] when the time is over first.
    pub async fn timeout<Fut: Future>(
        &self,
        span: Duration,
        future: Fut,
    ) -> Result<Fut::Output, Elapsed> {
        let mut timer = Timer::new(&self.0.cell, "timeout", span);
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| {
            // Polled in any case, so that it counts also where the future is ready at once.
            let over = Pin::new(&mut timer).poll(cx);
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Ok(output)),
                Poll::Pending => over.map(|()| Err(Elapsed)),
            }
        })
        .await
    }

    /// The time, in milliseconds since the Unix epoch, as this flow sees it: the time of the last
    /// answer or step, so that a handler that is run again sees the same.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.0.cell.flow().now()
    }

    /// A random number that is the same whenever the handler is run again.
    ///
    /// # Panics
    ///
    /// If the operating system has no random bytes to give: nothing can be kept safe there.
    #[must_use]
    pub fn random(&self) -> u64 {
        u64::from_le_bytes(self.random_bytes())
    }

    /// Random bytes (at most 32) that are the same whenever the handler is run again.
    ///
    /// # Panics
    ///
    /// As [`Ctx::random`].
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

    /// Whether the handler is being dropped because its questions went out, to be run again when
    /// the answers come. For guards that must not undo anything then.
    #[must_use]
    pub fn is_suspending(&self) -> bool {
        self.0.cell.is_suspending()
    }

    /// Makes this call a task: the client is given a handle in place of a result, and what comes
    /// after goes on without the request (the extension `io.modelcontextprotocol/tasks`, SEP-2663).
    ///
    /// The handler is not run again from here on. Earlier questions were asked in ordinary rounds; the client finds later
    /// questions, and those that are still open, in the task. The [progress](Ctx::progress) becomes the message of the task.
    ///
    /// Where the call is a task already, or the client takes none, nothing happens and the call
    /// goes on.
    ///
    /// # Errors
    ///
    /// Only tools that were declared so ([`Tool::may_become_task`](crate::Tool::may_become_task))
    /// become tasks, and only in the handler's own future.
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

    /// Whether this call is a task: the client does not wait for its response.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0.cell.is_task()
    }

    /// Whether the client takes forms.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.incoming().takes_forms()
    }

    /// Whether the client takes links.
    #[must_use]
    pub fn can_elicit_url(&self) -> bool {
        self.incoming().takes_links()
    }

    /// Whether the client has a model to ask.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.incoming().capabilities().samples()
    }

    /// Whether the client says which folders the server may work in.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        self.incoming().capabilities().roots()
    }

    /// Returns the client's own name and version: for display and logs only, because they are
    /// unverified.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.incoming().client_info()
    }

    /// The bounds this server keeps.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.backing.limits
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.incoming().capabilities()
    }

    /// Returns the settings of an extension that the client declares, which may be empty; `None`
    /// if the client, or its revision, does not have the extension (2026-07-28, basic/versioning,
    /// Extension Negotiation). Then do without it, or refuse the call with [`Ctx::require_extension`].
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
    /// Where the client does not have it: in 2026-07-28 the error -32021 with the extension that is
    /// required, before that an error in words.
    pub fn require_extension(&self, name: &str) -> Result<&JsonObject> {
        let settings = self.extension(name);
        settings.ok_or_else(|| Error::extension_required(name))
    }

    /// Returns a value that the client says in `_meta` under a key of its own, such as
    /// `com.example/tenant`. Nobody vouches for it, and each round of a call may say another.
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

    /// Returns a clone of a state of the server, for those who extend the context. A handler takes it as a parameter
    /// ([`State`](crate::State)), so that a server without it is not built.
    ///
    /// # Errors
    ///
    /// Where [`ServerBuilder::state`](crate::ServerBuilder::state) was not given one of this type.
    pub fn state<T: Clone + Send + Sync + 'static>(&self) -> Result<T> {
        self.states().require()
    }

    /// The request as it came.
    #[must_use]
    pub fn incoming(&self) -> &Incoming {
        &self.0.incoming
    }

    /// Tells the client how far the work has come, if it asked to be told. Values that do not
    /// grow, and repeats of what a client was told before a question, are left out.
    ///
    /// The message of a task's progress is the status of the task; without one, its numbers are.
    ///
    /// While a question waits for its answer, the client of a handshake revision is told so every
    /// [`limits.asking.progress_interval`](crate::limits::AskingLimits::progress_interval), with
    /// values that grow by less than a thousandth.
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

    /// Sends a log line to the client, if it wants lines of this level, and the server was built to
    /// send them ([`ServerBuilder::logging`](crate::ServerBuilder::logging)).
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

    /// Returns the principal, where the server's own authentication identified one; the client's
    /// own word does not count. A state sealed for one principal opens for no other.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.incoming().principal()
    }

    /// Returns the trace of the request and its baggage, if the client sent them. They are not checked.
    #[must_use]
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.incoming().origin.trace.as_deref()
    }

    /// Lets go of the connection over which the response would come, so that none is held open
    /// through long work: the client comes back for the rest (2025-11-25, basic/transports,
    /// Sending Messages to the Server). Does nothing on other transports and in other revisions.
    pub fn close_stream(&self) {
        self.0.peer.close_stream();
    }

    /// Tells the clients that care that something the server offers has changed, those of every
    /// principal; not again when the handler is run again.
    pub fn changed(&self, changed: Change) {
        self.tell_changed(&changed, Audience::All);
    }

    /// Tells of a change that concerns this caller alone: the clients of the same
    /// [principal](Ctx::principal) are told, and no others. Unknown callers count as one principal:
    /// on a server of one machine, without a sign-in, all are told.
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

/// How far a task has come, in words.
fn standing(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    match (message, total) {
        (Some(message), _) => message.to_owned(),
        (None, Some(total)) => format!("{progress} of {total}"),
        (None, None) => progress.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
