//! A request, as a handler may look at it.

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

/// The memory of a map's member beside its texts, in bytes.
const MEMBER_BYTES: usize = 128;

/// A request, as its handler may look at it.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub(crate) origin: Arc<Origin>,
    pub(crate) method: &'static str,
    pub(crate) target: Target,
    pub(crate) arguments: Arguments,
    pub(crate) meta: RequestMeta,
    pub(crate) input_responses: InputResponses,
    pub(crate) request_state: Option<String>,
    /// Whether a handler has looked at who asks.
    pub(crate) principal_read: ReadFlag,
    /// The bounds of the server whose handler this is for.
    pub(crate) limits: Arc<Limits>,
}

/// The client's `_meta` of a request, and about how many bytes it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestMeta {
    pub(crate) said: JsonObject,
    pub(crate) bytes: usize,
}

/// Whether something was looked at.
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
    /// The method: `tools/call`, `prompts/get` or `resources/read`, and `completion/complete` for
    /// [middleware](crate::middleware).
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The name of the tool or prompt, or the URI of the resource or template.
    #[must_use]
    pub fn target(&self) -> &str {
        self.target.as_str()
    }

    /// The arguments, as they came. In a completion, what was typed is the last of them.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Returns what the client says in `_meta` beside the protocol, such as `traceparent`, in this
    /// round of the call: the next may say something else.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.meta.said
    }

    /// The revision the request came in. Handlers rarely need it: what a client can be asked is
    /// told by [`Ctx::can_elicit`](crate::Ctx::can_elicit) and its like.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.origin.revision
    }

    /// Returns the client's own name and version, unverified.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.origin.client.as_ref()
    }

    /// Returns the principal, where the server's authentication identified one. The client's own
    /// word does not count.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.principal_read.set();
        self.origin.principal.as_deref()
    }

    /// Whether the client started this process, as over standard streams, or lives in it. Nobody else reaches the server
    /// that way. Over HTTP a client may be anybody on this machine or elsewhere.
    #[must_use]
    pub fn is_from_here(&self) -> bool {
        self.origin.place == ClientLocation::Here
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.origin.capabilities
    }

    /// The state a hand-written
    /// [`InputRequiredResult`](crate::protocol::InputRequiredResult) gave in the round before.
    #[must_use]
    pub fn request_state(&self) -> Option<&str> {
        self.request_state.as_deref()
    }

    /// An answer to a hand-written question, as it came. Clients may send answers with their very
    /// first call.
    #[must_use]
    pub fn input_response(&self, key: &str) -> Option<&RawJson> {
        self.input_responses.get(key)
    }

    /// An answer to a hand-written form, read and checked; `None` where there is none under this
    /// key.
    ///
    /// # Errors
    ///
    /// Fails where the answer does not fit the form.
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

    /// About how many bytes of the client's it holds; arguments count twice, since the handler has
    /// read them into something of its own.
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

    /// Checks the questions of a hand-written round, as questions that are asked with futures are checked.
    ///
    /// # Errors
    ///
    /// Fails with the fault of the first question that may not be asked, or of their number.
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

    /// Returns the capability that this question needs and the client lacks: down to the mode of an
    /// elicitation and the features of sampling.
    pub(crate) fn missing_for(&self, request: &InputRequest) -> Option<Capability> {
        missing_for(&self.origin, request)
    }

    /// Whether the client can be asked to fill in a form.
    pub(crate) fn takes_forms(&self) -> bool {
        takes_forms(&self.origin)
    }

    /// Whether the client can be asked to open a link.
    pub(crate) fn takes_links(&self) -> bool {
        takes_links(&self.origin)
    }
}

/// Returns the capability that this question needs and its client lacks.
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

/// A client that declares links is believed in each revision with elicitation: Codex declares them in 2025-06-18,
/// and takes them.
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
    // Context was free to ask for before there was a capability to declare.
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

/// About how many bytes answers take.
pub(crate) fn responses_bytes(responses: &InputResponses) -> usize {
    let responses = responses.iter();
    responses
        .map(|(key, answer)| MEMBER_BYTES + key.len() + answer.as_str().len())
        .sum()
}

/// The name or URI that a request asks for, as its client wrote it. It may be as long as a message and hold
/// anything; what is written of it, into a log, is an excerpt.
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
