use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::{Arc, MutexGuard, Weak},
    time::Duration,
};

use askback_core::{ask::Principal, engine::server::Change};
use tokio::{
    runtime::Handle,
    task::yield_now,
    time::{Instant, sleep},
};

use crate::mutex::Mutex;
#[cfg(feature = "http-server")]
use crate::store::Owner;

/// The number of clients to notify at once. If more clients watch the same thing, changes are collected and sent in
/// slices of this size.
const SLICE: usize = 64;

/// The shortest and the longest pause between two slices, which leave time for calls.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The pause as a multiple of the time that the last slice took, so that the server has most of its time for calls even
/// if notifications are slow to write.
const REST: u32 = 15;

/// The number of different audiences to collect per change. Beyond it, a change is sent at once.
const AUDIENCES: usize = 64;

/// The number of changed names to collect. Beyond it, a change is sent at once.
const NAMES: usize = 1024;

/// The memory for a watched name in addition to its text, in bytes.
const WATCHED_BYTES: usize = 512;

pub(crate) trait Observer: Send + Sync {
    /// Called for a change that concerns this audience. Must not block, because it may run in the
    /// code that makes the change.
    fn changed(&self, changed: &Change, to: &Audience);
}

#[derive(Clone)]
pub(crate) enum Audience {
    All,
    Only(Option<Arc<Principal>>),
    #[cfg(feature = "http-server")]
    Owner(Owner),
    Those(Arc<PrincipalFilter>),
}

type PrincipalFilter = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

impl Audience {
    pub(crate) fn only(principal: Option<&Principal>) -> Self {
        Self::Only(principal.cloned().map(Arc::new))
    }

    fn owner(one: &Option<Arc<Principal>>) -> Option<(Option<&str>, Option<&str>, &str)> {
        one.as_deref().map(Principal::owner)
    }

    pub(crate) fn has(&self, principal: Option<&Principal>) -> bool {
        match self {
            Self::All => true,
            Self::Only(one) => principal.map(Principal::owner) == Self::owner(one),
            #[cfg(feature = "http-server")]
            Self::Owner(owner) => principal.map(Owner::of) == Some(*owner),
            Self::Those(are_they) => are_they(principal),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(one), Self::Only(other)) => Self::owner(one) == Self::owner(other),
            #[cfg(feature = "http-server")]
            (Self::Owner(one), Self::Owner(other)) => one == other,
            (Self::Those(those), Self::Those(others)) => Arc::ptr_eq(those, others),
            _ => false,
        }
    }
}

pub(crate) trait CallServer: Any + Send + Sync {
    fn changed(&self, changed: &Change, to: Audience);
}

#[derive(Clone)]
pub(crate) struct Changes(Arc<Notifier>);

struct Notifier {
    observers: Mutex<Observers>,
    gather: Duration,
}

#[derive(Default)]
struct Observers {
    /// Subscribers to everything, which filter for themselves.
    of_all: ObserverMap,
    of_lists: ObserverMap,
    by_name: HashMap<Change, ObserverMap>,
    last: u64,
    gathered: BTreeMap<Change, Vec<Audience>>,
    telling: bool,
    runtime: Option<Handle>,
}

type ObserverMap = BTreeMap<u64, Weak<dyn Observer>>;

/// The changes that an observer receives in addition to those it [watches](ObserverGuard::watch).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    All,
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    Lists,
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    None,
}

pub(crate) struct ObserverGuard {
    among: Changes,
    number: u64,
    observer: Weak<dyn Observer>,
    watched: BTreeSet<Change>,
}

impl Changes {
    /// `gather` is how long to collect changes for many clients.
    pub(crate) fn new(gather: Duration) -> Self {
        Self(Arc::new(Notifier {
            observers: Mutex::default(),
            gather,
        }))
    }

    /// Notifies all clients that the change concerns: at once if they are few, otherwise soon.
    pub(crate) fn tell(&self, changed: &Change, to: Audience) {
        let mut observers = self.lock();
        if observers.count(changed) <= SLICE || !observers.gather(changed, &to) {
            let concerned = observers.of(changed);
            drop(observers);
            return tell_each(&concerned, changed, &[to]);
        }
        let begins = !mem::replace(&mut observers.telling, true);
        let runtime = observers.runtime.clone();
        // Dropped first, because a runtime that is shutting down drops the task in `spawn`, which takes this lock.
        drop(observers);
        if !begins {
            return;
        }
        let telling = runtime.map(|runtime| runtime.spawn(tell_gathered(GatherTask(self.clone()))));
        if telling.is_none_or(|telling| telling.is_finished()) {
            for (changed, audiences) in self.take_gathered().unwrap_or_default() {
                let concerned = self.lock().of(&changed);
                tell_each(&concerned, &changed, &audiences);
            }
            self.lock().telling = false;
        }
    }

