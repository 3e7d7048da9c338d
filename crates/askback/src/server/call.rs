//! One call of a handler, from its request to its result. Most calls end on their first poll. The
//! others use one of three drivers, depending on how their questions reach the client.

mod held_driver;
mod round;
mod task;

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::{
    ask::{Flow, OpenQuestion},
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::Outcome,
};
use tokio::time::{Instant, Sleep, sleep};

#[cfg(feature = "http-server")]
pub(super) use self::held_driver::waiting_for;
pub(super) use self::task::TaskTerms;
use self::{held_driver::HeldDriver, task::TaskRole};
use super::{
    Shared,
    answer::Answer,
    budget::{Charge, NoRoom},
    checks::{InputCheck, OutputCheck},
    middleware,
    registry::ScopeId,
    rounds::Rounds,
    trace,
};
use crate::{
    ctx::{self, CallPeer, Ctx, FlowPause, Incoming, Peer},
    error::{Error, Result},
    flow::{AnswerRule, BoxFuture, Cell, Drive, RoundMode, Turn},
    handler::ErasedHandler,
};

/// Parameters larger than this count against the quota as soon as the call starts. Smaller ones are
/// bounded by the number of connections and of calls of a session.
const WORTH_COUNTING: usize = 4 << 10;

pub(super) struct HandlerCall<T> {
    pub(super) shared: Arc<Shared>,
    scope: ScopeId,
    peer: CallPeer,
    pub(super) incoming: Arc<Incoming>,
    handler: ErasedHandler<Outcome<T>>,
    task: TaskRole,
    input: Option<Arc<InputCheck>>,
    output: Option<Arc<OutputCheck>>,
    answer_rule: Option<Arc<dyn AnswerRule>>,
    /// The charge for its parameters, if they are large or long-lived.
    room: Option<Charge>,
    rounds: Rounds,
    pause: FlowPause,
}

