//! A folder for one test.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder for one test, deleted on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates an empty folder. `name` must be unique to the test.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Creates a named pipe. A reader waits until something is written to it.
    #[cfg(unix)]
    pub(crate) fn pipe(&self, name: &str) {
        let made = std::process::Command::new("mkfifo")
            .arg(self.path(name))
            .status();
        assert!(made.is_ok_and(|status| status.success()));
    }

    /// Writes a file into the folder, and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the target folder can be written");
        path.display().to_string()
    }
}

/// Whether a text contains another one, ignoring line wrapping: the path of a test folder may not fit on a line.
pub(crate) fn is_in_wrapped(text: &str, wrapped: &str) -> bool {
    let squeezed = |text: &str| {
        let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '|');
        kept.collect::<String>()
    };
    squeezed(wrapped).contains(&squeezed(text))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
