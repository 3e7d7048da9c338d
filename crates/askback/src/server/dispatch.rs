//! Dispatches requests to their handlers, and writes the results for the wire.

mod lists;

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

#[cfg(feature = "http-server")]
use askback_core::protocol::RawJson;
use askback_core::{
    ask::{Principal, Reply},
    engine::server::{Call, Origin},
    jsonrpc::{self, ErrorObject},
    protocol::{
        CallToolParams, CallToolResult, ClientRequest, CompleteParams, CompleteResult, EmptyResult,
        GetPromptParams, HasMeta, InputResponses, Outcome, ReadResourceParams, ReadResourceResult,
        Reference,
    },
    quote::QuotedName,
    wire,
};
use serde::Serialize;
use serde_json::json;

#[cfg(feature = "bridge")]
use super::forward::{Forward, ForwardCtx, Forwarded};
use super::{
    Prompt, ResourceTemplate, Shared, Tool,
    answer::{Answer, error_object, is_modern, tool_result},
    call::{HandlerCall, TaskTerms},
    complete::CompletionRequest,
    handler_scope::HandlerScope,
    middleware,
    offer::{Offer, OfferDetails},
    page_cache::Message,
    rate::ThingHash,
    registry::ScopeId,
    resource::complete_contents,
    rounds::Rounds,
    trace::Trace,
};
use crate::{
    ctx::{Arguments, CallPeer, Incoming, ReadFlag, RequestMeta},
    error::{Error, Kind, Result},
    handler::ErasedHandler,
};
#[cfg(feature = "witness")]
use crate::{flow::AnswerRule, witness::WitnessRule};

pub(crate) struct CallResponse {
    pub(crate) message: Message,
    /// The JSON-RPC error code, if any. HTTP maps some codes to statuses.
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    pub(crate) error: Option<i64>,
}

/// Answers a request. A panic in the author's code costs only this request.
pub(crate) fn answer(
    shared: Arc<Shared>,
    call: Call,
    peer: CallPeer,
) -> impl Future<Output = CallResponse> + Send + 'static {
    answer_with(
        shared,
        call,
        peer,
        ParkedState::default(),
        |id, answered| answered.map(|answered| CallResponse::of(id, answered)),
    )
}

/// Answers a request of a session, or returns `None` if it is parked.
#[cfg(feature = "http-server")]
pub(crate) fn answer_or_park(
    shared: Arc<Shared>,
    call: Call,
    peer: CallPeer,
) -> impl Future<Output = Option<CallResponse>> + Send + 'static {
    let again = ParkedState::default();
    answer_with(shared, call, peer, again, |id, answered| {
        Some(answered.map(|answered| CallResponse::of(id, answered)))
    })
}

/// Continues a parked request whose questions now have answers; `errors` are the questions that the
/// client answered with an error. Returns `None` if it is parked again.
#[cfg(feature = "http-server")]
pub(crate) fn answer_again(
    shared: Arc<Shared>,
    call: Call,
    peer: CallPeer,
    errors: BTreeMap<String, Reply>,
) -> impl Future<Output = Option<CallResponse>> + Send + 'static {
    let again = ParkedState {
        errors: Some(errors),
        task: None,
    };
    answer_with(shared, call, peer, again, |id, answered| {
        Some(answered.map(|answered| CallResponse::of(id, answered)))
    })
}

/// Continues a task that was parked or whose process is gone. Returns `None` if it is parked again.
#[cfg(feature = "http-server")]
pub(crate) fn work_again(
    shared: Arc<Shared>,
    call: Call,
    peer: CallPeer,
    errors: BTreeMap<String, Reply>,
    at_once: bool,
) -> impl Future<Output = Option<Result<RawJson, ErrorObject>>> + Send + 'static {
    let again = ParkedState {
        errors: Some(errors),
        task: Some(at_once),
    };
    answer_with(shared, call, peer, again, |_, ended| {
        Some(ended.map(|ended| {
            let text = String::from_utf8(ended?.into_vec()).unwrap_or_default();
            RawJson::from_text(text).map_err(|error| ErrorObject::internal(error.to_string()))
        }))
    })
}

