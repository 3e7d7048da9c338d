//! The sessions of an endpoint.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use askback_core::engine::server::Changed;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::time::Instant;

use super::session::Session;
use crate::{
    entropy::entropy,
    server::{
        Audience, Observer, Observing, Shared,
        budget::{Budget, NoRoom, Owner},
    },
};

/// How often sessions are looked over.
const ROUND: Duration = Duration::from_secs(10);

/// How many parts the sessions are in, so that requests rarely wait for one another.
const PARTS: usize = 16;

/// One in how many of an owner's sessions is ended where it has too many, so that a flood does not
/// look through them for each of its own.
const ENDED: usize = 16;

/// How often sessions are ended to make room for one.
const ATTEMPTS: usize = 3;

/// Why a session is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unkept {
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error("there is no entropy for its id: {0}")]
    Broken(#[from] io::Error),
}

/// All sessions there are, by their ids.
pub(super) struct Sessions {
    parts: [Mutex<HashMap<String, Arc<Session>>>; PARTS],
    shared: Arc<Shared>,
    /// The room for so many of them.
    places: Budget,
    /// Told of changes, and looked over, from the first session on.
    begun: Mutex<Option<Observing>>,
    me: Weak<Self>,
}

impl Sessions {
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            parts: Default::default(),
            shared: Arc::clone(shared),
            places: Budget::of_things(shared.limits().sessions, shared.limits()),
            begun: Mutex::new(None),
            me: Weak::clone(me),
        })
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        lock(self.part(id)).get(id).cloned()
    }

    /// Keeps a session under an id nobody can guess, which it then has.
    pub(super) fn add(&self, session: Session) -> Result<Arc<Session>, Unkept> {
        self.begin();
        let id = URL_SAFE_NO_PAD.encode(entropy::<18>()?);
        let session = Arc::new(session.named(id.clone()));
        let principal = session.principal();
        let owner = Owner::of(principal.as_ref());
        let mut place = self.places.open(principal.as_ref());
        self.make_room(owner.as_ref(), Session::places_of_owner, || place.cover(1))?;
        let mut place = Some(place);
        let enter = || session.take_place(&mut place);
        self.make_room(owner.as_ref(), Session::bytes_of_owner, enter)?;
        lock(self.part(&id)).insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Ends a session, with all that goes on in it.
    pub(super) fn end(&self, id: &str) -> bool {
        let session = lock(self.part(id)).remove(id);
        match session {
            Some(session) => {
                session.end();
                true
            }
            None => false,
        }
    }

    /// Whether calls go on in any of them.
    pub(super) fn are_busy(&self) -> bool {
        self.all().iter().any(|session| session.is_busy())
    }

    /// Answers what still goes on with an error: the server is over.
    pub(super) fn stop(&self) {
        for session in self.all() {
            session.stop();
        }
    }

    fn begin(&self) {
        let mut begun = lock(&self.begun);
        if begun.is_none() {
            let observer: Weak<dyn Observer> = Weak::clone(&self.me) as _;
            *begun = Some(Observing::new(&self.shared, observer));
            tokio::spawn(look_over(Weak::clone(&self.me)));
        }
    }

    /// Forgets what nobody has used for long.
    fn sweep(&self) {
        let now = Instant::now();
        for session in self.all() {
            if session.sweep(now) {
                self.end(session.id());
            }
        }
    }

    /// Takes room; where there is none, ends sessions of whoever has the most of it.
    fn make_room(
        &self,
        owner: Option<&Owner>,
        of_owner: fn(&Session) -> usize,
        mut take: impl FnMut() -> Result<(), NoRoom>,
    ) -> Result<(), NoRoom> {
        for _ in 0..ATTEMPTS {
            match take() {
                Ok(()) => return Ok(()),
                Err(why) if !self.end_some(owner, of_owner) => return Err(why),
                Err(_) => {}
            }
        }
        take()
    }

    /// Ends sessions of whoever has the most, of all kinds of what is kept: those idle for the
    /// longest first, then those in use. Of whoever wants the room only idle ones are ended: it is
    /// not to lose work by asking for more. Whether any was ended.
    fn end_some(&self, wanting: Option<&Owner>, of_owner: fn(&Session) -> usize) -> bool {
        let mut of_each: HashMap<_, (usize, Vec<_>)> = HashMap::new();
        for session in self.all() {
            let owner = Owner::of(session.principal().as_ref());
            let (size, sessions) = of_each.entry(owner).or_default();
            *size = of_owner(&session).max(*size);
            sessions.push((session.used(), session));
        }
        // Of several who have the most it is who wants more.
        let largest = of_each
            .into_iter()
            .map(|(owner, (size, sessions))| (size, owner.as_ref() == wanting, sessions))
            .max_by_key(|(size, is_own, _)| (*size, *is_own));
        let Some((_, is_own, mut sessions)) = largest else {
            return false;
        };
        let most = sessions.len() / ENDED + 1;
        sessions.sort_unstable_by_key(|(used, _)| *used);
        let ended = sessions
            .iter()
            .filter(|((in_use, _), _)| !(is_own && *in_use))
            .take(most)
            .filter(|(_, session)| self.end(session.id()))
            .count();
        if ended > 0 {
            tracing::warn!(ended, "there is no room for a session: others are ended");
        }
        ended > 0
    }

    fn all(&self) -> Vec<Arc<Session>> {
        let parts = self.parts.iter();
        parts
            .flat_map(|part| lock(part).values().cloned().collect::<Vec<_>>())
            .collect()
    }

    fn part(&self, id: &str) -> &Mutex<HashMap<String, Arc<Session>>> {
        // Ids are random; of one that is not, it does not matter where it is looked for.
        let byte = id.as_bytes().last().copied().unwrap_or_default();
        &self.parts[usize::from(byte) % PARTS]
    }
}

impl Observer for Sessions {
    fn changed(&self, changed: &Changed, to: Audience<'_>) {
        for session in self.all() {
            session.changed(changed, to);
        }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
