//! The sessions of an endpoint.

use std::{
    cmp::Reverse,
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
    server::{Observer, Observing, Shared},
};

/// How often sessions are looked over.
const ROUND: Duration = Duration::from_secs(10);

/// How many parts the sessions are in, so that requests rarely wait for one another.
const PARTS: usize = 16;

/// One in how many of the sessions is ended where there are too many, so that a flood does not
/// look through them for each of its own.
const SHARE: usize = 16;

/// Why a session is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unkept {
    #[error("there are too many sessions, and all of them are in use")]
    Full,
    #[error("there is no entropy for its id: {0}")]
    Broken(#[from] io::Error),
}

/// All sessions there are, by their ids.
pub(super) struct Sessions {
    parts: [Mutex<HashMap<String, Arc<Session>>>; PARTS],
    shared: Arc<Shared>,
    /// Told of changes, and looked over, from the first session on.
    begun: Mutex<Option<Observing>>,
    me: Weak<Self>,
}

impl Sessions {
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            parts: Default::default(),
            shared: Arc::clone(shared),
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
        let most = self.shared.limits().sessions;
        if self.count() >= most {
            self.end_idlest(most / SHARE + 1);
            if self.count() >= most {
                return Err(Unkept::Full);
            }
        }
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

    /// Ends idle sessions: first of whoever has the most, so that nobody ends those of others by
    /// opening their own; among those of one, and of those who have as many, the idlest.
    fn end_idlest(&self, count: usize) {
        let mut of_each: HashMap<_, Vec<_>> = HashMap::new();
        for session in self.all() {
            let since = session.idle_since();
            let owner = of_each.entry(session.principal()).or_default();
            // None, for those in use, stands after every time.
            owner.push((since.is_none(), since, session));
        }
        let ranked = of_each.into_values().flat_map(|mut sessions| {
            sessions.sort_unstable_by_key(|(used, since, _)| Reverse((*used, *since)));
            // Whoever has ten gives up the tenth before whoever has nine gives up any.
            sessions.into_iter().enumerate()
        });
        let mut idle: Vec<_> = ranked
            .filter_map(|(rank, (_, since, session))| Some((Reverse(rank), since?, session)))
            .collect();
        idle.sort_unstable_by_key(|(rank, since, _)| (*rank, *since));
        tracing::warn!("there are too many sessions: those idle for the longest are ended");
        for (.., session) in idle.iter().take(count) {
            self.end(session.id());
        }
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|part| lock(part).len()).sum()
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
    fn changed(&self, changed: &Changed) {
        for session in self.all() {
            session.changed(changed);
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
