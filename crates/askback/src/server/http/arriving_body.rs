//! Requests whose bodies still arrive.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::connections::ConnectionActivity;

/// The body of a request. With its end, the connection is at work.
pub(super) struct ArrivingBody {
    body: Incoming,
    standing: Arc<ConnectionActivity>,
}

impl ArrivingBody {
    pub(super) fn new(body: Incoming, standing: &Arc<ConnectionActivity>) -> Self {
        let standing = Arc::clone(standing);
        if body.is_end_stream() {
            standing.work();
        }
        Self { body, standing }
    }
}

impl http_body::Body for ArrivingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.standing.work();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
