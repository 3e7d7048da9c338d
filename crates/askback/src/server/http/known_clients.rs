//! The clients whose description a server has read.

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

/// How many descriptions are kept. Installations of one program describe themselves alike, so that a
/// few are those of nearly all clients.
const MOST: usize = 4;

/// The clients that described themselves of late. Nothing is known of who they are.
#[derive(Default)]
pub(super) struct KnownClients {
    known: ArcSwap<Vec<Arc<KnownClient>>>,
    /// How many calls said something that was not known.
    unknown: AtomicU32,
}

impl KnownClients {
    /// Reads a message, and what it says of its client only where that is not known.
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

    /// Keeps another in the place of the oldest.
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
