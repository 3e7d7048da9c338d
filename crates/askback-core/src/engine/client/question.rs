//! Checks questions before the host sees them, and answers before they are sent.

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
};

use super::{
    CallId, CallTarget, ClientError, Connection, Output, Profile,
    call::{Call, Stage},
};
use crate::{
    ask::sampling::check_balance,
    forms::{FieldKind, FormSchema},
    jsonrpc::{ErrorObject, RequestId},
    limits::Limits,
    protocol::{
        CreateMessageParams, ElicitAction, ElicitParams, ElicitResult, ElicitUrlParams, HasMeta,
        Implementation, InputRequest, InputResponse, ListRootsResult, Meta, RawJson, Root,
        ToolChoiceMode,
    },
    revision::Facts,
};

/// The id of a question that the host was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionId(pub(super) u64);

/// A question for the host, of any kind or of kind `Q`. It was checked: the client declared that it
/// supports it, and a form can be drawn or has JSON fields if the host accepts them.
#[derive(Debug, Clone, PartialEq)]
pub struct HostQuestion<Q = InputRequest> {
    pub server: Option<Implementation>,
    /// The call that asks. In the handshake revisions it is known only if the question names a task
    /// or exactly one call is in flight.
    pub call: Option<CallId>,
    pub target: Option<CallTarget>,
    /// The key of the question among the questions of its call: its key in `inputRequests`, or in
    /// the handshake revisions the key that an askback server sends with it.
    pub key: Option<String>,
    pub request: Q,
    /// Whether the client sends the call again after the answer. If so, a link is best answered
    /// when the user has finished there; otherwise as soon as the user consents.
    pub retried: bool,
}

impl<Q> HostQuestion<Q> {
    pub fn with<R>(self, request: R) -> HostQuestion<R> {
        let Self {
            server,
            call,
            target,
            key,
            request: _,
            retried,
        } = self;
        HostQuestion {
            server,
            call,
            target,
            key,
            request,
            retried,
        }
    }
}

/// Checks a question and prepares it for the host.
///
/// # Errors
///
/// Returns the error for the server: -32602 for a mode that was not declared or for invalid
/// messages, -32601 for sampling or roots that were not declared.
pub(super) fn admit(
    request: &mut InputRequest,
    profile: &Profile,
    facts: &Facts,
) -> Result<(), ErrorObject> {
    let capabilities = &profile.capabilities;
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            if !capabilities.elicits_form() {
                return Err(undeclared_mode("form"));
            }
            if profile.any_form || profile.forwards {
                return Ok(());
            }
            if let Some((field, why)) = form.requested_schema.undrawn() {
                let name = &field.name;
                return Err(ErrorObject::invalid_params(format!(
                    "field `{name}`: {why}"
                )));
            }
            drop_bad_defaults(form.requested_schema.make_mut(), &profile.limits);
            Ok(())
        }
        InputRequest::Elicit(ElicitParams::Url(_)) => {
            if capabilities.elicits_url() && facts.elicitation_url {
                Ok(())
            } else {
                Err(undeclared_mode("url"))
            }
        }
        InputRequest::Sample(params) => {
            if !capabilities.samples() {
                return Err(ErrorObject::method_not_found(request.method()));
            }
            if profile.forwards {
                return Ok(());
            }
            let wants_tools = params.tools.is_some() || params.tool_choice.is_some();
            if wants_tools && !capabilities.samples_with_tools() {
                let why = "the client did not declare sampling with tools";
                return Err(ErrorObject::invalid_params(why));
            }
            check_sampling(params).map_err(ErrorObject::invalid_params)
        }
        InputRequest::Roots(_) if capabilities.roots() => Ok(()),
        InputRequest::Roots(_) => Err(ErrorObject::method_not_found(request.method())),
    }
}

pub(super) fn size(request: &InputRequest) -> usize {
    let json = match request {
        InputRequest::Elicit(params) => RawJson::new(params),
        InputRequest::Sample(params) => RawJson::new(params),
        InputRequest::Roots(params) => RawJson::new(params),
    };
    // Serializing fails only for maps whose keys are not strings; no question has such a map.
    json.map_or(0, |json| json.as_str().len())
}

/// Checks an answer of the host. Missing fields stay missing: the user may have emptied a field
/// with a default. An answer that is forwarded for another client is checked by the server alone, which
/// may ask again.
///
/// # Errors
///
/// Says why the answer must not be sent, for the author of the host.
pub(super) fn check_answer(
    request: &InputRequest,
    answer: InputResponse,
    profile: &Profile,
) -> Result<InputResponse, String> {
    match (request, answer) {
        (InputRequest::Elicit(_), answer @ InputResponse::Elicit(_))
        | (InputRequest::Roots(_), answer @ InputResponse::Roots(_))
            if profile.forwards =>
        {
            Ok(answer)
        }
        (InputRequest::Elicit(asked), InputResponse::Elicit(answer)) => {
            check_elicit(asked, answer, &profile.limits).map(InputResponse::Elicit)
        }
        (InputRequest::Sample(_), answer @ InputResponse::Sample(_)) => Ok(answer),
        (InputRequest::Roots(_), InputResponse::Roots(answer)) => {
            check_roots(answer).map(InputResponse::Roots)
        }
        (InputRequest::Elicit(_) | InputRequest::Sample(_) | InputRequest::Roots(_), _) => {
            Err(format!("it does not answer `{}`", request.method()))
        }
    }
}

