//! The replay check: a handler that has asked is run again from its record, and must ask the same
//! questions.

use std::{sync::Arc, task::Poll};

use askback_core::{
    ask::{Flow, FlowState},
    jsonrpc::ErrorObject,
};

use super::{answer::Answer, call::HandlerCall};
use crate::{
    ctx::Peer,
    error::{Error, Result},
    flow::Turn,
};

/// The start of the error message with which the check ends a call.
pub(crate) const UNSAFE_REPLAY: &str = "the handler is not safe to run again";

struct ReplayDifference {
    changed: bool,
    missing: bool,
    /// A question that was not asked before, or a step that was not run.
    extra: bool,
}

impl<T: Answer> HandlerCall<T> {
    /// Runs the handler again from its record, and fails if it asks something else.
    pub(super) async fn check_replay(&self, state: FlowState) -> Result<()> {
        let limits = self.limits();
        let flow = Flow::rehearse(state.clone(), Arc::clone(limits));
        let mut drive = self.drive(Some(flow), Arc::new(SilentPeer));
        let mut waited = false;
        let rehearsal = std::future::poll_fn(|cx| {
            match drive.poll_turn(cx) {
                Poll::Ready(Turn::BecomeTask) if self.is_task() => {
                    drive.cell().become_task();
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Turn::Done(_) | Turn::BecomeTask) => return Poll::Ready(false),
                Poll::Ready(Turn::Ask) => {
                    let compared = compare(&state, &drive.cell().flow());
                    // A wait that is not recorded may be shorter or longer this time, so the replay
                    // may get further.
                    if compared.changed || (compared.extra && !waited) {
                        return Poll::Ready(false);
                    }
                    if !compared.missing {
                        return Poll::Ready(true);
                    }
                }
                Poll::Pending => {}
            }
            waited = true;
            Poll::Pending
        });
        // The handler may wait for something that takes as long as a step.
        let is_safe = tokio::time::timeout(limits.asking.run, rehearsal).await == Ok(true);
        let why = (!is_safe).then(|| explain(&state, &drive.cell().flow()));
        drive.suspend();
        let Some(why) = why else { return Ok(()) };
        tracing::error!(target = ?self.incoming.target, "{why}");
        Err(Error::protocol(ErrorObject::internal(why)))
    }
}

fn compare(state: &FlowState, again: &Flow) -> ReplayDifference {
    let mut compared = ReplayDifference {
        changed: false,
        missing: false,
        extra: again.open_steps().next().is_some(),
    };
    let mut found = 0;
    for (key, digest) in again.open() {
        match state.open.iter().find(|open| open.key == key) {
            None => compared.extra = true,
            Some(open) if open.question == digest => found += 1,
            Some(_) => compared.changed = true,
        }
    }
    compared.missing = found < state.open.len();
    compared
}

fn explain(state: &FlowState, again: &Flow) -> String {
    let list = |keys: Vec<&str>| keys.join(", ");
    let asked = list(state.open.iter().map(|open| &*open.key).collect());
    let asks = list(again.open().map(|(key, _)| key).collect());
    let begun = list(again.open_steps().collect());
    let how = if !begun.is_empty() {
        format!(" and wants to run [{begun}], which is not recorded")
    } else if asked == asks {
        " with other words".to_owned()
    } else {
        String::new()
    };
    format!(
        "{UNSAFE_REPLAY}: it asked [{asked}] and, run again from its record, asks [{asks}]{how}; \
         what differs between two runs (the time, random values, what a service answers) must come \
         from ctx.run, ctx.now or ctx.random"
    )
}

struct SilentPeer;

impl Peer for SilentPeer {}
