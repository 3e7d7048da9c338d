use std::{
    fs::OpenOptions,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Statement as Prepared, Transaction,
    TransactionBehavior, types::ValueRef,
};
use tokio::sync::oneshot;

use crate::{
    Batch, BatchOutcome, Database, Dialect, Schema, SqlError, SqlFuture, Statement, Value,
};

/// A database in an SQLite file, shared by the processes of one machine, or in memory.
///
/// The file is private to its owner (0600); a file that is open to others is refused. The database has its own thread.
/// It finishes work even if the future is dropped, and dropping the database waits for it.
pub struct SqliteFile(Place);

enum Place {
    File {
        path: Arc<Path>,
        /// Taken on drop, which ends the thread.
        jobs: Option<mpsc::Sender<Job>>,
        worker: Option<JoinHandle<()>>,
    },
    /// In memory there is no disk to wait for, so the caller's thread does the work.
    Memory(Mutex<File>),
}

type Job = Box<dyn FnOnce(&mut File) + Send>;

struct File {
    connection: Connection,
    settings: SqliteSettings,
    /// Whether the log may still contain erased rows.
    is_log_due: bool,
}

/// A store's requirements for its file.
#[derive(Clone, Copy)]
pub struct SqliteSettings {
    /// The tables to create if they do not exist.
    pub schemas: &'static [Schema],
    /// How long to wait for other processes' transactions.
    pub busy: Duration,
    /// Whether deleted data is overwritten in the file, and its log is truncated after statements that
    /// [erase](Statement::erases). While another process reads the file, the log waits for the next change.
    pub erases: bool,
}

/// How long a change waits for readers of the log before it gives up truncating it. A backup reads for longer.
const LOG_TIMEOUT: Duration = Duration::from_millis(100);

const DIALECT: Dialect = Dialect {
    text: "TEXT",
    bytes: "BLOB",
    number: "INTEGER",
    counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
    table: ") STRICT",
};

impl SqliteFile {
    /// Opens the file at `path`, and creates it if it does not exist. `:memory:` means [`SqliteFile::in_memory`], as in
    /// SQLite.
    ///
    /// Blocks on disk access, so do not call it in an async task.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a database, is open to other users, or has tables of another version.
    pub fn open(path: &Path, settings: SqliteSettings) -> Result<Self, SqlError> {
        if path == Path::new(":memory:") {
            return Self::in_memory(settings);
        }
        let opened = make(path).and_then(|()| connect(path, settings));
        let mut file = File {
            connection: opened.map_err(|error| about(path, error))?,
            settings,
            // A process that was killed may have left its log.
            is_log_due: settings.erases,
        };
        let (jobs, queue) = mpsc::channel::<Job>();
        let worker = thread::Builder::new()
            .name("askback-sqlite".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job(&mut file)))
            .map_err(SqlError::new)?;
        Ok(Self(Place::File {
            path: path.into(),
            jobs: Some(jobs),
            worker: Some(worker),
        }))
    }

    /// Opens an empty database in memory, which is lost when the process ends.
    ///
    /// # Errors
    ///
    /// If SQLite cannot allocate memory.
    pub fn in_memory(settings: SqliteSettings) -> Result<Self, SqlError> {
        let connection = Connection::open_in_memory()?;
        let file = File {
            connection: with_tables(connection, settings)?,
            settings,
            is_log_due: false,
        };
        Ok(Self(Place::Memory(Mutex::new(file))))
    }

    /// Runs `work` on the thread, and waits for it.
    ///
    /// # Errors
    ///
    /// The errors of `work`, or an error if the thread has stopped.
    pub async fn run<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlError> + Send + 'static,
    {
        self.with_file(move |file| work(&mut file.connection)).await
    }

    /// Starts `work` on the thread without waiting for it. Returns false if the thread has stopped.
    pub fn begin(&self, work: impl FnOnce(&mut Connection) + Send + 'static) -> bool {
        match &self.0 {
            Place::File { jobs, .. } => jobs.as_ref().is_some_and(|jobs| {
                jobs.send(Box::new(move |file| work(&mut file.connection)))
                    .is_ok()
            }),
            Place::Memory(file) => {
                work(&mut lock(file).connection);
                true
            }
        }
    }

    async fn with_file<T, E>(
        &self,
        work: impl FnOnce(&mut File) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlError> + Send + 'static,
    {
        let jobs = match &self.0 {
            Place::File { jobs, .. } => jobs,
            Place::Memory(file) => return work(&mut lock(file)),
        };
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |file| {
            // The caller may have gone away.
            let _ = reply.send(work(file));
        });
        let stopped = || SqlError::new("its thread has stopped");
        let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        match sent {
            true => result.await.map_err(|_| stopped())?,
            false => Err(stopped().into()),
        }
    }

    fn named<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut File) -> Result<T, SqlError> + Send + 'static,
    ) -> SqlFuture<'_, T> {
        Box::pin(async move {
            let done = self.with_file(work).await;
            match &self.0 {
                Place::File { path, .. } => done.map_err(|error| about(path, error)),
                Place::Memory(_) => done,
            }
        })
    }
}

