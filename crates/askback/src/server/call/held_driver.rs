//! Drives a handler that stays suspended while its client is asked: for handshake revisions, and
//! for tasks.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use askback_core::{
    ask::{AskError, CheckedRequest, OpenQuestion, Reply, TokenId, mark_refusal},
    protocol::{
        ElicitParams, InputRequest, InputRequiredResult, InputResponses, Outcome, ProgressParams,
        ServerNotification,
    },
    quote::clipped,
};
use tokio::time::{Sleep, sleep};

use super::{Answer, HandlerCall, Stopwatch, no_room};
use crate::{
    ctx::{AskingPeer, responses_bytes},
    error::Result,
    flow::{BoxFuture, Cell, Drive, Turn},
};

/// How much of a question's message a progress note repeats, in bytes.
const ABOUT_BYTES: usize = 120;

/// The memory of a waiting call without its client's data, in bytes.
const WAITING_BYTES: usize = 4 << 10;

pub(super) struct HeldDriver<'a, T> {
    call: &'a mut HandlerCall<T>,
    peer: Arc<dyn AskingPeer>,
    /// What is waited for, for the notes.
    about: String,
    next_note: Option<Pin<Box<Sleep>>>,
}

impl<'a, T: Answer> HeldDriver<'a, T> {
    pub(super) fn new(call: &'a mut HandlerCall<T>, peer: Arc<dyn AskingPeer>) -> Self {
        Self {
            call,
            peer,
            about: String::new(),
            next_note: None,
        }
    }

    /// Runs the handler until it ends, also if it asks by hand. `first` is the result of its first
    /// poll.
    pub(super) async fn run(
        mut self,
        mut drive: Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<Outcome<T>> {
        let mut asked_by_hand = 0;
        loop {
            let by_hand = match self.run_once(&mut drive, first.take()).await? {
                Outcome::NeedInput(by_hand) => by_hand,
                outcome => return Ok(outcome),
            };
            asked_by_hand += 1;
            let most = self.call.limits().asking.rounds;
            if asked_by_hand > most {
                return Err(AskError::TooManyRounds(most).into());
            }
            Box::pin(self.answer_by_hand(by_hand, drive.cell())).await?;
            let again = drive.cell().flow().again();
            let next = self.call.drive(Some(again), self.call.peer.to_tell());
            next.cell().progress().resume(drive.cell().progress());
            drive = next;
        }
    }

    async fn run_once(
        &mut self,
        drive: &mut Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<Outcome<T>> {
        let is_task = self.call.is_task();
        let mut replies: Vec<(String, BoxFuture<'static, Reply>)> = Vec::new();
        let mut watch = Stopwatch::new(self.call.patience().0);
        let mut room = None;
        loop {
            let turn = poll_fn(|cx| {
                let cell = drive.cell();
                replies.retain_mut(|(key, reply)| match reply.as_mut().poll(cx) {
                    Poll::Ready(reply) => {
                        let now = cell.clock().now();
                        cell.flow().reply(key, reply, now);
                        false
                    }
                    Poll::Pending => true,
                });
                let turn = first.take().unwrap_or_else(|| drive.poll_turn(cx));
                if let Poll::Ready(turn) = turn {
                    return Poll::Ready(Ok(turn));
                }
                for withdrawn in drive.cell().take_withdrawn() {
                    replies.retain(|(key, _)| *key != withdrawn);
                }
                // The time in which a user is asked, or visits a link, does not count. A task ends
                // when it expires.
                let waits = replies.is_empty() && !drive.cell().flow().holds();
                if waits || is_task {
                    watch.poll(cx).map(Err)
                } else {
                    watch.pause();
                    self.tell_waiting(drive.cell(), cx);
                    Poll::Pending
                }
            });
            match turn.await? {
                Turn::Done(result) => return result,
                Turn::BecomeTask => drive.cell().become_task(),
                Turn::Ask => {
                    // A task is never run again.
                    if self.call.shared.checks_replay() && !is_task {
                        let identity = drive.cell().identity()?;
                        let state = drive.cell().flow().suspend(identity, TokenId([0; 16]), 0);
                        Box::pin(self.call.check_replay(state)).await?;
                    }
                    let bytes = WAITING_BYTES
                        + drive.cell().flow().kept_bytes()
                        + responses_bytes(&self.call.incoming.input_responses);
                    let room = room.get_or_insert_with(|| self.call.open_room());
                    room.cover(bytes).map_err(no_room)?;
                    let questions = self.call.send_questions(drive.cell());
                    for OpenQuestion { key, request, .. } in questions {
                        let reply = self.ask(&key, request);
                        replies.push((key, reply));
                    }
                }
            }
        }
    }

    fn ask(&mut self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply> {
        self.next_note = None;
        self.about = waiting_for(question.get());
        let limit = self.call.patience().1;
        let limits = Arc::clone(self.call.limits());
        let clock = Arc::clone(self.call.shared.clock());
        let asked_at = clock.now();
        let asking = self.peer.ask(key, question);
        let origin = Arc::clone(&self.call.incoming.origin);
        Box::pin(async move {
            match tokio::time::timeout(limit, asking).await {
                Ok(Reply::Value(answer)) => {
                    let took = clock.now().checked_sub(asked_at);
                    let client = origin.client.as_ref();
                    Reply::Value(mark_refusal(answer, took, client, &limits.asking))
                }
                Ok(reply) => reply,
                Err(_) => Reply::TimedOut,
            }
        })
    }

    /// Asks the questions of a hand-written result. The handler then runs again and finds the
    /// answers, as in the stateless era.
    async fn answer_by_hand(&mut self, by_hand: InputRequiredResult, cell: &Cell) -> Result<()> {
        let mut answers = InputResponses::default();
        let requests = by_hand.input_requests.unwrap_or_default();
        for (key, question) in self.call.incoming.check_by_hand(requests)? {
            let mut reply = self.ask(&key, question);
            let reply = poll_fn(|cx| {
                self.tell_waiting(cell, cx);
                reply.as_mut().poll(cx)
            });
            answers.insert(key, reply.await.into_value()?);
        }
        let incoming = Arc::make_mut(&mut self.call.incoming);
        incoming.request_state = by_hand.request_state;
        incoming.input_responses = answers;
        Ok(())
    }

    /// Tells the client at intervals that a question waits for its answer, if the client asked for
    /// progress notifications.
    fn tell_waiting(&mut self, cell: &Cell, cx: &mut Context<'_>) {
        let every = self.call.limits().asking.progress_interval;
        // An interval of zero would send notes without end.
        while !every.is_zero() {
            let next = self.next_note.get_or_insert_with(|| Box::pin(sleep(every)));
            if next.as_mut().poll(cx).is_pending() {
                return;
            }
            self.next_note = None;
            let Some(token) = self.call.incoming.progress_token() else {
                continue;
            };
            let (progress, total) = cell.progress().wait();
            self.peer
                .notify(ServerNotification::Progress(ProgressParams {
                    progress_token: token.clone(),
                    progress,
                    total,
                    message: Some(self.about.clone()),
                    meta: None,
                }));
        }
    }
}

pub(in crate::server) fn waiting_for(question: &InputRequest) -> String {
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
