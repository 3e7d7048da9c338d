//! Calls that became tasks on the server (SEP-2663, and 2025-11-25). They are polled until they
//! end.

use alloc::{
    borrow::ToOwned, boxed::Box, collections::BTreeSet, format, string::String, sync::Arc, vec::Vec,
};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, ClientError, ClientMessage, Connection, Event, Greeting, Output, Profile, State,
    call::{Call, Stage},
    message::SentMeta,
    question::QuestionSource,
    timing::Timeouts,
};
use crate::{
    jsonrpc::INVALID_PARAMS,
    limits::TaskLimits,
    protocol::{
        CallToolParams, ClientRequest, DetailedTask, InputRequests, InputResponses, Outcome, Task,
        TaskParams, TaskState, TaskStatus, UpdateTaskParams,
    },
    revision::Era,
    wire,
};

impl Connection {
    pub(super) fn begin_task(&mut self, id: CallId, task: &DetailedTask, now: Duration) {
        let takes_tasks = self.profile.capabilities.tasks_extension();
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if !takes_tasks || !matches!(*call.request, ClientRequest::CallTool(_)) {
            let why = format!(
                "the result of `{}` is a task, which it must not be",
                call.request.method()
            );
            return self.finish(id, Err(ClientError::Protocol(why)));
        }
        self.hold(id, task, false, now);
    }

    /// A call became a task of the core protocol (2025-11-25, basic/utilities/tasks).
    pub(super) fn begin_core_task(&mut self, id: CallId, task: Task, now: Duration) {
        self.hold(id, &of_core(task), true, now);
    }

    fn hold(&mut self, id: CallId, task: &DetailedTask, is_core: bool, now: Duration) {
        let limits = &self.profile.limits;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if task.task_id.len() > limits.wire.id_bytes {
            let most = limits.wire.id_bytes;
            let why = format!("the id of its task is longer than the {most} bytes accepted here");
            return self.finish(id, Err(ClientError::Protocol(why)));
        }
        call.losses = 0;
        let longest = call.patience.task(limits);
        let held = RemoteTask {
            is_core,
            ..RemoteTask::new(task, longest, &limits.tasks, now)
        };
        call.stage = Stage::Task(Box::new(held));
        self.tell_task(id, task);
    }

    /// Sends the next request about a task, unless one is in flight.
    pub(super) fn step_task(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let Stage::Task(held) = &mut call.stage else {
            return;
        };
        if held.flight.is_some() {
            return;
        }
        match &self.state {
            State::Modern if !held.is_core => {}
            State::Legacy(_) if held.is_core => {}
            State::Idle => {
                held.waits = true;
                return self.reconnect(now);
            }
            State::Connecting | State::Opening(_) | State::Modern | State::Legacy(_) => {
                held.waits = true;
                return;
            }
        }
        let Some((kind, request)) = held.request(now) else {
            return;
        };
        held.waits = false;
        self.last_id += 1;
        let number = self.last_id;
        // The response arrives after the task has ended, and the task may ask the user first.
        let is_bounded = !matches!(kind, TaskRequestKind::Result);
        held.flight = Some(TaskRequest { number, kind });
        call.patience.renew(now);
        if is_bounded {
            call.patience.run(now);
        }
        self.sent.insert(number, id);
        self.send_task_request(number, request);
    }

