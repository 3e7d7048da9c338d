//! A session of a handshake revision. It has no task of its own.

mod caller;
mod parked;
mod room;
mod work;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Waker,
};

use askback_core::{
    ask::Principal,
    engine::server::{
        AskId, Call, Change, Connection, Output, ReceivedMessage, SessionChoices, SessionSeed,
    },
    jsonrpc::{self, ErrorObject, RequestId},
    revision::HttpFacts,
};
use tokio::{sync::oneshot, time::Instant};

use self::room::{may_choose, may_watch, room_of};
pub(super) use self::{parked::Stray, work::Work};
use super::{
    admission::{Attachment, attach},
    body::Outgoing,
    stream::{EventId, OWN, Stream, StreamContent, StreamName},
};
use crate::{
    ctx::{Audience, Interest, Observer, ObserverGuard},
    entropy::entropy,
    journal::{CallId, SessionId},
    server::{
        Shared,
        asks::{self, PendingQuestions},
        budget::{Charge, NoRoom},
        fleet,
        roots::RootsWatch,
    },
};

pub(super) struct Session {
    id: String,
    pub(super) shared: Arc<Shared>,
    /// Whether it uses the two endpoints of 2024-11-05: everything goes to one stream.
    pub(super) paired: bool,
    pub(super) member: Option<SessionId>,
    state: Mutex<State>,
}

pub(super) struct State {
    engine: Connection,
    running: Vec<Running>,
    asks: PendingQuestions<AskId>,
    roots: RootsWatch,
    shared: Arc<Shared>,
    pub(super) streams: Vec<Stream>,
    last_stream: u32,
    last_call: u64,
    /// The changes while the session's own stream had no reader, each once.
    untold: BTreeSet<Change>,
    used: Instant,
    room: Charge,
    /// Its place in the quota for sessions, while it is registered.
    place: Option<Charge>,
    /// Its subscription to changes, while it is registered.
    observing: Option<ObserverGuard>,
    member: Option<SessionId>,
    strays: Vec<Stray>,
}

struct Running {
    id: RequestId,
    /// Distinguishes it from a later call with the same id.
    number: u64,
    /// The number of its stream. The stream starts with its first message, unless that is the
    /// response.
    stream: u32,
    /// Dropping this ends its work.
    _goes_on: oneshot::Sender<()>,
}

pub(super) enum MessageEffect {
    Refused(ReceivedMessage, NoRoom),
    Nothing,
    Answered(Vec<u8>),
    /// The request is already answered. The other processes must be told of the change.
    Chosen(Vec<u8>),
    Work(u32, Vec<Work>),
}

impl Session {
    pub(super) fn new(
        shared: &Arc<Shared>,
        principal: Option<Arc<Principal>>,
        paired: bool,
    ) -> Self {
        let room = shared.kept.open(principal.as_ref());
        Self {
            id: String::new(),
            shared: Arc::clone(shared),
            paired,
            member: None,
            state: Mutex::new(State {
                engine: Connection::new(Arc::clone(&shared.profile)).of(principal),
                running: Vec::new(),
                asks: PendingQuestions::default(),
                roots: RootsWatch::default(),
                shared: Arc::clone(shared),
                streams: Vec::new(),
                last_stream: OWN,
                last_call: 0,
                untold: BTreeSet::new(),
                used: Instant::now(),
                room,
                place: None,
                observing: None,
                member: None,
                strays: Vec::new(),
            }),
        }
    }

    /// Opens a session that another process of the fleet has opened, if it can be served here.
    pub(super) fn reopened(
        shared: &Arc<Shared>,
        principal: Option<Arc<Principal>>,
        (seed, choices): (SessionSeed, SessionChoices),
    ) -> Option<Self> {
        let session = Self::new(shared, principal.clone(), false);
        {
            let engine = Connection::new(Arc::clone(&shared.profile)).of(principal);
            let mut engine = engine.reopened(seed)?;
            engine.choose(choices);
            session.lock().engine = engine;
        }
        Some(session)
    }

