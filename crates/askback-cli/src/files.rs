//! Files that are watched, so that a server is started again when they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use askback_host::{
    text::{Words, given},
    words,
};
use tokio::time::sleep;

use crate::{
    error::Error,
    own_files::{self, Mark},
};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// The most times of work that are kept between two changes.
const WORKS: usize = 64;

/// The most files that are looked at.
const MOST: usize = 20_000;

/// How near to the work of the server a change may be its own.
const NEAR: Duration = Duration::from_secs(2);

/// How sure it is that a file is changed by that work, one start after the other, until it is taken to be: a change during
/// it counts [`DURING`], one soon before or after it [`NEARBY`], for somebody may save just then.
const SURE: u32 = 4;

/// The same of all files together, which may have other names each time.
const SURE_OF_ALL: u32 = 8;

const DURING: u32 = 2;
const NEARBY: u32 = 1;

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
    /// The work of the server since they were seen.
    works: Vec<AtWork>,
    /// Those that its work may have changed the last time, and how sure that is by now; of all together, too.
    touched: BTreeMap<PathBuf, u32>,
    touched_any: u32,
    /// Those that its work changes each time: they are no reason to start it again.
    aside: BTreeSet<PathBuf>,
}

/// A time in which the server was at work: it was started, or made a call.
#[derive(Debug, Clone, Copy)]
pub struct AtWork {
    /// The time from which it was.
    pub began: SystemTime,
    /// The time at which it was done.
    pub ended: SystemTime,
    /// Whether the person was asked something meanwhile, and may have saved files.
    pub has_asked: bool,
}

/// The files that have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Those for which the server is started again.
    pub reasons: Changed,
    /// Those that are not watched from now on, until they change at another time.
    pub aside: Changed,
}

/// Files that have changed, and perhaps none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed(Vec<PathBuf>);

/// Files, each with a mark that is another once it has changed.
type Seen = BTreeMap<PathBuf, Mark>;

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
            works: Vec::new(),
            touched: BTreeMap::new(),
            touched_any: 0,
            aside: BTreeSet::new(),
        })
    }

    /// Takes note that the server was started by now.
    pub fn started(&mut self) {
        let now = SystemTime::now();
        self.worked(AtWork {
            began: now,
            ended: now,
            has_asked: false,
        });
    }

    /// Takes note of work of the server.
    pub fn worked(&mut self, work: AtWork) {
        if self.works.len() >= WORKS {
            self.works.remove(0);
        }
        self.works.push(work);
    }

    /// Waits until a file has changed, and none has since the last look.
    pub async fn changed(&mut self) -> Changes {
        let mut last = self.seen.clone();
        loop {
            sleep(EVERY).await;
            let now = self.look().await;
            // Who saves several files is not done with the first.
            if now == last {
                let before = std::mem::replace(&mut self.seen, now);
                let changes = self.judge(self.between(&before));
                if !changes.reasons.is_none() || !changes.aside.is_none() {
                    return changes;
                }
            } else {
                last = now;
            }
        }
    }

    /// Says which of the files that changed are a reason to start the server again. One that changes each time that the
    /// server works is none, until it changes at another time; a save of the person counts at any time.
    fn judge(&mut self, changed: Vec<PathBuf>) -> Changes {
        let mut touched = BTreeMap::new();
        let mut others = BTreeSet::new();
        let mut surest = 0;
        for path in changed {
            let mark = self.seen.get(&path);
            let time = mark.and_then(|mark| mark.changed);
            let sure = time.and_then(|time| {
                let works = self.works.iter();
                works.filter_map(|work| work.may_change(time)).max()
            });
            match sure {
                None => {
                    self.aside.remove(&path);
                    others.insert(path);
                }
                Some(_) if self.aside.contains(&path) => {}
                Some(sure) => {
                    surest = sure.max(surest);
                    let before = self.touched.get(&path).copied().unwrap_or_default();
                    touched.insert(path, before.saturating_add(sure));
                }
            }
        }
        self.touched_any = match others.is_empty() {
            true => self.touched_any.saturating_add(surest),
            false => 0,
        };
        let is_any = self.touched_any >= SURE_OF_ALL;
        let is_aside = |sure: u32| is_any || sure >= SURE;
        let (aside, touched): (BTreeMap<_, _>, BTreeMap<_, _>) =
            touched.into_iter().partition(|(_, sure)| is_aside(*sure));
        if is_any {
            self.touched_any = 0;
        }
        self.aside.extend(aside.keys().cloned());
        others.extend(touched.keys().cloned());
        if !others.is_empty() {
            self.touched = touched;
            self.works.clear();
        }
        Changes {
            reasons: Changed(others.into_iter().collect()),
            aside: Changed(aside.into_keys().collect()),
        }
    }

    /// The files as they are now.
    async fn look(&self) -> Seen {
        let paths = self.paths.clone();
        let looking = tokio::task::spawn_blocking(move || Glance::of(&paths).0);
        // Looking does not panic.
        looking.await.unwrap_or_else(|_| self.seen.clone())
    }

    /// The files that changed since an earlier look, except those that are as we left them.
    fn between(&self, before: &Seen) -> Vec<PathBuf> {
        let paths: BTreeSet<_> = before.keys().chain(self.seen.keys()).collect();
        let has_changed = |path: &&PathBuf| {
            let now = self.seen.get(*path);
            before.get(*path) != now && !own_files::left_so(path, now.copied())
        };
        paths.into_iter().filter(has_changed).cloned().collect()
    }
}

