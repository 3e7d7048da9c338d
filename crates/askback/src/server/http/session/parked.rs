//! Parked calls of a session in a fleet: leaving this process, and reading their messages from the
//! journal.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use askback_core::{
    engine::server::{Change, write_notification},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{InputRequiredResult, RawJson},
};
use tokio::time::Instant;

use super::{Running, Session, State};
use crate::{
    ctx::{FlowPause, Incoming},
    error::{Error, Result},
    journal::{CallId, SessionId},
    server::{
        Shared,
        fleet::{self, CallRecord, Follower, LogMessage, Node, WaitingNote},
        http::stream::{EventId, Stream, StreamName},
    },
};

/// The first and the longest pause before a log is read again, without hints about its call.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));

/// The pause without hints and without a reader.
const UNREAD_PAUSE: Duration = Duration::from_secs(1);

/// The pause with hints. A process may die before it sends one.
const HINTED_PAUSE: Duration = Duration::from_secs(2);

/// How many messages of a log are read at once.
const MOST: usize = 64;

/// How long a resuming client waits for a call that is not in the journal.
const LOST: Duration = Duration::from_secs(10);

const CONNECTION_LOST: &str = "the connection to the server process that worked on this request was lost before the \
    request was written down: its result cannot be delivered. Whether it took effect is not known; check before you call \
    again";

pub(in crate::server::http) enum Stray {
    Answer(String, Result<RawJson, ErrorObject>),
    Cancel(RequestId),
}

/// Saves a round of a call in the journal, and drops its handler. Its stream then reads from the
/// journal.
///
/// A call that is cancelled meanwhile is saved anyway and then removed, because a journal may
/// complete a write even if its result is no longer awaited.
pub(super) async fn park(
    session: Arc<Session>,
    id: RequestId,
    incoming: Arc<Incoming>,
    round: InputRequiredResult,
    pause: FlowPause,
) -> Result<()> {
    let parking = tokio::spawn(park_whole(session, id, incoming, round, pause));
    let parked = parking.await;
    let parked = parked.unwrap_or_else(|error| Err(Error::new(error.to_string())))?;
    // Until here, because this may end the work on the call, which counts it.
    drop(parked);
    Ok(())
}

/// Returns the call that no longer runs here; `None` if it was cancelled.
async fn park_whole(
    session: Arc<Session>,
    id: RequestId,
    incoming: Arc<Incoming>,
    round: InputRequiredResult,
    pause: FlowPause,
) -> Result<Option<Running>> {
    let shared = Arc::clone(&session.shared);
    let (Some(node), Some(member)) = (&shared.fleet, session.member) else {
        return Err(Error::new("the server is no process of a fleet"));
    };
    let (number, standing) = {
        let mut state = session.lock();
        let Some(number) = state.running_on(&id) else {
            return Ok(None);
        };
        state.open_stream(number);
        let waiting = state.streams.iter().filter(|stream| stream.is_followed);
        if waiting.count() >= shared.limits().wire.requests_in_flight {
            return Err(Error::new(
                "too many calls of this session wait for answers",
            ));
        }
        let stream = state.stream(number);
        let found = stream.and_then(|stream| {
            let found = (stream.call?, stream.next_number());
            // From now on the journal assigns the numbers of this stream.
            stream.is_followed = true;
            Some(found)
        });
        let Some((call, next)) = found else {
            return Err(Error::new(
                "there are no random numbers for the name of the call",
            ));
        };
        (number, CallRecord::new(call, member, id.clone(), next))
    };
    let (call, next) = (standing.call, standing.next_event);
    // It gets the questions as soon as they are saved.
    let follower = Follower::new(node, member, call);
    let parked = fleet::park(&shared, node, standing, &incoming, round, pause).await;
    let running = {
        let mut state = session.lock();
        if let Err(error) = parked {
            if let Some(stream) = state.stream(number) {
                stream.is_followed = false;
            }
            return Err(error);
        }
        // A later call may reuse the id of a cancelled one.
        let mut running = state.running.iter();
        let at = running.position(|it| it.id == id && it.stream == number);
        let running = at.map(|at| state.running.swap_remove(at));
        if running.is_some() {
            state.engine.let_go(&id);
        } else if let Some(stream) = state.stream(number) {
            stream.is_followed = false;
            stream.close();
        }
        state.settle();
        running
    };
    if running.is_none() {
        fleet::end_cancelled(&shared, node, call).await;
        return Ok(None);
    }
    tokio::spawn(follow(
        Arc::downgrade(&session),
        member,
        (number, call),
        follower,
        FollowStart {
            after: next - 1,
            unknown: None,
            is_resumed: false,
        },
    ));
    Ok(running)
}

