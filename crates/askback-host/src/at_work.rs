//! Models at work: for each server, one question at most.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    task::{Context, Poll},
};

use askback_core::{future::BoxFuture, protocol::CreateMessageResult};

use crate::{
    model::{Desk, Step},
    models::ModelError,
    relay::ServerId,
};

/// The work of a model.
type Work = BoxFuture<'static, Reply>;

/// The reply of a model, or why there is none.
type Reply = Result<CreateMessageResult, ModelError>;

/// The question of each server for which a model is at work.
#[derive(Default)]
pub(crate) struct AtWork(BTreeMap<ServerId, (u64, Work)>);

impl AtWork {
    /// Begins work for a question.
    pub(crate) fn start(&mut self, server: ServerId, id: u64, work: Work) {
        self.0.insert(server, (id, work));
    }

    /// Ends work for a question that is not in front of the desk any more. Returns the question there
    /// that wants a model to work.
    pub(crate) fn look(&mut self, server: ServerId, desk: &Desk) -> Option<u64> {
        let front = desk.front();
        let wanted = front.filter(|front| matches!(front.step, Step::Running(_)));
        let wanted = wanted.map(|front| front.id);
        self.0
            .retain(|of, (id, _)| *of != server || Some(*id) == wanted);
        wanted
    }

    /// Waits for a reply, for ever where no model is at work. Returns the server that wants it.
    pub(crate) async fn replied(&mut self) -> (ServerId, Reply) {
        let (server, reply) = poll_fn(|context| self.poll_replied(context)).await;
        self.0.remove(&server);
        (server, reply)
    }

    fn poll_replied(&mut self, context: &mut Context<'_>) -> Poll<(ServerId, Reply)> {
        for (server, (_, work)) in &mut self.0 {
            if let Poll::Ready(reply) = work.as_mut().poll(context) {
                return Poll::Ready((*server, reply));
            }
        }
        Poll::Pending
    }
}
