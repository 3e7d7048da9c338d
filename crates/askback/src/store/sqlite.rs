//! A store in an SQLite file, which several processes may share.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use askback_core::ask::FlowId;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::{Claim, Millis, Store, StoreError, StoreFuture, lease_end};
use crate::private_file;

/// A store in an SQLite file.
///
/// All processes that open the same file share its claims, and so do later ones: a claim survives
/// whatever happens to the process, and a power failure too. The file belongs to its owner alone
/// (0600), as the values of commits stand in it as they are.
///
/// An author whose effect is a change in an SQLite database of their own keeps the claims there
/// ([`create_tables`](Self::create_tables)) and writes claim, effect and value in one transaction
/// ([`claim_in`](Self::claim_in), [`finish_in`](Self::finish_in)): they are committed together or
/// not at all, and no outcome is ever unknown.
///
/// One thread of the store's own does the work. What was begun is done even if its future is
/// dropped; dropping the store waits for it.
pub struct SqliteStore {
    /// Taken when the store is dropped, which ends the thread.
    jobs: Option<mpsc::Sender<Job>>,
    worker: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// How long one process waits for another to finish its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS askback_claims (
        flow BLOB NOT NULL,
        name TEXT NOT NULL,
        lease_end INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        value BLOB,
        PRIMARY KEY (flow, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS askback_claims_expires ON askback_claims (expires);
    CREATE TABLE IF NOT EXISTS askback_steps (
        id BLOB NOT NULL PRIMARY KEY,
        bytes BLOB NOT NULL,
        expires INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS askback_steps_expires ON askback_steps (expires);
";

impl SqliteStore {
    /// Opens the store in the file at `path`, which is created if it is not there.
    ///
    /// Waits for the disk: not for an async task to call.
    ///
    /// # Errors
    ///
    /// When the file cannot be created or opened, is no database, or is open to other users.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        // The database is made before it has its name: SQLite does not let two connections turn
        // one file to WAL at a time, nor wait for each other there. Its side files get the
        // permissions of the file.
        private_file::create(path, |draft| connect(draft).map(drop))?;
        // Looked at by name: to open and close the file here would drop the locks that another
        // connection of this process has on it.
        let metadata = path.metadata()?;
        if let Some(mode) = private_file::exposure(&metadata) {
            return Err(failed(io::Error::other(format!(
                "the file {path} is open to other users (mode {mode:03o}): run `chmod 600 {path}`",
                path = path.display()
            ))));
        }

        let mut connection = connect(path)?;
        let (jobs, queue) = mpsc::channel::<Job>();
        let worker = thread::Builder::new()
            .name("askback-sqlite".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job(&mut connection)))?;
        Ok(Self {
            jobs: Some(jobs),
            worker: Some(worker),
        })
    }

    /// Creates the store's tables in an author's own database, if they are not there. Their names
    /// begin with `askback_`.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn create_tables(connection: &Connection) -> Result<(), StoreError> {
        Ok(connection.execute_batch(TABLES)?)
    }

    /// [`Store::claim`] within an author's own transaction.
    ///
    /// The claim exists when the transaction is committed, and never existed when it is rolled
    /// back. Begin the transaction as immediate: it writes first of all, and SQLite refuses to
    /// turn a transaction that has read into a writing one if another wrote in between.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn claim_in(
        transaction: &Transaction<'_>,
        flow: FlowId,
        name: &str,
        now: Millis,
        lease: Duration,
        expires: Millis,
    ) -> Result<Claim, StoreError> {
        let inserted = transaction.execute(
            "INSERT INTO askback_claims (flow, name, lease_end, expires)
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![
                flow.0,
                name,
                integer(lease_end(now, lease)),
                integer(expires)
            ],
        )?;
        if inserted == 1 {
            return Ok(Claim::Granted);
        }
        let claim = transaction.query_row(
            "SELECT value, lease_end > ?3 FROM askback_claims WHERE flow = ?1 AND name = ?2",
            params![flow.0, name, integer(now)],
            |row| {
                Ok(match (row.get(0)?, row.get(1)?) {
                    (Some(value), _) => Claim::Done(value),
                    (None, true) => Claim::Busy,
                    (None, false) => Claim::Abandoned,
                })
            },
        )?;
        Ok(claim)
    }

    /// [`Store::finish`] within an author's own transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Store::finish`] and of SQLite.
    pub fn finish_in(
        transaction: &Transaction<'_>,
        flow: FlowId,
        name: &str,
        value: &[u8],
    ) -> Result<(), StoreError> {
        let finished = transaction.execute(
            "UPDATE askback_claims SET value = ?3
             WHERE flow = ?1 AND name = ?2 AND (value IS NULL OR value = ?3)",
            params![flow.0, name, value],
        )?;
        if finished == 1 {
            return Ok(());
        }
        let claimed = transaction
            .query_row(
                "SELECT 1 FROM askback_claims WHERE flow = ?1 AND name = ?2",
                params![flow.0, name],
                |_| Ok(()),
            )
            .optional()?;
        Err(match claimed {
            Some(()) => StoreError::Finished,
            None => StoreError::Unclaimed,
        })
    }

    /// Has the thread do `work` in a transaction that writes.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Nobody may be waiting any more.
            let _ = reply.send(work(connection));
        });
        let stopped = || failed(io::Error::other("its thread has stopped"));
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job).map_err(|_| stopped())?;
        result.await.map_err(|_| stopped())?
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(worker) = self.worker.take() {
            // A panic of the thread has been reported where it happened.
            let _ = worker.join();
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn claim<'a>(
        &'a self,
        flow: FlowId,
        name: &'a str,
        now: Millis,
        lease: Duration,
        expires: Millis,
    ) -> StoreFuture<'a, Claim> {
        let name = name.to_owned();
        Box::pin(self.write(move |transaction| {
            Self::claim_in(transaction, flow, &name, now, lease, expires)
        }))
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        let (name, value) = (name.to_owned(), value.to_owned());
        Box::pin(self.write(move |transaction| Self::finish_in(transaction, flow, &name, &value)))
    }

    fn put<'a>(
        &'a self,
        id: [u8; 32],
        bytes: &'a [u8],
        _now: Millis,
        expires: Millis,
    ) -> StoreFuture<'a, ()> {
        let bytes = bytes.to_owned();
        Box::pin(self.write(move |transaction| {
            transaction.execute(
                "INSERT INTO askback_steps (id, bytes, expires) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET expires = max(expires, excluded.expires)",
                params![id, bytes, integer(expires)],
            )?;
            Ok(())
        }))
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.run(move |connection| {
            let bytes = connection
                .query_row(
                    "SELECT bytes FROM askback_steps WHERE id = ?1",
                    [id],
                    |row| row.get(0),
                )
                .optional()?;
            Ok(bytes)
        }))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(self.write(move |transaction| {
            let mut removed = 0;
            for table in ["askback_claims", "askback_steps"] {
                let delete = format!("DELETE FROM {table} WHERE expires <= ?1");
                removed += transaction.execute(&delete, [integer(now)])?;
            }
            Ok(removed)
        }))
    }
}

/// Opens a database and makes it a store, if it is none yet.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Where the file system cannot do WAL, SQLite stays with its rollback journal.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // A commit lost to a power failure would be granted twice.
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    SqliteStore::create_tables(&transaction)?;
    transaction.commit()?;
    Ok(connection)
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        failed(error)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        failed(error)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Failed(Box::new(error))
}

/// SQLite's integers are signed; a moment beyond them is as good as never.
fn integer(time: Millis) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
