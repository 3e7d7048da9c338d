//! A vault's records in a database that speaks SQL: the statements, the same for all of them.
//!
//! Each change is a [`Batch`]: its deciding statement changes a row or the whole batch never was. That a key is there
//! for whatever is sealed under it, and stays for as long, is a foreign key.

mod batch;
mod intents;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statements;

#[cfg(feature = "postgres")]
pub use postgres::{PostgresSettings, PostgresVault};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteVault;

/// A value of a column.
#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
    Null,
}

/// A statement whose parameters are `$1`, `$2` and so on.
pub struct Statement {
    text: &'static str,
    values: Vec<Value>,
    /// Whether it takes something out that nobody is to read any more.
    erases: bool,
}

/// The statements of one transaction.
pub struct Batch {
    /// Those that come first.
    before: Vec<Statement>,
    /// The statement that must change a row; otherwise nothing is done.
    deciding: Statement,
    /// Those that come then.
    then: Vec<Statement>,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// So many rows, by its deciding statement.
    Rows(u64),
    /// A foreign key stood against it, and nothing was changed.
    ForeignKey,
}