    pub(super) fn handle_task_response(
        &mut self,
        id: CallId,
        outcome: Result<Box<RawValue>, ClientError>,
        now: Duration,
    ) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let Stage::Task(held) = &mut call.stage else {
            return;
        };
        let (flight, is_core) = (held.flight.take(), held.is_core);
        if matches!(&flight, Some(flight) if matches!(flight.kind, TaskRequestKind::Result)) {
            return self.finish(id, outcome);
        }
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.finish(id, Err(lost(error))),
        };
        call.losses = 0;
        if flight.is_some_and(|flight| matches!(flight.kind, TaskRequestKind::Update(_))) {
            // The effect of the answers should be visible soon.
            held.next = now.saturating_add(self.profile.limits.tasks.poll_least);
            return self.step_task(id, now);
        }
        if is_core {
            return match serde_json::from_str::<TaskState>(result.get()) {
                Ok(state) => self.follow_core_task(id, &of_core(state.task), now),
                Err(error) => self.finish(id, Err(unreadable(&error))),
            };
        }
        match Outcome::<DetailedTask>::parse(&result) {
            // Some servers mark every task in a result as a new task.
            Ok(Outcome::Done(task)) => self.follow_task(id, task, now),
            Ok(Outcome::Task(task)) => self.follow_task(id, *task, now),
            Ok(Outcome::NeedInput(_) | Outcome::CoreTask(_)) => {
                let why = "its description of a task is not a task";
                self.finish(id, Err(ClientError::Protocol(why.to_owned())));
            }
            Err(error) => self.finish(id, Err(unreadable(&error))),
        }
    }

    /// Follows the status of a task of the core protocol. A task that needs input asks on the
    /// session while its result is requested.
    fn follow_core_task(&mut self, id: CallId, task: &DetailedTask, now: Duration) {
        self.tell_task(id, task);
        if task.status == TaskStatus::Cancelled {
            let message = task.status_message.clone();
            return self.finish(id, Err(ClientError::TaskCancelled(message)));
        }
        let limits = &self.profile.limits;
        if let Some(call) = self.calls.get_mut(id)
            && let Stage::Task(held) = &mut call.stage
        {
            held.result_is_due = task.status != TaskStatus::Working;
            held.pace(task, &limits.tasks, now);
        }
        self.step_task(id, now);
    }

    fn follow_task(&mut self, id: CallId, mut task: DetailedTask, now: Duration) {
        self.tell_task(id, &task);
        let ended = match task.status {
            TaskStatus::Working | TaskStatus::InputRequired => {
                let requests = task.input_requests.take().unwrap_or_default();
                if let Err(error) = self.ask_for_task(id, requests, now) {
                    return self.give_up(id, error);
                }
                let limits = &self.profile.limits;
                if let Some(call) = self.calls.get_mut(id)
                    && let Stage::Task(held) = &mut call.stage
                {
                    held.pace(&task, &limits.tasks, now);
                }
                return self.step_task(id, now);
            }
            TaskStatus::Completed => completed(task),
            TaskStatus::Failed => Err(match task.error {
                Some(error) => ClientError::Server(error),
                None => ClientError::Protocol("a task failed without its error".to_owned()),
            }),
            TaskStatus::Cancelled => Err(ClientError::TaskCancelled(task.status_message)),
        };
        self.finish(id, ended);
    }

    /// Asks the host the new questions of a task, and withdraws those that are no longer open.
    fn ask_for_task(
        &mut self,
        id: CallId,
        requests: InputRequests,
        now: Duration,
    ) -> Result<(), ClientError> {
        let most = self.profile.limits.asking.questions_per_round;
        if requests.len() > most {
            let count = requests.len();
            let why = format!("it asks {count} questions at once; the most is {most}");
            return Err(ClientError::Protocol(why));
        }
        self.withdraw(|asked| {
            let is_open = |key: &String| requests.get(key).is_some();
            let is_gone = matches!(&asked.source, QuestionSource::Result(key) if !is_open(key));
            asked.call == Some(id) && is_gone
        });
        let Some(held) = self.held(id) else {
            return Ok(());
        };
        let new: Vec<_> = requests
            .into_iter()
            .filter(|(key, _)| !held.keys.contains(key))
            .collect();
        let ever = held.keys.len() + new.len();
        // A task may ask as many questions in total as an ordinary call.
        let rounds = usize::try_from(self.profile.limits.asking.rounds).unwrap_or(usize::MAX);
        let most = most.saturating_mul(rounds);
        if ever > most {
            let why = format!("its task asks more than the {most} questions accepted here");
            return Err(ClientError::Protocol(why));
        }
        for (key, request) in new {
            let asked = self.admit_question(id, key.clone(), request, 0, now)?;
            if let Some(held) = self.held(id) {
                held.keys.insert(key);
            }
            self.ask_host(asked);
        }
        Ok(())
    }

    pub(super) fn time_out_task(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let in_all = call.patience.task(&self.profile.limits);
        let request = call.patience.exceeded();
        let Stage::Task(held) = &call.stage else {
            return;
        };
        if now >= held.until {
            self.give_up(id, ClientError::TimedOut(in_all));
        } else if held.flight.is_some() {
            self.give_up(id, ClientError::TimedOut(request));
        } else {
            self.step_task(id, now);
        }
    }

    /// Ends a call, and its task on the server if it has one.
    pub(super) fn give_up(&mut self, id: CallId, error: ClientError) {
        self.cancel_task(id);
        self.finish(id, Err(error));
    }

    /// Cancels the task of a call on the server. The response is ignored.
    pub(super) fn cancel_task(&mut self, id: CallId) {
        let Some(held) = self.held(id) else { return };
        let (params, is_core) = (task_params(held.id.clone()), held.is_core);
        let is_open = match self.state {
            State::Modern => !is_core,
            State::Legacy(_) => is_core,
            State::Idle | State::Connecting | State::Opening(_) => false,
        };
        if is_open {
            self.last_id += 1;
            let number = self.last_id;
            self.send_task_request(number, ClientRequest::CancelTask(params));
        }
    }

    fn send_task_request(&mut self, number: i64, request: ClientRequest) {
        let Some(greeting) = &self.greeting else {
            return;
        };
        let revision = greeting.revision;
        if revision.era() == Era::Legacy {
            let message = ClientMessage::request(revision, number, request);
            return self.out.push_back(Output::Send(message));
        }
        let request = Arc::new(wire::lower(request, revision));
        let (profile, level) = (&self.profile, self.log_level);
        let introduction = self.introduction.get(profile, revision, level);
        let meta = SentMeta::new(introduction, None, None);
        let message = ClientMessage::lowered(number, request, Some(meta));
        self.out.push_back(Output::Send(message));
    }

    fn tell_task(&mut self, id: CallId, task: &DetailedTask) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let target = call.target();
        let Stage::Task(held) = &mut call.stage else {
            return;
        };
        let news = Some((task.status, task.status_message.clone()));
        if held.told == news {
            return;
        }
        held.told = news;
        self.event(Event::Task {
            call: id,
            target,
            task_id: task.task_id.clone(),
            status: task.status,
            message: task.status_message.clone(),
            ttl: task.ttl_ms.map(Duration::from_millis),
        });
    }

    pub(super) fn held(&mut self, id: CallId) -> Option<&mut RemoteTask> {
        match &mut self.calls.get_mut(id)?.stage {
            Stage::Task(held) => Some(held),
            _ => None,
        }
    }
}

