//! Questions that are with their clients.

use std::{collections::HashMap, hash::Hash};

use askback_core::{
    ask::{CheckedRequest, Reply},
    jsonrpc::ErrorObject,
    protocol::RawJson,
};
use tokio::sync::oneshot;

use crate::flow::BoxFuture;

/// The client of a call, as far as a question can be sent to it.
pub(super) trait QuestionSender: Clone + Send + 'static {
    /// The name of a question at this client.
    type Id: Send;

    /// Why a question has no answer that was not withdrawn.
    const OVER: &'static str;

    /// Sends a question.
    ///
    /// # Errors
    ///
    /// If the call is over, or there is no room for the question.
    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<Self::Id, ErrorObject>;

    /// The answer is not waited for any more.
    fn withdraw(&self, id: &Self::Id);
}

pub(super) struct PendingQuestions<I>(HashMap<I, oneshot::Sender<Reply>>);

impl<I> Default for PendingQuestions<I> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<I: Eq + Hash> PendingQuestions<I> {
    pub(super) fn add(&mut self, id: I, reply: oneshot::Sender<Reply>) {
        self.0.insert(id, reply);
    }

    pub(super) fn remove(&mut self, id: &I) {
        self.0.remove(id);
    }

    /// Gives a question its answer, if the question is still there.
    pub(super) fn answer(&mut self, id: &I, answer: Result<RawJson, ErrorObject>) {
        if let Some(reply) = self.0.remove(id) {
            // A handler that no longer waits has dropped its question.
            let _ = reply.send(answer.into());
        }
    }

    /// There will be no answers any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A question that is with the client; dropping it withdraws it.
struct SentQuestion<S: QuestionSender> {
    sender: S,
    id: S::Id,
}

impl<S: QuestionSender> Drop for SentQuestion<S> {
    fn drop(&mut self) {
        self.sender.withdraw(&self.id);
    }
}

/// Asks, and waits for the answer. Dropping the future withdraws the question.
pub(super) fn ask<S: QuestionSender>(
    sender: &S,
    key: &str,
    question: CheckedRequest,
) -> BoxFuture<'static, Reply> {
    let (reply, answer) = oneshot::channel();
    let sent = match sender.send(key, question, reply) {
        Ok(id) => SentQuestion {
            sender: sender.clone(),
            id,
        },
        Err(error) => return refused(error),
    };
    Box::pin(async move {
        let answer = answer.await;
        drop(sent);
        answer.unwrap_or_else(|_| Err(ErrorObject::internal(S::OVER)).into())
    })
}

/// The reply to a question that is not sent.
pub(super) fn refused(error: ErrorObject) -> BoxFuture<'static, Reply> {
    Box::pin(async { Err(error).into() })
}

/// The refusal of a question whose call is over.
pub(super) fn over() -> ErrorObject {
    ErrorObject::internal("the request is over")
}
