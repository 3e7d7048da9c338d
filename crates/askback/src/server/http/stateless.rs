//! A request of the stateless era. The response is one JSON object, or a stream if there are
//! messages before the result. If the client disconnects, the request is cancelled.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use askback_core::{
    engine::server::{Call, Origin, write_notification},
    http::{media::AcceptedMedia, sse},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{LoggingLevel, ServerNotification},
};
use http::Response;

use super::{
    body::{Body, Events, Outgoing, WORTH_COUNTING, WholeBody},
    response,
    stop::{QuietTimer, Stop, WaitEnd},
};
use crate::{
    ctx::{CallPeer, Peer},
    flow::BoxFuture,
    server::{
        Shared,
        budget::{Charge, NoRoom},
        dispatch::{self, CallResponse},
    },
};

pub(super) async fn answer(
    shared: &Arc<Shared>,
    stop: &Stop,
    call: Call,
    accept: AcceptedMedia,
) -> Response<Body> {
    let mut answering = StatelessCall::new(shared, stop, call, accept.event_stream);
    let first = poll_fn(|cx| answering.poll_first(cx)).await;
    match first {
        FirstResult::Answered(answered)
            if accept.json && answering.peer.lock().events.is_empty() =>
        {
            let status = answered
                .error
                .map_or(http::StatusCode::OK, response::status);
            match WholeBody::new(answered.message, |bytes| answering.peer.take_room(bytes)) {
                Ok(message) => response::json(status, message),
                Err(why) => response::no_room(Some(&answering.id), why, shared.limits()),
            }
        }
        FirstResult::Answered(answered) => {
            response::events_at_once(answering.last_events(answered))
        }
        FirstResult::Stream => response::events(answering),
    }
}

struct StatelessCall {
    answer: Option<BoxFuture<'static, CallResponse>>,
    id: RequestId,
    peer: Arc<Requester>,
    stop: Stop,
    vigil: QuietTimer,
}

enum FirstResult {
    Answered(CallResponse),
    Stream,
}

impl StatelessCall {
    fn new(shared: &Arc<Shared>, stop: &Stop, call: Call, streams: bool) -> Self {
        let peer = Arc::new(Requester {
            origin: Arc::clone(&call.origin),
            streams,
            shared: Arc::clone(shared),
            told: Mutex::default(),
        });
        let id = call.id.clone();
        let to = CallPeer::Rounds(Arc::clone(&peer) as _);
        Self {
            answer: Some(Box::pin(dispatch::answer(Arc::clone(shared), call, to))),
            id,
            peer,
            stop: stop.clone(),
            vigil: QuietTimer::default(),
        }
    }

    /// Polls for the first result. It waits briefly, because most handlers are quick and send
    /// nothing else.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<FirstResult> {
        if let Poll::Ready(answered) = self.poll_answer(cx) {
            return Poll::Ready(FirstResult::Answered(answered));
        }
        if !self.peer.streams {
            // A client that does not accept a stream waits for the end.
        } else if self.peer.poll_told(cx).is_ready() {
            return Poll::Ready(FirstResult::Stream);
        }
        let undecided = self.peer.shared.limits().http.undecided;
        match self.vigil.poll(&self.stop, undecided, cx) {
            Poll::Ready(WaitEnd::Over) => Poll::Ready(FirstResult::Answered(self.stopped())),
            Poll::Ready(WaitEnd::Quiet) if self.peer.streams => Poll::Ready(FirstResult::Stream),
            Poll::Ready(WaitEnd::Quiet) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<CallResponse> {
        match &mut self.answer {
            Some(answer) => answer.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    fn stopped(&mut self) -> CallResponse {
        self.answer = None;
        self.failed("the server is stopping")
    }

    fn failed(&self, why: impl Into<String>) -> CallResponse {
        let error = ErrorObject::internal(why);
        CallResponse {
            message: jsonrpc::write_error(Some(&self.id), &error).into(),
            error: Some(error.code),
        }
    }

    /// Returns the unread notifications and then the response, or an error if there is no room for
    /// it.
    fn last_events(&mut self, answered: CallResponse) -> Outgoing {
        let mut message = answered.message.into_vec();
        let mut told = self.peer.lock();
        let bytes = told.events.len() + message.len();
        if let Err(why) = self.peer.make_room(&mut told, bytes) {
            message = self.failed(why.to_string()).message.into_vec();
        }
        sse::write_event(&mut told.events, None, &message);
        told.take()
    }
}

impl Events for StatelessCall {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        if self.answer.is_none() {
            return Poll::Ready(None);
        }
        let mut answered = self.poll_answer(cx);
        let told = self.peer.poll_told(cx);
        if answered.is_pending() && told.is_pending() {
            let quiet = self.peer.shared.limits().http.keep_alive;
            match self.vigil.poll(&self.stop, quiet, cx) {
                Poll::Ready(WaitEnd::Over) => answered = Poll::Ready(self.stopped()),
                Poll::Ready(WaitEnd::Quiet) => {
                    let mut alive = Vec::new();
                    sse::write_comment(&mut alive, "");
                    return Poll::Ready(Some(Outgoing::short(alive)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        self.vigil.reset();
        Poll::Ready(Some(match answered {
            Poll::Ready(answered) => {
                self.answer = None;
                self.last_events(answered)
            }
            Poll::Pending => self.peer.lock().take(),
        }))
    }
}

struct Requester {
    origin: Arc<Origin>,
    streams: bool,
    shared: Arc<Shared>,
    told: Mutex<NotificationBuffer>,
}

#[derive(Default)]
struct NotificationBuffer {
    events: Vec<u8>,
    waker: Option<Waker>,
    /// The charge for unread events, if they are large.
    room: Option<Charge>,
}

impl NotificationBuffer {
    fn take(&mut self) -> Outgoing {
        Outgoing::with(std::mem::take(&mut self.events), self.room.take())
    }
}

impl Requester {
    fn lock(&self) -> MutexGuard<'_, NotificationBuffer> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_room(&self, bytes: usize) -> Result<Charge, NoRoom> {
        let principal = self.origin.principal.as_ref();
        self.shared.kept.take(principal, bytes)
    }

    fn make_room(&self, told: &mut NotificationBuffer, bytes: usize) -> Result<(), NoRoom> {
        match &mut told.room {
            _ if bytes <= WORTH_COUNTING => {}
            Some(room) => room.cover(bytes)?,
            none => *none = Some(self.take_room(bytes)?),
        }
        Ok(())
    }

    fn poll_told(&self, cx: &Context<'_>) -> Poll<()> {
        let mut told = self.lock();
        if told.events.is_empty() {
            told.waker = Some(cx.waker().clone());
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl Peer for Requester {
    fn notify(&self, notification: ServerNotification) {
        if !self.streams {
            return;
        }
        let Some(message) = write_notification(self.origin.revision, notification) else {
            return;
        };
        let mut told = self.lock();
        // Drops progress and log messages if the client is slow.
        let bytes = told.events.len() + message.len();
        let keeps_up = told.events.len() <= self.shared.limits().http.resume_bytes;
        if !keeps_up || self.make_room(&mut told, bytes).is_err() {
            return;
        }
        sse::write_event(&mut told.events, None, &message);
        if let Some(waker) = told.waker.take() {
            waker.wake();
        }
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        self.origin.log_level.is_some_and(|least| level >= least)
    }

    /// This era has no such notification.
    fn complete_elicitation(&self, _: String) {}
}
