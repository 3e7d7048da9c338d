//! Sends requests, and decides what to do when one is lost.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, ClientError, ClientMessage, Connection, Greeting, Output, ServerEnd, State,
    call::{Call, SentRound, Stage},
    message::{Introduction, SentMeta},
};
use crate::{
    jsonrpc::RequestId,
    protocol::{ClientRequest, EmptyResult, HasMeta, SKILLS_EXTENSION},
    revision::{Era, Kind},
    wire::Lower,
};

impl Connection {
    pub(super) fn fail_ready(&mut self, error: &ClientError) {
        for id in self.ready() {
            self.finish(id, Err(error.clone()));
        }
    }

    pub(super) fn ready(&self) -> Vec<CallId> {
        let ready = |call: &Call| match &call.stage {
            Stage::Ready => true,
            Stage::Task(held) => held.waits,
            Stage::Sent(_) | Stage::Asking(_) | Stage::Pausing(_) => false,
        };
        self.calls
            .iter()
            .filter(|(_, call)| ready(call))
            .map(|(id, _)| id)
            .collect()
    }

    pub(super) fn send_ready(&mut self, now: Duration) {
        for id in self.ready() {
            self.send(id, now);
        }
    }

    pub(super) fn lose_rounds(&mut self, end: &ServerEnd, now: Duration) {
        let modern = self
            .greeting
            .as_ref()
            .is_some_and(|it| it.revision.era() == Era::Modern);
        let mut lost = Vec::new();
        for (id, call) in self.calls.iter_mut() {
            match &call.stage {
                Stage::Sent(_) => {}
                Stage::Task(held) if held.number().is_some() => {}
                _ => continue,
            }
            call.patience.pause(now);
            if modern && call.losses == 0 && call.is_sent_again(self.profile.resends_answers) {
                call.lose();
            } else {
                lost.push((id, call.lost_with(ClientError::Crashed(end.clone()))));
            }
        }
        for (id, error) in lost {
            self.finish(id, Err(error));
        }
    }

    /// Opens the transport again if a call is waiting for it.
    pub(super) fn reconnect(&mut self, now: Duration) {
        let ready = self.ready();
        if ready.is_empty() {
            return;
        }
        if !self.restarts.admit(now) {
            let limits = &self.profile.limits;
            let what = match self.carrier {
                Carrier::Stream => "it was started again",
                Carrier::Exchanges { .. } => "a new session was begun",
            };
            let why = format!(
                "{what} {} times within {:?}",
                limits.client.restarts, limits.client.restarts_window
            );
            return self.fail_ready(&ClientError::Crashed(why.into()));
        }
        for id in ready {
            if let Some(call) = self.calls.get_mut(id) {
                call.losses += 1;
            }
        }
        let note = match self.carrier {
            Carrier::Stream => "the server went away and is started again",
            Carrier::Exchanges { .. } => {
                "the session with the server ended, and a new one is begun"
            }
        };
        self.note(note.into());
        self.state = State::Connecting;
        self.out.push_back(Output::Connect);
    }

