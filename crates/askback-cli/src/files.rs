//! Files that are watched, so that a server is started again when they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Duration,
};

use askback_host::{text::given, words};
use tokio::time::sleep;

use crate::error::Error;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// The most files that are looked at.
const MOST: usize = 20_000;

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
    /// Those that changed during the last call.
    touched: BTreeSet<PathBuf>,
    /// Those that changed during two calls on end: the call writes them, and they are no reason to make it again.
    written: BTreeSet<PathBuf>,
}

/// Files, each with a number that is another once it has changed.
type Seen = BTreeMap<PathBuf, u64>;

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
        let mut seen = Glance::default();
        for path in &paths {
            seen.take(path, true);
        }
        if seen.0.len() >= MOST {
            let words = words!("more than {} files are too many to watch", MOST);
            return Err(Error::usage(words).hint("Name those that matter with --watch-files."));
        }
        Ok(Self {
            paths,
            seen: seen.0,
            touched: BTreeSet::new(),
            written: BTreeSet::new(),
        })
    }

    /// Waits until a file has changed, and none has since the last look.
    pub async fn changed(&mut self) {
        let mut last = self.seen.clone();
        loop {
            sleep(EVERY).await;
            let now = self.look().await;
            // Who saves several files is not done with the first.
            if now != self.seen && now == last {
                self.seen = now;
                return;
            }
            last = now;
        }
    }

    /// Makes a call. What changes during two calls on end does not count from then on; what is saved during one does.
    pub async fn during<T>(files: &mut Option<Self>, call: impl Future<Output = T>) -> T {
        let Some(files) = files else {
            return call.await;
        };
        let before = files.look().await;
        let done = call.await;
        let now = files.look().await;
        let paths: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        let is_touched = |path: &&PathBuf| before.get(*path) != now.get(*path);
        let touched: BTreeSet<_> = paths.into_iter().filter(is_touched).cloned().collect();
        let again = touched.intersection(&files.touched).cloned();
        files.written.extend(again);
        files.seen.retain(|path, _| !files.written.contains(path));
        files.touched = touched;
        done
    }

    async fn look(&self) -> Seen {
        let (paths, written) = (self.paths.clone(), self.written.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let mut seen = Glance::default();
            for path in &paths {
                seen.take(path, true);
            }
            seen.0.retain(|path, _| !written.contains(path));
            seen.0
        });
        // Looking does not panic.
        looking.await.unwrap_or_else(|_| self.seen.clone())
    }
}

/// The names, sizes and times of files, as far as they were looked at.
#[derive(Default)]
struct Glance(Seen);

impl Glance {
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
        // A call that writes a file is not made again and again, and a source that is saved meanwhile counts.
        let mut files = Some(files);
        for (notes, source, is_reason) in [
            ("one", Some("1"), true),
            ("both", None, false),
            ("again", None, false),
            ("a third", Some("22"), true),
            ("4", None, false),
        ] {
            let call = async {
                write("notes.txt", notes);
                if let Some(source) = source {
                    write("src/main.rs", source);
                }
            };
            WatchedFiles::during(&mut files, call).await;
            let files = files.as_mut().expect("they are watched");
            assert_eq!(is_noticed(files).await, is_reason, "{notes}");
            assert!(!is_noticed(files).await);
        }
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(vec![folder]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("nothing is there"));
    }
}
