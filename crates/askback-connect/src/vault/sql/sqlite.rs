//! A vault's records in an SQLite file.

use std::{
    fs::OpenOptions,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, Statement as Prepared, TransactionBehavior, types::ValueRef,
};
use tokio::sync::oneshot;

use super::schema::{self, Dialect, VERSION};
use super::{Batch, Changed, Statement, Value};
use crate::debug::debug_only;
use crate::vault::error::VaultError;
use crate::vault::store::{VaultFuture, VaultStore};

/// Keeps the vault's records in an SQLite file, which the processes of one machine share, or in memory.
///
/// The file is its owner's alone (0600), and is refused otherwise. Sealed secrets and keys that are deleted or replaced, and
/// lines of the audit that are purged, are overwritten in the file at once, and its log is emptied: the disk may hold what
/// was in that until the file system writes there. Where somebody is reading the file just then, both are done after the
/// next change. Lines of the audit that give way to newer lines are overwritten in the file, and leave its log with the next
/// such change. One thread does the work; what was begun is done even if its future is dropped, and dropping the vault
/// waits for it.
pub struct SqliteVault(Place);

enum Place {
    File {
        path: Arc<Path>,
        /// Taken when the vault is dropped, which ends the thread.
        jobs: Option<mpsc::Sender<Job>>,
        worker: Option<JoinHandle<()>>,
    },
    /// It waits for no disk, so the caller does the work.
    Memory(Mutex<File>),
}

type Job = Box<dyn FnOnce(&mut File) + Send>;

struct File {
    connection: Connection,
    /// Whether its log may hold what was taken out of it.
    is_log_due: bool,
}

/// How long one process waits for others to finish their transactions. SQLite has no queue for them, and on a slow disk with
/// many processes one may wait for long; an error would be worse.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a change waits for those who read the log of the file before it is emptied. A backup reads for longer.
const LOG_TIMEOUT: Duration = Duration::from_millis(100);

const DIALECT: Dialect = Dialect {
    text: "TEXT",
    bytes: "BLOB",
    number: "INTEGER",
    counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
    table: ") STRICT",
};

impl SqliteVault {
    /// Opens the file at `path`, which is made if it is not there. `:memory:` is [`SqliteVault::in_memory`], as in SQLite.
    ///
    /// Waits for the disk: not for an async task to call.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, is no database, is open to other users, or has tables of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, VaultError> {
        let path = path.as_ref();
        if path == Path::new(":memory:") {
            return Self::in_memory();
        }
        let opened = make(path).and_then(|()| connect(path));
        let mut file = File {
            connection: opened.map_err(|error| about(path, error))?,
            // A process that was cut off may have left its log.
            is_log_due: true,
        };
        let (jobs, queue) = mpsc::channel::<Job>();
        let worker = thread::Builder::new()
            .name("askback-vault".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job(&mut file)))
            .map_err(VaultError::store)?;
        Ok(Self(Place::File {
            path: path.into(),
            jobs: Some(jobs),
            worker: Some(worker),
        }))
    }

    /// Opens an empty vault in memory, which ends with the process: for tests, and for servers whose users may connect
    /// their accounts again after each start.
    ///
    /// # Errors
    ///
    /// If SQLite has no memory.
    pub fn in_memory() -> Result<Self, VaultError> {
        let file = File {
            connection: with_tables(Connection::open_in_memory()?)?,
            is_log_due: false,
        };
        Ok(Self(Place::Memory(Mutex::new(file))))
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut File) -> Result<T, VaultError> + Send + 'static,
    ) -> VaultFuture<'_, T> {
        let (path, jobs) = match &self.0 {
            Place::File { path, jobs, .. } => (Arc::clone(path), jobs),
            Place::Memory(file) => {
                return Box::pin(async move {
                    // Tests let other tasks run in between.
                    #[cfg(test)]
                    crate::vault::pause::pause_once().await;
                    work(&mut file.lock().unwrap_or_else(PoisonError::into_inner))
                });
            }
        };
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |file| {
            // Nobody may be waiting any more.
            let _ = reply.send(work(file).map_err(|error| about(&path, error)));
        });
        let stopped = || VaultError::store("its thread has stopped");
        let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        Box::pin(async move {
            match sent {
                true => result.await.map_err(|_| stopped())?,
                false => Err(stopped()),
            }
        })
    }
}

impl VaultStore for SqliteVault {
    fn turn(&self) -> Option<&'static str> {
        None
    }

    fn change(&self, batch: Batch) -> VaultFuture<'_, Changed> {
        self.run(move |file| match file.change(&batch) {
            Ok(rows) => Ok(Changed::Rows(rows)),
            Err(error) if is_foreign_key(&error) => Ok(Changed::ForeignKey),
            Err(error) => Err(error.into()),
        })
    }

    fn rows(&self, statement: Statement) -> VaultFuture<'_, Vec<Vec<Value>>> {
        self.run(move |file| {
            let mut prepared = file.connection.prepare(&statement.text)?;
            bind(&mut prepared, &statement.values)?;
            let columns = prepared.column_count();
            let mut found = Vec::new();
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|at| row.get_ref(at).map(value));
                found.push(values.collect::<Result<_, _>>()?);
            }
            Ok(found)
        })
    }
}