impl Session {
    /// Prepares to read the stream of a call that may be in the journal.
    ///
    /// If the call is not there (yet), this waits for it, provided that the event names its
    /// request. If it does not appear, its process is gone, or its answer goes to a stream that no
    /// client reads. Returns `false` if the journal does not answer: the client should try again.
    pub(in crate::server::http) async fn take_up(self: &Arc<Self>, id: &EventId) -> bool {
        let (Some(member), StreamName::Call(call)) = (self.member, id.stream) else {
            return true;
        };
        let Some(node) = &self.shared.fleet else {
            return true;
        };
        let has_it = |stream: &Stream| stream.call == Some(call) && stream.has_kept(id.event);
        if self.lock().streams.iter().any(has_it) {
            // Without a reader, the log is read rarely.
            node.wake(call);
            return true;
        }
        let read = node.journal.read(call, member, id.event, 0).await;
        let unknown = match node.heard(read) {
            Ok(Some(_)) => None,
            Ok(None) => {
                let name = id.request.as_deref();
                let read = |name| fleet::read_request_name(&self.shared, (member, call), name);
                match name.and_then(read) {
                    Some(request) => Some(request),
                    None => return true,
                }
            }
            Err(_) => return false,
        };
        let number = {
            let mut state = self.lock();
            state.streams.retain(|stream| stream.call != Some(call));
            let number = state.next_stream();
            let mut stream = Stream::following(number, call, id.event);
            stream.request.clone_from(&id.request);
            state.streams.push(stream);
            number
        };
        let me = Arc::downgrade(self);
        let follower = Follower::new(node, member, call);
        let start = FollowStart {
            after: id.event,
            unknown,
            is_resumed: true,
        };
        tokio::spawn(follow(me, member, (number, call), follower, start));
        true
    }

    /// Copies the messages of a call's log to its stream. Returns whether there is more to read.
    fn take_from_log(&self, number: u32, read: Read) -> bool {
        let mut state = self.lock();
        if state.stream(number).is_none() {
            return false;
        }
        match read {
            Read::Messages(messages, is_over) => {
                for LogMessage {
                    number: event,
                    message,
                    ..
                } in messages
                {
                    if !state.push_followed(number, event, message) {
                        return false;
                    }
                }
                if is_over {
                    state.end_followed(number);
                    return false;
                }
            }
            Read::Gone => {
                state.end_followed(number);
                return false;
            }
            Read::Failed => {}
        }
        let limits = self.shared.limits();
        let is_left = |stream: &mut Stream| stream.is_over(Instant::now(), limits);
        let is_left = state.stream(number).is_some_and(is_left);
        if is_left {
            state.streams.retain(|stream| stream.number != number);
        }
        !is_left
    }

    pub(in crate::server::http) fn is_followed(&self, number: u32) -> bool {
        let mut state = self.lock();
        state
            .stream(number)
            .is_some_and(|stream| stream.is_followed)
    }
}

impl State {
    pub(super) fn number_of(&self, call: CallId) -> Option<u32> {
        let mut streams = self.streams.iter();
        let stream = streams.find(|stream| stream.call == Some(call))?;
        Some(stream.number)
    }

    /// Reports every possible change, because this process does not know which were reported.
    pub(super) fn report_all(&mut self) {
        let watched = self.engine.watched();
        let watched: Vec<_> = watched
            .map(|uri| Change::Resource(uri.to_owned()))
            .collect();
        self.untold
            .extend([Change::Tools, Change::Prompts, Change::Resources]);
        self.untold.extend(watched);
    }

    /// Adds a message from the journal to a stream; an empty message only uses its number. Returns
    /// whether the stream still exists.
    fn push_followed(&mut self, number: u32, event: u64, message: Vec<u8>) -> bool {
        if self.reserve(message.len()).is_err() {
            // The client can resume later: the journal keeps the messages.
            self.streams.retain(|stream| stream.number != number);
            return false;
        }
        let Some(stream) = self.stream(number) else {
            return false;
        };
        // Earlier messages that are not in the log were sent by the process that started the call.
        stream.skip_to(event);
        stream.push(message);
        true
    }

    fn push_note(&mut self, number: u32, waiting: &WaitingQuestion) {
        let notification = waiting.note.notification(waiting.notes);
        let revision = self.engine.revision();
        let message = revision.and_then(|revision| write_notification(revision, notification));
        if let (Some(stream), Some(message)) = (self.stream(number), message) {
            stream.push_note(&message);
        }
    }

    fn end_followed(&mut self, number: u32) {
        if let Some(stream) = self.stream(number) {
            stream.is_followed = false;
            stream.close();
        }
    }
}

struct FollowStart {
    after: u64,
    unknown: Option<RequestId>,
    is_resumed: bool,
}

struct WaitingQuestion {
    number: u64,
    note: WaitingNote,
    notes: u64,
}

