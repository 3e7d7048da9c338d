use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use askback_core::{
    ask::{AskError, Capability, CheckedRequest, Principal},
    engine::server::{ClientLocation, Origin},
    forms::Elicitable,
    limits::Limits,
    protocol::{
        ClientCapabilities, CreateMessageParams, ElicitParams, ElicitResult, Implementation,
        IncludeContext, InputRequest, InputRequests, InputResponses, JsonObject, ProgressToken,
        RawJson,
    },
    quote::excerpt,
    revision::{Facts, Revision},
};

use super::{Arguments, by_action};
use crate::{
    answer::Answer,
    error::{Error, Result},
};

/// The memory for a map entry in addition to its texts, in bytes.
const MEMBER_BYTES: usize = 128;

/// The request, as visible to its handler.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub(crate) origin: Arc<Origin>,
    pub(crate) method: &'static str,
    pub(crate) target: Target,
    pub(crate) arguments: Arguments,
    pub(crate) meta: RequestMeta,
    pub(crate) input_responses: InputResponses,
    pub(crate) request_state: Option<String>,
    pub(crate) principal_read: ReadFlag,
    pub(crate) limits: Arc<Limits>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RequestMeta {
    pub(crate) said: JsonObject,
    pub(crate) bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct ReadFlag(AtomicBool);

impl ReadFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for ReadFlag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.get()))
    }
}

impl Incoming {
    /// Returns the method: `tools/call`, `prompts/get` or `resources/read`, and `completion/complete` for
    /// [middleware](crate::middleware).
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Returns the name of the tool or prompt, or the URI of the resource or template.
    #[must_use]
    pub fn target(&self) -> &str {
        self.target.as_str()
    }

    /// Returns the unparsed arguments. In a completion, the last one is the text typed so far.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Returns the client's own entries in `_meta`, such as `traceparent`, of this round. Other rounds may have others.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.meta.said
    }

    /// Returns the revision of the request. Handlers rarely need it: [`Ctx::can_elicit`](crate::Ctx::can_elicit) and
    /// similar methods tell what the client can be asked.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.origin.revision
    }

    /// Returns the client's name and version, as it claims them.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.origin.client.as_ref()
    }

    /// Returns the principal that the server's authentication identified. It never comes from the client's own claims.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.principal_read.set();
        self.origin.principal.as_deref()
    }

    /// Whether the client started this process, as over stdio, or runs in it. No other client can reach such a server.
    /// Over HTTP, the client may be any program on this machine or elsewhere.
    #[must_use]
    pub fn is_from_here(&self) -> bool {
        self.origin.place == ClientLocation::Here
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.origin.capabilities
    }

    /// Returns the state that a hand-written [`InputRequiredResult`](crate::protocol::InputRequiredResult) set in the
    /// previous round.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.request_state.as_deref()
    }

    /// Returns the unparsed answer to a hand-written question. Clients may send answers with their first request.
    #[must_use]
    pub fn input_response(&self, key: &str) -> Option<&RawJson> {
        self.input_responses.get(key)
    }

    /// Returns the answer to a hand-written form, parsed and checked; `None` if this key has no answer.
    ///
    /// # Errors
    ///
    /// If the answer does not fit the form.
    pub fn answer<T: Elicitable>(&self, key: &str) -> Result<Option<Answer<T>>> {
        let Some(response) = self.input_response(key) else {
            return Ok(None);
        };
        let result: ElicitResult = response
            .decode()
            .map_err(|error| Error::invalid_params(format!("the answer `{key}`: {error}")))?;
        let answer = by_action(result).try_map(|content| {
            let schema = T::schema();
            let content = schema.with_defaults(content);
            schema.check(&content, &self.limits.forms)?;
            Ok::<_, Error>(T::read(&content)?)
        })?;
        Ok(Some(answer))
    }

    /// Returns the approximate memory for the client's data. Arguments count twice, because the handler has parsed them
    /// into its own types.
    pub(crate) fn kept_bytes(&self) -> usize {
        let arguments = match &self.arguments {
            Arguments::Object(object) => object.as_str().len(),
            Arguments::Texts(texts) => {
                let texts = texts.iter();
                texts
                    .map(|(name, text)| MEMBER_BYTES + name.len() + text.len())
                    .sum()
            }
        };
        let state = self.request_state.as_ref().map_or(0, String::len);
        self.target.as_str().len()
            + 2 * arguments
            + self.meta.bytes
            + state
            + responses_bytes(&self.input_responses)
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.origin.revision.facts()
    }

    pub(crate) fn progress_token(&self) -> Option<&ProgressToken> {
        self.origin.progress_token.as_ref()
    }

    /// Checks the questions of a hand-written round by the same rules as other questions.
    ///
    /// # Errors
    ///
    /// The reason why the first invalid question is refused, or why there are too many.
    pub(crate) fn check_by_hand(
        &self,
        requests: InputRequests,
    ) -> Result<Vec<(String, CheckedRequest)>, AskError> {
        let most = self.limits.asking.questions_per_round;
        if requests.len() > most {
            return Err(AskError::TooManyQuestions(most));
        }
        let check = |(key, request)| {
            let missing = self.missing_for(&request);
            Ok((key, CheckedRequest::new(request, missing, &self.limits)?))
        };
        requests.into_iter().map(check).collect()
    }

    /// Returns the capability that this question needs and the client lacks, including elicitation modes and sampling
    /// features.
    pub(crate) fn missing_for(&self, request: &InputRequest) -> Option<Capability> {
        missing_for(&self.origin, request)
    }

    pub(crate) fn takes_forms(&self) -> bool {
        takes_forms(&self.origin)
    }

    pub(crate) fn takes_links(&self) -> bool {
        takes_links(&self.origin)
    }
}

