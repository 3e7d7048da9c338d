//! Answers as they are written.

use alloc::vec::Vec;

use crate::{
    jsonrpc::{self, RequestId},
    protocol::{InputResponse, RawJson},
    revision::Revision,
    wire,
};

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
