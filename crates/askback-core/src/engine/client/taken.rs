//! Tasks that are taken up from a connection before, also that of another process, and that are left
//! to a later one.

use alloc::{boxed::Box, format, string::String};
use core::time::Duration;

use super::{
    CallId, ClientError, Connection, Greeting, Output, Profile,
    call::{Call, Stage},
    held::Held,
    patience::Timeouts,
};
use crate::protocol::{CallToolParams, ClientRequest};

impl Connection {
    /// Follows a task that a call of this tool became, on this connection or one before. Nothing is
    /// called: the server is asked how the task stands, and from then on all is as with a call that
    /// became one. One that the server does not know ends with [`ClientError::TaskLost`].
    ///
    /// The id comes from [`Event::Task`](super::Event::Task). It is as good as a key to the task
    /// where the server does not tell its callers apart.
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

    /// Begins to follow a task, now that it is known how the server speaks.
    pub(super) fn take_up(&mut self, id: CallId, task_id: String, now: Duration) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        if let Err(why) = follows_tasks(&self.profile, greeting) {
            return self.finish(id, Err(ClientError::Unsupported(why)));
        }
        let limits = &self.profile.limits;
        let longest = call.patience.task(limits);
        let held = Held {
            is_core: greeting.revision.facts().tasks,
            ..Held::unseen(task_id, longest, &limits.tasks, now)
        };
        call.stage = Stage::Task(Box::new(held));
        self.step_task(id, now);
    }

    /// Ends a call without [`Output::Done`] and leaves its task to whoever takes it up: its open
    /// questions are withdrawn and wait for them. One that is no task is
    /// [cancelled](Connection::cancel).
    pub fn leave_task(&mut self, id: CallId, now: Duration) {
        let is_waiting = |call: &Call| call.taken.is_some();
        if self.held(id).is_none() && !self.calls.get(id).is_some_and(is_waiting) {
            return self.cancel(id, now);
        }
        if let Some(call) = self.calls.remove(id) {
            self.leave(&call);
        }
        self.leave_session_questions(id, now);
    }
}

/// Whether both sides know of tasks in the revision that is spoken.
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
