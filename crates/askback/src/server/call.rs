//! One call of a handler, from its request to its result: the same in every era but for how its
//! questions travel.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::{
    ask::{AskError, Flow, FlowState, OpenQuestion, Reply, TokenId, mark_refusal, seal::Entropy},
    auth::Scopes,
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{
        ElicitParams, InputRequest, InputRequiredResult, InputResponses, Outcome, ProgressParams,
        RawJson, ServerNotification,
    },
    quote::clipped,
    revision::Era,
    wire,
};
use tokio::time::{Instant, Sleep, sleep};

#[cfg(feature = "http-server")]
use super::fleet;
use super::{
    Shared,
    answer::{Answer, error_object},
    budget::{Charge, NoRoom},
    checks::{InputCheck, OutputCheck},
    middleware,
    registry::Home,
    rounds::{self, Carrier, Rounds},
    tasks::Turning,
    trace,
};
use crate::{
    ctx::{self, Ctx, FlowPause, Incoming, Peer, Permitted, responses_bytes},
    entropy::Draw,
    error::{Error, Result},
    flow::{BoxFuture, Cell, Drive, IDENTITY_BYTES, Rounding, TaskStage, Turn},
    handler::Erased,
};

/// Of how many bytes on the parameters of a call are counted from its beginning. Those of less are
/// bounded by the number of connections and of calls of a session.
const WORTH_COUNTING: usize = 4 << 10;

/// The most of a question's message that a note of progress repeats, in bytes.
const ABOUT_BYTES: usize = 120;

/// The memory of a waiting call beside its client's data, in bytes.
const WAITING_BYTES: usize = 4 << 10;

/// One call on its way.
pub(super) struct Calling<T> {
    pub(super) shared: Arc<Shared>,
    home: Home,
    peer: Arc<dyn Peer>,
    pub(super) incoming: Arc<Incoming>,
    handler: Erased<Outcome<T>>,
    task: Task,
    /// Whether it is one from its beginning.
    at_once: bool,
    /// The scopes it needs, where it may become a task.
    scopes: Option<Arc<Scopes>>,
    /// Whether a task goes on if its process dies while it works.
    is_durable: bool,
    /// The schema that its arguments must fit.
    input: Option<Arc<InputCheck>>,
    /// The schema that its result must fit.
    output: Option<Arc<OutputCheck>>,
    /// The room of its parameters, where they are large or stay for long.
    room: Option<Charge>,
    /// The state of the rounds before it.
    rounds: Rounds,
    /// How the round that has ended goes on.
    pause: FlowPause,
}

/// Whether a call is a task.
enum Task {
    /// It was not declared that it may be.
    Undeclared,
    /// It may not be: its client takes none.
    Unsupported,
    /// It becomes one when its handler says so.
    Possible(Arc<Turning>),
    /// It is one: from its beginning, or from where its handler says so.
    Is { at_once: bool },
}

/// A question that is with the client.
struct Asked {
    key: String,
    reply: BoxFuture<'static, Reply>,
}

