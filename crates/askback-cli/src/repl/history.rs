//! The lines of earlier conversations, without secrets.

use std::{io, path::PathBuf};

use askback::{
    forms::{Field, TextField},
    keys::state_dir,
};

use crate::{
    private_file,
    secret::{is_in, is_name},
};

/// How many lines are kept. The oldest go first.
const KEPT: usize = 1000;

/// The longest line that is kept, in bytes.
const LONGEST: usize = 4096;

#[derive(Debug)]
pub(super) struct History(Option<PathBuf>);

impl History {
    /// The history of this user. Without a folder for it, no line is kept.
    pub(super) fn of_user() -> Self {
        Self(state_dir().map(|state| state.join("askback").join("history")))
    }

    pub(super) fn read(&self) -> io::Result<Vec<String>> {
        let Some(path) = &self.0 else {
            return Ok(Vec::new());
        };
        let text = private_file::read(path)?;
        let lines = text.as_deref().map(|text| text.lines());
        Ok(lines.into_iter().flatten().map(str::to_owned).collect())
    }

    /// Stores a line, unless it may hold a secret.
    pub(super) fn keep(&self, line: &str) -> io::Result<()> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        if line.len() > LONGEST || line.contains(['\n', '\r']) || holds_secret(line) {
            return Ok(());
        }
        let _turn = private_file::lock(path)?;
        let mut lines = self.read()?;
        if lines.last().is_some_and(|last| last == line) {
            return Ok(());
        }
        lines.push(line.to_owned());
        let over = lines.len().saturating_sub(KEPT);
        private_file::write(path, &(lines[over..].join("\n") + "\n"))
    }
}

/// Whether a word of the line names a secret, or part of the line looks like one.
fn holds_secret(line: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    words.any(|word| !word.is_empty() && Field::new(word, TextField::default()).looks_secret())
        || is_in(line, is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_without_secrets() {
        let folder = tempfile::tempdir().expect("there is room");
        let history = History(Some(folder.path().join("history")));
        assert_eq!(history.read().expect("there is none yet"), [""; 0]);
        for line in [
            "/call book to=Rome",
            "/call book to=Rome",
            "/call login password=hush",
            "/call login of:={\"apiKey\":\"hush\"}",
            "/call t Authorization=\"Bearer X1\"",
            "/call t path=ghp_X2",
            "/call t cookie=X3",
            "/call t session=X4",
            "/call t sid=X5",
            "/call t of='{\"note\":\"bearer X6\"}'",
            "/read https://u:X8@h/",
            "/tools",
            "a\nb",
            &"x".repeat(LONGEST + 1),
        ] {
            history.keep(line).expect("the folder is ours");
        }
        let kept = history.read().expect("it was written");
        assert_eq!(kept, ["/call book to=Rome", "/tools"]);
        for line in 0..KEPT {
            history.keep(&format!("/{line}")).expect("it is ours");
        }
        let kept = history.read().expect("it was written");
        assert_eq!((kept.len(), kept[0].as_str()), (KEPT, "/0"));
    }
}
