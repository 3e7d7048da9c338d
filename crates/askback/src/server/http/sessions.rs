//! The sessions of an endpoint.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::time::Instant;

use askback_core::ask::Principal;

use super::{fleet_session, session::Session};
use crate::{
    entropy::entropy,
    journal::SessionId,
    server::{
        Shared,
        budget::{Budget, NoRoom, Owner, Shortage},
    },
};

/// The interval at which expired sessions are removed.
const ROUND: Duration = Duration::from_secs(10);

/// If an owner has too many sessions, it loses one in this many at once, so that a flood does not
/// search its sessions for each new one.
const ENDED: usize = 16;

/// The maximum number of attempts to make room for a new session by ending others.
const ATTEMPTS: usize = 3;

const MADE_ROOM: &str =
    "the server ended this session because it needed the memory; open a new one and call again";

#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error("there is no entropy for its id: {0}")]
    Broken(#[from] io::Error),
}

/// A session of the fleet cannot be served now: the client may send the same request again.
pub(super) struct SessionUnavailable;

pub(super) struct Sessions {
    by_id: Mutex<HashMap<Box<[u8]>, Arc<Session>>>,
    shared: Arc<Shared>,
    places: Budget,
    /// Whether the periodic cleanup runs: it starts with the first session.
    begun: AtomicBool,
    me: Weak<Self>,
}