impl<T: Answer> HandlerCall<T> {
    pub(super) fn new(
        shared: &Arc<Shared>,
        scope: ScopeId,
        peer: &CallPeer,
        incoming: Incoming,
        rounds: Rounds,
        handler: ErasedHandler<Outcome<T>>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            scope,
            peer: peer.clone(),
            incoming: Arc::new(incoming),
            handler,
            task: TaskRole::Undeclared,
            input: None,
            output: None,
            answer_rule: None,
            room: None,
            rounds,
            pause: FlowPause::default(),
        }
    }

    // These take a reference, because moving a call costs time.

    pub(super) fn check(&mut self, input: Arc<InputCheck>, output: Option<Arc<OutputCheck>>) {
        (self.input, self.output) = (Some(input), output);
    }

    #[cfg(feature = "witness")]
    pub(super) fn set_answer_rule(&mut self, rule: Option<Arc<dyn AnswerRule>>) {
        self.answer_rule = rule;
    }

    pub(super) async fn run(&mut self) -> Result<Outcome<T>> {
        let bytes = self.incoming.kept_bytes() + self.rounds.kept_bytes();
        if bytes > WORTH_COUNTING {
            self.take_room(bytes)?;
        }
        let asked = self.rounds.continue_a_call();
        let ended = if self.shared.handler_scope(self.scope).layers.is_empty() {
            self.handle().await
        } else {
            // Boxed, because it would make every call larger.
            Box::pin(self.handle_inside_middleware()).await
        };
        let parking = match self.end_round(asked, ended) {
            Ok(ended) => return ended,
            Err(parking) => parking,
        };
        parking.await
    }

    /// Returns the result or the questions of a round, or a future that parks the call. The future is
    /// boxed, because it would make every call larger. After [`Error::parked`] the call is in the
    /// journal, and the process that receives the answers continues it.
    fn end_round(
        &self,
        asked: bool,
        mut ended: Result<Outcome<T>>,
    ) -> Result<Result<Outcome<T>>, BoxFuture<'_, Result<Outcome<T>>>> {
        let depends_on_reader = asked || self.incoming.principal_read.get();
        if let (true, Ok(Outcome::Done(result))) = (depends_on_reader, &mut ended) {
            result.keep_private();
        }
        Ok(match (ended, &self.peer) {
            (Ok(Outcome::Done(result)), _) => self.settle(Ok(result)).map(Outcome::Done),
            (Ok(Outcome::NeedInput(round)), CallPeer::Journal(peer)) => {
                let parking = peer.park(Arc::clone(&self.incoming), round, self.pause);
                return Err(Box::pin(async move {
                    match parking.await {
                        Ok(()) => Err(Error::parked()),
                        Err(error) => self.settle(Err(error)).map(Outcome::Done),
                    }
                }));
            }
            (Ok(outcome), _) => Ok(outcome),
            (Err(error), _) => self.settle(Err(error)).map(Outcome::Done),
        })
    }

    fn settle(&self, ended: Result<T>) -> Result<T> {
        T::settle(ended, &self.incoming.origin, self.output.as_deref())
    }

    async fn handle_inside_middleware(&mut self) -> Result<Outcome<T>> {
        let (shared, call) = (Arc::clone(&self.shared), Arc::clone(&self.incoming));
        let layers = &shared.handler_scope(self.scope).layers;
        let ended = middleware::around(layers, &call, self.handle()).await;
        // The handler may have used another copy of the request.
        if call.principal_read.get() {
            self.incoming.principal_read.set();
        }
        ended
    }

    async fn handle(&mut self) -> Result<Outcome<T>> {
        if let Some(input) = &self.input {
            input.check(self.incoming.arguments())?;
        }
        if matches!(&self.task, TaskRole::Possible(_, terms) if terms.at_once) {
            let drive = self.drive(None, self.peer.to_tell());
            // Boxed, because it would make every call larger.
            return Box::pin(self.become_task(drive)).await;
        }
        let is_held = matches!(self.peer, CallPeer::Held(_));
        let mut drive = if self.rounds.continue_a_call() && !is_held {
            Box::pin(self.resume()).await?
        } else {
            self.drive(None, self.peer.to_tell())
        };
        let turn = poll_fn(|cx| Poll::Ready(drive.poll_turn(cx))).await;
        let rest = match self.end(drive, turn) {
            Ok(outcome) => return Ok(outcome),
            Err(rest) => rest,
        };
        rest.await
    }

    /// Returns a call's result if its handler ended on its first poll, as most do. Otherwise
    /// returns the rest as a boxed future, because it would make every call larger.
    fn end(
        &mut self,
        drive: Drive<Outcome<T>>,
        turn: Poll<Turn<Outcome<T>>>,
    ) -> Result<Outcome<T>, BoxFuture<'_, Result<Outcome<T>>>> {
        if let Poll::Ready(Turn::Done(Ok(Outcome::Done(result)))) = turn {
            return Ok(Outcome::Done(result));
        }
        Err(match &self.peer {
            CallPeer::Rounds(_) | CallPeer::Journal(_) => {
                Box::pin(self.run_round(drive, Some(turn)))
            }
            CallPeer::Held(peer) => {
                let peer = Arc::clone(peer);
                Box::pin(HeldDriver::new(self, peer).run(drive, Some(turn)))
            }
        })
    }

    fn take_room(&mut self, bytes: usize) -> Result<()> {
        let mut room = self.room.take().unwrap_or_else(|| self.open_room());
        room.cover(bytes).map_err(no_room)?;
        self.room = Some(room);
        Ok(())
    }

    /// The limits of the handler's own server, even if that server is mounted on another.
    pub(super) fn limits(&self) -> &Arc<Limits> {
        &self.shared.handler_scope(self.scope).backing.limits
    }

    fn open_room(&self) -> Charge {
        self.shared
            .kept
            .open(self.incoming.origin.principal.as_ref())
    }

    fn send_questions(&self, cell: &Cell) -> Vec<OpenQuestion> {
        let Incoming { method, target, .. } = &*self.incoming;
        let mut flow = cell.flow();
        for key in flow.take_skewed() {
            tracing::warn!(
                method,
                ?target,
                key,
                "a question differs from the one asked before: it is asked again; what differs between two \
                 runs of a handler must come from `ctx`"
            );
        }
        let questions = flow.send_questions();
        trace::count_round(method, questions.len());
        questions
    }

    fn patience(&self) -> (Duration, Duration) {
        let limits = self.limits();
        match self.is_task() {
            true => (limits.tasks.ttl, limits.tasks.ttl),
            false => (limits.wire.request, limits.asking.answer),
        }
    }

    pub(super) fn drive(&self, flow: Option<Flow>, peer: Arc<dyn Peer>) -> Drive<Outcome<T>> {
        let rounds = match self.peer {
            // Any process may continue the call, also after it becomes a task.
            CallPeer::Rounds(_) if self.shared.is_in_fleet() => RoundMode::Always,
            CallPeer::Rounds(_) => RoundMode::UntilTask,
            CallPeer::Journal(_) => RoundMode::Always,
            CallPeer::Held(_) => RoundMode::Never,
        };
        let cell = Cell::new(
            flow,
            Arc::clone(self.shared.clock()),
            Arc::clone(self.limits()),
            self.shared.seed,
            self.task.stage(),
            rounds,
            self.answer_rule.clone(),
        );
        let ctx = Ctx::new(ctx::Call {
            cell: Arc::clone(&cell),
            incoming: Arc::clone(&self.incoming),
            peer,
            server: Arc::clone(&self.shared) as _,
            backing: Arc::clone(&self.shared.handler_scope(self.scope).backing),
            parameters: Arc::clone(self.handler.parameters()),
        });
        Drive::new(cell, self.handler.call(ctx))
    }
}

struct Stopwatch {
    left: Duration,
    running: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Stopwatch {
    fn new(limit: Duration) -> Self {
        Self {
            left: limit,
            running: None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let left = self.left;
        let (_, alarm) = self
            .running
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        alarm.as_mut().poll(cx).map(|()| {
            Error::protocol(ErrorObject::internal(
                "the request took too long and was ended",
            ))
        })
    }

    fn pause(&mut self) {
        if let Some((since, _)) = self.running.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }
}

fn no_room(why: NoRoom) -> Error {
    Error::protocol(ErrorObject::internal(why.to_string()))
}
