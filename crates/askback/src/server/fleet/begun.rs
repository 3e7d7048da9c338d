//! Calls that have not asked yet and whose clients have left. A note in the journal says that their process goes on with
//! them, so that a client that comes back to another process waits for the result, and gets it there.

use std::sync::Arc;

use askback_core::jsonrpc::{self, ErrorObject, RequestId};

use super::{LeaseGuard, Node, Standing, event, finish, opened, place_in, sealed};
use crate::{
    clock::millis,
    error::Result,
    journal::{Event, ParkOutcome, ParkRequest, TakenCall},
    server::Shared,
    store::Owner,
};

/// The purpose of the record of such a call, for its seal.
const BEGUN: &str = "journal begun request";

/// How far the error of a call whose process is gone is behind the messages that the client may have. Their number is known
/// to that process alone.
const AHEAD: u64 = 1 << 32;

/// The error of a call whose process is gone.
const CONNECTION_LOST: &str = "the connection to the server process that worked on this request was lost before the \
    request was written down: its result cannot be delivered. Whether it took effect is not known; check before you call \
    again";

/// A call that this process works on, and that no other process can go on with.
pub(crate) struct BegunCall {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Arc<Node>,
    pub(crate) owner: Option<Owner>,
    pub(crate) standing: Standing,
}

impl BegunCall {
    /// Writes down that the call goes on. Whether that is done.
    pub(crate) async fn write_down(&self) -> bool {
        let written = self.park(&[], self.standing.next_event).await;
        let error = match written {
            Ok(outcome) => return outcome == ParkOutcome::Waiting,
            Err(error) => error,
        };
        tracing::error!(%error, "a call whose client has left could not be written down");
        false
    }

    /// Holds the lease on the call from now on.
    pub(crate) fn lease(&self) -> LeaseGuard {
        LeaseGuard::new(&self.node, &self.standing)
    }

    /// Ends the call with its last message, which has this number.
    pub(crate) async fn finish(&self, number: u64, message: Vec<u8>) {
        let Standing { call, session, .. } = self.standing;
        let last = event(&self.shared, (session, call), number, None, message, None);
        let written = match last {
            Ok(last) => self.park(&[last], number).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::error!(%error, "the result of a call could not be written down");
        }
        let held = (call, self.standing.epoch);
        finish(&self.shared, &self.node, held, &[], None).await;
    }

    async fn park(&self, events: &[Event], first_event: u64) -> Result<ParkOutcome> {
        let Self {
            shared,
            node,
            owner,
            standing,
        } = self;
        let whose = (standing.session, standing.call);
        let record = sealed(shared, BEGUN, &place_in(whose, "record"), &standing.id)?;
        let now = shared.clock().now();
        let request = ParkRequest {
            call: standing.call,
            session: standing.session,
            request: standing.request(),
            owner: *owner,
            epoch: standing.epoch,
            record: &record,
            status: None,
            settled: &[],
            events,
            first_event,
            wake: None,
            keep: Some(node.lease(now)),
            now,
            expires: now.saturating_add(millis(shared.limits().asking.flow_ttl)),
        };
        Ok(node.heard(node.journal.park(request).await)?)
    }
}

/// The request of a call that has not asked yet, if this is one.
fn request_of(shared: &Shared, taken: &TakenCall) -> Option<RequestId> {
    let whose = (taken.session, taken.call);
    opened(shared, BEGUN, &place_in(whose, "record"), &taken.record)
}

/// Ends a call whose process is gone before it has asked. `None` if this is another call.
pub(super) fn lost(
    shared: &Arc<Shared>,
    node: &Arc<Node>,
    taken: &TakenCall,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let mut standing = Standing::new(
        taken.call,
        taken.session,
        request_of(shared, taken)?,
        taken.next_event,
    );
    standing.epoch = taken.epoch;
    let message = connection_lost(&standing.id);
    let number = taken.next_event.saturating_add(AHEAD);
    let begun = BegunCall {
        shared: Arc::clone(shared),
        node: Arc::clone(node),
        owner: None,
        standing,
    };
    Some(async move { begun.finish(number, message).await })
}

/// The answer to a request whose process is gone.
pub(crate) fn connection_lost(request: &RequestId) -> Vec<u8> {
    jsonrpc::write_error(Some(request), &ErrorObject::internal(CONNECTION_LOST))
}
