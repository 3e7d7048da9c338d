//! The databases of askback's stores: an SQLite file, shared by the processes of one machine, or PostgreSQL.
//!
//! Each change is a [`Batch`]: if its deciding statement changes no row, the transaction is rolled back. Statements are
//! written once, with a `?` for each value, in SQL that both databases understand.

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
pub use postgres::{Postgres, PostgresListener, PostgresSettings};
#[cfg(feature = "sqlite")]
pub use rusqlite;
pub use schema::{Dialect, Schema};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteFile, SqliteSettings, make_tables};

/// The future that a database method returns.
pub type SqlFuture<'a, T> = BoxFuture<'a, Result<T, SqlError>>;

/// A database for a store.
pub trait Database: Send + Sync + 'static {
    /// Returns the statement that takes the lock with the name `?` until the end of its transaction; `None` if the
    /// database has only one writer at a time and needs no lock.
    fn lock(&self) -> Option<&'static str>;

    /// Runs a batch in one transaction.
    fn change(&self, batch: Batch) -> SqlFuture<'_, BatchOutcome>;

    /// Runs a statement, which may change rows, and returns its rows.
    fn rows(&self, statement: Statement) -> SqlFuture<'_, Vec<Vec<Value>>>;
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An integer. A boolean is 0 or 1.
    Number(i64),
    /// No value.
    Null,
}

/// A statement with a `?` for each of its values.
pub struct Statement {
    /// The SQL text.
    pub text: String,
    /// The values, in order.
    pub values: Vec<Value>,
    /// Whether it deletes or replaces data that must not remain in the database's files.
    pub erases: bool,
}

/// The statements of one transaction.
pub struct Batch {
    /// The statements before the deciding one.
    pub before: Vec<Statement>,
    /// The statement that must change a row. If it does not, nothing is changed.
    pub deciding: Statement,
    /// The statements after the deciding one.
    pub then: Vec<Statement>,
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    /// The number of rows that the deciding statement changed.
    Rows(u64),
    /// A foreign key was violated, and nothing was changed.
    ForeignKey,
}

/// Why a database operation failed. The message says what an operator can do about it.
#[derive(Debug)]
pub struct SqlError {
    inner: Box<dyn Error + Send + Sync>,
    is_disconnected: bool,
}

impl SqlError {
    /// Creates an error from a message or another library's error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            inner: error.into(),
            is_disconnected: false,
        }
    }

    /// Creates the error of an operation whose connection is lost, or that got none.
    #[cfg(feature = "postgres")]
    fn disconnected(why: String) -> Self {
        Self {
            is_disconnected: true,
            ..Self::new(why)
        }
    }

    /// Whether the database could not be reached, did not answer in time, or closed the connection, or no connection
    /// became free in time. The same operation may succeed later. A refused user or statement is another kind of error.
    ///
    /// If the connection was lost during a statement, PostgreSQL may have carried the statement out.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.is_disconnected
    }

    /// Returns the underlying error.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.inner
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Error for SqlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source()
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        // The databases' integers are signed. A time that does not fit is treated as never.
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
}

impl Statement {
    /// Creates a statement that erases nothing.
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
    fn erases(&self) -> bool {
        let all = self.before.iter().chain([&self.deciding]).chain(&self.then);
        all.into_iter().any(|statement| statement.erases)
    }
}
