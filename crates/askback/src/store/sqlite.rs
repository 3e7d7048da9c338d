use std::path::Path;
use std::time::Duration;

use askback_core::limits::Limits;
use askback_sql::{
    Schema, SqlError, SqliteFile, SqliteSettings, make_tables,
    rusqlite::{
        self, Connection, OptionalExtension, Params, Transaction, TransactionBehavior, params,
        types::FromSql,
    },
};

use super::share::{self, Eviction, OVERHEAD, StoredBytes};
use super::{
    Claim, ClaimRequest, FlowId, Millis, Owner, PutRequest, Store, StoreError, StoreFuture, failed,
    lease_end,
};

/// A store in an SQLite file. The feature `sqlite` links the system's SQLite (3.37 or newer), or the one that another
/// crate of the program provides; `sqlite-bundled` builds its own.
///
/// All processes that open the same file share its claims, including later ones: claims survive a crash and a power
/// failure. The file is private to its owner (0600), because the values of commits are not encrypted.
///
/// If your effect is a change in your own SQLite database, keep the claims in the same database
/// ([`create_tables`](Self::create_tables)), and write claim, effect and value in one transaction
/// ([`Ctx::commit_in`](crate::Ctx::commit_in)): they are committed together or not at all, and no outcome is ever
/// unknown.
///
/// The store holds at most [`limits.asking.store_bytes`](crate::limits::AskingLimits::store_bytes) of claims and as
/// many of states, unless it is opened with [another limit](Self::open_with). The file grows to about twice that, and
/// does not shrink.
///
/// The store has its own thread. Work that has begun finishes even if its future is dropped, and dropping the store
/// waits for it. A store at the path `:memory:` is in memory, for tests, and its caller's thread does the work.
pub struct SqliteStore {
    file: SqliteFile,
    max_bytes: usize,
}

/// The tables of a store. They can also be in an author's own database.
const STORE: Schema = Schema {
    name: "store",
    version: 1,
    tables: |_| {
        let tables = Table::ALL.map(Table::triggers).concat();
        format!("{TABLES}{tables}")
    },
    remedy: REMEDY,
};

/// The tables of a journal. They are never in an author's database.
#[cfg(feature = "http-server")]
const JOURNAL: Schema = Schema {
    name: "journal",
    version: 3,
    tables: |_| {
        let triggers = [Table::Calls, Table::Sessions].map(Table::triggers);
        format!("{JOURNAL_TABLES}{}", triggers.concat())
    },
    remedy: REMEDY,
};

const REMEDY: &str = "move the file away. What waits for an answer in it is lost, and an effect that it remembers may \
     happen again if a client repeats an old call";

const SETTINGS: SqliteSettings = SqliteSettings {
    #[cfg(feature = "http-server")]
    schemas: &[STORE, JOURNAL],
    #[cfg(not(feature = "http-server"))]
    schemas: &[STORE],
    // A journal renews leases of 10 s in this file.
    busy: Duration::from_secs(5),
    erases: false,
};

