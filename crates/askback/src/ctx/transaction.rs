use askback_sql::rusqlite::Transaction;
use serde::{Serialize, de::DeserializeOwned};

use super::{Ctx, TransactionCommit};
use crate::{error::Result, store::SqliteStore};

impl Ctx {
    /// Runs an effect at most once per flow, in a transaction of an SQLite database. The claim, the effect and the
    /// value are committed together or not at all, so the outcome is always known, whenever the process ends.
    ///
    /// The claims are in your database, in the tables that [`SqliteStore::create_tables`] creates. The closure runs if
    /// the flow has no commit with this name; otherwise the stored value is returned. If the closure fails, its changes
    /// and its claim are undone, and the next attempt runs it again.
    ///
    /// Begin the transaction as immediate, and commit it afterwards. SQLite blocks on disk access: on a server with
    /// more than one client, call this on a thread that may block, in a [run](Ctx::run), so that no question interrupts
    /// it.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use askback::{Ctx, Error, Form, Result, State};
    /// use askback::store::rusqlite::{Connection, TransactionBehavior};
    ///
    /// #[derive(Form)]
    /// struct Seat {
    ///     /// By the window?
    ///     window: bool,
    /// }
    ///
    /// async fn reserve(ctx: Ctx, State(database): State<Arc<Mutex<Connection>>>) -> Result<i64> {
    ///     let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    ///     let flow = ctx.clone();
    ///     let reserve = move || -> Result<i64> {
    ///         let mut database = database.lock().map_err(|_| Error::new("the database is broken"))?;
    ///         let transaction =
    ///             database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    ///         let number = flow.commit_in(&transaction, "reserve", || {
    ///             transaction.execute("INSERT INTO seats (window) VALUES (?1)", [seat.window])?;
    ///             Ok(transaction.last_insert_rowid())
    ///         })?;
    ///         transaction.commit()?;
    ///         Ok(number)
    ///     };
    ///     let reserving = || async { tokio::task::spawn_blocking(reserve).await? };
    ///     ctx.run("reserve", reserving).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of the closure, of SQLite and of [`SqliteStore::claim_in`]. In addition:
    ///
    /// - A closure that ends the transaction is an error, but its changes cannot be undone.
    /// - A name that was already used in this call, also by [`Ctx::commit`], is refused, and so is a value that is
    ///   longer than [`limits.asking.commit_bytes`](crate::limits::AskingLimits::commit_bytes). Both undo all changes.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, as for [`Ctx::random`].
    pub fn commit_in<T: Serialize + DeserializeOwned>(
        &self,
        transaction: &Transaction<'_>,
        name: &str,
        effect: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        transaction.execute_batch("SAVEPOINT askback_commit")?;
        let committed = self.commit_within(transaction, name, effect);
        if transaction.is_autocommit() {
            // Nothing to undo or store.
            return committed;
        }
        if committed.is_err() {
            transaction.execute_batch("ROLLBACK TO askback_commit")?;
        }
        transaction.execute_batch("RELEASE askback_commit")?;
        committed
    }

    fn commit_within<T: Serialize + DeserializeOwned>(
        &self,
        transaction: &Transaction<'_>,
        name: &str,
        effect: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let commit = TransactionCommit::begin(self, name)?;
        let claim = SqliteStore::claim_in(transaction, &commit.claim_request(), commit.max_bytes());
        if let Some(value) = commit.read_claim(claim)? {
            return Ok(value);
        }
        let value = effect();
        if transaction.is_autocommit() {
            return Err(commit.transaction_ended());
        }
        let written = commit.write(&value?)?;
        SqliteStore::finish_in(transaction, commit.flow(), name, &written)?;
        commit.done(&written)
    }
}