fn lock(file: &Mutex<File>) -> MutexGuard<'_, File> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database for SqliteFile {
    fn lock(&self) -> Option<&'static str> {
        None
    }

    fn change(&self, batch: Batch) -> SqlFuture<'_, BatchOutcome> {
        self.named(move |file| match file.change(&batch) {
            Ok(rows) => Ok(BatchOutcome::Rows(rows)),
            Err(error) if is_foreign_key(&error) => Ok(BatchOutcome::ForeignKey),
            Err(error) => Err(error.into()),
        })
    }

    fn rows(&self, statement: Statement) -> SqlFuture<'_, Vec<Vec<Value>>> {
        self.named(move |file| {
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

impl Drop for SqliteFile {
    fn drop(&mut self) {
        let Place::File { jobs, worker, .. } = &mut self.0 else {
            return;
        };
        *jobs = None;
        if let Some(worker) = worker.take() {
            // The thread has already reported its panic.
            let _ = worker.join();
        }
    }
}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error)
    }
}

/// Adds the file's name and a remedy to a database error.
fn about(path: &Path, error: SqlError) -> SqlError {
    let why = error.into_inner();
    let code = why
        .downcast_ref::<rusqlite::Error>()
        .and_then(rusqlite::Error::sqlite_error_code);
    let kind = why.downcast_ref::<io::Error>().map(io::Error::kind);
    let hint = match (code, kind) {
        (Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt), _) => {
            ". It is damaged, or no database: put a copy of it in its place, or move it away to begin with an empty one"
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
    SqlError::new(format!("{}: {why}{hint}", path.display()))
}

/// Creates the file if it does not exist, and refuses a file that others can read. SQLite gives its other files the
/// same permissions.
fn make(path: &Path) -> Result<(), SqlError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(SqlError::new(error)),
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Checked by name, because opening and closing the file here would release the locks of this process's other
        // connections.
        let metadata = path.metadata().map_err(SqlError::new)?;
        let mode = metadata.permissions().mode() & 0o777;
        // A folder cannot be opened.
        if metadata.is_file() && mode & 0o077 != 0 {
            let path = path.display();
            return Err(SqlError::new(format!(
                "it is open to other users (mode {mode:03o}). Run `chmod 600 {path}`"
            )));
        }
    }
    Ok(())
}

fn connect(path: &Path, settings: SqliteSettings) -> Result<Connection, SqlError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(settings.busy)?;
    turn_to_wal(&connection, settings.busy)?;
    // Otherwise a power failure could lose a refresh token, or allow a commit to be granted twice.
    connection.pragma_update(None, "synchronous", "FULL")?;
    with_tables(connection, settings)
}

fn with_tables(connection: Connection, settings: SqliteSettings) -> Result<Connection, SqlError> {
    if settings.erases {
        // Overwrites deleted rows in the file.
        connection.pragma_update(None, "secure_delete", "ON")?;
    }
    connection.pragma_update(None, "foreign_keys", "ON")?;
    make_tables(&connection, settings.schemas)?;
    Ok(connection)
}

/// Creates the missing tables, in the connection's transaction or, if it has begun none, in a new one.
///
/// # Errors
///
/// If tables have another version, or if SQLite fails.
pub fn make_tables(connection: &Connection, schemas: &[Schema]) -> Result<(), SqlError> {
    if !connection.is_autocommit() {
        return make_missing_tables(connection, schemas);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    make_missing_tables(&transaction, schemas)?;
    Ok(transaction.commit()?)
}

fn make_missing_tables(connection: &Connection, schemas: &[Schema]) -> Result<(), SqlError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS askback_schemas
             (name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT",
    )?;
    for schema in schemas {
        let select = "SELECT version FROM askback_schemas WHERE name = ?1";
        let version = connection.query_row(select, [schema.name], |row| row.get(0));
        let version = version.optional()?.unwrap_or(0);
        if let Some(tables) = schema.missing(version, &DIALECT)? {
            connection.execute_batch(&tables)?;
            let insert = "INSERT INTO askback_schemas (name, version) VALUES (?1, ?2)";
            connection.execute(insert, (schema.name, schema.version))?;
        }
    }
    Ok(())
}

/// SQLite allows only one connection to do this at a time, and has no other way to wait.
fn turn_to_wal(connection: &Connection, most: Duration) -> Result<(), rusqlite::Error> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        // On a file system without WAL support, SQLite keeps its rollback journal.
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error) if is_busy(&error) && waited < most => {
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
        self.is_log_due |= self.settings.erases && rows > 0 && batch.erases();
        if self.is_log_due {
            self.is_log_due = !self.has_emptied_log();
        }
        Ok(rows)
    }

    /// Moves the log into the file and truncates it, because the log still contains erased rows. Returns false if
    /// another process was reading the log.
    fn has_emptied_log(&self) -> bool {
        let connection = &self.connection;
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let emptied = connection
            .busy_timeout(LOG_TIMEOUT)
            .and_then(|()| connection.query_row(checkpoint, [], |row| row.get(0)));
        // Setting a timeout cannot fail. It must be restored, because otherwise the next change would fail if another
        // process is writing.
        let _ = connection.busy_timeout(self.settings.busy);
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
        // No column has this type.
        ValueRef::Real(_) => Value::Null,
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}
