//! Sessions in a fleet: a session id contains everything a process needs to serve it.

use std::{
    io,
    sync::{Arc, Weak},
};

use askback_core::{
    ask::{Millis, Principal, seal},
    engine::server::SessionSeed,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{session::Session, sessions::Sessions};
use crate::{
    entropy::entropy,
    journal::{SessionId, SessionRequest},
    server::{
        Shared,
        fleet::{self, POLL},
    },
    store::{Owner, StoreError},
};

/// The lifetime of a session, in milliseconds: seven days. After that the client opens a new one.
const TTL: Millis = 7 * 24 * 3600 * 1000;

/// The maximum length of a session id, in characters. Each request carries it in a header.
const CHARS: usize = 4 << 10;

#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(rename = "j")]
    member: [u8; 16],
    #[serde(rename = "e")]
    expires: Millis,
    #[serde(rename = "s")]
    seed: SessionSeed,
}

/// The purpose of the seal of a session id, which is valid for the same principal only.
const SESSION: &str = "session";

/// Returns a new session's sealed id, and its id in the fleet.
pub(super) fn seal(shared: &Shared, session: &Session) -> io::Result<(String, SessionId)> {
    let member = entropy()?;
    let mut seed = session
        .seed()
        .ok_or_else(|| io::Error::other("the session is not open"))?;
    // These members may have any length, and handlers in a handshake revision do not need them to
    // ask.
    seed.capabilities.experimental = None;
    seed.capabilities.extensions = None;
    let token = Token {
        member,
        expires: shared.clock().now().saturating_add(TTL),
        seed,
    };
    let bytes = serde_json::to_vec(&token)?;
    let principal = session.principal();
    let keys = shared
        .keys()
        .map_err(|error| io::Error::other(error.message().to_owned()))?;
    let binding = shared.binding(principal.as_deref(), SESSION);
    let random = seal::Entropy(entropy()?);
    let id = seal::seal(keys, &binding, &bytes, random, CHARS);
    Ok((id.map_err(io::Error::other)?, SessionId(member)))
}

/// Returns the session for an id issued by any process of the fleet, unless it has ended.
///
/// # Errors
///
/// If the journal cannot be read.
pub(super) async fn open(
    shared: &Arc<Shared>,
    id: &str,
    principal: Option<Arc<Principal>>,
) -> Result<Option<Session>, StoreError> {
    let Some(token) = read(shared, id, principal.as_deref()) else {
        return Ok(None);
    };
    let Some(node) = &shared.fleet else {
        return Ok(None);
    };
    let member = SessionId(token.member);
    let known = node.heard(node.journal.session(member).await)?;
    if known.is_ended {
        return Ok(None);
    }
    let note = known.note;
    let choices = note.and_then(|note| fleet::opened(shared, NOTE, &note_place(member), &note));
    let known = (token.seed, choices.unwrap_or_default());
    let session = Session::reopened(shared, principal, known);
    Ok(session.map(|session| session.named(id.to_owned()).of_fleet(member)))
}

/// Opens an id, if it was issued in this fleet for this principal and has not expired.
fn read(shared: &Shared, id: &str, principal: Option<&Principal>) -> Option<Token> {
    let keys = shared.keys().ok()?;
    let bytes = seal::open(keys, &shared.binding(principal, SESSION), id, CHARS).ok()?;
    let token: Token = serde_json::from_slice(&bytes).ok()?;
    (token.expires > shared.clock().now()).then_some(token)
}

const NOTE: &str = "journal note";

fn note_place(member: SessionId) -> String {
    URL_SAFE_NO_PAD.encode(member.0)
}

/// Records the log level and subscriptions of a session's client for other processes.
pub(super) async fn note(shared: &Shared, session: &Session) {
    let (Some(node), Some(member)) = (&shared.fleet, session.member) else {
        return;
    };
    let choices = fleet::sealed(shared, NOTE, &note_place(member), &session.choices());
    let principal = session.principal();
    let noted = match choices {
        Ok(choices) => {
            let request = request(shared, member, principal.as_deref());
            let noted = node.journal.note(request, &choices).await;
            node.hint_session(member);
            noted
        }
        Err(error) => {
            tracing::error!(
                error = error.message(),
                "what a client has chosen is not noted"
            );
            return;
        }
    };
    if let Err(error) = noted {
        tracing::error!(%error, "what a client has chosen is not noted");
    }
}

/// Loads the log level and subscriptions that the client has set at another process.
pub(super) async fn reread(shared: &Shared, session: &Session) {
    let (Some(node), Some(member)) = (&shared.fleet, session.member) else {
        return;
    };
    let Ok(known) = node.heard(node.journal.session(member).await) else {
        return;
    };
    let note = known.note;
    let choices = note.and_then(|note| fleet::opened(shared, NOTE, &note_place(member), &note));
    if let Some(choices) = choices {
        session.choose(choices);
    }
}

/// Rereads sessions whose client has set its log level or subscriptions at another process.
pub(super) async fn look_for_choices(sessions: Weak<Sessions>, mut chosen: Receiver<SessionId>) {
    loop {
        let session = match chosen.recv().await {
            Ok(session) => session,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        if let Some(session) = sessions.member(session) {
            reread(sessions.shared(), &session).await;
        }
    }
}

/// The journal's key for a session. Its data is kept until its id has expired.
pub(super) fn request(
    shared: &Shared,
    session: SessionId,
    principal: Option<&Principal>,
) -> SessionRequest {
    let now = shared.clock().now();
    SessionRequest {
        session,
        owner: principal.map(Owner::of),
        now,
        expires: now.saturating_add(TTL),
    }
}

pub(super) async fn look_for_ends(sessions: Weak<Sessions>) {
    let mut since = None;
    loop {
        tokio::time::sleep(POLL).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let shared = sessions.shared();
        let Some(node) = &shared.fleet else { return };
        let now = shared.clock().now();
        let from = since.unwrap_or(now).saturating_sub(SKEW);
        if let Ok(ended) = node.heard(node.journal.ended_since(from).await) {
            since = Some(now);
            if !ended.is_empty() {
                sessions.end_members(&ended);
                node.end_sessions(&ended);
            }
        }
    }
}

/// The maximum clock difference between two processes, in milliseconds.
const SKEW: Millis = 10_000;
