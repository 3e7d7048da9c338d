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

pub(super) type PendingQuestions<I> = HashMap<I, oneshot::Sender<Reply>>;

pub(super) fn answer<I: Eq + Hash>(
    pending: &mut PendingQuestions<I>,
    id: &I,
    answer: Result<RawJson, ErrorObject>,
) {
    if let Some(reply) = pending.remove(id) {
        // The handler may have dropped its question.
        let _ = reply.send(answer.into());
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
