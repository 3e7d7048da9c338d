//! Accepts and ends connections.

use std::{
    future::{Future, pending},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Weak,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    connection::{ClientSocket, connection},
    connections::{BREATH, ConnectionPlaces},
    responder::Responder,
    service::Service,
    sessions::Sessions,
    side_services::ConnectionEnds,
    stop::{Phase, Stop},
};
use crate::{ctx::RunningCommits, server::budget::Budget};

/// How long connections may take to close after everything on them has ended.
const GRACE: Duration = Duration::from_secs(1);

pub(super) async fn serve(
    service: Service,
    responder: Responder,
    listener: TcpListener,
    signal: impl Future<Output = ()>,
) {
    let mut door = Door::new(listener, responder);
    let mut connections = JoinSet::new();
    door.stand_open(signal, &mut connections).await;
    end(&service, door, connections).await;
}

/// Serves pages until the signal comes. Responses that are not written soon after that are cut off.
pub(super) async fn serve_pages(
    listener: TcpListener,
    responder: Responder,
    signal: impl Future<Output = ()>,
) {
    let stop = responder.stop().clone();
    let mut door = Door::new(listener, responder);
    let mut connections = JoinSet::new();
    door.stand_open(signal, &mut connections).await;
    drop(door);
    stop.enter(Phase::Over);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(GRACE, all).await;
}

async fn end(service: &Service, mut door: Door, mut connections: JoinSet<()>) {
    let (stop, sessions) = (service.stop(), service.sessions());
    let is_of_fleet = service.shared().fleet.is_some();
    stop.enter(match is_of_fleet {
        true => Phase::Leaving,
        false => Phase::Stopping,
    });
    sessions.begin_to_stop();
    let mut late = JoinSet::new();
    let finishing = async {
        if is_of_fleet {
            // Other processes take the answers to open questions and all other new requests.
            door.close(&mut connections).await;
        }
        let commits = &service.shared().commits;
        while !connections.is_empty() || service.is_busy() || commits.are_running() {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                Some(_) = late.join_next() => {}
                // Answers to open questions come on new connections.
                accepted = door.accept() => door.let_in(accepted, Phase::Closing, &mut late).await,
                () = sleep(BREATH) => {}
            }
        }
        drop(door);
        stop.enter(Phase::Closing);
        while late.join_next().await.is_some() {}
    };
    if timeout(service.shared().limits().server.shutdown, finishing)
        .await
        .is_ok()
    {
        return;
    }
    tracing::warn!("calls still went on when the server stopped: they are answered with an error");
    sessions.stop().await;
    stop.enter(Phase::Over);
    let all = async {
        while connections.join_next().await.is_some() {}
        while late.join_next().await.is_some() {}
    };
    // Clients that still do not read are cut off.
    let _ = timeout(GRACE, all).await;
}

/// The sessions may be gone already.
pub(super) async fn stop(
    stop: &Stop,
    sessions: &Weak<Sessions>,
    commits: &RunningCommits,
    grace: Duration,
) {
    stop.enter(Phase::Stopping);
    if let Some(sessions) = sessions.upgrade() {
        sessions.begin_to_stop();
    }
    let finishing = async {
        // The server of a connection waits for its calls.
        while commits.are_running()
            || sessions
                .upgrade()
                .is_some_and(|sessions| sessions.are_busy())
        {
            sleep(BREATH).await;
        }
        stop.enter(Phase::Closing);
        pending::<()>().await;
    };
    let _ = timeout(grace, finishing).await;
    if let Some(sessions) = sessions.upgrade() {
        sessions.stop().await;
    }
    stop.enter(Phase::Over);
}

struct Door {
    /// `None` once it is closed.
    listener: Option<TcpListener>,
    places: ConnectionPlaces,
    heads: Budget,
    responder: Responder,
    /// A connection that was accepted before there was a place for it.
    next: Option<(TcpStream, SocketAddr)>,
    is_full: bool,
}

struct Accepted {
    stream: TcpStream,
    ends: ConnectionEnds,
    place: OwnedSemaphorePermit,
}

impl Door {
    fn new(listener: TcpListener, responder: Responder) -> Self {
        Self {
            heads: Budget::of_heads(responder.limits()),
            places: ConnectionPlaces::new(responder.limits().http.connections),
            next: None,
            is_full: false,
            listener: Some(listener),
            responder,
        }
    }

    async fn stand_open(
        &mut self,
        signal: impl Future<Output = ()>,
        connections: &mut JoinSet<()>,
    ) {
        let mut signal = pin!(signal);
        loop {
            tokio::select! {
                biased;
                () = &mut signal => break,
                Some(_) = connections.join_next() => {}
                accepted = self.accept() => self.let_in(accepted, Phase::Leaving, connections).await,
            }
        }
    }

    /// Returns the next connection when there is a place for it. If the future is dropped, the next
    /// call continues with the same connection.
    async fn accept(&mut self) -> io::Result<Accepted> {
        if self.next.is_none() {
            let Some(listener) = &self.listener else {
                return pending().await;
            };
            self.next = Some(listener.accept().await?);
        }
        self.place_for_next().await
    }

    async fn place_for_next(&mut self) -> io::Result<Accepted> {
        let place = self.places.permit().await.map_err(io::Error::other)?;
        let come = self.next.take();
        let (stream, remote) = come.ok_or_else(|| io::Error::other("no connection has come"))?;
        // The client may have closed it already; what it has sent can still be read.
        let local = stream.local_addr()?;
        Ok(Accepted {
            stream,
            ends: ConnectionEnds { local, remote },
            place,
        })
    }

    /// Also accepts the connections in the backlog.
    async fn close(&mut self, connections: &mut JoinSet<()>) {
        // Otherwise connections that the runtime has not accepted yet would be reset.
        let Some(Ok(listener)) = self.listener.take().map(TcpListener::into_std) else {
            return;
        };
        loop {
            if self.next.is_none() {
                let Ok((stream, remote)) = listener.accept() else {
                    return;
                };
                let stream = stream
                    .set_nonblocking(true)
                    .and_then(|()| TcpStream::from_std(stream));
                self.next = stream.ok().map(|stream| (stream, remote));
            }
            let accepted = self.place_for_next().await;
            self.let_in(accepted, Phase::Leaving, connections).await;
        }
    }

    async fn let_in(
        &mut self,
        accepted: io::Result<Accepted>,
        until: Phase,
        connections: &mut JoinSet<()>,
    ) {
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually too many files are open on this machine.
                self.places.waiting().make_room();
                if !std::mem::replace(&mut self.is_full, true) {
                    tracing::warn!(%error, "a connection could not be accepted: others give way");
                }
                return sleep(BREATH).await;
            }
        };
        self.is_full = false;
        self.begin(accepted, until, connections);
    }

    /// Spawns the task of a connection. It is not an `async fn`, because an `async fn` would be
    /// compiled, with the whole request path, in each program that awaits it.
    fn begin(&self, accepted: Accepted, until: Phase, connections: &mut JoinSet<()>) {
        let Accepted {
            stream,
            ends,
            place,
        } = accepted;
        let responder = self.responder.clone();
        let present = self.places.waiting().enter();
        let heads = self.heads.open(None);
        connections.spawn(async move {
            let io = ClientSocket::new(stream, responder.limits(), &present, heads);
            if let Err(error) = connection((io, ends), responder, &present, until).await {
                tracing::debug!(%error, "a connection failed");
            }
            drop((present, place));
        });
    }
}
