use askback_sql::{Database, Postgres, PostgresSettings};

use super::schema::SCHEMA;
use crate::vault::error::VaultError;
use crate::vault::store::VaultStore;
use askback_core::debug_only;

/// Stores the vault's records in PostgreSQL (15 or newer), shared by processes on several machines.
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
/// A pool opens connections as needed, up to [`PostgresSettings::connections`]. Connections to other machines use TLS,
/// and the database's certificate must match its host. `sslmode=prefer` in the connection string counts as `require`;
/// `sslmode=disable` is for trusted networks. A Unix socket has no TLS.
///
/// If a call loses its connection, it fails, and the next call connects again. The change was not made, unless the
/// connection was lost while PostgreSQL confirmed it.
///
/// # Tables
///
/// [`connect`](Self::connect) creates the tables in the first schema of the search path. Their names start with
/// `askback_vault_`. The database user needs the right to create tables only at the first start. So a deployment can
/// connect once as the owner of the tables, and then run as a user with only `SELECT`, `INSERT`, `UPDATE` and `DELETE`.
/// Dumps and backups contain the records in sealed form. A deleted row stays in PostgreSQL's files until it is
/// vacuumed, and in backups.
///
/// The audit records of a tenant are written one after the other, so that a reader that continues after a number misses
/// none.
///
/// There is no row-level security. The vault uses one database user for all tenants, for example to send pending
/// revocations and to rewrap keys. This user could switch off the policy, and the owner could no longer dump the
/// tables. Instead, each statement names the tenant, and the seal protects the rest: a record that is read for another
/// tenant or user does not open.
pub struct PostgresVault(Postgres);

impl PostgresVault {
    /// Connects to a database, and creates the tables if they are missing.
    ///
    /// # Errors
    ///
    /// If the connection string is invalid, if the database is unreachable or refuses the user, or if its tables have
    /// another version. No error shows the connection string.
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
