//! Connections: who is let in, and how they end.

use std::{future::Future, io, pin::pin, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{connection::connection, service::Service, stop::Phase};

/// How long to wait before more connections are accepted, where the machine has no room for them.
const BREATH: Duration = Duration::from_millis(50);

/// How long connections may still take to end when everything on them was ended.
const GRACE: Duration = Duration::from_secs(1);

/// Serves until the signal comes, and what goes on then to its end.
pub(super) async fn serve(
    service: Service,
    path: String,
    listener: TcpListener,
    signal: impl Future<Output = ()>,
) {
    let door = Door {
        room: Arc::new(Semaphore::new(service.shared().limits().connections)),
        listener,
        path: path.into(),
        service,
    };
    let mut connections = JoinSet::new();
    let mut signal = pin!(signal);
    loop {
        tokio::select! {
            biased;
            () = &mut signal => break,
            Some(_) = connections.join_next() => {}
            accepted = door.accept() => door.let_in(accepted, Phase::Stopping, &mut connections).await,
        }
    }
    end(door, connections).await;
}

/// Lets what goes on come to its end, up to the limit.
async fn end(door: Door, mut connections: JoinSet<()>) {
    let service = door.service.clone();
    let (stop, sessions) = (service.stop(), service.sessions());
    stop.enter(Phase::Stopping);
    let mut late = JoinSet::new();
    let finishing = async {
        while !connections.is_empty() || sessions.are_busy() {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                Some(_) = late.join_next() => {}
                // Answers to what was asked come on connections of their own.
                accepted = door.accept() => door.let_in(accepted, Phase::Closing, &mut late).await,
                () = sleep(BREATH) => {}
            }
        }
        drop(door);
        stop.enter(Phase::Closing);
        while late.join_next().await.is_some() {}
    };
    if timeout(service.shared().limits().shutdown, finishing)
        .await
        .is_ok()
    {
        return;
    }
    tracing::warn!("calls still went on when the server stopped: they are answered with an error");
    sessions.stop();
    stop.enter(Phase::Over);
    let all = async {
        while connections.join_next().await.is_some() {}
        while late.join_next().await.is_some() {}
    };
    // Whoever does not read even that is cut off.
    let _ = timeout(GRACE, all).await;
}

/// Where connections come in.
struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    path: Arc<str>,
    service: Service,
}

impl Door {
    async fn accept(&self) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.room).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        let (stream, _) = self.listener.accept().await?;
        Ok((stream, place))
    }

    /// Serves a connection until the server has come that far.
    async fn let_in(
        &self,
        accepted: io::Result<(TcpStream, OwnedSemaphorePermit)>,
        until: Phase,
        connections: &mut JoinSet<()>,
    ) {
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                return sleep(BREATH).await;
            }
        };
        let service = self.service.clone();
        let path = Arc::clone(&self.path);
        connections.spawn(async move {
            if let Err(error) = connection(stream, service, path, until).await {
                tracing::debug!(%error, "a connection failed");
            }
            drop(place);
        });
    }
}
