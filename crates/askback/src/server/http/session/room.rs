//! The room of a session: how many bytes it keeps, and whether there may be more.

use askback_core::{
    engine::server::{Changed, Received},
    protocol::ClientRequest,
};

use super::{Session, State};
use crate::server::{
    budget::{Charge, NoRoom},
    http::stream::Stream,
};

/// What a session takes beside what its engine and its streams keep, in bytes.
const SESSION_BYTES: usize = 2 << 10;

/// What a call takes that goes on, in bytes.
const RUNNING_BYTES: usize = 4 << 10;

/// What a stream takes beside its messages, in bytes.
const STREAM_BYTES: usize = 256;

impl Session {
    /// Makes it one of the sessions there are, if there is room for what it keeps.
    pub(in crate::server::http) fn take_place(
        &self,
        place: &mut Option<Charge>,
    ) -> Result<(), NoRoom> {
        let mut state = self.lock();
        state.reserve(0)?;
        state.place = place.take();
        Ok(())
    }

    /// How many sessions its owner has.
    pub(in crate::server::http) fn places_of_owner(&self) -> usize {
        let state = self.lock();
        state.place.as_ref().map_or(0, Charge::taken_by_owner)
    }

    /// How many bytes are kept for its owner.
    pub(in crate::server::http) fn bytes_of_owner(&self) -> usize {
        self.lock().room.taken_by_owner()
    }
}

impl State {
    /// About how many bytes it keeps.
    pub(super) fn kept_bytes(&self) -> usize {
        let streams = self.streams.iter();
        let untold = self.untold.iter().map(|changed| match changed {
            Changed::Resource(name) | Changed::Task(name) => name.len(),
            _ => 0,
        });
        SESSION_BYTES
            + self.engine.kept_bytes()
            + self.running.len() * RUNNING_BYTES
            + streams
                .map(|stream| STREAM_BYTES + stream.kept_bytes())
                .sum::<usize>()
            + untold.sum::<usize>()
    }

    /// Takes room for so many bytes more, if need be of what is kept only for a client that comes
    /// back for it.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), NoRoom> {
        let bytes = self.kept_bytes() + more;
        self.room.cover(bytes).or_else(|_| {
            self.streams.iter_mut().for_each(Stream::forget_read);
            self.room.cover(self.kept_bytes() + more)
        })
    }

    /// Gives back what is no longer needed.
    pub(super) fn settle(&mut self) {
        let bytes = self.kept_bytes();
        // What it has grown by was reserved, or is small.
        let _ = self.room.cover(bytes);
    }
}

/// How much room a message needs for as long as it is not answered; none for one that is answered at
/// once, or is an answer itself.
pub(super) fn room_of(received: &Received) -> Option<usize> {
    match received {
        Received::Request(_, request) => match request {
            ClientRequest::Ping(_) | ClientRequest::SetLevel(_) | ClientRequest::Unsubscribe(_) => {
                None
            }
            ClientRequest::Subscribe(params) => Some(params.uri.len()),
            _ => Some(RUNNING_BYTES),
        },
        Received::Batch(messages) => Some(messages.len() * RUNNING_BYTES),
        Received::Misfit(..) | Received::Notification(_) | Received::Response(_) => None,
    }
}
