//! Reading and writing for a chosen revision.
//!
//! Inside, there is one vocabulary. At the edge a message is read into it with [`read`] and
//! [`read_outcome`], which accept what any revision says, and lowered before it is written: what
//! the revision does not have is left out, or said in another way where it can be (a link to a
//! resource becomes text that names it). What only newer revisions have is added.
//!
//! Each revision before the newest has a file that says how things are said that it has in another
//! way than the next newer one; to speak an older revision, a message goes down one step after the
//! other. The last step, for every revision, is a list of the members that it has (`members`): all
//! others are dropped.

mod degrade;
mod lower;
mod members;
mod step;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;

use alloc::{borrow::Cow, format, string::String, vec::Vec};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

pub use lower::Lower;

use members::MemberFilter;
use step::LowerStep;

use crate::{
    forms::Dialect,
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{
        COMPLETE, CallToolResult, ClientNotification, ClientRequest, CompleteResult, EmptyResult,
        GetPromptResult, HasMeta, Implementation, InputRequiredResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Outcome, RawJson,
        ReadResourceResult, ServerNotification, ServerRequest, Signature,
    },
    revision::{Kind, Revision},
};

/// A request or notification of one side.
pub trait Method: Sized {
    /// The sender, and whether it is a request or a notification.
    const KIND: Kind;

    /// Reads the parameters of a method of any revision.
    ///
    /// # Errors
    ///
    /// Method not found, or invalid params with the reason.
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject>;
}

/// Reads a request or notification of a revision.
///
/// # Errors
///
/// Method not found for a method the revision does not have, invalid params with the reason for
/// parameters that do not fit.
pub fn read<M: Method>(
    revision: Revision,
    method: &str,
    params: Option<&RawValue>,
) -> Result<M, ErrorObject> {
    if !revision.has(M::KIND, method) {
        return Err(ErrorObject::method_not_found(method));
    }
    M::parse(method, params)
}

/// Reads the result of a request that may be complete, ask, or have become a task, as far as the
/// revision has these.
///
/// # Errors
///
/// If it is none of those the revision has.
pub fn read_outcome<T: DeserializeOwned>(
    revision: Revision,
    result: &RawValue,
) -> Result<Outcome<T>, serde_json::Error> {
    let facts = revision.facts();
    if facts.result_type || facts.tasks {
        let outcome = Outcome::parse(result)?;
        let known = match &outcome {
            Outcome::Done(_) => true,
            Outcome::NeedInput(_) => facts.result_type,
            Outcome::Task(_) => facts.extensions,
            Outcome::CoreTask(_) => facts.tasks,
        };
        if known {
            return Ok(outcome);
        }
    }
    serde_json::from_str(result.get()).map(Outcome::Done)
}

/// Makes a message into one the revision can say.
///
/// A message that the revision does not have at all passes unchanged, and is the caller's concern:
/// a method the revision lacks, a question to open a link before there were any.
#[must_use]
pub fn lower<T: Lower>(mut message: T, revision: Revision) -> T {
    lower_in_place(&mut message, revision);
    message
}

/// The same for a message that stays where it is.
pub fn lower_in_place<T: Lower>(message: &mut T, revision: Revision) {
    for step in steps(revision) {
        message.lower(*step);
    }
    message.lower(&MemberFilter(revision));
}

/// Returns the features of forms in a revision.
///
/// `lower` writes forms this way. Who asks one and needs the way back from its answer calls
/// [`forms::lower`](crate::forms::lower) with this first; lowering the result again changes nothing.
pub const fn dialect(revision: Revision) -> Dialect {
    let facts = &revision.facts().forms;
    Dialect {
        enum_names: !facts.one_of_titles,
        multi_choice: facts.multi_choice,
        numbers: true,
        text_defaults: true,
        pattern: facts.pattern,
        empty_end: true,
    }
}

/// Returns the features of forms that a client can show, if it is known to show fewer than its
/// [revision](dialect) has.
pub fn dialect_of_client(revision: Revision, client: Option<&Implementation>) -> Dialect {
    let all = dialect(revision);
    match client.map(|client| client.name.as_str()) {
        // Codex 0.171.0 shows a form with a number or a list without any field, and accepts it empty. It
        // selects the default of a choice, and leaves a text empty. It sorts the fields by name, and Enter
        // does not send the form if the last one is an empty text.
        Some("codex-mcp-client") => Dialect {
            multi_choice: false,
            numbers: false,
            text_defaults: false,
            empty_end: false,
            ..all
        },
        _ => all,
    }
}

/// Writes the response to a request that is done, in the words of a revision. `signature` is
/// that of the server, for results that say who they come from.
pub fn write_result<T: Lower + HasMeta + Serialize>(
    revision: Revision,
    id: &RequestId,
    result: T,
    signature: Option<&Signature>,
) -> Vec<u8> {
    let first = r#""resultType":"complete""#;
    write_typed(revision, id, result, first, signature)
}

