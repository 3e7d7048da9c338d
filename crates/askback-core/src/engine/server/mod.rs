//! The server's side of a connection: every revision, and both eras at once.

mod call;
mod known_client;
mod legacy;
mod modern;
mod origin;
mod received_message;
mod tasks;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::any::Any;

pub use call::Call;
pub use known_client::KnownClient;
pub use legacy::{read_answer, write_question};
pub use modern::{
    Change, OpenSubscription, admit, discover, spoken, tells, unsupported, write_notification,
};
pub use received_message::{ReceivedMessage, ReceivedRequest};
pub use tasks::{Room, RoomError, Tasks};

use self::{
    legacy::{Sender, Session, lift, write_lowered},
    modern::too_many,
    origin::id_bytes,
};
use super::batches::Batches;
use crate::{
    ask::{CheckedRequest, Principal},
    forms::LoweredForm,
    jsonrpc::{self, ErrorObject, MalformedMessage, Message, Notification, RequestId, Response},
    limits::Limits,
    protocol::{
        CancelledParams, ClientCapabilities, ClientNotification, ClientRequest, DetailedTask,
        Implementation, LoggingLevel, ProgressToken, RawJson, ServerCapabilities,
        ServerNotification, SubscriptionFilter, TraceContext,
    },
    revision::{Era, Revision},
};

/// The memory of a request in progress without its id, in bytes.
const CALL_BYTES: usize = 512;

/// The memory of an open question, in bytes.
const ASK_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub struct Profile {
    pub info: Implementation,
    pub capabilities: ServerCapabilities,
    pub instructions: Option<String>,
    /// The supported revisions, newest first.
    pub revisions: Vec<Revision>,
    /// How long clients may cache this description, in milliseconds.
    pub ttl_ms: i64,
    pub limits: Arc<Limits>,
    /// Whether requests are forwarded to another server: they become [`ClientRequest::Other`], even
    /// if no revision has the method. Only requests that open or close a connection or watch
    /// something are parsed.
    pub forwards: bool,
}

#[derive(Debug, Clone)]
pub struct Origin {
    pub revision: Revision,
    /// The client's name, title and version; unverified, for display only. Each is shortened to
    /// [`limits.server.client_info_bytes`](crate::limits::ServerLimits::client_info_bytes).
    pub client: Option<Implementation>,
    /// The capabilities that the client declared. Settings of known capabilities are dropped, and
    /// other capabilities are stored up to
    /// [`limits.server.client_extension_bytes`](crate::limits::ServerLimits::client_extension_bytes).
    pub capabilities: ClientCapabilities,
    /// The minimum level of log messages, if the request sets one.
    pub log_level: Option<LoggingLevel>,
    pub progress_token: Option<ProgressToken>,
    pub principal: Option<Arc<Principal>>,
    pub place: ClientLocation,
    /// The trace context, if the request has one.
    pub trace: Option<Box<TraceContext>>,
    /// A value that the transport passes to the handler. The protocol does not read it.
    pub attachment: Option<Arc<dyn Any + Send + Sync>>,
}

/// Where a client runs, as far as its transport knows.
///
/// A client's paths are paths on its own machine. Only the transport knows whether that is also the
/// server's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientLocation {
    /// The client started this process or runs in it: both see the same files with the same rights.
    Here,
    #[default]
    Elsewhere,
}

/// The id of a question that was sent to a client of a handshake revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(i64);

/// A request of the engine to its driver.
#[derive(Debug)]
pub enum Output {
    Send(Vec<u8>),
    Batch(RequestId, Vec<u8>),
    Call(Box<Call>),
    /// The client cancelled this request, for this reason, escaped for a log.
    Cancel(RequestId, Option<String>),
    Ask(RequestId, Vec<u8>),
    Answer(AskId, Result<RawJson, ErrorObject>),
    /// The client answered a question that this connection did not ask. Another process may have
    /// asked it.
    StrayAnswer(String, Result<RawJson, ErrorObject>),
    StrayCancel(RequestId),
    RootsChanged(Arc<Origin>),
    /// The subscription with this id began, with this filter, or ended. Only emitted by a server
    /// that [forwards](Profile::forwards).
    Subscription(RequestId, Option<SubscriptionFilter>),
}

