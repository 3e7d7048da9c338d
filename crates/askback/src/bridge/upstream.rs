//! Forwards a client's requests to the server and converts the results.

use std::{sync::Arc, time::Duration};

use askback_core::{
    engine::client::CallId,
    future::BoxFuture,
    jsonrpc::{self, ErrorObject, RequestId},
    limits::AskingLimits,
    protocol::{
        CallToolResult, ClientCapabilities, ClientRequest, ElicitAction, ElicitParams, HasMeta,
        InputRequest, InputRequests, InputRequiredResult, InputResponse, InputResponses, Meta,
        OtherRequest, Outcome, RawJson, RawObject, ServerCapabilities, SubscriptionFilter,
        UrlElicitationRequired, codes,
    },
    revision::{Era, Revision},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    Bridge, Forward, ForwardClient, ForwardCtx, Forwarded,
    greeting::ClientGreeting,
    hold::{CallKey, HeldCall},
    marked,
    older_server::{OlderServer, failure},
    park::{Park, RoundEnd},
    recent_rounds::RecentRounds,
    session::Session,
    union,
};
use crate::{
    client::{CallTarget, Client, ClientError, HostQuestion},
    error::{Error, Result},
};

/// The id of the subscription for a client with a session, which receives all list changes.
const OF_SESSION: RequestId = RequestId::Number(-1);

pub(super) struct Upstream {
    pub(super) client: Client,
    pub(super) revision: Revision,
    pub(super) session: Arc<Session>,
    /// The capabilities of `Answers`, which answers on the client's behalf.
    lent: ClientCapabilities,
    limits: AskingLimits,
    /// Whether the client has a session, on which it receives all list changes.
    has_session: bool,
    mark: String,
    recent: RecentRounds,
    older: Option<Arc<OlderServer>>,
}

/// A round in which the client gets only some of the server's questions.
#[derive(Serialize, Deserialize)]
struct SharedRound {
    #[serde(rename = "r")]
    state: Option<String>,
    #[serde(rename = "a")]
    answers: InputResponses,
}

impl Upstream {
    /// `older` is the second connection to a server that cannot ask on this one.
    pub(super) fn new(
        bridge: &Bridge,
        guest: &ClientGreeting,
        session: Arc<Session>,
        client: Client,
        older: Option<Arc<OlderServer>>,
    ) -> Self {
        // The client decides how long a request may take.
        let client = client.with_timeout(Duration::MAX);
        let client = client.with_timeout_in_all(Duration::MAX);
        Self {
            revision: client.revision(),
            client,
            session,
            lent: bridge.answers.capabilities(),
            limits: bridge.limits.asking.clone(),
            has_session: guest.revision.era() == Era::Legacy,
            mark: bridge.mark.clone(),
            recent: RecentRounds::default(),
            older,
        }
    }

