//! The folders that a server may work in, as the person chooses them.

use std::path::{Path, PathBuf};

use crate::{
    text::{Words, given},
    words,
};

/// The folders that were chosen, and those that are left out of them. All are where they really are, so that one
/// that is in another begins with its path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Folders {
    chosen: Vec<PathBuf>,
    excluded: Vec<PathBuf>,
}

impl Folders {
    /// These folders, and nothing left out.
    pub fn of(chosen: Vec<PathBuf>) -> Self {
        Self {
            chosen,
            excluded: Vec::new(),
        }
    }

    /// The chosen folders.
    pub fn chosen(&self) -> &[PathBuf] {
        &self.chosen
    }

    /// The folders that are left out.
    pub fn excluded(&self) -> &[PathBuf] {
        &self.excluded
    }

    /// Chooses a folder as well.
    pub fn add(&mut self, path: PathBuf) {
        self.excluded.retain(|excluded| *excluded != path);
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
            let shown = given(path.display());
            return Err(match self.holder(path) {
                Some(holder) => words!(
                    "{} is shared with {}: /roots exclude leaves it out",
                    shown,
                    given(holder.display())
                ),
                None => words!("{} is not shared", shown),
            });
        };
        self.chosen.remove(at);
        Ok(())
    }

    /// Leaves a folder out of those that it is in.
    ///
    /// # Errors
    ///
    /// If it is in none.
    pub fn exclude(&mut self, path: PathBuf) -> Result<(), Words> {
        if self.chosen.is_empty() {
            return Err("no folder is shared that one could be left out of".into());
        }
        let before = self.chosen.len();
        self.chosen.retain(|chosen| !chosen.starts_with(&path));
        if self.holder(&path).is_some() {
            if !self.excluded.contains(&path) {
                self.excluded.push(path);
            }
        } else if self.chosen.len() == before {
            return Err(words!("{} is in no shared folder", given(path.display())));
        }
        Ok(())
    }

    /// The chosen folder that a folder is in.
    fn holder(&self, path: &Path) -> Option<&PathBuf> {
        let mut chosen = self.chosen.iter();
        chosen.find(|chosen| path.starts_with(chosen))
    }
}
