//! The work on a call of a session.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use askback_core::{engine::server::Call, jsonrpc::RequestId};
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

use super::{Session, caller::Caller};
use crate::{
    ctx::CallPeer,
    flow::BoxFuture,
    server::{
        dispatch::{self, CallResponse},
        http::body::Outgoing,
    },
};

/// A running call. It ends with its response, or when it is parked or cancelled.
pub(in crate::server::http) struct Work {
    session: Arc<Session>,
    id: RequestId,
    number: u64,
    stop: Receiver<()>,
    /// `None` if the call is parked.
    answering: BoxFuture<'static, Option<CallResponse>>,
}

impl Work {
    pub(super) fn new(
        session: &Arc<Session>,
        call: Call,
        number: u64,
        stop: Receiver<()>,
        parks: bool,
    ) -> Self {
        let id = call.id.clone();
        let caller = Arc::new(Caller {
            session: Arc::clone(session),
            call: id.clone(),
        });
        let peer = match parks {
            true => CallPeer::Journal(caller),
            false => CallPeer::of_connection(caller, &call.origin),
        };
        let shared = Arc::clone(&session.shared);
        Self {
            session: Arc::clone(session),
            id,
            number,
            stop,
            answering: Box::pin(dispatch::answer_or_park(shared, call, peer)),
        }
    }

    /// Polls for the response. Returns it if it is the only message of its stream, which then does
    /// not start. Otherwise sends it on the stream.
    pub(in crate::server::http) fn poll_alone(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Outgoing>> {
        let Some(message) = ready!(self.poll_answer(cx)) else {
            return Poll::Ready(None);
        };
        let alone = self.session.respond_alone(&self.id, self.number, message);
        Poll::Ready(match alone {
            Ok(only) => Some(only),
            Err(message) => {
                self.session.respond(&self.id, self.number, message);
                None
            }
        })
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if self.stop.try_recv() == Err(TryRecvError::Closed) {
            return Poll::Ready(None);
        }
        match self.answering.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map(|it| it.message.into_vec())),
            Poll::Pending => Pin::new(&mut self.stop).poll(cx).map(|_| None),
        }
    }
}

impl Future for Work {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(message) = ready!(self.poll_answer(cx)) {
            self.session.respond(&self.id, self.number, message);
        }
        Poll::Ready(())
    }
}