    /// Applies the log level and subscriptions that the client has set at another process.
    pub(super) fn choose(&self, choices: SessionChoices) {
        let mut state = self.lock();
        state.engine.choose(choices);
        state.watch();
    }

    pub(super) fn choices(&self) -> SessionChoices {
        self.lock().engine.choices()
    }

    /// What another process needs to serve it.
    pub(super) fn seed(&self) -> Option<SessionSeed> {
        self.lock().engine.seed()
    }

    pub(super) fn named(mut self, id: String) -> Self {
        self.id = id;
        self
    }

    pub(super) fn of_fleet(mut self, member: SessionId) -> Self {
        self.member = Some(member);
        self.lock().member = Some(member);
        self
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_of(&self, principal: Option<&Arc<Principal>>) -> bool {
        self.lock().engine.principal() == principal
    }

    pub(super) fn principal(&self) -> Option<Arc<Principal>> {
        self.lock().engine.principal().cloned()
    }

    pub(super) fn has_batches(&self) -> bool {
        let revision = self.lock().engine.revision();
        revision.is_some_and(|revision| revision.facts().batches)
    }

    /// Whether there is room for a request of a client that does not read its messages.
    pub(super) fn has_room(&self) -> bool {
        let limits = self.shared.limits();
        let mut state = self.lock();
        let own = state.stream(OWN);
        !self.paired || own.is_none_or(|stream| stream.has_room(limits))
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.lock().running.is_empty()
    }

    pub(super) fn open(&self, received: ReceivedMessage) -> (Vec<u8>, bool) {
        let mut answer = Vec::new();
        let mut state = self.lock();
        state.engine.handle_received(received);
        state.drain(|_, message| answer = message);
        (answer, state.engine.revision().is_some())
    }

    /// Takes a message or a batch. Returns the parts that are for other processes.
    pub(super) fn take(
        self: &Arc<Self>,
        received: ReceivedMessage,
        attachment: Option<&Attachment>,
    ) -> (MessageEffect, Vec<Stray>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.used = Instant::now();
        if let Some(bytes) = room_of(&received)
            && let Err(why) = state.reserve(bytes)
        {
            return (MessageEffect::Refused(received, why), Vec::new());
        }
        let is_batch = matches!(received, ReceivedMessage::Batch(_));
        let may_watch = may_watch(&received);
        let may_choose = self.member.is_some() && may_choose(&received);
        state.engine.handle_received(received);
        if may_watch {
            state.watch();
        }
        let mut answers = Vec::new();
        let calls = state.drain(|_, message| answers.push(message));
        let strays = std::mem::take(&mut state.strays);
        if calls.is_empty() {
            // A batch has one response.
            let taken = match answers.pop() {
                Some(answer) if may_choose => MessageEffect::Chosen(answer),
                answer => answer.map_or(MessageEffect::Nothing, MessageEffect::Answered),
            };
            return (taken, strays);
        }
        let stream = if self.paired {
            OWN
        } else {
            state.next_stream()
        };
        // The calls of a batch share a stream, which has only one name.
        let parks = self.member.is_some() && !self.paired && !is_batch;
        let work = calls.into_iter();
        let work = work.map(|mut call| {
            attach(&mut call, attachment);
            state.begin(self, call, stream, parks)
        });
        let work = work.collect();
        for answer in answers {
            state.push(stream, answer);
        }
        (MessageEffect::Work(stream, work), strays)
    }

    pub(super) fn tell(&self, message: Vec<u8>) -> Result<(), NoRoom> {
        let mut state = self.lock();
        state.reserve(message.len())?;
        state.push(OWN, message);
        Ok(())
    }

    /// Attaches a reader to the session's own stream, or to a stream after an event. Returns `None`
    /// if the stream no longer exists.
    pub(super) fn attach(&self, after: Option<EventId>) -> Option<(u32, u32)> {
        let mut state = self.lock();
        state.used = Instant::now();
        let (number, event) = match after {
            None => (OWN, None),
            Some(id) => match id.stream {
                StreamName::Number(number) => (number, Some(id.event)),
                StreamName::Call(call) => (state.number_of(call)?, Some(id.event)),
            },
        };
        if number == OWN {
            state.open_stream(OWN);
        }
        let reader = match state.stream(number)?.attach(event) {
            Some(reader) => reader,
            // The event may be from another process.
            None if number == OWN && state.member.is_some() => {
                state.report_all();
                state.stream(number)?.attach(None)?
            }
            None => return None,
        };
        state.tell_untold();
        Some((number, reader))
    }

    pub(super) fn attach_to_work(&self, stream: u32) -> Option<(u32, u32)> {
        let mut state = self.lock();
        state.open_stream(stream);
        // A call may have been cancelled by now.
        state.close_if_done(stream);
        drop(state);
        let stream = StreamName::Number(stream);
        self.attach(Some(EventId {
            stream,
            event: 0,
            request: None,
        }))
    }

    pub(super) fn observe(self: &Arc<Self>) {
        let me = Arc::downgrade(self);
        let observer: Weak<dyn Observer> = me;
        let observing = ObserverGuard::new(&self.shared.changes, observer, Interest::Lists);
        let mut state = self.lock();
        state.observing = Some(observing);
        // If another process has opened the session, the client may already watch resources.
        state.watch();
    }

    pub(super) fn detach(&self, stream: u32, reader: u32) {
        let mut state = self.lock();
        state.used = Instant::now();
        if let Some(stream) = state.stream(stream) {
            stream.detach(reader);
        }
        let keep = self.shared.limits().http.resume_streams;
        state.trim(if self.paired { 0 } else { keep });
        state.settle();
    }

    pub(super) fn read(&self, number: u32, reader: u32, waker: &Waker) -> StreamContent {
        let limits = self.shared.limits();
        let keep = (!self.paired).then_some(&**limits);
        let mut state = self.lock();
        let (stream, room) = state.stream_and_room(number);
        let Some(stream) = stream else {
            return StreamContent::End;
        };
        let found = stream.read(reader, keep, room, waker);
        if matches!(found, StreamContent::Events(_)) {
            if number == OWN {
                state.tell_untold();
            }
            state.settle();
        }
        found
    }

    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.asks.clear();
        state.running.clear();
        for stream in &mut state.streams {
            stream.close();
            stream.forget_read();
        }
        state.place = None;
        state.observing = None;
        let bytes = state.kept_bytes();
        state.room.shrink_to(bytes);
    }