    /// Tells all clients that everything they watch may have changed, if `tells` returns true for it.
    #[cfg(feature = "http-server")]
    pub(crate) fn tell_all(&self, tells: impl Fn(&Change) -> bool) {
        let watched: Vec<_> = self.lock().by_name.keys().cloned().collect();
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        for changed in lists.iter().chain(&watched).filter(|it| tells(it)) {
            self.tell(changed, Audience::All);
        }
    }

    fn take_gathered(&self) -> Option<BTreeMap<Change, Vec<Audience>>> {
        let mut observers = self.lock();
        let gathered = mem::take(&mut observers.gathered);
        observers.telling = !gathered.is_empty();
        observers.telling.then_some(gathered)
    }

    fn lock(&self) -> MutexGuard<'_, Observers> {
        self.0.observers.lock()
    }
}

fn tell_each(observers: &[Weak<dyn Observer>], changed: &Change, audiences: &[Audience]) {
    for observer in observers.iter().filter_map(Weak::upgrade) {
        for to in audiences {
            observer.changed(changed, to);
        }
    }
}

async fn tell_gathered(gathered: GatherTask) {
    let GatherTask(changes) = &gathered;
    let mut told = 0;
    loop {
        sleep(changes.0.gather).await;
        let mut begun = Instant::now();
        let Some(gathered) = changes.take_gathered() else {
            return;
        };
        for (changed, audiences) in &gathered {
            let concerned = changes.lock().of(changed);
            let mut rest = concerned.as_slice();
            while !rest.is_empty() {
                let slice = rest.len().min(SLICE - told);
                let (now, later) = rest.split_at(slice);
                tell_each(now, changed, audiences);
                (rest, told) = (later, told + slice);
                if told == SLICE {
                    told = 0;
                    sleep(pause_after(begun).await).await;
                    begun = Instant::now();
                }
            }
        }
    }
}

/// Returns the pause after a slice that began at `begun`. The observers' own tasks write the notifications, so these
/// run first and count as part of the slice.
async fn pause_after(begun: Instant) -> Duration {
    yield_now().await;
    (begun.elapsed() * REST).clamp(PAUSE, LONGEST_PAUSE)
}

/// The task that sends collected changes. If its runtime shuts down early, so do the clients that it serves, and the
/// next change spawns another task.
struct GatherTask(Changes);

impl Drop for GatherTask {
    fn drop(&mut self) {
        self.0.lock().telling = false;
    }
}

impl Observers {
    fn groups(&self, changed: &Change) -> impl Iterator<Item = &ObserverMap> {
        let is_list = matches!(changed, Change::Tools | Change::Prompts | Change::Resources);
        let of_lists = is_list.then_some(&self.of_lists);
        let by_name = self.by_name.get(changed);
        [&self.of_all].into_iter().chain(of_lists).chain(by_name)
    }

    fn count(&self, changed: &Change) -> usize {
        self.groups(changed).map(BTreeMap::len).sum()
    }

    fn of(&self, changed: &Change) -> Vec<Weak<dyn Observer>> {
        let groups = self.groups(changed);
        groups.flat_map(BTreeMap::values).cloned().collect()
    }

    /// Collects a change; returns false if the limits do not allow it.
    fn gather(&mut self, changed: &Change, to: &Audience) -> bool {
        if self.gathered.len() >= NAMES && !self.gathered.contains_key(changed) {
            return false;
        }
        let audiences = self.gathered.entry(changed.clone()).or_default();
        if audiences.iter().any(|other| other.covers(to)) {
            return true;
        }
        audiences.retain(|other| !to.covers(other));
        let has_room = audiences.len() < AUDIENCES;
        if has_room {
            audiences.push(to.clone());
        }
        has_room
    }

    fn forget(&mut self, number: u64, changed: &Change) {
        if let Some(watchers) = self.by_name.get_mut(changed) {
            watchers.remove(&number);
            if watchers.is_empty() {
                self.by_name.remove(changed);
            }
        }
    }
}

