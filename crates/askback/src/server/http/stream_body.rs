//! The response body of a session stream.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::http::sse;

use super::{
    body::{Events, Outgoing},
    session::{Session, Work},
    sessions::Sessions,
    stop::{Phase, QuietTimer, Stop, WaitEnd},
    stream::{OWN, StreamContent, come_back},
};
use crate::flow::BoxFuture;

/// The delay after which a client reconnects to another process when this one stops.
const DRAIN_RETRY: Duration = Duration::from_millis(100);

/// A response body that sends a stream of a session.
///
/// It polls the call itself, so that short calls need no task. If the client disconnects, the call
/// continues in a task, because only a notification cancels it (2025-11-25, basic/transports,
/// Sending Messages to the Server).
pub(super) struct StreamBody {
    session: Arc<Session>,
    stream: u32,
    reader: u32,
    work: Option<Work>,
    first: Vec<u8>,
    /// Set for the two endpoints of 2024-11-05, where the session ends with its stream.
    ends: Option<Arc<Sessions>>,
    stop: Stop,
    /// Fires when the server stops. The session's own stream then ends; if calls share it, when the
    /// last one has ended.
    stopping: Option<BoxFuture<'static, ()>>,
    vigil: QuietTimer,
    ended: bool,
}

pub(super) enum StreamStart {
    Only(Outgoing),
    Stream,
}

impl StreamBody {
    pub(super) fn new(session: Arc<Session>, stream: u32, reader: u32, stop: &Stop) -> Self {
        let stopping = stop.clone();
        // Another process can continue a stream that comes from a journal.
        let may_end = stream == OWN || session.member.is_some();
        let stopping = may_end.then(|| -> BoxFuture<'static, ()> {
            Box::pin(async move { stopping.reached(Phase::Leaving).await })
        });
        Self {
            session,
            stream,
            reader,
            work: None,
            first: Vec::new(),
            ends: None,
            stop: stop.clone(),
            stopping,
            vigil: QuietTimer::default(),
            ended: false,
        }
    }

    pub(super) fn working(mut self, work: Option<Work>) -> Self {
        self.work = work;
        self
    }

    pub(super) fn beginning_with(mut self, events: Vec<u8>) -> Self {
        self.first = events;
        self
    }

    pub(super) fn ending(mut self, sessions: Arc<Sessions>) -> Self {
        self.ends = Some(sessions);
        self
    }

    /// Polls for the first result. It waits briefly, because most handlers are quick and send no
    /// notification.
    pub(super) fn poll_first(&mut self, json: bool, cx: &mut Context<'_>) -> Poll<StreamStart> {
        self.poll_work(cx);
        let mut state = self.session.lock();
        if json && let Some(only) = state.take_only(self.stream) {
            return Poll::Ready(StreamStart::Only(only));
        }
        let Some(stream) = state.stream(self.stream) else {
            return Poll::Ready(StreamStart::Stream);
        };
        stream.watch(cx.waker());
        let undecided = self.session.shared.limits().http.undecided;
        if stream.has_news() || self.vigil.poll(&self.stop, undecided, cx).is_ready() {
            self.first = state.prime(self.stream);
            return Poll::Ready(StreamStart::Stream);
        }
        Poll::Pending
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) {
        if let Some(work) = &mut self.work
            && Pin::new(work).poll(cx).is_ready()
        {
            self.work = None;
        }
    }
}

impl Events for StreamBody {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            return Poll::Ready(Some(Outgoing::short(first)));
        }
        let mut found = self.session.read(self.stream, self.reader, cx.waker());
        // A connection polls again after each event, so the work waits until nothing is left to send.
        if matches!(found, StreamContent::Nothing) && self.work.is_some() {
            self.poll_work(cx);
            found = self.session.read(self.stream, self.reader, cx.waker());
        }
        match found {
            StreamContent::Events(events) => {
                self.vigil.reset();
                return Poll::Ready(Some(events));
            }
            StreamContent::LetGo => {
                self.ended = true;
                let end = come_back(self.session.shared.limits());
                return Poll::Ready(Some(Outgoing::short(end)));
            }
            StreamContent::End => return Poll::Ready(None),
            StreamContent::Nothing => {}
        }
        if let Some(stopping) = &mut self.stopping
            && stopping.as_mut().poll(cx).is_ready()
        {
            if self.stream != OWN {
                // The stream stays open until its call is saved.
                self.stopping = Some(Box::pin(std::future::ready(())));
                if self.session.is_followed(self.stream) {
                    self.ended = true;
                    let mut end = Vec::new();
                    sse::write_retry(&mut end, DRAIN_RETRY);
                    return Poll::Ready(Some(Outgoing::short(end)));
                }
            } else if !self.session.is_busy() || !self.session.paired {
                return Poll::Ready(None);
            }
            // The last response wakes this task again.
            self.stopping = Some(Box::pin(std::future::ready(())));
        }
        let quiet = self.session.shared.limits().http.keep_alive;
        self.vigil.poll(&self.stop, quiet, cx).map(|woken| {
            let mut alive = Vec::new();
            sse::write_comment(&mut alive, "");
            (woken == WaitEnd::Quiet).then_some(Outgoing::short(alive))
        })
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.session.detach(self.stream, self.reader);
        if let Some(sessions) = &self.ends {
            sessions.end(self.session.id());
        }
        if let Some(work) = self.work.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}
