//! The error type of all work in a transaction.

use askback::journal::StoreError;
use askback_sql::{SqlError, tokio_postgres};

pub(crate) struct Failure(pub(crate) StoreError);

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        let kind = match error.is_disconnected() {
            true => StoreError::Unreachable,
            false => StoreError::Failed,
        };
        Self(kind(error.into_inner()))
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        SqlError::from(error).into()
    }
}
