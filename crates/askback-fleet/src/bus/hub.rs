//! The hints that this process has received, and the hints that it has yet to send.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use askback::journal::{CallId, HeardHints, MAX_HINT_BYTES, SessionId, Topic};
use tokio::sync::Notify;

/// How many received hints are kept for slower readers.
const MAX_RECEIVED: usize = 1024;

/// How many hints may wait to be sent.
const MAX_OUTGOING: usize = 1024;

// The first byte of a message. An id follows CALL and SESSION, and then the hint.
const CALL: u8 = b'c';
const SESSION: u8 = b's';
const CHANGED: u8 = b'x';
/// The sender has lost hints.
const GAP: u8 = b'g';
/// Nothing has happened. More bytes may follow.
pub(super) const HEARTBEAT: u8 = b'h';

#[derive(Default)]
pub(super) struct Hub {
    received: Mutex<Received>,
    arrived: Notify,
    outgoing: Mutex<Outgoing>,
    published: Notify,
    was_reached: AtomicBool,
    is_refused: AtomicBool,
}

#[derive(Default)]
struct Received {
    hints: VecDeque<(Topic, Vec<u8>)>,
    /// The number of the last hint or gap.
    last: u64,
}

#[derive(Default)]
struct Outgoing {
    messages: VecDeque<Vec<u8>>,
    has_lost: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics in the middle of a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Received {
    fn after(&self, cursor: u64) -> HeardHints {
        let first = self.last - self.hints.len() as u64;
        let heard = usize::try_from(cursor.saturating_sub(first)).unwrap_or(usize::MAX);
        HeardHints {
            hints: self.hints.iter().skip(heard).cloned().collect(),
            cursor: self.last,
            has_gap: cursor < first,
        }
    }
}

impl Hub {
    pub(super) fn note_reached(&self) {
        self.was_reached.store(true, Ordering::Relaxed);
        self.is_refused.store(false, Ordering::Relaxed);
    }

    /// Returns whether it was noted before.
    pub(super) fn note_refused(&self) -> bool {
        self.is_refused.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    pub(super) fn was_reached(&self) -> bool {
        self.was_reached.load(Ordering::Relaxed)
    }

    pub(super) fn publish(&self, topic: Topic, hint: &[u8]) {
        let message = Some(hint).filter(|hint| hint.len() <= MAX_HINT_BYTES);
        let message = message.and_then(|hint| encode(topic, hint));
        {
            let mut outgoing = lock(&self.outgoing);
            match message {
                Some(message) => outgoing.messages.push_back(message),
                None => outgoing.has_lost = true,
            }
            if outgoing.messages.len() > MAX_OUTGOING {
                outgoing.messages.pop_front();
                outgoing.has_lost = true;
            }
        }
        self.published.notify_one();
    }

    pub(super) async fn wait_outgoing(&self) {
        loop {
            {
                let outgoing = lock(&self.outgoing);
                if outgoing.has_lost || !outgoing.messages.is_empty() {
                    return;
                }
            }
            self.published.notified().await;
        }
    }

    pub(super) fn take_outgoing(&self) -> Vec<Vec<u8>> {
        let outgoing = std::mem::take(&mut *lock(&self.outgoing));
        let gap = outgoing.has_lost.then(|| vec![GAP]);
        gap.into_iter().chain(outgoing.messages).collect()
    }

    /// Reports a gap to the other processes as soon as something can be sent again.
    pub(super) fn note_lost_messages(&self) {
        lock(&self.outgoing).has_lost = true;
    }

    /// Takes a message of the bus. Messages of other programs are ignored.
    pub(super) fn receive(&self, message: &[u8]) {
        if message == [GAP] {
            return self.add_gap();
        }
        let Some(hint) = decode(message) else { return };
        {
            let mut received = lock(&self.received);
            received.last += 1;
            received.hints.push_back(hint);
            if received.hints.len() > MAX_RECEIVED {
                received.hints.pop_front();
            }
        }
        self.arrived.notify_waiters();
    }

    /// Notes that hints may have been lost. Readers check everything, so they need no earlier hint either.
    pub(super) fn add_gap(&self) {
        {
            let mut received = lock(&self.received);
            received.last += 1;
            received.hints.clear();
        }
        self.arrived.notify_waiters();
    }

    pub(super) async fn hear(&self, after: Option<u64>) -> HeardHints {
        loop {
            let mut arrived = pin!(self.arrived.notified());
            // From here on, no hint is missed.
            arrived.as_mut().enable();
            let heard = {
                let received = lock(&self.received);
                received.after(after.unwrap_or(received.last))
            };
            if after != Some(heard.cursor) {
                return heard;
            }
            arrived.await;
        }
    }
}

/// Returns `None` for a topic that this version does not know.
fn encode(topic: Topic, hint: &[u8]) -> Option<Vec<u8>> {
    let (kind, id): (u8, &[u8]) = match &topic {
        Topic::Call(CallId(id)) => (CALL, id),
        Topic::Session(SessionId(id)) => (SESSION, id),
        Topic::Changed => (CHANGED, &[]),
        _ => return None,
    };
    Some([&[kind], id, hint].concat())
}

fn decode(message: &[u8]) -> Option<(Topic, Vec<u8>)> {
    let (kind, rest) = message.split_first()?;
    let (topic, hint) = match *kind {
        CHANGED => (Topic::Changed, rest),
        kind => {
            let (id, hint) = rest.split_first_chunk()?;
            let topic = match kind {
                CALL => Topic::Call(CallId(*id)),
                SESSION => Topic::Session(SessionId(*id)),
                _ => return None,
            };
            (topic, hint)
        }
    };
    (hint.len() <= MAX_HINT_BYTES).then(|| (topic, hint.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_other_programs_are_ignored() {
        let hub = Hub::default();
        let too_long = [&[CHANGED][..], &[0; MAX_HINT_BYTES + 1]].concat();
        for message in [
            &b""[..],
            b"c",
            b"cshort",
            b"?0123456789abcdef",
            b"h",
            &too_long,
        ] {
            hub.receive(message);
        }
        assert_eq!(lock(&hub.received).last, 0);
    }

    #[test]
    fn a_message_that_was_not_sent_becomes_a_gap() {
        let hub = Hub::default();
        hub.publish(Topic::Changed, b"a");
        assert_eq!(hub.take_outgoing(), [b"xa".to_vec()]);
        hub.note_lost_messages();
        hub.publish(Topic::Changed, b"b");
        let sent = hub.take_outgoing();
        assert_eq!(sent, [b"g".to_vec(), b"xb".to_vec()]);
        let other = Hub::default();
        sent.iter().for_each(|message| other.receive(message));
        let heard = lock(&other.received).after(0);
        assert!(heard.has_gap);
        assert_eq!(heard.hints, [(Topic::Changed, b"b".to_vec())]);
    }
}
