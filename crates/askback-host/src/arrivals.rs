//! The queue from the clients to the front end.
//!
//! A server may send more than a front end can show. Each server therefore has a fixed share of the
//! queue for events that are only shown. When it is full, further events are counted and dropped.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use askback::{client::Event, protocol::Implementation};
use tokio::sync::{
    OwnedSemaphorePermit, Semaphore,
    mpsc::{self, error::TryRecvError},
    oneshot,
};

use crate::{
    ending::QuestionEnd,
    model::{Question, Typed},
    question_link::QuestionLink,
    receipts::ShownReply,
    server_id::ServerId,
    text::Words,
    wire::Row,
};

/// A message from a client to the front end.
#[derive(Debug)]
pub enum Arrival {
    Asked {
        id: u64,
        /// The server's own name, unverified.
        claims: Option<Implementation>,
        question: Box<Question>,
        reply: oneshot::Sender<ShownReply>,
        /// The program that holds the question, if it is another one.
        link: Option<QuestionLink>,
    },
    /// The caller no longer waits for the question with this number.
    Ended(u64, QuestionEnd),
    /// Another front end changed what is typed in the question with this number.
    Typed(u64, Typed),
    /// The question with this number was answered in another way.
    Settled(u64),
    Heard(Event),
    /// A message was sent or received.
    Travelled(Row),
    /// A sentence of this program.
    Told(Words),
    /// Events that were dropped because the server's share was full.
    LeftOut(Surplus),
}

/// The receiving end of the queue. Each arrival comes with its server.
#[derive(Debug)]
pub struct Arrivals {
    received: mpsc::UnboundedReceiver<QueueEntry>,
    /// The report about dropped events that is returned next.
    left_out: Option<(ServerId, Surplus)>,
}

/// The sending end of the queue for one server.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    sent: mpsc::UnboundedSender<QueueEntry>,
    events: Places,
    rows: Places,
}

#[derive(Debug)]
struct QueueEntry {
    server: ServerId,
    arrival: Arrival,
    place: Option<Place>,
}

/// A share of the queue, released on drop.
#[derive(Debug)]
struct Place {
    permit: OwnedSemaphorePermit,
    surplus: Arc<Mutex<Surplus>>,
}

#[derive(Debug, Clone)]
struct Places {
    free: Arc<Semaphore>,
    surplus: Arc<Mutex<Surplus>>,
}

/// The dropped events of a server.
#[derive(Debug, Default)]
pub struct Surplus {
    pub count: u64,
    /// The dropped change notifications, without duplicates.
    pub changes: Vec<Event>,
}

const EVENTS: usize = 1 << 20;

const ROWS: usize = 16 << 20;

/// The size of an event or row in addition to its text, in bytes.
const EACH: usize = 1 << 10;

const CHANGES: usize = 64;

pub(crate) fn queue() -> (Sender, Arrivals) {
    let (sent, received) = mpsc::unbounded_channel();
    let arrivals = Arrivals {
        received,
        left_out: None,
    };
    (Sender::to(sent), arrivals)
}

impl Sender {
    fn to(sent: mpsc::UnboundedSender<QueueEntry>) -> Self {
        Self {
            sent,
            events: Places::new(EVENTS),
            rows: Places::new(ROWS),
        }
    }

    /// Creates a sender for another server, with its own share.
    pub(crate) fn another(&self) -> Self {
        Self::to(self.sent.clone())
    }

    /// Sends an arrival. Does nothing if the front end is gone.
    pub(crate) fn send(&self, server: ServerId, arrival: Arrival) {
        let share = match &arrival {
            Arrival::Heard(event) => extent(event).map(|text| (&self.events, text)),
            Arrival::Travelled(row) => Some((&self.rows, row.extent())),
            _ => None,
        };
        let place = match share.map(|(places, text)| places.take(text).ok_or(places)) {
            Some(Err(places)) => return places.leave_out(&arrival),
            taken => taken.and_then(Result::ok),
        };
        let queued = QueueEntry {
            server,
            arrival,
            place,
        };
        let _ = self.sent.send(queued);
    }
}

impl Arrivals {
    /// Returns the next arrival, or `None` if all senders are dropped. Cancel safe.
    pub async fn recv(&mut self) -> Option<(ServerId, Arrival)> {
        if let Some(left_out) = self.left_out() {
            return Some(left_out);
        }
        let queued = self.received.recv().await?;
        Some(self.take(queued))
    }

    /// Fails if the queue is empty or all senders are dropped.
    pub fn try_recv(&mut self) -> Result<(ServerId, Arrival), TryRecvError> {
        if let Some(left_out) = self.left_out() {
            return Ok(left_out);
        }
        let queued = self.received.try_recv()?;
        Ok(self.take(queued))
    }

