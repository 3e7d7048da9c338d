use std::sync::Arc;

use super::{Peer, hex};
use crate::entropy::entropy;

/// Notifies the client that the user is done with a link's page (2025-11-25, client/elicitation, Completion
/// Notifications): see [`Ctx::completion_notice`](super::Ctx::completion_notice).
#[derive(Clone)]
pub struct CompletionNotice {
    pub(super) peer: Arc<dyn Peer>,
    pub(super) elicitation_id: String,
}

impl CompletionNotice {
    /// Sends the notice on the session of the call that asked. In revisions without this notice it does nothing, and
    /// the client finds out when it tries again.
    pub fn send(self) {
        self.peer.complete_elicitation(self.elicitation_id);
    }
}

/// Returns a unique elicitation id; `None` if the system provides no random bytes.
pub(crate) fn elicitation_id() -> Option<String> {
    entropy::<16>().ok().map(|bytes| hex(&bytes))
}
