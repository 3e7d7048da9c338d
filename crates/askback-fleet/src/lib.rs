//! What a [fleet](askback::Fleet) on more than one machine shares: its [journal](askback::journal) and its
//! [store](askback::store) in PostgreSQL.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use askback::{Fleet, ServerBuilder, store::StoreError};
//! use askback_fleet::{PostgresStore, PostgresSettings, Secret};
//!
//! # async fn fleet(server: ServerBuilder) -> Result<ServerBuilder, StoreError> {
//! let database = Secret::new("postgresql://agency@db.example/agency");
//! let store = Arc::new(PostgresStore::connect(PostgresSettings::new(database)).await?);
//! Ok(server.store(Arc::clone(&store)).fleet(Fleet::new(store)))
//! # }
//! ```

mod claims;
mod failure;
mod journal;
mod postgres;
mod schema;

pub use askback_core::secret::Secret;
pub use askback_sql::PostgresSettings;
pub use postgres::PostgresStore;
