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
    time::{Instant, timeout},
};

use crate::{error::Error, own_files};

/// Files that change within this time of each other are one change: an editor may save several.
const QUIET: Duration = Duration::from_millis(300);

/// A file that changes this soon after a server start may be written by the server.
const NEAR: Duration = Duration::from_secs(2);

/// How many times in a row files that the server may have written restart it.
const MAX_REPEATS: u32 = 3;

/// How many times the last call is repeated before the user enters something.
const MAX_CALLS: u32 = 5;

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
    /// For the last report: when the server was started again, the files, and how many times in a
    /// row they changed.
    started: Option<Instant>,
    last: Vec<PathBuf>,
    repeats: u32,
    /// How many times the last call was repeated since the user entered something.
    calls: u32,
    /// Files that changed at each start. They no longer restart the server.
    aside: BTreeSet<PathBuf>,
    scope: Arc<Scope>,
    watcher: RecommendedWatcher,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFiles {
    paths: Vec<PathBuf>,
    /// Whether these files changed at each of the last starts. If so, they no longer restart the server.
    pub is_aside: bool,
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
        let watcher = RecommendedWatcher::new(tell, config).map_err(|error| unwatched(&error))?;
        let mut files = Self {
            paths,
            changed: BTreeSet::new(),
            started: None,
            last: Vec::new(),
            repeats: 0,
            calls: 0,
            aside: BTreeSet::new(),
            scope: Arc::clone(&scope),
            watcher,
        };
        for root in &scope.roots {
            let watched = match root.parent() {
                // An editor may replace this file, so its folder is watched.
                Some(folder) if !root.is_dir() => {
                    files.watcher.watch(folder, RecursiveMode::NonRecursive)
                }
                _ => files.enter(root, true, &mut BTreeSet::new()),
            };
            watched.map_err(|error| unwatched(&error))?;
        }
        Ok(files)
    }

    /// Watches a folder and its subfolders, and finds the watched files there. Linux watches one folder at a time, so
    /// skipped folders cost nothing. Other systems watch the whole tree of a root.
    fn enter(
        &mut self,
        folder: &Path,
        is_root: bool,
        found: &mut BTreeSet<PathBuf>,
    ) -> notify::Result<()> {
        match cfg!(target_os = "linux") {
            true => self.watcher.watch(folder, RecursiveMode::NonRecursive)?,
            false if is_root => self.watcher.watch(folder, RecursiveMode::Recursive)?,
            false => {}
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Links are not followed, because they may form a circle.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && self.scope.enters(&path) => {
                    self.enter(&path, false, found)?;
                }
                Ok(kind) if kind.is_file() && self.scope.covers(&path) => drop(found.insert(path)),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn started(&mut self) {
        self.started = Some(Instant::now());
    }

    pub fn reset(&mut self) {
        (self.repeats, self.aside) = (0, BTreeSet::new());
    }

    /// Whether the last call may be repeated without the user. The call itself may write watched files.
    pub fn may_call_again(&mut self) -> bool {
        self.calls = self.calls.saturating_add(1);
        self.calls <= MAX_CALLS
    }

    pub fn attended(&mut self) {
        self.calls = 0;
    }

    /// Waits until files change and then stay unchanged for a moment. Ignores files written by this process.
    pub async fn changed(&mut self) -> ChangedFiles {
        loop {
            let next = match self.changed.is_empty() {
                true => Ok(self.paths.recv().await),
                false => timeout(QUIET, self.paths.recv()).await,
            };
            match next {
                Ok(Some(path)) if is_folder(&path) => {
                    let mut changed = std::mem::take(&mut self.changed);
                    // The folder may already be gone.
                    let _ = self.enter(&path, false, &mut changed);
                    self.changed = changed;
                }
                Ok(Some(path)) => drop(self.changed.insert(path)),
                Ok(None) => return pending().await,
                Err(_) => {
                    let all = std::mem::take(&mut self.changed);
                    let theirs =
                        |path: &PathBuf| !self.aside.contains(path) && !own_files::contain(path);
                    let paths: Vec<_> = all.into_iter().filter(theirs).collect();
                    if !paths.is_empty() {
                        return self.report(paths);
                    }
                }
            }
        }
    }

    fn report(&mut self, paths: Vec<PathBuf>) -> ChangedFiles {
        let is_near = self.started.is_some_and(|at| at.elapsed() <= NEAR);
        self.repeats = match is_near && paths == self.last {
            true => self.repeats.saturating_add(1),
            false => 0,
        };
        let is_aside = self.repeats >= MAX_REPEATS;
        if is_aside {
            self.aside.extend(paths.iter().cloned());
        }
        self.last.clone_from(&paths);
        ChangedFiles { paths, is_aside }
    }
}

/// Whether this is a folder, without following links.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

impl Scope {
    /// Whether an event at a path is a change of a watched file, or a new folder of such files.
    fn counts(&self, kind: EventKind, path: &Path) -> bool {
        match kind {
            EventKind::Remove(RemoveKind::Folder) => false,
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) if is_folder(path) => {
                self.enters(path)
            }
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(_) => {
                !is_folder(path) && self.covers(path)
            }
            _ => false,
        }
    }

    /// Whether the files in a folder are watched.
    fn enters(&self, folder: &Path) -> bool {
        self.covers(&folder.join("file"))
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
            ..=1 => first.into(),
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

fn unwatched(error: &notify::Error) -> Error {
    Error::usage(words!("the files cannot be watched: {}", given(error)))
        .hint("Name those that matter with --watch-files.")
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
    async fn a_call_is_made_again_a_few_times_without_the_person() {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("askback-calls-{}", std::process::id()));
        fs::write(&file, "one").expect("the folder is ours");
        let mut files = WatchedFiles::new(std::slice::from_ref(&file), &[]).expect("it is there");
        for _ in 0..2 {
            let may: Vec<_> = (0..=MAX_CALLS).map(|_| files.may_call_again()).collect();
            assert_eq!(may.iter().filter(|may| **may).count(), MAX_CALLS as usize);
            assert_eq!(may.last(), Some(&false));
            files.attended();
        }
        fs::remove_file(&file).expect("it is ours");
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_not_a_folder() {
        let link = std::env::temp_dir().join(format!("askback-link-{}", std::process::id()));
        std::os::unix::fs::symlink("/usr", &link).expect("the folder is ours");
        assert!(is_folder(Path::new("/usr")) && !is_folder(&link));
        fs::remove_file(&link).expect("it is ours");
    }

    #[tokio::test]
    async fn a_file_that_changes_is_noticed_and_our_own_is_not() {
        let folder = std::env::temp_dir().join(format!("askback-files-{}", std::process::id()));
        for inside in ["src", "target", ".git"] {
            fs::create_dir_all(folder.join(inside)).expect("the folder is ours");
        }
        let folder = fs::canonicalize(folder).expect("it is there");
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
        // A new folder that already has files, for example after switching branches.
        fs::create_dir_all(folder.join("target/new/inner")).expect("it is ours");
        write("target/new/inner/x.rs", "one");
        fs::rename(folder.join("target/new"), folder.join("new")).expect("it is ours");
        assert_eq!(noticed(&mut files).await, "new/inner/x.rs");
        write("new/inner/y.rs", "one");
        assert_eq!(noticed(&mut files).await, "new/inner/y.rs");
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(&[folder], &[]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("it does not exist"));
    }

    #[tokio::test]
    async fn a_file_by_itself_is_watched_although_it_is_replaced() {
        let folder = std::env::temp_dir().join(format!("askback-file-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder is ours");
        let (file, other) = (folder.join("tools.json"), folder.join("other.json"));
        fs::write(&file, "[]").expect("it is ours");
        let mut files = WatchedFiles::new(std::slice::from_ref(&file), &[]).expect("it is there");
        let replaced = async |files: &mut WatchedFiles| {
            fs::write(&other, "[1]").expect("it is ours");
            fs::rename(&other, &file).expect("it is ours");
            let changed = files.changed().await;
            assert!(changed.words().to_string().ends_with("tools.json"));
            changed.is_aside
        };
        // The user saves it often. The server writes it at each start.
        for _ in 0..=MAX_REPEATS {
            assert!(!replaced(&mut files).await);
        }
        for round in 1..=MAX_REPEATS {
            files.started();
            assert_eq!(replaced(&mut files).await, round == MAX_REPEATS, "{round}");
        }
        files.reset();
        assert!(!replaced(&mut files).await);
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
