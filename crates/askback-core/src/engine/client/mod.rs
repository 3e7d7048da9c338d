//! The client's side of a connection, in every revision.

mod cache;
mod call;
mod error;
mod event;
mod message;
mod notification;
mod opening;
mod question;
mod rounds;
mod send;
mod session;
mod task;
mod timing;

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use core::time::Duration;

use serde_json::value::RawValue;

pub use crate::protocol::CallTarget;
pub use call::CallId;
pub use error::ClientError;
pub use error::ServerEnd;
pub use event::Greeting;
pub use event::{Event, RefusedQuestion};
pub use message::SentMeta;
pub use message::{ClientMessage, MessageKind, SentRequest, ServerMessage};
pub use question::{HostQuestion, QuestionId};
pub use send::{Carrier, RequestLoss, is_from_gateway};
pub use timing::Timeouts;

use self::{
    cache::{Cache, Key},
    call::{Call, Calls},
    message::LastIntroduction,
    opening::{Context, Opening, OpeningStep},
    question::PendingQuestion,
    session::Session,
    timing::RateLimiter,
};
use crate::{
    jsonrpc::{self, ErrorObject, MalformedMessage, Message, Payload, RequestId, Response},
    limits::Limits,
    protocol::{
        CancelledParams, ClientCapabilities, ClientNotification, ClientRequest, Implementation,
        InputResponse, LoggingLevel, NotificationParams, SubscriptionFilter,
    },
    revision::{Era, Kind, Revision},
};

#[derive(Debug, Clone)]
pub struct Profile {
    pub info: Implementation,
    pub capabilities: ClientCapabilities,
    /// Whether the host accepts forms unchanged, with fields that cannot be drawn and defaults that
    /// break their own field.
    pub any_form: bool,
    /// Whether the host forwards questions to another client, which checks them. Forms,
    /// conversations and answers are then not checked here.
    pub forwards: bool,
    /// The revision to try a handshake with before the probe, if sessions work better with this
    /// server.
    pub handshake: Option<Revision>,
    /// Whether a round with answers is sent again automatically if the server goes away before it
    /// responds.
    pub resends_answers: bool,
    pub revisions: Vec<Revision>,
    /// The principal of the requests, if the server distinguishes principals. Private results are
    /// reused only for the same principal.
    pub principal: Option<String>,
    pub limits: Limits,
}

/// A request of the engine to its driver.
#[derive(Debug)]
pub enum Output {
    /// Open the transport, then call [`Connection::handle_connected`], or
    /// [`Connection::handle_disconnected`] if that fails.
    Connect,
    /// Close the transport: the connection could not be opened and all calls have ended. A later
    /// call tries again.
    Close(ClientError),
    Send(ClientMessage),
    Opened,
    /// Ask the host this question and pass its answer to [`Connection::answer`].
    Ask(QuestionId, Box<HostQuestion>),
    Withdraw(QuestionId),
    /// The subscription of this call has begun, for these changes.
    Granted(CallId, SubscriptionFilter),
    /// The call has ended. If it was a subscription, the server ended it.
    Done(CallId, Result<Box<RawValue>, ClientError>),
    Event(Event),
}

/// One connection to one server, from the probe to the end, across any number of restarts of the
/// server.
///
/// After each call of a method that takes `&mut self`, drain [`poll`](Connection::poll) until it
/// returns `None`. Then wait for a message, an answer of the host, or the time of
/// [`next_timeout`](Connection::next_timeout). All times count from one moment that the caller
/// chooses, and never decrease.
///
/// Each call ends with exactly one [`Output::Done`], unless it is [cancelled](Connection::cancel)
/// before.
#[derive(Debug)]
pub struct Connection {
    profile: Profile,
    state: State,
    greeting: Option<Box<Greeting>>,
    /// Whether the server exits when it is probed. Then it is not probed again.
    probe_is_fatal: bool,
    carrier: Carrier,
    calls: Calls,
    sent: BTreeMap<i64, CallId>,
    questions: BTreeMap<QuestionId, PendingQuestion>,
    cache: Cache,
    /// See [`Connection::set_authorization_context`].
    authorization_context: u64,
    asks: RateLimiter,
    restarts: RateLimiter,
    log_level: Option<LoggingLevel>,
    introduction: LastIntroduction,
    /// The resources watched on a session, to watch them on the next one.
    watched: BTreeSet<String>,
    reports: u32,
    last_id: i64,
    last_question: u64,
    out: VecDeque<Output>,
}

