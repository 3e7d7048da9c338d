//! The tasks of a server (SEP-2663): what is known of each, and for how long.
//!
//! They are kept in memory, by the process that does their work.

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

/// The memory of a task in [`Tasks`] beside its texts, in bytes.
const TASK_BYTES: usize = 512;

/// All tasks of a server, by their names.
///
/// A task is known to its owner alone: whoever asks for it as somebody else finds none. Every method
/// takes the time; none looks at what has expired before [`Tasks::sweep`] removed it.
///
/// Each task has a [`Room`] of its own, which bounds what is kept of it.
#[derive(Debug)]
pub struct Tasks<R> {
    ttl_ms: u64,
    poll_ms: u64,
    tasks: BTreeMap<String, Task<R>>,
    /// The names of all, the oldest first.
    by_age: VecDeque<String>,
}

/// The room of one task. Dropping it gives the room back.
pub trait Room {
    /// Takes room for this many bytes in all.
    ///
    /// # Errors
    ///
    /// [`RoomError`] where there is not as much; the room is then what it was before.
    fn resize(&mut self, bytes: usize) -> Result<(), RoomError>;
}

/// There is no room for another task, or for more of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server keeps as many tasks as it can, or as one owner may have; try again later")]
pub struct RoomError;

#[derive(Debug)]
struct Task<R> {
    /// Whose it is, where that is known.
    owner: Option<Arc<Principal>>,
    created: Millis,
    updated: Millis,
    message: Option<String>,
    stage: Stage,
    /// The keys of all questions it has asked: none is used twice.
    keys: BTreeSet<String>,
    bytes: usize,
    room: R,
}

#[derive(Debug)]
enum Stage {
    /// It is worked on, and asks this.
    Open(InputRequests),
    Completed(RawJson),
    Failed(ErrorObject),
    Cancelled,
}

impl<R: Room> Tasks<R> {
    /// No tasks yet. Each is kept for [`limits.tasks.ttl`](crate::limits::TaskLimits::ttl).
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

    /// How many tasks are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no task is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Begins a task under a name nobody can guess.
    ///
    /// # Errors
    ///
    /// [`RoomError`] where its room is too small for any task.
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

    /// Whether this owner has such a task.
    #[must_use]
    pub fn is_of(&self, id: &str, owner: Option<&Arc<Principal>>) -> bool {
        self.tasks.get(id).is_some_and(|task| task.is_of(owner))
    }

    /// How a task stands; none where this owner has no such task.
    #[must_use]
    pub fn get(&self, id: &str, owner: Option<&Arc<Principal>>) -> Option<Box<DetailedTask>> {
        let task = self.tasks.get(id).filter(|task| task.is_of(owner))?;
        Some(self.describe(id, task))
    }

    /// Notes how the work stands, in words. Whether that changes anything.
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

    /// Puts a question of a task. Gives the key under which it is asked: this one, or one made of
    /// it, since no two questions of a task may have the same.
    ///
    /// # Errors
    ///
    /// An internal error where the task has ended, or there is no room for the question.
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

    /// Withdraws a question nobody waits for any more. Whether it was open.
    pub fn withdraw(&mut self, id: &str, key: &str, now: Millis) -> bool {
        self.settle(id, key, now)
    }

    /// Takes answers, as far as their questions are open; others were never asked, or are answered,
    /// and are ignored. None where this owner has no such task.
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

    /// Ends a task, unless it has ended.
    pub fn end(&mut self, id: &str, outcome: Result<RawJson, ErrorObject>, now: Millis) {
        let Some(task) = self.open_task(id) else {
            return;
        };
        let bytes = match &outcome {
            Ok(result) => result.as_str().len(),
            Err(error) => error.message.len() + json_bytes(error),
        };
        // What is kept of its questions goes with its end.
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

    /// Cancels a task, unless it has ended: whether its work has to be stopped. None where this
    /// owner has no such task.
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

    /// Forgets the tasks whose time is over, and gives their names.
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

    /// A task that has not ended.
    fn open_task(&mut self, id: &str) -> Option<&mut Task<R>> {
        let task = self.tasks.get_mut(id)?;
        matches!(task.stage, Stage::Open(_)).then_some(task)
    }

    /// Takes a question out of those that are open. Whether it was one.
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
        // The key is kept for as long as the task is.
        let left = question_bytes(key, &request) - key.len();
        // Less is always there.
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
        // That there is no room is told in any case.
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

    /// A key no question of the task has had: a question whose answer was not usable is another
    /// question when it is asked again.
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
    // The key is kept twice: with the question, and to be used once only.
    2 * key.len() + json_bytes(request)
}

fn json_bytes<T: serde::Serialize>(value: &T) -> usize {
    RawJson::new(value).map_or(0, |json| json.as_str().len())
}
