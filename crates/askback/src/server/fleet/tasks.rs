//! Tasks of a fleet (SEP-2663): status and result are in the journal, and any process answers for
//! them.
//!
//! A task asks like a parked call: it is saved, and its handler is dropped until an answer comes.
//! While it works, its process holds a lease. If that process dies, the task fails, unless its tool
//! is [durable](crate::Tool::durable).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use askback_core::{
    ask::{Millis, Principal},
    auth::Scopes,
    engine::server::{Change, Origin, Room, RoomError},
    jsonrpc::{ErrorObject, RequestId},
    protocol::{DetailedTask, InputRequests, InputResponses, RawJson, TaskStatus},
    rfc3339,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    AskName, AskedQuestion, CallRecord, DeliveryOutcome, JournalPeer, LEASE, LeaseGuard, MAC, Node,
    PrincipalRecord, RECORD, answer_to, finish, is_given, mac, opened, place_in, sealed,
};
use crate::{
    clock::millis,
    ctx::{Audience, Incoming, ParkingPeer},
    entropy::entropy,
    error::{Error, Result},
    journal::{CallId, FinishRequest, ParkRequest, SessionId},
    mutex::Mutex,
    server::{
        Shared,
        budget::Charge,
        call::TaskTerms,
        tasks::{full, unknown},
    },
    store::{Owner, StoreError, owner::half},
};

/// The interval at which changed status messages of tasks are saved.
pub(super) const SAY: Duration = Duration::from_secs(1);

/// The maximum length of a status message, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

const TASK_NAME: &str = "askback task v1";

const STATUS: &str = "journal status";

/// The unchanging facts of a task, and its last status message.
#[derive(Serialize, Deserialize, Clone)]
pub(super) struct TaskFacts {
    name: String,
    created: Millis,
    at_once: bool,
    is_durable: bool,
    scopes: Option<Scopes>,
    message: Option<String>,
}

#[derive(Clone)]
pub(super) struct WorkingTask {
    facts: TaskFacts,
    open: BTreeMap<u32, AskedQuestion>,
    said: Arc<Mutex<StatusMessage>>,
}

