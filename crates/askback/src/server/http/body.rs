//! Response bodies.

use std::{
    convert::Infallible,
    fmt,
    future::poll_fn,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use askback_core::{http::sse, jsonrpc::WrittenResponse};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::{
    flow::BoxFuture,
    server::{
        budget::{Charge, NoRoom},
        page_cache::Message,
    },
};

/// Requests and responses in transit count against the quota if they have more bytes than this.
pub(super) const WORTH_COUNTING: usize = 4 << 10;

/// Bytes being sent to a client. A large body holds its charge until it is written or the client is
/// gone.
pub(super) struct Outgoing(Bytes);

struct CountedBytes {
    bytes: Vec<u8>,
    _room: Charge,
}

/// A complete body in two pieces. The second may be empty, and is shared with other responses.
pub(super) struct WholeBody {
    next: Bytes,
    rest: Bytes,
}

/// A shared page with its charge, because the list may change while the page is sent.
struct CountedPage {
    page: Arc<WrittenResponse>,
    _room: Option<Charge>,
}

/// A response body: complete, or an event stream.
pub struct Body(Kind);

enum Kind {
    Whole(WholeBody),
    Events(Box<dyn Events>),
}

pub(super) trait Events: Send + 'static {
    /// Polls for all events that are ready; `None` at the end.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>>;
}

/// The writing end of a stream of events.
pub(super) struct EventWriter(Arc<Mutex<Option<Outgoing>>>);

/// The events that an async function writes. It is polled when the connection wants more.
struct WrittenEvents {
    writing: Option<BoxFuture<'static, ()>>,
    next: Arc<Mutex<Option<Outgoing>>>,
}

/// Makes a stream of the events that `write` sends, until it ends.
pub(super) fn written<F>(write: impl FnOnce(EventWriter) -> F) -> impl Events
where
    F: Future<Output = ()> + Send + 'static,
{
    let next = Arc::default();
    WrittenEvents {
        writing: Some(Box::pin(write(EventWriter(Arc::clone(&next))))),
        next,
    }
}

impl EventWriter {
    /// Sends events, and waits until the connection wants more.
    pub(super) async fn send(&self, events: Outgoing) {
        *lock(&self.0) = Some(events);
        poll_fn(|_| match *lock(&self.0) {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        })
        .await;
    }

    /// Sends something, so that nothing between takes the connection for dead.
    pub(super) async fn keep_alive(&self) {
        let mut alive = Vec::new();
        sse::write_comment(&mut alive, "");
        self.send(Outgoing::short(alive)).await;
    }
}

impl Events for WrittenEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        if let Some(writing) = &mut self.writing
            && writing.as_mut().poll(cx).is_ready()
        {
            self.writing = None;
        }
        match lock(&self.next).take() {
            None if self.writing.is_some() => Poll::Pending,
            events => Poll::Ready(events),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outgoing {
    /// Wraps a short body, such as an error or a keep-alive.
    pub(super) fn short(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    pub(super) fn new(
        bytes: Vec<u8>,
        take: impl FnOnce(usize) -> Result<Charge, NoRoom>,
    ) -> Result<Self, NoRoom> {
        let room = (bytes.len() > WORTH_COUNTING).then(|| take(bytes.capacity()));
        Ok(Self::with(bytes, room.transpose()?))
    }

    /// Wraps bytes, and moves their charge along.
    pub(super) fn moved(bytes: Vec<u8>, from: &mut Charge) -> Self {
        let room = (bytes.len() > WORTH_COUNTING).then(|| from.split_off(bytes.capacity()));
        Self::with(bytes, room)
    }

    /// The bytes are already charged if they are large.
    pub(super) fn with(bytes: Vec<u8>, room: Option<Charge>) -> Self {
        Self(match room {
            Some(_room) => Bytes::from_owner(CountedBytes { bytes, _room }),
            None => bytes.into(),
        })
    }
}

impl WholeBody {
    pub(super) fn new(
        message: Message,
        take: impl FnOnce(usize) -> Result<Charge, NoRoom>,
    ) -> Result<Self, NoRoom> {
        let (own, page) = message.into_pieces();
        let Some(page) = page else {
            return Outgoing::new(own, take).map(Self::from);
        };
        let bytes = page.rest().len();
        let room = (bytes > WORTH_COUNTING).then(|| take(bytes));
        let page = CountedPage {
            page,
            _room: room.transpose()?,
        };
        Ok(Self {
            next: own.into(),
            rest: Bytes::from_owner(page),
        })
    }

    fn take_piece(&mut self) -> Option<Bytes> {
        let piece = mem::replace(&mut self.next, mem::take(&mut self.rest));
        (!piece.is_empty()).then_some(piece)
    }

    fn len(&self) -> usize {
        self.next.len() + self.rest.len()
    }
}

impl From<Outgoing> for WholeBody {
    fn from(Outgoing(next): Outgoing) -> Self {
        let rest = Bytes::new();
        Self { next, rest }
    }
}

impl AsRef<[u8]> for CountedPage {
    fn as_ref(&self) -> &[u8] {
        self.page.rest()
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body {
    pub(super) fn whole(body: impl Into<WholeBody>) -> Self {
        Self(Kind::Whole(body.into()))
    }

    pub(super) fn events(events: impl Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }

    /// Ends an event stream after this time. Other bodies are unchanged.
    #[cfg(feature = "oauth-server")]
    pub(super) fn for_no_longer_than(self, time: std::time::Duration) -> Self {
        match self.0 {
            Kind::Events(events) => Self::events(Ending {
                events,
                end: Box::pin(tokio::time::sleep(time)),
            }),
            Kind::Whole(_) => self,
        }
    }
}

#[cfg(feature = "oauth-server")]
struct Ending {
    events: Box<dyn Events>,
    end: Pin<Box<tokio::time::Sleep>>,
}

#[cfg(feature = "oauth-server")]
impl Events for Ending {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => self.events.poll_events(cx),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Whole(body) => f.debug_tuple("Whole").field(&body.len()).finish(),
            Kind::Events(_) => f.write_str("Events"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Whole(body) => Poll::Ready(body.take_piece().map(|piece| Ok(Frame::data(piece)))),
            Kind::Events(events) => events
                .poll_events(cx)
                .map(|events| events.map(|events| Ok(Frame::data(events.0)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(body) => body.next.is_empty(),
            Kind::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
