//! Serves one client over a channel of messages.

mod link;
mod pace;

use std::{
    future::{Future, poll_fn},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
    vec,
};

use askback_core::{
    engine::server::Call,
    jsonrpc::{self, RequestId},
};
use tokio::time::{Instant, Sleep, sleep, timeout};
#[cfg(feature = "stdio")]
use tokio::{sync::oneshot, task::JoinSet};

use self::{
    link::{ChannelPeer, Link},
    pace::Pace,
};
#[cfg(feature = "bridge")]
use super::forward::{ForwardClient, SessionClient};
use super::{
    Shared,
    dispatch::{self, CallResponse},
};
use crate::{
    ctx::{CallPeer, Interest, Observer, ObserverGuard},
    error::Error,
    transport::{Channel, Receiver, Sender},
};

/// Responses are written after this many messages, if more messages are already waiting. The first
/// response is written at once, so that the client can continue.
const WRITTEN_TOGETHER: usize = 4;

/// Serves until the channel ends; work that is still running shortly after is dropped. If the
/// signal comes first, no new calls start, and running calls may continue up to the limit.
///
/// `received` are messages that were received before.
pub(super) async fn serve(
    shared: Arc<Shared>,
    channel: Channel,
    received: Vec<Vec<u8>>,
    signal: impl Future<Output = ()>,
) -> io::Result<()> {
    if !channel.is_in_memory() {
        shared.keys.serve_others();
    }
    let link = Arc::new(Link::new(&shared, channel.place, channel.principal));
    let observer: Weak<dyn Observer> = Arc::downgrade(&link) as _;
    #[cfg(feature = "bridge")]
    if let Some(forward) = &shared.forward {
        let client: Weak<dyn SessionClient> = Arc::downgrade(&link) as _;
        forward.connected(ForwardClient(client));
    }
    let observing = ObserverGuard::new(&shared.changes, observer, Interest::All);
    let mut worker = Worker {
        running: Running(Arc::clone(&link)),
        received: received.into_iter(),
        receiver: channel.receiver,
        sender: channel.sender,
        pace: Pace::new(),
        answer: dispatch::answer,
        calls: Vec::new(),
        messages: Vec::new(),
        stopping: None,
    };
    let mut signal = pin!(signal);
    poll_fn(|cx| worker.poll(signal.as_mut(), cx)).await;
    drop(observing);
    link.hang_up();
    worker.end_soon().await;
    link.finish();
    let end = worker.end();
    let closed = worker.close().await;
    shared.commits.wait_until(end).await;
    closed
}

/// Serves in its own task, which ends with this future. Worker threads of the runtime wake tasks
/// more cheaply than the thread that runs the program's `main`.
#[cfg(feature = "stdio")]
pub(super) async fn serve_apart(
    shared: Arc<Shared>,
    channel: Channel,
    signal: impl Future<Output = ()>,
) -> io::Result<()> {
    let (stop, stopped) = oneshot::channel();
    let mut serving = begin(shared, channel, stopped);
    let mut signal = pin!(signal);
    let served = tokio::select! {
        served = serving.join_next() => served,
        () = &mut signal => {
            // A server that has ended no longer listens.
            let _ = stop.send(());
            serving.join_next().await
        }
    };
    served.unwrap_or(Ok(Ok(())))?
}

/// Spawns the task of a connection. It is not an `async fn`, because an `async fn` would be
/// compiled, with the whole call path, in each program that awaits it.
#[cfg(feature = "stdio")]
fn begin(
    shared: Arc<Shared>,
    channel: Channel,
    stopped: oneshot::Receiver<()>,
) -> JoinSet<io::Result<()>> {
    let stopped = async {
        if stopped.await.is_err() {
            std::future::pending().await
        }
    };
    let mut serving = JoinSet::new();
    serving.spawn(serve(shared, channel, Vec::new(), stopped));
    serving
}

/// The task of a connection. It reads, polls calls until they have to wait, and writes.
struct Worker<F> {
    running: Running,
    /// Messages that were received before.
    received: vec::IntoIter<Vec<u8>>,
    receiver: Receiver,
    sender: Sender,
    pace: Pace,
    answer: fn(Arc<Shared>, Call, CallPeer) -> F,
    calls: Vec<Call>,
    messages: Vec<Vec<u8>>,
    stopping: Option<Pin<Box<Sleep>>>,
}

struct Running(Arc<Link>);

