mod failure;
mod listener;
mod settings;
mod values;

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio::time::{error::Elapsed, timeout};
use tokio_postgres::{Error, IsolationLevel, error::SqlState};

pub use listener::PostgresListener;
pub use settings::PostgresSettings;

use crate::{
    Batch, BatchOutcome, Database, Dialect, Schema, SqlError, SqlFuture, Statement, Value,
};

/// A PostgreSQL database (15 or newer), shared by the processes of many machines.
///
/// A pool opens connections as needed, at most [`PostgresSettings::connections`]. If a call's connection is lost, the
/// call fails, and the next call connects again. Nothing was changed then, unless the connection was lost while
/// PostgreSQL confirmed the change.
pub struct Postgres {
    pool: Pool,
    wait: Duration,
}

const DIALECT: Dialect = Dialect {
    // Sort order and indexes must be the same on every machine, regardless of the database's locale.
    text: "TEXT COLLATE \"C\"",
    bytes: "BYTEA",
    number: "BIGINT",
    counter: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    table: ")",
};

/// The lock for creating the tables: `askback` in ASCII, as a number.
const SCHEMA_LOCK: i64 = 0x61_73_6b_62_61_63_6b;

/// The maximum number of attempts for a transaction that conflicts with another one.
const TRIES: usize = 16;

impl Postgres {
    /// Connects to a database, and creates missing tables.
    ///
    /// # Errors
    ///
    /// If the connection string is invalid, the database cannot be reached or refuses the user, or its tables have
    /// another version. The errors do not contain the connection string.
    pub async fn connect(settings: PostgresSettings, schemas: &[Schema]) -> Result<Self, SqlError> {
        let config = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(settings.config()?, settings.tls()?, config);
        let pool = Pool::builder(manager)
            .max_size(settings.connections)
            .wait_timeout(Some(settings.wait))
            .create_timeout(Some(settings.wait))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(SqlError::new)?;
        let database = Self {
            pool,
            wait: settings.wait,
        };
        let mut client = database.client().await?;
        let made = timeout(database.wait, make_tables(&mut client, schemas)).await;
        database.ended(client, made)?;
        Ok(database)
    }

    /// Creates missing tables in the caller's transaction. Takes a lock until the transaction ends, so that one process
    /// at a time does this.
    ///
    /// # Errors
    ///
    /// If PostgreSQL refuses it, or the tables have another version.
    pub async fn make_tables(
        transaction: &tokio_postgres::Transaction<'_>,
        schemas: &[Schema],
    ) -> Result<(), SqlError> {
        let lock = "SELECT pg_advisory_xact_lock($1)";
        transaction.execute(lock, &[&SCHEMA_LOCK]).await?;
        // A user without the right to create tables cannot even use `CREATE TABLE IF NOT EXISTS`.
        let known = "SELECT to_regclass('askback_schemas') IS NOT NULL";
        if !transaction.query_one(known, &[]).await?.try_get(0)? {
            let create =
                "CREATE TABLE askback_schemas (name TEXT PRIMARY KEY, version BIGINT NOT NULL)";
            transaction.batch_execute(create).await?;
        }
        for schema in schemas {
            let select = "SELECT version FROM askback_schemas WHERE name = $1";
            let version = transaction.query_opt(select, &[&schema.name]).await?;
            let version = version.map_or(Ok(0), |row| row.try_get(0))?;
            if let Some(tables) = schema.missing(version, &DIALECT)? {
                transaction.batch_execute(&tables).await?;
                let insert = "INSERT INTO askback_schemas (name, version) VALUES ($1, $2)";
                transaction
                    .execute(insert, &[&schema.name, &schema.version])
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns a connection of the pool, for work of more than a [`Batch`].
    ///
    /// # Errors
    ///
    /// If none is free within [`PostgresSettings::wait`], or the database cannot be reached.
    pub async fn client(&self) -> Result<Object, SqlError> {
        let size = self.pool.status().max_size;
        let client = self.pool.get().await;
        client.map_err(|error| failure::unconnected(error, size, self.wait))
    }

    /// How long a call waits for its answer.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// Returns the result of an operation. If it timed out, the connection is closed, because it cannot be used until
    /// PostgreSQL has answered. The unused connections of the pool are closed, too: PostgreSQL or the network has
    /// probably failed for all of them, and each would have to time out before it is replaced.
    ///
    /// # Errors
    ///
    /// Those of the work, and if it took too long.
    pub fn ended<T, E: From<SqlError>>(
        &self,
        client: Object,
        done: Result<Result<T, E>, Elapsed>,
    ) -> Result<T, E> {
        match done {
            Ok(done) => done,
            Err(_) => {
                drop(Object::take(client));
                self.pool.retain(|_, _| false);
                Err(failure::silent(self.wait).into())
            }
        }
    }
}

impl From<Error> for SqlError {
    fn from(error: Error) -> Self {
        failure::failed(&error)
    }
}

impl Database for Postgres {
    fn lock(&self) -> Option<&'static str> {
        Some("SELECT pg_advisory_xact_lock(hashtextextended(?, 27410064867783531))")
    }

    fn change(&self, batch: Batch) -> SqlFuture<'_, BatchOutcome> {
        Box::pin(async move {
            let mut client = self.client().await?;
            let work = async { Ok(changed(&mut client, &batch).await?) };
            let done = timeout(self.wait, work).await;
            self.ended(client, done)
        })
    }

    fn rows(&self, statement: Statement) -> SqlFuture<'_, Vec<Vec<Value>>> {
        Box::pin(async move {
            let client = self.client().await?;
            let work = async { Ok(found(&client, &statement).await?) };
            let done = timeout(self.wait, work).await;
            self.ended(client, done)
        })
    }
}

