//! The way to the era of a server, as a client goes it (2026-07-28, basic/transports/stdio, Backward
//! Compatibility).

use std::io;

use askback_core::revision::Revision;

use crate::{
    check,
    probe::{Bounds, End, Probe, Reply, Way},
};

/// The answer to the greeting that counts.
pub(super) struct Met {
    pub(super) talk: Probe,
    /// The answer; its time is that since the server was first asked.
    pub(super) reply: Reply,
}

/// Asks a server of which era it is, and makes the handshake where it does not say so in time. A process that is slow to
/// start may answer both: it is of the newest revision if it then refuses the handshake.
///
/// # Errors
///
/// Fails where a process cannot be started.
pub(super) async fn find(way: &Way, bounds: &Bounds) -> io::Result<Met> {
    let mut talk = way.open(bounds, Revision::LATEST)?;
    if !way.is_http() {
        let probe = bounds.limits.client.probe;
        talk.set_first(probe.min(bounds.limits.wire.request));
    }
    let reply = check::greet(&mut talk).await.reply;
    if check::speaks(Revision::LATEST, &reply) || !wants_handshake(way, &reply) {
        return Ok(Met { talk, reply });
    }
    let asked = reply;
    match asked.is_gone() {
        true => {
            talk.close().await;
            talk = way.open(bounds, Revision::LATEST_LEGACY)?;
        }
        false => talk.turn_to(Revision::LATEST_LEGACY),
    }
    let mut reply = check::greet(&mut talk).await.reply;
    reply.took = reply.took.saturating_add(asked.took);
    if reply.result().is_none()
        && let Some(late) = late(&reply)
    {
        talk.turn_to(Revision::LATEST);
        reply = late;
    }
    Ok(Met { talk, reply })
}

/// Whether a client tries the handshake after this answer. Over HTTP, silence tells nothing of the era.
fn wants_handshake(way: &Way, reply: &Reply) -> bool {
    match way {
        Way::Start(_) => !reply.is_unseen(),
        Way::Address(_) => reply.end == End::Done && reply.status.is_none_or(|status| status < 500),
    }
}

/// The answer to the first question, if it came while that to the handshake was waited for.
fn late(reply: &Reply) -> Option<Reply> {
    let mut strays = reply.strays.iter().map(|stray| Reply {
        answer: Some(stray.clone()),
        took: reply.took,
        faults: reply.faults.clone(),
        ..Reply::default()
    });
    strays.find(|late| check::speaks(Revision::LATEST, late))
}
