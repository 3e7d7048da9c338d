//! Requests and answers as they are written: with all that their revision wants beside the parameters.

use alloc::{borrow::ToOwned, vec::Vec};

use super::Profile;
use crate::{
    jsonrpc::{self, RequestId},
    protocol::{ClientRequest, HasMeta, InputResponse, LoggingLevel, RawJson},
    revision::Revision,
    wire,
};

/// Writes into a request what its revision wants beside the parameters: everything about this
/// client where each request stands alone (2026-07-28, basic/index, `_meta`), and under which name
/// to tell of progress. What the caller wrote there beside stays.
pub(super) fn stamp(
    request: &mut ClientRequest,
    profile: &Profile,
    revision: Revision,
    log_level: Option<LoggingLevel>,
    progress: Option<i64>,
) {
    let facts = revision.facts();
    if !facts.request_meta && progress.is_none() {
        return;
    }
    let meta = request.meta_mut();
    meta.progress_token = progress.map(RequestId::Number);
    if facts.request_meta {
        meta.protocol_version = Some(revision.as_str().to_owned());
        meta.client_info = Some(profile.info.clone());
        meta.client_capabilities = Some(profile.capabilities.clone());
        meta.log_level = log_level;
    }
}

/// An answer as a response of its own.
pub(super) fn write_response(
    revision: Revision,
    id: &RequestId,
    response: InputResponse,
) -> Vec<u8> {
    match wire::lower(response, revision) {
        InputResponse::Elicit(result) => jsonrpc::write_result(id, &result),
        InputResponse::Sample(result) => jsonrpc::write_result(id, &result),
        InputResponse::Roots(result) => jsonrpc::write_result(id, &result),
    }
}

/// An answer as it stands in `inputResponses`.
pub(super) fn response_json(response: InputResponse, revision: Revision) -> RawJson {
    let json = match wire::lower(response, revision) {
        InputResponse::Elicit(result) => RawJson::new(&result),
        InputResponse::Sample(result) => RawJson::new(&result),
        InputResponse::Roots(result) => RawJson::new(&result),
    };
    // Writing fails only for maps whose keys are not strings, and no result has one.
    json.unwrap_or_default()
}
