//! The handshake era: a session in which the server may send requests.

use alloc::{boxed::Box, collections::VecDeque, format, string::String, vec::Vec};
use core::time::Duration;

use super::super::batches::Batches;
use super::{
    CallId, Carrier, ClientError, ClientMessage, Connection, Event, Output, QuestionId,
    RefusedQuestion, State,
    message::write_response,
    question::{PendingQuestion, QuestionSource, admit, check_answer, size},
};
use crate::{
    jsonrpc::{self, ErrorObject, MalformedMessage, Message, Request, RequestId},
    protocol::{
        AnswerSource, ClientRequest, ElicitParams, ElicitResult, ElicitUrlParams, EmptyResult,
        HasMeta, InputRequest, InputResponse, RawJson, RelatedTask, ServerRequest, SetLevelParams,
        SubscribeParams, codes,
    },
    quote::QuotedName,
    revision::Revision,
    wire,
};

/// Why a question of a call that has ended has no answer.
const NOT_IN_TIME: &str = "the call ended before an answer came";

#[derive(Debug)]
pub(super) struct Session {
    revision: Revision,
    batches: Batches,
    /// The ids of the links that the host was asked to open and that are not complete, oldest
    /// first.
    links: VecDeque<String>,
}

impl Session {
    pub(super) fn new(revision: Revision) -> Self {
        Self {
            revision,
            batches: Batches::default(),
            links: VecDeque::new(),
        }
    }

    /// Counts a response that its batch waits for.
    pub(super) fn expect_response(&mut self, batch: u64) {
        self.batches.expect(batch);
    }

    /// The memory of the batches that wait for answers, in bytes.
    pub(super) fn batch_bytes(&self) -> usize {
        self.batches.bytes()
    }
}

impl Connection {
    pub(super) fn handle_batch(
        &mut self,
        messages: Vec<Result<Message, MalformedMessage>>,
        bytes: usize,
        now: Duration,
    ) {
        // In a revision without batches, each message is handled as if it came alone.
        let number = match &mut self.state {
            State::Legacy(session) if session.revision.facts().batches => {
                Some(session.batches.begin(bytes))
            }
            _ => None,
        };
        for message in messages {
            match message {
                Ok(message) => self.handle(message, number, now),
                Err(malformed) => self.handle_malformed(malformed, number, None, now),
            }
        }
        if let (State::Legacy(session), Some(number)) = (&mut self.state, number) {
            let responses = session.batches.close(number);
            self.send_responses(responses);
        }
    }

