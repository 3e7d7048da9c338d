//! The tasks of a server (SEP-2663) and their lifetime.
//!
//! They are stored in the memory of the process that does their work.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use crate::{
    ask::{CheckedRequest, Millis, Principal},
    jsonrpc::ErrorObject,
    limits::TaskLimits,
    protocol::{DetailedTask, InputRequest, InputRequests, InputResponses, RawJson, TaskStatus},
    rfc3339,
};

/// The memory of a task in [`Tasks`] without its strings, in bytes.
const TASK_BYTES: usize = 512;

/// All tasks of a server by id.
///
/// Only its owner can see a task; to others it does not exist. The methods take the time as an
/// argument; expired tasks stay until [`Tasks::sweep`].
///
/// Each task has its own [`Room`], which limits its memory.
#[derive(Debug)]
pub struct Tasks<R> {
    ttl_ms: u64,
    poll_ms: u64,
    tasks: BTreeMap<String, Task<R>>,
    /// The ids of all tasks, oldest first.
    by_age: VecDeque<String>,
}

/// The memory reserved for one task. Dropping it releases the memory.
pub trait Room {
    /// Sets the size of the reservation, in bytes.
    ///
    /// # Errors
    ///
    /// [`RoomError`] if the limit does not allow the size; the reservation is then unchanged.
    fn resize(&mut self, bytes: usize) -> Result<(), RoomError>;
}

/// The limit does not allow another task, or a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many tasks are stored for this owner or in all; try again later")]
pub struct RoomError;

#[derive(Debug)]
struct Task<R> {
    owner: Option<Arc<Principal>>,
    created: Millis,
    updated: Millis,
    message: Option<String>,
    stage: Stage,
    /// The keys of all questions so far; none is used twice.
    keys: BTreeSet<String>,
    bytes: usize,
    room: R,
}

#[derive(Debug)]
enum Stage {
    /// The task is running, with these open questions.
    Open(InputRequests),
    Completed(RawJson),
    Failed(ErrorObject),
    Cancelled,
}

