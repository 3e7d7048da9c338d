//! The calls, questions and notifications between one client and its server.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use askback_core::{
    ask::mark_refusal,
    engine::client::CallId,
    jsonrpc::{ErrorObject, RequestId},
    limits::AskingLimits,
    protocol::{
        AnswerSource, ClientCapabilities, ElicitAction, ElicitParams, ElicitResult, Implementation,
        InputRequest, InputResponse, LoggingMessageParams, ProgressParams, RawJson,
        ServerNotification, SubscriptionFilter,
    },
};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{
    Answers, ForwardClient, ForwardCtx, Withdrawal,
    hold::{HeldCall, HeldCalls},
    park::{Park, Parks},
    task_questions::TaskQuestions,
    upstream::error_object,
};
use crate::{
    client::{Client, ClientBuilder, ClientError, Event, HostQuestion},
    ctx::Audience,
    error::{Error, Result},
    mutex::Mutex,
    server::{Change, Server, Shared},
};

/// If a link was already opened and is asked for again, the same answer is returned after this pause. It doubles each
/// time.
const LINK_PAUSE: Duration = Duration::from_secs(2);

const LINKS: usize = 16;

type Hear = Arc<dyn Fn(Event) + Send + Sync>;

pub(super) struct Session {
    answers: Arc<dyn Answers>,
    event: Option<Hear>,
    info: Implementation,
    limits: AskingLimits,
    calls: Mutex<HashMap<CallId, CallInProgress>>,
    parks: Arc<Parks>,
    held_calls: Arc<HeldCalls>,
    tasks: Arc<TaskQuestions>,
    /// The Tokio tasks of the subscriptions, by the client's request id.
    subscriptions: Mutex<HashMap<RequestId, AbortOnDrop>>,
    client: OnceLock<ForwardClient>,
    server: OnceLock<Weak<Shared>>,
}

struct CallInProgress {
    ctx: ForwardCtx,
    /// The parked call, for a client that is asked in results while the server asks on its session.
    park: Option<Arc<Park>>,
    /// The client's call, if it may be given back to the client.
    held: Option<Arc<HeldCall>>,
    /// The opened links, and how often each was asked for again.
    links: HashMap<String, u32>,
}

impl CallInProgress {
    fn ctx(&self) -> Option<ForwardCtx> {
        match &self.held {
            Some(held) => held.ctx(),
            None => Some(self.ctx.clone()),
        }
    }
}

pub(super) struct CallGuard {
    session: Arc<Session>,
    id: CallId,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.session.calls.lock().remove(&self.id);
    }
}

impl Session {
    pub(super) fn new(
        answers: Arc<dyn Answers>,
        event: Option<Hear>,
        info: Implementation,
        limits: AskingLimits,
    ) -> Self {
        Self {
            answers,
            event,
            info,
            limits,
            calls: Mutex::default(),
            parks: Arc::default(),
            held_calls: Arc::default(),
            tasks: Arc::default(),
            subscriptions: Mutex::default(),
            client: OnceLock::new(),
            server: OnceLock::new(),
        }
    }

    /// Returns the session of a second connection to the server, for the same client.
    pub(super) fn beside(&self) -> Self {
        Self {
            answers: Arc::clone(&self.answers),
            event: self.event.clone(),
            info: self.info.clone(),
            limits: self.limits.clone(),
            calls: Mutex::default(),
            parks: Arc::clone(&self.parks),
            held_calls: Arc::clone(&self.held_calls),
            tasks: Arc::clone(&self.tasks),
            subscriptions: Mutex::default(),
            client: self.client.clone(),
            server: self.server.clone(),
        }
    }

    /// Routes the client's questions and notifications to this session.
    pub(super) fn hear(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        // Weak references, because the session's subscriptions keep the client alive.
        let [form, link, sample, roots, events] = [(); 5].map(|()| Arc::downgrade(self));
        builder
            .on_elicit(move |question| {
                let session = form.upgrade();
                let request = InputRequest::Elicit(ElicitParams::Form(question.request.clone()));
                async move { there(session)?.elicit(question.with(request)).await }
            })
            .on_elicit_url(move |question| {
                let session = link.upgrade();
                let request = InputRequest::Elicit(ElicitParams::Url(question.request.clone()));
                async move { there(session)?.elicit(question.with(request)).await }
            })
            .on_sample(move |question| {
                let session = sample.upgrade();
                let request = InputRequest::Sample(Box::new(question.request.clone()));
                async move {
                    match there(session)?.ask(question.with(request), None).await? {
                        InputResponse::Sample(message) => Ok(*message),
                        _ => Err(mismatch()),
                    }
                }
            })
            .on_roots(move |question| {
                let session = roots.upgrade();
                let request = InputRequest::Roots(question.request.clone());
                async move {
                    match there(session)?.ask(question.with(request), None).await? {
                        InputResponse::Roots(listed) => Ok(listed.roots),
                        _ => Err(mismatch()),
                    }
                }
            })
            .on_event(move |event| {
                if let Some(session) = events.upgrade() {
                    session.handle(event);
                }
            })
    }

