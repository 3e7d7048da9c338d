//! Serves one client over a channel of messages.

mod link;

use std::{
    future::{Future, pending},
    io,
    pin::{Pin, pin},
    sync::{Arc, Weak},
};

use askback_core::engine::server::Call;
use tokio::time::{Sleep, sleep, timeout};

use self::link::{ChannelPeer, Link, Task};
use super::{Shared, dispatch};
use crate::{
    ctx::{Observer, Observing},
    transport::{Channel, Sender},
};

/// Of how many bytes at a time it is waited that they are written, before more of the client is
/// read. Of less, as many as the channel holds may be under way: to wait for each would cost more
/// than the calls.
const WORTH_WAITING: usize = 64 << 10;

/// Serves until the channel ends; what is still running a little later is dropped. When the signal comes
/// before, nothing new is begun, and what goes on may end, up to the limit.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut channel: Channel,
    signal: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut signal = pin!(signal);
    let mut stopping: Option<Pin<Box<Sleep>>> = None;
    let principal = channel.take_principal();
    let link = Arc::new(Link::new(&shared, channel.place(), principal));
    let (mut receiver, sender) = channel.split();
    let observer: Weak<dyn Observer> = Arc::downgrade(&link) as _;
    let observing = Observing::new(&shared.changes, observer);
    let mut writing = tokio::spawn(write(Arc::clone(&link), sender));
    let mut written = None;
    let running = Running(Arc::clone(&link));
    let ended = loop {
        for call in link.take_calls() {
            match stopping {
                Some(_) => link.refuse(&call.id),
                None => running.start(call),
            }
        }
        if stopping.is_some() && !link.is_busy() {
            break Ok(());
        }
        tokio::select! {
            biased;
            message = receiver.receive(), if link.has_room() => match message {
                Ok(Some(message)) => link.handle(&message),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
            () = link.drained.notified(), if !link.has_room() => {}
            // Whoever cannot be written to cannot be answered either.
            done = &mut writing => {
                written = Some(done);
                break Ok(());
            }
            () = &mut signal, if stopping.is_none() => {
                stopping = Some(Box::pin(sleep(shared.limits().server.shutdown)));
            }
            () = link.idle.notified(), if stopping.is_some() => {}
            () = over(&mut stopping), if stopping.is_some() => {
                link.stop();
                break Ok(());
            }
        }
    };
    drop(observing);
    link.hang_up();
    running.end_soon().await;
    link.finish();
    let written = match written {
        Some(done) => done,
        None => writing.await,
    };
    ended.and(written.unwrap_or_else(|error| Err(io::Error::other(error))))
}

/// Waits until the calls of a server that stops have had their time.
async fn over(stopping: &mut Option<Pin<Box<Sleep>>>) {
    match stopping {
        Some(grace) => grace.await,
        None => pending().await,
    }
}

/// Writes what the engine wants sent, all that has gathered in one go.
async fn write(link: Arc<Link>, mut sender: Sender) -> io::Result<()> {
    loop {
        let (messages, finished) = {
            let mut state = link.lock();
            (std::mem::take(&mut state.outgoing), state.finished)
        };
        if messages.is_empty() {
            if finished {
                return sender.close().await;
            }
            link.queued.notified().await;
            continue;
        }
        let bytes: usize = messages.iter().map(Vec::len).sum();
        for message in messages {
            sender.send(message).await?;
        }
        if bytes > WORTH_WAITING {
            sender.flush().await?;
        }
        link.wrote(bytes);
    }
}

/// Answers calls; whatever is still in progress when it is dropped goes with it.
struct Running(Arc<Link>);

impl Running {
    fn start(&self, call: Call) {
        let link = Arc::clone(&self.0);
        let peer = Arc::new(ChannelPeer {
            link: Arc::clone(&link),
            call: call.id.clone(),
        });
        let (id, key) = (call.id.clone(), call.id.clone());
        let answering = dispatch::answer(Arc::clone(&link.shared), call, peer);
        // It cannot end before it is known.
        let mut state = self.0.lock();
        state.last_task += 1;
        let number = state.last_task;
        let task = tokio::spawn(async move {
            let answered = answering.await;
            link.respond(&id, number, answered.message);
        });
        let handle = task.abort_handle();
        state.running.insert(key, Task { number, handle });
    }

    /// Lets what runs end, for a moment: a client may close its side with the last request.
    async fn end_soon(&self) {
        let all = async {
            while self.0.is_busy() {
                self.0.idle.notified().await;
            }
        };
        // What takes longer is dropped with its connection: servers should exit promptly then
        // (2026-07-28, basic/transports/stdio, Shutdown).
        let _ = timeout(self.0.shared.limits().server.drain, all).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (_, task) in self.0.lock().running.drain() {
            task.handle.abort();
        }
    }
}
