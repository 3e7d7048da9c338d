//! Commits in the author's own transaction.

use askback::{Ctx, Error, Result, TransactionCommit, store::StoreError};
use askback_sql::{
    Postgres,
    tokio_postgres::{self, Transaction, error::SqlState},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    PostgresStore, claims,
    failure::Failure,
    schema::{AuthorTransaction, SCHEMA},
};

impl PostgresStore {
    /// Creates the store's tables in your own database, in a transaction, if they do not exist. Their names begin with
    /// `askback_`. They exist already if the fleet's store uses the same schema of the database.
    ///
    /// # Errors
    ///
    /// If the tables exist in another version, or if PostgreSQL fails.
    pub async fn create_tables(transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let made = Postgres::make_tables(transaction, &[SCHEMA]).await;
        made.map_err(|error| StoreError::Failed(error.into_inner()))
    }

    /// Runs an effect at most once per flow, in a transaction of your PostgreSQL database. The claim, the effect and
    /// the value are committed together or not at all, so the next attempt knows the outcome, even after a crash.
    ///
    /// The claims are in your database, in the tables that [`create_tables`](Self::create_tables) creates. The closure
    /// runs if the flow has no commit with this name; otherwise the stored value is returned. If the closure fails, its
    /// changes and its claim are undone, and the next attempt runs it again. If another process runs the same commit, this
    /// one waits until that transaction ends.
    ///
    /// Commit the transaction afterwards, and do both in a [run](Ctx::run), so that no question interrupts them. If you
    /// drop this future before it is done, do not commit the transaction. Any isolation level will do; above *read
    /// committed*, PostgreSQL may reject one of two simultaneous attempts.
    ///
    /// `transaction` is a `tokio-postgres` transaction. A `deadpool-postgres` transaction dereferences to one.
    ///
    /// ```
    /// use askback::{Ctx, Error, Form, Result, State};
    /// use askback_fleet::{PostgresStore, deadpool_postgres::Pool};
    ///
    /// #[derive(Form)]
    /// struct Seat {
    ///     /// By the window?
    ///     window: bool,
    /// }
    ///
    /// async fn reserve(ctx: Ctx, State(database): State<Pool>) -> Result<i64> {
    ///     let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    ///     let reserve = || async {
    ///         let mut connection = database.get().await.map_err(Error::internal)?;
    ///         let transaction = connection.transaction().await.map_err(Error::internal)?;
    ///         let insert = async || {
    ///             let insert = "INSERT INTO seats (by_window) VALUES ($1) RETURNING number";
    ///             let row = transaction.query_one(insert, &[&seat.window]).await;
    ///             Ok(row.map_err(Error::internal)?.get::<_, i64>(0))
    ///         };
    ///         let number = PostgresStore::commit_in(&ctx, &transaction, "reserve", insert).await?;
    ///         transaction.commit().await.map_err(Error::internal)?;
    ///         Ok(number)
    ///     };
    ///     ctx.run("reserve", reserve).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of the closure, of PostgreSQL, and of [`Store::claim`](askback::store::Store::claim). In addition:
    ///
    /// - If the closure ends the transaction. Its changes cannot be undone then.
    /// - If the name was already used in this call, also by [`Ctx::commit`], or if the value is longer than
    ///   [`limits.asking.commit_bytes`](askback::limits::AskingLimits::commit_bytes). All changes are undone.
    ///
    /// If the connection is lost while your transaction is committed, this attempt cannot know the outcome: return the
    /// error. The next attempt of the call knows.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, as for [`Ctx::random`].
    pub async fn commit_in<T, F, Fut>(
        ctx: &Ctx,
        transaction: &Transaction<'_>,
        name: &str,
        effect: F,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + Sync,
        F: FnOnce() -> Fut + Send,
        Fut: Future<Output = Result<T>> + Send,
    {
        let begun = transaction.batch_execute("SAVEPOINT askback_commit").await;
        begun.map_err(failed)?;
        let committed = commit_within(ctx, transaction, name, effect).await;
        if committed.is_err() {
            // Fails if the transaction is over or the connection is lost. Then there is nothing to undo.
            let undo = "ROLLBACK TO SAVEPOINT askback_commit; RELEASE SAVEPOINT askback_commit";
            let _ = transaction.batch_execute(undo).await;
        }
        committed
    }
}

async fn commit_within<T, F, Fut>(
    ctx: &Ctx,
    transaction: &Transaction<'_>,
    name: &str,
    effect: F,
) -> Result<T>
where
    T: Serialize + DeserializeOwned + Send + Sync,
    F: FnOnce() -> Fut + Send,
    Fut: Future<Output = Result<T>> + Send,
{
    let commit = TransactionCommit::begin(ctx, name)?;
    let own = AuthorTransaction(transaction);
    let claim = claims::claim(&own, &commit.claim_request(), commit.max_bytes()).await;
    if let Some(value) = commit.read_claim(claim.map_err(|Failure(error)| error))? {
        let release = transaction.batch_execute("RELEASE SAVEPOINT askback_commit");
        release.await.map_err(failed)?;
        return Ok(value);
    }
    let value = effect().await;
    // Fails if the effect has ended the transaction, or ignored that a statement failed.
    let savepoint = transaction.batch_execute("SAVEPOINT askback_value").await;
    match (value, savepoint) {
        (_, Err(error)) if is_outside(&error) => Err(commit.transaction_ended()),
        (Err(error), _) => Err(error),
        (Ok(_), Err(error)) => Err(failed(error)),
        (Ok(value), Ok(())) => {
            let written = commit.write(&value)?;
            match claims::finish(&own, commit.flow(), name, &written).await {
                // The effect has undone the claim and begun another transaction.
                Err(Failure(StoreError::Unclaimed)) => return Err(commit.transaction_ended()),
                finished => finished.map_err(|Failure(error)| error)?,
            }
            let release = transaction.batch_execute("RELEASE SAVEPOINT askback_commit");
            match release.await {
                Err(error) if is_outside(&error) => Err(commit.transaction_ended()),
                Err(error) => Err(failed(error)),
                Ok(()) => commit.done(&written),
            }
        }
    }
}

fn failed(error: tokio_postgres::Error) -> Error {
    let Failure(error) = error.into();
    error.into()
}

/// Whether a savepoint failed because the transaction in which it began is over.
fn is_outside(error: &tokio_postgres::Error) -> bool {
    let ends = [
        SqlState::NO_ACTIVE_SQL_TRANSACTION,
        SqlState::S_E_INVALID_SPECIFICATION,
    ];
    error.code().is_some_and(|code| ends.contains(code))
}
