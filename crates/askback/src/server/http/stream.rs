//! The streams of a session, whose messages are kept for a client that resumes.

use std::{collections::VecDeque, sync::Arc, task::Waker, time::Duration};

use askback_core::{http::sse, limits::Limits};
use tokio::time::Instant;

use super::body::{Outgoing, WORTH_COUNTING};
use crate::{
    journal::CallId,
    server::{
        budget::Charge,
        fleet::{call_text, read_call},
    },
};

/// The stream of messages that belong to no call. It lasts as long as its session.
pub(super) const OWN: u32 = 0;

/// The delay after which a client reconnects if its process is gone.
const FLEET_RETRY: Duration = Duration::from_millis(500);

pub(super) const FRAME_BYTES: usize = 64;

/// One stream of a session (2025-11-25, basic/transports, Resumability and Redelivery).
pub(super) struct Stream {
    pub(super) number: u32,
    events: VecDeque<Vec<u8>>,
    /// The number of the first stored event. A stream starts with number 1.
    first: u64,
    next: u64,
    bytes: usize,
    unread_bytes: usize,
    /// A note for the current reader, written as an event without a number. It is sent at most
    /// once.
    note: Vec<u8>,
    open: bool,
    /// Whether the connection should close, so that the client resumes later.
    letting_go: bool,
    reader: Option<u32>,
    last_reader: u32,
    waker: Option<Waker>,
    /// When the last reader left.
    pub(super) left: Instant,
    pub(super) call: Option<CallId>,
    pub(super) request: Option<Arc<str>>,
    pub(super) is_followed: bool,
}

pub(super) enum StreamContent {
    Events(Outgoing),
    Nothing,
    /// The connection ends, but not the stream.
    LetGo,
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: StreamName,
    pub(super) event: u64,
    /// The name of the request, for a call of a fleet. If its process is gone before the call was
    /// saved, another process can answer for it.
    pub(super) request: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamName {
    /// The stream's number in the session, in this process.
    Number(u32),
    /// The fleet's call, which is the same in every process.
    Call(CallId),
}

impl EventId {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some((call, rest)) = text.split_once('.') {
            let (event, request) = match rest.split_once('.') {
                Some((event, request)) => (event, Some(request.into())),
                None => (rest, None),
            };
            return Some(Self {
                stream: StreamName::Call(read_call(call)?),
                // The next event has this number plus one, which must not overflow.
                event: event.parse().ok().filter(|event| *event < u64::MAX)?,
                request,
            });
        }
        let (stream, event) = text.split_once('-')?;
        Some(Self {
            stream: StreamName::Number(stream.parse().ok()?),
            event: event.parse().ok()?,
            request: None,
        })
    }

    fn write(&self) -> String {
        match (self.stream, &self.request) {
            (StreamName::Number(stream), _) => format!("{stream}-{}", self.event),
            (StreamName::Call(call), None) => format!("{}.{}", call_text(call), self.event),
            (StreamName::Call(call), Some(request)) => {
                format!("{}.{}.{request}", call_text(call), self.event)
            }
        }
    }
}

