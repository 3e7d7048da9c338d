//! Tasks at work in files: a later conversation goes on with those that one before left, or could not
//! end.
//!
//! Only of a server that runs somewhere: the tasks of a child process end with it. The id of a task is as
//! good as a key to it, so its file is its owner's alone. A lock beside says that a process follows the
//! task, and goes with that process however it ends.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    fs,
    hash::{BuildHasher, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::{
    client::{CallId, CallTarget, ClientError, Event},
    keys::state_dir,
};
use askback_core::revision::Revision;
use askback_host::signals;
use serde::{Deserialize, Serialize};

use crate::{
    own_files::OwnFile,
    parked::now,
    private_file,
    target::{Reach, Target},
};

/// The longest that a task is kept, whatever its server says of its end.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The most tasks that are kept, of all servers.
const MOST: usize = 1024;

/// The most tasks that are kept of one server, so that it takes the room of no other.
const SHARE: usize = 64;

/// The longest file of a task, in bytes. The id and the name of the tool come from the server.
const LONGEST: usize = 16 << 10;

/// How many digits of a server's digest are in the names of its files.
const SERVER_DIGITS: usize = 32;

/// The tasks of a server that are kept. Clones are the same.
#[derive(Clone)]
pub struct KeptTasks(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    /// The server, as in the names of its files.
    server: String,
    /// The calls that are followed, and the files of those that are tasks.
    calls: Mutex<BTreeMap<CallId, Slot>>,
}

struct Slot {
    revision: Revision,
    turn: Option<Turn>,
}

/// A task in its file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// The revision in which it was begun: in another its id means nothing.
    revision: String,
    /// The server's name for it.
    id: String,
    /// The tool that was called.
    tool: String,
    /// Until when it is kept, in seconds since 1970.
    until: u64,
}

/// The file of a task, for one process.
struct Turn {
    path: PathBuf,
    _lock: OwnFile,
}

/// A task of before, for this process alone as long as the value lives.
pub struct TakenTask {
    /// The server's name for it.
    pub id: String,
    /// The tool that was called.
    pub tool: String,
    turn: Turn,
}

/// A call whose task is kept while it goes on, and forgotten when this is dropped.
pub struct Following {
    tasks: KeptTasks,
    call: CallId,
}

impl KeptTasks {
    /// Those of a server that runs somewhere; none are kept where this user has no folder for them.
    pub fn of_user(target: &Target) -> Option<Self> {
        let Reach::Address(_) = &target.reach else {
            return None;
        };
        let folder = state_dir()?.join("askback").join("tasks");
        Some(Self::at(folder, target))
    }

    fn at(folder: PathBuf, target: &Target) -> Self {
        let mut server = target.digest();
        server.truncate(SERVER_DIGITS);
        Self(Arc::new(Inner {
            folder,
            server,
            calls: Mutex::default(),
        }))
    }

    /// Keeps the task that this call becomes, if it does.
    #[must_use = "the task is forgotten when this is dropped"]
    pub fn follow(&self, call: CallId, revision: Revision) -> Following {
        self.insert(call, revision, None)
    }

    /// Goes on keeping a task of before, which is this call now.
    #[must_use = "the task is forgotten when this is dropped"]
    pub fn follow_taken(&self, call: CallId, revision: Revision, task: TakenTask) -> Following {
        self.insert(call, revision, Some(task.turn))
    }

    fn insert(&self, call: CallId, revision: Revision, turn: Option<Turn>) -> Following {
        self.lock().insert(call, Slot { revision, turn });
        let tasks = self.clone();
        Following { tasks, call }
    }

    /// Takes in what the server says of a call that is followed: the first time that it is a task, its
    /// file is written.
    pub fn hear(&self, event: &Event) {
        let Event::Task {
            call,
            target: Some(CallTarget::Tool(tool)),
            task_id,
            status,
            ttl,
            ..
        } = event
        else {
            return;
        };
        let mut calls = self.lock();
        let Some(slot) = calls.get_mut(call).filter(|slot| slot.turn.is_none()) else {
            return;
        };
        if status.is_terminal() {
            return;
        }
        let kept = ttl.map_or(KEPT, |ttl| ttl.min(KEPT));
        let kept = Kept {
            revision: slot.revision.as_str().to_owned(),
            id: task_id.clone(),
            tool: tool.clone(),
            until: now().saturating_add(kept.as_secs()),
        };
        // Without a file it is cancelled where the conversation ends.
        slot.turn = self.0.write(&kept).ok().flatten();
    }