fn of_core(task: Task) -> DetailedTask {
    DetailedTask {
        task_id: task.task_id,
        status: task.status,
        status_message: task.status_message,
        created_at: task.created_at,
        last_updated_at: task.last_updated_at,
        ttl_ms: task.ttl,
        poll_interval_ms: task.poll_interval,
        input_requests: None,
        result: None,
        error: None,
        meta: None,
    }
}

fn unreadable(error: &serde_json::Error) -> ClientError {
    let error = crate::json::explain(error);
    ClientError::Protocol(format!("its description of a task cannot be read: {error}"))
}

fn completed(task: DetailedTask) -> Result<Box<RawValue>, ClientError> {
    let Some(result) = task.result else {
        let why = "a task is completed without its result";
        return Err(ClientError::Protocol(why.to_owned()));
    };
    let result = Box::<RawValue>::from(result);
    match Outcome::peek(&result) {
        Ok(Outcome::Done(())) => Ok(result),
        _ => {
            let why = "the result of a task is not complete";
            Err(ClientError::Protocol(why.to_owned()))
        }
    }
}

/// Converts the error of a request about a task. The server chose the id, so if it does not know
/// the task, it has lost it.
fn lost(error: ClientError) -> ClientError {
    match error {
        ClientError::Server(error) if error.code == INVALID_PARAMS => {
            ClientError::TaskLost(error.message)
        }
        error => error,
    }
}

