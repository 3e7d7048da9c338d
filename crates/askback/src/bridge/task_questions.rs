//! Questions of a server's tasks (SEP-2663) that the client is not asked. A task asks in the result of `tasks/get`, and
//! gets its answers in `tasks/update`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
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
use tokio::time::sleep;

use super::{
    ForwardCtx, Withdrawal, WithdrawalReason,
    session::AbortOnDrop,
    upstream::{Upstream, target},
};
use crate::{
    client::{CallTarget, HostQuestion},
    error::{Error, Result},
    mutex::Mutex,
};

/// The limit on one client's tasks whose questions are known. The questions of others wait.
const MAX_TASKS: usize = 256;

/// The limit on the open questions of one task. Others wait.
const MAX_QUESTIONS_PER_TASK: usize = 64;

/// The pauses before an answer that did not reach its task is sent again.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(25),
];

/// The tasks of one client, by their ids.
#[derive(Default)]
pub(super) struct TaskQuestions(Mutex<BTreeMap<String, TaskRecord>>);

#[derive(Default)]
struct TaskRecord {
    /// The call that became the task.
    target: Option<CallTarget>,
    /// Why its questions are withdrawn, if the server did not do it.
    withdrawal: Withdrawal,
    /// The work on its questions, by key. It is kept until the server no longer lists the question, so that the
    /// question is asked once.
    questions: HashMap<String, AbortOnDrop>,
}

impl TaskQuestions {
    pub(super) fn begin(&self, id: String, target: Option<CallTarget>) {
        let mut tasks = self.0.lock();
        if tasks.len() >= MAX_TASKS {
            // The client may never have asked for the end of a task without open questions.
            tasks.retain(|_, task| !task.questions.values().all(AbortOnDrop::is_finished));
        }
        if tasks.len() < MAX_TASKS {
            tasks.entry(id).or_default().target = target;
        }
    }

    /// Withdraws the questions of a task. The reason is `None` if the server ended the task.
    fn end(&self, id: &str, reason: Option<WithdrawalReason>) {
        let task = self.0.lock().remove(id);
        if let (Some(task), Some(reason)) = (task, reason) {
            task.withdrawal.set(reason);
        }
    }

    /// Withdraws the questions of all tasks, because the client is gone.
    pub(super) fn end_all(&self) {
        let tasks = std::mem::take(&mut *self.0.lock());
        for task in tasks.values() {
            task.withdrawal.set(WithdrawalReason::ClientGone);
        }
    }

    /// Lets the next `tasks/get` ask a question again.
    fn forget(&self, id: &str, key: &str) {
        if let Some(task) = self.0.lock().get_mut(id) {
            task.questions.remove(key);
        }
    }

    /// Withdraws the questions that the task no longer lists, and begins the work on new ones.
    fn ask(
        &self,
        id: &str,
        listed: Vec<(String, InputRequest)>,
        work: impl Fn(&TaskRecord, String, InputRequest) -> AbortOnDrop,
    ) {
        if !self.0.lock().contains_key(id) {
            self.begin(id.to_owned(), None);
        }
        let mut tasks = self.0.lock();
        let Some(task) = tasks.get_mut(id) else {
            return;
        };
        task.questions
            .retain(|key, _| listed.iter().any(|(other, _)| other == key));
        for (key, question) in listed {
            let has_room = task.questions.len() < MAX_QUESTIONS_PER_TASK;
            if has_room && !task.questions.contains_key(&key) {
                let asking = work(task, key.clone(), question);
                task.questions.insert(key, asking);
            }
        }
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
                    tasks.end(id, Some(WithdrawalReason::CallCancelled));
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
            tasks.end(&task.task_id, None);
            return Ok(result);
        }
        let listed = task.input_requests.unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) = listed
            .into_iter()
            .partition(|(_, question)| self.is_for_client(question, ctx));
        let is_changed = !others.is_empty();
        tasks.ask(&task.task_id, others, |record, key, question| {
            self.ask_for_task(task.task_id.clone(), record, key, question, ctx)
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
        record: &TaskRecord,
        key: String,
        question: InputRequest,
        ctx: &ForwardCtx,
    ) -> AbortOnDrop {
        let question = HostQuestion {
            server: self.client.server_info(),
            call: None,
            target: record.target.clone(),
            key: Some(key.clone()),
            request: question,
            retried: false,
        };
        let (session, client) = (Arc::clone(&self.session), self.client.clone());
        let meta = self.meta(ctx);
        let withdrawal = record.withdrawal.clone();
        AbortOnDrop::spawn(async move {
            let answer = session.answer_for_task(question, withdrawal).await;
            let answer = answer.and_then(|answer| RawJson::new(&answer).map_err(Error::internal));
            let request = match answer {
                Ok(answer) => {
                    let mut input_responses = InputResponses::default();
                    input_responses.insert(key.clone(), answer);
                    let params = UpdateTaskParams {
                        task_id: task_id.clone(),
                        input_responses,
                        meta: None,
                    };
                    task_request("tasks/update", &params)
                }
                // A task without this answer would wait for ever.
                Err(error) => {
                    let params = TaskParams {
                        task_id: task_id.clone(),
                        meta: None,
                    };
                    session.note(format!(
                        "a task is cancelled, because its question has no answer: {error}"
                    ));
                    task_request("tasks/cancel", &params)
                }
            };
            let request = match request {
                Ok(mut request) => {
                    request.meta = meta;
                    request
                }
                Err(error) => return session.note(error.message),
            };
            let mut sent = client.exchange(request.clone().into()).outcome().await;
            for pause in PAUSES {
                if sent.is_ok() {
                    return;
                }
                sleep(pause).await;
                sent = client.exchange(request.clone().into()).outcome().await;
            }
            if let Err(error) = sent {
                session.note(format!(
                    "an answer did not reach its task, whose question is asked again: {error}"
                ));
                // Aborts this work, so it comes last.
                session.tasks().forget(&task_id, &key);
            }
        })
    }
}

fn task_request(method: &str, params: &impl Serialize) -> Result<OtherRequest, ErrorObject> {
    let params = RawJson::new(params).map_err(|error| ErrorObject::internal(error.to_string()))?;
    let params: Box<RawValue> = params.into();
    OtherRequest::new(method, Some(&params))
}