#[derive(Default)]
struct ParkedState {
    errors: Option<BTreeMap<String, Reply>>,
    /// For a task: whether it was a task from its beginning.
    task: Option<bool>,
}

type Written = Result<Message, ErrorObject>;

/// Answers a request, and turns its end into `T`. The future is pending if there is no `T`: the
/// session ends this work. `end` is an argument, because a future around this one would hold it
/// twice.
fn answer_with<T>(
    shared: Arc<Shared>,
    call: Call,
    peer: CallPeer,
    again: ParkedState,
    end: fn(&jsonrpc::RequestId, Option<Written>) -> Option<T>,
) -> impl Future<Output = T> + Send + 'static
where
    T: Send + 'static,
{
    let meta_bytes = call.meta_bytes();
    // Destructured first, so that the future does not hold it twice.
    let Call {
        id,
        request,
        meta,
        origin,
    } = call;
    let meta = RequestMeta {
        said: meta,
        bytes: meta_bytes,
    };
    async move {
        // A task was counted when its request was answered.
        let counts = again.task.is_none();
        let trace = Trace::begin(&shared, &request, &id, &origin, counts);
        let answering = CallContext {
            shared,
            peer,
            origin,
            trace,
            again,
        };
        let answered = {
            let mut answer = pin!(answering.answer(request, meta, &id));
            poll_fn(|cx| {
                let _entered = answering.trace.enter();
                let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)));
                polled.unwrap_or_else(|panic| Poll::Ready(Err(Error::panicked(&*panic))))
            })
            .await
        };
        let answered = match answered {
            Err(error) if error.is_parked() => {
                answering.trace.note_parked();
                None
            }
            answered => Some(answered.map_err(|error| error_object(&answering.origin, error))),
        };
        let error = answered
            .as_ref()
            .and_then(|answered| answered.as_ref().err());
        answering.trace.end(error);
        drop(answering);
        match end(&id, answered) {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }
}

impl CallResponse {
    fn of(id: &jsonrpc::RequestId, answered: Result<Message, ErrorObject>) -> Self {
        match answered {
            Ok(message) => Self {
                message,
                error: None,
            },
            Err(error) => Self {
                message: jsonrpc::write_error(Some(id), &error).into(),
                error: Some(error.code),
            },
        }
    }
}

struct CallContext {
    shared: Arc<Shared>,
    peer: CallPeer,
    origin: Arc<Origin>,
    trace: Trace,
    again: ParkedState,
}

impl CallContext {
    fn rounds(&self, state: Option<String>, responses: Option<InputResponses>) -> Rounds {
        let rounds = Rounds::new(state, responses);
        match &self.again.errors {
            Some(errors) => rounds.of_journal(errors),
            None => rounds,
        }
    }

    fn call<T: Answer>(
        &self,
        scope: ScopeId,
        handler: &ErasedHandler<Outcome<T>>,
        incoming: Incoming,
        rounds: Rounds,
    ) -> HandlerCall<T> {
        let handler = handler.clone();
        HandlerCall::new(&self.shared, scope, &self.peer, incoming, rounds, handler)
    }

