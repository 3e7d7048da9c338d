//! The requests of sessions.

use std::{any::Any, future::poll_fn, sync::Arc, task::Poll};

use askback_core::{
    engine::server::ReceivedMessage,
    http::{headers, media::AcceptedMedia, sse},
    jsonrpc::{ErrorObject, RequestId},
};
use http::{HeaderName, Response, StatusCode, request::Parts};

use super::{
    Inner, PAIRED,
    route::{Route, ended, nameless},
    stopping,
};
use crate::server::http::{
    admission::{Attachment, VERSION, principal, single},
    body::{Body, Outgoing},
    heads::Heads,
    response::{self, SESSION_ID},
    session::{MessageEffect, Session, Stray, Work},
    sessions::SessionError,
    stop::Phase,
    stream::EventId,
    stream_reader::{StreamReader, StreamStart},
};
use crate::server::{
    fleet::{self, DeliveryOutcome},
    http::fleet_session,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);

impl Inner {
    pub(super) fn initialize(&self, parts: &Parts, received: ReceivedMessage) -> Response<Body> {
        let session = Session::new(&self.shared, principal(parts), false);
        let (answer, opened) = session.open(received);
        if !opened {
            return response::json(StatusCode::BAD_REQUEST, Outgoing::short(answer));
        }
        let mut response = self.json(session.principal().as_ref(), None, answer);
        if response.status() != StatusCode::OK {
            return response;
        }
        // Ids contain only characters that are valid in headers.
        match self
            .sessions
            .add(session)
            .map(|session| session.id().parse())
        {
            Ok(Ok(id)) => drop(response.headers_mut().insert(SESSION_ID, id)),
            Ok(Err(_)) => {}
            Err(unkept) => return self.refused(unkept),
        }
        response
    }

    pub(super) async fn message(
        &self,
        session: Arc<Session>,
        accept: AcceptedMedia,
        received: ReceivedMessage,
        attachment: Option<Attachment>,
    ) -> Response<Body> {
        if !session.paired && !accept.event_stream {
            let why = "accept text/event-stream: a session asks and tells on streams";
            return response::refusal(StatusCode::NOT_ACCEPTABLE, why);
        }
        if matches!(received, ReceivedMessage::Batch(_)) && !session.has_batches() {
            let why = "the revision of this session has no batches";
            return response::refusal(StatusCode::BAD_REQUEST, why);
        }
        if !session.has_room() {
            let why = "read the stream of this session first: it is full";
            return response::refusal(StatusCode::SERVICE_UNAVAILABLE, why);
        }
        let (taken, strays) = session.take(received, attachment.as_ref());
        if !strays.is_empty() {
            let handed_on = self.strays(&session, strays, attachment.as_ref()).await;
            if matches!(taken, MessageEffect::Nothing) {
                return handed_on;
            }
        }
        match taken {
            MessageEffect::Refused(received, why) => self.no_room(id_of(&received), why),
            MessageEffect::Nothing => response::accepted(),
            MessageEffect::Chosen(answer) => {
                fleet_session::note(&self.shared, &session).await;
                self.json(session.principal().as_ref(), None, answer)
            }
            MessageEffect::Answered(answer) if session.paired => match session.tell(answer) {
                Ok(()) => response::accepted(),
                Err(why) => self.no_room(None, why),
            },
            MessageEffect::Answered(answer) => {
                self.json(session.principal().as_ref(), None, answer)
            }
            MessageEffect::Work(_, work) if session.paired => {
                for work in work {
                    tokio::spawn(work);
                }
                response::accepted()
            }
            MessageEffect::Work(stream, work) => self.work(session, stream, work, accept).await,
        }
    }

    pub(super) async fn work(
        &self,
        session: Arc<Session>,
        stream: u32,
        mut work: Vec<Work>,
        accept: AcceptedMedia,
    ) -> Response<Body> {
        // The calls of a batch run in their own tasks, because they must not wait for one another.
        let mut last = work.pop();
        for work in work.drain(..) {
            tokio::spawn(work);
        }
        if let Some(alone) = last.as_mut().filter(|_| accept.json) {
            match poll_fn(|cx| Poll::Ready(alone.poll_alone(cx))).await {
                Poll::Ready(Some(only)) => return response::json(StatusCode::OK, only),
                Poll::Ready(None) => last = None,
                Poll::Pending => {}
            }
        }
        let Some((stream, reader)) = session.attach_to_work(stream) else {
            return ended();
        };
        let mut reading = StreamReader::new(session, stream, reader, &self.stop).working(last);
        match reading.first(accept.json).await {
            StreamStart::Only(answer) => response::json(StatusCode::OK, answer),
            StreamStart::Stream(first) => response::events(reading.events(first)),
        }
    }

