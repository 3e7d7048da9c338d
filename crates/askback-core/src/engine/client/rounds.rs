//! Handles the results of a call, and the rounds in which its questions are answered.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec::Vec};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, ClientError, Connection, QuestionId, State,
    cache::{Key, StaleResult},
    call::{AskedRound, Stage},
    message::response_json,
    question::{PendingQuestion, QuestionSource, admit, link_bytes, size},
};
use crate::{
    jsonrpc::{ErrorObject, INVALID_PARAMS},
    protocol::{
        ElicitAction, ElicitParams, ElicitUrlParams, InputRequest, InputRequests,
        InputRequiredResult, InputResponse, Outcome, UrlElicitationRequired, codes, reason,
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
            let question = self.admit_question(id, key, request, bytes, now)?;
            bytes += question.bytes;
            asked.push(question);
        }
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = Stage::Asking(AskedRound {
                state,
                ..AskedRound::default()
            });
        }
        asked
            .into_iter()
            .for_each(|question| self.ask_host(question));
        Ok(())
    }

    /// Checks a question for the host. `beside` is the size of the questions that are checked but
    /// not asked yet.
    pub(super) fn admit_question(
        &mut self,
        call: CallId,
        key: String,
        mut request: InputRequest,
        beside: usize,
        now: Duration,
    ) -> Result<PendingQuestion, ClientError> {
        self.check_question(&key, &mut request)?;
        if !self.asks.admit(now) {
            return Err(ClientError::QuestionRefused(self.refuse_flood()));
        }
        let bytes = size(&request) + key.len();
        self.find_room(beside + bytes)
            .map_err(ClientError::QuestionRefused)?;
        Ok(PendingQuestion {
            call: Some(call),
            source: QuestionSource::Result(key),
            request,
            bytes,
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
        let asked: usize = self.questions.values().map(|asked| asked.bytes).sum();
        let of_calls = self.calls.iter().map(|(_, call)| match &call.stage {
            Stage::Asking(round) => round.bytes(),
            _ => 0,
        });
        let of_session = match &self.state {
            State::Legacy(session) => session.batch_bytes(),
            _ => 0,
        };
        let kept = of_calls.sum::<usize>() + asked + of_session;
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
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = Stage::Asking(AskedRound {
                links: links.into_iter(),
                ..AskedRound::default()
            });
        }
        self.ask_next_link(id, now)
    }

    /// Asks to open the next link. After the last one, the call is sent again.
    fn ask_next_link(&mut self, id: CallId, now: Duration) -> Result<(), ClientError> {
        let Some(call) = self.calls.get_mut(id) else {
            return Ok(());
        };
        let next = match &mut call.stage {
            Stage::Asking(round) => round.links.next(),
            _ => None,
        };
        let Some(link) = next else {
            self.send(id, now);
            return Ok(());
        };
        if !self.asks.admit(now) {
            return Err(ClientError::QuestionRefused(self.refuse_flood()));
        }
        self.remember_link(&link);
        self.ask_host(PendingQuestion {
            call: Some(id),
            source: QuestionSource::Link,
            bytes: link_bytes(&link),
            request: InputRequest::Elicit(ElicitParams::Url(link)),
        });
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

    /// Takes the answer to a question of a call. When all are answered, the call is sent again.
    ///
    /// # Errors
    ///
    /// How the call ends.
    pub(super) fn answer_call(
        &mut self,
        id: CallId,
        question: QuestionId,
        asked: PendingQuestion,
        answer: Result<InputResponse, ErrorObject>,
        now: Duration,
    ) -> Result<(), ClientError> {
        let answer = asked.check(answer.map_err(refusal)?, &self.profile)?;
        let is_last = !self.questions.values().any(|other| other.call == Some(id));
        let (Some(call), Some(greeting)) = (self.calls.get_mut(id), &self.greeting) else {
            return Ok(());
        };
        match (asked.source, &mut call.stage) {
            (QuestionSource::Result(key), Stage::Task(held)) => {
                held.answers
                    .insert(key, response_json(answer, greeting.revision));
                self.step_task(id, now);
            }
            (QuestionSource::Result(key), Stage::Asking(round)) => {
                let answer = response_json(answer, greeting.revision);
                round.answers.insert(question, (key, answer));
                if is_last {
                    let AskedRound { state, answers, .. } = core::mem::take(round);
                    call.set_round(Some(answers.into_values().collect()), state);
                    self.send(id, now);
                }
            }
            (QuestionSource::Link, Stage::Asking(_)) => {
                if let InputResponse::Elicit(answer) = answer
                    && answer.action != ElicitAction::Accept
                {
                    let why = "the person did not agree to open the link";
                    let error = ErrorObject::new(codes::USER_REJECTED, why);
                    return Err(ClientError::QuestionRefused(error));
                }
                return self.ask_next_link(id, now);
            }
            _ => {}
        }
        Ok(())
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
}

/// The error of a call if the host answered its question with an error.
fn refusal(error: ErrorObject) -> ClientError {
    if error.code == codes::USER_REJECTED {
        ClientError::QuestionRefused(error)
    } else {
        ClientError::Host(error.message)
    }
}