    pub(super) fn send(&mut self, id: CallId, now: Duration) {
        let asking = self.session_asks();
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if let Stage::Task(_) = call.stage {
            return self.step_task(id, now);
        }
        call.stage = Stage::Ready;
        match &self.state {
            State::Idle => return self.reconnect(now),
            State::Connecting | State::Opening(_) => return,
            State::Modern | State::Legacy(_) => {}
        }
        let Some(greeting) = &self.greeting else {
            return;
        };
        let revision = greeting.revision;
        if let Some(task_id) = call.taken.take() {
            return self.take_up(id, task_id, now);
        }
        if let Err(why) = supported(&call.request, greeting) {
            return self.finish(id, Err(ClientError::Unsupported(why)));
        }
        if let ClientRequest::SetLevel(params) = &*call.request {
            self.log_level = Some(params.level);
            if !revision.facts().set_level {
                return self.finish(id, Ok(empty()));
            }
        }
        self.last_id += 1;
        let number = self.last_id;
        let progress = call.wants_progress().then_some(RequestId::Number(number));
        let message = match revision.era() {
            Era::Modern => {
                // The request is only ever sent in this revision.
                Arc::make_mut(&mut call.request).lower(revision);
                let (profile, level) = (&self.profile, self.log_level);
                let introduction = match &call.meta {
                    // A forwarded request carries its own client's description.
                    Some(meta) if call.is_forwarded() && meta.client_capabilities.is_some() => {
                        Arc::new(Introduction::forwarded(meta, revision))
                    }
                    _ => self.introduction.get(profile, revision, level),
                };
                let meta = SentMeta::new(introduction, progress, call.meta.as_deref());
                ClientMessage::lowered(number, Arc::clone(&call.request), Some(meta))
            }
            Era::Legacy => {
                let mut request = (*call.request).clone();
                request.meta_slot().clone_from(&call.meta);
                if progress.is_some() {
                    request.meta_mut().progress_token = progress;
                }
                ClientMessage::request(revision, number, request)
            }
        };
        self.out.push_back(Output::Send(message));
        call.stage = Stage::Sent(SentRound {
            id: number,
            progress: f64::NEG_INFINITY,
            listening: None,
            context: self.authorization_context,
        });
        call.patience.renew(now);
        if !asking {
            call.patience.run(now);
        }
        self.sent.insert(number, id);
    }

    /// Ends a call that took too long, or sends it again after its pause.
    pub(super) fn time_out(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        match &call.stage {
            Stage::Pausing(_) => self.send(id, now),
            Stage::Sent(sent) => {
                let number = sent.id;
                let exceeded = call.patience.exceeded();
                self.write_cancelled(number, "it took too long");
                self.finish(id, Err(ClientError::TimedOut(exceeded)));
            }
            Stage::Task(_) => self.time_out_task(id, now),
            Stage::Ready | Stage::Asking(_) => {}
        }
    }

    pub(super) fn finish(&mut self, id: CallId, outcome: Result<Box<RawValue>, ClientError>) {
        if let Some(call) = self.calls.remove(id) {
            self.leave(id, &call);
            self.out.push_back(Output::Done(id, outcome));
        }
    }

    pub(super) fn leave(&mut self, id: CallId, call: &Call) {
        match &call.stage {
            Stage::Sent(sent) => {
                self.sent.remove(&sent.id);
            }
            Stage::Task(held) => {
                if let Some(number) = held.number() {
                    self.sent.remove(&number);
                }
            }
            Stage::Ready | Stage::Asking(_) | Stage::Pausing(_) => {}
        }
        self.withdraw(|asked| asked.call == Some(id) && !asked.is_of_session());
    }
}

fn supported(request: &ClientRequest, greeting: &Greeting) -> Result<(), String> {
    let Greeting {
        revision,
        capabilities,
        ..
    } = greeting;
    let method = request.method();
    let facts = revision.facts();
    let local = matches!(request, ClientRequest::SetLevel(_)) && !facts.set_level;
    let is_other = matches!(request, ClientRequest::Other(_));
    if !local && !is_other && !revision.has(Kind::ClientRequest, method) {
        return Err(format!("there is no `{method}` in revision {revision}"));
    }
    let (is_declared, what) = match request {
        // Tools, prompts and resources may be used even if the server forgot to declare them.
        ClientRequest::Subscribe(_) | ClientRequest::Unsubscribe(_) => {
            let resources = capabilities.resources.as_ref();
            let subscribe = resources.and_then(|resources| resources.subscribe);
            (subscribe == Some(true), "resources that can be watched")
        }
        ClientRequest::Complete(_) => {
            let declared = capabilities.completions.is_some();
            (declared || !facts.completions_capability, "completions")
        }
        ClientRequest::ListSkills(_) | ClientRequest::GetSkill(_) => {
            (capabilities.extension(SKILLS_EXTENSION).is_some(), "skills")
        }
        ClientRequest::ReadResourceDirectory(_) => {
            let skills = capabilities.extension(SKILLS_EXTENSION);
            let reads = skills.and_then(|skills| skills.get("directoryRead"));
            (reads == Some(&true.into()), "folders of skills")
        }
        ClientRequest::SetLevel(_) => (local || capabilities.logging.is_some(), "logging"),
        ClientRequest::Initialize(_)
        | ClientRequest::Discover(_)
        | ClientRequest::Ping(_)
        | ClientRequest::ListTools(_)
        | ClientRequest::CallTool(_)
        | ClientRequest::ListPrompts(_)
        | ClientRequest::GetPrompt(_)
        | ClientRequest::ListResources(_)
        | ClientRequest::ListResourceTemplates(_)
        | ClientRequest::ReadResource(_)
        | ClientRequest::Listen(_)
        | ClientRequest::GetTask(_)
        | ClientRequest::GetTaskPayload(_)
        | ClientRequest::UpdateTask(_)
        | ClientRequest::CancelTask(_)
        | ClientRequest::ListTasks(_)
        | ClientRequest::Other(_) => return Ok(()),
    };
    if is_declared {
        Ok(())
    } else {
        Err(format!("the server does not declare that it has {what}"))
    }
}

