//! The vault's rows in a database that speaks SQL: the statements, the same for all databases.
//!
//! Each change is a [`Batch`]: if its deciding statement changes no row, the transaction is rolled back. A foreign key
//! keeps each key in the database for as long as something is sealed under it.

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
pub use postgres::{PostgresSettings, PostgresVault};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteVault;

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
    Null,
}

/// A statement with a `?` for each of its values.
pub struct Statement {
    text: String,
    values: Vec<Value>,
    /// Whether it deletes or replaces what must not stay in the files of the database.
    erases: bool,
}

/// The statements of one transaction.
pub struct Batch {
    before: Vec<Statement>,
    /// The statement that must change a row. Otherwise nothing is done.
    deciding: Statement,
    then: Vec<Statement>,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// So many rows, by its deciding statement.
    Rows(u64),
    /// A foreign key was violated, and nothing was changed.
    ForeignKey,
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        // The integers of databases are signed; a moment beyond them is as good as never.
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
}

impl Statement {
    fn new(text: impl Into<String>, values: Vec<Value>) -> Self {
        Self {
            text: text.into(),
            values,
            erases: false,
        }
    }
}

impl Batch {
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "PostgreSQL clears its files by itself")
    )]
    fn erases(&self) -> bool {
        let all = self.before.iter().chain([&self.deciding]).chain(&self.then);
        all.into_iter().any(|statement| statement.erases)
    }
}
