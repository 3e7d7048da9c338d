//! A task that a server holds in place of a result: when to ask after it, and what of it is open.

use alloc::{collections::BTreeSet, string::String, vec::Vec};
use core::time::Duration;

use super::{QuestionId, asked::Asked};
use crate::{
    limits::TaskLimits,
    protocol::{
        ClientRequest, DetailedTask, InputResponses, TaskParams, TaskStatus, UpdateTaskParams,
    },
};

/// A task the server holds in place of a result.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: String,
    /// Whether it is one of the core protocol (2025-11-25): the server asks on the session, and the
    /// result is fetched by itself.
    pub(super) is_core: bool,
    /// Whether its result is to be fetched now.
    pub(super) result_is_due: bool,
    /// When to ask after it again.
    pub(super) next: Duration,
    /// When it is given up.
    pub(super) until: Duration,
    /// How often to ask.
    pub(super) interval: Duration,
    pub(super) flight: Option<Flight>,
    /// Whether something is to be sent for which there was no transport.
    pub(super) waits: bool,
    /// The questions the host has.
    pub(super) asked: Vec<Asked>,
    /// The keys of all questions there have been: each is put to the host once.
    pub(super) keys: BTreeSet<String>,
    /// Answers that are to be sent.
    pub(super) answers: InputResponses,
    /// How it stood when it was told last.
    pub(super) told: Option<(TaskStatus, Option<String>)>,
}

/// A request about a task that the server has.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) number: i64,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Get,
    /// For the result of a task of the core protocol, which is the answer once there is one.
    Result,
    /// With these answers, in case they are lost on the way.
    Update(InputResponses),
}

impl Held {
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

    /// A task of which nothing is known but its id: it is asked after at once.
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
            asked: Vec::new(),
            keys: BTreeSet::new(),
            answers: InputResponses::new(),
            told: None,
        }
    }

    /// When something must be done about it, where nothing is on its way.
    pub(super) fn deadline(&self) -> Duration {
        match self.flight {
            Some(_) => self.until,
            None => self.next.min(self.until),
        }
    }

    /// The questions the host still has.
    pub(super) fn open(&self) -> impl Iterator<Item = QuestionId> {
        self.asked.iter().map(|asked| asked.id)
    }

    /// How much these take.
    pub(super) fn question_bytes(&self) -> usize {
        self.asked.iter().map(|asked| asked.bytes).sum()
    }

    /// The number of the request that is on its way.
    pub(super) fn number(&self) -> Option<i64> {
        self.flight.as_ref().map(|flight| flight.number)
    }

    /// The transport is gone, and with it what was on its way. Answers that may have arrived are
    /// sent again: a server ignores those whose questions are settled.
    pub(super) fn lose(&mut self) {
        self.waits = true;
        if let Some(Kind::Update(answers)) = self.flight.take().map(|flight| flight.kind) {
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
    pub(super) fn request(&mut self, now: Duration) -> Option<(Kind, ClientRequest)> {
        let task_id = self.id.clone();
        if !self.answers.is_empty() {
            let answers = core::mem::take(&mut self.answers);
            let params = UpdateTaskParams {
                task_id,
                input_responses: answers.clone(),
                meta: None,
            };
            let request = ClientRequest::UpdateTask(params);
            return Some((Kind::Update(answers), request));
        }
        if self.result_is_due {
            let request = ClientRequest::GetTaskPayload(task_params(task_id));
            return Some((Kind::Result, request));
        }
        let due = self.waits || self.next <= now;
        due.then(|| (Kind::Get, ClientRequest::GetTask(task_params(task_id))))
    }
}

pub(super) fn task_params(task_id: String) -> TaskParams {
    TaskParams {
        task_id,
        meta: None,
    }
}
