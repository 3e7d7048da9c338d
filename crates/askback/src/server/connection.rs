//! Serves one client over a channel of messages.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use askback_core::{
    ask::Reply,
    engine::server::{AskId, Call, Changed, Connection, Output},
    jsonrpc::{ErrorObject, RequestId},
    protocol::{InputRequest, LoggingLevel, ServerNotification},
};
use tokio::{
    sync::{Notify, oneshot},
    task::{AbortHandle, Id, JoinSet},
};

use super::{
    Observer, Observing, Peer, Shared,
    asks::{self, Asker, Asks},
    dispatch::{self, Answered},
};
use crate::{
    flow::BoxFuture,
    transport::{Channel, Sender},
};

/// How long calls may still work when their client has closed its side: servers should exit
/// promptly then (2026-07-28, basic/transports/stdio, Shutdown).
const GRACE: Duration = Duration::from_secs(1);

/// Of how many bytes at a time it is waited that they are written, before more of the client is
/// read. Of less, as many as the channel holds may be under way: to wait for each would cost more
/// than the calls.
const WORTH_WAITING: usize = 64 << 10;

/// Serves until the channel ends; what is still running then is dropped.
pub(super) async fn serve(shared: Arc<Shared>, channel: Channel) -> io::Result<()> {
    let (mut receiver, sender) = channel.split();
    let link = Arc::new(Link::new(&shared));
    let observer: Weak<dyn Observer> = Arc::downgrade(&link) as _;
    let observing = Observing::new(&shared, observer);
    let mut writing = tokio::spawn(write(Arc::clone(&link), sender));
    let mut written = None;
    let mut running = Running::default();
    let ended = loop {
        for call in link.take_calls() {
            running.start(&shared, &link, call);
        }
        for id in link.take_cancelled() {
            running.cancel(&id);
        }
        tokio::select! {
            biased;
            Some(ended) = running.calls.join_next_with_id() => running.end(&link, ended),
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
        }
    };
    drop(observing);
    link.hang_up();
    running.end_soon(&link).await;
    link.finish();
    let written = match written {
        Some(done) => done,
        None => writing.await,
    };
    ended.and(written.unwrap_or_else(|error| Err(io::Error::other(error))))
}

/// What the tasks of a connection share: the engine, and what it wants done.
struct Link {
    state: Mutex<State>,
    shared: Arc<Shared>,
    /// How many bytes may wait to be written.
    most_bytes: usize,
    /// There is something to write, or nothing will come any more.
    queued: Notify,
    /// Something was written.
    drained: Notify,
}

struct State {
    engine: Connection,
    asks: Asks,
    calls: Vec<Call>,
    cancelled: Vec<RequestId>,
    outgoing: Vec<Vec<u8>>,
    outgoing_bytes: usize,
    /// What changed while the client did not read: each thing is told once, when it does again.
    untold: BTreeSet<Changed>,
    finished: bool,
}

impl Link {
    fn new(shared: &Arc<Shared>) -> Self {
        let engine = Connection::new(Arc::clone(&shared.profile));
        Self {
            state: Mutex::new(State {
                engine,
                asks: Asks::default(),
                calls: Vec::new(),
                cancelled: Vec::new(),
                outgoing: Vec::new(),
                outgoing_bytes: 0,
                untold: BTreeSet::new(),
                finished: false,
            }),
            shared: Arc::clone(shared),
            most_bytes: shared.limits().message_bytes,
            queued: Notify::new(),
            drained: Notify::new(),
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

    /// What was taken has been written.
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

    fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock().calls)
    }

    fn take_cancelled(&self) -> Vec<RequestId> {
        std::mem::take(&mut self.lock().cancelled)
    }

    /// Does something with the engine, and then what the engine wants done.
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut guard = self.lock();
        let state = &mut *guard;
        let result = act(state);
        let before = state.outgoing.len();
        while let Some(output) = state.engine.poll() {
            match output {
                Output::Send(message) | Output::Batch(_, message) => {
                    state.outgoing_bytes += message.len();
                    state.outgoing.push(message);
                }
                Output::Call(call) => state.calls.push(*call),
                Output::Cancel(id) => state.cancelled.push(id),
                Output::Answer(ask, answer) => state.asks.answer(ask, answer),
                Output::RootsChanged => {}
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
    fn changed(&self, changed: &Changed) {
        self.with(|state| {
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

/// The calls in progress, each a task of its own.
#[derive(Default)]
struct Running {
    calls: JoinSet<Answered>,
    ids: HashMap<Id, RequestId>,
    tasks: HashMap<RequestId, AbortHandle>,
}

impl Running {
    fn start(&mut self, shared: &Arc<Shared>, link: &Arc<Link>, call: Call) {
        let id = call.id.clone();
        let peer = Arc::new(ChannelPeer {
            link: Arc::clone(link),
            call: id.clone(),
        });
        let task = self
            .calls
            .spawn(dispatch::answer(Arc::clone(shared), call, peer));
        self.ids.insert(task.id(), id.clone());
        self.tasks.insert(id, task);
    }

    /// Lets what runs end, for a moment: a client may close its side with the last request.
    async fn end_soon(&mut self, link: &Link) {
        let all = async {
            while let Some(ended) = self.calls.join_next_with_id().await {
                self.end(link, ended);
            }
        };
        // What takes longer is dropped with its connection.
        let _ = tokio::time::timeout(GRACE, all).await;
    }

    fn cancel(&mut self, id: &RequestId) {
        if let Some(task) = self.tasks.remove(id) {
            task.abort();
        }
    }

    fn end(&mut self, link: &Link, ended: Result<(Id, Answered), tokio::task::JoinError>) {
        let task = match &ended {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let Some(id) = self.ids.remove(&task) else {
            return;
        };
        // The id may belong to a later request by now, if this one was cancelled.
        if self
            .tasks
            .get(&id)
            .is_some_and(|current| current.id() == task)
        {
            self.tasks.remove(&id);
        }
        // One that was aborted was cancelled, and is not answered.
        if let Ok((_, answered)) = ended {
            link.with(|state| state.engine.respond(&id, answered.message));
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
        request: InputRequest,
    ) -> BoxFuture<'static, Result<Reply, ErrorObject>> {
        asks::ask(&self.link, &self.call, key, request)
    }
}

impl Asker for Link {
    fn send(
        &self,
        call: &RequestId,
        key: &str,
        request: InputRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Option<AskId> {
        self.with(|state| {
            let ask = state.engine.ask(call, key, request)?;
            state.asks.add(ask, reply);
            Some(ask)
        })
    }

    fn withdraw(&self, _: &RequestId, ask: AskId) {
        self.with(|state| {
            state.asks.remove(ask);
            state.engine.withdraw(ask);
        });
    }
}