    pub(super) fn stop(&self, why: &'static str) {
        let calls: Vec<_> = {
            let state = self.lock();
            let running = state.running.iter();
            running
                .map(|running| (running.id.clone(), running.number))
                .collect()
        };
        let error = ErrorObject::internal(why);
        for (id, number) in calls {
            self.respond(&id, number, jsonrpc::write_error(Some(&id), &error));
        }
        self.end();
    }

    /// Drops streams that no client has resumed. Returns whether the session itself has expired.
    pub(super) fn sweep(&self, now: Instant) -> bool {
        let limits = self.shared.limits();
        let mut state = self.lock();
        state.streams.retain(|stream| !stream.is_over(now, limits));
        state.streams.shrink_to_fit();
        let bytes = state.kept_bytes();
        state.room.shrink_to(bytes);
        state
            .idle_since()
            .is_some_and(|since| now >= since + limits.http.session_idle)
    }

    pub(super) fn used(&self) -> (bool, Instant) {
        let state = self.lock();
        (state.idle_since().is_none(), state.used)
    }

    fn respond(&self, call: &RequestId, number: u64, message: Vec<u8>) {
        let mut state = self.lock();
        let Some(at) = state.place_of(call, number) else {
            return;
        };
        let stream = state.running[at].stream;
        state.open_stream(stream);
        state.respond(at, message);
        state.drain_to(stream);
        state.close_if_done(stream);
    }