    /// The tasks of before that no other process follows, in the revision that is spoken now.
    pub fn take(&self, revision: Revision) -> Vec<TakenTask> {
        let Inner { folder, server, .. } = &*self.0;
        let files = files(folder).unwrap_or_default().into_iter();
        let of_server = files.filter(|path| is_of(path, server));
        let taken = of_server.filter_map(|path| take(path).ok().flatten());
        let taken = taken.filter(|(kept, _)| kept.revision == revision.as_str());
        taken
            .map(|(Kept { id, tool, .. }, turn)| TakenTask { id, tool, turn })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CallId, Slot>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes the file of a task; none where there are too many already, or it would be too long.
    fn write(&self, kept: &Kept) -> io::Result<Option<Turn>> {
        let text = serde_json::to_string(kept)?;
        if text.len() > LONGEST || !self.has_room()? {
            return Ok(None);
        }
        let number = RandomState::new().build_hasher().finish();
        let name = format!("{}-{number:016x}.json", self.server);
        let path = self.folder.join(name);
        let Some(lock) = lock(&path)? else {
            return Ok(None);
        };
        private_file::write(&path, &text)?;
        Ok(Some(Turn { path, _lock: lock }))
    }

    /// Whether one more task may be kept, once those are forgotten whose time is over.
    fn has_room(&self) -> io::Result<bool> {
        let before = files(&self.folder)?;
        if self.fits(&before) {
            return Ok(true);
        }
        for path in before {
            take(path)?;
        }
        Ok(self.fits(&files(&self.folder)?))
    }

    /// Whether there is room for one more beside these files.
    fn fits(&self, files: &[PathBuf]) -> bool {
        let ours = files.iter().filter(|path| is_of(path, &self.server));
        files.len() < MOST && ours.count() < SHARE
    }
}

impl Following {
    /// Whether the call is a task that a later conversation would find.
    pub fn is_kept(&self) -> bool {
        let calls = self.tasks.lock();
        calls
            .get(&self.call)
            .is_some_and(|slot| slot.turn.is_some())
    }

    /// The call has ended, with this error if it failed: its task is forgotten, unless it may go on
    /// without us. Returns whether it is kept.
    pub fn end(self, error: Option<&ClientError>) -> bool {
        let is_left = error.is_some_and(outlives) && self.is_kept();
        if is_left {
            self.leave();
        }
        is_left
    }

    /// Leaves the task to a later conversation.
    pub fn leave(self) {
        self.tasks.lock().remove(&self.call);
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let slot = self.tasks.lock().remove(&self.call);
        // A closed window does not end a task.
        if signals::is_ending() {
            return;
        }
        if let Some(turn) = slot.and_then(|slot| slot.turn) {
            // One that stays is asked after once more, in vain.
            let _ = forget(&turn.path);
        }
    }
}

/// Whether the task of a call may go on although the call ended so: nothing was heard of it.
fn outlives(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Unreachable(_)
            | ClientError::Crashed(_)
            | ClientError::OutcomeUnknown(_)
            | ClientError::Http { .. }
            | ClientError::Unauthorized { .. }
            | ClientError::Authorization(_)
            | ClientError::Busy(_)
            | ClientError::Closed
            | ClientError::Unsupported(_)
    )
}

/// The files of all tasks.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file is that of a task of this server.
fn is_of(path: &Path, server: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(server))
}

/// Takes a task for this process; none where another has it. One whose time is over is forgotten, as is
/// what is no task.
fn take(path: PathBuf) -> io::Result<Option<(Kept, Turn)>> {
    let Some(lock) = lock(&path)? else {
        return Ok(None);
    };
    let Some(text) = private_file::read(&path)? else {
        // Another process ended it meanwhile, and nothing is left but the lock.
        forget(&path)?;
        return Ok(None);
    };
    let kept = private_file::parse::<Kept>(&path, &text).ok();
    match kept.filter(|kept| now() < kept.until) {
        Some(kept) => Ok(Some((kept, Turn { path, _lock: lock }))),
        None => {
            forget(&path)?;
            Ok(None)
        }
    }
}

/// The lock of a task's file; none where another process has it.
fn lock(path: &Path) -> io::Result<Option<OwnFile>> {
    let lock = private_file::open_lock(&path.with_extension("lock"))?;
    Ok(lock.try_lock().is_ok().then_some(lock))
}