    /// Answers a request. The future is small for tool calls; everything else that may wait is
    /// boxed.
    fn answer(
        &self,
        request: ClientRequest,
        meta: RequestMeta,
        id: &jsonrpc::RequestId,
    ) -> impl Future<Output = Result<Message>> + Send {
        let method = request.known_method();
        async move {
            #[cfg(feature = "bridge")]
            if let Some(to) = &self.shared.forward {
                return Box::pin(self.forward(&**to, request, meta, id)).await;
            }
            match request {
                ClientRequest::CallTool(params) => {
                    #[cfg(feature = "http-server")]
                    let prepared = match self.shared.calls_of_fleet() {
                        Some(_) => Box::pin(self.prepare_tool_in_fleet(params, meta)).await,
                        None => self.prepare_tool(params, meta),
                    };
                    #[cfg(not(feature = "http-server"))]
                    let prepared = self.prepare_tool(params, meta);
                    let mut call = match prepared? {
                        Ok(call) => call,
                        Err(refused) => return Ok(self.write_tool(id, Outcome::Done(refused))),
                    };
                    #[cfg(feature = "http-server")]
                    if self.again.task.is_some() {
                        let ended = Box::pin(call.run_task()).await;
                        let result = ended.ok_or_else(Error::parked)?;
                        let result = result.map_err(Error::protocol)?;
                        return Ok(result.as_str().as_bytes().to_vec().into());
                    }
                    let outcome = call.run().await?;
                    Ok(self.write_tool(id, outcome))
                }
                ClientRequest::GetPrompt(params) => {
                    let outcome = Box::pin(self.get_prompt(params, meta)).await?;
                    Ok(self.write(id, outcome))
                }
                ClientRequest::ReadResource(params) => {
                    let outcome = Box::pin(self.read_resource(params, meta)).await?;
                    Ok(self.write(id, outcome))
                }
                ClientRequest::ListTools(params) => self.list::<Tool>(id, method, &params),
                ClientRequest::ListPrompts(params) => self.list::<Prompt>(id, method, &params),
                ClientRequest::ListResources(params) => {
                    Box::pin(self.list_resources(id, method, &params)).await
                }
                ClientRequest::ListResourceTemplates(params) => {
                    self.list::<ResourceTemplate>(id, method, &params)
                }
                #[cfg(feature = "skills")]
                ClientRequest::ListSkills(params) => self.list_skills(id, method, &params),
                #[cfg(feature = "skills")]
                ClientRequest::GetSkill(params) => self.get_skill(id, method, &params.uri),
                #[cfg(feature = "skills")]
                ClientRequest::ReadResourceDirectory(params) => {
                    self.read_directory(id, method, &params)
                }
                ClientRequest::Complete(params) => {
                    let declared = self.shared.profile.capabilities.completions.is_some();
                    self.declared(declared, method)?;
                    let completed = Box::pin(self.complete(params, meta)).await?;
                    Ok(self.write(id, Outcome::Done(completed)))
                }
                ClientRequest::GetTask(params) => {
                    let owner = self.task_owner(method)?;
                    let task = self.shared.find_task(&params.task_id, owner);
                    let task = Box::pin(task).await?;
                    Ok(self.write(id, Outcome::Done(*task)))
                }
                ClientRequest::UpdateTask(params) => {
                    self.task_owner(method)?;
                    let (task, responses) = (&params.task_id, params.input_responses);
                    Box::pin(self.shared.update_task(task, &self.origin, responses)).await?;
                    Ok(self.write(id, Outcome::Done(EmptyResult::default())))
                }
                ClientRequest::CancelTask(params) => {
                    let owner = self.task_owner(method)?;
                    Box::pin(self.shared.end_task(&params.task_id, owner)).await?;
                    Ok(self.write(id, Outcome::Done(EmptyResult::default())))
                }
                #[cfg(not(feature = "skills"))]
                ClientRequest::ListSkills(_)
                | ClientRequest::GetSkill(_)
                | ClientRequest::ReadResourceDirectory(_) => {
                    Err(Error::protocol(ErrorObject::method_not_found(method)))
                }
                // The engine answers these, or the revision does not have the method.
                ClientRequest::Initialize(_)
                | ClientRequest::Discover(_)
                | ClientRequest::Ping(_)
                | ClientRequest::Subscribe(_)
                | ClientRequest::Unsubscribe(_)
                | ClientRequest::Listen(_)
                | ClientRequest::SetLevel(_)
                | ClientRequest::GetTaskPayload(_)
                | ClientRequest::ListTasks(_)
                | ClientRequest::Other(_) => {
                    Err(Error::protocol(ErrorObject::method_not_found(method)))
                }
            }
        }
    }

    #[cfg(feature = "bridge")]
    async fn forward(
        &self,
        to: &dyn Forward,
        request: ClientRequest,
        meta: RequestMeta,
        id: &jsonrpc::RequestId,
    ) -> Result<Message> {
        let method = request.method().to_owned();
        let ctx = ForwardCtx {
            shared: Arc::clone(&self.shared),
            origin: Arc::clone(&self.origin),
            peer: self.peer.clone(),
            meta: meta.said,
        };
        match to.request(request, ctx).await? {
            Forwarded::Result { result, revision } => {
                self.trace.note(&Outcome::Done(()));
                let revisions = [revision, self.origin.revision];
                let signature = &self.shared.signature;
                let written = wire::write_forwarded(&method, id, &result, revisions, signature);
                let written = written.map_err(|why| {
                    let why =
                        format!("the server behind this one gave no result of `{method}`: {why}");
                    Error::protocol(ErrorObject::internal(why))
                })?;
                Ok(written.into())
            }
            Forwarded::NeedInput(asks) => {
                Ok(self.write(id, Outcome::<EmptyResult>::NeedInput(asks)))
            }
        }
    }