#[derive(Debug)]
enum State {
    Idle,
    Connecting,
    Opening(Opening),
    Modern,
    Legacy(Box<Session>),
}

impl Connection {
    /// Makes a connection that is not open yet. It first needs a transport.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let limits = &profile.limits;
        Self {
            state: State::Connecting,
            greeting: None,
            probe_is_fatal: false,
            carrier: Carrier::Stream,
            calls: Calls::default(),
            sent: BTreeMap::new(),
            questions: BTreeMap::new(),
            cache: Cache::new(&limits.client),
            authorization_context: 0,
            asks: RateLimiter::new(limits.client.asks, limits.client.asks_window),
            restarts: RateLimiter::new(limits.client.restarts, limits.client.restarts_window),
            log_level: None,
            introduction: LastIntroduction::default(),
            watched: BTreeSet::new(),
            reports: 0,
            last_id: 0,
            last_question: 0,
            out: VecDeque::from([Output::Connect]),
            profile,
        }
    }

    pub fn poll(&mut self) -> Option<Output> {
        let output = self.out.pop_front();
        if output.is_none() {
            self.calls.settle();
        }
        output
    }

    /// When to call [`Connection::handle_timeout`]. Ask after [`poll`](Connection::poll) has
    /// returned `None`.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        let opening = match &self.state {
            State::Opening(opening) => Some(opening.deadline()),
            State::Idle | State::Connecting | State::Modern | State::Legacy(_) => None,
        };
        self.calls.next_deadline().into_iter().chain(opening).min()
    }

    /// Returns the server's greeting once it has arrived. It survives a crash of the server.
    #[must_use]
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_deref()
    }

    pub fn handle_connected(&mut self, now: Duration) {
        if !matches!(self.state, State::Connecting) {
            return;
        }
        let handshake = match &self.greeting {
            Some(greeting) if greeting.revision.era() == Era::Modern => {
                self.state = State::Modern;
                self.send_ready(now);
                return;
            }
            Some(greeting) => Some(greeting.revision),
            None if self.profile.handshake.is_some() => self.profile.handshake,
            None if self.probe_is_fatal => self.newest_legacy(),
            None if self.carrier == (Carrier::Exchanges { handshake: true }) => {
                self.newest_legacy()
            }
            None => None,
        };
        let mut cx = Context {
            profile: &self.profile,
            carrier: self.carrier,
            last_id: &mut self.last_id,
            now,
        };
        let (opening, message) = Opening::start(handshake, &mut cx);
        self.state = State::Opening(opening);
        self.out.push_back(Output::Send(message));
    }

    /// The transport has ended or could not be opened.
    ///
    /// The server is restarted if no work can be done twice: for rounds that were not sent yet, for
    /// rounds that carry the server's state and no answers, and for subscriptions, each at most
    /// once (2026-07-28, basic/transports/stdio, Unexpected Termination). Other calls end.
    pub fn handle_disconnected(&mut self, end: &ServerEnd, now: Duration) {
        let state = core::mem::replace(&mut self.state, State::Idle);
        match state {
            State::Idle => return,
            State::Connecting => {
                return self.close(ClientError::Unreachable(end.why.clone()));
            }
            State::Opening(opening)
                if opening.is_probing()
                    && self.carrier == Carrier::Stream
                    && !self.probe_is_fatal
                    && self.newest_legacy().is_some() =>
            {
                self.probe_is_fatal = true;
                self.state = State::Connecting;
                self.event(Event::StartedOver(end.clone()));
                self.out.push_back(Output::Connect);
                return;
            }
            State::Opening(_) => {
                return self.close(ClientError::Crashed(end.clone()));
            }
            State::Modern => {}
            State::Legacy(_) => {
                if self.session_asks() {
                    self.event(Event::QuestionsLost);
                }
                self.withdraw(PendingQuestion::is_of_session);
            }
        }
        // Changes were not reported while the transport was gone.
        self.cache.clear();
        self.sent.clear();
        let is_idle = self.calls.len() == 0;
        self.lose_rounds(end, now);
        self.reconnect(now);
        if is_idle {
            let event = Event::Disconnected(end.clone());
            self.out.push_back(Output::Event(event));
        }
    }

    /// The time of [`Connection::next_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        if let Some((opening, mut cx)) = self.opening(now) {
            let next = opening.handle_timeout(&mut cx);
            self.follow(next, now);
        }
        for id in self.calls.due(now) {
            self.time_out(id, now);
        }
    }

    /// Handles one message or batch as the transport framed it.
    pub fn handle_message(&mut self, bytes: &[u8], now: Duration) {
        let message = ServerMessage::parse(bytes, &self.profile.limits.wire);
        self.handle_received(message, now);
    }

    pub fn handle_received(&mut self, message: ServerMessage, now: Duration) {
        match message.content {
            Ok(Payload::Single(content)) => self.handle(content, None, now),
            Ok(Payload::Batch(messages)) => self.handle_batch(messages, message.bytes, now),
            Err(malformed) if malformed.response => {
                let max_bytes = self.profile.limits.wire.message_bytes;
                let error = if message.bytes > max_bytes {
                    ClientError::TooLarge(max_bytes)
                } else {
                    ClientError::Unreadable {
                        why: malformed.error.message,
                        received: message.text.unwrap_or_default(),
                    }
                };
                self.handle_unreadable(malformed.id, error, now);
            }
            Err(malformed) => {
                self.handle_malformed(malformed, None, message.excerpt.as_deref(), now);
            }
        }
    }

    /// Sends a request. The engine completes its `_meta` and fills in `inputResponses` and
    /// `requestState`. A cached result is returned without a request.
    pub fn call(&mut self, id: CallId, request: ClientRequest, now: Duration) {
        self.call_within(id, request, Timeouts::default(), now);
    }

    /// Sends a request with its own timeouts. After a timeout the server is told and the call ends
    /// with [`ClientError::TimedOut`].
    pub fn call_within(
        &mut self,
        id: CallId,
        request: ClientRequest,
        timeouts: Timeouts,
        now: Duration,
    ) {
        self.begin_call(id, request, timeouts, false, now);
    }

    /// Sends one round of a call. If the server asks in its result (2026-07-28), the questions are
    /// the result of the call: the host is not asked, and the caller sends the next round with the
    /// answers and the state in its request.
    pub fn call_round(
        &mut self,
        id: CallId,
        request: ClientRequest,
        timeouts: Timeouts,
        now: Duration,
    ) {
        self.begin_call(id, request, timeouts, true, now);
    }

    fn begin_call(
        &mut self,
        id: CallId,
        request: ClientRequest,
        timeouts: Timeouts,
        is_single: bool,
        now: Duration,
    ) {
        if self.refuses_more(id) {
            return;
        }
        if let Some(key) = Key::of(&request)
            && let Some(result) = self.cache.get(&key, now)
        {
            self.out.push_back(Output::Done(id, Ok(result.to_owned())));
            return;
        }
        let mut call = Call::new(request, &self.profile.limits, timeouts);
        call.is_single = is_single;
        self.calls.insert(id, call);
        self.send(id, now);
    }

    fn refuses_more(&mut self, id: CallId) -> bool {
        let most = self.profile.limits.wire.requests_in_flight;
        let refuses = self.calls.len() >= most;
        if refuses {
            self.out
                .push_back(Output::Done(id, Err(ClientError::Busy(most))));
        }
        refuses
    }

    /// Cancels a call: the server is told and the questions of the call are withdrawn. There is no
    /// [`Output::Done`].
    pub fn cancel(&mut self, id: CallId, now: Duration) {
        self.cancel_task(id);
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        self.leave(id, &call);
        if let Some(sent) = call.sent() {
            self.write_cancelled(sent.id, "the caller no longer waits for the result");
        }
        self.abandon_session_questions(id, now);
    }

    /// Takes the host's answer to a question. Ignored if the question was withdrawn.
    pub fn answer(
        &mut self,
        question: QuestionId,
        answer: Result<InputResponse, ErrorObject>,
        now: Duration,
    ) {
        let Some(asked) = self.questions.remove(&question) else {
            return;
        };
        match asked.call {
            Some(call) if !asked.is_of_session() => {
                if let Err(error) = self.answer_call(call, question, asked, answer, now) {
                    self.give_up(call, error);
                }
            }
            _ => self.answer_session(asked, answer, now),
        }
    }

    /// Notifies the server that the roots changed, if the revision has the notification and the
    /// client declared it.
    pub fn roots_changed(&mut self) {
        let declared = self.profile.capabilities.roots.as_ref();
        if declared.and_then(|roots| roots.list_changed) == Some(true) {
            self.notify(ClientNotification::RootsListChanged(
                NotificationParams::default(),
            ));
        }
    }

    /// Sets the principal of future requests. Results of requests in flight are returned to their
    /// callers but not cached.
    pub fn set_principal(&mut self, principal: Option<String>) {
        self.overtake_all();
        if self.profile.principal != principal {
            self.profile.principal = principal;
            self.cache.forget_private();
        }
    }

    /// Sets the authorization context of future requests: a number that differs for different
    /// credentials and is never reused. Call it before each [`call`](Connection::call) and
    /// [`handle_message`](Connection::handle_message).
    ///
    /// If the number changes, cached private results are dropped, results in flight are returned to
    /// their callers but not cached, and subscriptions are opened again, so that they report what
    /// the new credentials may see (2026-07-28, server/utilities/caching, Cache Scope Field).
    pub fn set_authorization_context(&mut self, number: u64, now: Duration) {
        if self.authorization_context == number {
            return;
        }
        self.authorization_context = number;
        self.overtake_all();
        self.cache.forget_private();
        self.reopen_subscriptions(now);
    }

    #[must_use]
    pub fn authorization_context(&self) -> u64 {
        self.authorization_context
    }

    fn handle(&mut self, message: Message, batch: Option<u64>, now: Duration) {
        match message {
            Message::Request(request) => self.handle_request(request, batch, now),
            Message::Notification(notification) => self.handle_notification(&notification, now),
            Message::Response(Response { id, outcome }) => {
                self.handle_response(id.as_ref(), outcome.map_err(ClientError::Server), now);
            }
        }
    }

    /// Reports an unreadable message, up to a limit: some servers print log lines to their standard
    /// output.
    fn handle_malformed(
        &mut self,
        malformed: MalformedMessage,
        batch: Option<u64>,
        excerpt: Option<&str>,
        now: Duration,
    ) {
        let why = malformed.error.message.clone();
        if malformed.response {
            let received = String::new();
            let error = ClientError::Unreadable { why, received };
            return self.handle_unreadable(malformed.id, error, now);
        }
        if let (Some(id), State::Legacy(session)) = (&malformed.id, &mut self.state) {
            if let Some(batch) = batch {
                session.expect_response(batch);
            }
            self.respond(jsonrpc::write_error(Some(id), &malformed.error), batch);
        }
        match excerpt {
            Some(excerpt) if self.carrier == Carrier::Stream => self.report(format!(
                "the server sent a line that is not a message: `{excerpt}` ({why}). A program that \
                 speaks MCP over stdio must not print to its standard output"
            )),
            _ => self.report_unreadable(&why),
        }
    }

    /// Ends the request whose response cannot be read. If the id cannot be read either, it ends the
    /// only waiting request, if there is exactly one.
    fn handle_unreadable(&mut self, id: Option<RequestId>, error: ClientError, now: Duration) {
        let Some(id) = id.or_else(|| self.only_request()) else {
            let why = match error {
                ClientError::Unreadable { why, .. } => why,
                error => format!("{error}"),
            };
            return self.report_unreadable(&why);
        };
        self.handle_response(Some(&id), Err(error), now);
    }

    /// Returns the only request that waits for a response. Active subscriptions do not count.
    fn only_request(&self) -> Option<RequestId> {
        if let State::Opening(opening) = &self.state {
            return Some(RequestId::Number(opening.request_id()));
        }
        let listens = |call: &Call| call.sent().is_some_and(|sent| sent.listening.is_some());
        let mut waiting = self
            .sent
            .iter()
            .filter(|(_, call)| !self.calls.get(**call).is_some_and(listens));
        let (id, _) = waiting.next()?;
        waiting.next().is_none().then_some(RequestId::Number(*id))
    }

    fn report_unreadable(&mut self, why: &str) {
        self.report(format!(
            "the server sent a message that cannot be read: {why}"
        ));
    }

    /// Reports a fault that a server can repeat without limit. After the last report it says that
    /// there are more.
    fn report(&mut self, what: String) {
        let most = self.profile.limits.client.malformed_reports;
        self.reports = self.reports.saturating_add(1);
        if self.reports <= most {
            self.note(what);
        } else if self.reports == most.saturating_add(1) {
            self.note("the server keeps doing this; it is no longer reported".into());
        }
    }

    fn handle_response(
        &mut self,
        id: Option<&RequestId>,
        outcome: Result<Box<RawValue>, ClientError>,
        now: Duration,
    ) {
        // Our ids are all numbers. A server that returns one as a string gets an error at once;
        // otherwise the call would wait until its timeout.
        if let Some(RequestId::String(text)) = id
            && let Ok(number) = text.parse()
        {
            let why = format!("its response has the id {number} as a text");
            let id = RequestId::Number(number);
            return self.handle_response(Some(&id), Err(ClientError::Protocol(why)), now);
        }
        if let Some((opening, mut cx)) = self.opening(now) {
            let next = opening.handle_response(id, outcome, &mut cx);
            return self.follow(next, now);
        }
        // An unknown id belongs to a cancelled call or to no call.
        let call = match id {
            Some(RequestId::Number(number)) => self.sent.remove(number),
            Some(RequestId::String(_)) => None,
            None => {
                if let Err(error) = outcome {
                    self.report(format!("about no request in particular, {error}"));
                }
                return;
            }
        };
        if let Some(call) = call {
            self.handle_result(call, outcome, now);
        }
    }

    fn opening(&mut self, now: Duration) -> Option<(&mut Opening, Context<'_>)> {
        let State::Opening(opening) = &mut self.state else {
            return None;
        };
        let cx = Context {
            profile: &self.profile,
            carrier: self.carrier,
            last_id: &mut self.last_id,
            now,
        };
        Some((opening, cx))
    }

    fn follow(&mut self, next: OpeningStep, now: Duration) {
        match next {
            OpeningStep::Wait => {}
            OpeningStep::Send(message) => self.out.push_back(Output::Send(message)),
            OpeningStep::Open(greeting, first) => {
                self.out.extend(first.map(Output::Send));
                self.open(greeting, now);
            }
            OpeningStep::Fail(error) => self.close(error),
        }
    }

    fn open(&mut self, greeting: Box<Greeting>, now: Duration) {
        self.state = match greeting.revision.era() {
            Era::Modern => State::Modern,
            Era::Legacy => State::Legacy(Box::new(Session::new(greeting.revision))),
        };
        self.greeting = Some(greeting);
        self.out.push_back(Output::Opened);
        self.restore_session();
        self.send_ready(now);
    }

    /// The opening failed: the waiting calls end.
    fn close(&mut self, error: ClientError) {
        self.state = State::Idle;
        self.fail_ready(&error);
        self.out.push_back(Output::Close(error));
    }

    /// Tells the server that a response is no longer needed, with a reason for its log.
    fn write_cancelled(&mut self, number: i64, reason: &str) {
        self.notify(ClientNotification::Cancelled(CancelledParams {
            request_id: Some(RequestId::Number(number)),
            reason: Some(reason.to_owned()),
            meta: None,
        }));
    }

    fn notify(&mut self, notification: ClientNotification) {
        if let (State::Modern | State::Legacy(_), Some(greeting)) = (&self.state, &self.greeting) {
            let revision = greeting.revision;
            if revision.has(Kind::ClientNotification, notification.method()) {
                let message = ClientMessage::notification(revision, notification);
                self.out.push_back(Output::Send(message));
            }
        }
    }

    fn note(&mut self, note: String) {
        self.out.push_back(Output::Event(Event::Note(note)));
    }

    fn newest_legacy(&self) -> Option<Revision> {
        let spoken = self.profile.revisions.iter().copied();
        spoken
            .filter(|revision| revision.era() == Era::Legacy)
            .max()
    }
}