fn undeclared_mode(mode: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "the client did not declare the elicitation mode {mode:?}"
    ))
}

/// Removes defaults that break their own field. The user would send such a default just by
/// accepting the form.
fn drop_bad_defaults(form: &mut FormSchema, limits: &Limits) {
    for field in &mut form.fields {
        let bad = field
            .default_value()
            .is_some_and(|value| field.check(&value, &limits.forms).is_err());
        if bad {
            match &mut field.kind {
                FieldKind::Text(text) => text.default = None,
                FieldKind::Number(number) => number.default = None,
                FieldKind::Boolean(boolean) => boolean.default = None,
                FieldKind::Choice(choice) => choice.default = None,
                FieldKind::Choices(choices) => choices.default = None,
                FieldKind::Json(json) => drop(json.schema.remove("default")),
            }
        }
    }
}

/// Checks that tool uses and results match, and that there is a tool if one must be used
/// (2026-07-28, client/sampling, Message Content Constraints and Tool Choice Modes).
fn check_sampling(params: &CreateMessageParams) -> Result<(), String> {
    check_balance(&params.messages)?;
    let mode = params.tool_choice.as_ref().and_then(|choice| choice.mode);
    let is_offered = params.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    match mode == Some(ToolChoiceMode::Required) && !is_offered {
        true => Err("a tool has to be called, and none is offered".into()),
        false => Ok(()),
    }
}

fn check_elicit(
    asked: &ElicitParams,
    mut answer: ElicitResult,
    limits: &Limits,
) -> Result<ElicitResult, String> {
    answer.content = match asked {
        ElicitParams::Form(form) if answer.action == ElicitAction::Accept => {
            let mut content = answer.content.take().unwrap_or_default();
            // Null means an empty field, but no field accepts it.
            content.retain(|_, value| !value.is_null());
            let checked = form.requested_schema.check(&content, &limits.forms);
            checked.map_err(|issues| issues.to_string())?;
            Some(content)
        }
        // Neither a refusal nor the consent to a link carries values.
        ElicitParams::Form(_) | ElicitParams::Url(_) => None,
    };
    Ok(answer)
}

/// Roots are folders and files of this machine (2026-07-28, client/roots, Root).
fn check_roots(answer: ListRootsResult) -> Result<ListRootsResult, String> {
    answer.roots.iter().try_for_each(Root::check)?;
    Ok(answer)
}

/// A question that the host has not answered yet.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    /// Its call, if known.
    pub(super) call: Option<CallId>,
    pub(super) source: QuestionSource,
    pub(super) request: InputRequest,
    pub(super) bytes: usize,
}

/// Where a question came from, and its answer goes.
#[derive(Debug)]
pub(super) enum QuestionSource {
    /// The result of a round or a task, with this key.
    Result(String),
    /// A -32042 error. The call asks for its links one by one.
    Link,
    /// A request of the server on its session.
    Session { id: RequestId, batch: Option<u64> },
}

impl PendingQuestion {
    pub(super) fn is_of_session(&self) -> bool {
        matches!(self.source, QuestionSource::Session { .. })
    }

    pub(super) fn check(
        &self,
        answer: InputResponse,
        profile: &Profile,
    ) -> Result<InputResponse, ClientError> {
        check_answer(&self.request, answer, profile).map_err(|why| {
            ClientError::Host(match &self.source {
                QuestionSource::Result(key) => {
                    format!("its answer to {key:?} cannot be sent: {why}")
                }
                _ => format!("its answer cannot be sent: {why}"),
            })
        })
    }
}

impl Connection {
    /// Asks the host. The stage of the call says whether it is sent again after the answer.
    pub(super) fn ask_host(&mut self, asked: PendingQuestion) {
        self.last_question += 1;
        let id = QuestionId(self.last_question);
        let call = asked.call.and_then(|id| self.calls.get(id));
        let key = match &asked.source {
            QuestionSource::Result(key) => Some(key.clone()),
            QuestionSource::Link => None,
            // An askback server sends a key with its question.
            QuestionSource::Session { .. } => {
                let key = asked.request.meta().and_then(Meta::ask_key);
                key.map(ToOwned::to_owned)
            }
        };
        let greeting = self.greeting.as_ref();
        let question = HostQuestion {
            server: greeting.and_then(|greeting| greeting.server.clone()),
            call: asked.call,
            target: call.and_then(Call::target),
            key,
            request: asked.request.clone(),
            retried: call.is_some_and(|call| matches!(call.stage, Stage::Asking(_))),
        };
        self.questions.insert(id, asked);
        self.out.push_back(Output::Ask(id, Box::new(question)));
    }

    pub(super) fn withdraw(&mut self, is_gone: impl Fn(&PendingQuestion) -> bool) {
        let out = &mut self.out;
        self.questions.retain(|id, asked| {
            let is_gone = is_gone(asked);
            if is_gone {
                out.push_back(Output::Withdraw(*id));
            }
            !is_gone
        });
    }
}

pub(super) fn link_bytes(link: &ElicitUrlParams) -> usize {
    let id = link.elicitation_id.as_ref().map_or(0, String::len);
    link.url.len() + link.message.len() + id
}