impl Stream {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            events: VecDeque::new(),
            first: 1,
            next: 1,
            bytes: 0,
            unread_bytes: 0,
            note: Vec::new(),
            open: true,
            letting_go: false,
            reader: None,
            last_reader: 0,
            waker: None,
            left: Instant::now(),
            call: None,
            request: None,
            is_followed: false,
        }
    }

    pub(super) fn following(number: u32, call: CallId, after: u64) -> Self {
        Self {
            first: after + 1,
            next: after + 1,
            call: Some(call),
            is_followed: true,
            ..Self::new(number)
        }
    }

    pub(super) fn has_kept(&self, event: u64) -> bool {
        event + 1 >= self.first && event < self.next_number()
    }

    /// Skips to this number, past messages that are not stored.
    pub(super) fn skip_to(&mut self, number: u64) {
        if self.events.is_empty() && number > self.next {
            self.first = number;
            self.next = number;
        }
    }

    pub(super) fn next_number(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn name(&self) -> StreamName {
        self.call
            .map_or(StreamName::Number(self.number), StreamName::Call)
    }

    /// Replaces the reader by a new one, which starts after this event, or else at the next unread
    /// one. Returns `None` if the event never existed, or later events are no longer stored.
    pub(super) fn attach(&mut self, after: Option<u64>) -> Option<u32> {
        if let Some(after) = after {
            let end = self.first + self.events.len() as u64;
            let next = after.checked_add(1)?;
            if next < self.first || next > end {
                return None;
            }
            self.next = next;
            let read = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
            self.unread_bytes = self.events.iter().skip(read).map(Vec::len).sum();
        }
        // A returning reader needs no second close; the first reader may still have to leave.
        self.letting_go &= self.last_reader == 0;
        self.last_reader += 1;
        self.reader = Some(self.last_reader);
        self.wake();
        Some(self.last_reader)
    }

    pub(super) fn detach(&mut self, reader: u32) {
        if self.reader == Some(reader) {
            self.reader = None;
            self.note = Vec::new();
            self.waker = None;
            self.left = Instant::now();
        }
    }

    pub(super) fn push(&mut self, mut message: Vec<u8>) {
        // Stored capacity must match what is counted.
        if message.capacity() - message.len() > WORTH_COUNTING {
            message.shrink_to_fit();
        }
        self.bytes += message.len();
        self.unread_bytes += message.len();
        self.events.push_back(message);
        self.wake();
    }

    pub(super) fn push_note(&mut self, message: &[u8]) {
        if self.reader.is_some() {
            self.note.clear();
            sse::write_event(&mut self.note, None, message);
            self.wake();
        }
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.bytes + self.events.len() * FRAME_BYTES
    }

    /// Drops events that were read, so a client can resume only from the unread ones.
    pub(super) fn forget_read(&mut self) {
        let read = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
        for message in self.events.drain(..read.min(self.events.len())) {
            self.bytes -= message.len();
            self.first += 1;
        }
    }

    pub(super) fn close(&mut self) {
        self.open = false;
        self.wake();
    }

    pub(super) fn let_go(&mut self) {
        self.letting_go = true;
        self.wake();
    }

    pub(super) fn has_news(&self) -> bool {
        self.is_unread() || self.letting_go || !self.open
    }

    pub(super) fn is_unread(&self) -> bool {
        self.next < self.first + self.events.len() as u64
    }

    /// Whether progress and log messages may still be added.
    pub(super) fn has_room(&self, limits: &Limits) -> bool {
        self.unread_bytes <= limits.http.resume_bytes
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.open
    }

    pub(super) fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether no client reads the stream, and none is expected to resume it.
    pub(super) fn is_over(&self, now: Instant, limits: &Limits) -> bool {
        let may_go = !self.open || self.is_followed;
        may_go && self.reader.is_none() && now >= self.left + limits.http.resume
    }

    pub(super) fn take_only(&mut self, room: &mut Charge) -> Option<Outgoing> {
        let only = !self.open && self.events.len() == 1 && self.next == 1 && !self.letting_go;
        let only = only.then(|| self.events.pop_front()).flatten()?;
        self.bytes -= only.len();
        Some(Outgoing::moved(only, room))
    }

    /// Returns the unread events, or the state of the stream. If `keep` is `None`, no events are
    /// kept for resumption.
    pub(super) fn read(
        &mut self,
        reader: u32,
        keep: Option<&Limits>,
        room: &mut Charge,
        waker: &Waker,
    ) -> StreamContent {
        if self.reader != Some(reader) {
            return StreamContent::End;
        }
        if self.is_unread() || !self.note.is_empty() {
            return StreamContent::Events(Outgoing::moved(self.take_unread(keep), room));
        }
        if self.letting_go {
            return StreamContent::LetGo;
        }
        if !self.open {
            return StreamContent::End;
        }
        self.watch(waker);
        StreamContent::Nothing
    }

    pub(super) fn watch(&mut self, waker: &Waker) {
        self.waker = Some(waker.clone());
    }

    /// The event with which a client can resume before anything was sent.
    pub(super) fn prime(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let id = EventId {
            stream: self.name(),
            event: self.next - 1,
            request: self.request.clone(),
        };
        sse::write_priming_event(&mut out, &id.write());
        if self.call.is_some() {
            sse::write_retry(&mut out, FLEET_RETRY);
        }
        out
    }

    fn take_unread(&mut self, keep: Option<&Limits>) -> Vec<u8> {
        let read = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
        let unread = self.events.len().saturating_sub(read);
        let mut out = std::mem::take(&mut self.note);
        out.reserve(self.unread_bytes + unread * FRAME_BYTES);
        for message in self.events.iter().skip(read) {
            let id = EventId {
                stream: self.name(),
                event: self.next,
                request: self.request.clone(),
            };
            self.next += 1;
            if message.is_empty() {
                continue;
            }
            let id = keep.map(|_| id.write());
            sse::write_event(&mut out, id.as_deref(), message);
        }
        self.unread_bytes = 0;
        let (events, bytes) = keep.map_or((0, 0), |limits| {
            (limits.http.resume_events, limits.http.resume_bytes)
        });
        while self.events.len() > events || self.bytes > bytes {
            let Some(dropped) = self.events.pop_front() else {
                break;
            };
            self.bytes -= dropped.len();
            self.first += 1;
        }
        out
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

pub(super) fn come_back(limits: &Limits) -> Vec<u8> {
    let mut out = Vec::new();
    sse::write_retry(&mut out, limits.http.retry);
    out
}
