//! What the processes of a test share, in memory.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex},
};

use askback::{
    journal::{Bus, HeardHints, StoreFuture, Topic},
    store::SqliteStore,
};
use tokio::sync::Notify;

/// An empty journal.
pub(crate) fn journal() -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(":memory:").expect("a database in memory"))
}

/// How many hints are kept for slower readers.
const MAX_HINTS_KEPT: usize = 1024;

/// A bus that also passes on hints about calls.
#[derive(Default)]
pub(crate) struct MemoryBus {
    hints: Mutex<Hints>,
    told: Notify,
}

#[derive(Default)]
struct Hints {
    kept: VecDeque<(Topic, Vec<u8>)>,
    last: u64,
}

impl Hints {
    fn after(&self, cursor: u64) -> HeardHints {
        let first = self.last - self.kept.len() as u64;
        let heard = usize::try_from(cursor.saturating_sub(first)).unwrap_or(usize::MAX);
        HeardHints {
            hints: self.kept.iter().skip(heard).cloned().collect(),
            cursor: self.last,
            has_gap: cursor < first,
        }
    }
}

impl Bus for MemoryBus {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        let mut hints = self.hints.lock().unwrap();
        hints.last += 1;
        hints.kept.push_back((topic, hint.to_vec()));
        if hints.kept.len() > MAX_HINTS_KEPT {
            hints.kept.pop_front();
        }
        drop(hints);
        self.told.notify_waiters();
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        Box::pin(async move {
            loop {
                let mut told = pin!(self.told.notified());
                // From here on, no hint is missed.
                told.as_mut().enable();
                let heard = {
                    let hints = self.hints.lock().unwrap();
                    hints.after(after.unwrap_or(hints.last))
                };
                if after != Some(heard.cursor) {
                    return Ok(heard);
                }
                told.await;
            }
        })
    }
}
