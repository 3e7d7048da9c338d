//! Questions of handshake revisions that are with their client.

use std::{collections::HashMap, sync::Arc};

use askback_core::{
    ask::{CheckedRequest, Reply},
    engine::server::AskId,
    jsonrpc::{ErrorObject, RequestId},
    protocol::RawJson,
};
use tokio::sync::oneshot;

use crate::flow::BoxFuture;

/// A connection that can send a question to its client.
pub(super) trait Asker: Send + Sync + 'static {
    /// Asks for a call.
    ///
    /// # Errors
    ///
    /// If the call is over, or there is no room for the question.
    fn send(
        &self,
        call: &RequestId,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<AskId, ErrorObject>;

    /// Nobody waits for the answer any more.
    fn withdraw(&self, call: &RequestId, ask: AskId);
}

/// The calls that wait for answers.
#[derive(Default)]
pub(super) struct Asks(HashMap<AskId, oneshot::Sender<Reply>>);

/// A question that is with the client; dropping it withdraws it.
struct Waiting<A: Asker> {
    asker: Arc<A>,
    call: RequestId,
    ask: AskId,
}

impl Asks {
    pub(super) fn add(&mut self, ask: AskId, reply: oneshot::Sender<Reply>) {
        self.0.insert(ask, reply);
    }

    pub(super) fn remove(&mut self, ask: AskId) {
        self.0.remove(&ask);
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn answer(&mut self, ask: AskId, answer: Result<RawJson, ErrorObject>) {
        if let Some(reply) = self.0.remove(&ask) {
            // A handler that no longer waits has dropped its question.
            let _ = reply.send(match answer {
                Ok(value) => Reply::Value(value),
                Err(ErrorObject { code, message, .. }) => Reply::Error { code, message },
            });
        }
    }

    /// Nobody will answer any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Asks, and waits for the answer. Dropping the future withdraws the question.
pub(super) fn ask<A: Asker>(
    asker: &Arc<A>,
    call: &RequestId,
    key: &str,
    question: CheckedRequest,
) -> BoxFuture<'static, Result<Reply, ErrorObject>> {
    let (reply, answer) = oneshot::channel();
    let ask = match asker.send(call, key, question, reply) {
        Ok(ask) => ask,
        Err(error) => return Box::pin(async { Err(error) }),
    };
    let waiting = Waiting {
        asker: Arc::clone(asker),
        call: call.clone(),
        ask,
    };
    Box::pin(async move {
        let answer = answer.await;
        drop(waiting);
        answer.map_err(|_| ErrorObject::internal("the connection is over"))
    })
}

/// The refusal of a question whose call is over.
pub(super) fn over() -> ErrorObject {
    ErrorObject::internal("the request is over")
}

impl<A: Asker> Drop for Waiting<A> {
    fn drop(&mut self) {
        self.asker.withdraw(&self.call, self.ask);
    }
}