/// One connection to one client, which may use both eras on it.
///
/// After each `handle_*`, [`respond`](Connection::respond), [`ask`](Connection::ask),
/// [`withdraw`](Connection::withdraw), [`notify`](Connection::notify),
/// [`changed`](Connection::changed) or [`task_changed`](Connection::task_changed), drain
/// [`poll`](Connection::poll) until it returns `None`.
#[derive(Debug)]
pub struct Connection {
    profile: Arc<Profile>,
    principal: Option<Arc<Principal>>,
    place: ClientLocation,
    session: Option<Box<Session>>,
    subscriptions: Vec<OpenSubscription>,
    calls: BTreeMap<RequestId, RunningCall>,
    asks: BTreeMap<AskId, Option<LoweredForm>>,
    /// Questions that wait until the client is initialized.
    held: Vec<DelayedQuestion>,
    next_ask: i64,
    batches: Batches,
    out: VecDeque<Output>,
    /// The client's description in its last requests.
    known: Option<Arc<KnownClient>>,
    /// The number of calls with an unknown description.
    unknown: u32,
}

/// The client of a session, as another process needs it to serve the session.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct SessionSeed {
    #[serde(rename = "r")]
    pub revision: String,
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Implementation>,
    #[serde(rename = "c")]
    pub capabilities: ClientCapabilities,
}

/// The configuration that the client of a session has set since it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionChoices {
    /// The minimum level of log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LoggingLevel>,
    #[serde(default)]
    pub watched: Vec<String>,
}

#[derive(Debug)]
struct RunningCall {
    origin: Arc<Origin>,
    batch: Option<u64>,
}

#[derive(Debug)]
struct DelayedQuestion {
    ask: AskId,
    /// `None` if the question belongs to no request.
    call: Option<RequestId>,
    message: Vec<u8>,
}

impl Connection {
    #[must_use]
    pub fn new(profile: Arc<Profile>) -> Self {
        Self {
            profile,
            principal: None,
            place: ClientLocation::default(),
            session: None,
            subscriptions: Vec::new(),
            calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            held: Vec::new(),
            next_ask: 0,
            batches: Batches::default(),
            out: VecDeque::new(),
            known: None,
            unknown: 0,
        }
    }

    #[must_use]
    pub fn of(mut self, principal: Option<Arc<Principal>>) -> Self {
        self.principal = principal;
        self
    }

    /// Sets where the client runs. The default is [`ClientLocation::Elsewhere`].
    #[must_use]
    pub fn from_place(mut self, place: ClientLocation) -> Self {
        self.place = place;
        self
    }

    /// Returns what another process needs to serve this session, once it is open.
    #[must_use]
    pub fn seed(&self) -> Option<SessionSeed> {
        let origin = &self.session.as_ref()?.origin;
        Some(SessionSeed {
            revision: origin.revision.as_str().into(),
            client: origin.client.clone(),
            capabilities: origin.capabilities.clone(),
        })
    }

    /// Opens a session that another process has negotiated. Returns `None` if the revision is not
    /// supported here or has no sessions.
    #[must_use]
    pub fn reopened(mut self, seed: SessionSeed) -> Option<Self> {
        let revision: Revision = seed.revision.parse().ok()?;
        let has_sessions = revision.era() == Era::Legacy;
        if !has_sessions || !self.profile.revisions.contains(&revision) {
            return None;
        }
        let origin = Origin {
            revision,
            client: seed.client,
            capabilities: seed.capabilities,
            log_level: None,
            progress_token: None,
            principal: self.principal.clone(),
            place: self.place,
            trace: None,
            attachment: None,
        };
        // The client learned the session's id when it opened the session.
        self.session = Some(Box::new(Session::new(origin, true)));
        Some(self)
    }

    #[must_use]
    pub fn choices(&self) -> SessionChoices {
        let session = self.session.as_ref();
        session.map(|session| session.choices()).unwrap_or_default()
    }

    /// Replaces the configuration of the session with the one from another process.
    pub fn choose(&mut self, choices: SessionChoices) {
        let most = self.profile.limits.server.subscriptions;
        if let Some(session) = &mut self.session {
            session.choose(choices, most);
        }
    }

