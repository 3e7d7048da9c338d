//! The state of a connection that its calls share with it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{
    ask::{Principal, Reply},
    engine::server::{AskId, Call, Changed, Connection, Output, Place},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{LoggingLevel, ServerNotification},
};
use tokio::{
    sync::{Notify, oneshot},
    task::AbortHandle,
};

use crate::{
    ctx::{Audience, Observer, Peer, Permitted},
    flow::BoxFuture,
    server::{
        Shared,
        asks::{self, Asker, Asks},
        roots::RootsWatch,
    },
};

/// The message for calls that a stopping server does not begin, or does not wait for.
const STOPPING: &str = "the server is stopping";

/// The state that the tasks of a connection share: the engine and its outputs.
pub(super) struct Link {
    state: Mutex<State>,
    pub(super) shared: Arc<Shared>,
    /// How many bytes may wait to be written.
    most_bytes: usize,
    /// There is something to write, or nothing will come any more.
    pub(super) queued: Notify,
    /// Something was written.
    pub(super) drained: Notify,
    /// No call is in progress any more.
    pub(super) idle: Notify,
}

pub(super) struct State {
    engine: Connection,
    asks: Asks,
    roots: RootsWatch,
    pub(super) calls: Vec<Call>,
    /// The calls in progress, each a task of its own.
    pub(super) running: HashMap<RequestId, Task>,
    pub(super) last_task: u64,
    pub(super) outgoing: Vec<Vec<u8>>,
    outgoing_bytes: usize,
    /// The changes while the client did not read: each is notified once, when it reads again.
    untold: BTreeSet<Changed>,
    pub(super) finished: bool,
}

/// The task that answers a call. A later call may have the id of one that was cancelled.
pub(super) struct Task {
    pub(super) number: u64,
    pub(super) handle: AbortHandle,
}

impl Link {
    pub(super) fn new(
        shared: &Arc<Shared>,
        place: Place,
        principal: Option<Arc<Principal>>,
    ) -> Self {
        let engine = Connection::new(Arc::clone(&shared.profile))
            .from_place(place)
            .of(principal);
        Self {
            state: Mutex::new(State {
                engine,
                asks: Asks::default(),
                roots: RootsWatch::default(),
                calls: Vec::new(),
                running: HashMap::new(),
                last_task: 0,
                outgoing: Vec::new(),
                outgoing_bytes: 0,
                untold: BTreeSet::new(),
                finished: false,
            }),
            shared: Arc::clone(shared),
            most_bytes: shared.limits().wire.message_bytes,
            queued: Notify::new(),
            drained: Notify::new(),
            idle: Notify::new(),
        }
    }

    pub(super) fn handle(&self, message: &[u8]) {
        self.with(|state| state.engine.handle_message(message));
    }

    pub(super) fn finish(&self) {
        self.with(|state| {
            state.engine.finish();
            state.finished = true;
        });
        self.queued.notify_one();
    }

    /// Nobody will answer any more.
    pub(super) fn hang_up(&self) {
        self.lock().asks.clear();
    }

    /// Whether more may be read: a client that does not read what it is sent is not listened to.
    pub(super) fn has_room(&self) -> bool {
        self.lock().outgoing_bytes <= self.most_bytes
    }

    /// Notes that these bytes were written.
    pub(super) fn wrote(&self, bytes: usize) {
        self.with(|state| {
            state.outgoing_bytes -= bytes;
            if state.outgoing_bytes <= self.most_bytes {
                for changed in std::mem::take(&mut state.untold) {
                    self.tell(state, &changed);
                }
            }
        });
        self.drained.notify_one();
    }

    /// Tells of a change; of a task, how it stands by now.
    pub(super) fn tell(&self, state: &mut State, changed: &Changed) {
        match changed {
            Changed::Task(id) => {
                if state.engine.wants(changed)
                    && let Ok(task) = self.shared.task(id, state.engine.principal())
                {
                    state.engine.task_changed(&task);
                }
            }
            _ => state.engine.changed(changed),
        }
    }

    /// Whether any call is in progress.
    pub(super) fn is_busy(&self) -> bool {
        !self.lock().running.is_empty()
    }

    /// Answers a call that is not begun any more.
    pub(super) fn refuse(&self, id: &RequestId) {
        let error = ErrorObject::internal(STOPPING);
        let response = jsonrpc::write_error(Some(id), &error);
        self.with(|state| state.engine.respond(id, response));
    }

    /// Answers what is not waited for any more.
    pub(super) fn stop(&self) {
        let running = std::mem::take(&mut self.lock().running);
        if !running.is_empty() {
            tracing::warn!(
                "calls still went on when the server stopped: they are answered with an error"
            );
        }
        for (id, task) in running {
            task.handle.abort();
            self.refuse(&id);
        }
    }

    pub(super) fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Sends what a task answers, unless its call was cancelled meanwhile.
    pub(super) fn respond(&self, id: &RequestId, number: u64, response: Vec<u8>) {
        self.with(|state| {
            let its_own = |task: &Task| task.number == number;
            if state.running.get(id).is_some_and(its_own) {
                state.running.remove(id);
                state.engine.respond(id, response);
            }
            if state.running.is_empty() {
                self.idle.notify_one();
            }
        });
    }

    /// Does something with the engine, and then what the engine wants done.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut guard = self.lock();
        let state = &mut *guard;
        let result = act(state);
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
                        task.handle.abort();
                    }
                }
                Output::Answer(ask, answer) => state.asks.answer(ask, answer),
                Output::RootsChanged(origin) => self.shared.roots_changed(&state.roots, *origin),
            }
        }
        if state.outgoing.len() > before {
            self.queued.notify_one();
        }
        result
    }

    /// A panic while the lock was held cannot have left the engine half-changed: it calls nobody.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Link {
    fn changed(&self, changed: &Changed, to: Audience<'_>) {
        self.with(|state| {
            if !to.has(state.engine.principal().map(|principal| &**principal)) {
                return;
            }
            if state.outgoing_bytes <= self.most_bytes {
                self.tell(state, changed);
            } else if state.engine.wants(changed) {
                state.untold.insert(changed.clone());
            }
        });
    }
}

/// The client of one request on a channel.
pub(super) struct ChannelPeer {
    pub(super) link: Arc<Link>,
    pub(super) call: RequestId,
}

impl Peer for ChannelPeer {
    fn notify(&self, notification: ServerNotification) {
        // What tells only of the way is left out where the client does not keep up.
        if self.link.has_room() {
            self.link
                .with(|state| state.engine.notify(&self.call, notification));
        }
    }

    fn complete_elicitation(&self, elicitation_id: String) {
        self.link
            .with(|state| state.engine.complete_elicitation(elicitation_id));
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        self.link.lock().engine.wants_log(&self.call, level)
    }

    fn ask(
        &self,
        key: &str,
        question: Permitted,
    ) -> BoxFuture<'static, Result<Reply, ErrorObject>> {
        asks::ask(&self.link, &self.call, key, question)
    }
}

impl Asker for Link {
    fn send(
        &self,
        call: &RequestId,
        key: &str,
        question: Permitted,
        reply: oneshot::Sender<Reply>,
    ) -> Result<AskId, ErrorObject> {
        self.with(|state| {
            let ask = state
                .engine
                .ask(call, key, question.into_inner())
                .ok_or_else(asks::over)?;
            state.asks.add(ask, reply);
            Ok(ask)
        })
    }

    fn withdraw(&self, _: &RequestId, ask: AskId) {
        self.with(|state| {
            state.asks.remove(ask);
            state.engine.withdraw(ask);
        });
    }
}