fn forget(path: &Path) -> io::Result<()> {
    for path in [path.to_owned(), path.with_extension("lock")] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use askback_core::protocol::TaskStatus;

    use super::*;

    const NOW: Revision = Revision::V2026_07_28;

    /// A folder for one test, removed with its value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("askback-tasks-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        /// The tasks of a server, as a process of its own would have them.
        fn of(&self, url: &str) -> KeptTasks {
            let target = Target::address(url).expect("it is a URL");
            KeptTasks::at(self.0.clone(), &target)
        }

        fn count(&self) -> usize {
            files(&self.0).expect("it can be read").len()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn stands(call: u64, task: &str, status: TaskStatus, ttl: Option<Duration>) -> Event {
        Event::Task {
            call: CallId(call),
            target: Some(CallTarget::Tool("dig".to_owned())),
            task_id: task.to_owned(),
            status,
            message: None,
            ttl,
        }
    }

    fn works(call: u64, task: &str) -> Event {
        stands(call, task, TaskStatus::Working, None)
    }

    fn ids(taken: &[TakenTask]) -> Vec<&str> {
        taken.iter().map(|task| task.id.as_str()).collect()
    }

    const HERE: &str = "http://localhost:1/mcp";

    #[test]
    fn a_task_is_found_again_once_nobody_follows_it() {
        let folder = Folder::new("found");
        let tasks = folder.of(HERE);
        let following = tasks.follow(CallId(7), NOW);
        // What no call of this conversation became is not kept.
        tasks.hear(&works(8, "other"));
        assert!(!following.is_kept() && folder.count() == 0);
        tasks.hear(&works(7, "t1"));
        tasks.hear(&stands(7, "t1", TaskStatus::InputRequired, None));
        assert!(following.is_kept() && folder.count() == 1);
        let later = folder.of(HERE);
        assert_eq!(ids(&later.take(NOW)), [""; 0], "it is followed");
        following.leave();
        assert_eq!(ids(&folder.of("http://localhost:2/mcp").take(NOW)), [""; 0]);
        assert_eq!(ids(&later.take(Revision::V2025_11_25)), [""; 0]);
        let mut taken = later.take(NOW);
        assert_eq!(ids(&taken), ["t1"]);
        assert_eq!(taken[0].tool, "dig");
        assert_eq!(ids(&tasks.take(NOW)), [""; 0], "it is followed again");
        let task = taken.remove(0);
        let following = later.follow_taken(CallId(0), NOW, task);
        later.hear(&works(0, "t1"));
        assert!(following.is_kept() && folder.count() == 1);
        drop(following);
        assert_eq!(folder.count(), 0);
        assert_eq!(fs::read_dir(&folder.0).expect("it is there").count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = Folder::new("mode");
        let tasks = folder.of(HERE);
        let _following = tasks.follow(CallId(7), NOW);
        tasks.hear(&works(7, "t1"));
        for path in files(&folder.0).expect("it can be read") {
            let mode = |path: &Path| {
                let metadata = fs::metadata(path).expect("it is there");
                metadata.permissions().mode() & 0o777
            };
            assert_eq!((mode(&path), mode(&folder.0)), (0o600, 0o700));
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let folder = Folder::new("bounded");
        let (tasks, others) = (folder.of(HERE), folder.of("http://localhost:2/mcp"));
        let keep_in = |tasks: &KeptTasks, call: u64, task: &str, ttl: Option<Duration>| {
            let following = tasks.follow(CallId(call), NOW);
            tasks.hear(&stands(call, task, TaskStatus::Working, ttl));
            let is_kept = following.is_kept();
            following.leave();
            is_kept
        };
        let keep = |call, task: &str, ttl| keep_in(&tasks, call, task, ttl);
        assert!(!keep(0, &"t".repeat(LONGEST), None));
        // Their time is over as soon as they are left.
        for call in 0..SHARE {
            assert!(keep(call as u64, "short", Some(Duration::ZERO)));
        }
        assert_eq!(folder.count(), SHARE);
        for call in 0..SHARE {
            assert!(keep(call as u64, "long", None), "{call}");
        }
        assert_eq!(folder.count(), SHARE);
        assert!(!keep(0, "one too many", None));
        assert_eq!(tasks.take(NOW).len(), SHARE);
        // Another server has a share of its own.
        assert!(keep_in(&others, 0, "other", None));
        assert_eq!(others.take(NOW).len(), 1);
        let path = files(&folder.0).expect("it can be read").remove(0);
        private_file::write(&path, "cut").expect("it is ours");
        assert_eq!(tasks.take(NOW).len(), SHARE - 1);
        assert_eq!(folder.count(), SHARE);
        // All of them together have one, too.
        for number in SHARE..MOST {
            let path = folder.0.join(format!("other-{number}.json"));
            let kept = Kept {
                revision: NOW.as_str().to_owned(),
                id: number.to_string(),
                tool: "dig".to_owned(),
                until: u64::MAX,
            };
            let text = serde_json::to_string(&kept).expect("it is JSON");
            private_file::write(&path, &text).expect("it is ours");
        }
        assert_eq!(folder.count(), MOST);
        assert!(!keep(0, "one too many of all", None));
    }
}