#[derive(Default)]
struct StatusMessage {
    message: Option<String>,
    is_new: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Status {
    created: Millis,
    updated: Millis,
    message: Option<String>,
    scopes: Option<Scopes>,
    stage: Stage,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Stage {
    Open(BTreeMap<u32, AskedQuestion>),
    Completed(RawJson),
    Failed(ErrorObject),
    Cancelled,
}

/// A saved task, on which this process is about to work.
pub(crate) struct BegunTask {
    peer: Arc<JournalPeer>,
    task: WorkingTask,
    lease: LeaseGuard,
    place: Charge,
}

pub(super) fn interrupted() -> ErrorObject {
    ErrorObject::internal(
        "the server process that worked on this task has ended, and the task with it; call the tool \
         again if its work is safe to repeat",
    )
}

pub(in crate::server) async fn begin_task(
    shared: &Arc<Shared>,
    incoming: &Arc<Incoming>,
    terms: TaskTerms,
    state: String,
) -> Result<(BegunTask, Box<DetailedTask>)> {
    let Some(node) = &shared.fleet else {
        return Err(Error::new("the server is no process of a fleet"));
    };
    node.watch(shared);
    let owner = incoming.origin.principal.as_ref();
    let mut place = shared.tasks.places.open(owner);
    place.resize(1).map_err(full)?;
    let (call, session) = (CallId(entropy()?), session_of(shared, owner)?);
    let now = shared.clock().now();
    let facts = TaskFacts {
        name: name(shared, call, session)?,
        created: now,
        at_once: terms.at_once,
        is_durable: terms.is_durable,
        scopes: terms.scopes.map(Arc::unwrap_or_clone),
        message: None,
    };
    let task = WorkingTask::new(facts, BTreeMap::new());
    // Clients do not use the id of its request.
    let mut standing = CallRecord::new(call, session, RequestId::from(0), 1);
    standing.task = Some(task.clone());
    let expires = task.expires(shared);
    let record = standing.record(incoming, Some(state), BTreeMap::new(), expires, now)?;
    let record = sealed(
        shared,
        RECORD,
        &place_in((session, call), "record"),
        &record,
    )?;
    let status = task.status(now, Stage::Open(BTreeMap::new()));
    let sealed_status = status.seal(shared, (session, call))?;
    let request = ParkRequest {
        call,
        session,
        request: standing.request(),
        owner: owner.map(|owner| Owner::of(owner)),
        epoch: 0,
        record: &record,
        status: Some(&sealed_status),
        settled: &[],
        events: &[],
        first_event: 1,
        wake: None,
        keep: None,
        now,
        expires,
    };
    // Each attempt has its own lease: the first one may be over when the journal can be reached again.
    let park = || {
        let keep = Some(node.lease(shared.clock().now()));
        node.journal.park(ParkRequest { keep, ..request })
    };
    let parked = node.when_reachable(LEASE, park).await;
    parked.map_err(cannot_begin)?;
    let lease = LeaseGuard::new(node, &standing);
    let told = status.describe(shared, &task.facts.name, &[]);
    let begun = BegunTask {
        peer: Arc::new(JournalPeer {
            shared: Arc::clone(shared),
            node: Arc::clone(node),
            standing,
        }),
        task,
        lease,
        place,
    };
    Ok((begun, told))
}

fn cannot_begin(error: StoreError) -> Error {
    match error {
        StoreError::Full { .. } | StoreError::ShareFull => full(RoomError),
        error => {
            tracing::error!(%error, "a task could not be written down");
            Error::protocol(ErrorObject::internal(
                "the server cannot begin a task now; try again later",
            ))
        }
    }
}

impl BegunTask {
    pub(crate) fn peer(&self) -> Arc<dyn ParkingPeer> {
        Arc::clone(&self.peer) as _
    }

    /// Works on the task until it ends with its result, or is parked (`None`).
    pub(crate) fn work_on<W>(self, work: W)
    where
        W: Future<Output = Option<Result<RawJson, ErrorObject>>> + Send + 'static,
    {
        let Self {
            peer,
            task,
            lease,
            place,
        } = self;
        lease.work(async move {
            if let Some(outcome) = work.await {
                let JournalPeer {
                    shared,
                    node,
                    standing,
                } = &*peer;
                let whose = (standing.session, standing.call);
                task.end(shared, node, whose, standing.epoch, outcome).await;
            }
            drop(place);
        });
    }
}

impl WorkingTask {
    pub(super) fn new(facts: TaskFacts, open: BTreeMap<u32, AskedQuestion>) -> Self {
        let said = StatusMessage {
            message: facts.message.clone(),
            is_new: false,
        };
        Self {
            facts,
            open,
            said: Arc::new(Mutex::new(said)),
        }
    }

    pub(super) fn facts(&self) -> TaskFacts {
        TaskFacts {
            message: self.said.lock().message.clone(),
            ..self.facts.clone()
        }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.facts.is_durable
    }

    pub(super) fn is_at_once(&self) -> bool {
        self.facts.at_once
    }

    pub(super) fn expires(&self, shared: &Shared) -> Millis {
        let ttl = millis(shared.limits().tasks.ttl);
        self.facts.created.saturating_add(ttl)
    }

    pub(super) fn say(&self, mut message: String) {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        let mut said = self.said.lock();
        said.is_new |= said.message.as_ref() != Some(&message);
        said.message = Some(message);
    }

    pub(super) fn status(&self, now: Millis, stage: Stage) -> Status {
        let message = match &stage {
            Stage::Open(_) => self.said.lock().message.clone(),
            Stage::Completed(_) => None,
            Stage::Failed(error) => Some(error.message.clone()),
            Stage::Cancelled => Some("The client has cancelled it.".to_owned()),
        };
        Status {
            created: self.facts.created,
            updated: now,
            message,
            scopes: self.facts.scopes.clone(),
            stage,
        }
    }

    pub(super) async fn end(
        &self,
        shared: &Shared,
        node: &Node,
        whose: (SessionId, CallId),
        epoch: u32,
        outcome: Result<RawJson, ErrorObject>,
    ) {
        let now = shared.clock().now();
        let stage = outcome.map_or_else(Stage::Failed, Stage::Completed);
        let status = self.status(now, stage).seal(shared, whose);
        let status = status.or_else(|error| {
            tracing::error!(%error, "the result of a task could not be written down");
            let error = ErrorObject::internal("the result of this task could not be written down");
            self.status(now, Stage::Failed(error)).seal(shared, whose)
        });
        let Ok(status) = status else { return };
        let last = Some((&*status, self.expires(shared)));
        finish(shared, node, (whose.1, epoch), &[], last).await;
        self.tell_changed(shared);
    }

    pub(super) fn tell_changed(&self, shared: &Shared) {
        tell_changed(shared, &self.facts.name);
    }
}

fn tell_changed(shared: &Shared, name: &str) {
    // The owner is checked when a client gets the status.
    shared.changed(&Change::Task(name.to_owned()), Audience::All);
}

pub(super) async fn describe(shared: &Shared, node: &Node) {
    let mut news = Vec::new();
    for call in node.leased.lock().iter() {
        if let Some(task) = &call.task
            && std::mem::take(&mut task.said.lock().is_new)
        {
            news.push((call.taken, call.session, task.clone()));
        }
    }
    for ((call, epoch), session, task) in news {
        let status = task.status(shared.clock().now(), Stage::Open(task.open.clone()));
        let Ok(status) = status.seal(shared, (session, call)) else {
            continue;
        };
        match node.journal.set_status(call, epoch, &status).await {
            Ok(()) => task.tell_changed(shared),
            Err(error) => {
                tracing::debug!(%error, "the status of a task could not be written down");
                task.said.lock().is_new = true;
            }
        }
    }
}

impl Status {
    pub(super) fn seal(&self, shared: &Shared, whose: (SessionId, CallId)) -> Result<Vec<u8>> {
        sealed(shared, STATUS, &place_in(whose, "status"), self)
    }

    fn describe(&self, shared: &Shared, name: &str, answered: &[u32]) -> Box<DetailedTask> {
        let limits = &shared.limits().tasks;
        let (mut result, mut error) = (None, None);
        let mut asks = InputRequests::new();
        let status = match &self.stage {
            Stage::Open(open) => {
                let open = open.iter().filter(|(number, _)| !answered.contains(number));
                for (number, asked) in open {
                    if let Ok(request) = asked.request.decode() {
                        asks.insert(wire_key(&asked.key, *number), request);
                    }
                }
                match asks.is_empty() {
                    true => TaskStatus::Working,
                    false => TaskStatus::InputRequired,
                }
            }
            Stage::Completed(json) => {
                result = Some(json.clone());
                TaskStatus::Completed
            }
            Stage::Failed(why) => {
                error = Some(why.clone());
                TaskStatus::Failed
            }
            Stage::Cancelled => TaskStatus::Cancelled,
        };
        Box::new(DetailedTask {
            task_id: name.to_owned(),
            status,
            status_message: self.message.clone(),
            created_at: rfc3339::written(self.created),
            last_updated_at: rfc3339::written(self.updated),
            ttl_ms: Some(millis(limits.ttl)),
            poll_interval_ms: Some(millis(limits.poll)),
            input_requests: (!asks.is_empty()).then_some(asks),
            result,
            error,
            meta: None,
        })
    }
}

/// The key of a question for the client of its task, which is unique in the task.
fn wire_key(key: &str, number: u32) -> String {
    format!("{key}-{number}")
}

fn session_of(shared: &Shared, owner: Option<&Arc<Principal>>) -> Result<SessionId> {
    let owner = owner.map(|owner| PrincipalRecord::of(owner));
    let mut digest = Sha256::new_with_prefix("askback task owner v1");
    digest.update(serde_json::to_vec(&(shared.service(), owner))?);
    Ok(SessionId(half(digest)))
}

fn name(shared: &Shared, call: CallId, session: SessionId) -> Result<String> {
    let mac = mac(shared.keys()?.active(), TASK_NAME, (session, call), &[]);
    Ok(URL_SAFE_NO_PAD.encode([&call.0[..], &mac].concat()))
}

/// The task with this name, if this fleet has given it to this owner.
fn read_name(
    shared: &Shared,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Option<(SessionId, CallId)> {
    let session = session_of(shared, owner).ok()?;
    let bytes = URL_SAFE_NO_PAD.decode(name).ok()?;
    let (call, given) = bytes.split_first_chunk::<16>()?;
    let (call, given) = (CallId(*call), <[u8; MAC]>::try_from(given).ok()?);
    let whose = (session, call);
    is_given(shared, TASK_NAME, whose, &[], given).then_some(whose)
}

type StoredTask = ((SessionId, CallId), Status, Vec<u32>);

async fn read(
    shared: &Shared,
    node: &Node,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Result<StoredTask> {
    let found = find(shared, node, name, owner).await?;
    found.ok_or_else(unknown)
}

async fn find(
    shared: &Shared,
    node: &Node,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Result<Option<StoredTask>> {
    let Some(whose) = read_name(shared, name, owner) else {
        return Ok(None);
    };
    let max_wait = shared.limits().wire.request;
    let task = node.when_reachable(max_wait, || node.journal.task(whose.1, whose.0));
    let Some(task) = task.await.map_err(unavailable)? else {
        return Ok(None);
    };
    let status: Option<Status> = opened(shared, STATUS, &place_in(whose, "status"), &task.status);
    let Some(status) = status else {
        tracing::error!("the status of a task in the journal cannot be read");
        return Ok(None);
    };
    let ttl = millis(shared.limits().tasks.ttl);
    let is_over = status.created.saturating_add(ttl) <= shared.clock().now();
    Ok((!is_over).then_some((whose, status, task.answered)))
}

fn unavailable(error: StoreError) -> Error {
    tracing::error!(%error, "the journal does not answer");
    Error::protocol(ErrorObject::internal(
        "the server cannot read its tasks now; send the request again",
    ))
}

pub(in crate::server) async fn get(
    shared: &Shared,
    node: &Node,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Result<Box<DetailedTask>> {
    let (_, status, answered) = read(shared, node, name, owner).await?;
    Ok(status.describe(shared, name, &answered))
}

/// The scopes that a task of this owner needs.
///
/// # Errors
///
/// If the journal does not answer: the scopes are then unknown.
#[cfg(feature = "oauth-server")]
pub(in crate::server) async fn scopes(
    shared: &Shared,
    node: &Node,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Result<Option<Arc<Scopes>>> {
    let found = find(shared, node, name, owner).await?;
    Ok(found.and_then(|(_, status, _)| status.scopes.map(Arc::new)))
}

/// Takes answers to a task's questions. Answers to unknown or answered questions are ignored.
pub(in crate::server) async fn answer(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    name: &str,
    origin: &Origin,
    responses: InputResponses,
) -> Result<()> {
    let owner = origin.principal.as_ref();
    let ((session, call), status, answered) = read(shared, node, name, owner).await?;
    let Stage::Open(open) = status.stage else {
        return Ok(());
    };
    let mut is_changed = false;
    for (key, value) in responses {
        let mut open = open.iter();
        let asked = open.find(|(number, asked)| wire_key(&asked.key, **number) == key);
        let Some((number, _)) = asked.filter(|(number, _)| !answered.contains(number)) else {
            continue;
        };
        let ask = AskName {
            call,
            number: *number,
        };
        let cause = (owner, origin.attachment.as_ref());
        // As long as other requests about tasks: a client does not repeat a request that was answered with an error.
        let max_wait = shared.limits().wire.request;
        let taken = answer_to(shared, node, (session, ask), cause, Ok(value), max_wait);
        match taken.await {
            DeliveryOutcome::Accepted => is_changed = true,
            // The task has ended meanwhile.
            DeliveryOutcome::Unknown => {}
            DeliveryOutcome::Unavailable => {
                return Err(Error::protocol(ErrorObject::internal(
                    "the server cannot write this down now; send it again",
                )));
            }
        }
    }
    if is_changed {
        tell_changed(shared, name);
    }
    Ok(())
}

/// A task that has ended does not change.
pub(in crate::server) async fn cancel(
    shared: &Shared,
    node: &Node,
    name: &str,
    owner: Option<&Arc<Principal>>,
) -> Result<()> {
    let ((session, call), mut status, _) = read(shared, node, name, owner).await?;
    if !matches!(status.stage, Stage::Open(_)) {
        return Ok(());
    }
    let ttl = millis(shared.limits().tasks.ttl);
    status.updated = shared.clock().now();
    status.message = Some("The client has cancelled it.".to_owned());
    status.stage = Stage::Cancelled;
    let status_bytes = status.seal(shared, (session, call))?;
    let end = FinishRequest {
        call,
        epoch: None,
        events: &[],
        status: Some(&status_bytes),
        expires: status.created.saturating_add(ttl),
    };
    let max_wait = shared.limits().wire.request;
    let finished = node.when_reachable(max_wait, || node.journal.finish(end));
    let was_open = finished.await.map_err(unavailable)?;
    node.stop(call.0);
    if was_open {
        tell_changed(shared, name);
    }
    Ok(())
}
