//! The client of a call in a session.

use std::sync::Arc;

use askback_core::{
    ask::{CheckedRequest, Reply},
    engine::server::AskId,
    jsonrpc::{ErrorObject, RequestId},
    protocol::{InputRequiredResult, LoggingLevel, ServerNotification},
};
use tokio::sync::oneshot;

use super::{Session, State, parked};
use crate::{
    ctx::{AskingPeer, FlowPause, Incoming, ParkingPeer, Peer},
    flow::BoxFuture,
    server::{
        asks::{self, QuestionSender},
        http::stream::Stream,
    },
};

#[derive(Clone)]
pub(super) struct Caller {
    pub(super) session: Arc<Session>,
    pub(super) call: RequestId,
}

impl Caller {
    fn with<T>(&self, act: impl FnOnce(&mut State, u32) -> T) -> T {
        let mut state = self.session.lock();
        let stream = state.stream_of(&self.call);
        let result = act(&mut state, stream);
        state.drain_to(stream);
        result
    }
}

impl Peer for Caller {
    fn notify(&self, notification: ServerNotification) {
        self.with(|state, stream| {
            // Drops progress and log messages if the client is slow.
            let limits = self.session.shared.limits();
            let keeps_up = state
                .stream(stream)
                .is_none_or(|stream| stream.has_room(limits));
            if keeps_up {
                state.engine.notify(&self.call, notification);
            }
            state.drain(|state, message| {
                if state.reserve(message.len()).is_ok() {
                    state.push(stream, message);
                }
            });
        });
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        self.session.lock().engine.wants_log(&self.call, level)
    }

    fn complete_elicitation(&self, elicitation_id: String) {
        self.with(|state, stream| {
            let limits = self.session.shared.limits();
            let stream = state.stream(stream);
            if stream.is_none_or(|stream| stream.has_room(limits)) {
                state.engine.complete_elicitation(elicitation_id);
            }
        });
    }

    fn close_stream(&self) {
        self.with(|state, stream| {
            let polling = state.facts().is_some_and(|facts| facts.polling);
            if polling && !self.session.paired {
                state.open_stream(stream);
                state.stream(stream).into_iter().for_each(Stream::let_go);
            }
        });
    }
}

impl ParkingPeer for Caller {
    fn park(
        &self,
        incoming: Arc<Incoming>,
        round: InputRequiredResult,
        pause: FlowPause,
    ) -> BoxFuture<'static, crate::error::Result<()>> {
        let (session, call) = (Arc::clone(&self.session), self.call.clone());
        Box::pin(parked::park(session, call, incoming, round, pause))
    }
}

impl AskingPeer for Caller {
    fn ask(&self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply> {
        if self.session.member.is_some() {
            // Another process of the fleet may use the same question ids.
            let why = "a call of a batch cannot ask here: send it in a message of its own";
            return asks::refused(ErrorObject::internal(why));
        }
        asks::ask(self, key, question)
    }
}

impl QuestionSender for Caller {
    type Id = AskId;
    const OVER: &'static str = "the connection is over";

    fn send(
        &self,
        key: &str,
        question: CheckedRequest,
        reply: oneshot::Sender<Reply>,
    ) -> Result<AskId, ErrorObject> {
        let mut state = self.session.lock();
        let ask = state
            .engine
            .ask(&self.call, key, question)
            .ok_or_else(asks::over)?;
        let stream = state.stream_of(&self.call);
        let mut refused = None;
        state.drain(|state, message| match state.reserve(message.len()) {
            Ok(()) => state.push(stream, message),
            Err(why) => refused = Some(why),
        });
        if let Some(why) = refused {
            state.engine.withdraw(ask);
            // A question that was not sent need not be withdrawn.
            drop(state.drain(|_, _| {}));
            return Err(ErrorObject::internal(why.to_string()));
        }
        state.asks.insert(ask, reply);
        Ok(ask)
    }

    fn withdraw(&self, ask: &AskId) {
        let mut state = self.session.lock();
        state.asks.remove(ask);
        state.engine.withdraw(*ask);
        match state.running_on(&self.call) {
            Some(stream) => state.drain_to(stream),
            // The client of a cancelled call does not wait for its questions.
            None => drop(state.drain(|_, _| {})),
        }
    }
}