/// An empty result, for a request that needs no server.
fn empty() -> Box<RawValue> {
    let result = serde_json::value::to_raw_value(&EmptyResult::default());
    // Serializing fails only for maps whose keys are not strings.
    result.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// How messages travel, as far as it reveals something about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Carrier {
    /// One stream carries everything, and ends with the server. A server that does not answer the
    /// probe, or exits because of it, is assumed to need a handshake (2026-07-28,
    /// basic/transports/stdio, Backward Compatibility).
    #[default]
    Stream,
    /// Each request is its own exchange. Only a response shows the server's era (2026-07-28,
    /// basic/transports/streamable-http, Backward Compatibility).
    Exchanges {
        /// The server is known to need the handshake, so it is not probed. If it refuses the
        /// handshake, it is probed after all.
        handshake: bool,
    },
}

/// Why a request gets no response, while other requests still may.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RequestLoss {
    /// The response broke off. The server may have done any part of the work.
    Broken(String),
    /// The server did not process the request, because it no longer knows the session.
    /// [`Connection::handle_disconnected`] must follow.
    Returned,
    Failed(ClientError),
}

impl Connection {
    /// Sets how messages travel. Call it before [`Connection::handle_connected`].
    pub fn set_carrier(&mut self, carrier: Carrier) {
        self.carrier = carrier;
    }