    /// Handles a request of the server, which only sessions allow.
    pub(super) fn handle_request(&mut self, request: Request, batch: Option<u64>, now: Duration) {
        let id = request.id.clone();
        if let (State::Legacy(session), Some(batch)) = (&mut self.state, batch) {
            session.expect_response(batch);
        }
        let answer = match &self.state {
            State::Legacy(_) => self.route(&request, batch, now),
            State::Opening(_) if request.method == "ping" => Ok(Some(pong(&id))),
            State::Opening(_) => {
                let why = "nothing but `ping` is answered before the session is open";
                Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, why))
            }
            // No server may ask this way in this era. Over a stream it gets an error, because it
            // would wait for a response forever. Over HTTP a client must not post a response
            // (2026-07-28, basic/transports/streamable-http, Sending Messages).
            State::Modern => {
                let method = QuotedName(&request.method);
                let sent = format!(
                    "the server sent the request {method}, which this revision does not have"
                );
                if self.carrier == Carrier::Stream {
                    self.report(format!("{sent}; it was refused"));
                    Err(ErrorObject::method_not_found(&request.method))
                } else {
                    let older = Revision::LATEST_LEGACY;
                    self.report(format!(
                        "{sent}; over HTTP it cannot be answered. If the server waits for an answer, try {older}"
                    ));
                    let why = "it cannot be answered over HTTP in this revision";
                    let error = ErrorObject::new(jsonrpc::METHOD_NOT_FOUND, why);
                    return self.tell_refused(request, error);
                }
            }
            State::Idle | State::Connecting => {
                let why = format!(
                    "a request ({}), which this revision does not have",
                    QuotedName(&request.method)
                );
                return self.report_unreadable(&why);
            }
        };
        match answer {
            Ok(Some(response)) => self.respond(response, batch),
            Ok(None) => {}
            Err(error) => {
                let response = jsonrpc::write_error(Some(&id), &error);
                self.tell_refused(request, error);
                self.respond(response, batch);
            }
        }
    }

    /// Reports a refused question to the host, so that no question is refused silently.
    fn tell_refused(&mut self, request: Request, error: ErrorObject) {
        if !InputRequest::has(&request.method) {
            return;
        }
        let call = self.only_asking_call();
        let target = call.and_then(|call| self.calls.get(call)?.target());
        self.event(Event::Refused(Box::new(RefusedQuestion {
            call,
            target,
            method: request.method,
            params: request.params.map(RawJson::from),
            error,
        })));
    }

    fn route(
        &mut self,
        request: &Request,
        batch: Option<u64>,
        now: Duration,
    ) -> Result<Option<Vec<u8>>, ErrorObject> {
        let State::Legacy(session) = &self.state else {
            return Ok(None);
        };
        let Request { id, method, params } = request;
        if self.session_question(id).is_some() {
            let why = format!("a request with the id {id} is in progress");
            return Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, why));
        }
        let question = match wire::read(session.revision, method, params.as_deref())? {
            ServerRequest::Ping(_) => return Ok(Some(pong(id))),
            ServerRequest::Elicit(params) => InputRequest::Elicit(params),
            ServerRequest::Sample(params) => InputRequest::Sample(params),
            ServerRequest::Roots(params) => InputRequest::Roots(params),
            // This client has no tasks of its own.
            ServerRequest::GetTask(_)
            | ServerRequest::GetTaskPayload(_)
            | ServerRequest::CancelTask(_)
            | ServerRequest::ListTasks(_) => return Err(ErrorObject::method_not_found(method)),
        };
        self.ask_in_session(id.clone(), question, batch, now)?;
        Ok(None)
    }

    fn ask_in_session(
        &mut self,
        id: RequestId,
        mut request: InputRequest,
        batch: Option<u64>,
        now: Duration,
    ) -> Result<(), ErrorObject> {
        let State::Legacy(session) = &self.state else {
            return Ok(());
        };
        admit(&mut request, &self.profile, session.revision.facts())?;
        let open = self.questions.len();
        if open >= self.profile.limits.wire.requests_in_flight || !self.asks.admit(now) {
            return Err(self.refuse_flood());
        }
        let id_bytes = match &id {
            RequestId::String(id) => id.len(),
            RequestId::Number(_) => 0,
        };
        let bytes = size(&request) + id_bytes;
        self.find_room(bytes)?;
        if !self.session_asks() {
            // The time for asking the user does not count against the server.
            self.calls
                .iter_mut()
                .for_each(|(_, call)| call.patience.pause(now));
        }
        if let InputRequest::Elicit(ElicitParams::Url(link)) = &request {
            self.remember_link(link);
        }
        let call = self.asking_call(&request);
        // The server waits for an answer again.
        if let Some(call) = call.and_then(|id| self.calls.get_mut(id)) {
            call.has_answered = false;
        }
        self.ask_host(PendingQuestion {
            call,
            source: QuestionSource::Session { id, batch },
            request,
            bytes,
        });
        Ok(())
    }

    pub(super) fn session_asks(&self) -> bool {
        self.questions.values().any(PendingQuestion::is_of_session)
    }

    /// After the last question of the session, the timers of the calls run again.
    pub(super) fn resume_calls(&mut self, now: Duration) {
        if matches!(self.state, State::Legacy(_)) && !self.session_asks() {
            let calls = self.calls.iter_mut().map(|(_, call)| call);
            let sent = calls.filter(|call| call.sent().is_some());
            sent.for_each(|call| call.patience.run(now));
        }
    }

    pub(super) fn answer_session(
        &mut self,
        asked: PendingQuestion,
        answer: Result<InputResponse, ErrorObject>,
        now: Duration,
    ) {
        self.resume_calls(now);
        let (State::Legacy(session), QuestionSource::Session { id, batch }) =
            (&self.state, asked.source)
        else {
            return;
        };
        let (request, revision) = (asked.request, session.revision);
        let checked = match answer {
            Ok(answer) => check_answer(&request, answer, &self.profile).map_err(|why| {
                (
                    ErrorObject::internal("the client could not answer"),
                    Some(why),
                )
            }),
            Err(error) => Err((error, None)),
        };
        match checked {
            Ok(mut answer) => {
                if let Some(task) = related_task(&request) {
                    answer.meta_mut().related_task = Some(task.clone());
                }
                let response = write_response(revision, &id, answer);
                self.respond(response, batch);
                let call = asked.call.and_then(|id| self.calls.get_mut(id));
                if let Some(call) = call.filter(|_| !matches!(request, InputRequest::Roots(_))) {
                    call.has_answered = true;
                }
            }
            Err((error, bug)) => {
                self.respond(jsonrpc::write_error(Some(&id), &error), batch);
                self.blame_host(asked.call, error, bug);
            }
        }
    }

    /// Handles an error of the host. If the host refused the question, the call ends when the
    /// server ends it with an error. If the host's answer is invalid, the call ends at once.
    fn blame_host(&mut self, call: Option<CallId>, error: ErrorObject, bug: Option<String>) {
        match (bug, call) {
            (Some(why), Some(call)) => {
                let why = format!("its answer cannot be sent: {why}");
                if let Some(sent) = self.calls.get(call).and_then(|call| call.sent()) {
                    let number = sent.id;
                    self.write_cancelled(
                        number,
                        "the client could not answer a question of the call",
                    );
                }
                self.finish(call, Err(ClientError::Host(why)));
            }
            (Some(why), None) => self.note(format!("an answer of the host cannot be sent: {why}")),
            (None, Some(call)) if error.code == codes::USER_REJECTED => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.refused = Some(error);
                }
            }
            (None, _) => {}
        }
    }

    fn session_question(&self, id: &RequestId) -> Option<QuestionId> {
        let is_it = |asked: &PendingQuestion| matches!(&asked.source, QuestionSource::Session { id: known, .. } if known == id);
        let mut questions = self.questions.iter();
        questions.find_map(|(question, asked)| is_it(asked).then_some(*question))
    }

    /// Withdraws a question that the server cancelled, without a response. Returns whether it was
    /// open.
    pub(super) fn withdraw_session_question(&mut self, id: &RequestId, now: Duration) -> bool {
        let Some(question) = self.session_question(id) else {
            return false;
        };
        if let Some((_, batch)) = self.take_session_question(question, now)
            && let (Some(batch), State::Legacy(session)) = (batch, &mut self.state)
        {
            let responses = session.batches.close(batch);
            self.send_responses(responses);
        }
        true
    }

    pub(super) fn abandon_session_questions(&mut self, call: CallId, now: Duration) {
        let of_call = |(id, asked): (&QuestionId, &PendingQuestion)| {
            (asked.call == Some(call) && asked.is_of_session()).then_some(*id)
        };
        let abandoned: Vec<_> = self.questions.iter().filter_map(of_call).collect();
        for question in abandoned {
            let State::Legacy(session) = &self.state else {
                return;
            };
            let revision = session.revision;
            let request = self.questions.get(&question).map(|asked| &asked.request);
            let is_form = matches!(request, Some(InputRequest::Elicit(_)));
            let Some((id, batch)) = self.take_session_question(question, now) else {
                continue;
            };
            let response = if is_form {
                // No person has cancelled it.
                let mut cancel = ElicitResult::cancel().answered_by(AnswerSource::Client);
                cancel.meta.get_or_insert_default().set_reason(NOT_IN_TIME);
                write_response(revision, &id, InputResponse::Elicit(cancel))
            } else {
                let error = ErrorObject::new(codes::USER_REJECTED, NOT_IN_TIME);
                jsonrpc::write_error(Some(&id), &error)
            };
            self.respond(response, batch);
        }
    }

    /// Withdraws a question of the session. Returns its request and batch.
    fn take_session_question(
        &mut self,
        question: QuestionId,
        now: Duration,
    ) -> Option<(RequestId, Option<u64>)> {
        let asked = self.questions.remove(&question)?;
        self.out.push_back(Output::Withdraw(question));
        self.resume_calls(now);
        match asked.source {
            QuestionSource::Session { id, batch } => Some((id, batch)),
            _ => None,
        }
    }

    pub(super) fn respond(&mut self, response: Vec<u8>, batch: Option<u64>) {
        let response = match (batch, &mut self.state) {
            (Some(batch), State::Legacy(session)) => session.batches.respond(batch, response),
            _ => Some(response),
        };
        self.send_responses(response);
    }

    fn send_responses(&mut self, written: Option<Vec<u8>>) {
        let message = written.map(ClientMessage::response);
        self.out.extend(message.map(Output::Send));
    }

    /// Returns the call that a question belongs to: the call of the task that it names (2025-11-25,
    /// basic/utilities/tasks, Associating Task-Related Messages), or else the only call that can
    /// ask.
    fn asking_call(&self, request: &InputRequest) -> Option<CallId> {
        match related_task(request) {
            Some(task) => {
                let mut calls = self.calls.iter();
                calls.find_map(|(id, call)| call.is_task(&task.task_id).then_some(id))
            }
            None => self.only_asking_call(),
        }
    }

    /// Returns the call in flight, if it is the only one for which a server can ask.
    pub(super) fn only_asking_call(&self) -> Option<CallId> {
        let mut asking = self
            .calls
            .iter()
            .filter(|(_, call)| call.is_asking_on_session())
            .map(|(id, _)| id);
        asking.next().filter(|_| asking.next().is_none())
    }

    pub(super) fn remember_link(&mut self, link: &ElicitUrlParams) {
        let limits = &self.profile.limits;
        let (most, longest) = (limits.client.links, limits.wire.id_bytes);
        let id = link.elicitation_id.as_ref();
        // A link with a longer id is opened, but its completion is not reported.
        let id = id.filter(|id| id.len() <= longest);
        if let (State::Legacy(session), Some(id)) = (&mut self.state, id) {
            if session.links.len() >= most {
                session.links.pop_front();
            }
            session.links.push_back(id.clone());
        }
    }

    /// Ignores unknown and completed links (2025-11-25, client/elicitation, Completion
    /// Notifications for URL Mode Elicitation).
    pub(super) fn handle_link_completed(&mut self, elicitation_id: String) {
        let State::Legacy(session) = &mut self.state else {
            return;
        };
        let known = session
            .links
            .iter()
            .position(|known| *known == elicitation_id);
        if let Some(index) = known {
            session.links.remove(index);
            self.event(Event::UrlCompleted { elicitation_id });
        }
    }

    /// Remembers subscriptions, to repeat them on the next session.
    pub(super) fn remember_session(&mut self, id: CallId) {
        match self.calls.get(id).map(|call| &*call.request) {
            Some(ClientRequest::Subscribe(params)) => {
                self.watched.insert(params.uri.clone());
            }
            Some(ClientRequest::Unsubscribe(params)) => {
                self.watched.remove(&params.uri);
            }
            _ => {}
        }
    }

    /// Repeats the log level and the subscriptions on a new session. The responses are ignored.
    pub(super) fn restore_session(&mut self) {
        let State::Legacy(session) = &self.state else {
            return;
        };
        let revision = session.revision;
        let level = self
            .log_level
            .map(|level| ClientRequest::SetLevel(SetLevelParams { level, meta: None }));
        let watched = self.watched.iter().map(|uri| {
            ClientRequest::Subscribe(SubscribeParams {
                uri: uri.clone(),
                meta: None,
            })
        });
        for request in level.into_iter().chain(watched) {
            self.last_id += 1;
            let message = ClientMessage::request(revision, self.last_id, request);
            self.out.push_back(Output::Send(message));
        }
    }
}

fn pong(id: &RequestId) -> Vec<u8> {
    jsonrpc::write_result(id, &EmptyResult::default())
}

fn related_task(request: &InputRequest) -> Option<&RelatedTask> {
    request.meta()?.related_task.as_ref()
}