    /// The owner of the tasks that a request may see. `None` unless the client declares the
    /// extension and calls may become tasks (SEP-2663, Protocol Errors).
    fn task_owner(&self, method: &str) -> Result<Option<&Arc<Principal>>> {
        let offered = self.shared.profile.capabilities.tasks_extension();
        self.declared(offered && is_modern(&self.origin), method)?;
        if !takes_tasks(&self.origin) {
            return Err(Error::task_required());
        }
        Ok(self.origin.principal.as_ref())
    }

    fn write_tool(&self, id: &jsonrpc::RequestId, outcome: Outcome<CallToolResult>) -> Message {
        if matches!(&outcome, Outcome::Done(result) if result.is_error == Some(true)) {
            self.trace.note_failed_tool();
        }
        self.write(id, outcome)
    }

    fn write<T: wire::Lower + HasMeta + Serialize>(
        &self,
        id: &jsonrpc::RequestId,
        outcome: Outcome<T>,
    ) -> Message {
        self.write_whole(id, outcome).into()
    }

    fn write_whole<T: wire::Lower + HasMeta + Serialize>(
        &self,
        id: &jsonrpc::RequestId,
        outcome: Outcome<T>,
    ) -> Vec<u8> {
        self.trace.note(&outcome);
        wire::write_outcome(
            self.origin.revision,
            id,
            outcome,
            Some(&self.shared.signature),
        )
    }

    fn declared(&self, declared: bool, method: &str) -> Result<()> {
        if declared {
            Ok(())
        } else {
            Err(Error::protocol(ErrorObject::method_not_found(method)))
        }
    }

    /// Prepares a tool call, or returns its result if it does not start.
    fn prepare_tool(
        &self,
        params: CallToolParams,
        meta: RequestMeta,
    ) -> Result<Result<HandlerCall<CallToolResult>, CallToolResult>> {
        let (tool, scope, thing) = self.find::<Tool>(&params.name)?;
        // A call that continues was counted in its first round.
        let taken = match &self.again.errors {
            Some(_) => Ok(()),
            None => {
                let (caller, name) = (self.caller(), &params.name);
                self.shared
                    .take_call_here(caller, thing, "tools/call", name)
            }
        };
        self.prepare_counted_tool(&tool, scope, taken, params, meta)
    }

    /// Prepares a tool call that the processes of a fleet count together.
    #[cfg(feature = "http-server")]
    async fn prepare_tool_in_fleet(
        &self,
        params: CallToolParams,
        meta: RequestMeta,
    ) -> Result<Result<HandlerCall<CallToolResult>, CallToolResult>> {
        let (tool, scope, thing) = self.find::<Tool>(&params.name)?;
        let taken = self.take_call(thing, "tools/call", &params.name).await;
        self.prepare_counted_tool(&tool, scope, taken, params, meta)
    }

    fn prepare_counted_tool(
        &self,
        tool: &Tool,
        scope: ScopeId,
        taken: Result<()>,
        params: CallToolParams,
        meta: RequestMeta,
    ) -> Result<Result<HandlerCall<CallToolResult>, CallToolResult>> {
        let output = tool.output.as_deref();
        if let Err(error) = taken {
            return tool_result(Err(error), &self.origin, output).map(Err);
        }
        let incoming = self.incoming(
            scope,
            "tools/call",
            params.name,
            Arguments::Object(params.arguments.unwrap_or_default()),
            meta,
        );
        let goes_on = params.request_state.is_some();
        let rounds = self.rounds(params.request_state, params.input_responses);
        let mut call = self.call(scope, &tool.handler, incoming, rounds);
        call.check(Arc::clone(&tool.input), tool.output.clone());
        #[cfg(feature = "witness")]
        call.set_answer_rule(self.witness_rule(tool));
        if let Some(at_once) = self.again.task {
            call.continue_task(at_once);
        } else if let Some(tasks) = tool.tasks {
            let supported = takes_tasks(&self.origin);
            if tasks.required && !supported {
                let refused = Err(Error::task_required());
                return tool_result(refused, &self.origin, output).map(Err);
            }
            match supported {
                false => call.without_tasks(),
                true => call.may_become_task(TaskTerms {
                    // A call that started with several rounds continues with rounds.
                    at_once: tasks.at_once && !goes_on,
                    scopes: tool.needs.scopes().cloned(),
                    is_durable: tool.durable,
                }),
            }
        }
        Ok(Ok(call))
    }

