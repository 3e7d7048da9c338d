//! One call of a handler, from its request to its result: the same in every era but for how its
//! questions travel.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use askback_core::{
    ask::{AskError, Flow, FlowId, Identity, OpenQuestion, Reply, State, TokenId},
    jsonrpc::ErrorObject,
    protocol::{
        InputRequest, InputRequiredResult, InputResponses, LoggingLevel, Outcome,
        ServerNotification,
    },
    revision::Era,
};
use tokio::time::{Instant, Sleep, sleep};

use super::{
    Incoming, Shared,
    rounds::{self, Rounds},
};
use crate::{
    ctx::{self, Ctx},
    entropy::entropy,
    error::{Error, Result},
    flow::{BoxFuture, Cell, Drive, Turn},
    handler::Erased,
};

/// The way back to the client of a request.
pub(crate) trait Peer: Send + Sync {
    /// Sends a notification that belongs to the request.
    fn notify(&self, notification: ServerNotification);

    /// Whether the client wants log lines of this level.
    fn wants_log(&self, level: LoggingLevel) -> bool;

    /// Tells that what was behind a link is done, on the session of the request.
    fn complete_elicitation(&self, elicitation_id: String);

    /// Closes the connection that carries the call's stream, where its client knows to come back.
    fn close_stream(&self);

    /// Asks a question of a handshake revision. Dropping the future withdraws the question.
    fn ask(
        &self,
        key: &str,
        request: InputRequest,
    ) -> BoxFuture<'static, Result<Reply, ErrorObject>>;
}

/// One call on its way.
pub(super) struct Calling<T> {
    pub(super) shared: Arc<Shared>,
    peer: Arc<dyn Peer>,
    pub(super) incoming: Arc<Incoming>,
    handler: Erased<Outcome<T>>,
}

/// A question that is with the client.
struct Asked {
    key: String,
    reply: BoxFuture<'static, Reply>,
}