impl ObserverGuard {
    pub(crate) fn new(among: &Changes, observer: Weak<dyn Observer>, interest: Interest) -> Self {
        let mut observers = among.lock();
        observers.runtime = Handle::try_current().ok().or(observers.runtime.take());
        observers.last += 1;
        let number = observers.last;
        match interest {
            Interest::All => observers.of_all.insert(number, Weak::clone(&observer)),
            Interest::Lists => observers.of_lists.insert(number, Weak::clone(&observer)),
            Interest::None => None,
        };
        drop(observers);
        Self {
            among: among.clone(),
            number,
            observer,
            watched: BTreeSet::new(),
        }
    }

    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    pub(crate) fn watch(&mut self, watched: impl IntoIterator<Item = Change>) {
        let watched: BTreeSet<_> = watched.into_iter().collect();
        let mut observers = self.among.lock();
        for gone in self.watched.difference(&watched) {
            observers.forget(self.number, gone);
        }
        for new in watched.difference(&self.watched) {
            let watchers = observers.by_name.entry(new.clone()).or_default();
            watchers.insert(self.number, Weak::clone(&self.observer));
        }
        drop(observers);
        self.watched = watched;
    }

    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    pub(crate) fn kept_bytes(&self) -> usize {
        self.watched.iter().map(bytes_of).sum()
    }
}

/// Returns the memory for a watched name, which is stored twice.
pub(crate) fn bytes_of(changed: &Change) -> usize {
    match changed {
        Change::Resource(name) | Change::Task(name) => WATCHED_BYTES + 2 * name.len(),
        _ => 0,
    }
}

