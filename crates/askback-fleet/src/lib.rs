//! For a [fleet](askback::Fleet) on more than one machine: a [journal](askback::journal) and [store](askback::store) in
//! PostgreSQL, and a [bus](askback::journal::Bus).
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use askback::{Fleet, ServerBuilder, store::StoreError};
//! use askback_fleet::{PostgresBus, PostgresStore, PostgresSettings, Secret};
//!
//! # async fn fleet(server: ServerBuilder) -> Result<ServerBuilder, StoreError> {
//! let database = Secret::new("postgresql://agency@db.example/agency");
//! let settings = PostgresSettings::new(database);
//! let store = Arc::new(PostgresStore::connect(settings.clone()).await?);
//! let bus = PostgresBus::connect(settings).await?;
//! Ok(server.store(Arc::clone(&store)).fleet(Fleet::new(store).bus(bus)))
//! # }
//! ```

mod bus;
#[cfg(feature = "redis")]
mod calls;
mod claims;
mod commit;
mod failure;
mod journal;
mod postgres;
mod room;
mod schema;

pub use askback_core::secret::Secret;
pub use askback_sql::PostgresSettings;
/// The versions of `tokio-postgres` and `deadpool-postgres` that [`PostgresStore::commit_in`] takes.
pub use askback_sql::{deadpool_postgres, tokio_postgres};
#[cfg(feature = "nats")]
pub use bus::NatsBus;
pub use bus::PostgresBus;
#[cfg(feature = "redis")]
pub use bus::RedisBus;
#[cfg(feature = "redis")]
pub use calls::RedisCallCounter;
pub use postgres::PostgresStore;
