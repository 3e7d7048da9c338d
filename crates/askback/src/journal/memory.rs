use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::pin::pin;

use askback_core::limits::Limits;
use tokio::sync::Notify;

use super::{
    AnswerOutcome, AnswerRequest, Bus, CallId, Event, FinishRequest, HeardHints, Journal,
    JournalStatus, Lease, Log, LogEvent, MAX_HINTS_KEPT, Millis, NodeId, Owner, ParkOutcome,
    ParkRequest, SessionId, SessionNote, SessionRequest, StoreError, StoreFuture, TakenCall,
    TaskState, Topic,
};
use crate::{
    mutex::Mutex,
    store::{
        memory::{Shelf, Slot},
        share::{self, OVERHEAD, StoredBytes},
    },
};

/// A journal in memory, for tests and for a fleet of servers in one process.
pub struct MemoryJournal {
    entries: Mutex<Entries>,
    hints: Mutex<Hints>,
    told: Notify,
}

#[derive(Default)]
struct Hints {
    kept: VecDeque<(Topic, Vec<u8>)>,
    last: u64,
}

impl Hints {
    fn after(&self, cursor: u64) -> HeardHints {
        let first = self.last - self.kept.len() as u64;
        let heard = usize::try_from(cursor.saturating_sub(first)).unwrap_or(usize::MAX);
        HeardHints {
            hints: self.kept.iter().skip(heard).cloned().collect(),
            cursor: self.last,
            has_gap: cursor < first,
        }
    }
}

#[derive(Default)]
struct Entries {
    calls: HashMap<CallId, Call>,
    sessions: Shelf<SessionId, Session>,
    /// Until when each process serves.
    processes: BTreeMap<NodeId, Millis>,
    max_bytes: usize,
}

struct Call {
    session: SessionId,
    request: [u8; 16],
    owner: Option<Owner>,
    epoch: u32,
    lease: Option<Lease>,
    wake: Option<Millis>,
    record: Vec<u8>,
    status: Option<Vec<u8>>,
    /// The answers by question number; `None` once they are part of the record.
    answers: BTreeMap<u32, Option<Vec<u8>>>,
    first_event: u64,
    events: Vec<Event>,
    is_over: bool,
    expires: Millis,
}

struct Session {
    ended_at: Option<Millis>,
    note: Option<Vec<u8>>,
}

impl MemoryJournal {
    /// Creates an empty journal of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: Mutex::new(Entries {
                max_bytes,
                ..Entries::default()
            }),
            hints: Mutex::default(),
            told: Notify::new(),
        }
    }
}

/// A journal with the default of
/// [`limits.asking.store_bytes`](crate::limits::AskingLimits::store_bytes).
impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new(Limits::default().asking.store_bytes)
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal")
            .field("calls", &self.entries.lock().calls.len())
            .finish_non_exhaustive()
    }
}

impl Call {
    fn size(&self) -> usize {
        let answers = self.answers.values().flatten().map(Vec::len);
        let events = self.events.iter().map(|event| event.message.len());
        let status = self.status.as_ref().map_or(0, Vec::len);
        OVERHEAD + self.record.len() + status + answers.sum::<usize>() + events.sum::<usize>()
    }

    fn next_event(&self) -> u64 {
        self.first_event + self.events.len() as u64
    }

    fn take(&mut self, call: CallId, lease: Lease) -> TakenCall {
        self.epoch += 1;
        let was_interrupted = self.lease.replace(lease).is_some();
        TakenCall {
            was_interrupted,
            ..self.taken(call)
        }
    }

    /// Returns a parked call that has been answered already, unless `keep` has a lease. Otherwise sets its lease to `keep`.
    fn hand_over(&mut self, request: &ParkRequest<'_>) -> ParkOutcome {
        if request.keep.is_none() && self.answers.values().any(Option::is_some) {
            return ParkOutcome::Answered(self.taken(request.call));
        }
        self.lease = request.keep;
        ParkOutcome::Waiting
    }

    fn taken(&self, call: CallId) -> TakenCall {
        let answers = self.answers.iter();
        TakenCall {
            call,
            session: self.session,
            epoch: self.epoch,
            record: self.record.clone(),
            answers: answers
                .filter_map(|(ask, reply)| Some((*ask, reply.clone()?)))
                .collect(),
            next_event: self.next_event(),
            was_interrupted: false,
        }
    }

    fn is_due(&self, now: Millis) -> bool {
        match self.lease {
            _ if self.is_over => false,
            Some(lease) => lease.until <= now,
            None => self.wake.is_some_and(|wake| wake <= now),
        }
    }
}