    pub(super) fn serves(&self, server: &Server) {
        // Set once per session.
        let _ = self.server.set(Arc::downgrade(&server.0));
    }

    pub(super) fn set_client(&self, client: ForwardClient) {
        // Set once per session.
        let _ = self.client.set(client);
    }

    pub(super) fn begin(
        self: &Arc<Self>,
        id: CallId,
        ctx: ForwardCtx,
        park: Option<Arc<Park>>,
        held: Option<Arc<HeldCall>>,
    ) -> CallGuard {
        let call = CallInProgress {
            ctx,
            park,
            held,
            links: HashMap::new(),
        };
        self.calls.lock().insert(id, call);
        let session = Arc::clone(self);
        CallGuard { session, id }
    }

    /// Handles the next round of a parked call: progress goes to this request from now on.
    pub(super) fn resume(&self, park: &Arc<Park>, ctx: &ForwardCtx, held: Option<&Arc<HeldCall>>) {
        let mut calls = self.calls.lock();
        let of_park = |call: &&mut CallInProgress| {
            call.park
                .as_ref()
                .is_some_and(|other| Arc::ptr_eq(other, park))
        };
        if let Some(call) = calls.values_mut().find(of_park) {
            call.ctx = ctx.clone();
            call.held = held.cloned();
        }
    }

    pub(super) fn answers_for(&self, question: &InputRequest) -> bool {
        self.answers.answers_for(&self.info, question)
    }

    pub(super) fn parks(&self) -> &Arc<Parks> {
        &self.parks
    }

    pub(super) fn held_calls(&self) -> &Arc<HeldCalls> {
        &self.held_calls
    }

    pub(super) fn tasks(&self) -> &TaskQuestions {
        &self.tasks
    }

    async fn elicit(&self, question: HostQuestion) -> Result<ElicitResult> {
        match self.ask(question, None).await? {
            InputResponse::Elicit(answer) => Ok(answer),
            _ => Err(mismatch()),
        }
    }

