//! Serves one client over a channel of messages.

use std::{
    collections::{BTreeSet, HashMap},
    future::{Future, pending},
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
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
    time::{Sleep, sleep, timeout},
};

use super::{
    Shared,
    asks::{self, Asker, Asks},
    dispatch,
    roots::RootsWatch,
};
use crate::{
    ctx::{Audience, Observer, Observing, Peer, Permitted},
    flow::BoxFuture,
    transport::{Channel, Sender},
};

/// The message for calls that a stopping server does not begin, or does not wait for.
const STOPPING: &str = "the server is stopping";

/// Of how many bytes at a time it is waited that they are written, before more of the client is
/// read. Of less, as many as the channel holds may be under way: to wait for each would cost more
/// than the calls.
const WORTH_WAITING: usize = 64 << 10;

/// Serves until the channel ends; what is still running a little later is dropped. When the signal comes
/// before, nothing new is begun, and what goes on may end, up to the limit.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut channel: Channel,
    signal: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut signal = pin!(signal);
    let mut stopping: Option<Pin<Box<Sleep>>> = None;
    let principal = channel.take_principal();
    let link = Arc::new(Link::new(&shared, channel.place(), principal));
    let (mut receiver, sender) = channel.split();
    let observer: Weak<dyn Observer> = Arc::downgrade(&link) as _;
    let observing = Observing::new(&shared.changes, observer);
    let mut writing = tokio::spawn(write(Arc::clone(&link), sender));
    let mut written = None;
    let running = Running(Arc::clone(&link));
    let ended = loop {
        for call in link.take_calls() {
            match stopping {
                Some(_) => link.refuse(&call.id),
                None => running.start(call),
            }
        }
        if stopping.is_some() && !link.is_busy() {
            break Ok(());
        }
        tokio::select! {
            biased;
            message = receiver.receive(), if link.has_room() => match message {
                Ok(Some(message)) => link.handle(&message),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
            () = link.drained.notified(), if !link.has_room() => {}
            // Whoever cannot be written to cannot be answered either.
            done = &mut writing => {
                written = Some(done);
                break Ok(());
            }
            () = &mut signal, if stopping.is_none() => {
                stopping = Some(Box::pin(sleep(shared.limits().server.shutdown)));
            }
            () = link.idle.notified(), if stopping.is_some() => {}
            () = over(&mut stopping), if stopping.is_some() => {
                link.stop();
                break Ok(());
            }
        }
    };
    drop(observing);
    link.hang_up();
    running.end_soon().await;
    link.finish();
    let written = match written {
        Some(done) => done,
        None => writing.await,
    };
    ended.and(written.unwrap_or_else(|error| Err(io::Error::other(error))))
}

/// Waits until the calls of a server that stops have had their time.
async fn over(stopping: &mut Option<Pin<Box<Sleep>>>) {
    match stopping {
        Some(grace) => grace.await,
        None => pending().await,
    }
}

/// The state that the tasks of a connection share: the engine and its outputs.
struct Link {
    state: Mutex<State>,
    shared: Arc<Shared>,
    /// How many bytes may wait to be written.
    most_bytes: usize,
    /// There is something to write, or nothing will come any more.
    queued: Notify,
    /// Something was written.
    drained: Notify,
    /// No call is in progress any more.
    idle: Notify,
}

struct State {
    engine: Connection,
    asks: Asks,
    roots: RootsWatch,
    calls: Vec<Call>,
    /// The calls in progress, each a task of its own.
    running: HashMap<RequestId, Task>,
    last_task: u64,
    outgoing: Vec<Vec<u8>>,
    outgoing_bytes: usize,
    /// The changes while the client did not read: each is notified once, when it reads again.
    untold: BTreeSet<Changed>,
    finished: bool,
}

/// The task that answers a call. A later call may have the id of one that was cancelled.
struct Task {
    number: u64,
    handle: AbortHandle,
}

impl Link {
    fn new(shared: &Arc<Shared>, place: Place, principal: Option<Arc<Principal>>) -> Self {
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

    fn handle(&self, message: &[u8]) {
        self.with(|state| state.engine.handle_message(message));
    }

    fn finish(&self) {
        self.with(|state| {
            state.engine.finish();
            state.finished = true;
        });
        self.queued.notify_one();
    }

    /// Nobody will answer any more.
    fn hang_up(&self) {
        self.lock().asks.clear();
    }

    /// Whether more may be read: a client that does not read what it is sent is not listened to.
    fn has_room(&self) -> bool {
        self.lock().outgoing_bytes <= self.most_bytes
    }

    /// Notes that these bytes were written.
    fn wrote(&self, bytes: usize) {
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
    fn tell(&self, state: &mut State, changed: &Changed) {
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
    fn is_busy(&self) -> bool {
        !self.lock().running.is_empty()
    }

    /// Answers a call that is not begun any more.
    fn refuse(&self, id: &RequestId) {
        let error = ErrorObject::internal(STOPPING);
        let response = jsonrpc::write_error(Some(id), &error);
        self.with(|state| state.engine.respond(id, response));
    }

    /// Answers what is not waited for any more.
    fn stop(&self) {
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

    fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Sends what a task answers, unless its call was cancelled meanwhile.
    fn respond(&self, id: &RequestId, number: u64, response: Vec<u8>) {
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
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
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
    fn lock(&self) -> MutexGuard<'_, State> {
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

/// Writes what the engine wants sent, all that has gathered in one go.
async fn write(link: Arc<Link>, mut sender: Sender) -> io::Result<()> {
    loop {
        let (messages, finished) = {
            let mut state = link.lock();
            (std::mem::take(&mut state.outgoing), state.finished)
        };
        if messages.is_empty() {
            if finished {
                return sender.close().await;
            }
            link.queued.notified().await;
            continue;
        }
        let bytes: usize = messages.iter().map(Vec::len).sum();
        for message in messages {
            sender.send(message).await?;
        }
        if bytes > WORTH_WAITING {
            sender.flush().await?;
        }
        link.wrote(bytes);
    }
}

/// Answers calls; whatever is still in progress when it is dropped goes with it.
struct Running(Arc<Link>);

impl Running {
    fn start(&self, call: Call) {
        let link = Arc::clone(&self.0);
        let peer = Arc::new(ChannelPeer {
            link: Arc::clone(&link),
            call: call.id.clone(),
        });
        let (id, key) = (call.id.clone(), call.id.clone());
        let answering = dispatch::answer(Arc::clone(&link.shared), call, peer);
        // It cannot end before it is known.
        let mut state = self.0.lock();
        state.last_task += 1;
        let number = state.last_task;
        let task = tokio::spawn(async move {
            let answered = answering.await;
            link.respond(&id, number, answered.message);
        });
        let handle = task.abort_handle();
        state.running.insert(key, Task { number, handle });
    }

    /// Lets what runs end, for a moment: a client may close its side with the last request.
    async fn end_soon(&self) {
        let all = async {
            while self.0.is_busy() {
                self.0.idle.notified().await;
            }
        };
        // What takes longer is dropped with its connection: servers should exit promptly then
        // (2026-07-28, basic/transports/stdio, Shutdown).
        let _ = timeout(self.0.shared.limits().server.drain, all).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (_, task) in self.0.lock().running.drain() {
            task.handle.abort();
        }
    }
}

/// The client of one request on a channel.
struct ChannelPeer {
    link: Arc<Link>,
    call: RequestId,
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
