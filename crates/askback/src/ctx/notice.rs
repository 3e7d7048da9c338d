//! Notices that what was behind a link is done.

use std::sync::Arc;

use super::{Peer, hex};
use crate::entropy::entropy;

/// Tells the client that what was behind a link is done (2025-11-25, client/elicitation, Completion
/// Notifications): see [`Ctx::completion_notice`](super::Ctx::completion_notice).
#[derive(Clone)]
pub struct CompletionNotice {
    pub(super) peer: Arc<dyn Peer>,
    pub(super) elicitation_id: String,
}

impl CompletionNotice {
    /// Tells it, on the session of the call that asked. Revisions without such a notice hear
    /// nothing: there the client finds out when it tries again.
    pub fn send(self) {
        self.peer.complete_elicitation(self.elicitation_id);
    }
}

/// A name for an elicitation that no other has; `None` where the system has no random bytes to
/// give.
pub(crate) fn elicitation_id() -> Option<String> {
    entropy::<16>().ok().map(|bytes| hex(&bytes))
}
