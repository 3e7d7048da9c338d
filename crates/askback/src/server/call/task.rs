//! Drives a call that is a task: its work continues without the request. A handler in this process
//! stays suspended while a user is asked; in a fleet it is dropped, and any process continues it.

use std::{mem, sync::Arc};

use askback_core::{
    auth::Scopes,
    jsonrpc::ErrorObject,
    protocol::{Outcome, RawJson},
    wire,
};

use super::{Answer, CallPeer, HandlerCall, held_driver::HeldDriver};
use crate::{
    ctx::{AskingPeer, FlowPause},
    error::{Error, Result},
    flow::{Drive, TaskStage},
    server::{answer::error_object, rounds::Rounds, tasks::HandoverPeer},
};
#[cfg(feature = "http-server")]
use crate::{
    flow::BoxFuture,
    server::{
        fleet,
        rounds::{self, Carrier},
    },
};

pub(in crate::server) struct TaskTerms {
    pub(in crate::server) at_once: bool,
    pub(in crate::server) scopes: Option<Arc<Scopes>>,
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    pub(in crate::server) is_durable: bool,
}

pub(super) enum TaskRole {
    /// The tool does not declare tasks.
    Undeclared,
    /// The client does not support tasks.
    Unsupported,
    /// The call becomes a task at its start, or when its handler decides.
    Possible(Arc<HandoverPeer>, TaskTerms),
    /// The call is a task: from its start, or since its handler decided.
    Is { at_once: bool },
}

impl TaskRole {
    pub(super) fn stage(&self) -> TaskStage {
        match self {
            Self::Undeclared => TaskStage::Undeclared,
            Self::Unsupported => TaskStage::Unsupported,
            Self::Is { at_once: true } => TaskStage::Is,
            // A replayed task handler decides again.
            Self::Possible(..) | Self::Is { at_once: false } => TaskStage::Possible,
        }
    }
}

impl<T: Answer> HandlerCall<T> {
    /// Lets the handler decide when the call becomes a task, unless it starts as one.
    pub(in crate::server) fn may_become_task(&mut self, terms: TaskTerms) {
        let handover = Arc::new(HandoverPeer::new(self.peer.to_tell()));
        self.peer = CallPeer::Rounds(Arc::clone(&handover) as _);
        self.task = TaskRole::Possible(handover, terms);
    }

    /// Ignores the handler's decision to become a task, because the client does not support tasks.
    pub(in crate::server) fn without_tasks(&mut self) {
        self.task = TaskRole::Unsupported;
    }

    pub(in crate::server) fn continue_task(&mut self, at_once: bool) {
        self.task = TaskRole::Is { at_once };
    }

    pub(in crate::server) fn is_task(&self) -> bool {
        matches!(self.task, TaskRole::Is { .. })
    }

    pub(super) async fn become_task(&mut self, drive: Drive<Outcome<T>>) -> Result<Outcome<T>> {
        self.take_room(self.incoming.kept_bytes())?;
        let role = mem::replace(&mut self.task, TaskRole::Undeclared);
        let TaskRole::Possible(handover, terms) = role else {
            return Err(Error::new("this call cannot become a task"));
        };
        #[cfg(feature = "http-server")]
        if self.shared.fleet.is_some() {
            return self.become_fleet_task(drive, &handover, terms).await;
        }
        let owner = self.incoming.origin.principal.clone();
        let (peer, task) = self.shared.begin_task(owner, terms.scopes)?;
        let asked: Arc<dyn AskingPeer> = Arc::new(peer.clone());
        handover.hand_over(Arc::clone(&asked) as _);
        let mut working =
            self.turn_into_task(&drive, CallPeer::Held(Arc::clone(&asked)), terms.at_once);
        peer.work_on(async move {
            let ended = HeldDriver::new(&mut working, asked).run(drive, None).await;
            working.result_of_task(ended)
        });
        Ok(Outcome::Task(task))
    }

    /// Becomes a task of a fleet: it is saved before its client hears of it, and asks in rounds.
    #[cfg(feature = "http-server")]
    fn become_fleet_task<'a>(
        &'a mut self,
        drive: Drive<Outcome<T>>,
        handover: &'a HandoverPeer,
        terms: TaskTerms,
    ) -> BoxFuture<'a, Result<Outcome<T>>> {
        Box::pin(async move {
            // Also for a task that has just started: a process that continues it must make the same
            // claims.
            let (state, random) = self.take_down(&drive)?;
            drive.cell().flow().note_written_down();
            let (shared, incoming) = (&self.shared, &self.incoming);
            let state = rounds::seal_state(shared, incoming, &state, random, Carrier::Journal);
            let (state, at_once) = (state.await?, terms.at_once);
            let (begun, task) =
                fleet::begin_task(&self.shared, &self.incoming, terms, state).await?;
            let peer = begun.peer();
            handover.hand_over(Arc::clone(&peer) as _);
            let mut working = self.turn_into_task(&drive, CallPeer::Journal(peer), at_once);
            begun.work_on(async move {
                let ended = working.run_round(drive, None).await;
                let ended = match working.end_round(false, ended) {
                    Ok(ended) => ended,
                    Err(parking) => parking.await,
                };
                working.end_of_task(ended)
            });
            Ok(Outcome::Task(task))
        })
    }

    fn turn_into_task(&mut self, drive: &Drive<Outcome<T>>, peer: CallPeer, at_once: bool) -> Self {
        drive.cell().become_task();
        Self {
            shared: Arc::clone(&self.shared),
            scope: self.scope,
            peer,
            incoming: Arc::clone(&self.incoming),
            handler: self.handler.clone(),
            task: TaskRole::Is { at_once },
            input: None,
            output: self.output.clone(),
            answer_rule: self.answer_rule.clone(),
            room: self.room.take(),
            rounds: Rounds::default(),
            pause: FlowPause::default(),
        }
    }

    /// Runs a task until it ends, or returns `None` if it is parked again.
    #[cfg(feature = "http-server")]
    pub(in crate::server) async fn run_task(&mut self) -> Option<Result<RawJson, ErrorObject>> {
        let ended = self.run().await;
        self.end_of_task(ended)
    }

    #[cfg(feature = "http-server")]
    fn end_of_task(&self, ended: Result<Outcome<T>>) -> Option<Result<RawJson, ErrorObject>> {
        let is_parked = ended.as_ref().is_err_and(Error::is_parked);
        (!is_parked).then(|| self.result_of_task(ended))
    }

    /// Returns the result that the call would have without the task (SEP-2663, Task Execution
    /// Errors).
    fn result_of_task(&self, ended: Result<Outcome<T>>) -> Result<RawJson, ErrorObject> {
        let origin = &self.incoming.origin;
        let ended = ended.and_then(|outcome| {
            let result = outcome.done();
            result.ok_or_else(|| Error::new("the call came to no result"))
        });
        let result = self.settle(ended);
        let result = result.map_err(|error| error_object(origin, error))?;
        wire::result_json(origin.revision, result)
            .map_err(|error| ErrorObject::internal(error.to_string()))
    }
}
