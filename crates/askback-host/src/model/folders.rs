//! The folders that a server may work in, as the person chooses them.

use std::path::{Path, PathBuf};

use crate::{
    text::{Words, given},
    words,
};

/// The folders that were chosen, without links on the way to them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Folders {
    chosen: Vec<PathBuf>,
}

impl Folders {
    /// These folders.
    pub fn of(chosen: Vec<PathBuf>) -> Self {
        Self { chosen }
    }

    /// The chosen folders.
    pub fn chosen(&self) -> &[PathBuf] {
        &self.chosen
    }

    /// Chooses a folder as well.
    pub fn add(&mut self, path: PathBuf) {
        if !self.chosen.contains(&path) {
            self.chosen.push(path);
        }
    }

    /// Chooses a folder no longer.
    ///
    /// # Errors
    ///
    /// If it was not chosen.
    pub fn remove(&mut self, path: &Path) -> Result<(), Words> {
        let Some(at) = self.chosen.iter().position(|chosen| *chosen == path) else {
            return Err(words!("{} is not shared", given(path.display())));
        };
        self.chosen.remove(at);
        Ok(())
    }
}
