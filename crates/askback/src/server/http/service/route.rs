//! Routes a request to a session, or to the stateless era.

use std::sync::Arc;

use askback_core::{
    engine::server::ReceivedMessage,
    jsonrpc::{self, ErrorObject, RequestId},
    revision::{Era, Revision},
};
use http::{Response, StatusCode, request::Parts};

use super::{Inner, PAIRED};
use crate::server::http::{
    admission::{INITIALIZE, VERSION, names_a_version, principal, single},
    body::Body,
    heads::Heads,
    response::{self, SESSION_ID},
    session::Session,
};

pub(super) enum Route {
    Stateless,
    New,
    Session(Arc<Session>),
    Nowhere(Response<Body>),
}

impl Inner {
    /// Routes a message. The era is decided only here.
    pub(super) fn route(
        &self,
        parts: &Parts,
        heads: Heads<'_>,
        received: &ReceivedMessage,
    ) -> Route {
        // Nearly every stateless request says in its body what it is.
        if self.stands_alone && (!self.handshakes || names_a_version(received)) {
            return Route::Stateless;
        }
        let version = heads.version();
        let revision = version.and_then(revision_of);
        let era = revision.map(Revision::era);
        if self.stands_alone && era == Some(Era::Modern) {
            return Route::Stateless;
        }
        let session = match heads.session() {
            Ok(session) => session,
            Err(repeated) => {
                return Route::Nowhere(response::refusal(StatusCode::BAD_REQUEST, repeated));
            }
        };
        let paired = parts
            .uri
            .query()
            .and_then(|query| query.strip_prefix(PAIRED));
        if let Some(id) = paired.map(str::as_bytes).or(session) {
            if version.is_some() && !revision.is_some_and(|revision| self.speaks(revision)) {
                return Route::Nowhere(unknown_version());
            }
            let session = self.session(parts, id, paired.is_some());
            return session.map_or_else(|| Route::Nowhere(ended()), Route::Session);
        }
        // An unknown revision may be a stateless one.
        let stateless = self.stands_alone && version.is_some() && era.is_none();
        let (id, method) = match received {
            ReceivedMessage::Request(received) => (&received.id, received.request.method()),
            ReceivedMessage::Misfit(request, _) => (&request.id, &*request.method),
            ReceivedMessage::Notification(_) if stateless => return Route::Stateless,
            ReceivedMessage::Notification(_)
            | ReceivedMessage::Response(_)
            | ReceivedMessage::Batch(_) => {
                return Route::Nowhere(nameless(None));
            }
        };
        match method {
            _ if stateless => Route::Stateless,
            INITIALIZE => Route::New,
            _ => Route::Nowhere(nameless(Some(id))),
        }
    }

    /// Finds a session, if it belongs to the caller.
    pub(super) fn session(&self, parts: &Parts, id: &[u8], paired: bool) -> Option<Arc<Session>> {
        let session = self.sessions.get(id)?;
        let theirs = session.is_of(principal(parts).as_ref());
        (theirs && session.paired == paired).then_some(session)
    }

    pub(super) fn methods(&self, parts: &Parts) -> &'static str {
        let version = single(&parts.headers, &VERSION).ok().flatten();
        match version.and_then(revision_of).map(Revision::era) {
            Some(Era::Modern) => "POST",
            _ if self.handshakes => "POST, GET, DELETE",
            _ => "POST",
        }
    }

    pub(super) fn speaks(&self, revision: Revision) -> bool {
        self.shared.profile.revisions.contains(&revision)
    }

    pub(super) fn named(&self, parts: &Parts) -> Route {
        let refused = |why| Route::Nowhere(response::refusal(StatusCode::BAD_REQUEST, why));
        match single(&parts.headers, &VERSION) {
            Ok(None) => {}
            Ok(Some(version)) => match revision_of(version) {
                Some(revision) if revision.era() == Era::Modern => {
                    return Route::Nowhere(response::not_allowed(self.methods(parts)));
                }
                Some(revision) if self.speaks(revision) => {}
                _ => return Route::Nowhere(unknown_version()),
            },
            Err(repeated) => return refused(repeated),
        }
        match single(&parts.headers, &SESSION_ID) {
            Ok(None) => Route::New,
            Ok(Some(id)) => {
                let session = self.session(parts, id, false);
                session.map_or_else(|| Route::Nowhere(ended()), Route::Session)
            }
            Err(repeated) => refused(repeated),
        }
    }
}

/// Returns one response for all sessions that cannot be used: ended, unknown, or another caller's.
pub(super) fn ended() -> Response<Body> {
    let why = "unknown or ended session: send `initialize` to open one";
    response::refusal(StatusCode::NOT_FOUND, why)
}

fn revision_of(version: &[u8]) -> Option<Revision> {
    std::str::from_utf8(version).ok()?.parse().ok()
}

fn unknown_version() -> Response<Body> {
    let why = "MCP-Protocol-Version names no revision spoken here";
    response::refusal(StatusCode::BAD_REQUEST, why)
}

/// A client of either era may have sent this, so the error says what is missing for both.
pub(super) fn nameless(id: Option<&RequestId>) -> Response<Body> {
    let why = "name a session in Mcp-Session-Id, or the protocol version in MCP-Protocol-Version \
               and `_meta`";
    let error = ErrorObject::new(jsonrpc::INVALID_REQUEST, why);
    response::error(StatusCode::BAD_REQUEST, id, &error)
}
