//! The clients that are notified of a change.

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use askback_core::{ask::Principal, engine::server::Changed};

/// Somebody with clients to tell.
pub(crate) trait Observer: Send + Sync {
    /// Something has changed for these. This must not wait: it runs where the change was made.
    fn changed(&self, changed: &Changed, to: Audience<'_>);
}

/// Whom a change concerns.
#[derive(Clone, Copy)]
pub(crate) enum Audience<'a> {
    /// Every subscriber.
    All,
    /// One principal, whichever client acts for it; or all who are not known.
    Only(Option<&'a Principal>),
    /// The callers for whom this is true.
    Those(&'a dyn Fn(Option<&Principal>) -> bool),
}

impl Audience<'_> {
    /// Whether it is one of them.
    pub(crate) fn has(self, principal: Option<&Principal>) -> bool {
        match self {
            Self::All => true,
            Self::Only(one) => principal.map(Principal::owner) == one.map(Principal::owner),
            Self::Those(are_they) => are_they(principal),
        }
    }
}

/// The server that handles a call, as far as the call needs it.
pub(crate) trait CallServer: Any + Send + Sync {
    /// Tells of a change of what it offers.
    fn changed(&self, changed: &Changed, to: Audience<'_>);
}

/// All who are told of changes. Clones tell the same.
#[derive(Default, Clone)]
pub(crate) struct Changes(Arc<Mutex<Observers>>);

#[derive(Default)]
struct Observers {
    by_number: BTreeMap<u64, Weak<dyn Observer>>,
    last: u64,
}

/// An observer is told until this is dropped.
pub(crate) struct Observing {
    among: Changes,
    number: u64,
}

impl Changes {
    /// Tells everybody whom it concerns, in the order in which they came.
    pub(crate) fn tell(&self, changed: &Changed, to: Audience<'_>) {
        let observers: Vec<_> = self.lock().by_number.values().cloned().collect();
        for observer in observers.iter().filter_map(Weak::upgrade) {
            observer.changed(changed, to);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Observers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observing {
    pub(crate) fn new(among: &Changes, observer: Weak<dyn Observer>) -> Self {
        let mut observers = among.lock();
        observers.last += 1;
        let number = observers.last;
        observers.by_number.insert(number, observer);
        drop(observers);
        Self {
            among: among.clone(),
            number,
        }
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.among.lock().by_number.remove(&self.number);
    }
}