    fn left_out(&mut self) -> Option<(ServerId, Arrival)> {
        let (server, surplus) = self.left_out.take()?;
        Some((server, Arrival::LeftOut(surplus)))
    }

    fn take(&mut self, queued: QueueEntry) -> (ServerId, Arrival) {
        if let Some(Place { permit, surplus }) = queued.place {
            // Release the share before the report is taken: anything dropped after this is reported
            // with a later arrival.
            drop(permit);
            let surplus = mem::take(&mut *held(&surplus));
            if surplus.count > 0 {
                self.left_out = Some((queued.server, surplus));
            }
        }
        (queued.server, queued.arrival)
    }
}

impl Places {
    fn new(bytes: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(bytes)),
            surplus: Arc::default(),
        }
    }

    /// Takes a part of the share if it is free. An empty share fits any text.
    fn take(&self, text: usize) -> Option<Place> {
        let bytes = text.saturating_add(EACH).min(EVENTS);
        let permits = u32::try_from(bytes).ok()?;
        let permit = Arc::clone(&self.free).try_acquire_many_owned(permits);
        Some(Place {
            permit: permit.ok()?,
            surplus: Arc::clone(&self.surplus),
        })
    }

    fn leave_out(&self, arrival: &Arrival) {
        let mut surplus = held(&self.surplus);
        surplus.count = surplus.count.saturating_add(1);
        if let Arrival::Heard(
            event @ (Event::ToolsChanged
            | Event::PromptsChanged
            | Event::ResourcesChanged
            | Event::ResourceUpdated(_)),
        ) = arrival
            && surplus.changes.len() < CHANGES
            && !surplus.changes.contains(event)
        {
            surplus.changes.push(event.clone());
        }
    }
}

/// The text length in bytes of an event that is only shown. `None` for events with other effects.
fn extent(event: &Event) -> Option<usize> {
    Some(match event {
        // Each is sent once, in response to something that the client did or asked.
        Event::UrlCompleted { .. }
        | Event::StartedOver(_)
        | Event::Disconnected(_)
        | Event::QuestionsLost => return None,
        Event::Log { data, .. } => data.as_str().len(),
        Event::Progress { message, .. } | Event::Task { message, .. } => {
            message.as_deref().unwrap_or_default().len()
        }
        Event::ServerStderr(text) | Event::Note(text) | Event::ResourceUpdated(text) => text.len(),
        Event::Refused(refused) => {
            let params = refused.params.as_ref().map(|params| params.as_str());
            params.unwrap_or_default().len()
        }
        _ => 0,
    })
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::Relay;

    fn drain(arrivals: &mut Arrivals) -> Vec<(ServerId, Arrival)> {
        std::iter::from_fn(|| arrivals.try_recv().ok()).collect()
    }

    #[test]
    fn a_flood_from_one_server_leaves_room_for_others() {
        let (relay, mut arrivals) = Relay::new();
        let other = relay.of(ServerId(1));
        for number in 0..100_000 {
            relay.event(Event::ServerStderr(format!("line {number}")));
            relay.event(Event::ToolsChanged);
        }
        other.event(Event::ServerStderr("of the other".to_owned()));
        relay.tell("ours");
        let all = drain(&mut arrivals);
        let heard = |of: usize| {
            let is_it = |(server, arrival): &&(ServerId, Arrival)| {
                *server == ServerId(of) && matches!(arrival, Arrival::Heard(_))
            };
            all.iter().filter(is_it).count()
        };
        assert_eq!(heard(0), 1020);
        assert_eq!(heard(1), 1);
        let left_out: Vec<_> = all
            .iter()
            .filter_map(|(server, arrival)| match arrival {
                Arrival::LeftOut(surplus) => Some((*server, surplus)),
                _ => None,
            })
            .collect();
        let [(server, surplus)] = left_out[..] else {
            panic!("{left_out:?}");
        };
        assert_eq!((server, surplus.count), (ServerId(0), 200_000 - 1020));
        assert_eq!(surplus.changes, [Event::ToolsChanged]);
        let has_ours = all
            .iter()
            .any(|(_, arrival)| matches!(arrival, Arrival::Told(_)));
        assert!(has_ours, "what is ours needs no place");
        // Taking an arrival releases its share.
        relay.event(Event::Note("x".repeat(EVENTS)));
        relay.event(Event::Note("y".to_owned()));
        let all = drain(&mut arrivals);
        assert!(
            matches!(&all[..], [(_, Arrival::Heard(_)), (_, Arrival::LeftOut(_))]),
            "{all:?}"
        );
    }
}