pub(crate) fn missing_for(client: &Origin, request: &InputRequest) -> Option<Capability> {
    let missing = |supported: bool, capability| (!supported).then_some(capability);
    match request {
        InputRequest::Elicit(ElicitParams::Form(_)) => {
            missing(takes_forms(client), Capability::ElicitForm)
        }
        InputRequest::Elicit(ElicitParams::Url(_)) => {
            missing(takes_links(client), Capability::ElicitUrl)
        }
        InputRequest::Sample(params) => missing_for_sampling(client, params),
        InputRequest::Roots(_) => missing(client.capabilities.roots(), Capability::Roots),
    }
}

fn takes_forms(client: &Origin) -> bool {
    client.revision.facts().elicitation_form && client.capabilities.elicits_form()
}

/// If a client declares links, that holds for every revision with elicitation: Codex declares them in 2025-06-18, and
/// supports them.
fn takes_links(client: &Origin) -> bool {
    client.revision.facts().elicitation_form && client.capabilities.elicits_url()
}

fn missing_for_sampling(client: &Origin, params: &CreateMessageParams) -> Option<Capability> {
    let facts = client.revision.facts();
    let client = &client.capabilities;
    let tools = params.tools.is_some() || params.tool_choice.is_some();
    let context = matches!(
        params.include_context,
        Some(IncludeContext::ThisServer | IncludeContext::AllServers)
    );
    // Before the capability existed, any server could ask for context.
    let context = context && facts.sampling_tools;
    if !client.samples() {
        Some(Capability::Sampling)
    } else if tools && !(facts.sampling_tools && client.samples_with_tools()) {
        Some(Capability::SamplingTools)
    } else if context && !client.samples_with_context() {
        Some(Capability::SamplingContext)
    } else {
        None
    }
}

pub(crate) fn responses_bytes(responses: &InputResponses) -> usize {
    let responses = responses.iter();
    responses
        .map(|(key, answer)| MEMBER_BYTES + key.len() + answer.as_str().len())
        .sum()
}

/// The name or URI of a request, as the client sent it. It may be long and contain any text, so logs get an excerpt.
#[derive(Clone)]
pub(crate) struct Target(String);

impl Target {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", excerpt(&self.0))
    }
}