    pub(super) async fn get(&self, parts: &Parts) -> Response<Body> {
        let headers = &parts.headers;
        let session = match self.named(parts) {
            Route::Session(session) => Some(session),
            Route::Nowhere(refusal) => return refusal,
            Route::New | Route::Stateless => None,
        };
        if !Heads(headers).accepted().event_stream {
            let why = "accept text/event-stream";
            return response::refusal(StatusCode::NOT_ACCEPTABLE, why);
        }
        let Some(session) = session else {
            // A client that sends a revision uses session ids.
            let pair = self.pairs && !headers.contains_key(VERSION);
            return match pair {
                true if self.stop.has_reached(Phase::Stopping) => {
                    stopping(parts, self.shared.limits())
                }
                true => self.pair(parts),
                false => nameless(None),
            };
        };
        let after = single(headers, &LAST_EVENT_ID).map(|id| id.map(EventId::parse));
        if let Ok(Some(Some(after))) = &after {
            if !session.take_up(after).await {
                let why = "the server cannot read this stream now; resume it again";
                return response::unavailable(why, self.shared.limits());
            }
        } else if self.shared.fleet.is_some() {
            // The client may have changed its log level or subscriptions at another process.
            fleet_session::reread(&self.shared, &session).await;
        }
        let attached = match after {
            Ok(None) => session.attach(None),
            Ok(Some(Some(after))) => session.attach(Some(after)),
            Ok(Some(None)) | Err(_) => None,
        };
        let Some((stream, reader)) = attached else {
            let why = "Last-Event-ID names no stream of this session that can be resumed";
            return response::refusal(StatusCode::BAD_REQUEST, why);
        };
        let prime = session.lock().prime(stream);
        let reading = StreamReader::new(session, stream, reader, &self.stop);
        response::open_ended(reading.events(prime))
    }

    pub(super) fn pair(&self, parts: &Parts) -> Response<Body> {
        let session = match self
            .sessions
            .add(Session::new(&self.shared, principal(parts), true))
        {
            Ok(session) => session,
            Err(unkept) => return self.refused(unkept),
        };
        let Some((stream, reader)) = session.attach(None) else {
            return ended();
        };
        let endpoint = format!("{}?{PAIRED}{}", parts.uri.path(), session.id());
        let mut first = Vec::new();
        sse::write_named_event(&mut first, "endpoint", endpoint.as_bytes());
        let reading = StreamReader::new(session, stream, reader, &self.stop)
            .ending(Arc::clone(&self.sessions));
        response::open_ended(reading.events(first))
    }

    pub(super) fn refused(&self, unkept: SessionError) -> Response<Body> {
        match unkept {
            SessionError::NoRoom(why) => self.no_room(None, why),
            SessionError::Broken(error) => {
                tracing::error!(%error, "a session could not be opened");
                let error = ErrorObject::internal("the server cannot open a session now");
                response::error(StatusCode::INTERNAL_SERVER_ERROR, None, &error)
            }
        }
    }

    pub(super) async fn delete(&self, parts: &Parts) -> Response<Body> {
        match self.named(parts) {
            Route::Session(session) => {
                self.sessions.end(session.id());
                if let (Some(node), Some(member)) = (&self.shared.fleet, session.member) {
                    let principal = session.principal();
                    let request =
                        fleet_session::request(&self.shared, member, principal.as_deref());
                    if let Err(error) = node.journal.end_session(request).await {
                        tracing::error!(%error, "a session could not be ended for all processes");
                        return self.unavailable();
                    }
                }
                response::empty(StatusCode::NO_CONTENT)
            }
            Route::Nowhere(refusal) => refusal,
            Route::New | Route::Stateless => nameless(None),
        }
    }
}

impl Inner {
    /// The journal of the fleet has not stored a message: the client may send the same message again.
    pub(super) fn unavailable(&self) -> Response<Body> {
        let why = "the server cannot write this down now; send it again";
        response::unavailable(why, self.shared.limits())
    }

    /// Delivers messages for other processes of the fleet: all of them, even if one is unknown.
    async fn strays(
        &self,
        session: &Session,
        strays: Vec<Stray>,
        attachment: Option<&Attachment>,
    ) -> Response<Body> {
        let (Some(node), Some(member)) = (&self.shared.fleet, session.member) else {
            return response::accepted();
        };
        let principal = session.principal();
        let attachment = attachment.map(|it| Arc::clone(it) as Arc<dyn Any + Send + Sync>);
        let mut worst = DeliveryOutcome::Accepted;
        for stray in strays {
            let fate = match stray {
                Stray::Cancel(id) => {
                    let request = fleet::request_digest(member, &id);
                    node.stop(request);
                    match node.journal.cancel(member, request).await {
                        Ok(_) => DeliveryOutcome::Accepted,
                        Err(error) => {
                            tracing::error!(%error, "a request could not be cancelled");
                            DeliveryOutcome::Unavailable
                        }
                    }
                }
                Stray::Answer(name, outcome) => {
                    let cause = (principal.as_ref(), attachment.as_ref());
                    fleet::answer(&self.shared, member, cause, &name, outcome).await
                }
            };
            worst = worst.max(fate);
        }
        match worst {
            DeliveryOutcome::Accepted => response::accepted(),
            DeliveryOutcome::Unknown => {
                let why = "no question of this session has this id (any more)";
                response::refusal(StatusCode::BAD_REQUEST, why)
            }
            DeliveryOutcome::Unavailable => self.unavailable(),
        }
    }
}

fn id_of(received: &ReceivedMessage) -> Option<&RequestId> {
    match received {
        ReceivedMessage::Request(received) => Some(&received.id),
        ReceivedMessage::Misfit(request, _) => Some(&request.id),
        ReceivedMessage::Notification(_)
        | ReceivedMessage::Response(_)
        | ReceivedMessage::Batch(_) => None,
    }
}
