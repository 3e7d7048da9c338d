//! The databases of askback's stores: an SQLite file, which the processes of one machine share, or PostgreSQL.
//!
//! Each change is a [`Batch`]: if its deciding statement changes no row, the transaction is rolled back. Statements are
//! written once, with a `?` for each value, in words that both databases understand.

#[cfg(feature = "postgres")]
mod postgres;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::{error::Error, fmt};

use askback_core::future::BoxFuture;

#[cfg(feature = "postgres")]
pub use deadpool_postgres::{self, tokio_postgres};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresSettings};
#[cfg(feature = "sqlite")]
pub use rusqlite;
pub use schema::{Dialect, Schema};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteFile, SqliteSettings, make_tables};

/// The future of a database's method.
pub type SqlFuture<'a, T> = BoxFuture<'a, Result<T, SqlError>>;

/// A database, as a store uses it.
pub trait Database: Send + Sync + 'static {
    /// Returns the statement that takes the lock with the name `?` until the end of its transaction. `None` if the
    /// database has one writer at a time and needs no lock.
    fn lock(&self) -> Option<&'static str>;

    /// Does a batch in one transaction.
    fn change(&self, batch: Batch) -> SqlFuture<'_, BatchOutcome>;

    /// Returns the rows of a statement, which may change them.
    fn rows(&self, statement: Statement) -> SqlFuture<'_, Vec<Vec<Value>>>;
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An integer. A truth is 0 or 1.
    Number(i64),
    /// None.
    Null,
}

/// A statement with a `?` for each of its values.
pub struct Statement {
    /// The statement.
    pub text: String,
    /// Its values, in order.
    pub values: Vec<Value>,
    /// Whether it deletes or replaces what must not stay in the files of the database.
    pub erases: bool,
}

/// The statements of one transaction.
pub struct Batch {
    /// The statements before it.
    pub before: Vec<Statement>,
    /// The statement that must change a row. Otherwise nothing is done.
    pub deciding: Statement,
    /// The statements after it.
    pub then: Vec<Statement>,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    /// The deciding statement changed so many rows.
    Rows(u64),
    /// A foreign key was violated, and nothing was changed.
    ForeignKey,
}

/// Why a database did not do what it was to do. It says what an operator can do about it.
#[derive(Debug)]
pub struct SqlError(Box<dyn Error + Send + Sync>);

impl SqlError {
    /// An error of these words, or of another library.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The error below.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SqlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
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
    /// A statement that erases nothing.
    pub fn new(text: impl Into<String>, values: Vec<Value>) -> Self {
        Self {
            text: text.into(),
            values,
            erases: false,
        }
    }
}

#[cfg(feature = "sqlite")]
impl Batch {
    /// Whether any of its statements erases something.
    fn erases(&self) -> bool {
        let all = self.before.iter().chain([&self.deciding]).chain(&self.then);
        all.into_iter().any(|statement| statement.erases)
    }
}
