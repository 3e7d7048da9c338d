//! One connection: how long it may take, and what it may hold.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{
    body::{Body, WORTH_COUNTING},
    response,
    service::Service,
    stop::{Phase, Stop},
    waiting::{AtWork, Present, Standing},
};
use crate::server::budget::Charge;

/// The least that hyper takes as the size of its buffer.
const LEAST_HEADER_BYTES: usize = 8 << 10;

/// How many headers hyper takes where nothing is said. Any other number costs each request room
/// that is laid out anew.
const USUAL_HEADERS: usize = 100;

pub(super) async fn connection(
    io: Patient,
    service: Service,
    path: Arc<str>,
    present: &Present,
    until: Phase,
) -> hyper::Result<()> {
    let shared = Arc::clone(service.shared());
    let limits = shared.limits();
    let stop: Stop = service.stop().clone();
    // Without it, an answer may wait for an acknowledgement of the one before.
    if let Err(error) = io.inner.set_nodelay(true) {
        tracing::debug!(%error, "a socket option could not be set");
    }
    let respond = hyper::service::service_fn(|request| {
        let at_work = present.0.work();
        respond(&service, &path, request, at_work)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        // What is read at once may hold more than that, up to twice as much.
        .max_buf_size(limits.header_bytes.max(LEAST_HEADER_BYTES))
        .max_header_size(limits.header_bytes)
        // One that came late has one thing to say.
        .keep_alive(until == Phase::Stopping);
    if limits.headers != USUAL_HEADERS {
        http.max_headers(limits.headers);
    }
    let mut connection = pin!(http.serve_connection(TokioIo::new(io), respond));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stop.reached(until) => {}
        () = present.0.gives_way() => return Ok(()),
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

async fn respond(
    service: &Service,
    path: &str,
    request: Request<Incoming>,
    at_work: AtWork,
) -> Result<Response<Watched>, Infallible> {
    let asked = request.uri().path();
    let response = if asked == path || service.protected().serves(asked) {
        service.respond(request).await
    } else {
        let why = format!("there is nothing here; the endpoint is {path}");
        response::refusal(StatusCode::NOT_FOUND, why)
    };
    Ok(response.map(|body| Watched {
        body,
        _at_work: at_work,
    }))
}

/// A response whose connection is at work until it has ended.
struct Watched {
    body: Body,
    _at_work: AtWork,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that fails when its client leaves what it is sent unread for too long, or when there is
/// no room for the heads of more requests.
pub(super) struct Patient {
    inner: TcpStream,
    limit: Duration,
    /// Since the client has not taken anything.
    stalled: Option<Pin<Box<Sleep>>>,
    standing: Arc<Standing>,
    head: Head,
}

/// What has come of the head of a request.
struct Head {
    /// Since when the connection waits for this request.
    since: u64,
    bytes: usize,
    room: Charge,
}

impl Head {
    fn grow(&mut self, standing: &Standing, bytes: usize) -> io::Result<()> {
        let since = standing.waits_since();
        if since != self.since {
            self.since = since;
            self.bytes = 0;
            self.room.shrink_to(0);
        }
        // What comes while a request is answered is its body.
        if standing.is_at_work() {
            return Ok(());
        }
        self.bytes += bytes;
        if self.bytes <= WORTH_COUNTING {
            return Ok(());
        }
        self.room.cover(self.bytes).map_err(io::Error::other)
    }
}

impl Patient {
    pub(super) fn new(
        stream: TcpStream,
        service: &Service,
        present: &Present,
        heads: Charge,
    ) -> Self {
        Self {
            inner: stream,
            limit: service.shared().limits().write_stall,
            stalled: None,
            standing: Arc::clone(&present.0),
            head: Head {
                since: present.0.waits_since(),
                bytes: 0,
                room: heads,
            },
        }
    }

    /// What came of an attempt to write, unless the client has taken nothing for too long.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
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

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let this = &mut *self;
        let read = buf.filled().len() - before;
        Poll::Ready(this.head.grow(&this.standing, read))
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.judge(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.judge(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.judge(shut, cx)
    }
}
