//! Reads and writes messages of a chosen revision.
//!
//! Internally, all messages have the types of the newest revision. [`read`] and [`read_outcome`]
//! convert any revision's messages to them. Before a message is written, it is lowered: parts that
//! the revision lacks are dropped or expressed otherwise (a resource link becomes text that names
//! it). Members that a newer revision requires are added. `lower` lists the members of each type
//! with their revisions.

mod degrade;
mod lower;

use alloc::{borrow::Cow, format, string::String, vec::Vec};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

pub use lower::Lower;

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

pub trait Method: Sized {
    /// The sender, and whether it is a request or a notification.
    const KIND: Kind;

    /// Parses the parameters of a method of any revision.
    ///
    /// # Errors
    ///
    /// Method not found, or invalid params with the reason.
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject>;
}

/// Parses a request or notification of a revision.
///
/// # Errors
///
/// Method not found if the revision lacks the method, invalid params with the reason for invalid
/// parameters.
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

/// Parses a result that is complete, asks for input, or is a task, if the revision has such
/// results.
///
/// # Errors
///
/// Fails if the revision has no such result.
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

/// Lowers a message to a revision.
///
/// A message that the revision lacks altogether is returned unchanged: an unknown method, or a
/// question to open a link in a revision without links. The caller must prevent that.
#[must_use]
pub fn lower<T: Lower>(mut message: T, revision: Revision) -> T {
    message.lower(revision);
    message
}

/// Returns the form features of a revision.
///
/// `lower` uses them for forms. To convert an answer back, call
/// [`forms::lower`](crate::forms::lower) with them first; lowering the result again changes
/// nothing.
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

/// Returns the form features of a client, if it is known to have fewer than its
/// [revision](dialect).
pub fn dialect_of_client(revision: Revision, client: Option<&Implementation>) -> Dialect {
    let all = dialect(revision);
    match client.map(|client| client.name.as_str()) {
        // Codex 0.171.0 shows a form with a number or a list without any fields, and accepts it
        // empty. It selects the default of a choice, but leaves a text empty. It sorts the fields
        // by name, and Enter does not submit the form if the last field is an empty text.
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

/// Writes the response with a complete result. `signature` is the server's, for results that name
/// their server.
pub fn write_result<T: Lower + HasMeta + Serialize>(
    revision: Revision,
    id: &RequestId,
    result: T,
    signature: Option<&Signature>,
) -> Vec<u8> {
    let first = r#""resultType":"complete""#;
    write_typed(revision, id, result, first, signature)
}

/// Writes the response with a result that may ask for input or be a task; see [`write_result`].
///
/// An outcome that the revision cannot express, such as questions in an older revision, is a fault
/// of the engine and becomes an internal error.
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

/// Writes the response with a result that another server returned in its revision. For a different
/// revision, the result is parsed and lowered, which drops unknown members. The result of an
/// unknown method is forwarded unchanged.
///
/// # Errors
///
/// Fails if the result is not valid for the method.
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

macro_rules! method {
    ($($name:ident)*) => {$(
        impl Method for $name {
            const KIND: Kind = Kind::$name;

            #[inline]
            fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
                Self::parse(method, params)
            }
        }
    )*};
}

method! { ClientRequest ServerRequest ClientNotification ServerNotification }

/// Serializes a result for a completed task, as the request would have returned it.
///
/// # Errors
///
/// Fails if the result cannot be written as JSON.
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

/// Returns the first members of a result that asks for input. The state is long and, if sealed by a
/// server, needs no escaping. It is then copied directly and removed from the result.
fn begin_asking(questions: &mut InputRequiredResult) -> Cow<'static, str> {
    let first = r#""resultType":"input_required""#;
    // Examines all bytes, because a loop without early exit is branch-free.
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

/// Writes a result that begins with these members.
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
    // With a signature, the signature writes the `_meta`; otherwise the result does.
    let signature = signature.filter(|_| facts.request_meta);
    let meta = signature.and_then(|_| result.meta_slot().take());
    let signed = signature.map(|signature| signature.sign(meta.as_deref()));
    jsonrpc::write_result_of(id, first, &result, signed.as_deref())
}
