//! The memory quota of a session.

use askback_core::{
    engine::server::{Change, ReceivedMessage},
    protocol::ClientRequest,
};

use super::{Session, State};
use crate::{
    ctx::{ObserverGuard, bytes_of},
    server::{
        budget::{Charge, NoRoom, Shortage},
        http::stream::{FRAME_BYTES, Stream},
    },
};

/// The memory of a session in addition to its engine and its streams, in bytes.
const SESSION_BYTES: usize = 2 << 10;

const RUNNING_BYTES: usize = 4 << 10;

/// The memory of the error that answers such a call, in bytes.
const ERROR_BYTES: usize = 512;

/// The memory of a stream in addition to its messages, in bytes.
const STREAM_BYTES: usize = 256;

impl Session {
    pub(in crate::server::http) fn take_room(&self) -> Result<(), Shortage> {
        let mut state = self.lock();
        let taken = state.reserve(0);
        taken.map_err(|why| state.room.shortage(state.kept_bytes(), why))
    }

    pub(in crate::server::http) fn have_place(&self, place: Charge) {
        self.lock().place = Some(place);
    }

    pub(in crate::server::http) fn places_to_give(&self) -> usize {
        usize::from(self.lock().place.is_some())
    }

    /// Returns the minimum memory that is freed as soon as the session ends, in bytes. A client in
    /// use still has to read that the session has ended.
    pub(in crate::server::http) fn bytes_to_give(&self) -> usize {
        let state = self.lock();
        let stays = match state.idle_since() {
            Some(_) => 0,
            None => {
                let over = state.running.len() * (RUNNING_BYTES - ERROR_BYTES);
                state.kept_bytes().saturating_sub(over)
            }
        };
        state.room.beyond(stays)
    }
}

impl State {
    pub(super) fn kept_bytes(&self) -> usize {
        let streams = self.streams.iter();
        let untold = self.untold.iter().map(|changed| match changed {
            Change::Resource(name) | Change::Task(name) => name.len(),
            _ => 0,
        });
        SESSION_BYTES
            + self.engine.kept_bytes()
            + self.running.len() * RUNNING_BYTES
            + streams
                .map(|stream| STREAM_BYTES + stream.kept_bytes())
                .sum::<usize>()
            + untold.sum::<usize>()
            + self.observing.as_ref().map_or(0, ObserverGuard::kept_bytes)
    }

    /// Reserves this many more bytes. If there is no room, drops messages that are kept only for a
    /// client that may resume.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), NoRoom> {
        let bytes = self.kept_bytes() + more;
        self.room.cover(bytes).or_else(|_| {
            self.streams.iter_mut().for_each(Stream::forget_read);
            self.room.cover(self.kept_bytes() + more)
        })
    }

    /// Reserves room for the response of a call that has just ended, beyond the call's own room.
    pub(super) fn reserve_instead(&mut self, answer: usize) -> Result<(), NoRoom> {
        if answer + FRAME_BYTES <= RUNNING_BYTES {
            return Ok(());
        }
        self.reserve(answer)
    }

    /// Returns the room that is no longer needed. Messages that are kept only for a client that may
    /// resume are dropped if there is no room for them.
    pub(super) fn settle(&mut self) {
        // Other growth was reserved before, or is small.
        let _ = self.reserve(0);
    }
}

/// The room that a message needs until it is answered. `None` for responses, and for messages that
/// are answered at once.
pub(super) fn room_of(received: &ReceivedMessage) -> Option<usize> {
    match received {
        ReceivedMessage::Request(received) => match &received.request {
            ClientRequest::Ping(_) | ClientRequest::SetLevel(_) | ClientRequest::Unsubscribe(_) => {
                None
            }
            ClientRequest::Subscribe(params) => {
                let watched = bytes_of(&Change::Resource(params.uri.clone()));
                Some(params.uri.len() + watched)
            }
            _ => Some(RUNNING_BYTES),
        },
        ReceivedMessage::Batch(messages) => Some(messages.len() * RUNNING_BYTES),
        ReceivedMessage::Misfit(..)
        | ReceivedMessage::Notification(_)
        | ReceivedMessage::Response(_) => None,
    }
}

pub(super) fn may_choose(received: &ReceivedMessage) -> bool {
    match received {
        ReceivedMessage::Request(request) => {
            matches!(request.request, ClientRequest::SetLevel(_)) || may_watch(received)
        }
        other => may_watch(other),
    }
}

pub(super) fn may_watch(received: &ReceivedMessage) -> bool {
    match received {
        ReceivedMessage::Request(request) => matches!(
            request.request,
            ClientRequest::Subscribe(_) | ClientRequest::Unsubscribe(_)
        ),
        ReceivedMessage::Batch(_) => true,
        _ => false,
    }
}
