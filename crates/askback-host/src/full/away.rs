//! A text in the editor of the person, who is away there.

use std::{
    collections::{BTreeSet, hash_map::RandomState},
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::process::Command;

use crate::{
    text::{Words, given},
    words,
};

/// The longest text that is taken back, in bytes.
const LONGEST: u64 = 1 << 20;

/// The folders of the texts that are in an editor now.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the texts that are in an editor: for where this program ends and nothing is dropped.
pub(super) fn remove_texts() {
    for folder in mem::take(&mut *open()) {
        let _ = fs::remove_dir_all(folder);
    }
}

fn open() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text in a folder of its own, where an editor puts its copies of it, too. All of that is removed
/// once this is dropped, and at [`remove_texts`].
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(text: &str) -> io::Result<Self> {
        let number = RandomState::new().build_hasher().finish();
        let folder = env::temp_dir().join(format!("askback-{number:016x}"));
        {
            // Held until it is known, so that none is made that is not removed.
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

/// An editor that is open. It is ended, and its text removed, once this is dropped.
pub(super) struct Away {
    place: Place,
    ended: std::pin::Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send>>,
}

impl Away {
    /// Opens the editor that `VISUAL` or `EDITOR` names with a text, from within the runtime.
    ///
    /// # Errors
    ///
    /// If the text cannot be put into a file, or the editor does not start.
    pub(super) fn begin(text: &str) -> io::Result<Self> {
        let place = Place::new(text)?;
        let mut child = command(&place.file()).kill_on_drop(true).spawn()?;
        Ok(Self {
            place,
            ended: Box::pin(async move { child.wait().await }),
        })
    }

    /// Returns the text once the editor has ended, or why there is none.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<String, Words>> {
        let ended = ready!(self.ended.as_mut().poll(context));
        Poll::Ready(match ended {
            Ok(status) if status.success() => read(&self.place.file()),
            Ok(status) => Err(words!("the editor ended with {}", given(status))),
            Err(error) => Err(words!("the editor is lost: {}", given(error))),
        })
    }
}

#[cfg(unix)]
fn command(file: &Path) -> Command {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        let editor = env::var_os(name)?;
        (!editor.is_empty()).then_some(editor)
    });
    // What the variables say may have options, and is read by a shell everywhere.
    let mut script = editor.unwrap_or_else(|| "vi".into());
    script.push(" \"$1\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg("sh").arg(file);
    command
}

#[cfg(not(unix))]
fn command(file: &Path) -> Command {
    let mut command = Command::new("notepad");
    command.arg(file);
    command
}

/// Makes a folder that nobody else can look into.
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
    let unread = |error: io::Error| words!("the text cannot be read back: {}", given(error));
    // An editor may have put something else in its place.
    if !fs::symlink_metadata(file).map_err(unread)?.is_file() {
        return Err("the editor left no file; nothing was taken".into());
    }
    let mut text = String::new();
    let file = File::open(file).map_err(unread)?;
    let bounded = file
        .take(LONGEST.saturating_add(1))
        .read_to_string(&mut text);
    bounded.map_err(unread)?;
    if text.len() as u64 > LONGEST {
        return Err("the text is longer than 1 MiB; it was not taken".into());
    }
    // Editors end the last line.
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