impl<F> Worker<F>
where
    F: Future<Output = CallResponse> + Send + 'static,
{
    fn poll(
        &mut self,
        mut signal: Pin<&mut impl Future<Output = ()>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        self.link().attend();
        self.pace.begin();
        let mut handled = 0;
        loop {
            // Nothing is read from a client that does not read its responses.
            let had_room = self.link().has_room();
            let read = if had_room {
                self.poll_message(cx)
            } else {
                Poll::Pending
            };
            match read {
                Poll::Ready(true) => handled += 1,
                Poll::Ready(false) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            let goes_on = read.is_ready() && !self.pace.is_over();
            if goes_on && handled % WRITTEN_TOGETHER != 1 {
                continue;
            }
            if let Poll::Ready(Err(_)) = self.poll_write(cx) {
                // Without a way to write there is no way to answer. The error appears again when
                // the sender is closed.
                return Poll::Ready(());
            }
            if goes_on || (!had_room && self.link().has_room()) {
                continue;
            }
            let was_busy = self.link().is_busy();
            if self.poll_stop(signal.as_mut(), cx).is_ready() {
                return Poll::Ready(());
            }
            if read.is_ready() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.link().rest(was_busy, cx.waker()) {
                return Poll::Pending;
            }
        }
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let received = self.received.next();
        let message = match &received {
            Some(received) => received.as_slice(),
            None => match ready!(self.receiver.poll_receive(cx)) {
                Some(message) => message,
                None => return Poll::Ready(false),
            },
        };
        let mut calls = std::mem::take(&mut self.calls);
        if self.running.0.handle(message, &mut calls) {
            self.pace.give_way();
        }
        if calls.is_empty() {
            self.pace.tick();
        }
        for call in calls.drain(..) {
            self.begin(call, cx);
        }
        self.calls = calls;
        Poll::Ready(true)
    }

    /// Starts a call. If it ends at once, its response is sent; if it has to wait, it becomes a
    /// task.
    fn begin(&mut self, call: Call, cx: &mut Context<'_>) {
        let link = self.link();
        if self.stopping.is_some() {
            return link.refuse(&call.id);
        }
        let id = call.id.clone();
        let peer = Arc::new(ChannelPeer {
            link: Arc::clone(link),
            call: Some(call.id.clone()),
        });
        let peer = CallPeer::of_connection(peer, &call.origin);
        let mut answering = Box::pin((self.answer)(Arc::clone(&link.shared), call, peer));
        let polled = if self.pace.polls_next() {
            poll_answer(answering.as_mut(), &id, cx)
        } else {
            Poll::Pending
        };
        match polled {
            Poll::Ready(message) => {
                drop(answering);
                self.link().respond(&id, message);
            }
            Poll::Pending => self.running.spawn(id, answering),
        }
        self.pace.tick();
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.running.0.take_outgoing(&mut self.messages);
        for message in self.messages.drain(..) {
            self.sender.add(message);
        }
        let written = self.sender.poll_flush(cx);
        self.link().wrote_all_but(self.sender.unwritten());
        written
    }

    /// Whether the server is stopping, and no calls are running or the deadline has passed.
    fn poll_stop(
        &mut self,
        signal: Pin<&mut impl Future<Output = ()>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let grace = match &mut self.stopping {
            Some(grace) => grace,
            None => {
                ready!(signal.poll(cx));
                let grace = sleep(self.running.0.shared.limits().server.shutdown);
                self.stopping.insert(Box::pin(grace))
            }
        };
        if self.running.0.is_busy() {
            ready!(grace.as_mut().poll(cx));
            self.link().stop();
        }
        Poll::Ready(())
    }

    /// Waits briefly for running calls: a client may close its side right after its last request.
    async fn end_soon(&mut self) {
        let limit = self.link().shared.limits().server.drain;
        let all = poll_fn(|cx| {
            self.link().attend();
            loop {
                // The client no longer reads.
                let _ = self.poll_write(cx);
                if !self.link().is_busy() {
                    return Poll::Ready(());
                }
                if self.link().rest(true, cx.waker()) {
                    return Poll::Pending;
                }
            }
        });
        // Calls that take longer are dropped with the connection: servers should exit promptly
        // (2026-07-28, basic/transports/stdio, Shutdown).
        let _ = timeout(limit, all).await;
    }

    fn end(&self) -> Instant {
        match &self.stopping {
            Some(grace) => grace.deadline(),
            None => Instant::now() + self.link().shared.limits().server.shutdown,
        }
    }

    async fn close(mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write(cx)).await?;
        self.sender.close().await
    }

    fn link(&self) -> &Arc<Link> {
        &self.running.0
    }
}

impl Running {
    fn spawn<F>(&self, id: RequestId, mut answering: Pin<Box<F>>)
    where
        F: Future<Output = CallResponse> + Send + 'static,
    {
        let (link, key) = (Arc::clone(&self.0), id.clone());
        // The task must be registered before it can end.
        let number = self.0.begin_task(key.clone());
        let task = tokio::spawn(async move {
            let answer = poll_fn(|cx| poll_answer(answering.as_mut(), &id, cx)).await;
            drop(answering);
            link.finish_task(&id, number, answer);
        });
        // Only this connection aborts tasks, and it is busy here.
        self.0.handle_task(&key, number, task.abort_handle());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (_, task) in self.0.take_tasks() {
            task.abort();
        }
    }
}

/// Polls for the response to a call. A panic outside the handler, too, costs only this call.
fn poll_answer<F>(answering: Pin<&mut F>, id: &RequestId, cx: &mut Context<'_>) -> Poll<Vec<u8>>
where
    F: Future<Output = CallResponse>,
{
    match catch_unwind(AssertUnwindSafe(|| answering.poll(cx))) {
        Ok(polled) => polled.map(|answered| answered.message.into_vec()),
        Err(panic) => {
            let error = Error::panicked(&*panic).into_object();
            Poll::Ready(jsonrpc::write_error(Some(id), &error))
        }
    }
}