impl WaitingQuestion {
    fn new(shared: &Shared, asked: &mut LogMessage) -> Option<Self> {
        let note = asked.waiting.take()?;
        Some(Self {
            number: asked.number,
            notes: note.due(shared),
            note,
        })
    }

    fn is_due(&mut self, shared: &Shared) -> bool {
        let before = std::mem::replace(&mut self.notes, self.note.due(shared));
        self.notes > before
    }
}

async fn follow(
    session: Weak<Session>,
    member: SessionId,
    (number, call): (u32, CallId),
    follower: Follower,
    FollowStart {
        mut after,
        mut unknown,
        is_resumed,
    }: FollowStart,
) {
    let Some(shared) = session.upgrade().map(|session| Arc::clone(&session.shared)) else {
        return;
    };
    let Some(node) = &shared.fleet else { return };
    let mut pause = PAUSES.0;
    let begun = Instant::now();
    let mut waiting = None;
    if is_resumed {
        let mut before = after.saturating_sub(1);
        let last = read(&shared, node, member, call, &mut before).await;
        if let Read::Messages(mut messages, _) = last {
            let last = messages.iter_mut().find(|it| it.number == after);
            waiting = last.and_then(|last| WaitingQuestion::new(&shared, last));
        }
    }
    loop {
        let mut read = match follower.take_added(after) {
            Some((messages, is_over)) => {
                after += messages.len() as u64;
                Read::Messages(messages, is_over)
            }
            None => read(&shared, node, member, call, &mut after).await,
        };
        match (&read, &unknown) {
            (Read::Gone, Some(request)) if begun.elapsed() >= LOST => {
                let error = ErrorObject::internal(CONNECTION_LOST);
                let message = jsonrpc::write_error(Some(request), &error);
                let last = LogMessage::new(after + 1, message);
                read = Read::Messages(vec![last], true);
            }
            (Read::Gone, Some(_)) => read = Read::Failed,
            (Read::Messages(..), Some(_)) => unknown = None,
            _ => {}
        }
        let Some(session) = session.upgrade() else {
            return;
        };
        let has_failed = matches!(read, Read::Failed);
        let mut has_news = false;
        if let Read::Messages(messages, _) = &mut read
            && let Some(last) = messages.last_mut()
        {
            has_news = true;
            waiting = WaitingQuestion::new(&shared, last);
        }
        if !session.take_from_log(number, read) {
            return;
        }
        let has_reader = session
            .lock()
            .stream(number)
            .is_some_and(|it| it.has_reader());
        let is_due = has_reader && waiting.as_mut().is_some_and(|it| it.is_due(&shared));
        if is_due && let Some(question) = &waiting {
            let unanswered = node
                .journal
                .read(call, member, question.number - 1, 1)
                .await;
            match node.heard(unanswered) {
                Ok(Some(log)) if log.events.first().is_some_and(|it| !it.is_answered) => {
                    session.lock().push_note(number, question);
                }
                _ => waiting = None,
            }
        }
        drop(session);
        // The process that stores a call sends no hint, because it usually has its client.
        let trusts_hints = node.hears_of_calls() && !has_failed && unknown.is_none();
        let (first, longest) = match (trusts_hints, has_reader) {
            (true, _) => (HINTED_PAUSE, HINTED_PAUSE),
            (false, true) => PAUSES,
            // A client that comes back wakes this.
            (false, false) => (UNREAD_PAUSE, UNREAD_PAUSE),
        };
        if has_news {
            pause = first;
        }
        pause = pause.clamp(first, longest);
        // A note may be due earlier.
        let notes = shared.limits().asking.progress_interval.max(PAUSES.0);
        let most = match waiting.is_some() && has_reader {
            true => pause.min(notes),
            false => pause,
        };
        if follower.wait(most).await {
            pause = first;
        } else {
            pause *= 2;
        }
    }
}

enum Read {
    /// Messages, and whether they are the last.
    Messages(Vec<LogMessage>, bool),
    Gone,
    Failed,
}

async fn read(
    shared: &Shared,
    node: &Node,
    member: SessionId,
    call: CallId,
    after: &mut u64,
) -> Read {
    let log = match node.heard(node.journal.read(call, member, *after, MOST).await) {
        Ok(Some(log)) => log,
        Ok(None) => return Read::Gone,
        Err(_) => return Read::Failed,
    };
    let mut messages = Vec::new();
    for event in log.events {
        let number = event.number;
        let message = match event.is_answered {
            true => Some(LogMessage::new(number, Vec::new())),
            false => LogMessage::open(shared, (member, call), number, &event.message),
        };
        let Some(message) = message else {
            tracing::error!(
                "a message in the journal cannot be read: its call ends for its client"
            );
            return Read::Gone;
        };
        messages.push(message);
        *after = event.number;
    }
    Read::Messages(messages, log.is_over)
}