impl<R: Room> Tasks<R> {
    /// Makes an empty list. Tasks are stored for
    /// [`limits.tasks.ttl`](crate::limits::TaskLimits::ttl).
    #[must_use]
    pub fn new(limits: &TaskLimits) -> Self {
        let millis = |span: core::time::Duration| u64::try_from(span.as_millis());
        Self {
            ttl_ms: millis(limits.ttl).unwrap_or(u64::MAX),
            poll_ms: millis(limits.poll).unwrap_or(u64::MAX),
            tasks: BTreeMap::new(),
            by_age: VecDeque::new(),
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Starts a task. The id must not be guessable.
    ///
    /// # Errors
    ///
    /// [`RoomError`] if the room is too small for any task.
    pub fn begin(
        &mut self,
        id: &str,
        owner: Option<Arc<Principal>>,
        mut room: R,
        now: Millis,
    ) -> Result<Box<DetailedTask>, RoomError> {
        room.resize(TASK_BYTES)?;
        let task = Task {
            owner,
            created: now,
            updated: now,
            message: None,
            stage: Stage::Open(InputRequests::new()),
            keys: BTreeSet::new(),
            bytes: TASK_BYTES,
            room,
        };
        let seed = self.describe(id, &task);
        self.tasks.insert(id.into(), task);
        self.by_age.push_back(id.into());
        Ok(seed)
    }

    #[must_use]
    pub fn is_of(&self, id: &str, owner: Option<&Arc<Principal>>) -> bool {
        self.tasks.get(id).is_some_and(|task| task.is_of(owner))
    }

    /// Returns the state of a task, or `None` if this owner has no such task.
    #[must_use]
    pub fn get(&self, id: &str, owner: Option<&Arc<Principal>>) -> Option<Box<DetailedTask>> {
        let task = self.tasks.get(id).filter(|task| task.is_of(owner))?;
        Some(self.describe(id, task))
    }

    /// Sets the status message. Returns whether it changed.
    pub fn say(&mut self, id: &str, message: String, now: Millis) -> bool {
        let Some(task) = self.open_task(id) else {
            return false;
        };
        let before = task.message.as_ref().map_or(0, String::len);
        if task.message.as_ref() == Some(&message) || task.count(message.len(), before).is_err() {
            return false;
        }
        task.updated = task.updated.max(now);
        task.message = Some(message);
        true
    }

    /// Adds a question to a task. Returns its key, which is changed if the task has used it before.
    ///
    /// # Errors
    ///
    /// An internal error if the task has ended or the question does not fit.
    pub fn ask(
        &mut self,
        id: &str,
        key: &str,
        request: CheckedRequest,
        now: Millis,
    ) -> Result<String, ErrorObject> {
        let request = request.into_inner();
        let Some(task) = self.open_task(id) else {
            return Err(ErrorObject::internal("the task has ended"));
        };
        let key = task.unused_key(key);
        if task.count(question_bytes(&key, &request), 0).is_err() {
            return Err(ErrorObject::internal(
                "there is no room to keep another question of a task",
            ));
        }
        task.keys.insert(key.clone());
        task.updated = task.updated.max(now);
        if let Stage::Open(open) = &mut task.stage {
            open.insert(key.clone(), request);
        }
        Ok(key)
    }

    /// Withdraws a question. Returns whether it was open.
    pub fn withdraw(&mut self, id: &str, key: &str, now: Millis) -> bool {
        self.settle(id, key, now)
    }

    /// Takes the answers to open questions; others are ignored. Returns `None` if this owner has no
    /// such task.
    pub fn answer(
        &mut self,
        id: &str,
        owner: Option<&Arc<Principal>>,
        responses: InputResponses,
        now: Millis,
    ) -> Option<Vec<(String, RawJson)>> {
        self.tasks.get(id).filter(|task| task.is_of(owner))?;
        let taken = responses
            .into_iter()
            .filter(|(key, _)| self.settle(id, key, now))
            .collect();
        Some(taken)
    }

    pub fn end(&mut self, id: &str, outcome: Result<RawJson, ErrorObject>, now: Millis) {
        let Some(task) = self.open_task(id) else {
            return;
        };
        let bytes = match &outcome {
            Ok(result) => result.as_str().len(),
            Err(error) => error.message.len() + json_bytes(error),
        };
        // The questions are dropped when the task ends.
        let outcome = if task.room.resize(TASK_BYTES + bytes).is_err() {
            let why = "there is no room to keep what came of this task";
            Err(ErrorObject::internal(why))
        } else {
            outcome
        };
        let (stage, message) = match outcome {
            Ok(result) => (Stage::Completed(result), None),
            Err(error) => {
                let message = Some(error.message.clone());
                (Stage::Failed(error), message)
            }
        };
        self.close(id, stage, message, now);
    }

    /// Cancels a task, unless it has ended. Returns whether its work must be stopped, or `None` if
    /// this owner has no such task.
    pub fn cancel(
        &mut self,
        id: &str,
        owner: Option<&Arc<Principal>>,
        now: Millis,
    ) -> Option<bool> {
        let task = self.tasks.get(id).filter(|task| task.is_of(owner))?;
        let open = matches!(task.stage, Stage::Open(_));
        if open {
            let message = "The client has cancelled it.".to_string();
            self.close(id, Stage::Cancelled, Some(message), now);
        }
        Some(open)
    }

    pub fn sweep(&mut self, now: Millis) -> Vec<String> {
        let ttl_ms = self.ttl_ms;
        let is_over = |task: &Task<R>| now >= task.created.saturating_add(ttl_ms);
        let mut over = Vec::new();
        while let Some(id) = self.by_age.front()
            && self.tasks.get(id).is_none_or(is_over)
        {
            self.tasks.remove(id);
            over.extend(self.by_age.pop_front());
        }
        over
    }

    fn open_task(&mut self, id: &str) -> Option<&mut Task<R>> {
        let task = self.tasks.get_mut(id)?;
        matches!(task.stage, Stage::Open(_)).then_some(task)
    }

    /// Removes an open question. Returns whether it was open.
    fn settle(&mut self, id: &str, key: &str, now: Millis) -> bool {
        let Some(task) = self.open_task(id) else {
            return false;
        };
        let Stage::Open(open) = &mut task.stage else {
            return false;
        };
        let Some(request) = open.remove(key) else {
            return false;
        };
        task.updated = task.updated.max(now);
        // The key is stored as long as the task.
        let left = question_bytes(key, &request) - key.len();
        // Shrinking cannot fail.
        let _ = task.count(0, left);
        true
    }

    fn close(&mut self, id: &str, stage: Stage, message: Option<String>, now: Millis) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.updated = task.updated.max(now);
        task.keys.clear();
        task.message = message;
        task.stage = stage;
        let bytes = TASK_BYTES
            + task.message.as_ref().map_or(0, String::len)
            + match &task.stage {
                Stage::Completed(result) => result.as_str().len(),
                Stage::Failed(error) => json_bytes(error),
                Stage::Open(_) | Stage::Cancelled => 0,
            };
        // The outcome is stored even without room for it.
        let _ = task.count(bytes, task.bytes);
    }

    fn describe(&self, id: &str, task: &Task<R>) -> Box<DetailedTask> {
        let (status, mut input_requests, mut result, mut error) = (task.status(), None, None, None);
        match &task.stage {
            Stage::Open(open) if open.is_empty() => {}
            Stage::Open(open) => input_requests = Some(open.clone()),
            Stage::Completed(json) => result = Some(json.clone()),
            Stage::Failed(why) => error = Some(why.clone()),
            Stage::Cancelled => {}
        }
        Box::new(DetailedTask {
            task_id: id.into(),
            status,
            status_message: task.message.clone(),
            created_at: rfc3339::written(task.created),
            last_updated_at: rfc3339::written(task.updated),
            ttl_ms: Some(self.ttl_ms),
            poll_interval_ms: Some(self.poll_ms),
            input_requests,
            result,
            error,
            meta: None,
        })
    }
}

impl<R: Room> Task<R> {
    fn count(&mut self, more: usize, less: usize) -> Result<(), RoomError> {
        let bytes = (self.bytes + more).saturating_sub(less);
        self.room.resize(bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    fn is_of(&self, owner: Option<&Arc<Principal>>) -> bool {
        self.owner.as_ref() == owner
    }

    fn status(&self) -> TaskStatus {
        match &self.stage {
            Stage::Open(open) if open.is_empty() => TaskStatus::Working,
            Stage::Open(_) => TaskStatus::InputRequired,
            Stage::Completed(_) => TaskStatus::Completed,
            Stage::Failed(_) => TaskStatus::Failed,
            Stage::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// Returns a key that the task has not used: when a question is asked again, it is a new
    /// question.
    fn unused_key(&self, key: &str) -> String {
        let mut unused = key.to_string();
        let mut again = 1;
        while self.keys.contains(&unused) {
            unused = match again {
                1 => format!("{key}-again"),
                _ => format!("{key}-again-{again}"),
            };
            again += 1;
        }
        unused
    }
}

fn question_bytes(key: &str, request: &InputRequest) -> usize {
    // The key is stored twice: with the question, and in the list of used keys.
    2 * key.len() + json_bytes(request)
}

fn json_bytes<T: serde::Serialize>(value: &T) -> usize {
    RawJson::new(value).map_or(0, |json| json.as_str().len())
}
