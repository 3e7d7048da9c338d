//! The response body of a session stream.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use askback_core::http::sse;
use tokio::time::sleep;

use super::{
    body::{EventWriter, Events, Outgoing, written},
    session::{Session, Work},
    sessions::Sessions,
    stop::{Phase, QuietTimer, Stop},
    stream::{OWN, StreamContent, come_back},
};

/// The delay after which a client reconnects to another process when this one stops.
const DRAIN_RETRY: Duration = Duration::from_millis(100);

/// A reader of a session's stream.
///
/// It polls the call itself, so that short calls need no task. If the client disconnects, the call
/// continues in a task, because only a notification cancels it (2025-11-25, basic/transports,
/// Sending Messages to the Server).
pub(super) struct StreamReader {
    session: Arc<Session>,
    stream: u32,
    reader: u32,
    work: Option<Work>,
    /// Set for the two endpoints of 2024-11-05, where the session ends with its stream.
    ends: Option<Arc<Sessions>>,
    stop: Stop,
}

pub(super) enum StreamStart {
    Only(Outgoing),
    /// The first events.
    Stream(Vec<u8>),
}

impl StreamReader {
    pub(super) fn new(session: Arc<Session>, stream: u32, reader: u32, stop: &Stop) -> Self {
        Self {
            session,
            stream,
            reader,
            work: None,
            ends: None,
            stop: stop.clone(),
        }
    }

    pub(super) fn working(mut self, work: Option<Work>) -> Self {
        self.work = work;
        self
    }

    pub(super) fn ending(mut self, sessions: Arc<Sessions>) -> Self {
        self.ends = Some(sessions);
        self
    }

    /// Waits briefly for the first result, because most handlers are quick and send no
    /// notification.
    pub(super) async fn first(&mut self, json: bool) -> StreamStart {
        let mut vigil = QuietTimer::default();
        poll_fn(|cx| {
            self.poll_work(cx);
            let mut state = self.session.lock();
            if json && let Some(only) = state.take_only(self.stream) {
                return Poll::Ready(StreamStart::Only(only));
            }
            let Some(stream) = state.stream(self.stream) else {
                return Poll::Ready(StreamStart::Stream(Vec::new()));
            };
            stream.watch(cx.waker());
            let undecided = self.session.shared.limits().http.undecided;
            if stream.has_news() || vigil.poll(&self.stop, undecided, cx).is_ready() {
                return Poll::Ready(StreamStart::Stream(state.prime(self.stream)));
            }
            Poll::Pending
        })
        .await
    }

    pub(super) fn events(self, first: Vec<u8>) -> impl Events {
        let mut reader = self;
        written(move |to| async move {
            if !first.is_empty() {
                to.send(Outgoing::short(first)).await;
            }
            reader.read(&to).await;
        })
    }

    async fn read(&mut self, to: &EventWriter) {
        let shared = Arc::clone(&self.session.shared);
        let stop = self.stop.clone();
        loop {
            let is_leaving = stop.has_reached(Phase::Leaving);
            let content = tokio::select! {
                biased;
                content = poll_fn(|cx| self.poll_content(is_leaving, cx)) => content,
                () = stop.reached(Phase::Leaving), if !is_leaving => continue,
                () = stop.reached(Phase::Over) => return,
                () = sleep(shared.limits().http.keep_alive) => {
                    to.keep_alive().await;
                    continue;
                }
            };
            match content {
                StreamContent::Events(events) => to.send(events).await,
                StreamContent::LetGo => {
                    let end = come_back(shared.limits());
                    return to.send(Outgoing::short(end)).await;
                }
                // The process leaves its fleet: another one continues the stream.
                StreamContent::Nothing => {
                    let mut end = Vec::new();
                    sse::write_retry(&mut end, DRAIN_RETRY);
                    return to.send(Outgoing::short(end)).await;
                }
                StreamContent::End => return,
            }
        }
    }

    fn poll_content(&mut self, is_leaving: bool, cx: &mut Context<'_>) -> Poll<StreamContent> {
        let mut found = self.session.read(self.stream, self.reader, cx.waker());
        // A connection polls again after each event, so the work waits until nothing is left to send.
        if matches!(found, StreamContent::Nothing) && self.work.is_some() {
            self.poll_work(cx);
            found = self.session.read(self.stream, self.reader, cx.waker());
        }
        let is_own = self.stream == OWN;
        match found {
            // The last response wakes this task again.
            StreamContent::Nothing if is_leaving && is_own => {
                let may_end = !self.session.is_busy() || !self.session.paired;
                match may_end {
                    true => Poll::Ready(StreamContent::End),
                    false => Poll::Pending,
                }
            }
            // The stream stays open until its call is saved.
            StreamContent::Nothing if is_leaving && self.session.is_followed(self.stream) => {
                Poll::Ready(StreamContent::Nothing)
            }
            StreamContent::Nothing => Poll::Pending,
            found => Poll::Ready(found),
        }
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) {
        if let Some(work) = &mut self.work
            && Pin::new(work).poll(cx).is_ready()
        {
            self.work = None;
        }
    }
}

impl Drop for StreamReader {
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
