//! The bytes in a table, as this process has last read them.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use askback::store::{
    Owner,
    share::{self, Eviction, StoredBytes},
};

use crate::{
    failure::Failure,
    schema::{Statements, blob, execute, held, held_by},
};

/// How long a process relies on what it has read. Adding up the sizes takes time in proportion to the rows.
const MAX_AGE: Duration = Duration::from_secs(1);

pub(crate) struct TableBytes {
    table: &'static str,
    last: Mutex<Option<Reading>>,
}

struct Reading {
    /// What was read, and what this process has added since then.
    bytes: usize,
    read_at: Instant,
}

impl TableBytes {
    pub(crate) fn new(table: &'static str) -> Self {
        let last = Mutex::default();
        Self { table, last }
    }

    fn last(&self) -> MutexGuard<'_, Option<Reading>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes in the table, if they are known and leave room for so many more.
    pub(crate) fn known(&self, size: usize, max_bytes: usize) -> Option<usize> {
        let bytes = {
            let last = self.last();
            let recent = last.as_ref().filter(|it| it.read_at.elapsed() < MAX_AGE)?;
            recent.bytes
        };
        has_room(bytes, size, max_bytes).then_some(bytes)
    }

    /// Reads the bytes in the table. Returns `None` if they leave no room for so many more.
    pub(crate) async fn read(
        &self,
        client: &impl Statements,
        size: usize,
        max_bytes: usize,
    ) -> Result<Option<usize>, Failure> {
        let bytes = self.held(client, None).await?.in_all;
        Ok(has_room(bytes, size, max_bytes).then_some(bytes))
    }

    /// Reads the bytes in the table, in all and of an owner.
    async fn held(
        &self,
        client: &impl Statements,
        owner: Option<Owner>,
    ) -> Result<StoredBytes, Failure> {
        let read_at = Instant::now();
        let stored = held(client, self.table, owner).await?;
        let bytes = stored.in_all;
        *self.last() = Some(Reading { bytes, read_at });
        Ok(stored)
    }

    /// Removes rows until their owner and the table have room for one more of this size. Each row of the table has an id, an
    /// owner, a size and the time at which it expires.
    pub(crate) async fn make_room(
        &self,
        client: &impl Statements,
        owner: Option<Owner>,
        size: usize,
        max_bytes: usize,
    ) -> Result<(), Failure> {
        let table = self.table;
        loop {
            let room = match self.known(size, max_bytes) {
                None => self.held(client, owner).await?,
                Some(in_all) => StoredBytes {
                    in_all,
                    by_owner: held_by(client, table, owner).await?,
                },
            };
            let gone = match share::admit_state(room, size, max_bytes)? {
                Eviction::None => break,
                Eviction::OfOwner => {
                    let delete = format!(
                        "DELETE FROM {table} WHERE id =
                             (SELECT id FROM {table} WHERE owner = $1 ORDER BY expires LIMIT 1)"
                    );
                    execute(client, &delete, &[&blob(owner.as_ref())]).await?
                }
                Eviction::OfLargest => {
                    let delete = format!(
                        "DELETE FROM {table} WHERE id =
                             (SELECT id FROM {table} WHERE owner =
                                 (SELECT owner FROM {table} GROUP BY owner ORDER BY sum(size) DESC LIMIT 1)
                              ORDER BY expires LIMIT 1)"
                    );
                    execute(client, &delete, &[]).await?
                }
            };
            if gone == 0 {
                break;
            }
        }
        self.add(size);
        Ok(())
    }

    pub(crate) fn add(&self, size: usize) {
        if let Some(last) = &mut *self.last() {
            last.bytes = last.bytes.saturating_add(size);
        }
    }
}

fn has_room(in_all: usize, size: usize, max_bytes: usize) -> bool {
    let held = StoredBytes {
        in_all,
        by_owner: None,
    };
    share::admit_claim(held, size, max_bytes).is_ok()
}
