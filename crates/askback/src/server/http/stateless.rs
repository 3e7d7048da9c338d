//! A request of the stateless era. The response is one JSON object, or a stream if there are
//! messages before the result. If the client disconnects, the request is cancelled.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use askback_core::{
    engine::server::{Call, Origin, write_notification},
    http::{media::AcceptedMedia, sse},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{LoggingLevel, ServerNotification},
};
use http::{Response, StatusCode};
use tokio::time::sleep;

use super::{
    body::{Body, Outgoing, WORTH_COUNTING, WholeBody, written},
    response,
    stop::{Phase, QuietTimer, Stop, WaitEnd},
};
use crate::{
    ctx::{CallPeer, Peer},
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
    let peer = Arc::new(Requester {
        id: call.id.clone(),
        origin: Arc::clone(&call.origin),
        streams: accept.event_stream,
        shared: Arc::clone(shared),
        told: Mutex::default(),
    });
    let to = CallPeer::Rounds(Arc::clone(&peer) as _);
    let mut answering = Box::pin(dispatch::answer(Arc::clone(shared), call, to));
    match first(answering.as_mut(), &peer, stop).await {
        Some(answered) if accept.json && peer.lock().events.is_empty() => {
            let status = answered.error.map_or(StatusCode::OK, response::status);
            match WholeBody::new(answered.message, |bytes| peer.take_room(bytes)) {
                Ok(message) => response::json(status, message),
                Err(why) => response::no_room(Some(&peer.id), why, shared.limits()),
            }
        }
        Some(answered) => response::events_at_once(peer.last_events(answered)),
        None => {
            let (quiet, stop) = (shared.limits().http.keep_alive, stop.clone());
            response::events(written(move |to| async move {
                loop {
                    let answered = tokio::select! {
                        biased;
                        answered = &mut answering => answered,
                        () = poll_fn(|cx| peer.poll_told(cx)) => {
                            let told = peer.lock().take();
                            to.send(told).await;
                            continue;
                        }
                        () = stop.reached(Phase::Over) => peer.stopped(),
                        () = sleep(quiet) => {
                            to.keep_alive().await;
                            continue;
                        }
                    };
                    return to.send(peer.last_events(answered)).await;
                }
            }))
        }
    }
}

/// Waits briefly for the response, because most handlers are quick and send nothing else. Returns
/// `None` if it has to be a stream. A client that does not accept a stream waits for the end.
async fn first(
    mut answering: Pin<&mut (impl Future<Output = CallResponse> + Send)>,
    peer: &Requester,
    stop: &Stop,
) -> Option<CallResponse> {
    let undecided = peer.shared.limits().http.undecided;
    let mut vigil = QuietTimer::default();
    poll_fn(|cx| {
        if let Poll::Ready(answered) = answering.as_mut().poll(cx) {
            return Poll::Ready(Some(answered));
        }
        if peer.streams && peer.poll_told(cx).is_ready() {
            return Poll::Ready(None);
        }
        match vigil.poll(stop, undecided, cx) {
            Poll::Ready(WaitEnd::Over) => Poll::Ready(Some(peer.stopped())),
            Poll::Ready(WaitEnd::Quiet) if peer.streams => Poll::Ready(None),
            Poll::Ready(WaitEnd::Quiet) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

struct Requester {
    id: RequestId,
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

    fn stopped(&self) -> CallResponse {
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
    fn last_events(&self, answered: CallResponse) -> Outgoing {
        let mut message = answered.message.into_vec();
        let mut told = self.lock();
        let bytes = told.events.len() + message.len();
        if let Err(why) = self.make_room(&mut told, bytes) {
            message = self.failed(why.to_string()).message.into_vec();
        }
        sse::write_event(&mut told.events, None, &message);
        told.take()
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
}
