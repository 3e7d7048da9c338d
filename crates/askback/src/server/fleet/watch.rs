//! Renews this process's leases, and continues calls whose process no longer renews its own.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use super::{LEASE, go_on, keys, node::ANNOUNCE, tasks};
use crate::{
    server::{Shared, trace},
    store::StoreError,
};

const RENEW: Duration = Duration::from_secs(3);

/// The interval at which expired records are removed.
const PURGE: Duration = Duration::from_secs(60);

/// How many calls a process takes at once from a silent one. After a failure, it takes half as many.
const MOST_DUE: usize = 64;

/// The interval at which a process looks for calls to continue.
pub(crate) const POLL: Duration = Duration::from_millis(250);

/// Renews this process's leases, even while the journal is busy. A handler whose lease may have
/// expired is stopped, because another process may have its call.
pub(super) async fn keep_leases(shared: std::sync::Weak<Shared>) {
    let mut renewed = Instant::now();
    loop {
        tokio::time::sleep(POLL).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let Some(node) = &shared.fleet else { return };
        if renewed.elapsed() < RENEW {
            continue;
        }
        let leased: Vec<_> = node.leased.lock().iter().map(|call| call.taken).collect();
        let begun = Instant::now();
        if leased.is_empty() {
            renewed = begun;
            continue;
        }
        let until = node.lease(shared.clock().now()).until;
        // A renewal that takes longer is too late.
        let renewing = tokio::time::timeout(RENEW, node.journal.renew(&leased, until));
        let lost = renewing
            .await
            .unwrap_or_else(|_| Err(StoreError::Failed("leases were not renewed in time".into())));
        // On failure it is retried at once.
        match node.heard(lost) {
            Ok(lost) => {
                renewed = begun;
                node.stop_lost(&lost);
            }
            Err(_) if renewed.elapsed() >= LEASE => node.stop_lost(&leased),
            Err(_) => {}
        }
    }
}

/// Starts to renew leases, and continues the calls of silent processes, as long as the server
/// exists.
pub(super) async fn keep_watch(shared: std::sync::Weak<Shared>) {
    let mut purged = None;
    let mut described = None;
    let mut announced = None;
    let mut most = MOST_DUE;
    let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
    loop {
        tokio::time::sleep(POLL).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let Some(node) = &shared.fleet else { return };
        let now = shared.clock().now();
        if is_due(described, tasks::SAY) {
            described = Some(Instant::now());
            tasks::describe(&shared, node).await;
        }
        if is_due(purged, PURGE) {
            purged = Some(Instant::now());
            // On failure it is retried the next time.
            let _ = node.heard(node.journal.purge(now).await);
            let _ = keys::are_shared(&shared, node).await;
        }
        if node.is_stopping.load(Ordering::Relaxed) {
            continue;
        }
        if is_due(announced, ANNOUNCE) {
            announced = Some(Instant::now());
            node.announce(now).await;
            if trace::is_counted()
                && let Ok(status) = node.heard(node.journal.status(now).await)
            {
                trace::tell_status(&status);
            }
        }
        let due = node.heard(node.journal.due(node.lease(now), now, most).await);
        // A slow database may time out on so many calls, and then takes none of them.
        most = match due {
            Ok(_) => MOST_DUE.min(most * 2),
            Err(_) => (most / 2).max(1),
        };
        for taken in due.unwrap_or_default() {
            if !taken.was_interrupted {
                tracing::debug!("a call continues here: its timer has ended");
            }
            go_on(&shared, node, taken, None);
        }
    }
}
