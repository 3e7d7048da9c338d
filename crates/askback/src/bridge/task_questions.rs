//! Questions of a server's tasks (SEP-2663) that the client is not asked. A task asks in the result of `tasks/get`, and
//! gets its answers in `tasks/update`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{
    jsonrpc::ErrorObject,
    protocol::{
        DetailedTask, InputRequest, InputRequests, InputResponses, JsonObject, OtherRequest,
        Outcome, RawJson, TaskParams, TaskStatus, UpdateTaskParams,
    },
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    ForwardCtx,
    session::AbortOnDrop,
    upstream::{Upstream, target},
};
use crate::{
    client::{CallTarget, ClientError, HostQuestion},
    error::{Error, Result},
};

/// The limit on one client's tasks whose questions are known. The questions of others wait.
const MAX_TASKS: usize = 256;

/// The limit on the open questions of one task. Others wait.
const MAX_QUESTIONS_PER_TASK: usize = 64;

/// The tasks of one client, by their ids.
#[derive(Default)]
pub(super) struct TaskQuestions(Mutex<BTreeMap<String, TaskRecord>>);

#[derive(Default)]
struct TaskRecord {
    /// The call that became the task.
    target: Option<CallTarget>,
    /// The work on its questions, by key. It is kept until the server no longer lists the question, so that the
    /// question is asked once.
    questions: HashMap<String, AbortOnDrop>,
}

impl TaskQuestions {
    pub(super) fn begin(&self, id: String, target: Option<CallTarget>) {
        let mut tasks = self.lock();
        if tasks.len() >= MAX_TASKS {
            // The client may never have asked for the end of a task without open questions.
            tasks.retain(|_, task| !task.questions.values().all(AbortOnDrop::is_finished));
        }
        if tasks.len() < MAX_TASKS {
            tasks.entry(id).or_default().target = target;
        }
    }

    /// Withdraws the questions of a task.
    pub(super) fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(super) fn end_all(&self) {
        self.lock().clear();
    }

    /// Withdraws the questions that the task no longer lists, and begins the work on new ones.
    fn ask(
        &self,
        id: &str,
        listed: Vec<(String, InputRequest)>,
        work: impl Fn(Option<CallTarget>, String, InputRequest) -> AbortOnDrop,
    ) {
        if !self.lock().contains_key(id) {
            self.begin(id.to_owned(), None);
        }
        let mut tasks = self.lock();
        let Some(task) = tasks.get_mut(id) else {
            return;
        };
        task.questions
            .retain(|key, _| listed.iter().any(|(other, _)| other == key));
        for (key, question) in listed {
            let has_room = task.questions.len() < MAX_QUESTIONS_PER_TASK;
            if has_room && !task.questions.contains_key(&key) {
                let asking = work(task.target.clone(), key.clone(), question);
                task.questions.insert(key, asking);
            }
        }
    }

    /// The map is never left half-changed, even if a panic poisoned the lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, TaskRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// Asks here what a task asks and the client does not, and hides these questions from the client.
    pub(super) fn follow_task(
        &self,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        result: Box<RawValue>,
    ) -> Result<Box<RawValue>> {
        let tasks = self.session.tasks();
        match request.method() {
            "tools/call" if ctx.capabilities().tasks_extension() => {
                if let Ok(Outcome::Task(task)) = Outcome::<()>::parse(&result) {
                    tasks.begin(task.task_id, target(request));
                }
                Ok(result)
            }
            "tasks/get" => self.without_task_questions(ctx, result),
            "tasks/cancel" => {
                if let Some(id) = request.target() {
                    tasks.end(id);
                }
                Ok(result)
            }
            _ => Ok(result),
        }
    }

    fn without_task_questions(
        &self,
        ctx: &ForwardCtx,
        result: Box<RawValue>,
    ) -> Result<Box<RawValue>> {
        let tasks = self.session.tasks();
        // The client may be able to read a task that cannot be read here.
        let Ok(task) = serde_json::from_str::<DetailedTask>(result.get()) else {
            return Ok(result);
        };
        if task.status.is_terminal() {
            tasks.end(&task.task_id);
            return Ok(result);
        }
        let listed = task.input_requests.unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) = listed
            .into_iter()
            .partition(|(_, question)| self.is_for_client(question, ctx));
        let is_changed = !others.is_empty();
        tasks.ask(&task.task_id, others, |target, key, question| {
            self.ask_for_task(task.task_id.clone(), target, key, question, ctx)
        });
        if !is_changed {
            return Ok(result);
        }
        let members = serde_json::from_str::<JsonObject>(result.get());
        let mut members = members.map_err(Error::internal)?;
        members.remove("inputRequests");
        let (name, value) = match own.is_empty() {
            true => ("status", serde_json::to_value(TaskStatus::Working)),
            false => {
                let own: InputRequests = own.into_iter().collect();
                ("inputRequests", serde_json::to_value(own))
            }
        };
        members.insert(name.to_owned(), value.map_err(Error::internal)?);
        let result = RawJson::new(&members).map_err(Error::internal)?;
        Ok(result.into())
    }

    fn ask_for_task(
        &self,
        task_id: String,
        target: Option<CallTarget>,
        key: String,
        question: InputRequest,
        ctx: &ForwardCtx,
    ) -> AbortOnDrop {
        let question = HostQuestion {
            server: self.client.server_info(),
            call: None,
            target,
            key: Some(key.clone()),
            request: question,
            retried: false,
        };
        let (session, client) = (Arc::clone(&self.session), self.client.clone());
        let meta = self.meta(ctx);
        AbortOnDrop::spawn(async move {
            let answer = session.answer_for_task(question).await;
            let request = match answer.map(|answer| RawJson::new(&answer)) {
                Ok(Ok(answer)) => {
                    let mut input_responses = InputResponses::default();
                    input_responses.insert(key, answer);
                    task_request(
                        "tasks/update",
                        &UpdateTaskParams {
                            task_id,
                            input_responses,
                            meta: None,
                        },
                    )
                }
                // A task without this answer would wait for ever.
                Err(_) | Ok(Err(_)) => {
                    let meta = None;
                    task_request("tasks/cancel", &TaskParams { task_id, meta })
                }
            };
            let sent = match request {
                Ok(mut request) => {
                    request.meta = meta;
                    client.exchange(request.into()).outcome().await
                }
                Err(error) => Err(ClientError::Server(error)),
            };
            if let Err(error) = sent {
                session.note(format!("an answer did not reach its task: {error}"));
            }
        })
    }
}

fn task_request(method: &str, params: &impl Serialize) -> Result<OtherRequest, ErrorObject> {
    let params = RawJson::new(params).map_err(|error| ErrorObject::internal(error.to_string()))?;
    let params: Box<RawValue> = params.into();
    OtherRequest::new(method, Some(&params))
}
