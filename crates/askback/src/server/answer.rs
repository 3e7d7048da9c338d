//! Converts handler outcomes to results and errors for clients.

use askback_core::{
    ask::{AskError, Capability, CheckedRequest},
    engine::server::Origin,
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{
        CacheScope, CallToolResult, ClientCapabilities, ElicitParams, ElicitUrlParams,
        GetPromptResult, InputRequest, MissingCapability, ReadResourceResult, codes,
    },
    revision::Era,
    wire,
};
use serde::Serialize;
use serde_json::Value;

use super::checks::OutputCheck;
use crate::{
    ctx::elicitation_id,
    error::{Error, Kind, Result},
};

pub(super) trait Answer: wire::Lower + Serialize + Send + Sized + 'static {
    fn settle(ended: Result<Self>, origin: &Origin, output: Option<&OutputCheck>) -> Result<Self> {
        let _ = (origin, output);
        ended
    }

    fn is_error(&self) -> bool {
        false
    }

    /// Restricts caching to the caller, whatever the author set.
    fn keep_private(&mut self) {}
}

impl Answer for CallToolResult {
    fn settle(ended: Result<Self>, origin: &Origin, output: Option<&OutputCheck>) -> Result<Self> {
        tool_result(ended, origin, output)
    }

    fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

impl Answer for GetPromptResult {}

impl Answer for ReadResourceResult {
    fn keep_private(&mut self) {
        if self.cache_scope == Some(CacheScope::Public) {
            tracing::warn!(
                "a resource that depends on its reader is declared as the same for everybody: it stays private"
            );
            self.cache_scope = Some(CacheScope::Private);
        }
    }
}

/// Checks a tool's result against its output schema, if it has one. An error becomes an error
/// result, so that a model can read it. An error that is not the tool's own is returned unchanged.
pub(super) fn tool_result(
    ended: Result<CallToolResult>,
    origin: &Origin,
    output: Option<&OutputCheck>,
) -> Result<CallToolResult> {
    let fits = |result: CallToolResult| match output {
        Some(output) => output.check(&result).map(|()| result),
        None => Ok(result),
    };
    let ended = ended.or_else(Error::into_given_result).and_then(fits);
    ended.or_else(|error| tool_error(origin, error, output.is_some()))
}

fn tool_error(origin: &Origin, error: Error, is_structured: bool) -> Result<CallToolResult> {
    let error = as_client_takes(origin, error);
    match error.kind() {
        // Clients expect structured content in a result that is not an error.
        Kind::NotDone(_) if is_structured => {
            Ok(CallToolResult::error(error.message()).mark_declined())
        }
        Kind::NotDone(_) => Ok(CallToolResult::new(error.message()).mark_declined()),
        Kind::Failed | Kind::InvalidParams | Kind::NotFound => {
            Ok(CallToolResult::error(error.message()))
        }
        Kind::Ask(AskError::Unsupported(_)) | Kind::ClientLacks(_) if is_modern(origin) => {
            Err(error)
        }
        Kind::Ask(_) | Kind::ClientLacks(_) => Ok(CallToolResult::error(error.message())),
        Kind::Protocol(_) | Kind::UrlRequired(_) | Kind::Panicked | Kind::Parked => Err(error),
    }
}

/// The JSON-RPC error for an error that no result can carry. Codes that depend on the client are
/// assigned here, all others by [`Error::into_object`].
pub(super) fn error_object(origin: &Origin, error: Error) -> ErrorObject {
    let error = as_client_takes(origin, error);
    match error.kind() {
        Kind::Ask(AskError::Unsupported(capability)) if is_modern(origin) => {
            missing_capability(&error, capability.required())
        }
        Kind::ClientLacks(lacking) if is_modern(origin) => {
            missing_capability(&error, ClientCapabilities::clone(lacking))
        }
        Kind::UrlRequired(links) => {
            let mut data = links.clone();
            for link in data.links_mut() {
                link.elicitation_id = link.elicitation_id.take().or_else(elicitation_id);
            }
            ErrorObject::new(codes::URL_ELICITATION_REQUIRED, error.message())
                .with_data(serde_json::to_value(&data).unwrap_or(Value::Null))
        }
        Kind::Failed
        | Kind::NotDone(_)
        | Kind::Ask(_)
        | Kind::InvalidParams
        | Kind::NotFound
        | Kind::Protocol(_)
        | Kind::ClientLacks(_)
        | Kind::Panicked
        | Kind::Parked => error.into_object(),
    }
}

/// Converts an error that asks the client to open links. URL Elicitation Required is sent only if
/// the client's revision has it and the client opens links (2025-11-25, client/elicitation, URL
/// Elicitation Required Error), and each link must pass the checks of a question.
fn as_client_takes(origin: &Origin, error: Error) -> Error {
    let Kind::UrlRequired(required) = error.kind() else {
        return error;
    };
    let facts = origin.revision.facts();
    if !(facts.elicitation_form && origin.capabilities.elicits_url()) {
        return AskError::Unsupported(Capability::ElicitUrl).into();
    }
    if !facts.url_elicitation_error {
        return Error::new("this revision has no error for links: ask with `Ctx::elicit_url`");
    }
    let link = |link: &ElicitUrlParams| InputRequest::Elicit(ElicitParams::Url(link.clone()));
    let mut links = required.links().iter().map(link);
    // A link has no size limit.
    let wrong = links.find_map(|link| CheckedRequest::new(link, None, &Limits::default()).err());
    wrong.map_or(error, Error::from)
}

fn missing_capability(error: &Error, required_capabilities: ClientCapabilities) -> ErrorObject {
    let missing = MissingCapability {
        required_capabilities,
    };
    missing.into_error(error.message())
}

pub(super) fn is_modern(origin: &Origin) -> bool {
    origin.revision.era() == Era::Modern
}
