//! A vault's records in PostgreSQL.

mod failure;
mod settings;
mod values;

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio::time::{error::Elapsed, timeout};
use tokio_postgres::{Error, IsolationLevel, error::SqlState};

pub use settings::PostgresSettings;

use super::schema::{self, Dialect, VERSION};
use super::{Batch, Changed, Statement, Value};
use crate::debug::debug_only;
use crate::vault::error::VaultError;
use crate::vault::store::{VaultFuture, VaultStore};

/// Keeps the vault's records in PostgreSQL (15 or newer), which the processes of many machines share.
///
/// ```no_run
/// use std::{env, sync::Arc};
/// use askback_connect::vault::{LocalKeys, PostgresSettings, PostgresVault, Vault, VaultSettings};
/// use askback_oauth::Secret;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // postgresql://vault:PASSWORD@db.example.com/vault
/// let database = Secret::new(env::var("VAULT_DATABASE")?);
/// let store = PostgresVault::connect(PostgresSettings::new(database)).await?;
/// let keys = LocalKeys::file("vault.keys")?;
/// let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Connections
///
/// A pool opens connections as they are needed, at most [`PostgresSettings::connections`]. A connection to another
/// machine is by TLS, and the certificate of the database must be for its host. `sslmode=prefer` in the connection string
/// counts as `require`; `sslmode=disable` is for networks that are trusted. A Unix socket has no TLS.
///
/// A call whose connection is lost ends with an error, and the next call connects again. Nothing was changed then,
/// unless the connection was lost while PostgreSQL confirmed the change.
///
/// # Tables
///
/// [`connect`](Self::connect) makes the tables, in the first schema of the search path; their names begin with
/// `askback_vault_`. The user needs the right to create tables there for the first start alone, so that a
/// deployment may connect once as their owner and serve as a user who has no more than `SELECT`, `INSERT`, `UPDATE` and
/// `DELETE`. All dumps and backups hold the records as they are kept: sealed. A deleted row stays in
/// PostgreSQL's files until it is vacuumed, and in backups.
///
/// The lines of one tenant's audit are written one after the other, so that a reader who goes on after a number misses
/// none.
///
/// There is no row-level security. The vault signs in as one user and also serves all tenants at once, for revocations
/// that are due and keys to be wrapped again: that user could switch the policy off as easily as on, and its owner could
/// no longer dump the tables. Behind the statements, which all name the tenant, stands the seal instead: a record that is
/// read for another tenant or person does not open.
pub struct PostgresVault {
    pool: Pool,
    wait: Duration,
}

const DIALECT: Dialect = Dialect {
    // Their order and their indexes are then the same on every machine, whatever the language of the database.
    text: "TEXT COLLATE \"C\"",
    bytes: "BYTEA",
    number: "BIGINT",
    counter: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    table: ")",
};

/// The lock under which the tables are made: `askback` in ASCII, as a number.
const SCHEMA_LOCK: i64 = 0x61_73_6b_62_61_63_6b;

/// How often a transaction that got in the way of another is done again.
const TRIES: usize = 16;

impl PostgresVault {
    /// Connects to a database, and makes the tables if they are missing.
    ///
    /// # Errors
    ///
    /// When the connection string cannot be read, the database cannot be reached or refuses the user, or its tables
    /// are of another version. None of them shows the connection string.
    pub async fn connect(settings: PostgresSettings) -> Result<Self, VaultError> {
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
            .map_err(VaultError::store)?;
        let vault = Self {
            pool,
            wait: settings.wait,
        };
        let mut client = vault.client().await?;
        let made = timeout(vault.wait, make_tables(&mut client)).await;
        vault.ended(client, made)??;
        Ok(vault)
    }

    async fn client(&self) -> Result<Object, VaultError> {
        let size = self.pool.status().max_size;
        let client = self.pool.get().await;
        client.map_err(|error| failure::unconnected(error, size, self.wait))
    }

    /// Returns what came of some work. Work that took too long has its connection closed, which nobody can use before
    /// PostgreSQL has answered.
    fn ended<T>(
        &self,
        client: Object,
        done: Result<Result<T, Error>, Elapsed>,
    ) -> Result<T, VaultError> {
        match done {
            Ok(done) => done.map_err(|error| failure::failed(&error)),
            Err(_) => {
                drop(Object::take(client));
                Err(failure::silent(self.wait))
            }
        }
    }
}

impl VaultStore for PostgresVault {
    fn turn(&self) -> Option<&'static str> {
        Some("SELECT pg_advisory_xact_lock(hashtextextended(?, 27410064867783531))")
    }

    fn change(&self, batch: Batch) -> VaultFuture<'_, Changed> {
        Box::pin(async move {
            let mut client = self.client().await?;
            let done = timeout(self.wait, changed(&mut client, &batch)).await;
            self.ended(client, done)
        })
    }

    fn rows(&self, statement: Statement) -> VaultFuture<'_, Vec<Vec<Value>>> {
        Box::pin(async move {
            let client = self.client().await?;
            let done = timeout(self.wait, found(&client, &statement)).await;
            self.ended(client, done)
        })
    }
}

/// Makes the tables if they are missing. One process does it at a time.
async fn make_tables(client: &mut Object) -> Result<Result<(), VaultError>, Error> {
    let transaction = client.transaction().await?;
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SCHEMA_LOCK]).await?;
    // Whoever may only use the tables may not ask for them to be made.
    let known = "SELECT to_regclass('askback_vault_schema') IS NOT NULL";
    if !transaction.query_one(known, &[]).await?.try_get(0)? {
        let create = "CREATE TABLE askback_vault_schema (version BIGINT NOT NULL)";
        transaction.batch_execute(create).await?;
    }
    let select = "SELECT coalesce(max(version), 0) FROM askback_vault_schema";
    let version: i64 = transaction.query_one(select, &[]).await?.try_get(0)?;
    let tables = match schema::missing(version, &DIALECT) {
        Ok(tables) => tables,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(tables) = tables {
        transaction.batch_execute(&tables).await?;
        let insert = "INSERT INTO askback_vault_schema (version) VALUES ($1)";
        transaction.execute(insert, &[&VERSION]).await?;
    }
    transaction.commit().await?;
    Ok(Ok(()))
}

/// What transactions do to one another.
const IN_THE_WAY: &[SqlState] = &[
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
];

async fn changed(client: &mut Object, batch: &Batch) -> Result<Changed, Error> {
    let mut tries = 1;
    loop {
        match attempt(client, batch).await {
            Ok(rows) => return Ok(Changed::Rows(rows)),
            Err(error) if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) => {
                return Ok(Changed::ForeignKey);
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

/// A transaction that fails is rolled back when it is dropped.
async fn attempt(client: &mut Object, batch: &Batch) -> Result<u64, Error> {
    // What is done before is about the very rows that the deciding statement finds.
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

debug_only! {
    PostgresVault {}
}
