//! One connection: how long it may take, and what it may hold.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
    server::conn::http1,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{
    body::Body,
    response,
    service::Service,
    stop::{Phase, Stop},
};

/// The least that hyper takes as the size of its buffer.
const LEAST_HEADER_BYTES: usize = 8 << 10;

/// How many headers hyper takes where nothing is said. Any other number costs each request room
/// that is laid out anew.
const USUAL_HEADERS: usize = 100;

pub(super) async fn connection(
    stream: TcpStream,
    service: Service,
    path: Arc<str>,
    until: Phase,
) -> hyper::Result<()> {
    let shared = Arc::clone(service.shared());
    let limits = shared.limits();
    let stop: Stop = service.stop().clone();
    // Without it, an answer may wait for an acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a socket option could not be set");
    }
    let io = Patient {
        inner: TokioIo::new(stream),
        limit: limits.write_stall,
        stalled: None,
    };
    let respond = hyper::service::service_fn(|request| respond(&service, &path, request));
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
    let mut connection = pin!(http.serve_connection(io, respond));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stop.reached(until) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

async fn respond(
    service: &Service,
    path: &str,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let asked = request.uri().path();
    if asked != path && !service.protected().serves(asked) {
        let why = format!("there is nothing here; the endpoint is {path}");
        return Ok(response::refusal(StatusCode::NOT_FOUND, why));
    }
    Ok(service.respond(request).await)
}

/// A connection that fails when its client leaves what it is sent unread for too long.
struct Patient {
    inner: TokioIo<TcpStream>,
    limit: Duration,
    /// Since the client has not taken anything.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
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

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl Write for Patient {
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
