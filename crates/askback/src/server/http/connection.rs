//! One connection, with its time and memory limits.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use askback_core::limits::Limits;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::CONNECTION};
use http_body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take},
    net::TcpStream,
    time::{Instant, Sleep, sleep, sleep_until},
};

use super::{
    body::WORTH_COUNTING,
    connections::{ConnectionActivity, ConnectionGuard, RequestGuard},
    responder::{Answer, Responder},
    side_services::{ConnectionEnds, RequestBody},
    stop::Phase,
};
use crate::server::budget::Charge;

/// The smallest buffer size that hyper accepts.
const LEAST_HEADER_BYTES: usize = 8 << 10;

/// hyper's default limit for headers. With any other number, each request costs an allocation.
const USUAL_HEADERS: usize = 100;

/// How many bytes are read at once: less than hyper's first buffer, so that hyper never grows it.
const MOST_AT_ONCE: u64 = (8 << 10) - 1;

/// How long a process that leaves its fleet waits for a request on an open connection.
const LINGER: Duration = Duration::from_millis(250);

pub(super) async fn connection(
    (io, ends): (ClientSocket, ConnectionEnds),
    responder: Responder,
    present: &ConnectionGuard,
    until: Phase,
) -> hyper::Result<()> {
    let (limits, stop) = (responder.limits(), responder.stop().clone());
    // Without this, a response may wait for the acknowledgement of the previous one.
    if let Err(error) = io.inner.get_ref().set_nodelay(true) {
        tracing::debug!(%error, "a socket option could not be set");
    }
    let respond = hyper::service::service_fn(|request| {
        let in_request = present.0.request();
        let request = request.map(|body| RequestBody::new(body, &present.0));
        respond(&responder, ends, request, in_request)
    });
    let mut http = http1::Builder::new();
    // `ClientSocket` has its own timeout.
    http.header_read_timeout(None)
        // One read may exceed this, up to twice as much.
        .max_buf_size(limits.http.header_bytes.max(LEAST_HEADER_BYTES))
        .max_header_size(limits.http.header_bytes)
        // A connection that was accepted while stopping serves one request.
        .keep_alive(until == Phase::Leaving);
    if limits.http.headers != USUAL_HEADERS {
        http.max_headers(limits.http.headers);
    }
    let mut connection = pin!(http.serve_connection(TokioIo::new(io), respond));
    let mut end = pin!(async {
        tokio::select! {
            () = stop.reached(until) => End::Stopping,
            () = present.0.gives_way() => End::GivesWay,
        }
    });
    // Once polled, `end` wakes this task, so it need not be polled again before.
    let mut is_awaited = false;
    let may_end = || stop.has_reached(until) || present.0.is_asked();
    let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
        Poll::Ready(ended) => Poll::Ready(Err(ended)),
        Poll::Pending if is_awaited && !may_end() => Poll::Pending,
        Poll::Pending => {
            is_awaited = true;
            end.as_mut().poll(cx).map(Ok)
        }
    });
    match ended.await {
        Err(ended) => ended,
        Ok(End::GivesWay) => Ok(()),
        Ok(End::Stopping) => {
            if responder.is_of_fleet() {
                // A request that is being received is served, because no other process has it.
                let mut linger = pin!(sleep(LINGER));
                let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
                    Poll::Ready(ended) => Poll::Ready(Some(ended)),
                    Poll::Pending if !present.0.awaits_head() => Poll::Ready(None),
                    Poll::Pending => linger.as_mut().poll(cx).map(|()| None),
                });
                if let Some(ended) = ended.await {
                    return ended;
                }
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

enum End {
    Stopping,
    GivesWay,
}

async fn respond(
    responder: &Responder,
    ends: ConnectionEnds,
    request: Request<RequestBody>,
    in_request: RequestGuard,
) -> Result<Response<ResponseBody>, Infallible> {
    let response = responder.respond(request, ends).await;
    let mut response = watched(response, in_request);
    if responder.stop().has_reached(Phase::Leaving) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    Ok(response)
}

fn watched(response: Response<Answer>, in_request: RequestGuard) -> Response<ResponseBody> {
    response.map(|body| ResponseBody {
        body,
        _in_request: in_request,
    })
}

struct ResponseBody {
    body: Answer,
    _in_request: RequestGuard,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.body {
            Answer::Ours(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(|never| match never {})))
            }
            Answer::Beside(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Answer::Ours(body) => body.is_end_stream(),
            Answer::Beside(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Answer::Ours(body) => body.size_hint(),
            Answer::Beside(body) => body.size_hint(),
        }
    }
}