    pub(super) async fn answer(
        &self,
        request: ClientRequest,
        ctx: ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Forwarded> {
        if let (ClientRequest::Other(request), Some(older)) = (&request, &self.older)
            && let Some(answer) = older.answer(request, &ctx, held).await
        {
            return answer;
        }
        match request {
            ClientRequest::Other(request) if ctx.revision() == self.revision => {
                self.pass(*request, &ctx, held).await
            }
            ClientRequest::Other(request) if !ctx.can_ask() && target(&request).is_some() => {
                self.park(*request, &ctx, held).await
            }
            ClientRequest::Other(request) => {
                let request = request.read().map_err(Error::protocol)?;
                self.convert(request, &ctx, held).await
            }
            request => self.choose(request, &ctx).await,
        }
    }

    /// The future of [`Upstream::answer`] contains this one: the second connection answers for the first.
    pub(super) fn answer_boxed<'a>(
        &'a self,
        request: ClientRequest,
        ctx: ForwardCtx,
        held: Option<&'a Arc<HeldCall>>,
    ) -> BoxFuture<'a, Result<Forwarded>> {
        Box::pin(self.answer(request, ctx, held))
    }

    async fn exchange(
        &self,
        request: ClientRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Box<RawValue>, ClientError> {
        let call = self.client.exchange(request);
        let held = held.cloned();
        let _guard = self.session.begin(call.id(), ctx.clone(), None, held);
        call.outcome().await
    }

    /// Forwards a request unchanged to a server that speaks the client's revision.
    async fn pass(
        &self,
        mut request: OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Forwarded> {
        self.take_up(&mut request, ctx, held).await?;
        request.meta = self.meta(ctx);
        for _ in 0..=self.limits.rounds {
            let outcome = self.exchange(request.clone().into(), ctx, held).await;
            let (responses, state) = match outcome {
                Ok(result) => match asks(self.revision, &result)? {
                    None => {
                        if let Some(older) = &self.older
                            && let Some(failure) = failure(&result)
                            && let Some(answer) = older.replace(&request, &failure).await
                        {
                            return answer;
                        }
                        let result = self.done(&request, ctx, result)?;
                        return Ok(self.result(result));
                    }
                    Some(asks) => match self.answer_round(asks, &request, ctx, held).await? {
                        Round::Pass(asks) => {
                            self.remember(&request, asks)?;
                            return Ok(self.result(result));
                        }
                        Round::Ask(asks) => {
                            self.remember(&request, asks.clone())?;
                            return Ok(Forwarded::NeedInput(asks));
                        }
                        Round::Again(responses, state) => (Some(responses), state),
                    },
                },
                Err(ClientError::Server(error)) => match self.links(&error, &request, ctx) {
                    None => {
                        if let Some(older) = &self.older
                            && let Some(answer) = older.replace(&request, &error.message).await
                        {
                            return answer;
                        }
                        return Err(Error::protocol(error));
                    }
                    Some(links) => {
                        self.open_links(links, &request, held).await?;
                        (None, None)
                    }
                },
                Err(error) => return Err(Error::protocol(error_object(error))),
            };
            let set = request.set_round(responses.as_ref(), state.as_deref());
            set.map_err(Error::internal)?;
        }
        let error = ClientError::TooManyRounds(self.limits.rounds);
        Err(Error::protocol(error_object(error)))
    }

    /// Forwards a call from a client that is asked in results to a server that asks on its session, or continues a
    /// parked call.
    async fn park(
        &self,
        request: OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Forwarded> {
        let (state, answers) = round_of(&request);
        let is_first = state.is_none();
        let (id, park) = match state {
            None => self.begin_park(&request, ctx, held)?,
            Some(state) => {
                let opened = ctx.open::<(String, u64)>(&request, &state)?;
                let (id, last_question) = opened.ok_or_else(|| {
                    let why = "Invalid or expired requestState";
                    Error::protocol(ErrorObject::invalid_params(why))
                })?;
                let Some(park) = self.session.parks().find(&id) else {
                    let why = "The answers came too late, or the call was cancelled.";
                    return self.expired(&request, why);
                };
                self.session.resume(&park, ctx, held);
                park.answer(answers.unwrap_or_default(), last_question);
                (id, park)
            }
        };
        match park.round(self.limits.round_ttl).await {
            RoundEnd::Done(done) => {
                if is_first {
                    park.forget();
                }
                done.map(|result| self.result(result.into()))
                    .map_err(Error::protocol)
            }
            RoundEnd::Asks(questions, last_question) => {
                let state = ctx.seal(&request, &(id, last_question));
                // Without a state, no client could continue it.
                let state = state.inspect_err(|_| park.forget())?;
                Ok(Forwarded::NeedInput(InputRequiredResult {
                    input_requests: Some(questions),
                    request_state: Some(state),
                    meta: None,
                }))
            }
        }
    }

    /// Whether this connection issued the state of a later round.
    pub(super) fn is_parked(&self, request: &OtherRequest, ctx: &ForwardCtx) -> bool {
        let (state, _) = round_of(request);
        state.is_some_and(|state| {
            let opened = ctx.open::<(String, u64)>(request, &state);
            opened.is_ok_and(|opened| opened.is_some())
        })
    }

    fn begin_park(
        &self,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<(String, Arc<Park>)> {
        let mut request = request.clone().read().map_err(Error::protocol)?;
        if !ctx.meta().is_empty() {
            request.meta_mut().extra = ctx.meta().clone();
        }
        let (client, session, ctx) = (self.client.clone(), Arc::clone(&self.session), ctx.clone());
        let held = held.cloned();
        self.session.parks().begin(self.limits.round_ttl, |park| {
            Box::pin(async move {
                let call = client.exchange(request);
                let _guard = session.begin(call.id(), ctx.clone(), Some(Arc::clone(&park)), held);
                match call.outcome().await {
                    Err(error) => (Err(error_object(error)), None),
                    Ok(result) => match ctx.take_room(result.get().len()) {
                        Ok(room) => (Ok(result.into()), Some(room)),
                        // Its result is delivered at once.
                        Err(_) if park.is_listened_to() => (Ok(result.into()), None),
                        Err(_) => {
                            let why = "the call is done, but there was no room to keep its result";
                            (Err(ErrorObject::internal(why)), None)
                        }
                    },
                }
            })
        })
    }

    /// Returns the result of a call that was given up, written for a model that may call again.
    pub(super) fn expired(&self, request: &OtherRequest, why: &str) -> Result<Forwarded> {
        let why = format!(
            "{why} It is not known whether the call took effect: check that before you call again."
        );
        call_error(request, why)
    }

    async fn convert(
        &self,
        mut request: ClientRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Forwarded> {
        if !ctx.meta().is_empty() {
            request.meta_mut().extra = ctx.meta().clone();
        }
        match self.exchange(request, ctx, held).await {
            Ok(result) => Ok(self.result(result)),
            Err(error) => Err(Error::protocol(error_object(error))),
        }
    }

    /// Handles a subscription for the session. If the server has no sessions, the bridge subscribes instead.
    async fn choose(&self, request: ClientRequest, ctx: &ForwardCtx) -> Result<Forwarded> {
        let chosen = match (&request, self.revision.era()) {
            (ClientRequest::Subscribe(params), Era::Modern) => {
                self.client.subscribe(&params.uri).await
            }
            (ClientRequest::Unsubscribe(params), Era::Modern) => {
                self.client.unsubscribe(&params.uri).await
            }
            _ => return self.convert(request, ctx, None).await,
        };
        let chosen = chosen.map_err(|error| Error::protocol(error_object(error)));
        chosen.map(|()| Forwarded::Result {
            result: RawObject::default().into(),
            revision: ctx.revision(),
        })
    }

    fn done(
        &self,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        result: Box<RawValue>,
    ) -> Result<Box<RawValue>> {
        let asks_here = self.lent != ClientCapabilities::default();
        match asks_here && self.revision.era() == Era::Modern {
            true => self.follow_task(request, ctx, result),
            false => Ok(result),
        }
    }

    pub(super) fn result(&self, result: Box<RawValue>) -> Forwarded {
        Forwarded::Result {
            result: result.into(),
            revision: self.revision,
        }
    }

    /// Returns the `_meta` of a request: the client's, with the capabilities of `Answers` added.
    pub(super) fn meta(&self, ctx: &ForwardCtx) -> Option<Box<Meta>> {
        let mut meta = Meta {
            extra: ctx.meta().clone(),
            ..Meta::default()
        };
        if self.revision.era() == Era::Modern {
            meta.client_info = ctx.client_info().cloned().map(|it| marked(it, &self.mark));
            meta.client_capabilities = Some(union(ctx.capabilities(), &self.lent));
            meta.log_level = ctx.log_level();
        }
        meta.boxed()
    }

    /// If the client got only some of the server's questions in the previous round, adds the answers to the others. Asks
    /// here what the client refused by itself.
    async fn take_up(
        &self,
        request: &mut OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<()> {
        // Without lent capabilities no round is shared, so no key is needed.
        if self.lent == ClientCapabilities::default() {
            return Ok(());
        }
        let (state, answers) = round_of(request);
        if state.is_none() && answers.is_none() {
            return Ok(());
        }
        let key = CallKey::of(request)?;
        let recent = self.recent.take(&key, state.as_deref(), Instant::now());
        let shared = match &state {
            Some(state) => ctx.open::<SharedRound>(request, state)?,
            None => None,
        };
        let mut answers = answers.unwrap_or_default();
        let mut is_changed = shared.is_some();
        let state = match shared {
            Some(round) => {
                for (key, answer) in round.answers {
                    answers.insert(key, answer);
                }
                round.state
            }
            None => state,
        };
        let (questions, took) = recent.unwrap_or_default();
        for (key, question) in questions {
            let is_refused = answers
                .get(&key)
                .is_some_and(|answer| self.session.is_refused_by_client(&question, answer, took));
            if is_refused {
                let answer = self
                    .answer_here(request, key.clone(), question, held)
                    .await?;
                answers.insert(key, answer);
                is_changed = true;
            }
        }
        if !is_changed {
            return Ok(());
        }
        request
            .set_round(Some(&answers), state.as_deref())
            .map_err(Error::internal)
    }

    /// Remembers the questions of a round for a short time, if a refusal could be answered here.
    fn remember(&self, request: &OtherRequest, round: InputRequiredResult) -> Result<()> {
        if self.lent != ClientCapabilities::default() {
            self.recent
                .add(CallKey::of(request)?, round, Instant::now());
        }
        Ok(())
    }

    async fn answer_here(
        &self,
        request: &OtherRequest,
        key: String,
        question: InputRequest,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<RawJson> {
        let question = self.question(request, Some(key), question);
        let answer = self.session.answer_here(question, held).await?;
        RawJson::new(&answer).map_err(Error::internal)
    }

    /// Whether the client is asked this question, and not [`Answers`](super::Answers).
    pub(super) fn is_for_client(&self, question: &InputRequest, ctx: &ForwardCtx) -> bool {
        ctx.takes(question) && !self.session.answers_for(question)
    }

    async fn answer_round(
        &self,
        asks: InputRequiredResult,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<Round> {
        if self.lent == ClientCapabilities::default() {
            return Ok(Round::Pass(asks));
        }
        let is_own = |question: &InputRequest| self.is_for_client(question, ctx);
        let is_passed = asks
            .input_requests
            .as_ref()
            .is_none_or(|questions| questions.iter().all(|(_, question)| is_own(question)));
        if is_passed {
            return Ok(Round::Pass(asks));
        }
        let questions = asks.input_requests.unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) = questions
            .into_iter()
            .partition(|(_, question)| is_own(question));
        let mut answers = InputResponses::default();
        for (key, question) in others {
            let answer = self
                .answer_here(request, key.clone(), question, held)
                .await?;
            answers.insert(key, answer);
        }
        if own.is_empty() {
            return Ok(Round::Again(answers, asks.request_state));
        }
        let round = SharedRound {
            state: asks.request_state,
            answers,
        };
        Ok(Round::Ask(InputRequiredResult {
            input_requests: Some(own.into_iter().collect::<InputRequests>()),
            request_state: Some(ctx.seal(request, &round)?),
            meta: None,
        }))
    }

    /// Returns the links that must be opened first (2025-11-25, client/elicitation, URL Elicitation Required Error), if
    /// the client opens no links and `Answers` does.
    fn links(
        &self,
        error: &ErrorObject,
        request: &OtherRequest,
        ctx: &ForwardCtx,
    ) -> Option<UrlElicitationRequired> {
        let is_asked = self.revision.facts().url_elicitation_error
            && error.code == codes::URL_ELICITATION_REQUIRED
            && target(request).is_some();
        if !is_asked || ctx.capabilities().elicits_url() || !self.lent.elicits_url() {
            return None;
        }
        serde_json::from_value(error.data.clone()?).ok()
    }

    async fn open_links(
        &self,
        links: UrlElicitationRequired,
        request: &OtherRequest,
        held: Option<&Arc<HeldCall>>,
    ) -> Result<()> {
        for link in links.into_links() {
            let link = InputRequest::Elicit(ElicitParams::Url(link));
            let question = self.question(request, None, link);
            let answer = self.session.ask(question, held).await?;
            let agrees = matches!(answer, InputResponse::Elicit(answer) if answer.action == ElicitAction::Accept);
            if !agrees {
                let why = "the person did not agree to open the link";
                let error = ErrorObject::new(codes::USER_REJECTED, why);
                return Err(Error::protocol(error_object(ClientError::QuestionRefused(
                    error,
                ))));
            }
        }
        Ok(())
    }

    fn question(
        &self,
        request: &OtherRequest,
        key: Option<String>,
        question: InputRequest,
    ) -> HostQuestion {
        HostQuestion {
            server: self.client.server_info(),
            call: None::<CallId>,
            target: target(request),
            key,
            request: question,
            retried: true,
        }
    }
}

enum Round {
    /// The client supports all of them: they pass unchanged.
    Pass(InputRequiredResult),
    Ask(InputRequiredResult),
    Again(InputResponses, Option<String>),
}

impl Forward for Upstream {
    fn capabilities(&self) -> ServerCapabilities {
        self.client.capabilities()
    }

    fn request(&self, request: ClientRequest, ctx: ForwardCtx) -> BoxFuture<'_, Result<Forwarded>> {
        Box::pin(self.answer(request, ctx, None))
    }

    fn connected(&self, client: ForwardClient) {
        self.session.set_client(client);
        if self.revision.era() == Era::Modern && self.has_session {
            let all = Some(true);
            let lists = SubscriptionFilter {
                tools_list_changed: all,
                prompts_list_changed: all,
                resources_list_changed: all,
                ..SubscriptionFilter::default()
            };
            self.session.listen(&self.client, OF_SESSION, Some(lists));
        }
    }

    fn watches(&self, subscription: &RequestId, filter: Option<&SubscriptionFilter>) {
        let (id, filter) = (subscription.clone(), filter.cloned());
        self.session.listen(&self.client, id, filter);
    }
}

pub(super) fn target(request: &OtherRequest) -> Option<CallTarget> {
    CallTarget::new(request.method(), request.target()?)
}

/// Returns the state and the answers in a request. If they cannot be read here, the server rejects them.
fn round_of(request: &OtherRequest) -> (Option<String>, Option<InputResponses>) {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct OfRound {
        request_state: Option<String>,
        input_responses: Option<InputResponses>,
    }
    let params = request.params();
    let round = params.and_then(|params| params.decode::<OfRound>().ok());
    let round = round.unwrap_or_default();
    (round.request_state, round.input_responses)
}

/// Returns an error for a model: the result of a tool, or else a protocol error.
pub(super) fn call_error(request: &OtherRequest, why: String) -> Result<Forwarded> {
    match request.method() {
        "tools/call" => tool_error(why),
        _ => Err(Error::protocol(ErrorObject::internal(why))),
    }
}

fn tool_error(why: impl Into<String>) -> Result<Forwarded> {
    Ok(Forwarded::Result {
        result: RawJson::new(&CallToolResult::error(why)).map_err(Error::internal)?,
        revision: Revision::LATEST_LEGACY,
    })
}

pub(super) fn is_later_round(request: &OtherRequest) -> bool {
    let (state, answers) = round_of(request);
    state.is_some() || answers.is_some()
}

fn asks(revision: Revision, result: &RawValue) -> Result<Option<InputRequiredResult>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Peek {
        result_type: Option<String>,
    }
    let asks = revision.facts().result_type
        && serde_json::from_str::<Peek>(result.get())
            .is_ok_and(|peek| peek.result_type.as_deref() == Some("input_required"));
    if !asks {
        return Ok(None);
    }
    // The client may be able to read a result that cannot be read here.
    match Outcome::<()>::parse(result) {
        Ok(Outcome::NeedInput(asks)) => Ok(Some(asks)),
        _ => Ok(None),
    }
}

pub(super) fn error_object(error: ClientError) -> ErrorObject {
    match error {
        ClientError::Server(error) => error,
        ClientError::Unsupported(why) => ErrorObject::new(jsonrpc::METHOD_NOT_FOUND, why),
        error => ErrorObject::internal(error.to_string()),
    }
}
