//! Sends the rounds of calls, again where the server went away, and ends them.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, Carrier, ClientError, ClientMessage, Connection, Greeting, Output, ServerEnd, State,
    call::{Call, Sent, Stage},
    introduction::SentMeta,
};
use crate::{
    jsonrpc::RequestId,
    protocol::{ClientRequest, EmptyResult, HasMeta},
    revision::{Era, Kind},
    wire,
};

impl Connection {
    /// Ends the calls whose next round cannot be sent.
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

    /// The transport is gone: what becomes of each call that was with the server.
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
            if modern && call.survives_loss(self.profile.resends_answers) {
                call.lose();
            } else {
                lost.push((id, call.lost_with(ClientError::Crashed(end.clone()))));
            }
        }
        for (id, error) in lost {
            self.finish(id, Err(error));
        }
    }

    /// Opens the transport again, if a call is ready for it.
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
                call.restarted = true;
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

    /// Sends the next round of a call; where there is no transport, it waits for one.
    pub(super) fn send(&mut self, id: CallId, now: Duration) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if let Stage::Task(_) = call.stage {
            return self.step_task(id, now);
        }
        call.stage = Stage::Ready;
        let asking = match &self.state {
            State::Idle => return self.reconnect(now),
            State::Connecting | State::Opening(_) => return,
            State::Modern => false,
            State::Legacy(session) => session.is_asking(),
        };
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
        let progress = call.may_ask().then_some(RequestId::Number(number));
        let message = match revision.era() {
            Era::Modern => {
                // It is never said in another revision.
                wire::lower_in_place(Arc::make_mut(&mut call.request), revision);
                let (profile, level) = (&self.profile, self.log_level);
                let introduction = self.introduction.get(profile, revision, level);
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
        call.stage = Stage::Sent(Sent {
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
            self.leave(&call);
            self.out.push_back(Output::Done(id, outcome));
        }
    }

    /// Forgets what leads to a call that ends.
    pub(super) fn leave(&mut self, call: &Call) {
        match &call.stage {
            Stage::Sent(sent) => {
                self.sent.remove(&sent.id);
            }
            Stage::Asking(asking) => {
                for question in asking.open() {
                    self.asked.remove(&question);
                    self.out.push_back(Output::Withdraw(question));
                }
            }
            Stage::Task(held) => {
                if let Some(number) = held.number() {
                    self.sent.remove(&number);
                }
                for question in held.open() {
                    self.asked.remove(&question);
                    self.out.push_back(Output::Withdraw(question));
                }
            }
            Stage::Ready | Stage::Pausing(_) => {}
        }
    }
}

/// Whether the server, in the revision that is spoken, has what a request asks for.
fn supported(request: &ClientRequest, greeting: &Greeting) -> Result<(), String> {
    let Greeting {
        revision,
        capabilities,
        ..
    } = greeting;
    let method = request.method();
    let facts = revision.facts();
    let local = matches!(request, ClientRequest::SetLevel(_)) && !facts.set_level;
    if !local && !revision.has(Kind::ClientRequest, method) {
        return Err(format!("there is no `{method}` in revision {revision}"));
    }
    let (is_declared, what) = match request {
        // Tools, prompts and resources of a server that forgot to declare them can be used all the same.
        ClientRequest::Subscribe(_) | ClientRequest::Unsubscribe(_) => {
            let resources = capabilities.resources.as_ref();
            let subscribe = resources.and_then(|resources| resources.subscribe);
            (subscribe == Some(true), "resources that can be watched")
        }
        ClientRequest::Complete(_) => {
            let declared = capabilities.completions.is_some();
            (declared || !facts.completions_capability, "completions")
        }
        ClientRequest::SetLevel(_) => (local || capabilities.logging.is_some(), "logging"),
        _ => return Ok(()),
    };
    if is_declared {
        Ok(())
    } else {
        Err(format!("the server does not declare that it has {what}"))
    }
}

/// The result of a request that was carried out on this side.
fn empty() -> Box<RawValue> {
    let result = serde_json::value::to_raw_value(&EmptyResult::default());
    // Writing fails only for maps whose keys are not strings.
    result.unwrap_or_else(|_| RawValue::NULL.to_owned())
}