    /// Returns the response of a running call if nothing else would be on its stream, which has not
    /// started. Otherwise returns the message unchanged.
    fn respond_alone(
        &self,
        call: &RequestId,
        number: u64,
        message: Vec<u8>,
    ) -> Result<Outgoing, Vec<u8>> {
        let mut state = self.lock();
        let place = state.place_of(call, number);
        let Some(at) = place.filter(|at| state.is_alone(*at)) else {
            return Err(message);
        };
        state.respond(at, message);
        let mut only = Vec::new();
        drop(state.drain(|_, message| only = message));
        let only = Outgoing::moved(only, &mut state.room);
        state.settle();
        Ok(only)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn stream(&mut self, number: u32) -> Option<&mut Stream> {
        self.stream_and_room(number).0
    }

    fn stream_and_room(&mut self, number: u32) -> (Option<&mut Stream>, &mut Charge) {
        let mut streams = self.streams.iter_mut();
        let stream = streams.find(|stream| stream.number == number);
        (stream, &mut self.room)
    }

    fn watch(&mut self) {
        if let Some(observing) = &mut self.observing {
            let watched = self.engine.watched();
            observing.watch(watched.map(|uri| Change::Resource(uri.to_owned())));
        }
    }

    pub(super) fn take_only(&mut self, number: u32) -> Option<Outgoing> {
        let (stream, room) = self.stream_and_room(number);
        let only = stream?.take_only(room)?;
        // The reader, which leaves now, returns the room.
        self.streams.retain(|stream| stream.number != number);
        Some(only)
    }

    /// Returns the first event of a stream, with which its client can resume, if the revision
    /// supports it.
    pub(super) fn prime(&mut self, number: u32) -> Vec<u8> {
        let polling = self.facts().is_some_and(|facts| facts.polling);
        match self.stream(number) {
            Some(stream) if polling => stream.prime(),
            _ => Vec::new(),
        }
    }

    fn facts(&self) -> Option<&'static HttpFacts> {
        self.engine
            .revision()
            .map(|revision| &revision.facts().http)
    }

    /// Removes ended streams until this many are left, those first whose end was read earliest.
    fn trim(&mut self, most: usize) {
        let ended = |stream: &Stream| stream.has_ended() && !stream.has_reader();
        let mut over = self.streams.iter().filter(|stream| ended(stream)).count();
        for unread in [false, true] {
            self.streams.retain(|stream| {
                let goes = over > most && ended(stream) && stream.is_unread() == unread;
                over -= usize::from(goes);
                !goes
            });
        }
    }

    fn next_stream(&mut self) -> u32 {
        self.last_stream = self.last_stream.wrapping_add(1).max(1);
        self.last_stream
    }

    fn open_stream(&mut self, number: u32) {
        if self.stream(number).is_none() {
            let mut stream = Stream::new(number);
            if self.member.is_some() && number != OWN {
                stream.call = entropy().ok().map(CallId);
                let mut running = self.running.iter();
                let running = running.find(|running| running.stream == number);
                let whose = self.member.zip(stream.call);
                stream.request = running.zip(whose).and_then(|(running, whose)| {
                    fleet::request_name(&self.shared, whose, &running.id)
                });
            }
            self.streams.push(stream);
        }
    }

    fn begin(&mut self, session: &Arc<Session>, call: Call, stream: u32, parks: bool) -> Work {
        self.last_call += 1;
        let (goes_on, stop) = oneshot::channel();
        self.running.push(Running {
            id: call.id.clone(),
            number: self.last_call,
            stream,
            _goes_on: goes_on,
        });
        Work::new(session, call, self.last_call, stop, parks)
    }

    fn place_of(&self, call: &RequestId, number: u64) -> Option<usize> {
        let mut running = self.running.iter();
        running.position(|running| running.number == number && running.id == *call)
    }

    fn is_alone(&mut self, at: usize) -> bool {
        let stream = self.running[at].stream;
        let calls = self.running.iter();
        calls.filter(|running| running.stream == stream).count() == 1
            && self.stream(stream).is_none()
    }

