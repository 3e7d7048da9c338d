//! The signals that stop a program.

/// Waits until the program is told to stop: by Ctrl-C, or by SIGTERM, which systemd, Docker and
/// Kubernetes send. A second signal ends the program at once.
///
/// Use it with [`Endpoint::serve_until`](super::Endpoint::serve_until) or
/// [`Endpoint::service_until`](super::Endpoint::service_until), within a tokio runtime with I/O.
pub async fn stop_signal() {
    signal().await;
    tracing::info!("told to stop; calls may end first");
    tokio::spawn(async {
        signal().await;
        tracing::warn!("told to stop again: calls that go on are cut off");
        std::process::exit(1);
    });
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let [Ok(mut interrupt), Ok(mut terminate)] = kinds.map(signal) else {
        return never().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        never().await;
    }
}

async fn never() {
    tracing::error!("signals cannot be heard: they end the program at once");
    std::future::pending().await
}
