//! Watched files: the server is started again when one changes.
//!
//! The debouncers of `notify` are not used: they count it as a change when a file is opened, and a server opens its own
//! sources.

use std::{
    collections::BTreeSet,
    fs,
    future::pending,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use askback_host::{
    text::{Words, given},
    words,
};
use glob::Pattern;
use notify::{
    Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{ModifyKind, RemoveKind},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::{error::Error, own_files};

/// Files that change within this time of each other are one change: an editor may save several.
const QUIET: Duration = Duration::from_millis(300);

/// How many times changes restart the server and repeat the last call before the user enters something. The server and
/// the call may write watched files.
const MAX_RESTARTS: u32 = 5;

/// Folders for builds and packages. Folders that begin with a dot are also skipped.
const PASSED_OVER: [&str; 6] = [
    "target",
    "node_modules",
    "__pycache__",
    "venv",
    "dist",
    "build",
];

#[derive(Debug)]
pub struct WatchedFiles {
    paths: UnboundedReceiver<PathBuf>,
    changed: BTreeSet<PathBuf>,
    /// How many times changes restarted the server since the user entered something.
    restarts: u32,
    scope: Arc<Scope>,
    /// Watches until it is dropped.
    _watcher: RecommendedWatcher,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFiles {
    paths: Vec<PathBuf>,
    /// Whether the server was restarted too often. Later changes are ignored until the user enters something.
    pub is_too_often: bool,
}

/// The files that are watched, and the globs of ignored ones.
#[derive(Debug)]
struct Scope {
    roots: Vec<PathBuf>,
    ignored: Vec<Pattern>,
}

impl WatchedFiles {
    pub fn new(paths: &[PathBuf], ignored: &[String]) -> Result<Self, Error> {
        let ignored = ignored.iter().map(|glob| {
            Pattern::new(glob).map_err(|error| {
                Error::usage(words!("--ignore {}: {}", given(glob), given(error)))
                    .hint("Write a glob such as *.log or data/*.")
            })
        });
        let scope = Scope {
            roots: paths.iter().map(real).collect::<Result<_, _>>()?,
            ignored: ignored.collect::<Result<_, _>>()?,
        };
        let scope = Arc::new(scope);
        let seen = Arc::clone(&scope);
        let (sender, paths) = unbounded_channel();
        let tell = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            for path in event.paths {
                if seen.counts(event.kind, &path) {
                    // The conversation may have ended.
                    let _ = sender.send(path);
                }
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let unwatched = |error: notify::Error| {
            Error::usage(words!("the files cannot be watched: {}", given(error)))
                .hint("Name those that matter with --watch-files.")
        };
        let mut watcher = RecommendedWatcher::new(tell, config).map_err(unwatched)?;
        for root in &scope.roots {
            let (path, mode) = match root.parent() {
                // An editor may replace this file, so its folder is watched.
                Some(folder) if !root.is_dir() => (folder, RecursiveMode::NonRecursive),
                _ => (root.as_path(), RecursiveMode::Recursive),
            };
            watcher.watch(path, mode).map_err(unwatched)?;
        }
        Ok(Self {
            paths,
            changed: BTreeSet::new(),
            restarts: 0,
            scope,
            _watcher: watcher,
        })
    }

    pub fn attended(&mut self) {
        self.restarts = 0;
    }

    /// Waits until files change and then stay unchanged for a moment. Ignores files written by this process.
    pub async fn changed(&mut self) -> ChangedFiles {
        loop {
            let next = match self.changed.is_empty() {
                true => Ok(self.paths.recv().await),
                false => timeout(QUIET, self.paths.recv()).await,
            };
            match next {
                Ok(Some(path)) => drop(self.changed.insert(path)),
                Ok(None) => return pending().await,
                Err(_) => {
                    let all = std::mem::take(&mut self.changed).into_iter();
                    let paths: Vec<_> = all.filter(|path| self.scope.is_change(path)).collect();
                    if !paths.is_empty() && self.restarts <= MAX_RESTARTS {
                        self.restarts = self.restarts.saturating_add(1);
                        let is_too_often = self.restarts > MAX_RESTARTS;
                        return ChangedFiles {
                            paths,
                            is_too_often,
                        };
                    }
                }
            }
        }
    }
}

/// Does not follow links.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

impl Scope {
    /// Whether an event at a path is a change of a watched file, or a new folder that may have such files.
    fn counts(&self, kind: EventKind, path: &Path) -> bool {
        match kind {
            EventKind::Remove(RemoveKind::Folder) => false,
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) if is_folder(path) => {
                self.covers(&path.join("file"))
            }
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(_) => {
                !is_folder(path) && self.covers(path)
            }
            _ => false,
        }
    }

    /// Whether another process changed this file, or a file in this new folder.
    fn is_change(&self, path: &Path) -> bool {
        if !is_folder(path) {
            return self.covers(path) && !own_files::contain(path);
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        self.covers(&path.join("file")) && paths.any(|path| self.is_change(&path))
    }

    fn covers(&self, path: &Path) -> bool {
        let mut inside = self.roots.iter().flat_map(|root| path.strip_prefix(root));
        inside.any(|inside| self.takes(inside))
    }

    fn takes(&self, inside: &Path) -> bool {
        let folders = inside.ancestors().skip(1).filter_map(Path::file_name);
        let is_passed_over = folders
            .map(|name| name.to_string_lossy())
            .any(|name| name.starts_with('.') || PASSED_OVER.contains(&&*name));
        let parts = inside
            .ancestors()
            .filter_map(|part| Some((part, part.file_name()?)));
        let is_ignored = parts.into_iter().any(|(part, name)| {
            let fits = |glob: &Pattern| glob.matches_path(part) || glob.matches_path(name.as_ref());
            self.ignored.iter().any(fits)
        });
        !is_passed_over && !is_ignored
    }
}

impl ChangedFiles {
    /// The first path, relative to the working directory, and how many more there are.
    pub fn words(&self) -> Words {
        let here = std::env::current_dir().and_then(fs::canonicalize);
        let first = self.paths.first().map(|path| {
            let inside = here
                .as_ref()
                .ok()
                .and_then(|here| path.strip_prefix(here).ok());
            given(inside.unwrap_or(path).display())
        });
        let Some(first) = first else {
            return "no file".into();
        };
        match self.paths.len() {
            ..=1 => first,
            more => words!("{} and {} more", first, more.saturating_sub(1)),
        }
    }
}

fn real(path: &PathBuf) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|_| {
        Error::usage(words!(
            "{} cannot be watched: it does not exist",
            given(path.display())
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_file;

    #[test]
    fn a_path_is_watched_unless_it_is_passed_over_or_ignored() {
        #[track_caller]
        fn check(path: &str, globs: &[&str], is_taken: bool) {
            let globs = globs
                .iter()
                .map(|glob| Pattern::new(glob).expect("it is a glob"));
            let scope = Scope {
                roots: vec!["/project".into()],
                ignored: globs.collect(),
            };
            let write = EventKind::Modify(ModifyKind::Any);
            let path = Path::new("/project").join(path);
            assert_eq!(scope.counts(write, &path), is_taken, "{}", path.display());
            let open = EventKind::Access(notify::event::AccessKind::Any);
            assert!(!scope.counts(open, &path));
        }
        check("src/main.rs", &[], true);
        check(".env", &[], true);
        check("target/debug/x", &[], false);
        check("web/node_modules/x/y.js", &[], false);
        check(".git/index", &[], false);
        check("/elsewhere/main.rs", &[], false);
        check("server.log", &["*.log"], false);
        check("logs/a/server.log", &["*.log"], false);
        check("logs/a/count", &["logs"], false);
        check("logs/a/count", &["logs/*"], false);
        check("a/state.json", &["state.json"], false);
        check("a/state.json", &["b/state.json", "*.log"], true);
    }

    #[tokio::test]
    async fn a_file_that_changes_is_noticed_and_our_own_is_not() {
        let temporary = tempfile::tempdir().expect("there is room");
        let folder = fs::canonicalize(temporary.path()).expect("it is there");
        for inside in ["src", "target", ".git"] {
            fs::create_dir_all(folder.join(inside)).expect("the folder is ours");
        }
        let write = |path: &str, text: &str| {
            fs::write(folder.join(path), text).expect("the folder is ours");
        };
        write("src/main.rs", "one");
        let globs = ["*.log".to_owned()];
        let mut files =
            WatchedFiles::new(std::slice::from_ref(&folder), &globs).expect("it is there");
        // Returns the next report, without ignored files.
        let noticed = async |files: &mut WatchedFiles| {
            let changed = files.changed().await;
            let names = changed.paths.iter().map(|path| {
                let inside = path.strip_prefix(&folder).expect("it is inside");
                inside.display().to_string()
            });
            names.collect::<Vec<_>>().join(" ")
        };
        write("target/built", "one");
        write(".git/index", "one");
        write("server.log", "one");
        fs::read_to_string(folder.join("src/main.rs")).expect("it is there");
        write("src/main.rs", "another");
        assert_eq!(noticed(&mut files).await, "src/main.rs");
        write("src/new.rs", "one");
        assert_eq!(noticed(&mut files).await, "src/new.rs");
        fs::remove_file(folder.join("src/new.rs")).expect("it is ours");
        assert_eq!(noticed(&mut files).await, "src/new.rs");
        // Files that this process writes do not count.
        private_file::create_new(&folder.join("src/../trace.jsonl")).expect("the folder is ours");
        private_file::write(&folder.join("suite.yaml"), "cases").expect("it is ours");
        own_files::create(&folder.join("result")).expect("it is ours");
        write("a.rs", "new");
        assert_eq!(noticed(&mut files).await, "a.rs");
        for name in ["b.rs", "a.rs", "c.rs"] {
            write(name, "newer");
        }
        let changed = files.changed().await.words().to_string();
        assert!(changed.ends_with("a.rs and 2 more"), "{changed}");
        files.attended();
        // A new folder that already has files, for example after switching branches.
        fs::create_dir_all(folder.join("target/new/inner")).expect("it is ours");
        write("target/new/inner/x.rs", "one");
        fs::rename(folder.join("target/new"), folder.join("new")).expect("it is ours");
        assert_eq!(noticed(&mut files).await, "new");
        write("new/inner/y.rs", "one");
        assert_eq!(noticed(&mut files).await, "new/inner/y.rs");
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(&[folder], &[]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("it does not exist"));
    }

    #[tokio::test]
    async fn a_file_by_itself_is_watched_although_it_is_replaced() {
        let folder = tempfile::tempdir().expect("there is room");
        let [file, other] = ["tools.json", "other.json"].map(|name| folder.path().join(name));
        fs::write(&file, "[]").expect("it is ours");
        let mut files = WatchedFiles::new(std::slice::from_ref(&file), &[]).expect("it is there");
        let replaced = async |files: &mut WatchedFiles| {
            fs::write(&other, "[1]").expect("it is ours");
            fs::rename(&other, &file).expect("it is ours");
            let changed = files.changed().await;
            assert!(changed.words().to_string().ends_with("tools.json"));
            changed.is_too_often
        };
        for _ in 0..MAX_RESTARTS {
            assert!(!replaced(&mut files).await);
        }
        assert!(replaced(&mut files).await);
        files.attended();
        assert!(!replaced(&mut files).await);
    }
}