impl Entries {
    fn held(&self, owner: Option<Owner>) -> StoredBytes {
        let of = |owner: Option<Owner>| {
            let calls = self.calls.values();
            let calls = calls.filter(|call| owner.is_none() || call.owner == owner);
            calls.map(Call::size).sum()
        };
        StoredBytes {
            in_all: of(None),
            by_owner: owner.map(|owner| of(Some(owner))),
        }
    }

    /// Stores a note about a session, or that it has ended.
    fn keep(&mut self, session: SessionRequest, note: Option<&[u8]>) -> Result<(), StoreError> {
        self.sessions.remove(&session.session);
        let slot = Slot {
            value: Session {
                ended_at: note.is_none().then_some(session.now),
                note: note.map(<[u8]>::to_vec),
            },
            owner: session.owner,
            size: OVERHEAD + note.map_or(0, <[u8]>::len),
            expires: session.expires,
        };
        self.sessions.put(session.session, slot, self.max_bytes)
    }

    fn park(&mut self, request: &ParkRequest<'_>) -> Result<ParkOutcome, StoreError> {
        let known = self.calls.get(&request.call);
        if known.map_or(request.epoch != 0, |call| {
            call.epoch != request.epoch || call.is_over
        }) {
            return Ok(ParkOutcome::Lost);
        }
        if let Some(call) = self.calls.get_mut(&request.call)
            && call.record == request.record
        {
            return Ok(call.hand_over(request));
        }
        let known = self.calls.get(&request.call);
        let events: usize = request.events.iter().map(|event| event.message.len()).sum();
        let status = request.status.map_or(0, <[u8]>::len);
        let size = OVERHEAD + request.record.len() + status + events;
        // The owner's share limits new calls only: a running call is never lost for lack of room.
        let owner = request.owner.filter(|_| known.is_none());
        share::admit_claim(self.held(owner), size, self.max_bytes)?;
        let call = self.calls.entry(request.call).or_insert_with(|| Call {
            session: request.session,
            request: request.request,
            owner: request.owner,
            epoch: 0,
            lease: None,
            wake: None,
            record: Vec::new(),
            status: None,
            answers: BTreeMap::new(),
            first_event: request.first_event,
            events: Vec::new(),
            is_over: false,
            expires: 0,
        });
        call.record = request.record.to_vec();
        if let Some(status) = request.status {
            call.status = Some(status.to_vec());
        }
        call.events.extend_from_slice(request.events);
        call.wake = request.wake;
        call.expires = request.expires;
        for ask in request.settled {
            call.answers.insert(*ask, None);
        }
        Ok(call.hand_over(request))
    }

    fn answer(&mut self, answer: &AnswerRequest<'_>) -> AnswerOutcome {
        let call = self.calls.get_mut(&answer.call);
        let Some(call) = call.filter(|call| call.session == answer.session) else {
            return AnswerOutcome::Unknown;
        };
        if call.is_over || call.answers.contains_key(&answer.ask) {
            return AnswerOutcome::Duplicate;
        }
        call.answers.insert(answer.ask, Some(answer.reply.to_vec()));
        match call.lease {
            Some(lease) if lease.until > answer.now => AnswerOutcome::Kept,
            _ => AnswerOutcome::Taken(call.take(answer.call, answer.lease)),
        }
    }

    fn finish(&mut self, end: &FinishRequest<'_>) -> bool {
        let call = self.calls.get_mut(&end.call);
        let is_of = |epoch: u32| end.epoch.is_none_or(|it| it == epoch);
        let Some(call) = call.filter(|call| is_of(call.epoch) && !call.is_over) else {
            return false;
        };
        if end.epoch.is_none() {
            call.epoch += 1;
        }
        if let Some(status) = end.status {
            call.status = Some(status.to_vec());
        }
        call.is_over = true;
        call.lease = None;
        call.wake = None;
        call.record = Vec::new();
        call.events.extend_from_slice(end.events);
        call.expires = end.expires;
        true
    }

    fn read(&self, call: CallId, session: SessionId, after: u64, most: usize) -> Option<Log> {
        let call = self.calls.get(&call)?;
        if call.session != session {
            return None;
        }
        let numbered = (call.first_event..).zip(&call.events);
        let mut events: Vec<_> = numbered
            .filter(|(number, _)| *number > after)
            .take(most + 1)
            .map(|(number, event)| LogEvent {
                number,
                is_answered: event.ask.is_some_and(|ask| call.answers.contains_key(&ask)),
                message: event.message.clone(),
            })
            .collect();
        let is_whole = events.len() <= most;
        events.truncate(most);
        Some(Log {
            events,
            is_over: call.is_over && is_whole,
        })
    }
}