    /// Forgets a request without a response, because another process sends the response.
    pub fn let_go(&mut self, call: &RequestId) {
        self.calls.remove(call);
    }

    #[must_use]
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    #[must_use]
    pub fn session_client(&self) -> Option<&Arc<Origin>> {
        self.session.as_ref().map(|session| &session.origin)
    }

    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Handles one message or batch as the transport framed it.
    pub fn handle_message(&mut self, bytes: &[u8]) {
        let known = self.known.as_slice();
        match ReceivedMessage::parse_for(&self.profile, bytes, known) {
            Ok(received) => {
                self.learn(bytes, &received);
                self.handle_received(received);
            }
            Err(malformed) => self.handle_malformed(&malformed, None),
        }
    }

    /// Caches the client's description: the first one, and later only rarely, in case each one is
    /// different.
    fn learn(&mut self, bytes: &[u8], received: &ReceivedMessage) {
        let Some(meta) = received.unknown_client() else {
            return;
        };
        if self.unknown.is_multiple_of(KnownClient::RARELY) {
            let learned = KnownClient::learn(bytes, meta, &self.profile, self.place);
            self.known = learned.map(Arc::new).or_else(|| self.known.take());
        }
        self.unknown = self.unknown.wrapping_add(1);
    }

    pub fn handle_received(&mut self, received: ReceivedMessage) {
        self.handle(received, None);
    }

