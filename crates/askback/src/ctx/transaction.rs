use askback_core::protocol::RawJson;
use askback_sql::rusqlite::Transaction;
use serde::{Serialize, de::DeserializeOwned};

use super::Ctx;
use crate::{
    error::{CommitPlace, Error, Result, StepResult, read_commit},
    store::{Claim, SqliteStore},
};

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
        let backing = &self.0.backing;
        let limits = &backing.limits;
        let flow = self.identity();
        let claim = backing.claim_request(self.principal(), &flow, (name, limits.asking.run));
        let before = self.0.cell.committed(name);
        if before == Some(CommitPlace::Store) {
            return Err(Error::commit_name_used(name));
        }
        let claimed = SqliteStore::claim_in(transaction, &claim, limits.asking.store_bytes);
        match claimed.map_err(|why| Error::commit_not_claimed(name, why))? {
            Claim::Granted => {
                let value = effect();
                if transaction.is_autocommit() {
                    return Err(Error::new(format!(
                        "the effect of `{name}` ended its transaction, so its outcome is unknown: \
                         check before you try again, and leave `COMMIT`, `ROLLBACK` and \
                         `OR ROLLBACK` out of it"
                    )));
                }
                let value = value?;
                let recorded = RawJson::new(&StepResult::InTransaction(value))?;
                let (bytes, most) = (recorded.as_str().len(), limits.asking.commit_bytes);
                if bytes > most {
                    return Err(Error::new(format!(
                        "the value of `{name}` has {bytes} bytes, and {most} are kept of one: \
                         return less from its effect, which was undone"
                    )));
                }
                SqliteStore::finish_in(transaction, flow.flow, name, recorded.as_str().as_bytes())?;
                self.0.cell.note_commit(name, CommitPlace::Transaction);
                recorded.decode::<StepResult<T>>()?.into()
            }
            // A commit that was rolled back may run again. A stored one is a different commit with the same name.
            Claim::Done(_) if before.is_some() => Err(Error::commit_name_used(name)),
            Claim::Done(value) => read_commit(name, &value, CommitPlace::Transaction),
            Claim::Busy | Claim::Abandoned => Err(Error::new(format!(
                "`{name}` was begun outside of a transaction and has not finished: its outcome is \
                 unknown; check before you try again"
            ))),
        }
    }
}