#[derive(Debug)]
pub(super) struct RemoteTask {
    pub(super) id: String,
    /// Whether it is a task of the core protocol (2025-11-25), which asks on the session and has a
    /// separate request for its result.
    pub(super) is_core: bool,
    pub(super) result_is_due: bool,
    pub(super) next: Duration,
    pub(super) until: Duration,
    pub(super) interval: Duration,
    pub(super) flight: Option<TaskRequest>,
    /// Whether a request is waiting for a transport.
    pub(super) waits: bool,
    /// The keys of all questions so far; each is asked once.
    pub(super) keys: BTreeSet<String>,
    pub(super) answers: InputResponses,
    pub(super) told: Option<(TaskStatus, Option<String>)>,
}

#[derive(Debug)]
pub(super) struct TaskRequest {
    pub(super) number: i64,
    pub(super) kind: TaskRequestKind,
}

#[derive(Debug)]
pub(super) enum TaskRequestKind {
    Get,
    /// Requests the result of a task of the core protocol; the response arrives with the result.
    Result,
    /// Sends these answers. They are stored in case they are lost.
    Update(InputResponses),
}

impl RemoteTask {
    pub(super) fn new(
        task: &DetailedTask,
        longest: Duration,
        limits: &TaskLimits,
        now: Duration,
    ) -> Self {
        let mut held = Self::unseen(task.task_id.clone(), longest, limits, now);
        held.pace(task, limits, now);
        if task.status.is_terminal() {
            held.next = now;
        }
        held
    }

    /// Makes a task of which only the id is known. It is polled at once.
    pub(super) fn unseen(
        id: String,
        longest: Duration,
        limits: &TaskLimits,
        now: Duration,
    ) -> Self {
        Self {
            id,
            is_core: false,
            result_is_due: false,
            next: now,
            until: now.saturating_add(longest),
            interval: limits.poll,
            flight: None,
            waits: false,
            keys: BTreeSet::new(),
            answers: InputResponses::new(),
            told: None,
        }
    }

    /// When the task needs attention next. With a request in flight, only the end of the time
    /// counts.
    pub(super) fn deadline(&self) -> Duration {
        match self.flight {
            Some(_) => self.until,
            None => self.next.min(self.until),
        }
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.flight.as_ref().map(|flight| flight.number)
    }

    /// The transport is gone. Answers in flight will be sent again; the server ignores those that
    /// it already has.
    pub(super) fn lose(&mut self) {
        self.waits = true;
        if let Some(TaskRequestKind::Update(answers)) = self.flight.take().map(|flight| flight.kind)
        {
            for (key, answer) in answers {
                self.answers.insert(key, answer);
            }
        }
    }

    pub(super) fn pace(&mut self, task: &DetailedTask, limits: &TaskLimits, now: Duration) {
        let wished = task.poll_interval_ms.map(Duration::from_millis);
        let (least, most) = (limits.poll_least, limits.poll_most);
        let wished = wished.unwrap_or(limits.poll);
        self.interval = wished.min(most).max(least);
        self.next = now.saturating_add(self.interval);
    }