impl Drop for ObserverGuard {
    fn drop(&mut self) {
        let mut observers = self.among.lock();
        observers.of_all.remove(&self.number);
        observers.of_lists.remove(&self.number);
        for changed in &self.watched {
            observers.forget(self.number, changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Waker},
    };

    use super::*;

    #[derive(Default)]
    struct ChangeRecorder(Mutex<Vec<Change>>);

    impl Observer for ChangeRecorder {
        fn changed(&self, changed: &Change, to: &Audience) {
            if to.has(None) {
                self.0.lock().push(changed.clone());
            }
        }
    }

    const GATHER: Duration = Duration::from_millis(50);

    fn observe(changes: &Changes, interest: Interest) -> (Arc<ChangeRecorder>, ObserverGuard) {
        let told = Arc::new(ChangeRecorder::default());
        let observer: Weak<dyn Observer> = Arc::downgrade(&told) as _;
        (told, ObserverGuard::new(changes, observer, interest))
    }

    fn take(told: &ChangeRecorder) -> Vec<Change> {
        mem::take(&mut told.0.lock())
    }

    fn page(name: &str) -> Change {
        Change::Resource(name.to_owned())
    }

    #[test]
    fn a_change_is_reported_to_its_watchers() {
        let changes = Changes::new(GATHER);
        let (all, _all) = observe(&changes, Interest::All);
        let (lists, _lists) = observe(&changes, Interest::Lists);
        let (watcher, mut watching) = observe(&changes, Interest::None);
        watching.watch([page("c"), page("a")]);
        watching.watch([page("a")]);
        for changed in [page("a"), page("c"), Change::Tools] {
            changes.tell(&changed, Audience::All);
        }
        assert_eq!(take(&all), [page("a"), page("c"), Change::Tools]);
        assert_eq!(take(&lists), [Change::Tools]);
        assert_eq!(take(&watcher), [page("a")]);
        assert!(watching.kept_bytes() > 0);

        watching.watch([]);
        changes.tell(&page("a"), Audience::All);
        assert!(take(&watcher).is_empty());
        assert_eq!(watching.kept_bytes(), 0);

        watching.watch([page("c")]);
        drop(watching);
        assert!(changes.lock().by_name.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn changes_that_many_watch_gather_and_are_told_in_slices() {
        let changes = Changes::new(GATHER);
        let many: Vec<_> = (0..3 * SLICE)
            .map(|_| observe(&changes, Interest::Lists))
            .collect();
        let told = |from: usize| {
            let slice = many[from * SLICE..][..SLICE].iter();
            let told: Vec<_> = slice.map(|(told, _)| take(told).len()).collect();
            assert!(told.iter().all(|times| *times == told[0]), "{told:?}");
            told[0]
        };
        for _ in 0..100 {
            changes.tell(&Change::Tools, Audience::All);
            changes.tell(&Change::Tools, Audience::Only(None));
        }
        let somebody = Principal::new("ada");
        changes.tell(&Change::Prompts, Audience::Only(Some(Arc::new(somebody))));
        assert_eq!([told(0), told(1), told(2)], [0; 3]);
        sleep(GATHER + PAUSE / 2).await;
        assert_eq!([told(0), told(1), told(2)], [1, 0, 0]);
        sleep(PAUSE).await;
        assert_eq!([told(0), told(1), told(2)], [0, 1, 0]);
        sleep(PAUSE).await;
        assert_eq!([told(0), told(1), told(2)], [0, 0, 1]);
        // The change of prompts has another audience.
        sleep(4 * PAUSE + GATHER).await;
        assert_eq!([told(0), told(1), told(2)], [0; 3]);
        assert!(!changes.lock().telling);
    }

    struct SlowObserver(ChangeRecorder, Duration);

    impl Observer for SlowObserver {
        fn changed(&self, changed: &Change, to: &Audience) {
            let passing = pin!(tokio::time::advance(self.1));
            let _ = passing.poll(&mut Context::from_waker(Waker::noop()));
            self.0.changed(changed, to);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_slice_is_followed_by_a_long_pause_for_calls() {
        for (micros, pause) in [(1, 2..5), (10, 9..14), (1000, 19..24)] {
            let changes = Changes::new(GATHER);
            let slow: Vec<_> = (0..2 * SLICE)
                .map(|_| {
                    let slow =
                        SlowObserver(ChangeRecorder::default(), Duration::from_micros(micros));
                    let slow = Arc::new(slow);
                    let observer: Weak<dyn Observer> = Arc::downgrade(&slow) as _;
                    let observing = ObserverGuard::new(&changes, observer, Interest::Lists);
                    (slow, observing)
                })
                .collect();
            changes.tell(&Change::Tools, Audience::All);
            let told = async |slice: usize| {
                while take(&slow[(slice + 1) * SLICE - 1].0.0).is_empty() {
                    sleep(Duration::from_millis(1)).await;
                }
                Instant::now()
            };
            let (first, second) = (told(0).await, told(1).await);
            // The second slice takes time, too.
            let slice = Duration::from_micros(micros * SLICE as u64);
            let paused = (second - first - slice).as_millis();
            assert!(pause.contains(&paused), "{micros}: {paused}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_collected_audiences_is_limited() {
        let changes = Changes::new(GATHER);
        let many: Vec<_> = (0..=SLICE)
            .map(|_| observe(&changes, Interest::Lists))
            .collect();
        for _ in 0..2 * AUDIENCES {
            changes.tell(&Change::Tools, Audience::Those(Arc::new(|_| true)));
        }
        assert_eq!(take(&many[0].0).len(), AUDIENCES);
        assert_eq!(changes.lock().gathered[&Change::Tools].len(), AUDIENCES);
        changes.tell(&Change::Tools, Audience::All);
        assert_eq!(changes.lock().gathered[&Change::Tools].len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_collected_names_is_limited() {
        let changes = Changes::new(GATHER);
        let many: Vec<_> = (0..=SLICE)
            .map(|_| observe(&changes, Interest::All))
            .collect();
        for name in 0..=NAMES {
            changes.tell(&page(&name.to_string()), Audience::All);
        }
        assert_eq!(take(&many[0].0), [page(&NAMES.to_string())]);
        assert_eq!(changes.lock().gathered.len(), NAMES);
        // A slice counts notifications, regardless of the change.
        sleep(GATHER + PAUSE / 2).await;
        assert_eq!(take(&many[0].0).len(), 1);
        sleep(63 * PAUSE).await;
        assert_eq!(take(&many[0].0).len(), 63);
    }

    struct LastChange(Changes);

    impl Drop for LastChange {
        fn drop(&mut self) {
            self.0.tell(&Change::Tools, Audience::All);
        }
    }

    #[test]
    fn a_runtime_that_ends_holds_nothing_back() {
        let changes = Changes::new(GATHER);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let many: Vec<_> = runtime.block_on(async {
            let observers = (0..=SLICE).map(|_| observe(&changes, Interest::Lists));
            observers.collect()
        });
        let last = LastChange(changes.clone());
        runtime.spawn(async move {
            let _last = last;
            std::future::pending::<()>().await;
        });
        drop(runtime);
        assert_eq!(take(&many[SLICE].0), [Change::Tools]);
        changes.tell(&Change::Prompts, Audience::All);
        assert_eq!(take(&many[SLICE].0), [Change::Prompts]);
        assert!(!changes.lock().telling);
    }
}
