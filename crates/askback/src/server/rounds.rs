//! Seals and opens the state of a flow between two rounds of the stateless era.
//!
//! The limits of a state come from its handler's server, even if that server is mounted on another.
//! Claims last as long as a state that can use them, so both limits must come from one server.

use std::{collections::BTreeMap, sync::Arc};

use askback_core::{
    ask::{
        CheckedRequest, FlowState, Millis, OpenQuestion, Reply, mark_refusal,
        seal::{self, Binding, Entropy, SealError},
    },
    canonical::{self, CanonicalError},
    jsonrpc::ErrorObject,
    limits::AskingLimits,
    protocol::{Implementation, InputRequests, InputRequiredResult, InputResponses},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{Shared, trace};
use crate::{
    ctx::{Arguments, Incoming, responses_bytes},
    entropy::entropy,
    error::{Error, Result},
};

#[derive(Default)]
pub(super) struct Rounds {
    state: Option<String>,
    responses: InputResponses,
    /// The questions that the client of a handshake revision answered with an error.
    errors: BTreeMap<String, Reply>,
    carrier: Carrier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Carrier {
    /// At the client, for as long as a round may take. A large state is kept in the store.
    #[default]
    Client,
    /// In a journal record, which is sealed and has its own expiry. The state is not sealed again.
    Journal,
}

/// The sealed content: the state, or its key in the store. In the store, the state is sealed too.
#[derive(Serialize, Deserialize)]
enum SealedContent<S> {
    #[serde(rename = "s")]
    Here(S),
    #[serde(rename = "p")]
    Spilled(String),
}

enum StateOpenError {
    Refused(SealError),
    /// The keys or the store failed: the client may send the same request again.
    Failed(Error),
}

impl From<SealError> for StateOpenError {
    fn from(error: SealError) -> Self {
        Self::Refused(error)
    }
}

impl From<Error> for StateOpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Rounds {
    pub(super) fn new(state: Option<String>, responses: Option<InputResponses>) -> Self {
        Self {
            state,
            responses: responses.unwrap_or_default(),
            errors: BTreeMap::new(),
            carrier: Carrier::Client,
        }
    }

    /// Reads the state from a journal, with the questions that the client answered with an error.
    pub(super) fn of_journal(mut self, errors: &BTreeMap<String, Reply>) -> Self {
        self.errors.clone_from(errors);
        self.carrier = Carrier::Journal;
        self
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, String::len) + responses_bytes(&self.responses)
    }

    /// Opens the state that the client returned, if any.
    ///
    /// Every defect has the same error message, so that a client learns nothing from trying.
    pub(super) async fn open(
        &self,
        shared: &Arc<Shared>,
        incoming: &Incoming,
    ) -> Result<Option<FlowState>> {
        let Some(token) = &self.state else {
            return Ok(None);
        };
        // Boxed, because this future would make every call larger, and a first round does not need
        // it.
        match Box::pin(open(shared, incoming, token, self.carrier)).await {
            Ok(state) => Ok(Some(state)),
            Err(StateOpenError::Failed(error)) => Err(error),
            Err(StateOpenError::Refused(error)) => {
                trace::count_refusal("state");
                tracing::warn!(
                    target = ?incoming.target,
                    cause = ?error.cause(),
                    "a requestState was refused"
                );
                Err(Error::protocol(ErrorObject::invalid_params(
                    error.to_string(),
                )))
            }
        }
    }

    pub(super) fn mark_refusals(
        &mut self,
        took: Option<Millis>,
        client: Option<&Implementation>,
        limits: &AskingLimits,
    ) {
        for answer in self.responses.values_mut() {
            *answer = mark_refusal(answer.clone(), took, client, limits);
        }
    }

    pub(super) fn replies(&self) -> BTreeMap<String, Reply> {
        let replies = self.responses.iter();
        let mut replies: BTreeMap<_, _> = replies
            .map(|(key, value)| (key.to_owned(), Reply::Value(value.clone())))
            .collect();
        replies.extend(self.errors.clone());
        replies
    }

    /// Fails if the client answered a question with an error, or not in time, because a handler
    /// that asks by hand cannot receive that.
    pub(super) fn check_errors(&self) -> Result<()> {
        match self.errors.values().next().cloned() {
            None => Ok(()),
            Some(reply) => Ok(reply.into_value().map(drop)?),
        }
    }

    pub(super) fn continue_a_call(&self) -> bool {
        self.state.is_some() || !self.responses.is_empty()
    }

    pub(super) fn into_responses(self) -> InputResponses {
        self.responses
    }
}

pub(super) async fn seal(
    shared: &Shared,
    incoming: &Incoming,
    state: FlowState,
    questions: Vec<OpenQuestion>,
    random: Entropy,
    carrier: Carrier,
) -> Result<InputRequiredResult> {
    let by_author = state.round - state.link_rounds;
    let asks_more = questions.iter().any(|question| !question.is_opened_link);
    if by_author >= incoming.limits.asking.rounds_warned && asks_more {
        tracing::warn!(
            target = ?incoming.target,
            round = by_author,
            "many rounds of questions in one call: mainstream clients give up after eight to ten; \
             ask several questions in one round"
        );
    }
    let questions = questions.into_iter();
    let questions = questions.map(|question| (question.key, question.request));
    Ok(InputRequiredResult {
        input_requests: Some(requests(questions)),
        request_state: Some(seal_state(shared, incoming, &state, random, carrier).await?),
        meta: None,
    })
}

/// Seals a hand-written result, with its author's own state next to the flow's. The flow's state is
/// sent even if the author set none: without it every retry would be a new flow without claims.
pub(super) async fn seal_by_hand(
    shared: &Shared,
    incoming: &Incoming,
    mut state: FlowState,
    mut by_hand: InputRequiredResult,
    random: Entropy,
    carrier: Carrier,
) -> Result<InputRequiredResult> {
    if let Some(asked) = by_hand.input_requests.take() {
        let questions = incoming.check_by_hand(asked)?;
        by_hand.input_requests = Some(requests(questions));
    }
    state.by_hand = by_hand.request_state.take();
    if by_hand.input_requests.is_none() && state.by_hand.is_none() && state.journal.is_empty() {
        return Err(Error::new(
            "a result that needs input must ask or give a state",
        ));
    }
    by_hand.request_state = Some(seal_state(shared, incoming, &state, random, carrier).await?);
    Ok(by_hand)
}

fn requests(questions: impl IntoIterator<Item = (String, CheckedRequest)>) -> InputRequests {
    let questions = questions.into_iter();
    questions
        .map(|(key, question)| (key, question.into_inner()))
        .collect()
}

async fn open(
    shared: &Shared,
    incoming: &Incoming,
    token: &str,
    carrier: Carrier,
) -> Result<FlowState, StateOpenError> {
    if carrier == Carrier::Journal {
        let state: FlowState = serde_json::from_str(token).map_err(|_| SealError::unreadable())?;
        let mut limits = incoming.limits.asking.clone();
        limits.round_ttl = limits.flow_ttl;
        state.check_fresh(shared.clock().now(), &limits)?;
        return Ok(state);
    }
    let limits = &incoming.limits.asking;
    let keys = shared.keys()?;
    let binding = binding(shared, incoming).map_err(|_| SealError::unreadable())?;
    let unseal = |token: &str, max_chars| {
        let bytes = seal::open(keys, &binding, token, max_chars)?;
        serde_json::from_slice::<SealedContent<FlowState>>(&bytes)
            .map_err(|_| SealError::unreadable())
    };
    let state = match unseal(token, limits.state_bytes)? {
        SealedContent::Here(state) => state,
        SealedContent::Spilled(id) => {
            let id = URL_SAFE_NO_PAD.decode(id).ok();
            let id = id.and_then(|id| id.try_into().ok());
            let id = id.ok_or_else(SealError::unreadable)?;
            let kept = shared.backing.kept_state(id).await?;
            let kept = kept.ok_or_else(SealError::expired)?;
            let kept = String::from_utf8(kept).map_err(|_| SealError::unreadable())?;
            match unseal(&kept, limits.spilled_bytes)? {
                SealedContent::Here(state) => state,
                // Stored content must be a state. A chain of references might never end.
                SealedContent::Spilled(_) => return Err(SealError::unreadable().into()),
            }
        }
    };
    state.check_fresh(shared.clock().now(), limits)?;
    Ok(state)
}

pub(super) async fn seal_state(
    shared: &Shared,
    incoming: &Incoming,
    state: &FlowState,
    random: Entropy,
    carrier: Carrier,
) -> Result<String> {
    let limits = &incoming.limits;
    if carrier == Carrier::Journal {
        let text = serde_json::to_string(state)?;
        let fits = text.len() <= limits.asking.spilled_bytes;
        return if fits { Ok(text) } else { Err(too_large()) };
    }
    let keys = shared.keys()?;
    let binding = binding(shared, incoming).map_err(Error::invalid_params)?;
    let bytes = serde_json::to_vec(&SealedContent::Here(state))?;
    let too_long = |_| {
        Error::protocol(ErrorObject::internal(
            "what this call has recorded is too large to be carried by the client; record less, \
             or give the server a store",
        ))
    };
    if !shared.spills() || seal::sealed_chars(bytes.len()) <= limits.asking.spill_bytes {
        let most = limits.asking.state_bytes;
        return seal::seal(keys, &binding, &bytes, random, most).map_err(too_long);
    }
    let most = limits.asking.spilled_bytes;
    let kept = seal::seal(keys, &binding, &bytes, random, most);
    let kept = kept.map_err(|_| too_large())?;
    let id = shared
        .backing
        .keep_state(
            incoming.principal(),
            kept.as_bytes(),
            state.issued,
            limits.asking.round_ttl,
        )
        .await?;
    let spilled = SealedContent::<()>::Spilled(URL_SAFE_NO_PAD.encode(id));
    let bytes = serde_json::to_vec(&spilled)?;
    seal::seal(
        keys,
        &binding,
        &bytes,
        Entropy(entropy()?),
        limits.asking.state_bytes,
    )
    .map_err(too_long)
}

fn too_large() -> Error {
    Error::protocol(ErrorObject::internal(
        "what this call has recorded is too large to be kept; record less",
    ))
}

fn binding<'a>(shared: &'a Shared, incoming: &'a Incoming) -> Result<Binding<'a>, CanonicalError> {
    let arguments = match incoming.arguments() {
        Arguments::Object(object) => canonical::digest_of(object)?,
        Arguments::Texts(texts) => canonical::digest_of(texts)?,
    };
    let principal = incoming.origin.principal.as_deref();
    Ok(Binding {
        target: incoming.target.as_str(),
        arguments,
        revision: incoming.origin.revision.as_str(),
        ..shared.binding(principal, incoming.method)
    })
}
