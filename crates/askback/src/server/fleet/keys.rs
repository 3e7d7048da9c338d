//! Whether this process and the other processes of its fleet can open what the others seal.

use std::{sync::atomic::Ordering, time::Duration};

use askback_core::ask::Millis;
use serde::{Deserialize, Serialize};

use super::{Node, opened, sealed};
use crate::{
    clock::millis,
    journal::{SessionId, SessionRequest},
    server::Shared,
    store::StoreError,
};

/// The place of the note. The ids of sessions are random.
const PLACE: SessionId = SessionId([0; 16]);

const NOTE: &str = "fleet keys";

/// How old a note may be before a process that can open it writes another one, with its own key.
const RENEW: Duration = Duration::from_secs(60);

/// How long a note says which keys the fleet has. Afterwards, processes with other keys may begin another fleet.
const TTL: Duration = Duration::from_secs(180);

/// A note that each process of a fleet can open.
#[derive(Serialize, Deserialize)]
struct KeyNote {
    written: Millis,
}

/// Checks that this process can open what the others seal, and leaves a note by which they can check the same. While a key
/// is replaced step by step, each process knows the keys with which the others seal.
pub(in crate::server) async fn are_shared(
    shared: &Shared,
    node: &Node,
) -> Result<bool, StoreError> {
    let now = shared.clock().now();
    let read = async || -> Result<Option<Option<KeyNote>>, StoreError> {
        let known = node.heard(node.journal.session(PLACE).await)?;
        let note = known.note;
        Ok(note.map(|note| opened(shared, NOTE, "", &note)))
    };
    let mut note = read().await?;
    if let Some(None) = note {
        // Perhaps its fleet is gone.
        node.heard(node.journal.purge(now).await)?;
        note = read().await?;
    }
    let (are_shared, is_due) = match note {
        None => (true, true),
        Some(None) => (false, false),
        Some(Some(note)) => (true, now >= note.written.saturating_add(millis(RENEW))),
    };
    if is_due && let Ok(note) = sealed(shared, NOTE, "", &KeyNote { written: now }) {
        let place = SessionRequest {
            session: PLACE,
            owner: None,
            now,
            expires: now.saturating_add(millis(TTL)),
        };
        // A journal that is full still answers.
        let _ = node.heard(node.journal.note(place, &note).await);
    }
    match (
        node.has_other_keys.swap(!are_shared, Ordering::Relaxed),
        are_shared,
    ) {
        (false, false) => tracing::error!(
            "other processes of the fleet seal with a key that this process does not have, or for another service: \
             clients lose their sessions and calls here. Give all processes the same keys and the same service"
        ),
        (true, true) => tracing::info!("this process has the keys of the fleet"),
        _ => {}
    }
    Ok(are_shared)
}