impl Bus for MemoryJournal {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        let mut hints = self.hints.lock();
        hints.last += 1;
        hints.kept.push_back((topic, hint.to_vec()));
        if hints.kept.len() > MAX_HINTS_KEPT {
            hints.kept.pop_front();
        }
        drop(hints);
        self.told.notify_waiters();
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        Box::pin(async move {
            loop {
                let mut told = pin!(self.told.notified());
                // From here on, no hint is missed.
                told.as_mut().enable();
                let heard = {
                    let hints = self.hints.lock();
                    hints.after(after.unwrap_or(hints.last))
                };
                if after != Some(heard.cursor) {
                    return Ok(heard);
                }
                told.await;
            }
        })
    }
}

impl Journal for MemoryJournal {
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome> {
        Box::pin(async move { self.entries.lock().park(&call) })
    }

    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome> {
        Box::pin(async move { Ok(self.entries.lock().answer(&answer)) })
    }

    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.entries.lock().finish(&end)) })
    }

    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>> {
        Box::pin(async move { Ok(self.entries.lock().read(call, session, after, most)) })
    }

    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let calls = entries.calls.iter_mut();
            let due = calls.filter(|(_, call)| call.is_due(now)).take(most);
            Ok(due.map(|(id, call)| call.take(*id, lease)).collect())
        })
    }

    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let mut lost = Vec::new();
            for (id, epoch) in held {
                let call = entries.calls.get_mut(id);
                let Some(call) = call.filter(|call| call.epoch == *epoch) else {
                    lost.push((*id, *epoch));
                    continue;
                };
                if let Some(lease) = &mut call.lease {
                    lease.until = until;
                }
            }
            Ok(lost)
        })
    }

    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let call = entries.calls.get_mut(&call);
            let works =
                |call: &&mut Call| call.epoch == epoch && call.lease.is_some() && !call.is_over;
            if let Some(call) = call.filter(works) {
                call.status = Some(status.to_vec());
            }
            Ok(())
        })
    }

    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>> {
        Box::pin(async move {
            let entries = self.entries.lock();
            let call = entries.calls.get(&call);
            let call = call.filter(|call| call.session == session);
            Ok(call.and_then(|call| {
                Some(TaskState {
                    status: call.status.clone()?,
                    answered: call.answers.keys().copied().collect(),
                })
            }))
        })
    }

    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let before = entries.calls.len();
            entries.calls.retain(|_, call| {
                call.is_over || call.session != session || call.request != request
            });
            Ok(entries.calls.len() < before)
        })
    }

    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let known = entries.sessions.slots.get(&session.session);
            if known.is_some_and(|known| known.value.ended_at.is_some()) {
                return Ok(());
            }
            entries.keep(session, Some(note))
        })
    }

    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            entries
                .calls
                .retain(|_, call| call.session != session.session);
            entries.keep(session, None)
        })
    }

    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote> {
        Box::pin(async move {
            let entries = self.entries.lock();
            let known = entries.sessions.slots.get(&session);
            let note = known.map(|known| SessionNote {
                is_ended: known.value.ended_at.is_some(),
                note: known.value.note.clone(),
            });
            Ok(note.unwrap_or_default())
        })
    }

    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>> {
        Box::pin(async move {
            let entries = self.entries.lock();
            let sessions = entries.sessions.slots.iter();
            let is_late = |it: &Session| it.ended_at.is_some_and(|at| at >= since);
            let ended = sessions.filter(|(_, it)| is_late(&it.value));
            Ok(ended.map(|(id, _)| *id).collect())
        })
    }

    fn announce(&self, process: NodeId, until: Millis, now: Millis) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let processes = &mut self.entries.lock().processes;
            processes.insert(process, until);
            let others = processes
                .iter()
                .filter(|(id, until)| **id != process && **until > now);
            Ok(others.count() as u64 + 1)
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(async move {
            let mut entries = self.entries.lock();
            let count = |entries: &Entries| entries.calls.len() + entries.processes.len();
            let before = count(&entries);
            let is_held = |call: &Call| call.lease.is_some_and(|lease| lease.until > now);
            entries
                .calls
                .retain(|_, call| call.expires > now || is_held(call));
            entries.processes.retain(|_, until| *until > now);
            let gone = before - count(&entries);
            Ok(gone + entries.sessions.purge(now).len())
        })
    }

    fn status(&self, now: Millis) -> StoreFuture<'_, JournalStatus> {
        Box::pin(async move {
            let entries = self.entries.lock();
            let open = || entries.calls.values().filter(|call| !call.is_over);
            let mut status =
                JournalStatus::of_calls(open().map(|call| (call.lease, call.wake)), now);
            let questions = open().map(|call| {
                let asks = call.events.iter().filter_map(|event| event.ask);
                asks.filter(|ask| !call.answers.contains_key(ask)).count() as u64
            });
            status.open_questions = questions.sum();
            let bytes: usize = entries.calls.values().map(Call::size).sum();
            status.bytes = bytes as u64;
            Ok(status)
        })
    }
}