/// Writes the response to a request that may ask or have become a task, in the words of a
/// revision; see [`write_result`].
///
/// An outcome that the revision cannot express (questions in a result before there were any) is an
/// internal error on the wire: the engine has a fault.
pub fn write_outcome<T: Lower + HasMeta + Serialize>(
    revision: Revision,
    id: &RequestId,
    outcome: Outcome<T>,
    signature: Option<&Signature>,
) -> Vec<u8> {
    let facts = revision.facts();
    match outcome {
        Outcome::Done(result) => write_result(revision, id, result, signature),
        Outcome::NeedInput(mut questions) if facts.result_type => {
            let first = begin_asking(&mut questions);
            write_typed(revision, id, questions, &first, signature)
        }
        Outcome::Task(task) if facts.extensions => {
            write_typed(revision, id, *task, r#""resultType":"task""#, signature)
        }
        Outcome::CoreTask(task) if facts.tasks => write_result(revision, id, task, signature),
        Outcome::NeedInput(_) | Outcome::Task(_) | Outcome::CoreTask(_) => jsonrpc::write_error(
            Some(id),
            &ErrorObject::internal("the result cannot be said in this protocol revision"),
        ),
    }
}

/// Writes the response to a request that another server answered in its revision. In another one the result is read in
/// the vocabulary and lowered, which drops what the vocabulary does not have; a result of an unknown method passes as it is.
///
/// # Errors
///
/// If the result is none of the method.
pub fn write_forwarded(
    method: &str,
    id: &RequestId,
    result: &RawJson,
    [from, to]: [Revision; 2],
    signature: &Signature,
) -> Result<Vec<u8>, serde_json::Error> {
    if from == to {
        return Ok(jsonrpc::write_result(id, result));
    }
    let raw: &RawValue = result.as_raw();
    macro_rules! convert {
        ($($method:literal as $result:ty;)*) => {
            match method {
                $($method => {
                    let outcome = read_outcome::<$result>(from, raw)?;
                    Ok(write_outcome(to, id, outcome, Some(signature)))
                })*
                _ => Ok(jsonrpc::write_result(id, result)),
            }
        };
    }
    convert! {
        "tools/call" as CallToolResult;
        "tools/list" as ListToolsResult;
        "prompts/list" as ListPromptsResult;
        "prompts/get" as GetPromptResult;
        "resources/list" as ListResourcesResult;
        "resources/templates/list" as ListResourceTemplatesResult;
        "resources/read" as ReadResourceResult;
        "resources/subscribe" as EmptyResult;
        "resources/unsubscribe" as EmptyResult;
        "logging/setLevel" as EmptyResult;
        "completion/complete" as CompleteResult;
    }
}

impl Method for ClientRequest {
    const KIND: Kind = Kind::ClientRequest;

    #[inline]
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        Self::parse(method, params)
    }
}

impl Method for ServerRequest {
    const KIND: Kind = Kind::ServerRequest;

    #[inline]
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        Self::parse(method, params)
    }
}

impl Method for ClientNotification {
    const KIND: Kind = Kind::ClientNotification;

    #[inline]
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        Self::parse(method, params)
    }
}

impl Method for ServerNotification {
    const KIND: Kind = Kind::ServerNotification;

    #[inline]
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        Self::parse(method, params)
    }
}

/// The steps that lead down to a revision: none to the newest, in whose shape the vocabulary is.
fn steps(revision: Revision) -> &'static [&'static dyn LowerStep] {
    const CHAIN: &[&dyn LowerStep] = &[
        &v2025_11_25::RevisionStep,
        &v2025_06_18::RevisionStep,
        &v2025_03_26::RevisionStep,
        &v2024_11_05::RevisionStep,
    ];
    match revision {
        Revision::V2026_07_28 => &[],
        Revision::V2025_11_25 => &CHAIN[..1],
        Revision::V2025_06_18 => &CHAIN[..2],
        Revision::V2025_03_26 => &CHAIN[..3],
        Revision::V2024_11_05 => CHAIN,
    }
}

/// A result as it stands inside a task that is completed: what the request would have answered.
///
/// # Errors
///
/// If the result cannot be written as JSON.
pub fn result_json<T: Lower + Serialize>(
    revision: Revision,
    result: T,
) -> Result<RawJson, serde_json::Error> {
    RawJson::new(&TypedResult {
        result_type: COMPLETE,
        result: &lower(result, revision),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypedResult<'a, T> {
    result_type: &'static str,
    #[serde(flatten)]
    result: &'a T,
}

/// The first members of a result that asks. Its state is long and, as servers seal it, a text without
/// anything to be escaped: that is written as it is, and taken out of the members that are written after
/// it.
fn begin_asking(questions: &mut InputRequiredResult) -> Cow<'static, str> {
    let first = r#""resultType":"input_required""#;
    // All bytes are looked at, which takes no branch for each.
    let is_plain = |text: &mut String| {
        let bytes = text.bytes();
        !bytes.fold(false, |any, byte| {
            any | matches!(byte, 0..=0x1F | b'"' | b'\\')
        })
    };
    match questions.request_state.take_if(is_plain) {
        Some(state) => format!(r#"{first},"requestState":"{state}""#).into(),
        None => first.into(),
    }
}

/// Writes a result that begins with these members, which say of what type it is.
fn write_typed<T: Lower + HasMeta + Serialize>(
    revision: Revision,
    id: &RequestId,
    result: T,
    first: &str,
    signature: Option<&Signature>,
) -> Vec<u8> {
    let facts = revision.facts();
    let mut result = lower(result, revision);
    if !facts.result_type {
        return jsonrpc::write_result(id, &result);
    }
    // Written at its place by the signature, or with the rest of the result where nobody signs.
    let signature = signature.filter(|_| facts.request_meta);
    let meta = signature.and_then(|_| result.meta_slot().take());
    let signed = signature.map(|signature| signature.sign(meta.as_deref()));
    jsonrpc::write_result_of(id, first, &result, signed.as_deref())
}