    /// The approximate memory of the client's data and requests in progress, in bytes. Requests
    /// returned in an [`Output`] are not included.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let calls = self.calls.keys().map(|id| CALL_BYTES + id_bytes(id));
        let subscriptions = self.subscriptions.iter().map(OpenSubscription::kept_bytes);
        let held = self.held.iter().map(|held| held.message.len());
        let session = self.session.as_ref().map(|session| session.kept_bytes());
        session.unwrap_or_default()
            + calls.sum::<usize>()
            + self.asks.len() * ASK_BYTES
            + held.sum::<usize>()
            + self.batches.bytes()
            + subscriptions.sum::<usize>()
            + self.known.as_ref().map_or(0, |known| known.kept_bytes())
    }

    /// Returns the negotiated revision, once there is one.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.session_client().map(|origin| origin.revision)
    }

    /// Takes the serialized response to a request. Ignored if the request was cancelled.
    pub fn respond(&mut self, id: &RequestId, response: Vec<u8>) {
        if let Some(running) = self.calls.remove(id) {
            self.send_response(response, running.batch);
        }
    }

    /// Sends a notification for a request in progress. Ignored after the request has ended.
    pub fn notify(&mut self, call: &RequestId, notification: ServerNotification) {
        let Some(running) = self.calls.get(call) else {
            return;
        };
        let revision = running.origin.revision;
        if let Some(message) = write_notification(revision, notification) {
            self.out.push_back(Output::Send(message));
        }
    }

    /// Whether a log message of this level is wanted, by the request or, in older revisions, by the
    /// session.
    #[must_use]
    pub fn wants_log(&self, call: &RequestId, level: LoggingLevel) -> bool {
        let Some(running) = self.calls.get(call) else {
            return false;
        };
        if running.origin.revision.facts().set_level {
            let session = self.session.as_ref();
            session.is_some_and(|session| session.wants_log(level))
        } else {
            running.origin.log_level.is_some_and(|least| level >= least)
        }
    }

    /// Asks the client of a handshake revision. The key is sent with the question, for clients that
    /// match on it.
    ///
    /// Questions wait until the client is initialized (2025-11-25, basic/lifecycle, Initialization)
    /// or they are [withdrawn](Connection::withdraw).
    pub fn ask(&mut self, call: &RequestId, key: &str, question: CheckedRequest) -> Option<AskId> {
        let origin = Arc::clone(&self.calls.get(call)?.origin);
        Some(self.send_question(Some(call.clone()), &origin, key, question))
    }

    /// Asks the client of a session, outside of any request. Returns `None` if no session is open.
    pub fn ask_in_session(&mut self, key: &str, question: CheckedRequest) -> Option<AskId> {
        let origin = Arc::clone(self.session_client()?);
        Some(self.send_question(None, &origin, key, question))
    }

    fn send_question(
        &mut self,
        call: Option<RequestId>,
        to: &Origin,
        key: &str,
        question: CheckedRequest,
    ) -> AskId {
        self.next_ask += 1;
        let ask = AskId(self.next_ask);
        let id = RequestId::Number(self.next_ask);
        let (lowered, message) = write_lowered(to, &id, key, question.into_inner());
        self.asks.insert(ask, lowered);
        if self.session.as_ref().is_some_and(|it| it.initialized) {
            self.out.push_back(question_output(call, message));
        } else {
            self.held.push(DelayedQuestion { ask, call, message });
        }
        ask
    }

    /// Sends a notification outside of any request. Without a session, only log messages are sent,
    /// to a client that asked for them in a request in progress.
    pub fn notify_client(&mut self, notification: ServerNotification) {
        let level = match &notification {
            ServerNotification::Message(params) => Some(params.level),
            _ => None,
        };
        let revision = match &self.session {
            Some(session) if level.is_some_and(|level| !session.wants_log(level)) => return,
            Some(session) => session.origin.revision,
            None => {
                let wants = |to: &&Arc<Origin>| match (level, to.log_level) {
                    (Some(level), Some(least)) => level >= least,
                    _ => false,
                };
                let mut origins = self.calls.values().map(|running| &running.origin);
                match origins.find(wants) {
                    Some(origin) => origin.revision,
                    None => return,
                }
            }
        };
        let message = write_notification(revision, notification);
        self.out.extend(message.map(Output::Send));
    }

    pub fn withdraw(&mut self, ask: AskId) {
        if self.asks.remove(&ask).is_some() {
            if let Some(at) = self.held.iter().position(|held| held.ask == ask) {
                // The question was not sent yet.
                self.held.remove(at);
                return;
            }
            let cancelled = CancelledParams {
                request_id: Some(RequestId::Number(ask.0)),
                reason: None,
                meta: None,
            };
            let message = ServerNotification::Cancelled(cancelled).to_vec();
            self.out.push_back(Output::Send(message));
        }
    }

    /// Notifies the client that the user has finished at a link, if the revision has such a
    /// notification (2025-11-25, client/elicitation, Completion Notifications).
    pub fn complete_elicitation(&mut self, elicitation_id: String) {
        let session = self.session.as_ref();
        let message = session.and_then(|session| session.completed(elicitation_id));
        self.out.extend(message.map(Output::Send));
    }

    #[must_use]
    pub fn wants(&self, changed: &Change) -> bool {
        let mut subscriptions = self.subscriptions.iter();
        let mut sessions = self.session.iter();
        sessions.any(|session| session.wants(&self.profile, changed))
            || subscriptions.any(|subscription| subscription.wants(changed))
    }

    pub fn watched(&self) -> impl Iterator<Item = &str> {
        self.session.iter().flat_map(|session| session.watched())
    }

    pub fn changed(&mut self, changed: &Change) {
        let session = self.session.as_ref();
        let told = session.and_then(|session| session.changed(&self.profile, changed));
        let subscriptions = self.subscriptions.iter();
        let wanting = subscriptions.filter(|subscription| subscription.wants(changed));
        let messages = wanting.filter_map(|subscription| subscription.changed(changed));
        self.out
            .extend(told.into_iter().chain(messages).map(Output::Send));
    }

    /// Notifies the client of a task's status, if it subscribed.
    pub fn task_changed(&mut self, task: &DetailedTask) {
        let changed = Change::Task(task.task_id.clone());
        let subscriptions = self.subscriptions.iter();
        let wanting = subscriptions.filter(|subscription| subscription.wants(&changed));
        let messages = wanting.filter_map(|subscription| subscription.task(task));
        self.out.extend(messages.map(Output::Send));
    }

    /// Ends all subscriptions with their results when the server stops (2026-07-28,
    /// basic/patterns/subscriptions, Graceful Closure).
    pub fn finish(&mut self) {
        for subscription in core::mem::take(&mut self.subscriptions) {
            let messages = subscription.finish(&self.profile, OpenSubscription::STOPPING);
            self.out.extend(messages.into_iter().map(Output::Send));
        }
    }

    /// Ends a subscription that a server behind this one refused or ended. Sends `error`, or a result if there is no error.
    /// Returns whether the subscription was open.
    pub fn end_subscription(&mut self, id: &RequestId, error: Option<&ErrorObject>) -> bool {
        let Some(index) = self.subscription(id) else {
            return false;
        };
        let subscription = self.subscriptions.remove(index);
        match error {
            Some(error) => {
                let response = jsonrpc::write_error(Some(id), error);
                self.out.push_back(Output::Send(response));
            }
            None => {
                let why = "the server has ended the subscription";
                let messages = subscription.finish(&self.profile, why);
                self.out.extend(messages.into_iter().map(Output::Send));
            }
        }
        true
    }

    fn handle_batch(&mut self, messages: Vec<Result<Message, MalformedMessage>>) {
        if !self.revision().is_some_and(|it| it.facts().batches) {
            self.out
                .push_back(Output::Send(jsonrpc::write_error(None, &no_batches())));
            return;
        }
        let number = self.batches.begin(0);
        for message in messages {
            match message {
                Ok(message) => {
                    let received = ReceivedMessage::of(&self.profile, message);
                    self.handle(received, Some(number));
                }
                Err(malformed) => self.handle_malformed(&malformed, Some(number)),
            }
        }
        let batch = self.batches.close(number);
        self.out.extend(batch.map(Output::Send));
    }

    fn handle(&mut self, received: ReceivedMessage, batch: Option<u64>) {
        match received {
            ReceivedMessage::Request(request) => {
                self.handle_request(&request.id.clone(), Ok(request), batch);
            }
            ReceivedMessage::Misfit(request, error) => {
                self.handle_request(&request.id, Err(error), batch);
            }
            ReceivedMessage::Notification(notification) => self.handle_notification(notification),
            ReceivedMessage::Response(response) => self.handle_response(response),
            ReceivedMessage::Batch(messages) => self.handle_batch(messages),
        }
    }

    fn handle_malformed(&mut self, malformed: &MalformedMessage, batch: Option<u64>) {
        if malformed.response {
            if let Some(id) = &malformed.id {
                let error = ErrorObject::new(jsonrpc::INVALID_REQUEST, "the response is malformed");
                self.answered(id, Err(error));
            }
            return;
        }
        if malformed.notification {
            return;
        }
        let response = jsonrpc::write_error(malformed.id.as_ref(), &malformed.error);
        if let Some(batch) = batch {
            self.batches.expect(batch);
        }
        self.send_response(response, batch);
    }

    fn handle_request(
        &mut self,
        id: &RequestId,
        request: Result<ReceivedRequest, ErrorObject>,
        batch: Option<u64>,
    ) {
        if let Some(batch) = batch {
            self.batches.expect(batch);
        }
        match self.route(id, request, batch) {
            Ok(Some(response)) => self.send_response(response, batch),
            Ok(None) => {}
            Err(error) => self.send_response(jsonrpc::write_error(Some(id), &error), batch),
        }
    }

    /// Answers a request or passes it on. This is the only place where the era is chosen.
    fn route(
        &mut self,
        id: &RequestId,
        request: Result<ReceivedRequest, ErrorObject>,
        batch: Option<u64>,
    ) -> Result<Option<Vec<u8>>, ErrorObject> {
        if self.calls.contains_key(id) || self.subscription(id).is_some() {
            let why = format!("a request with the id {id} is in progress");
            return Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, why));
        }
        if self.calls.len() >= self.profile.limits.wire.requests_in_flight {
            return Err(ErrorObject::new(
                jsonrpc::INTERNAL_ERROR,
                "too many requests in progress",
            ));
        }
        let received = request?;
        let call = match modern::era_of(&received, &self.profile, self.session.is_some()) {
            // A subscription would keep its batch open forever.
            Era::Modern if batch.is_some() => return Err(no_batches()),
            Era::Modern => {
                let principal = self.principal.clone();
                admit(&self.profile, principal, self.place, received)?
            }
            Era::Legacy => match self.handle_in_session(received.id, received.request)? {
                legacy::RequestOutcome::Response(response) => return Ok(Some(response)),
                legacy::RequestOutcome::Call(call) => call,
            },
        };
        match &call.request {
            ClientRequest::Discover(_) => return Ok(Some(modern::discover(&self.profile, &call))),
            ClientRequest::Listen(params) => {
                let most = self.profile.limits.server.subscriptions;
                if self.subscriptions.len() >= most {
                    return Err(too_many(most));
                }
                let (subscription, message) = OpenSubscription::open(&self.profile, &call, params)?;
                if self.profile.forwards {
                    let wish = subscription.filter().clone();
                    self.out
                        .push_back(Output::Subscription(id.clone(), Some(wish)));
                }
                self.subscriptions.push(subscription);
                self.out.push_back(Output::Send(message));
                return Ok(None);
            }
            _ => {}
        }
        let running = RunningCall {
            origin: Arc::clone(&call.origin),
            batch,
        };
        self.calls.insert(call.id.clone(), running);
        self.out.push_back(Output::Call(Box::new(call)));
        Ok(None)
    }

    /// Notifications have no response; invalid ones are ignored.
    fn handle_notification(&mut self, notification: Notification) {
        let params = notification.params.as_deref();
        match ClientNotification::parse(&notification.method, params) {
            Ok(ClientNotification::Cancelled(cancelled)) => {
                let reason = cancelled.logged_reason();
                let Some(id) = cancelled.request_id else {
                    return;
                };
                if let Some(index) = self.subscription(&id) {
                    self.subscriptions.remove(index);
                    if self.profile.forwards {
                        self.out.push_back(Output::Subscription(id, None));
                    }
                    return;
                }
                let Some(running) = self.calls.remove(&id) else {
                    self.out.push_back(Output::StrayCancel(id));
                    return;
                };
                let batch = running.batch.and_then(|number| self.batches.close(number));
                let batch = batch.map(|batch| Output::Batch(id.clone(), batch));
                self.out.extend(batch);
                self.out.push_back(Output::Cancel(id, reason));
            }
            Ok(ClientNotification::Initialized(_)) => {
                if let Some(session) = &mut self.session {
                    session.initialized = true;
                    let held = core::mem::take(&mut self.held).into_iter();
                    self.out
                        .extend(held.map(|held| question_output(held.call, held.message)));
                }
            }
            Ok(ClientNotification::RootsListChanged(_)) => {
                let origin = self.session_client().cloned();
                self.out.extend(origin.map(Output::RootsChanged));
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn handle_in_session(
        &mut self,
        id: RequestId,
        request: ClientRequest,
    ) -> Result<legacy::RequestOutcome, ErrorObject> {
        let sender = Sender {
            principal: self.principal.as_ref(),
            place: self.place,
        };
        legacy::handle_request(&mut self.session, &self.profile, &sender, id, request)
    }

    fn subscription(&self, id: &RequestId) -> Option<usize> {
        self.subscriptions
            .iter()
            .position(|subscription| subscription.id() == id)
    }

    fn handle_response(&mut self, response: Response) {
        if let Some(id) = &response.id {
            self.answered(id, response.outcome.map(RawJson::from));
        }
    }

    /// Ignores answers to unknown or answered questions.
    fn answered(&mut self, id: &RequestId, outcome: Result<RawJson, ErrorObject>) {
        let number = match id {
            RequestId::Number(number) => number,
            RequestId::String(id) => {
                self.out.push_back(Output::StrayAnswer(id.clone(), outcome));
                return;
            }
        };
        let ask = AskId(*number);
        // The question was not sent yet.
        if self.held.iter().any(|held| held.ask == ask) {
            return;
        }
        if let Some(lowered) = self.asks.remove(&ask) {
            let answer = outcome.map(|answer| lift(lowered.as_ref(), answer));
            self.out.push_back(Output::Answer(ask, answer));
        }
    }

    fn send_response(&mut self, response: Vec<u8>, batch: Option<u64>) {
        let message = match batch {
            Some(batch) => self.batches.respond(batch, response),
            None => Some(response),
        };
        self.out.extend(message.map(Output::Send));
    }
}

fn question_output(call: Option<RequestId>, message: Vec<u8>) -> Output {
    match call {
        Some(call) => Output::Ask(call, message),
        None => Output::Send(message),
    }
}

fn no_batches() -> ErrorObject {
    ErrorObject::new(jsonrpc::INVALID_REQUEST, "this revision has no batches")
}
