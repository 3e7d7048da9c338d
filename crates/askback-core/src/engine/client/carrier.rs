//! Transports on which each request travels alone, as over HTTP: what they know beforehand, and
//! what becomes of a single request.

use alloc::{format, string::String};
use core::time::Duration;

use super::{
    CallId, ClientError, Connection, State,
    call::{Call, Stage},
};
use crate::{jsonrpc::RequestId, revision::Era};

/// How messages travel, as far as it tells something about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Carrier {
    /// One stream carries everything, and ends with the server. A server that is silent on the
    /// probe, or ends itself over it, is taken for one with a handshake (2026-07-28,
    /// basic/transports/stdio, Backward Compatibility).
    #[default]
    Stream,
    /// Each request is an exchange of its own. Only what a server answers tells its era
    /// (2026-07-28, basic/transports/streamable-http, Backward Compatibility).
    Exchanges {
        /// The server is known to want the handshake, so that it need not be probed. If it refuses
        /// the handshake, it is probed after all.
        handshake: bool,
    },
}

/// The fate of a request that will have no response, while others still may.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Lost {
    /// The answer broke off, for the reason given, and nobody knows how far the server came.
    Broken(String),
    /// The server did not take it up, as it no longer knows the session.
    /// [`Connection::handle_disconnected`] must follow.
    Returned,
    /// It failed for good.
    Failed(ClientError),
}

impl Connection {
    /// Says how messages travel from now on; to be called before
    /// [`Connection::handle_connected`].
    pub fn set_carrier(&mut self, carrier: Carrier) {
        self.carrier = carrier;
    }

    /// The transport will not bring a response to this request.
    ///
    /// It is sent again, with a new id, under the rules that hold for a transport that ends: if it
    /// carries all the server needs to know, or is a subscription, and at most once in a row.
    pub fn handle_lost(&mut self, id: &RequestId, lost: Lost, now: Duration) {
        if matches!(self.state, State::Opening(_)) {
            let error = match lost {
                Lost::Broken(why) => ClientError::Crashed(why.into()),
                Lost::Returned => ClientError::Crashed(SESSION_OVER.into()),
                Lost::Failed(error) => error,
            };
            return self.handle_response(Some(id), Err(error), now);
        }
        let RequestId::Number(number) = id else {
            return;
        };
        let Some(id) = self.sent.remove(number) else {
            return;
        };
        match lost {
            Lost::Broken(why) => self.lose_round(id, why, now),
            Lost::Returned => self.take_back(id, now),
            Lost::Failed(error) => self.handle_result(id, Err(error), now),
        }
    }

    /// The answer to one round broke off.
    fn lose_round(&mut self, id: CallId, why: String, now: Duration) {
        let modern = self
            .greeting
            .as_ref()
            .is_some_and(|it| it.revision.era() == Era::Modern);
        let limits = &self.profile.limits;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.patience.pause(now);
        if !modern || !call.survives_loss() {
            return self.finish(id, Err(ClientError::Crashed(why.into())));
        }
        call.restarted = true;
        let pause = call.reopening_pause(limits, now);
        let what = call.request.method();
        self.note(format!("`{what}` broke off and is sent again: {why}"));
        match pause {
            Some(pause) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.stage = Stage::Pausing(now.saturating_add(pause));
                }
            }
            None => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.lose();
                }
                self.send(id, now);
            }
        }
    }

    /// A round that nobody has taken up waits for the next session.
    fn take_back(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.patience.pause(now);
        if call.restarted {
            return self.finish(id, Err(ClientError::Crashed(SESSION_OVER.into())));
        }
        call.lose();
    }
}

impl Call {
    /// Whether it may be sent again after the round it was in is lost: the server needs to know
    /// nothing it did not say, and it was not sent again just now.
    pub(super) fn survives_loss(&self) -> bool {
        let asks_after = matches!(self.stage, Stage::Task(_));
        (self.carries_state() || self.is_subscription() || asks_after) && !self.restarted
    }

    /// Marks the request in flight to be sent again.
    pub(super) fn lose(&mut self) {
        match &mut self.stage {
            Stage::Task(held) => held.lose(),
            stage => *stage = Stage::Ready,
        }
    }

    /// How long a subscription that broke off waits before it is opened again. One that lasted is
    /// opened at once; one that keeps breaking off waits longer each time.
    fn reopening_pause(
        &mut self,
        limits: &crate::limits::Limits,
        now: Duration,
    ) -> Option<Duration> {
        let Stage::Sent(sent) = &self.stage else {
            return None;
        };
        let begun = sent.listening?;
        if now.saturating_sub(begun) >= limits.http.stream_retry_most {
            self.pauses = 0;
        }
        let pauses = self.pauses;
        self.pauses += 1;
        let growth = 1 << pauses.checked_sub(1)?.min(16);
        let pause = limits.http.stream_retry.saturating_mul(growth);
        Some(pause.min(limits.http.stream_retry_most))
    }
}

const SESSION_OVER: &str = "its session is over";
