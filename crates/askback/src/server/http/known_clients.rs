//! A cache of client descriptions.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use arc_swap::ArcSwap;
use askback_core::{
    engine::server::{ClientLocation, KnownClient, ReceivedMessage},
    jsonrpc::MalformedMessage,
};

use crate::server::Shared;

/// All installations of a program send the same description, so a few entries cover nearly all
/// clients.
const MOST: usize = 4;

/// The most recent client descriptions. They do not identify a client.
#[derive(Default)]
pub(super) struct KnownClients {
    known: ArcSwap<Vec<Arc<KnownClient>>>,
    unknown: AtomicU32,
}

impl KnownClients {
    pub(super) fn read(
        &self,
        body: &[u8],
        shared: &Shared,
    ) -> Result<ReceivedMessage, MalformedMessage> {
        let received = ReceivedMessage::parse_for(&shared.profile, body, &self.known.load())?;
        if let Some(meta) = received.unknown_client() {
            let before = self.unknown.fetch_add(1, Ordering::Relaxed);
            if before.is_multiple_of(KnownClient::RARELY) {
                let learned =
                    KnownClient::learn(body, meta, &shared.profile, ClientLocation::Elsewhere);
                self.keep(learned);
            }
        }
        Ok(received)
    }

    fn keep(&self, learned: Option<KnownClient>) {
        let Some(learned) = learned.map(Arc::new) else {
            return;
        };
        self.known.rcu(|known| {
            let newest = std::iter::once(&learned).chain(&**known);
            newest.take(MOST).cloned().collect::<Vec<_>>()
        });
    }
}
