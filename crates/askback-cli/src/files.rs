//! Files that are watched, so that a server is started again when they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Duration,
};

use askback_host::{
    text::{Words, given},
    words,
};
use tokio::time::sleep;

use crate::{error::Error, own_files};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// The most files that are looked at.
const MOST: usize = 20_000;

/// How often on end a file changes, while the server is started and called, until that is taken to be its doing.
const OFTEN: u32 = 3;

/// The folders in which builds and packages are, beside those whose names begin with a dot.
const PASSED_OVER: [&str; 6] = [
    "target",
    "node_modules",
    "__pycache__",
    "venv",
    "dist",
    "build",
];

/// Files that are watched.
#[derive(Debug)]
pub struct WatchedFiles {
    paths: Vec<PathBuf>,
    seen: Seen,
    /// Those that changed while the server was at work the last time, and how often on end they did.
    touched: BTreeMap<PathBuf, u32>,
    /// Those that the server writes: they are no reason to start it again.
    written: BTreeSet<PathBuf>,
}

/// Files that have changed, and perhaps none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed(Vec<PathBuf>);

/// Files, each with a number that is another once it has changed.
pub type Seen = BTreeMap<PathBuf, u64>;

impl WatchedFiles {
    /// The files at these paths, and in the folders among them.
    ///
    /// # Errors
    ///
    /// A usage error for a path at which nothing is, and for more files than are looked at.
    pub fn new(paths: Vec<PathBuf>) -> Result<Self, Error> {
        if let Some(missing) = paths.iter().find(|path| !path.exists()) {
            let words = words!(
                "{} cannot be watched: nothing is there",
                given(missing.display())
            );
            return Err(Error::usage(words));
        }
        let seen = Glance::of(&paths);
        if seen.0.len() >= MOST {
            let words = words!("more than {} files are too many to watch", MOST);
            return Err(Error::usage(words).hint("Name those that matter with --watch-files."));
        }
        Ok(Self {
            paths,
            seen: seen.0,
            touched: BTreeMap::new(),
            written: BTreeSet::new(),
        })
    }

    /// Waits until a file has changed, and none has since the last look.
    pub async fn changed(&mut self) -> Changed {
        let mut last = self.seen.clone();
        loop {
            sleep(EVERY).await;
            let now = self.look().await;
            // Who saves several files is not done with the first.
            if now == last {
                let changed = self.between(&self.seen, &now);
                if !changed.is_none() {
                    self.seen = now;
                    return changed;
                }
            }
            last = now;
        }
    }

    /// Takes note of what changed since a look, while the server was started or called. What is saved meanwhile counts;
    /// what has changed so thrice on end does not from then on: returns those files.
    pub async fn learn(&mut self, before: &Seen) -> Changed {
        let now = self.look().await;
        let touched = self.between(before, &now).0.into_iter();
        let counted = touched.map(|path| {
            let times = self.touched.get(&path).copied().unwrap_or_default();
            (path, times.saturating_add(1))
        });
        let (often, touched): (BTreeMap<_, _>, _) = counted.partition(|(_, times)| *times >= OFTEN);
        self.touched = touched;
        self.written.extend(often.keys().cloned());
        Changed(often.into_keys().collect())
    }

    /// The files as they are now.
    pub async fn look(&self) -> Seen {
        let paths = self.paths.clone();
        let looking = tokio::task::spawn_blocking(move || Glance::of(&paths).0);
        // Looking does not panic.
        looking.await.unwrap_or_else(|_| self.seen.clone())
    }

    /// The files that changed between two looks, except those that we or the server write.
    fn between(&self, before: &Seen, now: &Seen) -> Changed {
        let paths: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        let has_changed = |path: &&PathBuf| {
            before.get(*path) != now.get(*path)
                && !self.written.contains(*path)
                && !own_files::has(path)
        };
        Changed(paths.into_iter().filter(has_changed).cloned().collect())
    }
}

impl Changed {
    /// Whether none has.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of them, as it is found from here, and how many more there are.
    pub fn words(&self) -> Words {
        let here = std::env::current_dir().and_then(fs::canonicalize);
        let first = self.0.first().map(|path| {
            let inside = here
                .as_ref()
                .ok()
                .and_then(|here| path.strip_prefix(here).ok());
            given(inside.unwrap_or(path).display())
        });
        let Some(first) = first else {
            return "no file".into();
        };
        match self.0.len() {
            ..=1 => first.into(),
            more => words!("{} and {} more", first, more.saturating_sub(1)),
        }
    }
}

