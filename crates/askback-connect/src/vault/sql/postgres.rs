//! A vault's records in PostgreSQL.

use askback_sql::{Database, Postgres, PostgresSettings};

use super::schema::SCHEMA;
use crate::vault::error::VaultError;
use crate::vault::store::VaultStore;
use askback_core::debug_only;

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
pub struct PostgresVault(Postgres);

impl PostgresVault {
    /// Connects to a database, and makes the tables if they are missing.
    ///
    /// # Errors
    ///
    /// When the connection string cannot be read, the database cannot be reached or refuses the user, or its tables
    /// are of another version. None of them shows the connection string.
    pub async fn connect(settings: PostgresSettings) -> Result<Self, VaultError> {
        Ok(Self(Postgres::connect(settings, &[SCHEMA]).await?))
    }
}

impl VaultStore for PostgresVault {
    fn database(&self) -> &dyn Database {
        &self.0
    }
}

debug_only! {
    PostgresVault {}
}