impl Drop for SqliteVault {
    fn drop(&mut self) {
        let Place::File { jobs, worker, .. } = &mut self.0 else {
            return;
        };
        *jobs = None;
        if let Some(worker) = worker.take() {
            // A panic of the thread has been reported where it happened.
            let _ = worker.join();
        }
    }
}

impl From<rusqlite::Error> for VaultError {
    fn from(error: rusqlite::Error) -> Self {
        Self::store(error)
    }
}

/// Has an error of the database name its file, and say what to do.
fn about(path: &Path, error: VaultError) -> VaultError {
    let VaultError::Store(why) = error else {
        return error;
    };
    let code = why
        .downcast_ref::<rusqlite::Error>()
        .and_then(rusqlite::Error::sqlite_error_code);
    let kind = why.downcast_ref::<io::Error>().map(io::Error::kind);
    let hint = match (code, kind) {
        (Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt), _) => {
            ". It is damaged, or no database: put a copy of it in its place, or move it away to begin with an empty vault"
        }
        (Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied), _)
        | (_, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)) => {
            ". The file and its folder must be writable for this process"
        }
        (_, Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)) => {
            ". The folder of the file must be there"
        }
        (Some(ErrorCode::DiskFull), _) => ". Make room on that disk",
        _ => "",
    };
    VaultError::store(format!("{}: {why}{hint}", path.display()))
}

/// Makes the file, unless it is there, and refuses it where others may read it. SQLite gives its side files the
/// permissions of the file.
fn make(path: &Path) -> Result<(), VaultError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(VaultError::store(error)),
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Looked at by name: to open and close the file here would drop the locks that another connection of this
        // process has on it.
        let metadata = path.metadata().map_err(VaultError::store)?;
        let mode = metadata.permissions().mode() & 0o777;
        // A folder cannot be opened.
        if metadata.is_file() && mode & 0o077 != 0 {
            let path = path.display();
            return Err(VaultError::store(format!(
                "it is open to other users (mode {mode:03o}). Run `chmod 600 {path}`"
            )));
        }
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, VaultError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    turn_to_wal(&connection)?;
    // A refresh token that is lost to a power failure cannot be had again.
    connection.pragma_update(None, "synchronous", "FULL")?;
    with_tables(connection)
}

fn with_tables(mut connection: Connection) -> Result<Connection, VaultError> {
    // Deleted records leave nothing in the pages of the file.
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if let Some(tables) = schema::missing(version, &DIALECT)? {
        transaction.execute_batch(&tables)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// SQLite lets one connection at a time do this, and has no other wait for it.
fn turn_to_wal(connection: &Connection) -> Result<(), rusqlite::Error> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        // Where the file system cannot do WAL, SQLite stays with its rollback journal.
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error) if is_busy(&error) && waited < BUSY_TIMEOUT => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn is_foreign_key(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

impl File {
    fn change(&mut self, batch: &Batch) -> Result<u64, rusqlite::Error> {
        let rows = changed(&mut self.connection, batch)?;
        self.is_log_due |= rows > 0 && batch.erases();
        if self.is_log_due {
            self.is_log_due = !self.has_emptied_log();
        }
        Ok(rows)
    }

    /// Has the file take over its log and empties that, which still holds what was taken out of the file. Returns whether
    /// nobody was reading there.
    fn has_emptied_log(&self) -> bool {
        let connection = &self.connection;
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let emptied = connection
            .busy_timeout(LOG_TIMEOUT)
            .and_then(|()| connection.query_row(checkpoint, [], |row| row.get(0)));
        // SQLite refuses no timeout. Without one, the next change would fail where another process is at work.
        let _ = connection.busy_timeout(BUSY_TIMEOUT);
        let is_busy = emptied.unwrap_or(true);
        !is_busy
    }
}

fn changed(connection: &mut Connection, batch: &Batch) -> Result<u64, rusqlite::Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let execute = |statement: &Statement| {
        let mut prepared = transaction.prepare(&statement.text)?;
        bind(&mut prepared, &statement.values)?;
        prepared.raw_execute()
    };
    for statement in &batch.before {
        execute(statement)?;
    }
    let rows = execute(&batch.deciding)?;
    if rows == 0 {
        return Ok(0);
    }
    for statement in &batch.then {
        execute(statement)?;
    }
    transaction.commit()?;
    Ok(rows as u64)
}

fn bind(prepared: &mut Prepared<'_>, values: &[Value]) -> Result<(), rusqlite::Error> {
    for (at, value) in values.iter().enumerate() {
        let index = at + 1;
        match value {
            Value::Text(text) => prepared.raw_bind_parameter(index, text)?,
            Value::Bytes(bytes) => prepared.raw_bind_parameter(index, bytes)?,
            Value::Number(number) => prepared.raw_bind_parameter(index, number)?,
            Value::Null => prepared.raw_bind_parameter(index, rusqlite::types::Null)?,
        }
    }
    Ok(())
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Number(number),
        // No column holds one.
        ValueRef::Real(_) => Value::Null,
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}

debug_only! {
    SqliteVault {}
}