/// The names, sizes and times of files, as far as they were looked at.
#[derive(Default)]
struct Glance(Seen);

impl Glance {
    /// The files at these paths, and in the folders among them, by their true paths.
    fn of(paths: &[PathBuf]) -> Self {
        let mut seen = Self::default();
        for path in paths {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            seen.take(&path, true);
        }
        seen
    }

    fn take(&mut self, path: &Path, is_named: bool) {
        // What is gone is not there, and a link is not followed, so that none leads in a circle.
        let metadata = match is_named {
            true => fs::metadata(path),
            false => fs::symlink_metadata(path),
        };
        let Ok(metadata) = metadata else { return };
        if self.0.len() >= MOST {
            return;
        }
        if metadata.is_dir() {
            if !is_named && is_passed_over(path) {
                return;
            }
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let mut inside: Vec<_> = entries.map(|entry| entry.path()).collect();
            inside.sort();
            for path in inside {
                self.take(&path, false);
            }
        } else if metadata.is_file() {
            let mut hasher = DefaultHasher::new();
            metadata.len().hash(&mut hasher);
            metadata.modified().ok().hash(&mut hasher);
            self.0.insert(path.to_owned(), hasher.finish());
        }
    }
}

fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with('.') || PASSED_OVER.contains(&&*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_file;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_changes_is_noticed_and_a_build_is_not() {
        let folder = std::env::temp_dir().join(format!("askback-files-{}", std::process::id()));
        for inside in ["src", "target", ".git"] {
            fs::create_dir_all(folder.join(inside)).expect("the folder is ours");
        }
        let write = |path: &str, text: &str| {
            fs::write(folder.join(path), text).expect("the folder is ours");
        };
        write("src/main.rs", "one");
        let mut files = WatchedFiles::new(vec![folder.clone()]).expect("it is there");
        let is_noticed = async |files: &mut WatchedFiles| {
            let patience = Duration::from_secs(10);
            tokio::time::timeout(patience, files.changed())
                .await
                .is_ok()
        };
        assert!(!is_noticed(&mut files).await);
        write("target/built", "one");
        write(".git/index", "one");
        assert!(!is_noticed(&mut files).await);
        write("src/main.rs", "another");
        assert!(is_noticed(&mut files).await);
        assert!(!is_noticed(&mut files).await);
        write("src/new.rs", "one");
        assert!(is_noticed(&mut files).await);
        fs::remove_file(folder.join("src/new.rs")).expect("it is ours");
        assert!(is_noticed(&mut files).await);
        // A server that writes a file is not started again and again, and a source that is saved meanwhile counts.
        for (notes, source, is_reason, is_written) in [
            ("one", Some("1"), true, false),
            ("both", None, true, false),
            ("again", None, false, true),
            ("a third", Some("22"), true, false),
            ("4", None, false, false),
        ] {
            let before = files.look().await;
            write("notes.txt", notes);
            if let Some(source) = source {
                write("src/main.rs", source);
            }
            let written = files.learn(&before).await;
            assert_eq!(!written.is_none(), is_written, "{notes}");
            assert_eq!(is_noticed(&mut files).await, is_reason, "{notes}");
            assert!(!is_noticed(&mut files).await);
        }
        // What is written here is no change, also where it was there before.
        write("trace.jsonl", "theirs");
        assert!(is_noticed(&mut files).await);
        let trace = private_file::create(&folder.join("src/../trace.jsonl"));
        let mut trace = trace.expect("the folder is ours");
        assert!(!is_noticed(&mut files).await);
        std::io::Write::write_all(&mut trace, b"a message").expect("it is ours");
        private_file::write(&folder.join("suite.yaml"), "cases").expect("it is ours");
        own_files::create(&folder.join("result")).expect("it is ours");
        assert!(!is_noticed(&mut files).await);
        for name in ["b.rs", "a.rs", "c.rs"] {
            write(name, "new");
        }
        let changed = files.changed().await.words().to_string();
        assert!(changed.ends_with("a.rs and 2 more"), "{changed}");
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(vec![folder]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("nothing is there"));
    }
}
