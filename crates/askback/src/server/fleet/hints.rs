//! Hints between the processes of a fleet: a change at one process reaches the clients of all.

use std::{
    slice,
    sync::{Arc, Weak},
    time::Duration,
};

use askback_core::engine::server::{Change, tells};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::{LogMessage, Node, opened, sealed};
use crate::{
    ctx::Audience,
    journal::{CallId, HeardHints, MAX_HINT_BYTES, SessionId, Topic},
    server::{Shared, trace},
    store::Owner,
};

/// How long one wait on the bus lasts before the process checks that its server still exists, and
/// the pause after an error of the bus or a gap.
const LISTEN: Duration = Duration::from_secs(1);

const HINT: &str = "bus hint";

#[derive(Serialize, Deserialize)]
struct ChangeHint {
    node: [u8; 8],
    /// `None` if a hint has no room for it: anything may have changed.
    changed: Option<Change>,
    /// `None` for all.
    owner: Option<OwnerHint>,
}

#[derive(Serialize, Deserialize)]
enum OwnerHint {
    Unknown,
    Known([u8; 16]),
}

/// Publishes a change to the other processes. A change that concerns those who can see an offer is
/// not published, because each process has its own catalog.
pub(in crate::server) fn publish_change(
    shared: &Shared,
    node: &Node,
    changed: &Change,
    to: &Audience,
) {
    let Some(bus) = &node.bus else { return };
    let owner = match to {
        Audience::All => None,
        Audience::Only(None) => Some(OwnerHint::Unknown),
        Audience::Only(Some(principal)) => Some(OwnerHint::Known(Owner::of(principal).0)),
        Audience::Owner(owner) => Some(OwnerHint::Known(owner.0)),
        Audience::Those(_) => return,
    };
    let mut hint = ChangeHint {
        node: node.id.0,
        changed: Some(changed.clone()),
        owner,
    };
    let mut bytes = sealed(shared, HINT, "", &hint).unwrap_or_default();
    if bytes.len() > MAX_HINT_BYTES {
        (hint.changed, hint.owner) = (None, None);
        bytes = sealed(shared, HINT, "", &hint).unwrap_or_default();
    }
    bus.publish(Topic::Changed, &bytes);
}

impl Node {
    /// Tells all readers of a log to read it.
    pub(super) fn hint(&self, call: CallId) {
        self.wake(call);
        self.hint_others(call, None);
    }

    /// Gives the readers in this process what was added to a log, and tells the other processes to read it.
    pub(super) fn hint_added(&self, call: CallId, messages: &[LogMessage]) {
        if !messages.is_empty() {
            self.give(call, messages);
            self.hint_others(call, None);
        }
    }

    /// Gives the last message of a log to its readers in this process and, if a hint has room for it, in the others.
    pub(super) fn hint_last(&self, call: CallId, last: &LogMessage, sealed: &[u8]) {
        self.give(call, slice::from_ref(last));
        self.hint_others(call, Some((last.number, sealed)));
    }

    /// Sends the id of this process and the last message, or the id alone if a hint has no room for both.
    fn hint_others(&self, call: CallId, last: Option<(u64, &[u8])>) {
        let Some(bus) = &self.bus else { return };
        let (topic, id) = (Topic::Call(call), &self.id.0[..]);
        let has_room = |sealed: &[u8]| id.len() + size_of::<u64>() + sealed.len() <= MAX_HINT_BYTES;
        match last {
            Some((number, sealed)) if has_room(sealed) => {
                bus.publish(topic, &[id, &number.to_be_bytes(), sealed].concat());
            }
            _ => bus.publish(topic, id),
        }
    }

    /// Gives the last message in a hint to the readers of its log, or else tells them to read it.
    fn take_hint(&self, shared: &Shared, call: CallId, message: &[u8]) {
        let Some(session) = self.follows(call) else {
            return;
        };
        let last = message.split_first_chunk().and_then(|(number, sealed)| {
            let number = u64::from_be_bytes(*number);
            LogMessage::open(shared, (session, call), number, sealed)
        });
        match last.filter(|last| last.is_last) {
            Some(last) => self.give(call, &[last]),
            None => self.wake(call),
        }
    }

    /// Tells the other processes that a client has set its log level or subscriptions.
    pub(in crate::server) fn hint_session(&self, session: SessionId) {
        if let Some(bus) = &self.bus {
            bus.publish(Topic::Session(session), &self.id.0);
        }
    }
}

pub(super) async fn listen(shared: Weak<Shared>) {
    let mut cursor = None;
    loop {
        let bus = {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            shared.fleet.as_ref().and_then(|node| node.bus.clone())
        };
        let Some(bus) = bus else { return };
        let heard = match timeout(LISTEN, bus.hear(cursor)).await {
            Ok(Ok(heard)) => heard,
            Ok(Err(error)) => {
                tracing::debug!(%error, "the bus fails");
                sleep(LISTEN).await;
                continue;
            }
            Err(_) => continue,
        };
        cursor = Some(heard.cursor);
        let has_gap = heard.has_gap;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if let Some(node) = &shared.fleet {
            take(&shared, node, heard);
        }
        drop(shared);
        if has_gap {
            // Each gap makes all clients and readers look again, so many in a row count as one.
            sleep(LISTEN).await;
        }
    }
}

fn take(shared: &Shared, node: &Arc<Node>, heard: HeardHints) {
    if heard.has_gap {
        trace::count_gap();
        node.wake_all();
        tell_all(shared);
    }
    for (topic, hint) in heard.hints {
        match topic {
            Topic::Call(_) | Topic::Session(_) if hint.starts_with(&node.id.0) => {}
            Topic::Call(call) => {
                let message = hint.get(node.id.0.len()..).unwrap_or_default();
                node.take_hint(shared, call, message);
            }
            // There may be no receiver.
            Topic::Session(session) => drop(node.chosen.send(session)),
            Topic::Changed => take_change(shared, node, &hint),
        }
    }
}

fn take_change(shared: &Shared, node: &Node, hint: &[u8]) {
    let Some(hint) = opened::<ChangeHint>(shared, HINT, "", hint) else {
        tracing::debug!("a hint on the bus is not one of this fleet");
        return;
    };
    if hint.node == node.id.0 {
        return;
    }
    let to = match hint.owner {
        None => Audience::All,
        Some(OwnerHint::Unknown) => Audience::Only(None),
        Some(OwnerHint::Known(owner)) => Audience::Owner(Owner(owner)),
    };
    match hint.changed {
        Some(changed) => shared.changes.tell(&changed, to),
        None => tell_all(shared),
    }
}

fn tell_all(shared: &Shared) {
    let capabilities = &shared.profile.capabilities;
    shared
        .changes
        .tell_all(|changed| tells(capabilities, changed));
}