impl<T: 'static> Calling<T> {
    pub(super) fn new(
        shared: &Arc<Shared>,
        peer: &Arc<dyn Peer>,
        incoming: Incoming,
        handler: Erased<Outcome<T>>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            peer: Arc::clone(peer),
            incoming: Arc::new(incoming),
            handler,
        }
    }

    /// Runs the call to its end or, in the stateless era, to its next questions.
    pub(super) async fn run(mut self, rounds: Rounds) -> Result<Outcome<T>> {
        match self.incoming.origin.revision.era() {
            Era::Modern => self.run_round(rounds).await,
            Era::Legacy => {
                let mut asked_by_hand = 0;
                let mut flow = self.start()?;
                loop {
                    let (outcome, cell) = self.run_suspended(flow).await?;
                    let Outcome::NeedInput(by_hand) = outcome else {
                        return Ok(outcome);
                    };
                    asked_by_hand += 1;
                    if asked_by_hand > self.shared.limits().rounds {
                        let most = self.shared.limits().rounds;
                        return Err(AskError::TooManyRounds(most).into());
                    }
                    self.answer_by_hand(by_hand).await?;
                    flow = cell.flow().again();
                }
            }
        }
    }

    /// One round of the stateless era: the handler runs until it ends or asks, and is dropped.
    async fn run_round(&mut self, rounds: Rounds) -> Result<Outcome<T>> {
        let now = self.shared.clock().now();
        let (flow, by_hand) = match rounds.open(&self.shared, &self.incoming).await? {
            Some(state) => {
                let replies = rounds.replies();
                let by_hand = state.by_hand.clone();
                (
                    Flow::resume(state, replies, now, self.shared.limits().clone()),
                    by_hand,
                )
            }
            None => (self.start()?, None),
        };
        let incoming = Arc::make_mut(&mut self.incoming);
        incoming.request_state = by_hand;
        incoming.input_responses = rounds.into_responses();
        let mut drive = self.drive(flow, &self.peer);
        let mut watch = Stopwatch::new(self.shared.limits().request);
        let turn = std::future::poll_fn(|cx| match drive.poll_turn(cx) {
            Poll::Ready(turn) => Poll::Ready(Ok(turn)),
            Poll::Pending => watch.poll(cx).map(Err),
        });
        match turn.await? {
            Turn::Done(result) => match result? {
                Outcome::NeedInput(by_hand) => {
                    let state = self.suspend(drive)?;
                    let result = rounds::seal_by_hand(&self.shared, &self.incoming, state, by_hand);
                    result.await.map(Outcome::NeedInput)
                }
                outcome => Ok(outcome),
            },
            Turn::Ask => {
                let questions = drive.cell().flow().send_questions();
                let state = self.suspend(drive)?;
                if self.shared.checks_replay() {
                    self.check_replay(state.clone()).await?;
                }
                let result = rounds::seal(&self.shared, &self.incoming, state, questions);
                result.await.map(Outcome::NeedInput)
            }
        }
    }

    /// The handshake era: the handler stays, and its questions are requests of their own.
    async fn run_suspended(&self, flow: Flow) -> Result<(Outcome<T>, Arc<Cell>)> {
        let mut drive = self.drive(flow, &self.peer);
        let mut asked: Vec<Asked> = Vec::new();
        let mut watch = Stopwatch::new(self.shared.limits().request);
        loop {
            let turn = std::future::poll_fn(|cx| {
                let cell = drive.cell();
                asked.retain_mut(|asked| match asked.reply.as_mut().poll(cx) {
                    Poll::Ready(reply) => {
                        let now = cell.clock().now();
                        cell.flow().reply(&asked.key, reply, now);
                        false
                    }
                    Poll::Pending => true,
                });
                if let Poll::Ready(turn) = drive.poll_turn(cx) {
                    return Poll::Ready(Ok(turn));
                }
                for key in drive.cell().take_withdrawn() {
                    asked.retain(|asked| asked.key != key);
                }
                // The time in which a person is asked does not count.
                if asked.is_empty() {
                    watch.poll(cx).map(Err)
                } else {
                    watch.pause();
                    Poll::Pending
                }
            });
            match turn.await? {
                Turn::Done(result) => return Ok((result?, Arc::clone(drive.cell()))),
                Turn::Ask => {
                    if self.shared.checks_replay() {
                        let state = drive.cell().flow().suspend(TokenId([0; 16]), 0);
                        self.check_replay(state).await?;
                    }
                    let questions = drive.cell().flow().send_questions();
                    asked.extend(questions.into_iter().map(|question| self.ask(question)));
                }
            }
        }
    }

    /// Takes down what the retry needs, and drops the handler.
    fn suspend(&self, drive: Drive<Outcome<T>>) -> Result<State> {
        let now = self.shared.clock().now();
        let state = drive.cell().flow().suspend(TokenId(entropy()?), now);
        drive.suspend();
        Ok(state)
    }

    fn ask(&self, question: OpenQuestion) -> Asked {
        let limit = self.shared.limits().ask;
        let asking = self.peer.ask(&question.key, question.request);
        let reply = Box::pin(async move {
            match tokio::time::timeout(limit, asking).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => Reply::Error {
                    code: error.code,
                    message: error.message,
                },
                Err(_) => Reply::TimedOut,
            }
        });
        Asked {
            key: question.key,
            reply,
        }
    }

    /// Asks the questions of a hand-written result, so that its handler, run again, finds the
    /// answers as it would in the stateless era.
    async fn answer_by_hand(&mut self, by_hand: InputRequiredResult) -> Result<()> {
        let mut answers = InputResponses::default();
        for (key, request) in by_hand.input_requests.unwrap_or_default() {
            if let Some(missing) = self.incoming.missing_for(&request) {
                return Err(AskError::Unsupported(missing).into());
            }
            match self.ask_by_hand(&key, request).await {
                Reply::Value(value) => {
                    answers.insert(key, value);
                }
                Reply::Error { code, message } => {
                    return Err(AskError::Client { code, message }.into());
                }
                Reply::TimedOut => return Err(AskError::TimedOut.into()),
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

    async fn ask_by_hand(&self, key: &str, request: InputRequest) -> Reply {
        match tokio::time::timeout(self.shared.limits().ask, self.peer.ask(key, request)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => Reply::Error {
                code: error.code,
                message: error.message,
            },
            Err(_) => Reply::TimedOut,
        }
    }

    fn start(&self) -> Result<Flow> {
        let identity = Identity {
            flow: FlowId(entropy()?),
            started: self.shared.clock().now(),
            seed: self.shared.seed.map_or_else(entropy, Ok)?,
        };
        Ok(Flow::start(identity, self.shared.limits().clone()))
    }

    pub(super) fn drive(&self, flow: Flow, peer: &Arc<dyn Peer>) -> Drive<Outcome<T>> {
        let clock = Arc::clone(self.shared.clock());
        let cell = Cell::new(flow, clock, self.shared.limits().clone());
        let ctx = Ctx::new(ctx::Call {
            cell: Arc::clone(&cell),
            incoming: Arc::clone(&self.incoming),
            peer: Arc::clone(peer),
            shared: Arc::clone(&self.shared),
            progressed: Mutex::new(f64::NEG_INFINITY),
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
