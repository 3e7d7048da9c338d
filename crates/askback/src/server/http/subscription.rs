//! The response to `subscriptions/listen`: open until the client disconnects or the server stops.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use askback_core::{
    engine::server::{Change, OpenSubscription},
    http::sse,
    protocol::DetailedTask,
};

use super::{
    body::{Events, Outgoing, WORTH_COUNTING},
    stop::{Phase, QuietTimer, Stop, WaitEnd},
    stream::FRAME_BYTES,
};
use crate::{
    ctx::{Audience, Interest, Observer, ObserverGuard, bytes_of},
    flow::BoxFuture,
    server::{
        Shared,
        budget::{Charge, NoRoom},
    },
};

/// The memory of an open stream in addition to its subscription, in bytes.
const STREAM_BYTES: usize = 4 << 10;

pub(super) struct SubscriptionBody {
    listener: Arc<Listener>,
    acknowledged: Option<Vec<u8>>,
    stop: Stop,
    stopping: BoxFuture<'static, ()>,
    vigil: QuietTimer,
    shared: Arc<Shared>,
    finished: bool,
    /// Reads the status of a fleet's tasks that have changed.
    reading: Option<BoxFuture<'static, Vec<DetailedTask>>>,
    _observing: ObserverGuard,
    room: Charge,
}

struct Listener {
    subscription: OpenSubscription,
    shared: Arc<Shared>,
    untold: Mutex<PendingChanges>,
}

#[derive(Default)]
struct PendingChanges {
    changed: BTreeSet<Change>,
    waker: Option<Waker>,
}

impl SubscriptionBody {
    pub(super) fn new(
        shared: &Arc<Shared>,
        stop: &Stop,
        subscription: OpenSubscription,
        acknowledged: Vec<u8>,
    ) -> Result<Self, NoRoom> {
        let mut room = shared.kept.open(subscription.principal());
        room.cover(lasting_bytes(&subscription) + FRAME_BYTES + acknowledged.len())?;
        let listener = Arc::new(Listener {
            subscription,
            shared: Arc::clone(shared),
            untold: Mutex::default(),
        });
        let observer: Weak<dyn Observer> = Arc::downgrade(&listener) as _;
        let mut observing = ObserverGuard::new(&shared.changes, observer, Interest::None);
        observing.watch(listener.subscription.watched());
        let stopping = stop.clone();
        Ok(Self {
            listener,
            acknowledged: Some(acknowledged),
            stop: stop.clone(),
            stopping: Box::pin(async move { stopping.reached(Phase::Leaving).await }),
            vigil: QuietTimer::default(),
            shared: Arc::clone(shared),
            finished: false,
            reading: None,
            _observing: observing,
            room,
        })
    }
}

/// Returns the memory of an open stream: a change is stored once more until it is written.
fn lasting_bytes(subscription: &OpenSubscription) -> usize {
    let watched = subscription.watched().map(|changed| bytes_of(&changed));
    STREAM_BYTES + 2 * subscription.kept_bytes() + watched.sum::<usize>()
}

impl SubscriptionBody {
    fn acknowledge(&mut self, acknowledged: &[u8]) -> Outgoing {
        let mut event = Vec::with_capacity(FRAME_BYTES + acknowledged.len());
        sse::write_event(&mut event, None, acknowledged);
        let event = Outgoing::moved(event, &mut self.room);
        self.room
            .shrink_to(lasting_bytes(&self.listener.subscription));
        event
    }

    fn room_for(&self, events: &Vec<u8>) -> Result<Option<Charge>, NoRoom> {
        let principal = self.listener.subscription.principal();
        let take = || self.shared.kept.take(principal, events.capacity());
        (events.len() > WORTH_COUNTING).then(take).transpose()
    }

    fn begin_reading(&mut self, tasks: Vec<String>) {
        let (shared, listener) = (Arc::clone(&self.shared), Arc::clone(&self.listener));
        self.reading = Some(Box::pin(async move {
            let principal = listener.subscription.principal();
            let mut found = Vec::new();
            for id in tasks {
                found.extend(shared.find_task(&id, principal).await.map(|task| *task));
            }
            found
        }));
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Vec<DetailedTask> {
        let reading = self
            .reading
            .as_mut()
            .map(|reading| reading.as_mut().poll(cx));
        match reading {
            Some(Poll::Ready(found)) => {
                self.reading = None;
                found
            }
            Some(Poll::Pending) | None => Vec::new(),
        }
    }
}

impl Events for SubscriptionBody {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        if self.finished {
            return Poll::Ready(None);
        }
        if let Some(acknowledged) = self.acknowledged.take() {
            return Poll::Ready(Some(self.acknowledge(&acknowledged)));
        }
        let mut events = Vec::new();
        let mut untold = self.listener.take_untold(cx);
        if self.reading.is_none() {
            let tasks: Vec<_> = untold.extract_if(.., is_task).filter_map(task_of).collect();
            if !tasks.is_empty() {
                self.begin_reading(tasks);
            }
        }
        let read = self.poll_read(cx);
        let has_read = self.reading.is_none();
        let subscription = &self.listener.subscription;
        let later: Vec<_> = untold.extract_if(.., is_task).collect();
        let of_lists = untold
            .iter()
            .filter_map(|changed| subscription.changed(changed));
        let of_tasks = read.iter().filter_map(|task| subscription.task(task));
        for message in of_lists.chain(of_tasks) {
            sse::write_event(&mut events, None, &message);
        }
        if !later.is_empty() {
            // The later changes are read after the previous ones.
            self.listener.lock().changed.extend(later);
            if has_read {
                cx.waker().wake_by_ref();
            }
        }
        let room = self.room_for(&events);
        if room.is_err() {
            // The changes are sent when there is room again: at the latest with the next
            // keep-alive.
            events = Vec::new();
            let tasks = read.into_iter().map(|task| Change::Task(task.task_id));
            self.listener
                .lock()
                .changed
                .extend(untold.into_iter().chain(tasks));
        }
        if self.stopping.as_mut().poll(cx).is_ready() {
            self.finished = true;
            let subscription = &self.listener.subscription;
            let why = OpenSubscription::STOPPING;
            for message in subscription.finish(&self.shared.profile, why) {
                sse::write_event(&mut events, None, &message);
            }
        }
        if events.is_empty() {
            let quiet = self.shared.limits().http.keep_alive;
            match self.vigil.poll(&self.stop, quiet, cx) {
                Poll::Ready(WaitEnd::Quiet) => sse::write_comment(&mut events, ""),
                Poll::Ready(WaitEnd::Over) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        } else {
            self.vigil.reset();
        }
        Poll::Ready(Some(Outgoing::with(events, room.unwrap_or_default())))
    }
}

fn is_task(changed: &Change) -> bool {
    matches!(changed, Change::Task(_))
}

fn task_of(changed: Change) -> Option<String> {
    match changed {
        Change::Task(id) => Some(id),
        _ => None,
    }
}

impl Listener {
    fn take_untold(&self, cx: &Context<'_>) -> BTreeSet<Change> {
        let mut untold = self.lock();
        untold.waker = Some(cx.waker().clone());
        std::mem::take(&mut untold.changed)
    }

    fn lock(&self) -> MutexGuard<'_, PendingChanges> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Listener {
    fn changed(&self, changed: &Change, to: &Audience) {
        let principal = self.subscription.principal().map(|principal| &**principal);
        if !self.subscription.wants(changed) || !self.shared.concerns(changed, to, principal) {
            return;
        }
        let mut untold = self.lock();
        untold.changed.insert(changed.clone());
        if let Some(waker) = untold.waker.take() {
            waker.wake();
        }
    }
}
