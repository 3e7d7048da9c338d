//! The tables, and functions that read their rows.

use askback::{
    journal::{Millis, Owner},
    store::share::StoredBytes,
};
use askback_sql::{
    Schema,
    deadpool_postgres::GenericClient,
    tokio_postgres::{Error, Row, Transaction, types::ToSql},
};

use crate::failure::Failure;

pub(crate) const SCHEMA: Schema = Schema {
    name: "fleet",
    version: 4,
    tables: |dialect| dialect.write(TABLES),
    remedy: "move them to another schema. What waits for an answer in them is lost, and an effect that they remember may \
         happen again if a client repeats an old call",
};

const TABLES: &str = "
    CREATE TABLE askback_commits (
        flow BYTES NOT NULL,
        -- In bytes: a name may have a NUL, which no text of PostgreSQL has.
        name BYTES NOT NULL,
        owner BYTES NOT NULL,
        lease_end NUMBER NOT NULL,
        expires NUMBER NOT NULL,
        size NUMBER NOT NULL,
        value_bytes NUMBER NOT NULL,
        value BYTES,
        PRIMARY KEY (flow, name)
    )TABLE;
    CREATE INDEX ON askback_commits (expires);
    CREATE INDEX ON askback_commits (owner, size);

    CREATE TABLE askback_states (
        id BYTES PRIMARY KEY,
        owner BYTES NOT NULL,
        expires NUMBER NOT NULL,
        size NUMBER NOT NULL,
        bytes BYTES NOT NULL
    )TABLE;
    CREATE INDEX ON askback_states (expires);
    CREATE INDEX ON askback_states (owner, expires, size);

    CREATE TABLE askback_calls (
        id BYTES PRIMARY KEY,
        session BYTES NOT NULL,
        request BYTES NOT NULL,
        owner BYTES NOT NULL,
        epoch NUMBER NOT NULL,
        -- Grows with each change of the record or the answers, so that a statement notices one that it does not see.
        changes NUMBER NOT NULL,
        node BYTES,
        lease NUMBER,
        wake NUMBER,
        is_over BOOLEAN NOT NULL,
        next_event NUMBER NOT NULL,
        size NUMBER NOT NULL,
        record BYTES NOT NULL,
        status BYTES,
        expires NUMBER NOT NULL
    )TABLE;
    CREATE INDEX ON askback_calls (session);
    CREATE INDEX ON askback_calls (owner, size);
    CREATE INDEX ON askback_calls (expires);
    CREATE INDEX ON askback_calls (wake) WHERE node IS NULL AND wake IS NOT NULL;
    CREATE INDEX ON askback_calls (lease) WHERE node IS NOT NULL;

    CREATE TABLE askback_answers (
        call BYTES NOT NULL REFERENCES askback_calls ON DELETE CASCADE,
        ask NUMBER NOT NULL,
        reply BYTES,
        PRIMARY KEY (call, ask)
    )TABLE;

    CREATE TABLE askback_events (
        call BYTES NOT NULL REFERENCES askback_calls ON DELETE CASCADE,
        number NUMBER NOT NULL,
        ask NUMBER,
        message BYTES NOT NULL,
        PRIMARY KEY (call, number)
    )TABLE;

    CREATE TABLE askback_sessions (
        id BYTES PRIMARY KEY,
        owner BYTES NOT NULL,
        size NUMBER NOT NULL,
        ended_at NUMBER,
        note BYTES,
        expires NUMBER NOT NULL
    )TABLE;
    CREATE INDEX ON askback_sessions (owner, expires, size);
    CREATE INDEX ON askback_sessions (expires);
    CREATE INDEX ON askback_sessions (ended_at) WHERE ended_at IS NOT NULL;

    CREATE TABLE askback_processes (
        id BYTES PRIMARY KEY,
        expires NUMBER NOT NULL
    )TABLE;
