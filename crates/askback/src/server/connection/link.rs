//! The state that a connection shares with its calls.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, MutexGuard},
    task::Waker,
};

use askback_core::{
    ask::{CheckedRequest, Principal, Reply},
    engine::server::{AskId, Call, Change, ClientLocation, Connection, Output},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{LoggingLevel, ServerNotification, SubscriptionFilter},
};
use tokio::{sync::oneshot, task::AbortHandle};

#[cfg(feature = "bridge")]
use crate::server::forward::SessionClient;
use crate::{
    ctx::{AskingPeer, Audience, Observer, Peer},
    flow::BoxFuture,
    mutex::Mutex,
    server::{
        Shared,
        asks::{self, PendingQuestions, QuestionSender},
        roots::RootsWatch,
    },
};
#[cfg(feature = "bridge")]
use askback_core::engine::server::Origin;

/// The error for calls that a stopping server does not start, or does not wait for.
const STOPPING: &str = "the server is stopping";

pub(super) struct Link {
    state: Mutex<State>,
    pub(super) shared: Arc<Shared>,
    /// How many bytes may wait to be written.
    most_bytes: usize,
}

pub(super) struct State {
    engine: Connection,
    asks: PendingQuestions<AskId>,
    roots: RootsWatch,
    calls: Vec<Call>,
    running: HashMap<RequestId, Task>,
    last_task: u64,
    /// Whether the current message has aborted a task, which is dropped when it is next scheduled.
    aborted: bool,
    outgoing: Vec<Vec<u8>>,
    outgoing_bytes: usize,
    /// The bytes that were taken from `outgoing` and are not written yet.
    unwritten: usize,
    /// The changes while the client did not read: each is sent once, when it reads again.
    untold: BTreeSet<Change>,
    resting: Option<Waker>,
}

/// The task of a call. The number distinguishes it from a later call with the same id.
pub(super) struct Task {
    number: u64,
    handle: Option<AbortHandle>,
}

impl Link {
    pub(super) fn new(
        shared: &Arc<Shared>,
        place: ClientLocation,
        principal: Option<Arc<Principal>>,
    ) -> Self {
        let engine = Connection::new(Arc::clone(&shared.profile))
            .from_place(place)
            .of(principal);
        Self {
            state: Mutex::new(State {
                engine,
                asks: PendingQuestions::default(),
                roots: RootsWatch::default(),
                calls: Vec::new(),
                running: HashMap::new(),
                last_task: 0,
                aborted: false,
                outgoing: Vec::new(),
                outgoing_bytes: 0,
                unwritten: 0,
                untold: BTreeSet::new(),
                resting: None,
            }),
            shared: Arc::clone(shared),
            most_bytes: shared.limits().wire.message_bytes,
        }
    }

    fn watches(&self, subscription: &RequestId, filter: Option<&SubscriptionFilter>) {
        #[cfg(feature = "bridge")]
        if let Some(forward) = &self.shared.forward {
            forward.watches(subscription, filter);
        }
        #[cfg(not(feature = "bridge"))]
        let _ = (self, subscription, filter);
    }

    /// Takes a message of the client, and returns its calls in `calls`. Returns whether it has
    /// aborted a task: the resources of that task are free only after its next turn.
    pub(super) fn handle(&self, message: &[u8], calls: &mut Vec<Call>) -> bool {
        let mut state = self.lock();
        state.engine.handle_message(message);
        self.drain(&mut state);
        std::mem::swap(&mut state.calls, calls);
        std::mem::take(&mut state.aborted)
    }

    pub(super) fn finish(&self) {
        self.with(|state| state.engine.finish());
    }

    /// Notes that the connection is awake and will check for work before it rests again.
    pub(super) fn attend(&self) {
        self.lock().resting = None;
    }

    /// Lets the connection rest until there is something to send, or the last call has ended.
    /// Returns `false` if this is already so.
    pub(super) fn rest(&self, was_busy: bool, waker: &Waker) -> bool {
        let mut state = self.lock();
        let is_over = was_busy && state.running.is_empty();
        let rests = state.outgoing.is_empty() && !is_over;
        if rests {
            state.resting = Some(waker.clone());
        }
        rests
    }

    pub(super) fn take_outgoing(&self, messages: &mut Vec<Vec<u8>>) {
        let mut state = self.lock();
        std::mem::swap(&mut state.outgoing, messages);
        state.unwritten += std::mem::take(&mut state.outgoing_bytes);
    }

    /// No more answers can arrive.
    pub(super) fn hang_up(&self) {
        self.lock().asks.clear();
    }

    pub(super) fn has_room(&self) -> bool {
        self.lock().has_room(self.most_bytes)
    }

    /// Notes that everything taken so far is written except for these bytes.
    pub(super) fn wrote_all_but(&self, unwritten: usize) {
        let mut state = self.lock();
        state.unwritten = unwritten;
        if !state.untold.is_empty() && state.has_room(self.most_bytes) {
            for changed in std::mem::take(&mut state.untold) {
                self.tell(&mut state, &changed);
            }
            self.drain(&mut state);
        }
    }

