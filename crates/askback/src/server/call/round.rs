//! Drives a handler in rounds: the handler is dropped when it asks, and the next round runs it
//! again. Used in the stateless era, and for every call that a fleet keeps in its journal.

use std::{future::poll_fn, sync::Arc, task::Poll};

use askback_core::{
    ask::{Flow, FlowState, TokenId, seal::Entropy},
    protocol::Outcome,
};

use super::{Answer, CallPeer, HandlerCall, Stopwatch};
use crate::{
    ctx::FlowPause,
    entropy::entropy,
    error::Result,
    flow::{Drive, Turn},
    server::{
        rounds::{self, Carrier},
        trace,
    },
};

impl<T: Answer> HandlerCall<T> {
    pub(super) async fn resume(&mut self) -> Result<Drive<Outcome<T>>> {
        let mut rounds = std::mem::take(&mut self.rounds);
        let (flow, by_hand) = match rounds.open(&self.shared, &self.incoming).await? {
            Some(state) => {
                trace::count_replay(self.incoming.method);
                let now = self.shared.clock().now();
                let took = now.checked_sub(state.issued);
                let client = self.incoming.origin.client.as_ref();
                rounds.mark_refusals(took, client, &self.limits().asking);
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
        // Middleware may hold the request: then this makes a copy.
        if by_hand.is_some() || !responses.is_empty() {
            let incoming = Arc::make_mut(&mut self.incoming);
            incoming.request_state = by_hand;
            incoming.input_responses = responses;
        }
        Ok(self.drive(flow, self.peer.to_tell()))
    }

    /// Runs the handler until it ends or asks, and then drops it. `first` is the result of its
    /// first poll.
    pub(super) async fn run_round(
        &mut self,
        mut drive: Drive<Outcome<T>>,
        mut first: Option<Poll<Turn<Outcome<T>>>>,
    ) -> Result<Outcome<T>> {
        let mut watch = Stopwatch::new(self.patience().0);
        let turn = loop {
            let turn = poll_fn(
                |cx| match first.take().unwrap_or_else(|| drive.poll_turn(cx)) {
                    Poll::Ready(turn) => Poll::Ready(Ok(turn)),
                    Poll::Pending => watch.poll(cx).map(Err),
                },
            );
            match turn.await? {
                // The call became a task in an earlier run.
                Turn::BecomeTask if self.is_task() => drive.cell().become_task(),
                turn => break turn,
            }
        };
        let carrier = match self.peer {
            CallPeer::Journal(_) => Carrier::Journal,
            _ => Carrier::Client,
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

    fn suspend(&mut self, drive: Drive<Outcome<T>>) -> Result<(FlowState, Entropy)> {
        let taken = self.take_down(&drive)?;
        drive.suspend();
        Ok(taken)
    }

    /// Returns the state for the retry, and the random bytes of its seal.
    pub(super) fn take_down(&mut self, drive: &Drive<Outcome<T>>) -> Result<(FlowState, Entropy)> {
        let now = self.shared.clock().now();
        let (token, seal) = (TokenId(entropy()?), Entropy(entropy()?));
        let identity = drive.cell().identity()?;
        let state = drive.cell().flow().suspend(identity, token, now);
        self.pause = FlowPause {
            #[cfg(feature = "http-server")]
            wake: state.timers.iter().map(|timer| timer.deadline).min(),
            #[cfg(feature = "http-server")]
            progress: drive.cell().progress().state(),
        };
        Ok((state, seal))
    }
}
