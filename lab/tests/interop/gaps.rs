//! Features that peers lack. Each entry is checked: if the feature works, the entry is wrong.

use crate::plan::{Gap, Peer, Scenario, Side};

pub(crate) const GAPS: &[Gap] = &[Gap {
    peer: Peer::Python1,
    side: Side::Client,
    transport: None,
    revisions: &[],
    scenarios: &[Scenario::Cancellation],
    why: "Its client does not report that it gives up a call: `send_request` of `shared/session.py` \
          sends no `notifications/cancelled`, and the number of the request is not public.",
}];
