//! The response to `subscriptions/listen`: open until the client disconnects or the server stops.

use std::{
    collections::BTreeSet,
    future::pending,
    mem,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use askback_core::{
    engine::server::{Change, OpenSubscription},
    future::BoxFuture,
    http::sse,
    protocol::DetailedTask,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{
    body::{EventWriter, Events, Outgoing, WORTH_COUNTING, written},
    stop::{Phase, Stop},
    stream::FRAME_BYTES,
};
use crate::{
    ctx::{Audience, Interest, Observer, ObserverGuard, bytes_of},
    server::{
        Shared,
        budget::{Charge, NoRoom},
    },
};

/// The memory of an open stream in addition to its subscription, in bytes.
const STREAM_BYTES: usize = 4 << 10;

struct Listener {
    subscription: OpenSubscription,
    shared: Arc<Shared>,
    untold: Mutex<BTreeSet<Change>>,
    has_changed: Notify,
}

enum Woken {
    Read(Vec<DetailedTask>),
    Changed,
    Stopping,
    Quiet,
}

pub(super) fn listen(
    shared: &Arc<Shared>,
    stop: &Stop,
    subscription: OpenSubscription,
    acknowledged: Vec<u8>,
) -> Result<impl Events, NoRoom> {
    let mut room = shared.kept.open(subscription.principal());
    room.cover(lasting_bytes(&subscription) + FRAME_BYTES + acknowledged.len())?;
    let listener = Arc::new(Listener {
        subscription,
        shared: Arc::clone(shared),
        untold: Mutex::default(),
        has_changed: Notify::new(),
    });
    let observer: Weak<dyn Observer> = Arc::downgrade(&listener) as _;
    let mut observing = ObserverGuard::new(&shared.changes, observer, Interest::None);
    observing.watch(listener.subscription.watched());
    let stop = stop.clone();
    Ok(written(move |to| async move {
        let _observing = observing;
        let mut event = Vec::with_capacity(FRAME_BYTES + acknowledged.len());
        sse::write_event(&mut event, None, &acknowledged);
        drop(acknowledged);
        let event = Outgoing::moved(event, &mut room);
        room.shrink_to(lasting_bytes(&listener.subscription));
        to.send(event).await;
        listener.tell(&stop, &to).await;
    }))
}

/// Returns the memory of an open stream: a change is stored once more until it is written.
fn lasting_bytes(subscription: &OpenSubscription) -> usize {
    let watched = subscription.watched().map(|changed| bytes_of(&changed));
    STREAM_BYTES + 2 * subscription.kept_bytes() + watched.sum::<usize>()
}

impl Listener {
    async fn tell(&self, stop: &Stop, to: &EventWriter) {
        let quiet = self.shared.limits().http.keep_alive;
        let mut silence = pin!(sleep(quiet));
        // A journal may take long to find tasks. Meanwhile changes of lists and keep-alives are sent.
        let mut reading: Option<BoxFuture<'_, Vec<DetailedTask>>> = None;
        loop {
            let read = async {
                match &mut reading {
                    Some(reading) => reading.await,
                    None => pending().await,
                }
            };
            let woken = tokio::select! {
                biased;
                tasks = read => Woken::Read(tasks),
                () = self.has_changed.notified() => Woken::Changed,
                () = stop.reached(Phase::Leaving) => Woken::Stopping,
                () = silence.as_mut() => Woken::Quiet,
            };
            let (is_stopping, is_quiet) = (
                matches!(woken, Woken::Stopping),
                matches!(woken, Woken::Quiet),
            );
            let mut tasks = Vec::new();
            if let Woken::Read(read) = woken {
                (tasks, reading) = (read, None);
            }
            let mut events = Vec::new();
            let mut changes = mem::take(&mut *self.lock());
            let unread: Vec<_> = changes.extract_if(.., is_task).collect();
            match reading.is_none() && !unread.is_empty() {
                true => reading = Some(Box::pin(self.read(unread))),
                false => self.lock().extend(unread),
            }
            let lists = changes.iter();
            let lists = lists.filter_map(|changed| self.subscription.changed(changed));
            let of_tasks = tasks.iter();
            let of_tasks = of_tasks.filter_map(|task| self.subscription.task(task));
            for message in lists.chain(of_tasks) {
                sse::write_event(&mut events, None, &message);
            }
            let room = self.room_for(&events);
            if room.is_err() {
                // The changes are sent when there is room again: at the latest with the next
                // keep-alive.
                events = Vec::new();
                let tasks = tasks.into_iter().map(|task| Change::Task(task.task_id));
                self.lock().extend(changes.into_iter().chain(tasks));
            }
            if is_stopping {
                let why = OpenSubscription::STOPPING;
                for message in self.subscription.finish(&self.shared.profile, why) {
                    sse::write_event(&mut events, None, &message);
                }
            }
            if !events.is_empty() {
                let room = room.unwrap_or_default();
                to.send(Outgoing::with(events, room)).await;
            } else if is_quiet {
                to.keep_alive().await;
            } else {
                continue;
            }
            if is_stopping {
                return;
            }
            silence.as_mut().reset(Instant::now() + quiet);
        }
    }

    async fn read(&self, tasks: Vec<Change>) -> Vec<DetailedTask> {
        let mut found = Vec::new();
        for task in tasks {
            if let Change::Task(id) = task {
                let task = self.shared.find_task(&id, self.subscription.principal());
                found.extend(task.await.map(|task| *task));
            }
        }
        found
    }

    fn room_for(&self, events: &Vec<u8>) -> Result<Option<Charge>, NoRoom> {
        let principal = self.subscription.principal();
        let take = || self.shared.kept.take(principal, events.capacity());
        (events.len() > WORTH_COUNTING).then(take).transpose()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Change>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_task(changed: &Change) -> bool {
    matches!(changed, Change::Task(_))
}

impl Observer for Listener {
    fn changed(&self, changed: &Change, to: &Audience) {
        let principal = self.subscription.principal().map(|principal| &**principal);
        if !self.subscription.wants(changed) || !self.shared.concerns(changed, to, principal) {
            return;
        }
        self.lock().insert(changed.clone());
        self.has_changed.notify_one();
    }
}