";

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Runs statements: on a connection of the pool or in its transaction, which prepare each statement once, or in the
/// author's transaction, which may be on any connection.
pub(crate) trait Statements: Sync {
    fn execute(
        &self,
        text: &str,
        values: Values<'_>,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    fn rows(
        &self,
        text: &str,
        values: Values<'_>,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;
}

impl<C: GenericClient> Statements for C {
    async fn execute(&self, text: &str, values: Values<'_>) -> Result<u64, Error> {
        let statement = self.prepare_cached(text).await?;
        GenericClient::execute(self, &statement, values).await
    }

    async fn rows(&self, text: &str, values: Values<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.prepare_cached(text).await?;
        self.query(&statement, values).await
    }
}

pub(crate) struct AuthorTransaction<'a>(pub(crate) &'a Transaction<'a>);

impl Statements for AuthorTransaction<'_> {
    async fn execute(&self, text: &str, values: Values<'_>) -> Result<u64, Error> {
        self.0.execute(text, values).await
    }

    async fn rows(&self, text: &str, values: Values<'_>) -> Result<Vec<Row>, Error> {
        self.0.query(text, values).await
    }
}

pub(crate) async fn execute(
    client: &impl Statements,
    text: &str,
    values: Values<'_>,
) -> Result<u64, Failure> {
    Ok(client.execute(text, values).await?)
}

pub(crate) async fn rows(
    client: &impl Statements,
    text: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, Failure> {
    Ok(client.rows(text, values).await?)
}

/// Returns the first row.
pub(crate) async fn row(
    client: &impl Statements,
    text: &str,
    values: Values<'_>,
) -> Result<Option<Row>, Failure> {
    Ok(client.rows(text, values).await?.into_iter().next())
}

/// Returns the bytes in a table, in all and of an owner.
pub(crate) async fn held(
    client: &impl Statements,
    table: &str,
    owner: Option<Owner>,
) -> Result<StoredBytes, Failure> {
    let select = format!(
        "SELECT coalesce(sum(size), 0)::bigint, coalesce(sum(size) FILTER (WHERE owner = $1), 0)::bigint FROM {table}"
    );
    let found = row(client, &select, &[&blob(owner.as_ref())]).await?;
    let (in_all, of_owner): (i64, i64) = match found {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (0, 0),
    };
    let bytes = |count| usize::try_from(count).unwrap_or(0);
    Ok(StoredBytes {
        in_all: bytes(in_all),
        by_owner: owner.map(|_| bytes(of_owner)),
    })
}

/// Returns the bytes of an owner in a table.
pub(crate) async fn held_by(
    client: &impl Statements,
    table: &str,
    owner: Option<Owner>,
) -> Result<Option<usize>, Failure> {
    let Some(owner) = owner else { return Ok(None) };
    let select = format!("SELECT coalesce(sum(size), 0)::bigint FROM {table} WHERE owner = $1");
    let found = row(client, &select, &[&blob(Some(&owner))]).await?;
    let bytes: i64 = found.map_or(Ok(0), |row| row.try_get(0))?;
    Ok(Some(usize::try_from(bytes).unwrap_or(0)))
}

/// PostgreSQL's integers are signed. A time that does not fit is treated as never.
pub(crate) fn integer(time: Millis) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

pub(crate) fn count(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The column of an owner. An unknown owner is empty.
pub(crate) fn blob(owner: Option<&Owner>) -> &[u8] {
    owner.map_or(&[], |owner| &owner.0)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Without a new version, a database with the old tables fails at its first statement.
    #[test]
    fn changed_tables_have_a_new_version() {
        let digest = Sha256::digest(TABLES);
        let digest = u64::from_be_bytes(*digest.first_chunk().expect("32 bytes"));
        assert!(
            (SCHEMA.version, digest) == (4, 0x37fe_f2e2_9e8a_55e5),
            "the tables changed: raise `version`, and write it and {digest:#018x} here",
        );
    }
}