async fn make_tables(client: &mut Object, schemas: &[Schema]) -> Result<(), SqlError> {
    let transaction = client.transaction().await?;
    Postgres::make_tables(&transaction, schemas).await?;
    Ok(transaction.commit().await?)
}

/// The errors of conflicting transactions.
const IN_THE_WAY: &[SqlState] = &[
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
];

async fn changed(client: &mut Object, batch: &Batch) -> Result<BatchOutcome, Error> {
    let mut tries = 1;
    loop {
        match attempt(client, batch).await {
            Ok(rows) => return Ok(BatchOutcome::Rows(rows)),
            Err(error) if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) => {
                return Ok(BatchOutcome::ForeignKey);
            }
            Err(error)
                if tries < TRIES && error.code().is_some_and(|it| IN_THE_WAY.contains(it)) =>
            {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A failed transaction is rolled back on drop.
async fn attempt(client: &mut Object, batch: &Batch) -> Result<u64, Error> {
    // The earlier statements affect rows that the deciding statement reads.
    let level = match batch.before.is_empty() {
        true => IsolationLevel::ReadCommitted,
        false => IsolationLevel::RepeatableRead,
    };
    let transaction = client.build_transaction().isolation_level(level);
    let transaction = transaction.start().await?;
    let execute = async |statement: &Statement| {
        let types = values::types(statement);
        let text = values::numbered(&statement.text);
        let prepared = transaction.prepare_typed_cached(&text, &types).await?;
        let parameters = values::parameters(statement);
        transaction.execute(&prepared, &parameters).await
    };
    for statement in &batch.before {
        execute(statement).await?;
    }
    let rows = execute(&batch.deciding).await?;
    if rows == 0 {
        transaction.rollback().await?;
        return Ok(0);
    }
    for statement in &batch.then {
        execute(statement).await?;
    }
    transaction.commit().await?;
    Ok(rows)
}

async fn found(client: &Object, statement: &Statement) -> Result<Vec<Vec<Value>>, Error> {
    let types = values::types(statement);
    let text = values::numbered(&statement.text);
    let prepared = client.prepare_typed_cached(&text, &types).await?;
    let rows = client
        .query(&prepared, &values::parameters(statement))
        .await?;
    rows.iter().map(values::of_row).collect()
}
