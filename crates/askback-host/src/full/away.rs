//! The user's editor, while it has the terminal.

use std::{
    collections::{BTreeSet, hash_map::RandomState},
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
    pin::Pin,
    process::ExitStatus,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    thread,
    time::{Duration, Instant},
};

use tokio::process::Command;

use crate::{
    text::{Words, given},
    words,
};

/// The maximum size of a text that is read back from an editor, in bytes.
const LONGEST: u64 = 1 << 20;

static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the texts in editors, for an exit that runs no destructors.
pub(super) fn remove_texts() {
    for folder in mem::take(&mut *open()) {
        let _ = fs::remove_dir_all(folder);
    }
}

fn open() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text in its own folder, because editors add copies. Removed on drop and by [`remove_texts`].
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(text: &str) -> io::Result<Self> {
        let number = RandomState::new().build_hasher().finish();
        let folder = env::temp_dir().join(format!("askback-{number:016x}"));
        {
            // The lock is held until the folder is registered: no folder escapes `remove_texts`.
            let mut open = open();
            make(&folder)?;
            open.insert(folder.clone());
        }
        let place = Self { folder };
        write(&place.file(), text)?;
        Ok(place)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("askback.txt")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        open().remove(&self.folder);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An editor that has the terminal. On drop, the program is terminated and its text removed.
pub(super) struct Away {
    place: Place,
    /// The process, unless it has ended.
    #[cfg(unix)]
    process: Option<rustix::process::Pid>,
    ended: Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send>>,
}

impl Away {
    /// Opens a text in the editor that `VISUAL` or `EDITOR` names, from within the runtime.
    pub(super) fn edit(text: &str) -> io::Result<Self> {
        let place = Place::new(text)?;
        let mut editor = editor(&place.file());
        let mut child = editor.kill_on_drop(cfg!(not(unix))).spawn()?;
        Ok(Self {
            place,
            #[cfg(unix)]
            process: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)),
            ended: Box::pin(async move { child.wait().await }),
        })
    }

    /// Returns the edited text when the program has ended, or the error.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<String, Words>> {
        let ended = ready!(self.ended.as_mut().poll(context));
        #[cfg(unix)]
        {
            self.process = None;
        }
        Poll::Ready(match ended {
            Ok(status) if status.success() => read(&self.place.file()),
            Ok(status) => Err(words!("the editor ended with {}", given(status))),
            Err(error) => Err(words!("the editor is lost: {}", given(error))),
        })
    }

    /// Sends SIGTERM, which lets the program restore the terminal. SIGKILL would not.
    #[cfg(unix)]
    fn terminate(&mut self) -> Option<rustix::process::Pid> {
        let process = self.process.take()?;
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        Some(process)
    }

    /// Terminates the program and waits up to a second until it has restored the terminal.
    pub(super) fn end(mut self) {
        #[cfg(unix)]
        if let Some(process) = self.terminate() {
            use rustix::process::{WaitOptions, waitpid};
            const LEAVING: Duration = Duration::from_secs(1);
            const PAUSE: Duration = Duration::from_millis(10);
            let begun = Instant::now();
            while begun.elapsed() < LEAVING
                && matches!(waitpid(Some(process), WaitOptions::NOHANG), Ok(None))
            {
                thread::sleep(PAUSE);
            }
        }
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.terminate();
    }
}

#[cfg(unix)]
fn editor(file: &Path) -> Command {
    let mut values = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os);
    let named = values.find(|value| !value.is_empty());
    let mut script = named.unwrap_or_else(|| "vi".into());
    script.push(" \"$1\"");
    // By a shell, because these variables may contain options.
    let mut command = Command::new("sh");
    command.arg("-c").arg(&script).arg("sh").arg(file);
    command
}

#[cfg(not(unix))]
fn editor(file: &Path) -> Command {
    let mut command = Command::new("notepad");
    command.arg(file);
    command
}

/// Creates a folder that only this user can open.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(false).create(folder)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

fn read(file: &Path) -> Result<String, Words> {
    let unread = |error: io::Error| words!("cannot read the text back: {}", given(error));
    // The editor may have replaced the file with something else.
    if !fs::symlink_metadata(file).map_err(unread)?.is_file() {
        return Err("the editor wrote no file; the text is unchanged".into());
    }
    let mut text = String::new();
    let file = File::open(file).map_err(unread)?;
    let bounded = file
        .take(LONGEST.saturating_add(1))
        .read_to_string(&mut text);
    bounded.map_err(unread)?;
    if text.len() as u64 > LONGEST {
        return Err("the text is longer than 1 MiB and was not used".into());
    }
    // Editors add a line break at the end.
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
