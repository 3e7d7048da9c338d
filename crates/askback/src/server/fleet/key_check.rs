//! Notices a process that has another key than its fleet, before a call is lost.
//!
//! The journal keeps a sealed time under an id that depends on the service only. A process that cannot open it has
//! another key. What is stored says nothing about the key, and a process with an old and a new key opens both.

use std::sync::atomic::Ordering;

use askback_core::ask::Millis;
use sha2::{Digest as _, Sha256};

use super::{Node, opened, sealed};
use crate::{
    journal::{SessionId, SessionRequest},
    server::Shared,
};

/// The purpose of the seal.
const KEY_CHECK: &str = "key check";

/// How long the check is kept in milliseconds: seven days, as long as a session. If all processes get another key at
/// once, they are told so for as long.
const TTL: Millis = 7 * 24 * 3600 * 1000;

/// How old it may be, in milliseconds, before it is written again: one day.
const MAX_AGE: Millis = 24 * 3600 * 1000;

/// The id under which the check is stored. No session has it, because ids of sessions are random.
fn place(shared: &Shared) -> SessionId {
    let mut id = *b"fleetkey........";
    let digest = Sha256::new_with_prefix("askback key check v1").chain_update(shared.service());
    id[8..].copy_from_slice(&digest.finalize()[..8]);
    SessionId(id)
}

/// Compares this process's key with the key of the fleet, and logs an error once if it is another one. The first check of
/// a process seals it again, so that the last process that knows the old key of a rotation leaves it with the new one. If
/// the journal does not answer, the next check tries again.
pub(super) async fn check(shared: &Shared, node: &Node, is_first: bool) {
    let now = shared.clock().now();
    let place = place(shared);
    let Ok(known) = node.heard(node.journal.session(place).await) else {
        return;
    };
    let written = known
        .note
        .map(|note| opened::<Millis>(shared, KEY_CHECK, "", &note));
    match written {
        Some(None) => {
            if !node.has_other_key.swap(true, Ordering::Relaxed) {
                tracing::error!(
                    "this process has another key than its fleet: it cannot go on with calls and sessions of other \
                     processes; give all processes the same key"
                );
            }
            return;
        }
        Some(Some(written)) if !is_first && now.saturating_sub(written) < MAX_AGE => {}
        Some(Some(_)) | None => {
            // Without a key, calls that ask fail with an error that says so.
            if let Ok(note) = sealed(shared, KEY_CHECK, "", &now) {
                let request = SessionRequest {
                    session: place,
                    owner: None,
                    now,
                    expires: now.saturating_add(TTL),
                };
                // On failure, the next check writes it.
                let _ = node.heard(node.journal.note(request, &note).await);
            }
        }
    }
    if node.has_other_key.swap(false, Ordering::Relaxed) {
        tracing::info!("this process has the key of its fleet again");
    }
}