    /// Asks the client if it supports the question, and otherwise [`Answers`](super::Answers).
    ///
    /// `held` is the call that asks, if it may be given back; by default it is found by the id of the call.
    pub(super) async fn ask(
        &self,
        question: HostQuestion,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<InputResponse> {
        let link = opened_link(&question);
        if let (Some(link), Some(call), true) = (&link, question.call, question.retried)
            && let Some(pause) = self.asks_link_again(call, link)
        {
            // The user has consented, but is not done with the page yet.
            sleep(pause).await;
            return Ok(InputResponse::Elicit(ElicitResult::agree()));
        }
        let call = question.call;
        let answer = self.ask_once(question, held).await?;
        if let (Some(link), Some(call), InputResponse::Elicit(elicited)) = (link, call, &answer)
            && elicited.action == ElicitAction::Accept
            && let Some(call) = self.calls.lock().get_mut(&call)
            && call.links.len() < LINKS
        {
            call.links.insert(link, 0);
        }
        Ok(answer)
    }

    async fn ask_once(
        &self,
        question: HostQuestion,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<InputResponse> {
        if self.answers_for(&question.request) {
            return self.answer_here(question, held).await;
        }
        let (key, request) = (question.key.as_deref(), &question.request);
        let asked = Instant::now();
        let answer = loop {
            let call = match question.call {
                Some(call) => self.call_of(call),
                None => self.parked_call(request),
            };
            break match (call, self.client.get()) {
                (Some((ctx, Some(park))), _) if ctx.takes(request) => {
                    match park.ask(key, request.clone()).await {
                        Some(answer) => answer,
                        // The client may still be reachable through another call.
                        None if question.call.is_none() => continue,
                        None => {
                            let why = "the call of this question has ended";
                            return Err(Error::protocol(ErrorObject::internal(why)));
                        }
                    }
                }
                (Some((ctx, None)), _) if ctx.can_ask() && ctx.takes(request) => {
                    ctx.ask(key, request.clone()).await?
                }
                (None, Some(client)) if client.takes(request) => {
                    client.ask(key, request.clone()).await?
                }
                _ => return self.answer_here(question, held).await,
            };
        };
        // Clients that declare elicitation decline by themselves when no user is there.
        if self.is_refused_by_client(request, &answer, asked.elapsed()) {
            return self.answer_here(question, held).await;
        }
        let read = request.read_response(&answer);
        read.map_err(|error| {
            let why = format!("the client's answer cannot be read: {error}");
            Error::protocol(ErrorObject::internal(why))
        })
    }

    /// Whether the client declined or cancelled the question by itself, and [`Answers`](super::Answers) answers such
    /// questions.
    pub(super) fn is_refused_by_client(
        &self,
        question: &InputRequest,
        answer: &RawJson,
        took: Duration,
    ) -> bool {
        if !lends(&self.answers.capabilities(), question) {
            return false;
        }
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let answer = mark_refusal(answer.clone(), Some(took), Some(&self.info), &self.limits);
        let answer = answer.decode::<ElicitResult>().ok();
        let by = answer.and_then(|answer| answer.meta?.answered_by());
        by == Some(AnswerSource::Client)
    }

    pub(super) async fn answer_here(
        &self,
        question: HostQuestion,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<InputResponse> {
        let of_id = |call| self.calls.lock().get(&call)?.held.clone();
        let call = held.cloned().or_else(|| question.call.and_then(of_id));
        let _asking = self.held_calls.asking(call.as_ref());
        let withdrawal = self.held_calls.withdrawal(call.as_ref());
        self.answers.answer_unless(question, withdrawal).await
    }

    /// Answers a question of a server's task, which belongs to no call in progress.
    pub(super) async fn answer_for_task(
        &self,
        question: HostQuestion,
        withdrawal: Withdrawal,
    ) -> Result<InputResponse> {
        self.answers.answer_unless(question, withdrawal).await
    }

    /// If this call already opened the link, returns how long to wait before giving the same answer again.
    fn asks_link_again(&self, call: CallId, link: &str) -> Option<Duration> {
        let mut calls = self.calls.lock();
        let times = calls.get_mut(&call)?.links.get_mut(link)?;
        *times += 1;
        Some(LINK_PAUSE.saturating_mul(1 << (*times - 1).min(8)))
    }

    fn call_of(&self, call: CallId) -> Option<(ForwardCtx, Option<Arc<Park>>)> {
        let calls = self.calls.lock();
        let call = calls.get(&call)?;
        Some((call.ctx()?, call.park.clone()))
    }

    /// Returns a parked call through which the client can be asked, now or in its next round. If a session has several
    /// calls, the server does not say which one asks, but the client is the same.
    fn parked_call(&self, request: &InputRequest) -> Option<(ForwardCtx, Option<Arc<Park>>)> {
        let calls = self.calls.lock();
        let parked = calls.values().filter_map(|call| {
            let park = call.park.as_ref().filter(|park| !park.is_done())?;
            let takes = call.ctx.takes(request);
            takes.then(|| (call.ctx.clone(), Some(Arc::clone(park))))
        });
        let parked: Vec<_> = parked.collect();
        let is_listened_to = |(_, park): &&(_, Option<Arc<Park>>)| {
            park.as_ref().is_some_and(|park| park.is_listened_to())
        };
        parked
            .iter()
            .find(is_listened_to)
            .or(parked.first())
            .cloned()
    }

    /// Returns the client's request for a call, and the progress to report to it.
    fn advance(&self, call: CallId, progress: f64) -> Option<(ForwardCtx, f64)> {
        let calls = self.calls.lock();
        let call = calls.get(&call)?;
        let held = call.held.as_ref();
        let progress = held.map_or(progress, |held| held.advance(progress));
        Some((call.ctx()?, progress))
    }

    fn handle(&self, event: Event) {
        match event {
            Event::Progress {
                call,
                progress,
                total,
                message,
                ..
            } => {
                let Some((ctx, progress)) = self.advance(call, progress) else {
                    return;
                };
                let Some(progress_token) = ctx.progress_token().cloned() else {
                    return;
                };
                ctx.notify(ServerNotification::Progress(ProgressParams {
                    progress_token,
                    progress,
                    total,
                    message,
                    meta: None,
                }));
            }
            Event::Log {
                level,
                logger,
                data,
            } => self.notify(ServerNotification::Message(LoggingMessageParams {
                level,
                logger,
                data,
                meta: None,
            })),
            Event::ToolsChanged => self.changed(&Change::Tools),
            Event::PromptsChanged => self.changed(&Change::Prompts),
            Event::ResourcesChanged => self.changed(&Change::Resources),
            Event::ResourceUpdated(uri) => self.changed(&Change::Resource(uri)),
            Event::UrlCompleted { elicitation_id } => {
                if let Some(client) = self.client.get() {
                    client.complete_elicitation(elicitation_id);
                }
            }
            event => {
                if let Some(hear) = &self.event {
                    hear(event);
                }
            }
        }
    }

    pub(super) fn note(&self, what: String) {
        self.handle(Event::Note(what));
    }

    fn notify(&self, notification: ServerNotification) {
        if let Some(client) = self.client.get() {
            client.notify(notification);
        }
    }

    fn changed(&self, changed: &Change) {
        if let Some(server) = self.server.get().and_then(Weak::upgrade) {
            server.changed(changed, Audience::All);
        }
    }

    pub(super) fn listen(
        self: &Arc<Self>,
        upstream: &Client,
        subscription: RequestId,
        filter: Option<SubscriptionFilter>,
    ) {
        let Some(filter) = filter else {
            self.subscriptions.lock().remove(&subscription);
            return;
        };
        let (session, upstream) = (Arc::downgrade(self), upstream.clone());
        let id = subscription.clone();
        // The lock is taken first, because the task may end at once, and must find itself in the map.
        let mut subscriptions = self.subscriptions.lock();
        let task = tokio::spawn(async move {
            let ended = listen_until_end(upstream, filter).await;
            if let Some(session) = session.upgrade() {
                session.subscription_ended(&id, ended);
            }
        });
        // The id may have belonged to an earlier subscription, which has ended.
        subscriptions.insert(subscription, AbortOnDrop(task.abort_handle()));
    }

    fn subscription_ended(&self, id: &RequestId, ended: Result<(), ClientError>) {
        {
            let mut subscriptions = self.subscriptions.lock();
            let is_own = |task: &AbortOnDrop| task.0.id() == tokio::task::id();
            if subscriptions.get(id).is_some_and(is_own) {
                subscriptions.remove(id);
            }
        }
        let error = ended.err().map(error_object);
        let is_told = self
            .client
            .get()
            .is_some_and(|client| client.end_subscription(id, error.as_ref()));
        if let (false, Some(error)) = (is_told, error) {
            let why = format!("a subscription was refused: {}", error.message);
            self.note(why);
        }
    }
}

pub(super) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }

    pub(super) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens until the server ends the subscription. Fails if the server refuses it, or one of its resources.
async fn listen_until_end(upstream: Client, filter: SubscriptionFilter) -> Result<(), ClientError> {
    let wanted = filter.resource_subscriptions.clone().unwrap_or_default();
    let mut listening = upstream.listen(filter).await?;
    drop(upstream);
    let granted = listening.granted().resource_subscriptions.as_deref();
    let granted = granted.unwrap_or_default();
    if let Some(refused) = wanted.iter().find(|uri| !granted.contains(uri)) {
        let why = format!("the server does not report changes of {refused}");
        return Err(ClientError::Unsupported(why));
    }
    listening.ended().await
}

fn lends(lent: &ClientCapabilities, request: &InputRequest) -> bool {
    match request {
        InputRequest::Elicit(ElicitParams::Form(_)) => lent.elicits_form(),
        InputRequest::Elicit(ElicitParams::Url(_)) => lent.elicits_url(),
        InputRequest::Sample(_) => lent.sampling.is_some(),
        InputRequest::Roots(_) => lent.roots.is_some(),
    }
}

fn opened_link(question: &HostQuestion) -> Option<String> {
    match &question.request {
        InputRequest::Elicit(ElicitParams::Url(link)) => Some(format!(
            "{} {}",
            question.key.as_deref().unwrap_or_default(),
            link.url
        )),
        _ => None,
    }
}

fn there(session: Option<Arc<Session>>) -> Result<Arc<Session>> {
    session.ok_or_else(|| Error::protocol(ErrorObject::internal("the client has gone")))
}

fn mismatch() -> Error {
    Error::protocol(ErrorObject::internal(
        "the answer is of another kind than the question",
    ))
}
