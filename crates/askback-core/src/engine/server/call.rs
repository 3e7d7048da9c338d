//! Requests on their way to the server's handlers.

use alloc::sync::Arc;

use super::{Origin, origin::object_bytes};
use crate::{
    jsonrpc::RequestId,
    protocol::{ClientRequest, JsonObject},
    revision::Facts,
};

#[derive(Debug, Clone)]
pub struct Call {
    pub id: RequestId,
    pub request: ClientRequest,
    /// The members of the client's `_meta` that the protocol does not define.
    pub meta: JsonObject,
    pub origin: Arc<Origin>,
}

impl Call {
    #[must_use]
    pub fn meta_bytes(&self) -> usize {
        object_bytes(&self.meta)
    }

    #[must_use]
    pub fn facts(&self) -> &'static Facts {
        self.origin.revision.facts()
    }
}