impl AtWork {
    /// How sure it is that the work changed a file at this time, if it may have. Where the person was asked, they may have
    /// saved it.
    fn may_change(&self, time: SystemTime) -> Option<u32> {
        let is_near = |end| {
            let apart = time.duration_since(end);
            apart.unwrap_or_else(|earlier| earlier.duration()) <= NEAR
        };
        let begins = time <= self.began && is_near(self.began);
        let is_during = begins || self.began <= time && time <= self.ended;
        match () {
            () if is_during && !self.has_asked => Some(DURING),
            () if is_near(self.began) || is_near(self.ended) => Some(NEARBY),
            () => None,
        }
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
            self.0.insert(path.to_owned(), Mark::of(&metadata));
        }
    }
}

fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with('.') || PASSED_OVER.contains(&&*name))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::private_file;

    /// Files of which a test says when they change.
    fn told() -> WatchedFiles {
        WatchedFiles::new(Vec::new()).expect("there are none")
    }

    /// A time of a test, in seconds.
    fn at(second: u64) -> SystemTime {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(second));
        time.expect("it is soon after")
    }

    /// The files that are a reason to start the server, and those that are none from then on, once these have changed.
    fn judged(files: &mut WatchedFiles, changed: &[(&str, u64)]) -> (String, String) {
        let marks = changed
            .iter()
            .map(|(path, second)| (path.into(), Mark::at_time(at(*second))));
        files.seen.extend(marks);
        let changes = files.judge(changed.iter().map(|(path, _)| path.into()).collect());
        let names = |changed: &Changed| {
            let names = changed.0.iter().map(|path| path.display().to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        (names(&changes.reasons), names(&changes.aside))
    }

    #[test]
    fn what_the_server_writes_at_its_work_starts_it_so_often() {
        /// The server is started each hundred seconds, and makes a call for thirty seconds from the tenth on; a file
        /// changes so long after the start.
        #[track_caller]
        fn check(name: &str, has_asked: bool, changes: u64, starts: Option<usize>) {
            let mut files = told();
            let works = |second: u64, took: u64, has_asked: bool| AtWork {
                began: at(second),
                ended: at(second.saturating_add(took)),
                has_asked,
            };
            let aside = (1..=20).position(|round: u64| {
                let second = round.saturating_mul(100);
                files.worked(works(second, 0, false));
                files.worked(works(second.saturating_add(10), 30, has_asked));
                let name = name.replace('N', &round.to_string());
                let changed = [(&*name, second.saturating_add(changes))];
                let (reasons, aside) = judged(&mut files, &changed);
                assert_eq!((reasons + &aside).as_str(), name, "it is one or the other");
                aside == name
            });
            assert_eq!(aside, starts, "{name}");
        }
        check("a log of the start", false, 0, Some(1));
        check("a log of what follows it", false, 1, Some(3));
        check("a log of a call", false, 25, Some(1));
        check("a log of its end", false, 42, Some(3));
        check("a log of what comes later", false, 43, None);
        check("a log of a call that asks", true, 40, Some(3));
        check(
            "a source that is saved while the person is asked",
            true,
            25,
            None,
        );
        check("a source that is saved later", false, 60, None);
        check("a file of the start by another name, N", false, 0, Some(3));
    }

    #[test]
    fn what_is_set_aside_counts_once_it_changes_at_another_time() {
        let mut files = told();
        let start = |files: &mut WatchedFiles, second| {
            files.worked(AtWork {
                began: at(second),
                ended: at(second),
                has_asked: false,
            });
        };
        let mut check = |second, changed: &[(&str, u64)], reasons: &str, aside: &str| {
            start(&mut files, second);
            let came = judged(&mut files, changed);
            assert_eq!(came, (reasons.to_owned(), aside.to_owned()), "{second}");
        };
        check(100, &[("log", 100)], "log", "");
        check(105, &[("log", 105)], "", "log");
        check(110, &[("log", 110)], "", "");
        // A save beside it counts, also soon after the start.
        check(120, &[("log", 120), ("main", 121)], "main", "");
        check(130, &[("log", 130), ("main", 131)], "main", "");
        check(140, &[("log", 140), ("main", 160)], "main", "");
        check(170, &[("log", 170), ("main", 171)], "main", "");
        // The person writes into it.
        check(200, &[("log", 220)], "log", "");
        check(230, &[("log", 230)], "log", "");
    }

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
        // What is written here is no change, also where it was there before; what somebody writes over it is one.
        write("trace.jsonl", "theirs");
        assert!(is_noticed(&mut files).await);
        let trace = private_file::create(&folder.join("src/../trace.jsonl"));
        let mut trace = trace.expect("the folder is ours");
        assert!(!is_noticed(&mut files).await);
        trace.write_all(b"a message").expect("it is ours");
        private_file::write(&folder.join("suite.yaml"), "cases").expect("it is ours");
        own_files::create(&folder.join("result")).expect("it is ours");
        assert!(!is_noticed(&mut files).await);
        for (name, is_reason) in [
            ("suite.yaml", true),
            ("result", true),
            ("trace.jsonl", false),
        ] {
            write(name, "edited");
            assert_eq!(is_noticed(&mut files).await, is_reason, "{name}");
        }
        drop(trace);
        assert!(!is_noticed(&mut files).await);
        write("trace.jsonl", "edited");
        assert!(is_noticed(&mut files).await);
        for name in ["b.rs", "a.rs", "c.rs"] {
            write(name, "new");
        }
        let changed = files.changed().await.reasons.words().to_string();
        assert!(changed.ends_with("a.rs and 2 more"), "{changed}");
        fs::remove_dir_all(&folder).expect("it is ours");
        let error = WatchedFiles::new(vec![folder]).expect_err("it is gone");
        assert!(error.message.as_str().ends_with("nothing is there"));
    }
}