    fn tell(&self, state: &mut State, changed: &Change) {
        match changed {
            Change::Task(id) => {
                if state.engine.wants(changed)
                    && let Ok(task) = self.shared.task(id, state.engine.principal())
                {
                    state.engine.task_changed(&task);
                }
            }
            _ => state.engine.changed(changed),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.lock().running.is_empty()
    }

    pub(super) fn refuse(&self, id: &RequestId) {
        let error = ErrorObject::internal(STOPPING);
        let response = jsonrpc::write_error(Some(id), &error);
        self.with(|state| state.engine.respond(id, response));
    }

    /// Aborts the running calls, and answers them with an error.
    pub(super) fn stop(&self) {
        let running = self.take_tasks();
        if !running.is_empty() {
            tracing::warn!(
                "calls still went on when the server stopped: they are answered with an error"
            );
        }
        for (id, task) in running {
            task.abort();
            self.refuse(&id);
        }
    }

    /// Registers the task of a call, and returns its number. Its handle is added later: a runtime
    /// that is shutting down may drop the task while it is spawned, and the dropped values may need
    /// this lock.
    pub(super) fn begin_task(&self, call: RequestId) -> u64 {
        let mut state = self.lock();
        state.last_task += 1;
        let number = state.last_task;
        let handle = None;
        state.running.insert(call, Task { number, handle });
        number
    }

    pub(super) fn handle_task(&self, call: &RequestId, number: u64, handle: AbortHandle) {
        let mut state = self.lock();
        let task = state.running.get_mut(call);
        if let Some(task) = task.filter(|task| task.number == number) {
            task.handle = Some(handle);
        }
    }

    pub(super) fn take_tasks(&self) -> HashMap<RequestId, Task> {
        std::mem::take(&mut self.lock().running)
    }

    pub(super) fn respond(&self, id: &RequestId, response: Vec<u8>) {
        self.with(|state| state.engine.respond(id, response));
    }

    /// The response is dropped if the call was cancelled meanwhile.
    pub(super) fn finish_task(&self, id: &RequestId, number: u64, response: Vec<u8>) {
        let resting = self.with(|state| {
            let its_own = |task: &Task| task.number == number;
            if state.running.get(id).is_some_and(its_own) {
                state.running.remove(id);
                state.engine.respond(id, response);
            }
            // The response of a batch may wait for calls that were cancelled.
            state.running.is_empty().then(|| state.resting.take())
        });
        if let Some(connection) = resting.flatten() {
            connection.wake();
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        let to_send = self.drain(&mut state);
        let resting = if to_send { state.resting.take() } else { None };
        drop(state);
        if let Some(connection) = resting {
            connection.wake();
        }
        result
    }

    fn drain(&self, state: &mut State) -> bool {
        let before = state.outgoing.len();
        while let Some(output) = state.engine.poll() {
            match output {
                Output::Send(message) | Output::Batch(_, message) | Output::Ask(_, message) => {
                    state.outgoing_bytes += message.len();
                    state.outgoing.push(message);
                }
                Output::Call(call) => state.calls.push(*call),
                Output::Cancel(id, reason) => {
                    tracing::debug!(reason = reason.as_deref(), "a client cancelled a request");
                    state.calls.retain(|call| call.id != id);
                    if let Some(task) = state.running.remove(&id) {
                        task.abort();
                        state.aborted = true;
                    }
                }
                Output::Answer(ask, answer) => asks::answer(&mut state.asks, &ask, answer),
                Output::StrayAnswer(..) | Output::StrayCancel(_) => {}
                Output::Subscription(id, filter) => self.watches(&id, filter.as_ref()),
                Output::RootsChanged(origin) => self.shared.roots_changed(&mut state.roots, origin),
            }
        }
        state.outgoing.len() > before
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Task {
    pub(super) fn abort(&self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }
}

impl State {
    fn has_room(&self, most_bytes: usize) -> bool {
        self.unwritten + self.outgoing_bytes <= most_bytes
    }
}

impl Observer for Link {
    fn changed(&self, changed: &Change, to: &Audience) {
        self.with(|state| {
            let principal = state.engine.principal().map(|principal| &**principal);
            if !self.shared.concerns(changed, to, principal) {
                return;
            }
            if state.has_room(self.most_bytes) {
                self.tell(state, changed);
            } else if state.engine.wants(changed) {
                state.untold.insert(changed.clone());
            }
        });
    }
}

#[cfg(feature = "bridge")]
impl SessionClient for Link {
    fn peer(self: Arc<Self>) -> Arc<dyn AskingPeer> {
        Arc::new(ChannelPeer {
            link: self,
            call: None,
        })
    }

    fn origin(&self) -> Option<Arc<Origin>> {
        self.lock().engine.session_client().cloned()
    }

    fn end_subscription(&self, id: &RequestId, error: Option<&ErrorObject>) -> bool {
        self.with(|state| state.engine.end_subscription(id, error))
    }
}

#[derive(Clone)]
pub(super) struct ChannelPeer {
    pub(super) link: Arc<Link>,
    pub(super) call: Option<RequestId>,
}

impl Peer for ChannelPeer {
    fn notify(&self, notification: ServerNotification) {
        // Drops progress and log messages if the client is slow.
        if self.link.has_room() {
            self.link.with(|state| match &self.call {
                Some(call) => state.engine.notify(call, notification),
                None => state.engine.notify_client(notification),
            });
        }
    }

    fn complete_elicitation(&self, elicitation_id: String) {
        self.link
            .with(|state| state.engine.complete_elicitation(elicitation_id));
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        let wants = |call| self.link.lock().engine.wants_log(call, level);
        self.call.as_ref().is_some_and(wants)
    }
}

impl AskingPeer for ChannelPeer {
    fn ask(&self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply> {
        asks::ask(self, key, question)
    }
}

impl QuestionSender for ChannelPeer {
    type Id = AskId;
    const OVER: &'static str = "the connection is over";

    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<AskId, ErrorObject> {
        self.link.with(|state| {
            let ask = match &self.call {
                Some(call) => state.engine.ask(call, key, question),
                None => state.engine.ask_in_session(key, question),
            };
            let ask = ask.ok_or_else(asks::over)?;
            state.asks.insert(ask, reply);
            Ok(ask)
        })
    }

    fn withdraw(&self, ask: &AskId) {
        self.link.with(|state| {
            state.asks.remove(ask);
            state.engine.withdraw(*ask);
        });
    }
}
