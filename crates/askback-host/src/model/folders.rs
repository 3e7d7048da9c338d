use std::path::{Path, PathBuf};

use crate::{
    text::{Words, given},
    words,
};

/// The folders that the user chose for a server, with symbolic links resolved.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Folders {
    chosen: Vec<PathBuf>,
}

impl Folders {
    /// Creates the set from chosen folders.
    pub fn of(chosen: Vec<PathBuf>) -> Self {
        Self { chosen }
    }

    /// Returns the chosen folders.
    pub fn chosen(&self) -> &[PathBuf] {
        &self.chosen
    }

    /// Adds a folder.
    pub fn add(&mut self, path: PathBuf) {
        if !self.chosen.contains(&path) {
            self.chosen.push(path);
        }
    }

    /// Removes a folder.
    ///
    /// # Errors
    ///
    /// If the folder is not in the set.
    pub fn remove(&mut self, path: &Path) -> Result<(), Words> {
        let Some(at) = self.chosen.iter().position(|chosen| *chosen == path) else {
            return Err(words!("{} is not shared", given(path.display())));
        };
        self.chosen.remove(at);
        Ok(())
    }
}