    /// The next request about the task, if one is due.
    pub(super) fn request(&mut self, now: Duration) -> Option<(TaskRequestKind, ClientRequest)> {
        let task_id = self.id.clone();
        if !self.answers.is_empty() {
            let answers = core::mem::take(&mut self.answers);
            let params = UpdateTaskParams {
                task_id,
                input_responses: answers.clone(),
                meta: None,
            };
            let request = ClientRequest::UpdateTask(params);
            return Some((TaskRequestKind::Update(answers), request));
        }
        if self.result_is_due {
            let request = ClientRequest::GetTaskPayload(task_params(task_id));
            return Some((TaskRequestKind::Result, request));
        }
        let due = self.waits || self.next <= now;
        due.then(|| {
            (
                TaskRequestKind::Get,
                ClientRequest::GetTask(task_params(task_id)),
            )
        })
    }
}

pub(super) fn task_params(task_id: String) -> TaskParams {
    TaskParams {
        task_id,
        meta: None,
    }
}

impl Connection {
    /// Follows a task that a call of this tool became, on this or an earlier connection. The tool
    /// is not called: the server is polled as for any call that became a task. If the server does
    /// not know the task, the call ends with [`ClientError::TaskLost`].
    ///
    /// The id comes from [`Event::Task`](super::Event::Task). If the server does not authenticate
    /// its callers, the id alone gives access to the task.
    pub fn resume_task(
        &mut self,
        id: CallId,
        task_id: String,
        tool: String,
        timeouts: Timeouts,
        now: Duration,
    ) {
        let most = self.profile.limits.wire.id_bytes;
        if task_id.len() > most {
            let why = format!("the id of the task is longer than the {most} bytes accepted here");
            let outcome = Err(ClientError::Unsupported(why));
            return self.out.push_back(Output::Done(id, outcome));
        }
        if self.refuses_more(id) {
            return;
        }
        let request = ClientRequest::CallTool(CallToolParams::new(tool));
        let mut call = Call::new(request, &self.profile.limits, timeouts);
        call.taken = Some(task_id);
        self.calls.insert(id, call);
        self.send(id, now);
    }

    pub(super) fn take_up(&mut self, id: CallId, task_id: String, now: Duration) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        if let Err(why) = follows_tasks(&self.profile, greeting) {
            return self.finish(id, Err(ClientError::Unsupported(why)));
        }
        let limits = &self.profile.limits;
        let longest = call.patience.task(limits);
        let held = RemoteTask {
            is_core: greeting.revision.facts().tasks,
            ..RemoteTask::unseen(task_id, longest, &limits.tasks, now)
        };
        call.stage = Stage::Task(Box::new(held));
        self.step_task(id, now);
    }

    /// Ends a call without [`Output::Done`] and leaves its task running for another connection. Its
    /// open questions are withdrawn here but stay open on the server. A call that is not a task is
    /// [cancelled](Connection::cancel).
    pub fn leave_task(&mut self, id: CallId, now: Duration) {
        let is_waiting = |call: &Call| call.taken.is_some();
        if self.held(id).is_none() && !self.calls.get(id).is_some_and(is_waiting) {
            return self.cancel(id, now);
        }
        if let Some(call) = self.calls.remove(id) {
            self.leave(id, &call);
        }
        // They will be answered on the other connection.
        self.withdraw(|asked| asked.call == Some(id));
        self.resume_calls(now);
    }
}

/// Checks that both sides support tasks in the current revision.
///
/// # Errors
///
/// Says which side does not.
fn follows_tasks(profile: &Profile, greeting: &Greeting) -> Result<(), String> {
    let Greeting {
        revision,
        capabilities,
        ..
    } = greeting;
    let facts = revision.facts();
    let has_tasks = match (facts.extensions, facts.tasks) {
        (true, _) if !profile.capabilities.tasks_extension() => {
            return Err("this client takes no tasks".into());
        }
        (true, _) => capabilities.tasks_extension(),
        (false, true) => capabilities.calls_as_tasks(),
        (false, false) => return Err(format!("there are no tasks in revision {revision}")),
    };
    match has_tasks {
        true => Ok(()),
        false => Err("the server has no tasks".into()),
    }
}
