//! Questions that were sent to their clients.

use std::{collections::HashMap, hash::Hash};

use askback_core::{
    ask::{CheckedRequest, Reply},
    jsonrpc::ErrorObject,
    protocol::RawJson,
};
use tokio::sync::oneshot;

use crate::flow::BoxFuture;

/// The client of a call, to which questions can be sent.
pub(super) trait QuestionSender: Clone + Send + 'static {
    /// The id of a question at this client.
    type Id: Send;

    /// Why a question was not answered, if it was not withdrawn.
    const OVER: &'static str;

    /// Sends a question.
    ///
    /// # Errors
    ///
    /// If the call has ended, or there is no room for the question.
    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<Self::Id, ErrorObject>;

    /// Withdraws a question, because its answer is no longer needed.
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

    /// Delivers an answer, if the question is still open.
    pub(super) fn answer(&mut self, id: &I, answer: Result<RawJson, ErrorObject>) {
        if let Some(reply) = self.0.remove(id) {
            // The handler may have dropped its question.
            let _ = reply.send(answer.into());
        }
    }

    /// Drops all questions, because no more answers can arrive.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A question that was sent; dropping it withdraws it.
struct SentQuestion<S: QuestionSender> {
    sender: S,
    id: S::Id,
}

impl<S: QuestionSender> Drop for SentQuestion<S> {
    fn drop(&mut self) {
        self.sender.withdraw(&self.id);
    }
}

/// Asks a question and waits for the answer. Dropping the future withdraws the question.
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

/// The error for a question whose call has ended.
pub(super) fn over() -> ErrorObject {
    ErrorObject::internal("the request is over")
}
