//! Files that are watched, so that a server is started again when they change.

use std::{
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
    seen: u64,
}

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
        if seen.files >= MOST {
            let words = words!("more than {} files are too many to watch", MOST);
            return Err(Error::usage(words).hint("Name those that matter with --watch-files."));
        }
        Ok(Self {
            paths,
            seen: seen.hasher.finish(),
        })
    }

    /// Waits until a file has changed, and none has since the last look.
    pub async fn changed(&mut self) {
        let mut last = self.seen;
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

    async fn look(&self) -> u64 {
        let paths = self.paths.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let mut seen = Glance::default();
            for path in &paths {
                seen.take(path, true);
            }
            seen.hasher.finish()
        });
        // Looking does not panic.
        looking.await.unwrap_or(self.seen)
    }
}

/// The names, sizes and times of files, as far as they were looked at.
#[derive(Default)]
struct Glance {
    hasher: DefaultHasher,
    files: usize,
}

impl Glance {
    fn take(&mut self, path: &Path, is_named: bool) {
        // What is gone is not there, and a link is not followed, so that none leads in a circle.
        let metadata = match is_named {
            true => fs::metadata(path),
            false => fs::symlink_metadata(path),
        };
        let Ok(metadata) = metadata else { return };
        if self.files >= MOST {
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
            self.files = self.files.saturating_add(1);
            path.hash(&mut self.hasher);
            metadata.len().hash(&mut self.hasher);
            metadata.modified().ok().hash(&mut self.hasher);
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
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(vec![folder]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("nothing is there"));
    }
}