const TABLES: &str = "
    CREATE TABLE askback_commits (
        flow BLOB NOT NULL,
        name TEXT NOT NULL,
        owner BLOB NOT NULL,
        lease_end INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        size INTEGER NOT NULL,
        value_bytes INTEGER NOT NULL,
        value BLOB,
        PRIMARY KEY (flow, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX askback_commits_expires ON askback_commits (expires);

    CREATE TABLE askback_states (
        id BLOB NOT NULL PRIMARY KEY,
        owner BLOB NOT NULL,
        expires INTEGER NOT NULL,
        size INTEGER NOT NULL,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX askback_states_expires ON askback_states (expires);
    CREATE INDEX askback_states_owner ON askback_states (owner, expires);

    -- The sizes of either table summed up, by owner and, under the owner x'00', in all.
    CREATE TABLE askback_held (
        kind TEXT NOT NULL,
        owner BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (kind, owner)
    ) STRICT, WITHOUT ROWID;
";

/// The tables of the [journal](crate::journal) in the same file.
#[cfg(feature = "http-server")]
const JOURNAL_TABLES: &str = "
    CREATE TABLE askback_calls (
        id BLOB NOT NULL PRIMARY KEY,
        session BLOB NOT NULL,
        request BLOB NOT NULL,
        owner BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        node BLOB,
        lease INTEGER,
        wake INTEGER,
        is_over INTEGER NOT NULL,
        next_event INTEGER NOT NULL,
        size INTEGER NOT NULL,
        record BLOB NOT NULL,
        status BLOB,
        expires INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX askback_calls_session ON askback_calls (session);
    CREATE INDEX askback_calls_owner ON askback_calls (owner, size);
    CREATE INDEX askback_calls_expires ON askback_calls (expires);
    CREATE INDEX askback_calls_wake ON askback_calls (wake)
        WHERE node IS NULL AND wake IS NOT NULL;
    CREATE INDEX askback_calls_lease ON askback_calls (lease) WHERE node IS NOT NULL;

    CREATE TABLE askback_answers (
        call BLOB NOT NULL REFERENCES askback_calls ON DELETE CASCADE,
        ask INTEGER NOT NULL,
        reply BLOB,
        PRIMARY KEY (call, ask)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE askback_events (
        call BLOB NOT NULL REFERENCES askback_calls ON DELETE CASCADE,
        number INTEGER NOT NULL,
        ask INTEGER,
        message BLOB NOT NULL,
        PRIMARY KEY (call, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE askback_hints (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        session BLOB,
        hint BLOB NOT NULL
    ) STRICT;

    CREATE TABLE askback_processes (
        id BLOB NOT NULL PRIMARY KEY,
        expires INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE askback_sessions (
        id BLOB NOT NULL PRIMARY KEY,
        owner BLOB NOT NULL,
        size INTEGER NOT NULL,
        ended_at INTEGER,
        note BLOB,
        expires INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX askback_sessions_owner ON askback_sessions (owner, expires);
    CREATE INDEX askback_sessions_ended ON askback_sessions (ended_at)
        WHERE ended_at IS NOT NULL;
";

/// Keeps `askback_held` in step with a table. KIND stands for the table's name.
const TRIGGERS: &str = "
    CREATE TRIGGER askback_KIND_inserted AFTER INSERT ON askback_KIND BEGIN
        INSERT INTO askback_held (kind, owner, bytes)
            VALUES ('KIND', NEW.owner, NEW.size), ('KIND', x'00', NEW.size)
            ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
    END;
    CREATE TRIGGER askback_KIND_resized AFTER UPDATE OF size ON askback_KIND BEGIN
        UPDATE askback_held SET bytes = bytes - OLD.size + NEW.size
            WHERE kind = 'KIND' AND owner IN (NEW.owner, x'00');
    END;
    CREATE TRIGGER askback_KIND_deleted AFTER DELETE ON askback_KIND BEGIN
        UPDATE askback_held SET bytes = bytes - OLD.size
            WHERE kind = 'KIND' AND owner IN (OLD.owner, x'00');
        DELETE FROM askback_held WHERE kind = 'KIND' AND owner = OLD.owner AND bytes <= 0;
    END;
";

#[derive(Clone, Copy)]
pub(crate) enum Table {
    Commits,
    States,
    #[cfg(feature = "http-server")]
    Calls,
    #[cfg(feature = "http-server")]
    Sessions,
    #[cfg(feature = "http-server")]
    Processes,
}

impl Table {
    const ALL: [Self; 2] = [Self::Commits, Self::States];

    fn triggers(self) -> String {
        TRIGGERS.replace("KIND", self.kind())
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Commits => "commits",
            Self::States => "states",
            #[cfg(feature = "http-server")]
            Self::Calls => "calls",
            #[cfg(feature = "http-server")]
            Self::Sessions => "sessions",
            #[cfg(feature = "http-server")]
            Self::Processes => "processes",
        }
    }

    pub(crate) fn purge(
        self,
        transaction: &Transaction<'_>,
        now: Millis,
    ) -> Result<usize, StoreError> {
        let delete = match self {
            Self::Commits => "DELETE FROM askback_commits WHERE expires <= ?1",
            Self::States => "DELETE FROM askback_states WHERE expires <= ?1",
            #[cfg(feature = "http-server")]
            Self::Calls => {
                "DELETE FROM askback_calls WHERE expires <= ?1 AND (node IS NULL OR lease <= ?1)"
            }
            #[cfg(feature = "http-server")]
            Self::Sessions => "DELETE FROM askback_sessions WHERE expires <= ?1",
            #[cfg(feature = "http-server")]
            Self::Processes => "DELETE FROM askback_processes WHERE expires <= ?1",
        };
        Ok(transaction.execute(delete, [integer(now)])?)
    }

    pub(crate) fn held(
        self,
        transaction: &Transaction<'_>,
        owner: Option<Owner>,
    ) -> Result<StoredBytes, StoreError> {
        let bytes = |owner: &[u8]| {
            let bytes: Option<i64> = find(
                transaction,
                "SELECT bytes FROM askback_held WHERE kind = ?1 AND owner = ?2",
                params![self.kind(), owner],
            )?;
            Ok::<_, StoreError>(usize::try_from(bytes.unwrap_or(0)).unwrap_or(0))
        };
        Ok(StoredBytes {
            in_all: bytes(&[0])?,
            by_owner: owner.map(|owner| bytes(&owner.0)).transpose()?,
        })
    }
}

impl SqliteStore {
    /// Opens the store in the file at `path`, and creates the file if it does not exist.
    ///
    /// Blocks on disk access, so do not call it in an async task.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or opened, is not a database, or is open to other users.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, Limits::default().asking.store_bytes)
    }

    /// Like [`SqliteStore::open`], with another limit on the bytes of claims, and the same limit on the bytes of
    /// states. All processes that share the file should use the same limit.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub fn open_with(path: impl AsRef<Path>, max_bytes: usize) -> Result<Self, StoreError> {
        let file = SqliteFile::open(path.as_ref(), SETTINGS)?;
        Ok(Self { file, max_bytes })
    }

    /// Creates the store's tables in your own database, if they do not exist. Their names begin with `askback_`.
    ///
    /// # Errors
    ///
    /// If the tables exist in another version, or if SQLite fails.
    pub fn create_tables(connection: &Connection) -> Result<(), StoreError> {
        Ok(make_tables(connection, &[STORE])?)
    }

    /// Makes a [claim](Store::claim) within your own transaction, in a database that holds at most `max_bytes` of
    /// claims. [`Ctx::commit_in`](crate::Ctx::commit_in) does this for handlers.
    ///
    /// The claim exists once the transaction is committed; a rollback removes it without a trace. Begin the transaction
    /// as immediate: SQLite does not let a transaction that has read start to write if another connection wrote in
    /// between.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::claim`] and of SQLite.
    pub fn claim_in(
        transaction: &Transaction<'_>,
        commit: &ClaimRequest<'_>,
        max_bytes: usize,
    ) -> Result<Claim, StoreError> {
        let known = transaction
            .query_row(
                "SELECT value, lease_end > ?3 FROM askback_commits WHERE flow = ?1 AND name = ?2",
                params![commit.flow.0, commit.name, integer(commit.now)],
                |row| {
                    Ok(match (row.get(0)?, row.get(1)?) {
                        (Some(value), _) => Claim::Done(value),
                        (None, true) => Claim::Busy,
                        (None, false) => Claim::Abandoned,
                    })
                },
            )
            .optional()?;
        if let Some(claim) = known {
            return Ok(claim);
        }
        Table::Commits.purge(transaction, commit.now)?;
        let size = (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes);
        let held = Table::Commits.held(transaction, commit.owner)?;
        share::admit_claim(held, size, max_bytes)?;
        transaction.execute(
            "INSERT INTO askback_commits
                 (flow, name, owner, lease_end, expires, size, value_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                commit.flow.0,
                commit.name,
                blob(commit.owner.as_ref()),
                integer(lease_end(commit.now, commit.lease)),
                integer(commit.expires),
                count(size),
                count(commit.value_bytes),
            ],
        )?;
        Ok(Claim::Granted)
    }

    /// [Finishes](Store::finish) a claim within your own transaction.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::finish`] and of SQLite.
    pub fn finish_in(
        transaction: &Transaction<'_>,
        flow: FlowId,
        name: &str,
        value: &[u8],
    ) -> Result<(), StoreError> {
        let claim = transaction
            .query_row(
                "SELECT value = ?3, value_bytes FROM askback_commits WHERE flow = ?1 AND name = ?2",
                params![flow.0, name, value],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let set_aside: i64 = match claim {
            None => return Err(StoreError::Unclaimed),
            Some((Some(true), _)) => return Ok(()),
            Some((Some(false), _)) => return Err(StoreError::Finished),
            Some((None, value_bytes)) => value_bytes,
        };
        if count(value.len()) > set_aside {
            return Err(StoreError::TooLong {
                max_bytes: usize::try_from(set_aside).unwrap_or(0),
            });
        }
        transaction.execute(
            "UPDATE askback_commits SET value = ?3, size = size - value_bytes + ?4, value_bytes = ?4
             WHERE flow = ?1 AND name = ?2",
            params![flow.0, name, value, count(value.len())],
        )?;
        Ok(())
    }

    fn put_in(
        transaction: &Transaction<'_>,
        state: &PutRequest<'_>,
        max_bytes: usize,
    ) -> Result<(), StoreError> {
        let lengthened = transaction.execute(
            "UPDATE askback_states SET expires = max(expires, ?2) WHERE id = ?1",
            params![state.id, integer(state.expires)],
        )?;
        if lengthened > 0 {
            return Ok(());
        }
        Table::States.purge(transaction, state.now)?;
        let size = OVERHEAD + state.bytes.len();
        loop {
            let held = Table::States.held(transaction, state.owner)?;
            let of = match share::admit_state(held, size, max_bytes)? {
                Eviction::None => break,
                Eviction::OfOwner => blob(state.owner.as_ref()).to_vec(),
                Eviction::OfLargest => transaction.query_row(
                    "SELECT owner FROM askback_held WHERE kind = 'states' AND owner <> x'00'
                     ORDER BY bytes DESC LIMIT 1",
                    [],
                    |row| row.get(0),
                )?,
            };
            let gone = transaction.execute(
                "DELETE FROM askback_states WHERE id =
                     (SELECT id FROM askback_states WHERE owner = ?1 ORDER BY expires LIMIT 1)",
                [of],
            )?;
            // An owner with bytes has a state, unless the sums were changed by hand.
            if gone == 0 {
                break;
            }
        }
        transaction.execute(
            "INSERT INTO askback_states (id, owner, expires, size, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                state.id,
                blob(state.owner.as_ref()),
                integer(state.expires),
                count(size),
                state.bytes,
            ],
        )?;
        Ok(())
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
        .await
    }

    /// Starts `work` on the store's thread, and does not wait for it.
    #[cfg(feature = "http-server")]
    pub(crate) fn begin(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<(), StoreError> + Send + 'static,
    ) {
        self.file.begin(move |connection| {
            if let Err(error) = work(connection) {
                tracing::debug!(%error, "a hint could not be written down");
            }
        });
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.file.run(work).await
    }
}

askback_core::debug_only!(SqliteStore {});

impl Store for SqliteStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        let ClaimRequest {
            owner,
            flow,
            name,
            value_bytes,
            now,
            lease,
            expires,
        } = commit;
        // The thread's work may outlive the request.
        let (name, max_bytes) = (name.to_owned(), self.max_bytes);
        Box::pin(self.write(move |transaction| {
            let commit = ClaimRequest {
                owner,
                flow,
                name: &name,
                value_bytes,
                now,
                lease,
                expires,
            };
            Self::claim_in(transaction, &commit, max_bytes)
        }))
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        let (name, value) = (name.to_owned(), value.to_owned());
        Box::pin(self.write(move |transaction| Self::finish_in(transaction, flow, &name, &value)))
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        let PutRequest {
            owner,
            id,
            bytes,
            now,
            expires,
        } = state;
        let (bytes, max_bytes) = (bytes.to_owned(), self.max_bytes);
        Box::pin(self.write(move |transaction| {
            let state = PutRequest {
                owner,
                id,
                bytes: &bytes,
                now,
                expires,
            };
            Self::put_in(transaction, &state, max_bytes)
        }))
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.run(move |connection| {
            let select = "SELECT bytes FROM askback_states WHERE id = ?1";
            Ok(find(connection, select, [id])?)
        }))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(self.write(move |transaction| {
            let mut removed = 0;
            for table in Table::ALL {
                removed += table.purge(transaction, now)?;
            }
            Ok(removed)
        }))
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        Self::Failed(error.into_inner())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        failed(error)
    }
}

/// Returns the first column of the row, if there is one.
pub(crate) fn find<T: FromSql>(
    connection: &Connection,
    select: &str,
    params: impl Params,
) -> rusqlite::Result<Option<T>> {
    let found = connection.query_row(select, params, |row| row.get(0));
    found.optional()
}

/// SQLite's integers are signed. A time that does not fit is treated as never.
pub(crate) fn integer(time: Millis) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

pub(crate) fn count(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Returns an owner's bytes, which are empty without an owner.
pub(crate) fn blob(owner: Option<&Owner>) -> &[u8] {
    owner.map_or(&[], |owner| &owner.0)
}

#[cfg(all(test, feature = "http-server"))]
mod tests {
    use askback_sql::Dialect;
    use sha2::{Digest, Sha256};

    use super::*;

    /// Without a new version, a file with the old tables fails at its first statement.
    #[test]
    fn changed_tables_have_a_new_version() {
        // These tables are only for SQLite.
        let dialect = Dialect {
            text: "",
            bytes: "",
            number: "",
            counter: "",
            table: "",
        };
        for (schema, pinned) in [
            (STORE, (1, 0x7008_e8b6_d4fc_bf20)),
            (JOURNAL, (3, 0xef01_24a7_74b5_c720)),
        ] {
            let digest = Sha256::digest((schema.tables)(&dialect));
            let digest = u64::from_be_bytes(*digest.first_chunk().expect("32 bytes"));
            assert!(
                (schema.version, digest) == pinned,
                "the tables of the {} changed: raise `version`, and write it and {digest:#018x} here",
                schema.name,
            );
        }
    }
}
