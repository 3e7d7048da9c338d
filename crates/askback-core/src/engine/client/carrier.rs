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
    /// carries all the server needs to know and no answers, or is a subscription, and at most once in a row. A subscription
    /// that had begun is opened again for as long as a server that is started again may take
    /// ([`WireLimits::request`](crate::limits::WireLimits::request)).
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
            Lost::Broken(why) => self.lose_round(id, ClientError::Crashed(why.into()), now),
            Lost::Returned => self.take_back(id, now),
            Lost::Failed(error) if is_away(&error) && self.has_broken_off(id) => {
                self.lose_round(id, error, now);
            }
            Lost::Failed(error) => self.handle_result(id, Err(error), now),
        }
    }

    /// The answer to one round broke off.
    fn lose_round(&mut self, id: CallId, error: ClientError, now: Duration) {
        let modern = self
            .greeting
            .as_ref()
            .is_some_and(|it| it.revision.era() == Era::Modern);
        let limits = &self.profile.limits;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.patience.pause(now);
        let is_told = call.away.is_some();
        call.break_off(now);
        let survives =
            call.is_awaited(limits, now) || call.survives_loss(self.profile.resends_answers);
        if !modern || !survives {
            let error = call.lost_with(error);
            return self.finish(id, Err(error));
        }
        call.restarted = true;
        let pause = call.reopening_pause(limits, now);
        let what = call.request.method();
        if let (false, ClientError::Crashed(why)) = (is_told, &error) {
            self.note(format!("`{what}` broke off and is sent again: {why}"));
        }
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

    /// Whether it is a subscription that had begun and broke off.
    fn has_broken_off(&self, id: CallId) -> bool {
        self.calls.get(id).is_some_and(|call| call.away.is_some())
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

/// Whether a server that is started again may be there later.
fn is_away(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable(_) => true,
        // Of what stands before it.
        ClientError::Http { status, .. } => matches!(status, 502..=504),
        _ => false,
    }
}

impl Call {
    /// Whether it may be sent again after the round it was in is lost: the server needs to know
    /// nothing it did not say, and it was not sent again just now. A server acts on answers, and one that
    /// has forgotten that it did would act again.
    pub(super) fn survives_loss(&self, resends_answers: bool) -> bool {
        let is_safe = resends_answers || !self.carries_answers();
        let asks_after = matches!(self.stage, Stage::Task(_));
        let survives = (self.carries_state() && is_safe) || self.is_subscription() || asks_after;
        survives && !self.restarted
    }

    /// The error of a call whose round is lost for this reason.
    pub(super) fn lost_with(&self, error: ClientError) -> ClientError {
        let answers_are_with_server =
            self.has_answered || self.sent().is_some() && self.carries_answers();
        match error {
            ClientError::Crashed(end) if answers_are_with_server => {
                ClientError::OutcomeUnknown(end)
            }
            error => error,
        }
    }

    /// Marks the request in flight to be sent again.
    pub(super) fn lose(&mut self) {
        match &mut self.stage {
            Stage::Task(held) => held.lose(),
            stage => *stage = Stage::Ready,
        }
    }

    /// Takes note of when a subscription that had begun broke off.
    fn break_off(&mut self, now: Duration) {
        if self.sent().is_some_and(|sent| sent.listening.is_some()) {
            self.away.get_or_insert(now);
        }
    }

    /// Whether it is a subscription that broke off, and the server may be there again.
    fn is_awaited(&self, limits: &crate::limits::Limits, now: Duration) -> bool {
        let is_soon = |since| now.saturating_sub(since) < limits.wire.request;
        self.away.is_some_and(is_soon)
    }

    /// How long a subscription that broke off waits before it is opened again. One that lasted is
    /// opened at once; one that keeps breaking off, or cannot be opened, waits longer each time.
    fn reopening_pause(
        &mut self,
        limits: &crate::limits::Limits,
        now: Duration,
    ) -> Option<Duration> {
        let Stage::Sent(sent) = &self.stage else {
            return None;
        };
        let lasted = |begun| now.saturating_sub(begun) >= limits.http.stream_retry_most;
        match sent.listening {
            Some(begun) if lasted(begun) => self.pauses = 0,
            None if self.away.is_none() => return None,
            _ => {}
        }
        let pauses = self.pauses;
        self.pauses += 1;
        let growth = 1 << pauses.checked_sub(1)?.min(16);
        let pause = limits.http.stream_retry.saturating_mul(growth);
        Some(pause.min(limits.http.stream_retry_most))
    }
}

const SESSION_OVER: &str = "its session is over";