    fn respond(&mut self, at: usize, message: Vec<u8>) {
        let running = self.running.swap_remove(at);
        let message = match self.reserve_instead(message.len()) {
            Ok(()) => message,
            Err(why) => {
                let error = ErrorObject::internal(why.to_string());
                jsonrpc::write_error(Some(&running.id), &error)
            }
        };
        self.engine.respond(&running.id, message);
        self.used = Instant::now();
    }

    fn stream_of(&self, call: &RequestId) -> u32 {
        self.running_on(call).unwrap_or(OWN)
    }

    fn running_on(&self, call: &RequestId) -> Option<u32> {
        let mut running = self.running.iter();
        let running = running.find(|running| running.id == *call)?;
        Some(running.stream)
    }

    fn push(&mut self, stream: u32, message: Vec<u8>) {
        // A call's stream starts with its first message. The session's own stream waits for its
        // first reader.
        let mut running = self.running.iter();
        if stream == OWN || running.any(|running| running.stream == stream) {
            self.open_stream(stream);
        }
        // A message without a number from the journal has no place on a stream that follows it.
        if let Some(stream) = self.stream(stream).filter(|stream| !stream.is_followed) {
            stream.push(message);
        }
    }

    fn drain_to(&mut self, stream: u32) {
        self.drain(|state, message| state.push(stream, message));
    }

    fn drain(&mut self, mut send: impl FnMut(&mut Self, Vec<u8>)) -> Vec<Call> {
        let mut calls = Vec::new();
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Send(message) => send(self, message),
                Output::Batch(id, message) => match self.running_on(&id) {
                    Some(stream) => self.push(stream, message),
                    None => send(self, message),
                },
                Output::Call(call) => calls.push(*call),
                Output::Cancel(id, reason) => {
                    tracing::debug!(reason = reason.as_deref(), "a client cancelled a request");
                    calls.retain(|call| call.id != id);
                    self.cancel(&id);
                }
                Output::Answer(ask, answer) => asks::answer(&mut self.asks, &ask, answer),
                Output::StrayAnswer(name, outcome) if self.member.is_some() => {
                    self.strays.push(Stray::Answer(name, outcome));
                }
                Output::StrayCancel(id) if self.member.is_some() => {
                    self.strays.push(Stray::Cancel(id));
                }
                Output::StrayAnswer(..) | Output::StrayCancel(_) => {}
                Output::Ask(call, message) => {
                    let stream = self.stream_of(&call);
                    self.push(stream, message);
                }
                Output::Subscription(..) => {}
                Output::RootsChanged(origin) => self.shared.roots_changed(&mut self.roots, origin),
            }
        }
        calls
    }

    fn cancel(&mut self, id: &RequestId) {
        if let Some(at) = self.running.iter().position(|running| running.id == *id) {
            let running = self.running.swap_remove(at);
            self.close_if_done(running.stream);
        }
    }

    fn close_if_done(&mut self, stream: u32) {
        if stream == OWN || self.running.iter().any(|running| running.stream == stream) {
            return;
        }
        if let Some(stream) = self.stream(stream).filter(|stream| !stream.is_followed) {
            stream.close();
        }
    }

    fn tell_untold(&mut self) {
        for changed in std::mem::take(&mut self.untold) {
            self.engine.changed(&changed);
        }
        self.drain_to(OWN);
    }

    fn idle_since(&self) -> Option<Instant> {
        let busy = !self.running.is_empty() || self.streams.iter().any(Stream::has_reader);
        (!busy).then_some(self.used)
    }
}

impl Observer for Session {
    fn changed(&self, changed: &Change, to: &Audience) {
        let mut state = self.lock();
        let caller = state.engine.principal().map(|principal| &**principal);
        if !state.engine.wants(changed) || !self.shared.concerns(changed, to, caller) {
            return;
        }
        state.untold.insert(changed.clone());
        let limits = self.shared.limits();
        let reads = |stream: &mut Stream| stream.has_reader() && stream.has_room(limits);
        if state.stream(OWN).is_some_and(reads) {
            state.tell_untold();
        }
    }
}