/// A socket that fails if its client takes too long to send a request head or to read, and that
/// records what the connection is doing.
pub(super) struct ClientSocket {
    /// Limits how much is read at once to what hyper needs for most requests, because hyper keeps
    /// its largest buffer as long as the connection exists.
    inner: Take<TcpStream>,
    limit: Duration,
    /// Set while the client reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    standing: Arc<ConnectionActivity>,
    head: Head,
}

struct Head {
    bytes: usize,
    room: Charge,
    limit: Duration,
    /// Fires at or before the deadline. It is reset only after it has fired, because most heads
    /// arrive long before.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Head {
    fn grow(&mut self, standing: &ConnectionActivity, bytes: usize) {
        if !standing.awaits_head() {
            return self.end();
        }
        self.bytes += bytes;
        if self.bytes > WORTH_COUNTING {
            standing.hold_head(self.room.cover(self.bytes).is_ok());
        }
    }

    fn is_late(&mut self, standing: &ConnectionActivity, cx: &mut Context<'_>) -> bool {
        if !standing.awaits_head() {
            return false;
        }
        let set = self.alarm.as_ref();
        if set.is_some_and(|alarm| !alarm.is_elapsed()) {
            return false;
        }
        let end = standing.waits_since() + self.limit;
        if Instant::now() >= end {
            return true;
        }
        let alarm = match &mut self.alarm {
            Some(alarm) => {
                alarm.as_mut().reset(end);
                alarm
            }
            none => none.insert(Box::pin(sleep_until(end))),
        };
        alarm.as_mut().poll(cx).is_ready()
    }

    fn end(&mut self) {
        if self.bytes > WORTH_COUNTING {
            self.room.shrink_to(0);
        }
        self.bytes = 0;
    }
}

impl ClientSocket {
    pub(super) fn new(
        stream: TcpStream,
        limits: &Limits,
        present: &ConnectionGuard,
        heads: Charge,
    ) -> Self {
        Self {
            inner: stream.take(0),
            limit: limits.http.write_stall,
            stalled: None,
            standing: Arc::clone(&present.0),
            head: Head {
                bytes: 0,
                room: heads,
                limit: limits.http.header_read,
                alarm: None,
            },
        }
    }

    /// Checks the result of a write: fails if the client has read nothing for too long.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if !self.standing.awaits_head() {
            self.head.end();
        }
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| {
            let why = "the client left what it was sent unread";
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        })
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        this.inner.set_limit(MOST_AT_ONCE);
        let read = Pin::new(&mut this.inner).poll_read(cx, buf);
        if read.is_pending() && this.head.is_late(&this.standing, cx) {
            return Poll::Ready(Err(late()));
        }
        ready!(read)?;
        this.head.grow(&this.standing, buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.inner.get_mut()).poll_write(cx, buf);
        self.judge(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.inner.get_mut()).poll_write_vectored(cx, bufs);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.get_ref().is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(self.inner.get_mut()).poll_flush(cx);
        if flushed.is_ready() {
            self.standing.is_written();
            // From now on the next request is awaited, whether or not another read follows.
            let this = &mut *self;
            if this.head.is_late(&this.standing, cx) {
                return Poll::Ready(Err(late()));
            }
        }
        self.judge(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(self.inner.get_mut()).poll_shutdown(cx);
        self.judge(shut, cx)
    }
}

fn late() -> io::Error {
    let why = "the head of a request did not come in time";
    io::Error::new(io::ErrorKind::TimedOut, why)
}
