//! Questions that were sent to their clients.

use std::{collections::HashMap, hash::Hash};

use askback_core::{
    ask::{CheckedRequest, Reply},
    jsonrpc::ErrorObject,
    protocol::RawJson,
};
use tokio::sync::oneshot;

use crate::flow::BoxFuture;

pub(super) trait QuestionSender: Clone + Send + 'static {
    type Id: Send;

    const OVER: &'static str;

    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<Self::Id, ErrorObject>;

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

    pub(super) fn answer(&mut self, id: &I, answer: Result<RawJson, ErrorObject>) {
        if let Some(reply) = self.0.remove(id) {
            // The handler may have dropped its question.
            let _ = reply.send(answer.into());
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

struct SentQuestion<S: QuestionSender> {
    sender: S,
    id: S::Id,
}

impl<S: QuestionSender> Drop for SentQuestion<S> {
    fn drop(&mut self) {
        self.sender.withdraw(&self.id);
    }
}

/// The question is withdrawn if the future is dropped.
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

pub(super) fn refused(error: ErrorObject) -> BoxFuture<'static, Reply> {
    Box::pin(async { Err(error).into() })
}

pub(super) fn over() -> ErrorObject {
    ErrorObject::internal("the request is over")
}
