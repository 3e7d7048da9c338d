//! Handles the results of a call, and the rounds in which its questions are answered.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec::Vec};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, ClientError, Connection, Output, QuestionId, State,
    cache::{Key, StaleResult},
    call::{AnswerStep, Refusal, RoundQuestions, Stage},
    question::{PendingQuestion, admit, link_bytes, size},
};
use crate::{
    jsonrpc::{ErrorObject, INVALID_PARAMS},
    protocol::{
        ElicitUrlParams, InputRequest, InputRequests, InputRequiredResult, InputResponse, Outcome,
        UrlElicitationRequired, codes, reason,
    },
    revision::Revision,
};

impl Connection {
    pub(super) fn handle_result(
        &mut self,
        id: CallId,
        outcome: Result<Box<RawValue>, ClientError>,
        now: Duration,
    ) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        call.patience.pause(now);
        if let Stage::Task(_) = call.stage {
            return self.handle_task_response(id, outcome, now);
        }
        let result = match outcome {
            outcome if call.is_forwarded() => return self.finish(id, outcome),
            Ok(result) => result,
            Err(ClientError::Server(error)) => return self.handle_error(id, error, now),
            Err(error) => return self.finish(id, Err(error)),
        };
        let facts = greeting.revision.facts();
        let wants_core_task = facts.tasks && call.wants_core_task();
        let outcome = if facts.result_type || wants_core_task {
            Outcome::peek(&result)
        } else {
            // The request asked for no task, so there is no other outcome.
            Ok(Outcome::Done(()))
        };
        match outcome {
            Ok(Outcome::Done(())) => {
                if let Some(key) = Key::of(&call.request)
                    && facts.cache_hints
                    && !call.overtaken
                {
                    self.cache.put(key, &result, now);
                }
                self.remember_session(id);
                self.finish(id, Ok(result));
            }
            Ok(Outcome::NeedInput(InputRequiredResult {
                input_requests: Some(questions),
                ..
            })) if facts.result_type && call.is_single && !questions.is_empty() => {
                let asked = self.check_questions(id, questions);
                self.finish(id, asked.map(|()| result));
            }
            Ok(Outcome::NeedInput(asks)) if facts.result_type => {
                if let Err(error) = self.begin_round(id, asks, now) {
                    self.finish(id, Err(error));
                }
            }
            Ok(Outcome::CoreTask(created)) if wants_core_task => {
                self.begin_core_task(id, created.task, now);
            }
            Ok(Outcome::Task(task)) if facts.extensions => self.begin_task(id, &task, now),
            Ok(Outcome::NeedInput(_) | Outcome::Task(_) | Outcome::CoreTask(_)) => {
                let why = "its result is a task, which the client did not request";
                self.finish(id, Err(ClientError::Protocol(why.to_owned())));
            }
            Err(error) => self.finish(
                id,
                Err(ClientError::Unreadable {
                    why: reason(&error),
                    received: result.get().to_owned(),
                }),
            ),
        }
    }

    fn handle_error(&mut self, id: CallId, error: ErrorObject, now: Duration) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        if let Some(refused) = call.refused.take() {
            return self.finish(id, Err(ClientError::QuestionRefused(refused)));
        }
        if let Some(key) = Key::of(&call.request)
            && key.is_later_page()
            && error.code == INVALID_PARAMS
        {
            // The cursor is no longer valid, so the pages before it are stale too.
            self.cache.forget(&StaleResult::Pages(key.method()));
        }
        let asks = greeting.revision.facts().url_elicitation_error
            && error.code == codes::URL_ELICITATION_REQUIRED
            && self.profile.capabilities.elicits_url()
            && call.may_ask();
        let links =
            error.data.as_ref().filter(|_| asks).and_then(|data| {
                serde_json::from_value::<UrlElicitationRequired>(data.clone()).ok()
            });
        let begun = match links {
            Some(links) => self.begin_links(id, links.into_links(), now),
            _ => Err(ClientError::Server(error)),
        };
        if let Err(error) = begun {
            self.finish(id, Err(error));
        }
    }

    /// The server asks for input (2026-07-28, basic/patterns/mrtr, Client Requirements).
    fn begin_round(
        &mut self,
        id: CallId,
        asks: InputRequiredResult,
        now: Duration,
    ) -> Result<(), ClientError> {
        let state = asks.request_state;
        match asks
            .input_requests
            .filter(|questions| !questions.is_empty())
        {
            Some(questions) => self.begin_questions(id, questions, state, now),
            None if state.is_some() => self.begin_pause(id, state, now),
            None => {
                let why = "its result asks for input but names no question and no state";
                Err(ClientError::Protocol(why.to_owned()))
            }
        }
    }

    /// Checks questions as if the host were asked.
    fn check_questions(&mut self, id: CallId, questions: InputRequests) -> Result<(), ClientError> {
        self.count_round(id, questions.len())?;
        for (key, mut request) in questions {
            self.check_question(&key, &mut request)?;
        }
        Ok(())
    }

    fn begin_questions(
        &mut self,
        id: CallId,
        questions: InputRequests,
        state: Option<String>,
        now: Duration,
    ) -> Result<(), ClientError> {
        self.count_round(id, questions.len())?;
        let mut asked = Vec::with_capacity(questions.len());
        let mut bytes = state.as_ref().map_or(0, String::len);
        for (key, request) in questions {
            let question = self.admit_question(&key, request, bytes, now)?;
            bytes += question.bytes;
            asked.push(question);
        }
        self.ask(id, RoundQuestions::Questions { state, asked });
        Ok(())
    }

    /// Checks a question for the host. `bytes` is the size of the questions that are checked but
    /// not asked yet.
    pub(super) fn admit_question(
        &mut self,
        key: &str,
        mut request: InputRequest,
        beside: usize,
        now: Duration,
    ) -> Result<PendingQuestion, ClientError> {
        self.check_question(key, &mut request)?;
        if !self.asks.admit(now) {
            return Err(ClientError::QuestionRefused(self.refuse_flood()));
        }
        let bytes = size(&request) + key.len();
        self.find_room(beside + bytes)
            .map_err(ClientError::QuestionRefused)?;
        Ok(PendingQuestion {
            id: self.next_question(),
            key: Some(key.to_owned()),
            request,
            bytes,
            answer: None,
        })
    }

    fn check_question(&self, key: &str, request: &mut InputRequest) -> Result<(), ClientError> {
        let most = self.profile.limits.wire.id_bytes;
        if key.len() > most {
            let why =
                format!("the key of a question is longer than the {most} bytes accepted here");
            return Err(ClientError::Protocol(why));
        }
        let revision = self.greeting.as_ref().map(|greeting| greeting.revision);
        let facts = revision.unwrap_or(Revision::LATEST).facts();
        admit(request, &self.profile, facts).map_err(|error| {
            let why = format!("it asks {key:?} of a client that cannot be asked so: {error}");
            ClientError::Protocol(why)
        })
    }

    /// Checks that the limit leaves room for questions of `bytes`.
    ///
    /// # Errors
    ///
    /// Returns the error for the server.
    pub(super) fn find_room(&mut self, bytes: usize) -> Result<(), ErrorObject> {
        let of_calls = self.calls.iter().map(|(_, call)| match &call.stage {
            Stage::Asking(asking) => asking.bytes(),
            Stage::Task(held) => held.question_bytes(),
            Stage::Ready | Stage::Sent(_) | Stage::Pausing(_) => 0,
        });
        let of_session = match &self.state {
            State::Legacy(session) => session.question_bytes(),
            _ => 0,
        };
        let kept = of_calls.sum::<usize>().saturating_add(of_session);
        let most = self.profile.limits.client.question_bytes;
        if kept.saturating_add(bytes) <= most {
            return Ok(());
        }
        let why = format!(
            "the server's questions are longer than the {most} bytes kept of them; its question was refused"
        );
        self.report(why.clone());
        Err(ErrorObject::new(codes::USER_REJECTED, why))
    }

    /// Asks to open the links that the call needs first (2025-11-25, client/elicitation, URL
    /// Elicitation Required Error).
    fn begin_links(
        &mut self,
        id: CallId,
        links: Vec<ElicitUrlParams>,
        now: Duration,
    ) -> Result<(), ClientError> {
        self.count_round(id, links.len())?;
        self.find_room(links.iter().map(link_bytes).sum())
            .map_err(ClientError::QuestionRefused)?;
        let mut rest = links.into_iter();
        match rest.next() {
            Some(link) => self.ask_link(id, link, rest, now),
            None => Ok(()),
        }
    }

    fn ask_link(
        &mut self,
        id: CallId,
        link: ElicitUrlParams,
        rest: alloc::vec::IntoIter<ElicitUrlParams>,
        now: Duration,
    ) -> Result<(), ClientError> {
        if !self.asks.admit(now) {
            return Err(ClientError::QuestionRefused(self.refuse_flood()));
        }
        self.remember_link(&link);
        let asked = PendingQuestion::link(self.next_question(), link);
        self.ask(id, RoundQuestions::Links { asked, rest });
        Ok(())
    }

    /// Waits before the next round, because the server is waiting for something else. The pause
    /// grows, to spare a slow server.
    fn begin_pause(
        &mut self,
        id: CallId,
        state: Option<String>,
        now: Duration,
    ) -> Result<(), ClientError> {
        self.count_round(id, 0)?;
        let limits = &self.profile.limits;
        if let Some(call) = self.calls.get_mut(id) {
            let pause = limits
                .client
                .round_pause
                .saturating_mul(1 << call.pauses.min(16));
            call.pauses += 1;
            call.set_round(None, state);
            call.stage =
                Stage::Pausing(now.saturating_add(pause.min(limits.client.round_pause_most)));
        }
        Ok(())
    }

    fn count_round(&mut self, id: CallId, questions: usize) -> Result<(), ClientError> {
        let limits = &self.profile.limits;
        let Some(call) = self.calls.get_mut(id) else {
            return Ok(());
        };
        if !call.may_ask() {
            let why = format!(
                "it asks for input in the result of `{}`",
                call.request.method()
            );
            return Err(ClientError::Protocol(why));
        }
        if questions > limits.asking.questions_per_round {
            let most = limits.asking.questions_per_round;
            let why = format!("it asks {questions} questions at once; the most is {most}");
            return Err(ClientError::Protocol(why));
        }
        call.rounds += 1;
        if call.rounds > limits.asking.rounds {
            return Err(ClientError::TooManyRounds(limits.asking.rounds));
        }
        call.losses = 0;
        if questions > 0 {
            call.pauses = 0;
        }
        Ok(())
    }

    fn ask(&mut self, id: CallId, asking: RoundQuestions) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        let asked = match &asking {
            RoundQuestions::Questions { asked, .. } => asked.as_slice(),
            RoundQuestions::Links { asked, .. } => core::slice::from_ref(asked),
        };
        for asked in asked {
            self.asked.insert(asked.id, id);
            let question = asked.question(greeting, id, call.target(), true);
            self.out.push_back(Output::Ask(asked.id, question));
        }
        call.stage = Stage::Asking(asking);
    }

    pub(super) fn answer_call(
        &mut self,
        id: CallId,
        question: QuestionId,
        answer: Result<InputResponse, ErrorObject>,
        now: Duration,
    ) {
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return;
        };
        if let Stage::Task(_) = call.stage {
            return self.answer_task(id, question, answer, now);
        }
        // Taken here, so that ending the call withdraws only what the host still has.
        let answered = match answer {
            Ok(answer) => call.answer(question, answer, greeting.revision, &self.profile),
            Err(error) => return self.refuse(id, question, refusal(error)),
        };
        match answered {
            Ok(AnswerStep::Wait) => {}
            Ok(AnswerStep::Send) => self.send(id, now),
            Ok(AnswerStep::Ask(link)) => self.ask_next_link(id, link, now),
            Err(Refusal::Host(why)) => self.refuse(id, question, ClientError::Host(why)),
            Err(Refusal::NotOpened) => {
                let why = "the person did not agree to open the link";
                let error = ErrorObject::new(codes::USER_REJECTED, why);
                self.refuse(id, question, ClientError::QuestionRefused(error));
            }
        }
    }

    fn ask_next_link(&mut self, id: CallId, link: ElicitUrlParams, now: Duration) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let rest = match core::mem::replace(&mut call.stage, Stage::Ready) {
            Stage::Asking(RoundQuestions::Links { rest, .. }) => rest,
            _ => Vec::new().into_iter(),
        };
        if let Err(error) = self.ask_link(id, link, rest, now) {
            self.finish(id, Err(error));
        }
    }

    fn refuse(&mut self, id: CallId, question: QuestionId, error: ClientError) {
        if let Some(call) = self.calls.get_mut(id)
            && let Stage::Asking(RoundQuestions::Questions { asked, .. }) = &mut call.stage
        {
            asked.retain(|asked| asked.id != question);
        } else if let Some(call) = self.calls.get_mut(id) {
            call.stage = Stage::Ready;
        }
        self.finish(id, Err(error));
    }

    pub(super) fn refuse_flood(&mut self) -> ErrorObject {
        let limits = &self.profile.limits;
        let why = format!(
            "the server asked more than {} times within {:?}; its question was refused",
            limits.client.asks, limits.client.asks_window
        );
        self.report(why.clone());
        ErrorObject::new(codes::USER_REJECTED, why)
    }

    pub(super) fn next_question(&mut self) -> QuestionId {
        self.last_question += 1;
        QuestionId(self.last_question)
    }
}

/// The error of a call if the host answered its question with an error.
pub(super) fn refusal(error: ErrorObject) -> ClientError {
    if error.code == codes::USER_REJECTED {
        ClientError::QuestionRefused(error)
    } else {
        ClientError::Host(error.message)
    }
}