    async fn get_prompt(
        &self,
        params: GetPromptParams,
        meta: RequestMeta,
    ) -> Result<Outcome<askback_core::protocol::GetPromptResult>> {
        let (prompt, scope, thing) = self.find::<Prompt>(&params.name)?;
        self.take_call(thing, "prompts/get", &params.name).await?;
        let incoming = self.incoming(
            scope,
            "prompts/get",
            params.name,
            Arguments::Texts(params.arguments.unwrap_or_default()),
            meta,
        );
        let rounds = self.rounds(params.request_state, params.input_responses);
        let mut call = self.call(scope, &prompt.handler, incoming, rounds);
        let mut outcome = call.run().await?;
        if let Outcome::Done(result) = &mut outcome
            && result.description.is_none()
        {
            result
                .description
                .clone_from(&prompt.description.description);
        }
        Ok(outcome)
    }

    async fn read_resource(
        &self,
        params: ReadResourceParams,
        meta: RequestMeta,
    ) -> Result<Outcome<ReadResourceResult>> {
        let reading = self
            .shared
            .catalog
            .load()
            .reading(&params.uri, self.caller());
        let reading = reading.ok_or_else(|| self.not_found(&params.uri))?;
        self.take_call(ThingHash::new("resources", ""), "resources/read", "")
            .await?;
        let incoming = self.incoming(
            reading.scope,
            "resources/read",
            params.uri.clone(),
            Arguments::Texts(reading.variables),
            meta,
        );
        let rounds = self.rounds(params.request_state, params.input_responses);
        let mut call = self.call(reading.scope, &reading.handler, incoming, rounds);
        let mut outcome = call.run().await.map_err(|error| match error.kind() {
            Kind::NotFound => self.not_found(&params.uri),
            _ => error,
        })?;
        if let Outcome::Done(result) = &mut outcome {
            complete_contents(
                &mut result.contents,
                &params.uri,
                reading.mime_type.as_deref(),
            );
            if reading.private {
                result.keep_private();
            }
            result.ttl_ms.get_or_insert(0);
            result
                .cache_scope
                .get_or_insert(askback_core::protocol::CacheScope::Private);
        }
        Ok(outcome)
    }

    async fn complete(&self, params: CompleteParams, meta: RequestMeta) -> Result<CompleteResult> {
        let argument = params.argument.name;
        let (completed, scope) = match &params.reference {
            Reference::Prompt(reference) => {
                let (prompt, scope, _) = self.find::<Prompt>(&reference.name)?;
                known_argument(prompt.has_argument(&argument), &argument, &reference.name)?;
                (prompt as Arc<dyn OfferDetails>, scope)
            }
            Reference::Resource(reference) => {
                let (template, scope, _) = self.find::<ResourceTemplate>(&reference.uri)?;
                known_argument(template.has_variable(&argument), &argument, &reference.uri)?;
                (template as Arc<dyn OfferDetails>, scope)
            }
        };
        self.take_call(ThingHash::new("completions", ""), "completion/complete", "")
            .await?;
        let Some(completers) = completed.completers() else {
            return Ok(CompleteResult::default());
        };
        let context = params.context.and_then(|context| context.arguments);
        let completing = CompletionRequest {
            value: params.argument.value,
            arguments: context.unwrap_or_default(),
            principal: self.origin.principal.clone(),
        };
        let most = self.shared.limits().server.completion_values;
        let HandlerScope { layers, backing } = self.shared.handler_scope(scope);
        let call = (!layers.is_empty())
            .then(|| self.completion(scope, completed.name(), &argument, &completing, meta));
        let complete = async {
            let completion = completers.complete(&argument, completing, &backing.states, most);
            Ok(CompleteResult {
                completion: completion.await?,
                meta: None,
            })
        };
        match call {
            None => complete.await,
            Some(call) => middleware::around(layers, &call, complete).await,
        }
    }

