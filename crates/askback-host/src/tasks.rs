//! Calls that run in the background, and their status.
//!
//! Users type the number of a task, so it is assigned here and not by the server.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::{
    client::{CallId, Event},
    protocol::TaskStatus,
};
use tokio::time::Instant;

use crate::{
    model::Call,
    server_id::ServerId,
    text::{PeerText, Words},
    words,
};

/// The maximum number of finished tasks. Older ones are forgotten.
const KEPT: usize = 64;

/// The maximum length of a server's status message, in characters.
const MESSAGE: usize = 1024;

/// The tasks of all servers at one front end. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Mutex<Board>>);

#[derive(Debug, Default)]
struct Board {
    last: u32,
    all: BTreeMap<u32, Task>,
    watched: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub server: ServerId,
    pub tool: String,
    pub standing: Standing,
    pub message: Option<PeerText>,
    /// The progress and, if known, the total.
    pub progress: Option<(f64, Option<f64>)>,
    call: CallId,
    began: Instant,
    took: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Working,
    /// Waiting for the user's answers.
    Asking,
    Done,
    /// Ended with a result in which the tool reports an error.
    Error,
    Failed,
    Cancelled,
}

impl Tasks {
    /// Adds a call that now runs in the background. Returns its number for the user.
    pub fn begin(&self, server: ServerId, call: CallId, tool: &str) -> u32 {
        let mut board = self.lock();
        board.forget();
        board.last = board.last.saturating_add(1);
        let number = board.last;
        let task = Task {
            server,
            tool: tool.to_owned(),
            standing: Standing::Working,
            message: None,
            progress: None,
            call,
            began: Instant::now(),
            took: None,
        };
        board.all.insert(number, task);
        number
    }

    pub fn end(&self, number: u32, standing: Standing) {
        if let Some(task) = self.lock().all.get_mut(&number) {
            task.standing = standing;
            task.took = Some(task.began.elapsed());
        }
    }

    /// Sets the task whose events are shown as they arrive, as for a call in the foreground.
    pub fn watch(&self, number: Option<u32>) {
        self.lock().watched = number;
    }

    pub fn get(&self, number: u32) -> Option<Task> {
        self.lock().all.get(&number).cloned()
    }

    pub fn all(&self) -> Vec<(u32, Task)> {
        self.lock().all.clone().into_iter().collect()
    }

    /// The call of a question, as a task if it runs in the background.
    pub(crate) fn named(&self, server: ServerId, id: Option<CallId>, call: Call) -> Call {
        let number = id.and_then(|id| self.lock().number(server, id));
        match (number, call) {
            (Some(number), Call::Tool(tool)) => Call::Task { number, tool },
            (_, call) => call,
        }
    }

    /// Handles an event about a task. Returns all other events, and those of the watched task.
    pub(crate) fn hear(&self, server: ServerId, event: Event) -> Option<Event> {
        let (Event::Task { call, .. } | Event::Progress { call, .. }) = event else {
            return Some(event);
        };
        let mut board = self.lock();
        let Some(number) = board.number(server, call) else {
            return Some(event);
        };
        let is_watched = board.watched == Some(number);
        if let Some(task) = board.all.get_mut(&number) {
            task.hear(&event);
        }
        is_watched.then_some(event)
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    fn number(&self, server: ServerId, call: CallId) -> Option<u32> {
        let mut all = self.all.iter();
        // The call ids start again after a server restart, so only running tasks match.
        let is_it = |task: &Task| task.server == server && task.call == call && task.is_at_work();
        all.find_map(|(number, task)| is_it(task).then_some(*number))
    }

    fn forget(&mut self) {
        let ended = self.all.iter().filter(|(_, task)| !task.is_at_work());
        let ended: Vec<_> = ended.map(|(number, _)| *number).collect();
        if let (true, Some(oldest)) = (ended.len() >= KEPT, ended.first()) {
            self.all.remove(oldest);
        }
    }
}

impl Task {
    pub fn is_at_work(&self) -> bool {
        matches!(self.standing, Standing::Working | Standing::Asking)
    }

    /// The status, progress and duration, for the user.
    pub fn words(&self) -> Words {
        let standing = match self.standing {
            Standing::Working => "at work",
            Standing::Asking => "waits for your answer",
            Standing::Done => "done",
            Standing::Error => "the tool reports an error",
            Standing::Failed => "failed",
            Standing::Cancelled => "cancelled",
        };
        let took = self.took.unwrap_or_else(|| self.began.elapsed()).as_secs();
        match self.progress.filter(|_| self.is_at_work()) {
            Some((far, Some(total))) => words!("{}, {} of {}, {} s", standing, far, total, took),
            Some((far, None)) => words!("{}, {}, {} s", standing, far, took),
            None => words!("{}, {} s", standing, took),
        }
    }

