//! The vault's rows in an SQL database. All databases use the same statements.
//!
//! A foreign key keeps each key in the database while something is sealed under it.

mod change;
mod filter;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statements;

pub use change::Change;
pub use filter::Filter;
#[cfg(feature = "postgres")]
pub use postgres::PostgresVault;
pub(super) use rows::{ToColumns, values};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteVault;