    /// A request will get no response from the transport.
    ///
    /// It is sent again with a new id if it would be sent again after the transport ended: if it
    /// carries the server's state and no answers, is about a task, or is a subscription. It is sent
    /// again at most
    /// [`HttpLimits::stream_resumptions`](crate::limits::HttpLimits::stream_resumptions) times in a
    /// row, even if the server is unreachable in between: several processes may serve one URL, and
    /// another one may answer. An active subscription is reopened for as long as a server restart
    /// may take ([`WireLimits::request`](crate::limits::WireLimits::request)), any other
    /// subscription once.
    pub fn handle_lost(&mut self, id: &RequestId, lost: RequestLoss, now: Duration) {
        if matches!(self.state, State::Opening(_)) {
            let error = match lost {
                RequestLoss::Broken(why) => ClientError::Crashed(why.into()),
                RequestLoss::Returned => ClientError::Crashed(SESSION_OVER.into()),
                RequestLoss::Failed(error) => error,
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
            RequestLoss::Broken(why) => self.lose_round(id, ClientError::Crashed(why.into()), now),
            RequestLoss::Returned => self.take_back(id, now),
            RequestLoss::Failed(error) if is_away(&error) && self.may_be_sent_again(id, &error) => {
                self.lose_round(id, error, now);
            }
            RequestLoss::Failed(error) => self.handle_result(id, Err(error), now),
        }
    }

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
        let is_told = call.away.is_some() || call.losses > 0;
        call.break_off(now);
        let is_safe = self.profile.resends_answers || never_arrived(&error);
        let most = match call.is_subscription() {
            true => 1,
            false => limits.http.stream_resumptions,
        };
        let survives =
            call.is_awaited(limits, now) || call.losses < most && call.is_sent_again(is_safe);
        if !modern || !survives {
            let error = call.lost_with(error);
            return self.finish(id, Err(error));
        }
        call.losses += 1;
        let pause = call.resending_pause(limits, now);
        let what = match call.stage {
            Stage::Task(_) => "a request about its task".to_owned(),
            _ => format!("`{}`", call.request.method()),
        };
        if let (false, ClientError::Crashed(why)) = (is_told, &error) {
            self.note(format!("{what} broke off and is sent again: {why}"));
        }
        match pause {
            Some(pause) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.lose_until(now.saturating_add(pause));
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

    /// Whether the call is an active subscription that broke off, or its round may be sent again
    /// after this error.
    fn may_be_sent_again(&self, id: CallId, error: &ClientError) -> bool {
        let is_safe = self.profile.resends_answers || never_arrived(error);
        self.calls.get(id).is_some_and(|call| {
            call.away.is_some() || !call.is_subscription() && call.is_sent_again(is_safe)
        })
    }

    /// Keeps an unprocessed round for the next session.
    fn take_back(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.patience.pause(now);
        if call.losses > 0 {
            return self.finish(id, Err(ClientError::Crashed(SESSION_OVER.into())));
        }
        call.lose();
    }
}

/// Whether this HTTP status (502, 503 or 504) may come from a gateway that cannot reach its server, or
/// that stopped waiting for it. The server may have received the request.
#[must_use]
pub fn is_from_gateway(status: u16) -> bool {
    matches!(status, 502..=504)
}

fn is_away(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable(_) => true,
        ClientError::Http { status, .. } => is_from_gateway(*status),
        _ => false,
    }
}

/// Whether the request certainly did not reach a server, because nothing was listening. A 503 does
/// not prove that: some gateways return it if a server goes away during a request.
fn never_arrived(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable(_))
}

impl Call {
    /// Whether a lost round may be sent again: it carries all of the server's state. A server acts
    /// on answers, and might act again if it has forgotten that it did.
    pub(super) fn is_sent_again(&self, with_answers: bool) -> bool {
        let is_safe = with_answers || !self.carries_answers();
        let asks_after = matches!(self.stage, Stage::Task(_));
        (self.carries_state() && is_safe) || self.is_subscription() || asks_after
    }

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

    /// Like [`Call::lose`], but waits until this time.
    fn lose_until(&mut self, time: Duration) {
        match &mut self.stage {
            Stage::Task(held) => {
                held.lose();
                (held.waits, held.next) = (false, time);
            }
            stage => *stage = Stage::Pausing(time),
        }
    }

    fn break_off(&mut self, now: Duration) {
        if self.sent().is_some_and(|sent| sent.listening.is_some()) {
            self.away.get_or_insert(now);
        }
    }

    /// Whether a subscription broke off and the server may come back.
    fn is_awaited(&self, limits: &crate::limits::Limits, now: Duration) -> bool {
        let is_soon = |since| now.saturating_sub(since) < limits.wire.request;
        self.away.is_some_and(is_soon)
    }

    /// The pause before a broken round is sent again: none at first, then longer each time. A
    /// subscription that lasted starts over.
    fn resending_pause(
        &mut self,
        limits: &crate::limits::Limits,
        now: Duration,
    ) -> Option<Duration> {
        let listening = match &self.stage {
            Stage::Sent(sent) => sent.listening,
            _ => None,
        };
        let lasted = |begun| now.saturating_sub(begun) >= limits.http.stream_retry_most;
        if listening.is_some_and(lasted) {
            self.pauses = 0;
        }
        let pauses = match listening.or(self.away) {
            Some(_) => {
                self.pauses += 1;
                self.pauses
            }
            None => self.losses,
        };
        let growth = 1 << pauses.checked_sub(2)?.min(16);
        let pause = limits.http.stream_retry.saturating_mul(growth);
        Some(pause.min(limits.http.stream_retry_most))
    }
}

const SESSION_OVER: &str = "its session is over";