    fn hear(&mut self, event: &Event) {
        let message = match event {
            Event::Task {
                status, message, ..
            } => {
                match status {
                    TaskStatus::InputRequired => self.standing = Standing::Asking,
                    TaskStatus::Working => self.standing = Standing::Working,
                    // The result of the call decides how it ended.
                    TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {}
                }
                message
            }
            Event::Progress {
                progress,
                total,
                message,
                ..
            } => {
                self.progress = Some((*progress, *total));
                message
            }
            _ => return,
        };
        if let Some(message) = message {
            self.message = Some(PeerText::from(message).cut(MESSAGE).0);
        }
    }
}

#[cfg(test)]
mod tests {
    use askback::client::CallTarget;

    use super::*;

    const HERE: ServerId = ServerId(0);
    const THERE: ServerId = ServerId(1);

    fn stands(call: u64, status: TaskStatus, message: Option<&str>) -> Event {
        Event::Task {
            call: CallId(call),
            target: Some(CallTarget::Tool("dig".to_owned())),
            task_id: "t".to_owned(),
            status,
            message: message.map(str::to_owned),
            ttl: None,
        }
    }

    fn far(call: u64, progress: f64, total: Option<f64>) -> Event {
        Event::Progress {
            call: CallId(call),
            target: None,
            progress,
            total,
            message: None,
        }
    }

    #[test]
    fn a_task_has_the_status_that_its_server_reports() {
        let tasks = Tasks::default();
        let number = tasks.begin(HERE, CallId(7), "dig");
        let check = |event: Event, words: &str, message: Option<&str>| {
            assert_eq!(tasks.hear(HERE, event), None);
            let task = tasks.get(number).expect("it is known");
            assert_eq!(task.words().as_str(), words);
            assert_eq!(task.message.as_ref().map(PeerText::raw), message);
        };
        let working = TaskStatus::Working;
        check(stands(7, working, None), "at work, 0 s", None);
        check(far(7, 1.0, Some(4.0)), "at work, 1 of 4, 0 s", None);
        check(
            stands(7, working, Some("half")),
            "at work, 1 of 4, 0 s",
            Some("half"),
        );
        check(far(7, 3.0, None), "at work, 3, 0 s", Some("half"));
        check(
            stands(7, TaskStatus::InputRequired, None),
            "waits for your answer, 3, 0 s",
            Some("half"),
        );
        check(
            stands(7, TaskStatus::Completed, Some(&"x".repeat(2000))),
            "waits for your answer, 3, 0 s",
            Some(&"x".repeat(MESSAGE)),
        );
        tasks.end(number, Standing::Done);
        let ended = tasks.get(number).expect("it is known");
        assert_eq!(ended.words().as_str(), "done, 0 s");
    }

    #[test]
    fn events_of_other_calls_do_not_change_a_task() {
        let tasks = Tasks::default();
        let number = tasks.begin(HERE, CallId(7), "dig");
        let told = |server, event: Event| tasks.hear(server, event.clone()) == Some(event);
        assert!(told(HERE, far(8, 1.0, None)));
        assert!(told(THERE, far(7, 1.0, None)));
        assert!(told(HERE, Event::ToolsChanged));
        assert!(!told(HERE, far(7, 1.0, None)));
        tasks.watch(Some(number));
        assert!(told(HERE, far(7, 2.0, None)));
        tasks.watch(None);
        assert!(!told(HERE, far(7, 3.0, None)));

        let asked = |server, id: u64| {
            let call = Call::Tool("dig".to_owned());
            tasks.named(server, Some(CallId(id)), call)
        };
        let (number, tool) = (1, "dig".to_owned());
        assert_eq!(asked(HERE, 7), Call::Task { number, tool });
        assert_eq!(asked(HERE, 8), Call::Tool("dig".to_owned()));
        assert_eq!(asked(THERE, 7), Call::Tool("dig".to_owned()));
        // The next connection starts its call ids again.
        tasks.end(number, Standing::Failed);
        assert_eq!(asked(HERE, 7), Call::Tool("dig".to_owned()));
        assert!(told(HERE, far(7, 4.0, None)));
    }

    #[test]
    fn the_oldest_of_many_that_ended_is_forgotten() {
        let tasks = Tasks::default();
        let at_work = tasks.begin(HERE, CallId(0), "dig");
        for call in 1..=100 {
            let number = tasks.begin(HERE, CallId(call), "dig");
            tasks.end(number, Standing::Done);
        }
        assert_eq!(tasks.all().len(), KEPT + 1);
        assert!(tasks.get(at_work).is_some());
        assert!(tasks.get(2).is_none());
        assert!(tasks.get(101).is_some());
    }
}