impl<T: Answer> Calling<T> {
    pub(super) fn new(
        shared: &Arc<Shared>,
        home: Home,
        peer: &Arc<dyn Peer>,
        incoming: Incoming,
        rounds: Rounds,
        handler: Erased<Outcome<T>>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            home,
            peer: Arc::clone(peer),
            incoming: Arc::new(incoming),
            handler,
            task: Task::Undeclared,
            at_once: false,
            scopes: None,
            is_durable: false,
            input: None,
            output: None,
            room: None,
            rounds,
            pause: FlowPause::default(),
        }
    }

    /// Sets what the arguments and the result must fit.
    pub(super) fn checks(
        mut self,
        input: Arc<InputCheck>,
        output: Option<Arc<OutputCheck>>,
    ) -> Self {
        (self.input, self.output) = (Some(input), output);
        self
    }

    /// Sets what the task that the call becomes needs of a token, and whether it goes on if its process dies.
    pub(super) fn task_of(mut self, scopes: Option<Arc<Scopes>>, is_durable: bool) -> Self {
        (self.scopes, self.is_durable) = (scopes, is_durable);
        self
    }

    /// Goes on as the task that the call became in another process.
    pub(super) fn continue_task(mut self, at_once: bool) -> Self {
        self.task = Task::Is { at_once };
        self
    }

    /// Lets the handler say when the call becomes a task; where the client takes none, that does
    /// nothing.
    pub(super) fn may_become_task(mut self, supported: bool) -> Self {
        self.task = if supported {
            let turning = Arc::new(Turning::new(&self.peer));
            self.peer = Arc::clone(&turning) as Arc<dyn Peer>;
            Task::Possible(turning)
        } else {
            Task::Unsupported
        };
        self
    }

    /// Makes the call a task from its beginning.
    pub(super) fn begin_as_task(mut self) -> Self {
        self.at_once = true;
        self.may_become_task(true)
    }

    /// Runs the call to its end or, in the stateless era, to its next questions, with the middleware
    /// around it.
    pub(super) async fn run(&mut self) -> Result<Outcome<T>> {
        let bytes = self.incoming.kept_bytes() + self.rounds.kept_bytes();
        if bytes > WORTH_COUNTING {
            self.take_room(bytes)?;
        }
        let asked = self.rounds.continue_a_call();
        let ended = if self.shared.household(self.home).layers.is_empty() {
            self.handle().await
        } else {
            // Apart, as it would make every call larger.
            Box::pin(self.handle_inside_middleware()).await
        };
        self.end_round(asked, ended).await
    }

    /// The end of a round: what came of the call, or its questions.
    async fn end_round(&self, asked: bool, mut ended: Result<Outcome<T>>) -> Result<Outcome<T>> {
        let depends_on_reader = asked || self.incoming.principal_read.get();
        if let (true, Ok(Outcome::Done(result))) = (depends_on_reader, &mut ended) {
            result.keep_private();
        }
        match ended {
            Ok(Outcome::Done(result)) => self.settle(Ok(result)).map(Outcome::Done),
            Ok(Outcome::NeedInput(round)) if self.peer.parks() => {
                match Box::pin(self.park(round)).await {
                    Err(error) if !error.is_parked() => self.settle(Err(error)).map(Outcome::Done),
                    parked => parked,
                }
            }
            Ok(outcome) => Ok(outcome),
            Err(error) => self.settle(Err(error)).map(Outcome::Done),
        }
    }

    fn settle(&self, ended: Result<T>) -> Result<T> {
        T::settle(ended, &self.incoming.origin, self.output.as_deref())
    }

    async fn handle_inside_middleware(&mut self) -> Result<Outcome<T>> {
        let (shared, call) = (Arc::clone(&self.shared), Arc::clone(&self.incoming));
        let layers = &shared.household(self.home).layers;
        let ended = middleware::around(layers, &call, self.handle()).await;
        // The handler may have been given another copy of the request.
        if call.principal_read.get() {
            self.incoming.principal_read.set();
        }
        ended
    }

    async fn handle(&mut self) -> Result<Outcome<T>> {
        if let Some(input) = &self.input {
            input.check(self.incoming.arguments())?;
        }
        let mut drive = if self.rounds.continue_a_call() && self.is_in_rounds() {
            Box::pin(self.resume()).await?
        } else {
            self.drive(None, &self.peer)
        };
        if self.at_once {
            return self.become_task(drive).await;
        }
        let turn = poll_fn(|cx| Poll::Ready(drive.poll_turn(cx))).await;
        let rest = match self.end(drive, turn) {
            Ok(outcome) => return Ok(outcome),
            Err(rest) => rest,
        };
        rest.await
    }

    /// Ends a call whose handler has ended with its first poll, as most do; else gives the future of the
    /// rest. That is apart, as it would make every call larger.
    fn end(
        &mut self,
        drive: Drive<Outcome<T>>,
        turn: Poll<Turn<Outcome<T>>>,
    ) -> Result<Outcome<T>, BoxFuture<'_, Result<Outcome<T>>>> {
        match turn {
            Poll::Ready(Turn::Done(Ok(Outcome::Done(result)))) => Ok(Outcome::Done(result)),
            turn if self.is_in_rounds() => Err(Box::pin(self.run_round(drive, Some(turn)))),
            turn => Err(Box::pin(self.keep(drive, Some(turn)))),
        }
    }

    /// Whether its questions are results, which the next round answers: so it is in the stateless era,
    /// but for a task, and in a fleet.
    fn is_in_rounds(&self) -> bool {
        !self.at_once && (self.incoming.origin.revision.era() == Era::Modern || self.peer.parks())
    }

    pub(super) fn is_task(&self) -> bool {
        matches!(self.task, Task::Is { .. })
    }

    /// Whether any process goes on with it, also if it becomes a task.
    #[cfg(feature = "http-server")]
    fn is_of_fleet(&self) -> bool {
        let is_modern = self.incoming.origin.revision.era() == Era::Modern;
        self.peer.parks() || (is_modern && self.shared.fleet.is_some())
    }

    #[cfg(not(feature = "http-server"))]
    fn is_of_fleet(&self) -> bool {
        false
    }

    /// Writes a round down for the process that gets the answers. The call has no result here then.
    async fn park(&self, round: InputRequiredResult) -> Result<Outcome<T>> {
        let incoming = Arc::clone(&self.incoming);
        self.peer.park(incoming, round, self.pause).await?;
        Err(Error::parked())
    }

    /// Takes the room of the parameters.
    fn take_room(&mut self, bytes: usize) -> Result<()> {
        let mut room = self.room.take().unwrap_or_else(|| self.open_room());
        room.cover(bytes).map_err(no_room)?;
        self.room = Some(room);
        Ok(())
    }

    /// The bounds of the server whose handler it is, also where that is mounted on another.
    pub(super) fn limits(&self) -> &Arc<Limits> {
        &self.shared.household(self.home).backing.limits
    }

    fn open_room(&self) -> Charge {
        self.shared
            .kept
            .open(self.incoming.origin.principal.as_ref())
    }

    /// Goes on with the handler as a task, which is what the call answers.
    async fn become_task(&mut self, drive: Drive<Outcome<T>>) -> Result<Outcome<T>> {
        self.take_room(self.incoming.kept_bytes())?;
        #[cfg(feature = "http-server")]
        if self.shared.fleet.is_some() {
            return self.become_fleet_task(drive).await;
        }
        let owner = self.incoming.origin.principal.clone();
        let (peer, task) = self.shared.begin_task(owner, self.scopes.clone())?;
        let mut working = self.turn_into_task(&drive, Arc::new(peer.clone()));
        peer.work_on(async move {
            let ended = working.keep(drive, None).await;
            working.result_of_task(ended)
        });
        Ok(Outcome::Task(task))
    }

    /// The same in a fleet: the task is written down before its client hears of it, and asks in rounds.
    #[cfg(feature = "http-server")]
    fn become_fleet_task(&mut self, drive: Drive<Outcome<T>>) -> BoxFuture<'_, Result<Outcome<T>>> {
        Box::pin(async move {
            // Also of one that has only begun: a process that goes on with it makes the same claims.
            let (state, random) = self.take_down(&drive)?;
            drive.cell().flow().note_written_down();
            let (shared, incoming) = (&self.shared, &self.incoming);
            let state = rounds::seal_state(shared, incoming, &state, random, Carrier::Journal);
            let state = state.await?;
            let new = fleet::NewTask {
                at_once: self.at_once,
                is_durable: self.is_durable,
                scopes: self.scopes.clone(),
                state,
            };
            let (begun, task) = fleet::begin_task(&self.shared, &self.incoming, new).await?;
            let mut working = self.turn_into_task(&drive, begun.peer());
            begun.work_on(async move {
                let ended = working.run_round(drive, None).await;
                let ended = working.end_round(false, ended).await;
                working.end_of_task(ended)
            });
            Ok(Outcome::Task(task))
        })
    }

    /// The work that is left when a call becomes a task.
    fn turn_into_task(&mut self, drive: &Drive<Outcome<T>>, peer: Arc<dyn Peer>) -> Self {
        if let Task::Possible(turning) = &self.task {
            turning.turn(Arc::clone(&peer));
        }
        drive.cell().become_task();
        Self {
            shared: Arc::clone(&self.shared),
            home: self.home,
            peer,
            incoming: Arc::clone(&self.incoming),
            handler: self.handler.clone(),
            task: Task::Is {
                at_once: self.at_once,
            },
            at_once: false,
            scopes: None,
            is_durable: self.is_durable,
            input: None,
            output: self.output.clone(),
            room: self.room.take(),
            rounds: Rounds::default(),
            pause: FlowPause::default(),
        }
    }

    /// Runs a task until it ends or, with `None`, is parked again.
    #[cfg(feature = "http-server")]
    pub(super) async fn run_task(&mut self) -> Option<Result<RawJson, ErrorObject>> {
        let ended = self.run().await;
        self.end_of_task(ended)
    }

    #[cfg(feature = "http-server")]
    fn end_of_task(&self, ended: Result<Outcome<T>>) -> Option<Result<RawJson, ErrorObject>> {
        let is_parked = ended.as_ref().is_err_and(Error::is_parked);
        (!is_parked).then(|| self.result_of_task(ended))
    }

    /// Returns the result that the call would have had without the task (SEP-2663, Task Execution
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

    /// Runs a handler that stays until it ends, also where it asks by hand. `first` is what its first
    /// poll came to, if there was one.
    async fn keep(
        &mut self,
        mut drive: Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<Outcome<T>> {
        let mut asked_by_hand = 0;
        loop {
            let (outcome, cell) = self.run_suspended(drive, first).await?;
            let Outcome::NeedInput(by_hand) = outcome else {
                return Ok(outcome);
            };
            asked_by_hand += 1;
            if asked_by_hand > self.limits().asking.rounds {
                let most = self.limits().asking.rounds;
                return Err(AskError::TooManyRounds(most).into());
            }
            Box::pin(self.answer_by_hand(by_hand, &cell)).await?;
            let again = cell.flow().again();
            (drive, first) = (self.drive(Some(again), &self.peer), None);
            drive.cell().progress().resume(cell.progress());
        }
    }

    /// Makes ready to go on with the handler where an earlier round has left it.
    async fn resume(&mut self) -> Result<Drive<Outcome<T>>> {
        let mut rounds = std::mem::take(&mut self.rounds);
        let (flow, by_hand) = match rounds.open(&self.shared, &self.incoming).await? {
            Some(state) => {
                trace::count_replay(self.incoming.method);
                let now = self.shared.clock().now();
                let took = now.checked_sub(state.issued);
                rounds.mark_refusals(took, &self.limits().asking);
                let replies = rounds.replies();
                let by_hand = state.by_hand.clone();
                let flow = Flow::resume(state, replies, now, Arc::clone(self.limits()));
                (Some(flow), by_hand)
            }
            None => (None, None),
        };
        if by_hand.is_some() {
            rounds.check_errors()?;
        }
        let responses = rounds.into_responses();
        // Middleware may look at the request meanwhile: then this makes another.
        if by_hand.is_some() || !responses.is_empty() {
            let incoming = Arc::make_mut(&mut self.incoming);
            incoming.request_state = by_hand;
            incoming.input_responses = responses;
        }
        Ok(self.drive(flow, &self.peer))
    }

    /// One round of the stateless era: the handler runs until it ends or asks, and is dropped. `first`
    /// is what its first poll came to.
    async fn run_round(
        &mut self,
        mut drive: Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<Outcome<T>> {
        let mut watch = Stopwatch::new(self.patience().0);
        let carrier = match self.peer.parks() {
            true => Carrier::Journal,
            false => Carrier::Client,
        };
        let turn = loop {
            let turn = poll_fn(
                |cx| match first.take().unwrap_or_else(|| drive.poll_turn(cx)) {
                    Poll::Ready(turn) => Poll::Ready(Ok(turn)),
                    Poll::Pending => watch.poll(cx).map(Err),
                },
            );
            match turn.await? {
                // It became one in an earlier run.
                Turn::BecomeTask if self.is_task() => drive.cell().become_task(),
                turn => break turn,
            }
        };
        match turn {
            Turn::Done(result) => match result? {
                Outcome::NeedInput(by_hand) => {
                    let (state, random) = self.suspend(drive)?;
                    let result = rounds::seal_by_hand(
                        &self.shared,
                        &self.incoming,
                        state,
                        by_hand,
                        random,
                        carrier,
                    );
                    Box::pin(result).await.map(Outcome::NeedInput)
                }
                outcome => Ok(outcome),
            },
            Turn::BecomeTask => self.become_task(drive).await,
            Turn::Ask => {
                let questions = self.send_questions(drive.cell());
                let (state, random) = self.suspend(drive)?;
                if self.shared.checks_replay() {
                    Box::pin(self.check_replay(state.clone())).await?;
                }
                let result = rounds::seal(
                    &self.shared,
                    &self.incoming,
                    state,
                    questions,
                    random,
                    carrier,
                );
                Box::pin(result).await.map(Outcome::NeedInput)
            }
        }
    }

    /// The handshake era, and tasks: the handler stays, and its questions are put one by one.
    async fn run_suspended(
        &self,
        mut drive: Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<(Outcome<T>, Arc<Cell>)> {
        let is_task = self.is_task();
        let mut asked: Vec<Asked> = Vec::new();
        let mut watch = Stopwatch::new(self.patience().0);
        let mut notes = WaitingNotes::new(self.limits().asking.progress_interval);
        // What a call takes that waits for its client.
        let mut room = None;
        loop {
            let turn = poll_fn(|cx| {
                let cell = drive.cell();
                asked.retain_mut(|asked| match asked.reply.as_mut().poll(cx) {
                    Poll::Ready(reply) => {
                        let now = cell.clock().now();
                        cell.flow().reply(&asked.key, reply, now);
                        false
                    }
                    Poll::Pending => true,
                });
                let turn = first.take().unwrap_or_else(|| drive.poll_turn(cx));
                if let Poll::Ready(turn) = turn {
                    return Poll::Ready(Ok(turn));
                }
                for key in drive.cell().take_withdrawn() {
                    asked.retain(|asked| asked.key != key);
                }
                // The time in which a person is asked does not count, nor that in which they are behind a
                // link, but a task ends with its time.
                let waits = asked.is_empty() && !drive.cell().flow().holds();
                if waits || is_task {
                    watch.poll(cx).map(Err)
                } else {
                    watch.pause();
                    notes.poll(cx, |about| self.tell_waiting(drive.cell(), about));
                    Poll::Pending
                }
            });
            match turn.await? {
                Turn::Done(result) => return Ok((result?, Arc::clone(drive.cell()))),
                Turn::BecomeTask => drive.cell().become_task(),
                Turn::Ask => {
                    // What is a task is never run again.
                    if self.shared.checks_replay() && !is_task {
                        let identity = drive.cell().identity()?;
                        let state = drive.cell().flow().suspend(identity, TokenId([0; 16]), 0);
                        Box::pin(self.check_replay(state)).await?;
                    }
                    let bytes = WAITING_BYTES
                        + drive.cell().flow().kept_bytes()
                        + responses_bytes(&self.incoming.input_responses);
                    let room = room.get_or_insert_with(|| self.open_room());
                    room.cover(bytes).map_err(no_room)?;
                    let questions = self.send_questions(drive.cell());
                    for OpenQuestion { key, request, .. } in questions {
                        notes.begin(request.get());
                        let permitted = self.incoming.permit(request)?;
                        let reply = Box::pin(self.ask(&key, permitted));
                        asked.push(Asked { key, reply });
                    }
                }
            }
        }
    }

    /// Takes the questions that are to be asked now.
    fn send_questions(&self, cell: &Cell) -> Vec<OpenQuestion> {
        let Incoming { method, target, .. } = &*self.incoming;
        let mut flow = cell.flow();
        for key in flow.take_skewed() {
            tracing::warn!(
                method,
                ?target,
                key,
                "a question is another one than before: it is asked again; what differs between two \
                 runs of a handler must come from `ctx`"
            );
        }
        let questions = flow.send_questions();
        trace::count_round(method, questions.len());
        questions
    }

    /// Takes down what the retry needs, and drops the handler. What is random in that, and in its seal,
    /// is drawn in one go.
    fn suspend(&mut self, drive: Drive<Outcome<T>>) -> Result<(FlowState, Entropy)> {
        let taken = self.take_down(&drive)?;
        drive.suspend();
        Ok(taken)
    }

    fn take_down(&mut self, drive: &Drive<Outcome<T>>) -> Result<(FlowState, Entropy)> {
        let now = self.shared.clock().now();
        let mut random = Draw::<{ 16 + 28 + IDENTITY_BYTES }>::new()?;
        let (token, seal) = (TokenId(random.take()), Entropy(random.take()));
        let identity = drive.cell().identity_from(|| Ok(random))?;
        let state = drive.cell().flow().suspend(identity, token, now);
        self.pause = FlowPause {
            #[cfg(feature = "http-server")]
            wake: state.timers.iter().map(|timer| timer.deadline).min(),
            #[cfg(feature = "http-server")]
            progress: drive.cell().progress().state(),
        };
        Ok((state, seal))
    }

    /// How long the handler may work, and a person may take to answer.
    fn patience(&self) -> (Duration, Duration) {
        let limits = self.limits();
        match self.task {
            Task::Is { .. } => (limits.tasks.ttl, limits.tasks.ttl),
            _ => (limits.wire.request, limits.asking.answer),
        }
    }

    /// Asks, and waits for the answer. Whatever is asked of a client that waits goes this way.
    fn ask(&self, key: &str, question: Permitted) -> impl Future<Output = Reply> + Send + use<T> {
        let limit = self.patience().1;
        let (limits, clock) = (Arc::clone(self.limits()), Arc::clone(self.shared.clock()));
        let asked_at = clock.now();
        let asking = self.peer.ask(key, question);
        async move {
            match tokio::time::timeout(limit, asking).await {
                Ok(Ok(Reply::Value(answer))) => {
                    let took = clock.now().checked_sub(asked_at);
                    Reply::Value(mark_refusal(answer, took, &limits.asking))
                }
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => Reply::Error {
                    code: error.code,
                    message: error.message,
                },
                Err(_) => Reply::TimedOut,
            }
        }
    }

    /// Asks the questions of a hand-written result, so that its handler, run again, finds the
    /// answers as it would in the stateless era.
    async fn answer_by_hand(&mut self, by_hand: InputRequiredResult, cell: &Cell) -> Result<()> {
        let mut notes = WaitingNotes::new(self.limits().asking.progress_interval);
        let mut answers = InputResponses::default();
        let requests = by_hand.input_requests.unwrap_or_default();
        for (key, question) in self.incoming.permit_by_hand(requests)? {
            notes.begin(question.get());
            let mut reply = Box::pin(self.ask(&key, question));
            let reply = poll_fn(|cx| {
                notes.poll(cx, |about| self.tell_waiting(cell, about));
                reply.as_mut().poll(cx)
            });
            match reply.await {
                Reply::Value(value) => {
                    answers.insert(key, value);
                }
                Reply::Error { code, message } => {
                    return Err(AskError::Client { code, message }.into());
                }
                Reply::TimedOut => return Err(AskError::TimedOut.into()),
                Reply::Unfinished => return Err(AskError::Unfinished.into()),
                Reply::Refused(reason) => {
                    return Err(AskError::Refused(reason).into());
                }
            }
        }
        let incoming = Arc::make_mut(&mut self.incoming);
        incoming.request_state = by_hand.request_state;
        incoming.input_responses = answers;
        Ok(())
    }

    /// Tells the client that a question waits for its answer, if it asked to be told of progress.
    fn tell_waiting(&self, cell: &Cell, about: &str) {
        let Some(token) = self.incoming.progress_token() else {
            return;
        };
        let (progress, total) = cell.progress().wait();
        self.peer
            .notify(ServerNotification::Progress(ProgressParams {
                progress_token: token.clone(),
                progress,
                total,
                message: Some(about.to_owned()),
                meta: None,
            }));
    }

    /// Makes ready to run the handler: in a flow that goes on, else in a new one.
    pub(super) fn drive(&self, flow: Option<Flow>, peer: &Arc<dyn Peer>) -> Drive<Outcome<T>> {
        let clock = Arc::clone(self.shared.clock());
        let stage = match &self.task {
            Task::Undeclared => TaskStage::Undeclared,
            Task::Unsupported => TaskStage::Unsupported,
            Task::Possible(_) => TaskStage::Possible,
            Task::Is { at_once: true } => TaskStage::Is,
            // Its handler says so again.
            Task::Is { at_once: false } => TaskStage::Possible,
        };
        let rounds = match self.is_in_rounds() {
            _ if self.is_of_fleet() => Rounding::Always,
            true => Rounding::UntilTask,
            false => Rounding::Never,
        };
        let cell = Cell::new(
            flow,
            clock,
            Arc::clone(self.limits()),
            self.shared.seed,
            stage,
            rounds,
        );
        let ctx = Ctx::new(ctx::Call {
            cell: Arc::clone(&cell),
            incoming: Arc::clone(&self.incoming),
            peer: Arc::clone(peer),
            server: Arc::clone(&self.shared) as _,
            backing: Arc::clone(&self.shared.household(self.home).backing),
            parameters: Arc::clone(self.handler.parameters()),
        });
        Drive::new(cell, self.handler.call(ctx))
    }
}

/// Measures the time a handler works.
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

/// Says from time to time that a question waits, and which.
struct WaitingNotes {
    every: Duration,
    about: String,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl WaitingNotes {
    fn new(every: Duration) -> Self {
        Self {
            every,
            about: String::new(),
            alarm: None,
        }
    }

    /// A question goes out. The time begins anew.
    fn begin(&mut self, question: &InputRequest) {
        self.alarm = None;
        self.about = waiting_for(question);
    }

    fn poll(&mut self, cx: &mut Context<'_>, tell: impl Fn(&str)) {
        // Zero would have no end.
        while !self.every.is_zero() {
            let every = self.every;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(every)));
            if alarm.as_mut().poll(cx).is_pending() {
                return;
            }
            self.alarm = None;
            tell(&self.about);
        }
    }
}

/// What a call waits for that asks this.
pub(super) fn waiting_for(question: &InputRequest) -> String {
    match question {
        InputRequest::Elicit(params) => {
            let first = params.message().lines().next().unwrap_or_default();
            let what = match params {
                ElicitParams::Form(_) => "an answer to",
                ElicitParams::Url(_) => "a link to be done",
            };
            format!("waiting for {what}: {}", clipped(first, ABOUT_BYTES))
        }
        InputRequest::Sample(_) => "waiting for the client's model".to_owned(),
        InputRequest::Roots(_) => "waiting for the client's roots".to_owned(),
    }
}

/// The refusal of a call that would be kept.
fn no_room(why: NoRoom) -> Error {
    Error::protocol(ErrorObject::internal(why.to_string()))
}
