//! Requests on their way to the server's handlers.

use alloc::sync::Arc;

use super::{Origin, origin::object_bytes};
use crate::{
    jsonrpc::RequestId,
    protocol::{ClientRequest, JsonObject},
    revision::Facts,
};

/// A request for the server's handlers.
#[derive(Debug, Clone)]
pub struct Call {
    /// The id of the request.
    pub id: RequestId,
    /// The request.
    pub request: ClientRequest,
    /// The client's `_meta` beside the members that the protocol reads.
    pub meta: JsonObject,
    /// The origin of the request.
    pub origin: Arc<Origin>,
}

impl Call {
    /// About how many bytes its `_meta` takes.
    #[must_use]
    pub fn meta_bytes(&self) -> usize {
        object_bytes(&self.meta)
    }

    /// The facts of the revision the request came in.
    #[must_use]
    pub fn facts(&self) -> &'static Facts {
        self.origin.revision.facts()
    }
}
