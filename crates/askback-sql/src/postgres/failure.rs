//! The causes of an error, and what to do about each.

use std::{error::Error as _, io, time::Duration};

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::{Error, error::SqlState};

use crate::SqlError;

pub(super) fn unconnected(error: PoolError, size: usize, wait: Duration) -> SqlError {
    match error {
        PoolError::Timeout(TimeoutType::Wait) => SqlError::disconnected(format!(
            "all {size} connections to PostgreSQL have been in use for {wait:?}: raise `PostgresSettings::connections`"
        )),
        PoolError::Timeout(_) => unreachable(&format!("no answer for {wait:?}")),
        PoolError::Backend(error) => match refused(&error) {
            Some(refused) => refused,
            None if error.to_string().contains("TLS") => untrusted(&cause(&error)),
            None => unreachable(&cause(&error)),
        },
        error => SqlError::new(error.to_string()),
    }
}

pub(super) fn failed(error: &Error) -> SqlError {
    match refused(error) {
        Some(refused) => refused,
        None if error.is_closed() || is_io(error) => lost(&cause(error)),
        None => SqlError::new(cause(error)),
    }
}

pub(super) fn silent(wait: Duration) -> SqlError {
    lost(&format!("no answer for {wait:?}"))
}

/// Returns PostgreSQL's own message. It names users, databases and tables, but contains no values.
fn refused(error: &Error) -> Option<SqlError> {
    let refusal = error.as_db_error()?;
    let said = refusal.message();
    Some(SqlError::new(match *refusal.code() {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            format!(
                "PostgreSQL refuses the user ({said}): correct the connection string, or pg_hba.conf"
            )
        }
        SqlState::INVALID_CATALOG_NAME => {
            format!(
                "PostgreSQL has no such database ({said}): create it, or correct the connection string"
            )
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            format!(
                "PostgreSQL refuses this to the user ({said}): grant it, or connect as another user"
            )
        }
        SqlState::INVALID_SCHEMA_NAME => {
            format!(
                "PostgreSQL has no place for the tables ({said}): create a schema of the search path"
            )
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => {
            format!("PostgreSQL is read-only ({said}): connect to the primary server")
        }
        SqlState::TOO_MANY_CONNECTIONS => format!(
            "PostgreSQL has too many connections ({said}): lower `PostgresSettings::connections`, or raise max_connections"
        ),
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            return Some(lost(said));
        }
        ref code => format!("PostgreSQL failed ({said}; SQLSTATE {})", code.code()),
    }))
}

pub(super) fn lost(why: &str) -> SqlError {
    SqlError::disconnected(format!(
        "the connection to PostgreSQL is lost ({why}): the next call connects again"
    ))
}

fn unreachable(why: &str) -> SqlError {
    SqlError::disconnected(format!(
        "PostgreSQL cannot be reached ({why}): check that it runs, and host and port of the connection string"
    ))
}

fn untrusted(why: &str) -> SqlError {
    SqlError::new(format!(
        "PostgreSQL cannot be reached by TLS ({why}): give it a certificate for its host, and its authority to \
         `PostgresSettings::authorities`, or write sslmode=disable where the network is trusted"
    ))
}

/// Returns the cause of a client error, whose own message only says that it failed.
fn cause(error: &Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), |source| source.to_string())
}

fn is_io(error: &Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<io::Error>())
}
