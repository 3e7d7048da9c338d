//! The user's editor or pager, while it has the terminal.

use std::{
    collections::{BTreeSet, hash_map::RandomState},
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    thread,
    time::{Duration, Instant},
};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
};

use crate::{
    page::Rows,
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

/// A program that has the terminal. On drop, the program is terminated and its text removed.
pub(super) struct Away {
    /// The text in an editor; `None` for a pager.
    place: Option<Place>,
    /// The process, unless it has ended.
    #[cfg(unix)]
    process: Option<rustix::process::Pid>,
    ended: Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send>>,
}

impl Away {
    /// Opens a text in the editor that `VISUAL` or `EDITOR` names, from within the runtime.
    pub(super) fn edit(text: &str) -> io::Result<Self> {
        let place = Place::new(text)?;
        let child = spawned(&mut editor(&place.file()))?;
        Ok(Self::new(child, Some(place), String::new()))
    }

    /// Shows rows in a pager, from within the runtime.
    pub(super) fn page(mut pager: Command, rows: &Rows) -> io::Result<Self> {
        let child = spawned(pager.stdin(Stdio::piped()))?;
        Ok(Self::new(child, None, rows.to_string()))
    }

    fn new(mut child: Child, place: Option<Place>, input: String) -> Self {
        Self {
            place,
            #[cfg(unix)]
            process: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)),
            ended: Box::pin(async move {
                let stdin = child.stdin.take();
                let fed = async move {
                    if let Some(mut stdin) = stdin {
                        // The user may close the pager before it has read everything.
                        let _ = stdin.write_all(input.as_bytes()).await;
                    }
                    // A program that the pager started may still hold the pipe.
                    std::future::pending().await
                };
                tokio::select! {
                    ended = child.wait() => ended,
                    ended = fed => ended,
                }
            }),
        }
    }

    pub(super) fn is_pager(&self) -> bool {
        self.place.is_none()
    }

    /// Returns the edited text when the program has ended, or the error.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<String>, Words>> {
        let ended = ready!(self.ended.as_mut().poll(context));
        #[cfg(unix)]
        {
            self.process = None;
        }
        let name = match self.place {
            Some(_) => "editor",
            None => "pager",
        };
        Poll::Ready(match (ended, &self.place) {
            (Ok(status), Some(place)) if status.success() => read(&place.file()).map(Some),
            (Ok(status), None) if status.success() => Ok(None),
            (Ok(status), _) => Err(words!("the {} ended with {}", name, given(status))),
            (Err(error), _) => Err(words!("the {} is lost: {}", name, given(error))),
        })
    }
}

impl Away {
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

fn spawned(command: &mut Command) -> io::Result<Child> {
    command.kill_on_drop(cfg!(not(unix))).spawn()
}

/// The pager in `PAGER`, or else `less` if it is installed.
#[cfg(unix)]
pub(super) fn pager() -> Option<Command> {
    if let Some(pager) = named(&["PAGER"]) {
        // `exec`, so that the signal reaches the pager and not the shell.
        let mut script = std::ffi::OsString::from("exec env ");
        script.push(pager);
        return Some(shell(&script));
    }
    let path = env::var_os("PATH")?;
    let mut folders = env::split_paths(&path);
    folders
        .any(|folder| folder.join("less").is_file())
        .then(|| Command::new("less"))
}

#[cfg(not(unix))]
pub(super) fn pager() -> Option<Command> {
    Some(Command::new("more"))
}

#[cfg(unix)]
fn editor(file: &Path) -> Command {
    let mut script = named(&["VISUAL", "EDITOR"]).unwrap_or_else(|| "vi".into());
    script.push(" \"$1\"");
    let mut command = shell(&script);
    command.arg("sh").arg(file);
    command
}

#[cfg(unix)]
fn named(variables: &[&str]) -> Option<std::ffi::OsString> {
    let mut values = variables.iter().filter_map(env::var_os);
    values.find(|value| !value.is_empty())
}

/// A shell command, because these variables may contain options.
#[cfg(unix)]
fn shell(script: &std::ffi::OsStr) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
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
