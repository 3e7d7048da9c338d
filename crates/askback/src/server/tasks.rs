//! Calls that become tasks (SEP-2663): their work continues without the request.
//!
//! A task lives in the process that does its work, and its handler stays suspended while a user is
//! asked, as in the handshake revisions. In a fleet it is in the journal (`fleet/tasks.rs`).

use std::{
    future::Future,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use askback_core::{
    ask::{CheckedRequest, Principal, Reply},
    auth::Scopes,
    engine::server::{Change, Origin, Room, RoomError},
    jsonrpc::ErrorObject,
    protocol::{DetailedTask, InputResponses, LoggingLevel, RawJson, ServerNotification},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::sync::oneshot;

#[cfg(feature = "http-server")]
use super::fleet;
use super::{
    Shared,
    asks::{self, QuestionSender},
    board::{TaskRoom, Work},
};
use crate::{
    ctx::{AskingPeer, Audience, Peer},
    entropy::entropy,
    error::{Error, Result},
    flow::BoxFuture,
};

/// The interval at which expired tasks are removed.
const ROUND: Duration = Duration::from_secs(10);

/// The client of a task. It gets questions and messages when it polls the task's status.
#[derive(Clone)]
pub(super) struct TaskPeer {
    shared: Arc<Shared>,
    id: Arc<str>,
}

/// The client of a call that may become a task: first the client of the request, then of the task.
pub(super) struct HandoverPeer {
    request: Arc<dyn Peer>,
    task: OnceLock<Arc<dyn Peer>>,
}

/// Ends a task whose work was dropped before its end, so that no client waits for it.
struct Worker(TaskPeer);

impl Shared {
    pub(super) fn begin_task(
        self: &Arc<Self>,
        owner: Option<Arc<Principal>>,
        scopes: Option<Arc<Scopes>>,
    ) -> Result<(TaskPeer, Box<DetailedTask>)> {
        let id = URL_SAFE_NO_PAD.encode(entropy::<24>()?);
        let now = self.clock().now();
        let mut board = self.tasks.lock();
        board.sweep(now);
        let mut place = self.tasks.places.open(owner.as_ref());
        place.resize(1).map_err(full)?;
        let room = TaskRoom {
            _place: place,
            bytes: self.kept.open(owner.as_ref()),
        };
        let seed = board.tasks.begin(&id, owner, room, now).map_err(full)?;
        board.work.insert(id.clone(), Work::default());
        if let Some(scopes) = scopes {
            board.scopes.insert(id.clone(), scopes);
        }
        if !std::mem::replace(&mut board.watched, true) {
            tokio::spawn(look_over(Arc::downgrade(self)));
        }
        drop(board);
        let peer = TaskPeer {
            shared: Arc::clone(self),
            id: id.into(),
        };
        Ok((peer, seed))
    }

    #[cfg(feature = "oauth-server")]
    pub(super) fn scopes_of_task(
        &self,
        id: &str,
        owner: Option<&Arc<Principal>>,
    ) -> Option<Arc<Scopes>> {
        let board = self.tasks.lock();
        let scopes = board.scopes.get(id);
        scopes.filter(|_| board.tasks.is_of(id, owner)).cloned()
    }

    pub(super) fn task(
        &self,
        id: &str,
        owner: Option<&Arc<Principal>>,
    ) -> Result<Box<DetailedTask>> {
        let mut board = self.tasks.lock();
        board.sweep(self.clock().now());
        board.tasks.get(id, owner).ok_or_else(unknown)
    }

    fn answer_task(
        &self,
        id: &str,
        owner: Option<&Arc<Principal>>,
        responses: InputResponses,
    ) -> Result<()> {
        let now = self.clock().now();
        let mut board = self.tasks.lock();
        board.sweep(now);
        let taken = board.tasks.answer(id, owner, responses, now);
        let taken = taken.ok_or_else(unknown)?;
        let changed = !taken.is_empty();
        if let Some(work) = board.work.get_mut(id) {
            for (key, value) in taken {
                asks::answer(&mut work.asks, &key, Ok(value));
            }
        }
        drop(board);
        if changed {
            self.task_changed(id);
        }
        Ok(())
    }

    /// A task that has ended does not change.
    fn cancel_task(&self, id: &str, owner: Option<&Arc<Principal>>) -> Result<()> {
        let now = self.clock().now();
        let mut board = self.tasks.lock();
        board.sweep(now);
        let cancelled = board.tasks.cancel(id, owner, now);
        if cancelled.ok_or_else(unknown)? {
            board.stop(id);
            drop(board);
            self.task_changed(id);
        }
        Ok(())
    }

    pub(super) async fn find_task(
        &self,
        id: &str,
        owner: Option<&Arc<Principal>>,
    ) -> Result<Box<DetailedTask>> {
        #[cfg(feature = "http-server")]
        if let Some(node) = &self.fleet {
            return fleet::tasks::get(self, node, id, owner).await;
        }
        self.task(id, owner)
    }

    pub(super) async fn update_task(
        self: &Arc<Self>,
        id: &str,
        origin: &Origin,
        responses: InputResponses,
    ) -> Result<()> {
        #[cfg(feature = "http-server")]
        if let Some(node) = &self.fleet {
            return fleet::tasks::answer(self, node, id, origin, responses).await;
        }
        self.answer_task(id, origin.principal.as_ref(), responses)
    }

    pub(super) async fn end_task(&self, id: &str, owner: Option<&Arc<Principal>>) -> Result<()> {
        #[cfg(feature = "http-server")]
        if let Some(node) = &self.fleet {
            return fleet::tasks::cancel(self, node, id, owner).await;
        }
        self.cancel_task(id, owner)
    }

    fn task_changed(&self, id: &str) {
        // The owner is checked when the status is sent.
        self.changed(&Change::Task(id.to_owned()), Audience::All);
    }
}

impl TaskPeer {
    pub(super) fn work_on<W>(&self, work: W)
    where
        W: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        let worker = Worker(self.clone());
        let working = tokio::spawn(async move {
            let outcome = work.await;
            worker.0.end(outcome);
        });
        // Work that has ended cannot be stopped.
        if let Some(work) = self.shared.tasks.lock().work.get_mut(&*self.id) {
            work.handler = Some(working.abort_handle());
        }
    }

    fn end(&self, outcome: Result<RawJson, ErrorObject>) {
        let mut board = self.shared.tasks.lock();
        if board.work.remove(&*self.id).is_none() {
            return;
        }
        let now = self.shared.clock().now();
        board.tasks.end(&self.id, outcome, now);
        drop(board);
        self.shared.task_changed(&self.id);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let error = ErrorObject::internal("the server failed while it worked on this task");
        self.0.end(Err(error));
    }
}

/// The only notification about a task is its status (Task Status Notifications).
impl Peer for TaskPeer {
    fn stands(&self, message: String) {
        let now = self.shared.clock().now();
        if self.shared.tasks.lock().tasks.say(&self.id, message, now) {
            self.shared.task_changed(&self.id);
        }
    }
}

impl AskingPeer for TaskPeer {
    fn ask(&self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply> {
        asks::ask(self, key, question)
    }
}

impl QuestionSender for TaskPeer {
    type Id = String;
    const OVER: &'static str = "the task is over";

    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<String, ErrorObject> {
        let mut board = self.shared.tasks.lock();
        let now = self.shared.clock().now();
        let key = board.tasks.ask(&self.id, key, question, now)?;
        if let Some(work) = board.work.get_mut(&*self.id) {
            work.asks.insert(key.clone(), reply);
        }
        drop(board);
        self.shared.task_changed(&self.id);
        Ok(key)
    }

    fn withdraw(&self, key: &String) {
        let mut board = self.shared.tasks.lock();
        if let Some(work) = board.work.get_mut(&*self.id) {
            work.asks.remove(key);
        }
        let now = self.shared.clock().now();
        if board.tasks.withdraw(&self.id, key, now) {
            drop(board);
            self.shared.task_changed(&self.id);
        }
    }
}

impl HandoverPeer {
    pub(super) fn new(request: Arc<dyn Peer>) -> Self {
        Self {
            request,
            task: OnceLock::new(),
        }
    }

    pub(super) fn hand_over(&self, task: Arc<dyn Peer>) {
        // A call becomes a task only once.
        let _ = self.task.set(task);
    }

    fn now(&self) -> &Arc<dyn Peer> {
        self.task.get().unwrap_or(&self.request)
    }
}

impl Peer for HandoverPeer {
    fn notify(&self, notification: ServerNotification) {
        self.now().notify(notification);
    }

    fn stands(&self, message: String) {
        self.now().stands(message);
    }

    fn close_stream(&self) {
        self.now().close_stream();
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        self.now().wants_log(level)
    }

    fn complete_elicitation(&self, elicitation_id: String) {
        self.now().complete_elicitation(elicitation_id);
    }
}

/// Frees expired tasks, also if no client asks for them.
async fn look_over(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(ROUND).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let mut board = shared.tasks.lock();
        board.sweep(shared.clock().now());
        if board.tasks.is_empty() {
            board.watched = false;
            return;
        }
    }
}

pub(super) fn full(full: RoomError) -> Error {
    Error::protocol(ErrorObject::internal(full.to_string()))
}

/// Returns the error for a task that is gone or never existed (Protocol Errors).
pub(super) fn unknown() -> Error {
    Error::protocol(ErrorObject::invalid_params("unknown or expired task"))
}
