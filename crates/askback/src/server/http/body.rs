//! Bodies of responses.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// The body of a response: whole, or a stream of events.
pub struct Body(Kind);

enum Kind {
    Whole(Bytes),
    Events(Box<dyn Events>),
}

/// A stream of events, as it is written.
pub(super) trait Events: Send + 'static {
    /// The next events, as many as there are; none at the end.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>>;
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(bytes.into()))
    }

    pub(super) fn events(events: impl Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }

    /// The same, but a stream ends after that time.
    #[cfg(feature = "authorization-server")]
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

/// Events until a time.
#[cfg(feature = "authorization-server")]
struct Ending {
    events: Box<dyn Events>,
    end: Pin<Box<tokio::time::Sleep>>,
}

#[cfg(feature = "authorization-server")]
impl Events for Ending {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => self.events.poll_events(cx),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Whole(bytes) => f.debug_tuple("Whole").field(&bytes.len()).finish(),
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
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Events(events) => events
                .poll_events(cx)
                .map(|events| events.map(|events| Ok(Frame::data(events.into())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