    /// Makes a completion request for middleware: the typed text is one of its arguments.
    fn completion(
        &self,
        scope: ScopeId,
        target: &str,
        argument: &str,
        completing: &CompletionRequest,
        meta: RequestMeta,
    ) -> Incoming {
        let mut arguments = completing.arguments.clone();
        arguments.insert(argument.to_owned(), completing.value.clone());
        self.incoming(
            scope,
            "completion/complete",
            target.to_owned(),
            Arguments::Texts(arguments),
            meta,
        )
    }

    #[cfg(feature = "witness")]
    fn witness_rule(&self, tool: &Tool) -> Option<Arc<dyn AnswerRule>> {
        let trusted = self.shared.trusted_keys.clone();
        let rule = WitnessRule::new(trusted?, self.origin.principal.clone());
        tool.requires_witness.then(|| Arc::new(rule) as _)
    }

    fn incoming(
        &self,
        scope: ScopeId,
        method: &'static str,
        target: String,
        arguments: Arguments,
        meta: RequestMeta,
    ) -> Incoming {
        Incoming {
            origin: Arc::clone(&self.origin),
            method,
            target: target.into(),
            arguments,
            meta,
            input_responses: Default::default(),
            request_state: None,
            principal_read: ReadFlag::default(),
            limits: Arc::clone(&self.shared.handler_scope(scope).backing.limits),
        }
    }

    fn caller(&self) -> Option<&Principal> {
        self.origin.principal.as_deref()
    }

    async fn take_call(&self, thing: ThingHash, method: &str, name: &str) -> Result<()> {
        if self.again.errors.is_some() {
            // The call was counted in its first round.
            return Ok(());
        }
        let caller = self.caller();
        self.shared.take_call(caller, thing, method, name).await
    }

    /// Finds an offer by name, unless it is hidden from the caller.
    fn find<T: Offer>(&self, name: &str) -> Result<(Arc<T>, ScopeId, ThingHash)> {
        let catalog = self.shared.catalog.load();
        let registry = T::registry(&catalog);
        if let Some(entry) = registry.find(name, self.caller()) {
            return Ok((Arc::clone(&entry.item), entry.scope, entry.thing));
        }
        let known = registry.list(self.caller());
        let known = known.map(|entry| entry.item.name());
        let known = known.take(20).collect::<Vec<_>>().join(", ");
        Err(Error::protocol(ErrorObject::invalid_params(format!(
            "there is no {} {}; there are: {known}",
            T::ONE,
            QuotedName(name)
        ))))
    }

    fn not_found(&self, uri: &str) -> Error {
        let code = self.origin.revision.facts().resource_not_found;
        let why = format!("there is no resource {}", QuotedName(uri));
        let mut error = ErrorObject::new(code, why);
        // A truncated URI would be a different URI.
        if uri.len() <= ErrorObject::MESSAGE_BYTES {
            error = error.with_data(json!({ "uri": uri }));
        }
        Error::protocol(error)
    }
}

/// Whether a request may be answered with a task. Capabilities that the client declared earlier, or
/// in a revision without extensions, do not count.
fn takes_tasks(origin: &Origin) -> bool {
    is_modern(origin) && origin.capabilities.tasks_extension()
}

fn known_argument(known: bool, argument: &str, of: &str) -> Result<()> {
    if known {
        return Ok(());
    }
    Err(Error::invalid_params(format!(
        "`{of}` has no argument {}",
        QuotedName(argument)
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use askback_core::engine::server::Call;

    use super::{Shared, answer};
    use crate::ctx::CallPeer;

    /// A connection copies the future of each call into its place.
    const MAX_CALL_FUTURE_BYTES: usize = 1536;

    fn bytes<F>(_: fn(Arc<Shared>, Call, CallPeer) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_call_is_small() {
        let bytes = bytes(answer);
        assert!(bytes <= MAX_CALL_FUTURE_BYTES, "{bytes} bytes");
    }
}