impl Sessions {
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            by_id: Mutex::default(),
            shared: Arc::clone(shared),
            places: Budget::of_things(shared.limits().http.sessions, shared.limits()),
            begun: AtomicBool::new(false),
            me: Weak::clone(me),
        })
    }

    pub(super) fn get(&self, id: &[u8]) -> Option<Arc<Session>> {
        self.by_id().get(id).cloned()
    }

    pub(super) fn has(&self, id: &[u8]) -> bool {
        self.by_id().contains_key(id)
    }

    pub(super) fn add(&self, session: Session) -> Result<Arc<Session>, SessionError> {
        self.begin();
        let session = match &self.shared.fleet {
            Some(_) if !session.paired => {
                let (id, member) = fleet_session::seal(&self.shared, &session)?;
                session.named(id).of_fleet(member)
            }
            _ => session.named(URL_SAFE_NO_PAD.encode(entropy::<18>()?)),
        };
        self.keep(session)
    }

    /// Prepares the session with this id, if another process of the fleet has opened it for this
    /// principal.
    pub(super) async fn reopen(
        &self,
        id: &str,
        principal: Option<Arc<Principal>>,
    ) -> Result<(), SessionUnavailable> {
        let opened = fleet_session::open(&self.shared, id, principal).await;
        let opened = opened.map_err(|_| SessionUnavailable)?;
        let Some(session) = opened.filter(|_| !self.has(id.as_bytes())) else {
            return Ok(());
        };
        self.begin();
        self.keep(session).map(drop).map_err(|error| {
            tracing::warn!(%error, "there is no room to go on with a session here");
            SessionUnavailable
        })
    }

    fn keep(&self, session: Session) -> Result<Arc<Session>, SessionError> {
        let session = Arc::new(session);
        let id = Box::from(session.id().as_bytes());
        let principal = session.principal();
        let owner = Owner::of(principal.as_ref());
        let owner = owner.as_ref();
        let kept = &self.shared.kept;
        // Bytes first: an owner who has used up its bytes must not end other sessions for a place
        // that it cannot use.
        self.make_room(owner, kept, Session::bytes_to_give, || session.take_room())?;
        let mut place = self.places.open(principal.as_ref());
        self.make_room(owner, &self.places, Session::places_to_give, || {
            place.cover(1).map_err(|why| place.shortage(1, why))
        })?;
        session.have_place(place);
        session.observe();
        // A concurrent request of the session may have added it.
        Ok(Arc::clone(self.by_id().entry(id).or_insert(session)))
    }

    pub(super) fn end(&self, id: &str) -> bool {
        let session = self.by_id().remove(id.as_bytes());
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }

    /// Includes the calls and tasks of the fleet in this process.
    pub(super) fn are_busy(&self) -> bool {
        let node = self.shared.fleet.as_ref();
        node.is_some_and(|node| node.is_busy())
            || self.all().iter().any(|session| session.is_busy())
    }

    pub(super) fn begin_to_stop(&self) {
        if let Some(node) = &self.shared.fleet {
            node.begin_to_stop();
        }
    }

    /// Gives the running calls to other processes of the fleet, and ends the others with an error,
    /// because the server is stopping.
    pub(super) async fn stop(&self) {
        if let Some(node) = &self.shared.fleet {
            node.release(self.shared.clock().now()).await;
        }
        for session in self.all() {
            session.stop("the server is stopping");
        }
    }

    /// Starts the periodic cleanup, and the fleet's watcher. Must be called within a runtime.
    pub(super) fn begin(&self) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            tokio::spawn(look_over(Weak::clone(&self.me)));
            if let Some(node) = &self.shared.fleet {
                node.watch(&self.shared);
                let chosen = node.chosen();
                tokio::spawn(fleet_session::look_for_choices(
                    Weak::clone(&self.me),
                    chosen,
                ));
                tokio::spawn(fleet_session::look_for_ends(Weak::clone(&self.me)));
            }
        }
    }

    /// Ends these sessions here, because another process has ended them.
    pub(super) fn end_members(&self, ended: &[SessionId]) {
        for session in self.all() {
            if session.member.is_some_and(|member| ended.contains(&member)) {
                self.end(session.id());
            }
        }
    }

    pub(super) fn member(&self, member: SessionId) -> Option<Arc<Session>> {
        let mut all = self.all().into_iter();
        all.find(|session| session.member == Some(member))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn sweep(&self) {
        let now = Instant::now();
        for session in self.all() {
            if session.sweep(now) {
                self.end(session.id());
            }
        }
    }

    /// Takes room from a budget. If this fails, ends sessions of the owner with the most.
    fn make_room(
        &self,
        owner: Option<&Owner>,
        budget: &Budget,
        to_give: fn(&Session) -> usize,
        mut take: impl FnMut() -> Result<(), Shortage>,
    ) -> Result<(), NoRoom> {
        for _ in 0..ATTEMPTS {
            match take() {
                Ok(()) => return Ok(()),
                Err(shortage) if !self.end_some(owner, budget, to_give, &shortage) => {
                    return Err(shortage.why);
                }
                Err(_) => {}
            }
        }
        take().map_err(|shortage| shortage.why)
    }

    /// Ends sessions of the owner with the largest holdings. Returns whether any was ended.
    ///
    /// Owners lose sessions only to an owner who will still have less than they have, and only if
    /// this makes enough room: the longest idle ones first, then those in use, and no more than
    /// needed. Of the requesting owner only idle sessions are ended, because asking for more must
    /// not lose work.
    fn end_some(
        &self,
        wanting: Option<&Owner>,
        budget: &Budget,
        to_give: fn(&Session) -> usize,
        shortage: &Shortage,
    ) -> bool {
        let (largest, most) = budget.largest();
        let over = most.saturating_sub(shortage.own);
        let of_largest = match shortage.lacks {
            Some(lacks @ 1..) if lacks <= over => {
                self.end_to_give(largest.as_ref(), lacks, to_give)
            }
            _ => 0,
        };
        let ended = match of_largest {
            0 if over == 0 || shortage.why == NoRoom::Share => self.end_idle(wanting),
            ended => ended,
        };
        if ended > 0 {
            tracing::warn!(ended, "there is no room for a session: others are ended");
        }
        ended > 0
    }

    /// Ends sessions of an owner until they have freed this amount, if all of them together hold
    /// it. Returns how many were ended.
    fn end_to_give(
        &self,
        owner: Option<&Owner>,
        mut lacks: usize,
        to_give: fn(&Session) -> usize,
    ) -> usize {
        let mut ending = Vec::new();
        for (_, session) in self.of_owner(owner) {
            let given = to_give(&session);
            if given > 0 && lacks > 0 {
                lacks = lacks.saturating_sub(given);
                ending.push(session);
            }
        }
        if lacks > 0 {
            return 0;
        }
        ending.retain(|session| self.end_for_room(session));
        ending.len()
    }

    fn end_idle(&self, owner: Option<&Owner>) -> usize {
        let sessions = self.of_owner(owner);
        let most = sessions.len() / ENDED + 1;
        let idle = sessions.iter().filter(|((in_use, _), _)| !in_use);
        idle.take(most)
            .filter(|(_, session)| self.end_for_room(session))
            .count()
    }

    /// The sessions of an owner, with their use, longest idle first.
    fn of_owner(&self, owner: Option<&Owner>) -> Vec<((bool, Instant), Arc<Session>)> {
        let mut sessions = self.all();
        sessions.retain(|session| Owner::of(session.principal().as_ref()).as_ref() == owner);
        let mut sessions: Vec<_> = sessions
            .into_iter()
            .map(|session| (session.used(), session))
            .collect();
        sessions.sort_unstable_by_key(|(used, _)| *used);
        sessions
    }

    fn end_for_room(&self, session: &Session) -> bool {
        let removed = self.by_id().remove(session.id().as_bytes());
        if removed.is_some() {
            session.stop(MADE_ROOM);
        }
        removed.is_some()
    }

    fn all(&self) -> Vec<Arc<Session>> {
        self.by_id().values().cloned().collect()
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Arc<Session>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look_over(sessions: Weak<Sessions>) {
    loop {
        tokio::time::sleep(ROUND).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        sessions.sweep();
    }
}
