//! The claims, in the desk's own database.

use std::{
    error::Error,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use askback::{
    Ctx, Result,
    store::{
        SqliteStore,
        rusqlite::{Connection, TransactionBehavior::Immediate},
    },
};
use tokio::task::{JoinError, spawn_blocking};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS claims (number INTEGER PRIMARY KEY, owner TEXT,
    title TEXT, note TEXT, project TEXT, cents INTEGER, approved INTEGER DEFAULT 0)";

/// An error of the database, whose message is not for clients.
type Failure = Box<dyn Error + Send + Sync>;

/// The claims of all employees.
#[derive(Debug, Clone)]
pub struct Claims(Arc<Mutex<Connection>>);

/// The employee who files the claim, its title, a note, the project, and the amount in cents.
pub(crate) type Row = (String, String, Option<String>, &'static str, i64);

impl Claims {
    /// Opens the database at this path, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// If it cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Failure> {
        let database = Connection::open(path)?;
        database.execute_batch(TABLE)?;
        SqliteStore::create_tables(&database)?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    /// Files a claim, and returns its number. The claim and the record that it is filed are written together or not at
    /// all.
    pub(crate) async fn file(self, ctx: Ctx, row: Row) -> Result<i64> {
        let insert = "INSERT INTO claims (owner, title, note, project, cents)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        self.with(move |database| {
            let transaction = database.transaction_with_behavior(Immediate)?;
            let number = ctx.commit_in(&transaction, "file", || {
                transaction.execute(insert, row)?;
                Ok(transaction.last_insert_rowid())
            })?;
            transaction.commit()?;
            Ok(number)
        })
        .await
    }

    /// Approves another user's claim. Returns whether the claim exists.
    pub(crate) async fn approve(self, number: i64, approver: String) -> Result<bool, Failure> {
        let approve = "UPDATE claims SET approved = 1 WHERE number = ?1 AND owner <> ?2";
        self.with(move |database| Ok(database.execute(approve, (number, approver))? == 1))
            .await
    }

    pub(crate) async fn find(self, owner: Option<String>) -> Result<Vec<(i64, String)>, Failure> {
        let find = "SELECT number, title FROM claims WHERE owner = coalesce(?1, owner)";
        self.with(move |database| {
            let mut statement = database.prepare(find)?;
            let rows = statement.query_map([owner], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.map(|row| Ok(row?)).collect()
        })
        .await
    }

    /// Returns the number of claims.
    #[must_use]
    pub fn count(&self) -> u32 {
        let database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = database.query_row("SELECT count(*) FROM claims", [], |row| row.get(0));
        count.unwrap_or_default()
    }

    /// Runs the function on a thread that may block.
    async fn with<T: Send + 'static, E: From<JoinError> + Send + 'static>(
        self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let work = move || work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        spawn_blocking(work).await?
    }
}
