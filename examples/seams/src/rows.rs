//! A store with rows in two tables, as in a database. Here they are in memory, and a lock replaces the transaction.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use askback::store::{
    Claim, ClaimRequest, FlowId, Millis, Owner, PutRequest, Store, StoreError, StoreFuture,
    lease_end,
    share::{Eviction, OVERHEAD, StoredBytes, admit_claim, admit_state},
};

/// A store of rows.
#[derive(Debug)]
pub struct Rows {
    tables: Mutex<Tables>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Tables {
    commits: BTreeMap<([u8; 16], String), Row<Commit>>,
    states: BTreeMap<[u8; 32], Row<Vec<u8>>>,
}

#[derive(Debug)]
struct Row<T> {
    owner: Option<Owner>,
    expires: Millis,
    size: usize,
    value: T,
}

#[derive(Debug)]
struct Commit {
    lease_end: Millis,
    value_bytes: usize,
    value: Option<Vec<u8>>,
}

impl Rows {
    /// Creates an empty store with this limit in bytes for claims, and again for states.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            tables: Mutex::default(),
            max_bytes,
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Rows {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(async move {
            let commits = &mut self.tables().commits;
            let key = (commit.flow.0, commit.name.to_owned());
            if let Some(row) = commits.get(&key) {
                return Ok(match &row.value.value {
                    Some(value) => Claim::Done(value.clone()),
                    None if row.value.lease_end > commit.now => Claim::Busy,
                    None => Claim::Abandoned,
                });
            }
            purge(commits, commit.now);
            let size = (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes);
            admit_claim(held(commits, commit.owner), size, self.max_bytes)?;
            let value = Commit {
                lease_end: lease_end(commit.now, commit.lease),
                value_bytes: commit.value_bytes,
                value: None,
            };
            let (owner, expires) = (commit.owner, commit.expires);
            commits.insert(
                key,
                Row {
                    owner,
                    expires,
                    size,
                    value,
                },
            );
            Ok(Claim::Granted)
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let commits = &mut self.tables().commits;
            let row = commits.get_mut(&(flow.0, name.to_owned()));
            let row = row.ok_or(StoreError::Unclaimed)?;
            match &row.value.value {
                Some(first) if first == value => return Ok(()),
                Some(_) => return Err(StoreError::Finished),
                None => {}
            }
            let max_bytes = row.value.value_bytes;
            let left = max_bytes.checked_sub(value.len());
            row.size -= left.ok_or(StoreError::TooLong { max_bytes })?;
            row.value.value = Some(value.to_vec());
            Ok(())
        })
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let states = &mut self.tables().states;
            if let Some(row) = states.get_mut(&state.id) {
                row.expires = row.expires.max(state.expires);
                return Ok(());
            }
            purge(states, state.now);
            let size = OVERHEAD + state.bytes.len();
            loop {
                let owner = match admit_state(held(states, state.owner), size, self.max_bytes)? {
                    Eviction::None => break,
                    Eviction::OfOwner => state.owner,
                    Eviction::OfLargest => largest(states),
                };
                let theirs = states.iter().filter(|(_, row)| row.owner == owner);
                let Some(first) = theirs.min_by_key(|(_, row)| row.expires) else {
                    break;
                };
                let id = *first.0;
                states.remove(&id);
            }
            let row = Row {
                owner: state.owner,
                expires: state.expires,
                size,
                value: state.bytes.to_vec(),
            };
            states.insert(state.id, row);
            Ok(())
        })
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move { Ok(self.tables().states.get(&id).map(|row| row.value.clone())) })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(async move {
            let mut tables = self.tables();
            Ok(purge(&mut tables.commits, now) + purge(&mut tables.states, now))
        })
    }
}

fn purge<K: Ord, T>(rows: &mut BTreeMap<K, Row<T>>, now: Millis) -> usize {
    let before = rows.len();
    rows.retain(|_, row| row.expires > now);
    before - rows.len()
}

fn held<K, T>(rows: &BTreeMap<K, Row<T>>, owner: Option<Owner>) -> StoredBytes {
    let theirs = rows.values().filter(|row| row.owner == owner);
    StoredBytes {
        in_all: rows.values().map(|row| row.size).sum(),
        by_owner: owner.map(|_| theirs.map(|row| row.size).sum()),
    }
}

fn largest<K, T>(rows: &BTreeMap<K, Row<T>>) -> Option<Owner> {
    let mut owners = BTreeMap::new();
    for row in rows.values() {
        *owners.entry(row.owner).or_insert(0) += row.size;
    }
    let largest = owners.into_iter().max_by_key(|(_, bytes)| *bytes);
    largest.and_then(|(owner, _)| owner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use askback::{store::Store, testing::check_store};

    use super::Rows;

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_keep_the_contract() {
        let checked = check_store(async |max_bytes| {
            let store: Arc<dyn Store> = Arc::new(Rows::new(max_bytes));
            async move || Arc::clone(&store)
        });
        checked.await.unwrap_or_else(|broken| panic!("{broken}"));
    }
}
